# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m tilewright` is the command `tilewright`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
