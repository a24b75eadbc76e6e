# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tvm.tir.stmt_functor`: scripts that look through a kernel's expressions.

The nodes are read off the kernel's IR, one for each minimum, maximum and number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..dtypes import DType, dtype


@dataclass(frozen=True)
class Node:
    """One expression of a kernel; `dtype` is the type of its value."""

    dtype: DType


class Min(Node):
    """The smaller of two values."""


class Max(Node):
    """The larger of two values."""


@dataclass(frozen=True)
class FloatImm(Node):
    """A floating-point number."""

    value: float


@dataclass(frozen=True)
class IntImm(Node):
    """An integer."""

    value: int


_EXTREMUM = re.compile(r"= arith\.(min|max)(u|s)?i?\w* .* : (\w+)$")
_NUMBER = re.compile(r"= arith\.constant ([-+.\w]+) : (i\d+|index|f\d+|bf16)$")


def _type(name: str, unsigned: bool = False) -> DType:
    if name == "index":
        return dtype("int32")
    if name.startswith("i"):
        return dtype(("uint" if unsigned else "int") + name[1:])
    return dtype("bfloat16" if name == "bf16" else "float" + name[1:])


def _nodes(text: str) -> Iterator[Node]:
    for line in text.splitlines():
        if found := _EXTREMUM.search(line):
            kind = Min if found[1] == "min" else Max
            yield kind(_type(found[3], found[2] == "u"))
        elif found := _NUMBER.search(line):
            element = _type(found[2])
            if not element.is_float:
                yield IntImm(element, int(found[1]))
            elif not found[1].startswith("0x"):  # an infinity or a NaN is written as bits
                yield FloatImm(element, float(found[1]))


def post_order_visit(body: Any, visit: Callable[[Node], Any]) -> None:
    """Calls `visit` with each node of `kernel.body`, operands before what uses them."""
    for node in _nodes(str(body)):
        visit(node)
