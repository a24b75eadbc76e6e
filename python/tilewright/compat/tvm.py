# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tvm` for scripts that name sizes with it."""

from __future__ import annotations

from . import tvm_tir as tir

__all__ = ["tir"]
