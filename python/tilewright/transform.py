# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that scripts import from `tilelang.transform`."""

from __future__ import annotations

from typing import Any

from .options import PassConfigKey


def simplify_prim_func(function: Any) -> Any:
    """Simplification is a part of every compilation: gives the function back."""
    return function


__all__ = ["PassConfigKey", "simplify_prim_func"]
