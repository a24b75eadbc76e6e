# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers that TileLang scripts import from `tilelang.utils`."""

from __future__ import annotations

from typing import Any

from .npu_utils import NPUUtils
from .tensor import map_torch_type, torch_assert_close


def determine_target(target: Any = "auto", *_: Any, **__: Any) -> str:
    """Every target is the NPU."""
    return "npuir"


__all__ = ["NPUUtils", "determine_target", "map_torch_type", "torch_assert_close"]
