# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a kernel was made, kept so that it can be made again with other tile sizes."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Origin:
    """The user's function behind a kernel: a factory, an eager kernel, or the kernel itself.

    `arguments` holds what `make` takes by name; of a kernel without a factory they are the integers
    that it uses from around it. `make(function, arguments)` compiles it again, with a function of
    the same signature in place of `function` if its source is to be another one.
    """

    function: types.FunctionType
    arguments: Mapping[str, Any]
    make: Callable[[types.FunctionType, Mapping[str, Any]], Any]


def free_integers(function: types.FunctionType) -> dict[str, int]:
    """Integers that a function uses from around it."""
    code = function.__code__
    found = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned later on
            continue
    return {name: value for name, value in found.items() if type(value) is int}


def rebound(function: types.FunctionType, names: Mapping[str, int]) -> types.FunctionType:
    """The function with other values for names that it uses from around it."""
    code = function.__code__
    cells = tuple(
        types.CellType(names[name]) if name in names else cell
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    )
    outer = {n: v for n, v in names.items() if n in code.co_names and n in function.__globals__}
    around = {**function.__globals__, **outer} if outer else function.__globals__
    made = types.FunctionType(code, around, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made
