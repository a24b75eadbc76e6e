# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal attention: blocks of later rows have more turns; the longest start first."""

import attention
from gallery import Row


def main(h: int = 8, s: int = 1024) -> Row:
    return attention.main(h=h, s=s, causal=True)


if __name__ == "__main__":
    main()
