# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar run-time values and their operators."""

from __future__ import annotations

import operator
from typing import Any

from ..dtypes import DType, check_supported, dtype, round_constant
from .builder import current
from .mistakes import NoNumber
from .symbols import Symbolic

_FOLD = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}
_RELATIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class Expr(NoNumber):
    """A scalar of the kernel: a run-time value or a typed constant."""

    __slots__ = ("_core_value",)
    __array_priority__ = 1000  # numpy scalars on the left leave the operator to us

    def __init__(self, core: Any) -> None:
        self._core_value = core

    def core_value(self) -> Any:
        """The `_core.Value`; subclasses read memory here."""
        return self._core_value

    @property
    def dtype(self) -> DType:
        return DType(self.core_value().dtype)

    @property
    def constant(self) -> int | float | bool | None:
        """The number behind a typed constant, None for a run-time value."""
        value = self.core_value()
        return value.constant if value.is_constant else None

    def astype(self, to: Any) -> Expr:
        return cast_value(self, dtype(to))

    def __add__(self, other: Any) -> Any:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return binary("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary("floormod", other, self)

    def __pow__(self, other: Any) -> Any:
        return binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return binary("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return binary("shr", other, self)

    def __neg__(self) -> Any:
        return unary("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __invert__(self) -> Any:
        return unary("not", self)

    def __eq__(self, other: Any) -> Any:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Any:  # type: ignore[override]
        return compare("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return compare("ge", self, other)

    def __hash__(self) -> int:
        return id(self)

    def equal(self, other: Any) -> Any:
        return compare("eq", self, other)

    def __bool__(self) -> bool:
        known = self.constant
        if known is None:
            raise TypeError(
                "error[E0111]: a run-time value cannot steer Python; use it in `if` inside a "
                "kernel, in T.if_then_else, or combine it with T.And, T.Or and T.Not"
            )
        return bool(known)

    def _number(self, what: str) -> int | float | bool:
        known = self.constant
        if known is None:
            raise TypeError(
                f"error[E0111]: a run-time value has no {what} while the kernel is built; a Python "
                "number is needed here (functions of the module math compute with numbers: use "
                "T.exp and the like)"
            )
        return known

    def __index__(self) -> int:
        return operator.index(self._number("integer value"))

    def __int__(self) -> int:
        return int(self._number("integer value"))

    def __float__(self) -> float:
        return float(self._number("floating-point value"))

    def __repr__(self) -> str:
        known = self._core_value.constant if self._core_value.is_constant else None
        name = DType(self._core_value.dtype)
        return f"<{name} value>" if known is None else f"T.{name}({known})"


class Var(Expr):
    """A mutable scalar (T.alloc_var): reading gives its present value, `store` writes it."""

    __slots__ = ("buffer", "lanes")

    def __init__(self, buffer: Any, lanes: Any = ()) -> None:
        self.buffer = buffer
        self.lanes = list(lanes)

    def core_value(self) -> Any:
        return current().core.load(self.buffer.core, self.lanes)

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def constant(self) -> None:
        return None

    @property
    def name(self) -> str:
        return self.buffer.name

    def store(self, value: Any) -> None:
        """Writes the variable, converting to its type."""
        current().core.store(to_value(value), self.buffer.core, self.lanes)

    def rename(self, name: str) -> None:
        self.buffer.rename(name)

    def __getitem__(self, index: Any) -> Expr:
        if index != 0:
            raise IndexError(
                "error[E0209]: a variable made by T.alloc_var has the single element [0]"
            )
        return read(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index != 0:
            raise IndexError(
                "error[E0209]: a variable made by T.alloc_var has the single element [0]"
            )
        self.store(value)

    def __repr__(self) -> str:
        return f"<{self.dtype} variable {self.name}>"


class Named(Expr):
    """`x = T.int32()`: a name for a value that `T.let(x, value)` gives."""

    __slots__ = ("kind",)

    def __init__(self, kind: DType) -> None:
        self.kind = kind
        self._core_value = None

    def core_value(self) -> Any:
        if self._core_value is None:
            raise ValueError(
                f"error[E0209]: this {self.kind} has no value yet; give it one with T.let(x, value)"
            )
        return self._core_value

    @property
    def dtype(self) -> DType:
        return self.kind

    @property
    def constant(self) -> None:
        return None

    def give(self, value: Any) -> None:
        """The value that the name stands for from here on."""
        self._core_value = cast_value(value, self.kind).core_value()


def is_runtime(value: Any) -> bool:
    """True for what can only be known when the kernel runs."""
    if isinstance(value, Symbolic):
        return True
    return isinstance(value, Expr) and value.constant is None


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (
        not isinstance(value, (Expr, Symbolic, str))
        and (hasattr(value, "__index__") or hasattr(value, "__float__"))
        and getattr(value, "shape", ()) in ((), None)
    )


def plain_number(value: Any) -> bool | int | float:
    """A Python number from any number-like object (NumPy and torch scalars too)."""
    if isinstance(value, (bool, int, float)):
        return value
    if hasattr(value, "item"):
        return value.item()
    return operator.index(value) if hasattr(value, "__index__") else float(value)


def to_value(value: Any) -> Any:
    """The `_core.Value` of an expression, a symbolic size or a number."""
    from .. import _core

    if isinstance(value, Expr):
        return value.core_value()
    if isinstance(value, Symbolic):
        return value.value().core_value()
    if is_number(value):
        return _core.Value.number(plain_number(value))
    to = getattr(value, "to_expr", None)
    if to is not None:
        return to().core_value()
    raise TypeError(
        f"error[E0202]: found {value!r} ({type(value).__name__}) where a scalar is needed: a "
        "number, a run-time value, or one element of a buffer such as A[i, j]"
    )


def to_values(values: Any) -> list[Any]:
    return [to_value(v) for v in values]


def as_expr(value: Any) -> Expr:
    """Any scalar as an Expr; Python numbers take int32, int64 or float32."""
    if isinstance(value, Expr):
        return value
    return Expr(to_value(value))


def read(value: Any) -> Any:
    """Reads a variable or buffer element once; other values are given back."""
    if isinstance(value, Expr) and type(value) is not Expr and type(value) is not Named:
        return Expr(value.core_value())
    return value


def typed_constant(value: Any, to: DType) -> Expr:
    from .. import _core

    return Expr(_core.Value.typed(round_constant(value, to), to))


def _known(value: Any) -> Any:
    """(number, DType or None) behind a constant operand; None for run-time values."""
    if isinstance(value, Symbolic):
        return None
    if isinstance(value, Expr):
        number = value.constant
        return None if number is None else (number, value.dtype)
    return (plain_number(value), None) if is_number(value) else None


def binary(function: str, left: Any, right: Any) -> Any:
    """Applies a two-operand function with the promotion rules of the builder."""
    if not _scalar(left) or not _scalar(right):
        return NotImplemented
    one, two = _known(left), _known(right)
    if one is not None and two is not None and function in _FOLD:
        found = _fold(function, one, two)
        if found is not None:
            return found
    return Expr(current().core.binary(function, to_value(left), to_value(right)))


def _fold(function: str, one: Any, two: Any) -> Expr | None:
    """Integer constants of one type are computed here, so that they work outside kernels too."""
    types = {t for _, t in (one, two) if t is not None}
    if len(types) != 1 or isinstance(one[0], float) or isinstance(two[0], float):
        return None
    to = types.pop()
    if to.is_float or to.is_bool or (function in ("floordiv", "floormod") and two[0] == 0):
        return None
    return typed_constant(_FOLD[function](one[0], two[0]), to)


def _scalar(value: Any) -> bool:
    return isinstance(value, (Expr, Symbolic)) or is_number(value)


def compare(relation: str, left: Any, right: Any) -> Any:
    if not _scalar(left) or not _scalar(right):
        return NotImplemented
    one, two = _known(left), _known(right)
    if one is not None and two is not None:
        return _RELATIONS[relation](one[0], two[0])
    return Expr(current().core.binary(relation, to_value(left), to_value(right)))


def unary(function: str, value: Any) -> Any:
    if isinstance(value, Expr) and function == "neg":
        number = value.constant
        if number is not None:
            return typed_constant(-number, value.dtype)
    return Expr(current().core.unary(function, to_value(value)))


def cast_value(value: Any, to: DType, rounding: str = "") -> Expr:
    """Converts to a type; numbers and the texts "inf", "-inf", "nan" become typed constants."""
    check_supported(to)
    if isinstance(value, str):
        value = float(value)
    known = _known(value)
    if known is not None:
        return typed_constant(known[0], to)
    return Expr(current().core.cast(to_value(value), to, rounding))


def if_then_else(cond: Any, then: Any, otherwise: Any) -> Any:
    """A value chosen at run time. The side that is not taken has no effect and cannot fault."""
    known = _known(cond)
    if known is not None:
        chosen = then if known[0] else otherwise
        return read(chosen)
    return Expr(current().core.if_then_else(to_value(cond), to_value(then), to_value(otherwise)))


def select(cond: Any, then: Any, otherwise: Any) -> Any:
    """A value chosen at run time; both sides are computed."""
    known = _known(cond)
    if known is not None:
        return read(then if known[0] else otherwise)
    return Expr(current().core.select(to_value(cond), to_value(then), to_value(otherwise)))


def logical_and(left: Any, right: Any) -> Any:
    """`left and right` where one is a run-time value; `right` may be a function, called later."""
    return _logical(left, right, True)


def logical_or(left: Any, right: Any) -> Any:
    """`left or right` where one is a run-time value; `right` may be a function, evaluated later."""
    return _logical(left, right, False)


def _logical(left: Any, right: Any, conjunction: bool) -> Any:
    known = _known(left)
    if known is not None and bool(known[0]) != conjunction:
        return not conjunction
    value = right() if callable(right) and not isinstance(right, (Expr, DType)) else right
    if known is not None:
        return value
    if conjunction:
        return if_then_else(to_bool(left), to_bool(value), False)
    return if_then_else(to_bool(left), True, to_bool(value))


def logical_not(value: Any) -> Any:
    known = _known(value)
    if known is not None:
        return not known[0]
    return Expr(current().core.unary("not", to_bool(value).core_value()))


def to_bool(value: Any) -> Any:
    """A condition: numbers are compared with 0."""
    if isinstance(value, (Expr, Symbolic)):
        expr = as_expr(value)
        return read(expr) if expr.dtype == "bool" else compare("ne", expr, 0)
    return bool(value)
