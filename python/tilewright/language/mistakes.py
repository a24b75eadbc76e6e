# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What buffers and scalars of a kernel do not have, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_CAST = 'convert it with T.cast(x, "float32")'
_COPY = "T.copy into a tile of the other type converts"
_REDUCE = "reduce it with T.reduce_{} into another tile"

#: Attributes of tensors of other libraries, and what does the same here.
OF_BUFFERS = {
    "T": "transpose_A and transpose_B of T.gemm, or T.transpose(src, dst, [1, 0])",
    "transpose": "T.transpose(src, dst, [1, 0])",
    "permute": "T.transpose(src, dst, permutation)",
    "to": _COPY,
    "astype": _COPY,
    "float": _COPY,
    "half": _COPY,
    "sum": _REDUCE.format("sum"),
    "max": _REDUCE.format("max"),
    "min": _REDUCE.format("min"),
    "mean": _REDUCE.format("sum") + " and divide",
    "view": "T.view(tile, shape, dtype)",
    "reshape": "T.reshape(tile, shape)",
    "fill_": "T.fill(tile, value)",
    "zero_": "T.clear(tile)",
    "size": "its shape",
    "device": "T.copy, which moves tiles",
}
OF_SCALARS = {
    "to": _CAST,
    "float": _CAST,
    "int": _CAST,
    "half": _CAST,
    "item": "it has a number only when the kernel runs; use it as it is",
    "sqrt": "T.sqrt(x)",
    "exp": "T.exp(x)",
    "abs": "T.abs(x)",
}
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
#: NumPy's functions behind operators, and the method that takes the other side.
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}


def _refusal(symbol: str) -> Callable[[Any, Any], Any]:
    def refuse(self: Any, _: Any) -> Any:
        instead = "T.gemm(a, b, c)" if symbol == "@" else "a tile operation such as T.vadd(a, b, c)"
        raise TypeError(
            f"error[E0202]: `{symbol}` of {self!r}: whole tiles have no operators; loop over their "
            f"elements with T.Parallel, or use {instead}"
        )

    return refuse


class NoOperators:
    """What buffers and regions share: operators and attributes that say what to use instead."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        advice = OF_BUFFERS.get(name)
        what = f"use {advice}" if advice else "it has name, shape, dtype and scope"
        raise AttributeError(f"error[E0202]: a buffer has no attribute {name!r}; {what}")


for _name, _symbol in _OPERATORS.items():
    setattr(NoOperators, f"__{_name}__", _refusal(_symbol))
    if _name not in ("lt", "le", "gt", "ge"):
        setattr(NoOperators, f"__r{_name}__", _refusal(_symbol))


class NoNumber:
    """What scalars of the kernel share: attributes and NumPy functions say what to use instead."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        advice = OF_SCALARS.get(name, _CAST if name.startswith("as") else "use it as it is")
        raise AttributeError(
            f"error[E0202]: a value of the kernel has no attribute {name!r}; {advice}"
        )

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """A NumPy scalar left of an operator leaves it to us; other functions are refused."""
        reflected = _REFLECTED.get(function.__name__)
        if reflected and method == "__call__" and not isinstance(inputs[0], NoNumber):
            return getattr(inputs[1], reflected)(inputs[0])
        raise TypeError(
            f"error[E0111]: np.{function.__name__} computes with numbers, and this value has none "
            f"before the kernel runs; use T.{function.__name__}"
        )
