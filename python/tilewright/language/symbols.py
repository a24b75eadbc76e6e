# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are known only at the call: T.dynamic, T.symbolic, and T.const before it is bound."""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ..dtypes import DType, dtype

_local = threading.local()


class Symbolic:
    """An integer expression over sizes that the arguments' shapes will bind.

    Outside a kernel such expressions stay symbolic (shapes of parameters); where they meet a
    run-time value they become one.
    """

    __slots__ = ("tokens",)

    #: Postfix form: numbers, names and the operators + - * // % min max ceildiv.
    tokens: tuple[str, ...]

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.tokens = tokens

    @property
    def dtype(self) -> DType:
        return DType("int32")

    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols in this expression, in order of appearance."""
        names = [t for t in self.tokens if (t[0].isalpha() or t[0] == "_") and t not in _WORDS]
        return tuple(dict.fromkeys(names))

    def substitute(self, values: Mapping[str, int]) -> int:
        """The number this is when every symbol has a value. Raises KeyError for a missing one."""
        stack: list[int] = []
        for token in self.tokens:
            if token in _APPLY:
                right, left = stack.pop(), stack.pop()
                stack.append(_APPLY[token](left, right))
            elif token.lstrip("-").isdigit():
                stack.append(int(token))
            else:
                stack.append(values[token])
        return stack[0]

    def value(self) -> Any:
        """The run-time value inside the kernel that is being built."""
        from .builder import current

        return current().size(self)

    def _combine(self, operator: str, other: Any, swapped: bool = False) -> Any:
        tokens = size_tokens(other)
        if tokens is None:
            return NotImplemented
        left, right = (tokens, self.tokens) if swapped else (self.tokens, tokens)
        return Symbolic((*left, *right, operator))

    def __add__(self, other: Any) -> Any:
        return self if isinstance(other, int) and other == 0 else self._combine("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._combine("+", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._combine("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._combine("-", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._combine("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._combine("*", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine("//", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine("//", other, True)

    def __mod__(self, other: Any) -> Any:
        return self._combine("%", other)

    def __rmod__(self, other: Any) -> Any:
        return self._combine("%", other, True)

    def __neg__(self) -> Symbolic:
        return Symbolic(("0", *self.tokens, "-"))

    def __pos__(self) -> Symbolic:
        return self

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Symbolic) and other.tokens == self.tokens:
            return True
        return self._compare("eq", other)

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, Symbolic) and other.tokens == self.tokens:
            return False
        return self._compare("ne", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("le", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("gt", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("ge", other)

    def _compare(self, relation: str, other: Any) -> Any:
        """Inside a kernel a run-time comparison; elsewhere different symbols are just unequal."""
        from . import builder, expr

        if not isinstance(other, (int, float, Symbolic, expr.Expr)):
            return NotImplemented
        if builder.active() is None:
            if relation in ("eq", "ne"):
                return relation == "ne"
            raise TypeError(
                f"error[E0112]: the size {self} is known only when the kernel is called, so it "
                "cannot be compared outside a kernel; pass the size as a Python number"
            )
        return expr.compare(relation, self, other)

    def __truediv__(self, other: Any) -> Any:
        return self.value() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value()

    def __bool__(self) -> bool:
        raise TypeError(
            f"error[E0112]: the size {self} is known only when the kernel is called and cannot "
            "steer Python; use it in `if` inside a kernel, or pass the size as a Python number"
        )

    def __index__(self) -> int:
        raise TypeError(
            f"error[E0112]: the size {self} is known only when the kernel is called; a Python "
            "number is needed here"
        )

    def __hash__(self) -> int:
        return hash(self.tokens)

    def __str__(self) -> str:
        return size_text(self.tokens)

    def __repr__(self) -> str:
        return str(self)

    def astype(self, to: Any) -> Any:
        return self.value().astype(to)


class SymbolicVar(Symbolic):
    """One symbol."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not name.isidentifier() or name in _WORDS:
            raise ValueError(
                f"error[E0318]: {name!r} cannot name a size; use a plain identifier such as 'M'"
            )
        super().__init__((name,))
        self.name = name

    __hash__ = Symbolic.__hash__


class ConstVar(SymbolicVar):
    """A T.const size whose number is not known yet."""

    __slots__ = ()
    __hash__ = Symbolic.__hash__


_APPLY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
}
_WORDS = ("min", "max", "ceildiv")


def size_tokens(value: Any) -> tuple[str, ...] | None:
    """Postfix form of an integer or symbolic size; None when it is neither."""
    if isinstance(value, Symbolic):
        return value.tokens
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (str(value),)
    if isinstance(value, float) and value.is_integer():
        return (str(int(value)),)
    try:
        return (str(operator.index(value)),)
    except TypeError:
        return None


def size_text(tokens: tuple[str, ...]) -> str:
    """Infix form for messages."""
    stack: list[str] = []
    for token in tokens:
        if token in _APPLY:
            right, left = stack.pop(), stack.pop()
            stack.append(
                f"{token}({left}, {right})" if token in _WORDS else f"({left} {token} {right})"
            )
        else:
            stack.append(token)
    text = stack[0]
    return text[1:-1] if text.startswith("(") and tokens[-1] not in _WORDS else text


def binary(word: str, left: Any, right: Any) -> Symbolic:
    """min, max or ceildiv of sizes."""
    return Symbolic((*size_tokens(left), *size_tokens(right), word))  # type: ignore[misc]


def _names(text: Any, rest: tuple[Any, ...]) -> list[str]:
    parts = [text, *rest]
    names = [n for part in parts for n in str(part).replace(",", " ").split()]
    if not names:
        raise ValueError("error[E0318]: at least one name is needed, for example 'M, N'")
    return names


def dynamic(names: str, *rest: Any, dtype: Any = "int32") -> Any:
    """Sizes that stay run-time values: `M = T.dynamic("M")`, `M, N = T.dynamic("M, N")`."""
    rest = tuple(r for r in rest if not _is_dtype(r))
    found = [SymbolicVar(n) for n in _names(names, rest)]
    return found[0] if len(found) == 1 else tuple(found)


def symbolic(name: str, dtype: Any = "int32") -> Any:
    """A size that stays a run-time value."""
    return dynamic(name)


def _is_dtype(value: Any) -> bool:
    try:
        dtype(value)
    except TypeError:
        return False
    return True


@contextlib.contextmanager
def bind_consts(values: Mapping[str, int]) -> Iterator[None]:
    """While active, T.const gives these numbers; names that are missing stay symbolic."""
    before = getattr(_local, "consts", None)
    _local.consts = dict(values)
    try:
        yield
    finally:
        _local.consts = before


def const(names: str, *rest: Any) -> Any:
    """Sizes that are compile-time numbers deduced from the arguments: `M, N = T.const("M, N")`."""
    bound = getattr(_local, "consts", None) or {}
    found = [bound[n] if n in bound else ConstVar(n) for n in _names(names, rest)]
    return found[0] if len(found) == 1 else tuple(found)
