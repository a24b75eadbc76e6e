# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reducers: tiles into which the lanes of T.Parallel combine values, each exactly once.

`r[i] += v` and T.reducer_update(r[i], v) combine by the reducer's operation, also when many lanes
meet in one element. The result stands in the reducer, and T.finalize_reducer can copy it on.
"""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import DType, check_supported, limits
from ..dtypes import dtype as as_dtype
from ..keywords import hints
from .buffer import Buffer, Element, normalize_shape, operand
from .builder import current
from .expr import read, to_value, typed_constant

KINDS = {
    "sum": "sum",
    "max": "max",
    "min": "min",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
}


def _identity(op: str, element: DType) -> Any:
    """The value that changes nothing when combined."""
    low, high = (-math.inf, math.inf) if element.is_float else limits(element)
    value = {"max": low, "min": high, "bitand": -1}.get(op, 0)
    return typed_constant(value, element)


class Reducer(Buffer):
    """The tile of a reducer."""

    __slots__ = ("op",)

    def __init__(self, core: Any, shape: tuple[int, ...], op: str) -> None:
        super().__init__(core, shape, "local.fragment")
        self.op = op

    def combine(self, index: Any, value: Any) -> None:
        """Combines a value into one element."""
        target = self[index]
        if not isinstance(target, Element):
            raise TypeError("error[E0452]: a reducer is updated element by element: r[i]")
        current().core.atomic_scalar(KINDS[self.op], operand(target), to_value(read(value)), [])

    def __setitem__(self, index: Any, value: Any) -> None:
        """`r[i] = T.max(r[i], v)`: assigning to a maximum or minimum combines, too."""
        if self.op in ("max", "min"):
            self.combine(index, value)
        else:
            super().__setitem__(index, value)


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: Any = None) -> Reducer:
    """A tile for a reduction by `op`; it starts from the value that changes nothing."""
    if op not in KINDS:
        raise ValueError(
            f"error[E0452]: T.alloc_reducer: unknown op {op!r}; allowed are {', '.join(KINDS)}"
        )
    sizes = [int(size) for size in normalize_shape(shape)]
    core = current().core.alloc(
        "alloc_reducer", check_supported(as_dtype(dtype)), sizes, "fragment"
    )
    found = Reducer(core, tuple(sizes), op)
    reducer_init(found)
    return found


def _check(reducer: Any, what: str) -> Reducer:
    if not isinstance(reducer, Reducer):
        raise TypeError(
            f"error[E0452]: T.{what} takes a reducer made by T.alloc_reducer, found {reducer!r}"
        )
    return reducer


def reducer_init(reducer: Any, init: Any = None) -> None:
    """Starts the reduction again, from `init` when it is given."""
    found = _check(reducer, "reducer_init")
    value = _identity(found.op, found.dtype) if init is None else init
    current().core.fill(operand(found), to_value(value))


def reducer_update(target: Any, value: Any) -> None:
    """Combines `value` into the element `target` of a reducer."""
    if not isinstance(target, Element):
        raise TypeError(
            f"error[E0452]: T.reducer_update takes an element r[i] of a reducer, found {target!r}"
        )
    _check(target.buffer, "reducer_update")
    kind = KINDS[target.buffer.op]  # type: ignore[attr-defined]
    current().core.atomic_scalar(kind, operand(target), to_value(read(value)), [])


@hints("annotations")
def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1) -> None:
    """Ends the reduction; its result is in the reducer, and copied to `dst` when given."""
    found = _check(reducer, "finalize_reducer")
    if dst is not None:
        current().core.copy(operand(found), operand(dst, "dst of T.finalize_reducer"), [])
