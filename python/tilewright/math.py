# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer helpers for sizes."""

from __future__ import annotations


def cdiv(a: int, b: int) -> int:
    """Quotient rounded up."""
    return -(-a // b)


def next_power_of_2(x: int) -> int:
    """The least power of two that is not less than x."""
    return 1 << max(x - 1, 0).bit_length()
