# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts take from `tvm.tir`: symbolic sizes, constants, and scalar functions."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype as as_dtype
from ..language.expr import (
    Expr,
    cast_value,
    if_then_else,
    logical_and,
    logical_not,
    logical_or,
    select,
    typed_constant,
)
from ..language.math import (
    ceil,
    exp,
    exp2,
    floor,
    floordiv,
    floormod,
    log,
    log2,
    max_value,
    min_value,
    reinterpret,
    sigmoid,
    sqrt,
    tanh,
)
from ..language.symbols import Symbolic, SymbolicVar
from . import stmt_functor
from .stmt_functor import FloatImm, Max, Min

#: Expressions, for annotations and isinstance.
PrimExpr = (Expr, Symbolic)


def Var(name: str, dtype: Any = "int32") -> SymbolicVar:
    """A symbolic size, as T.dynamic makes it."""
    return SymbolicVar(name)


def IntImm(dtype: Any, value: int) -> Symbolic:
    """A number that can stand where symbolic sizes do."""
    return Symbolic((str(int(value)),))


def const(value: Any, dtype: Any = "int32") -> Expr:
    """A number as a constant of a type."""
    return typed_constant(value, as_dtype(dtype))


def Cast(dtype: Any, value: Any) -> Expr:
    """Converts a scalar to a type."""
    return cast_value(value, as_dtype(dtype))


And, Or, Not, Select = logical_and, logical_or, logical_not, select

__all__ = [
    "And",
    "Cast",
    "FloatImm",
    "IntImm",
    "Max",
    "Min",
    "Not",
    "Or",
    "PrimExpr",
    "Select",
    "Var",
    "ceil",
    "const",
    "exp",
    "exp2",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "log",
    "log2",
    "max_value",
    "min_value",
    "reinterpret",
    "sigmoid",
    "sqrt",
    "stmt_functor",
    "tanh",
]
