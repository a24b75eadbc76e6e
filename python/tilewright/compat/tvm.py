# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tvm` for scripts that name sizes, constants and element types with it."""

from __future__ import annotations

from ..dtypes import dtype as DataType
from . import tvm_tir as tir

tirx = tir

__all__ = ["DataType", "tir", "tirx"]
