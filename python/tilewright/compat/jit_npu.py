# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Internals of the Ascend TileLang compiler that some of its tests import."""

from __future__ import annotations

from typing import Any

from ..errors import NotAvailableError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotAvailableError(
        f"tilelang.jit.jit_npu.{name} is an internal of another compiler and is not available"
    )
