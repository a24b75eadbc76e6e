# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the Ascend TileLang compiler around symbolic sizes, which scripts import."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..errors import NotAvailableError
from ..frontend.prim_func import Param, PrimFunc
from ..language.symbols import Symbolic, SymbolicVar, size_tokens

#: Where a size comes from: (parameter, dimension), and the dimension is `a * size + b` when these
#: follow.
Place = tuple[int, int] | tuple[int, int, int, int]


def _collect_tir_vars(expr: Any) -> list[SymbolicVar]:
    """The symbolic sizes in an expression, each once."""
    return [SymbolicVar(n) for n in expr.symbols()] if isinstance(expr, Symbolic) else []


def _detect_affine(expr: Any, var: SymbolicVar) -> tuple[int, int] | None:
    """(a, b) when the expression is a * var + b; None when it is not."""
    stack: list[tuple[int, int]] = []
    for token in size_tokens(expr) or ():
        if token == var.name:
            stack.append((1, 0))
        elif token.lstrip("-").isdigit():
            stack.append((0, int(token)))
        elif token in ("+", "-", "*"):
            (c, d), (a, b) = stack.pop(), stack.pop()
            if token == "*" and a and c:
                return None
            sign = -1 if token == "-" else 1
            product = (a * d + b * c, b * d)
            stack.append(product if token == "*" else (a + sign * c, b + sign * d))
        else:
            return None
    return stack[0] if stack else None


def _eval_tir_expr(expr: Any, values: Mapping[str, int]) -> int:
    """The number an expression is when every size in it has a value."""
    return expr.substitute(values) if isinstance(expr, Symbolic) else int(expr)


def _process_dynamic_symbolic(func: PrimFunc) -> dict[SymbolicVar, Place]:
    """Where each symbolic size of a kernel can be read; a dimension that is the size goes first."""
    found: dict[SymbolicVar, Place] = {}
    for index, param in enumerate(func.params):
        for dim, extent in enumerate(param.shape):
            for var in _collect_tir_vars(extent):
                affine = _detect_affine(extent, var)
                if affine == (1, 0) and len(found.get(var, ())) != 2:
                    found[var] = (index, dim)
                elif affine and affine[0]:
                    found.setdefault(var, (index, dim, *affine))
    return found


class _Promoted:
    """A kernel as it would look with its symbolic sizes as parameters."""

    def __init__(self, func: PrimFunc, sizes: list[SymbolicVar]) -> None:
        self.func = copy.copy(func)
        self.params = [*func.params, *(Param(s.name, s.dtype) for s in sizes)]


def _symbolic_var_promoter_pass(func: PrimFunc) -> tuple[_Promoted, dict[SymbolicVar, Place]]:
    """The kernel with a parameter for each symbolic size, and where callers find their values."""
    places = _process_dynamic_symbolic(func)
    return _Promoted(func, list(places)), places


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotAvailableError(
        f"error[E0122]: tilelang.jit.jit_npu.{name} is an internal of another compiler and is not "
        "available"
    )
