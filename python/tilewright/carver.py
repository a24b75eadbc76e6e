# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.carver` proposes tilings for GPUs and has no counterpart here."""

from __future__ import annotations

from typing import Any

from .errors import NotAvailableError

__path__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotAvailableError(
        f"tilelang.carver.{name} is not available: tilewright has no tiling proposer yet; give the "
        "configurations to @tilelang.autotune(configs=[...]), which compares them by modelled time"
    )
