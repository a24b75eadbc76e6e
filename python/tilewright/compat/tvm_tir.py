# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts take from `tvm.tir`: symbolic sizes and integer constants."""

from __future__ import annotations

from typing import Any

from ..language.symbols import Symbolic, SymbolicVar


def Var(name: str, dtype: Any = "int32") -> SymbolicVar:
    """A symbolic size, as T.dynamic makes it."""
    return SymbolicVar(name)


def IntImm(dtype: Any, value: int) -> Symbolic:
    """A number that can stand where symbolic sizes do."""
    return Symbolic((str(int(value)),))


PrimExpr = Symbolic
