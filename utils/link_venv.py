# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a build tree importable from the virtual environment that runs this script.

`import tilewright` and the command `tilewright` then use <build>/python, which holds the extension
and links to the Python sources: an edited source needs no step at all.
"""

import sys
import sysconfig
from pathlib import Path


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    package_root = Path(sys.argv[1]).resolve() / "python"
    site_packages = Path(sysconfig.get_paths()["purelib"])
    (site_packages / "tilewright-build.pth").write_text(f"{package_root}\n")

    command = Path(sysconfig.get_paths()["scripts"]) / "tilewright"
    command.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "from tilewright.cli import main\n"
        'if __name__ == "__main__":\n'
        "    sys.exit(main())\n"
    )
    command.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())
