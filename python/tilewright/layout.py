# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of GPU memory: accepted as hints, since tiles are laid out by the compiler."""

from __future__ import annotations

from typing import Any

from .language.hints import Fragment, Layout


def _layout(*_: Any, **__: Any) -> Layout:
    return Layout([1], lambda i: i)


make_swizzled_layout = make_linear_layout = make_full_bank_swizzled_layout = _layout
make_half_bank_swizzled_layout = make_quarter_bank_swizzled_layout = make_volta_swizzled_layout = (
    _layout
)

__all__ = ["Fragment", "Layout", "make_linear_layout", "make_swizzled_layout"]
