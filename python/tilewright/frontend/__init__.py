# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From Python functions to modules: rewriting, tracing, and errors at the user's line."""

from __future__ import annotations

from .eager import EagerBuilt, EagerFunction
from .function import Macro, Ref, inline, macro, meta_class, meta_var
from .prim_func import Built, Param, PrimFunc, deferred, prim_func

__all__ = [
    "Built",
    "EagerBuilt",
    "EagerFunction",
    "Macro",
    "Param",
    "PrimFunc",
    "Ref",
    "deferred",
    "inline",
    "macro",
    "meta_class",
    "meta_var",
    "prim_func",
]
