# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rewritten kernels call while they run: decides what is Python's and what is the kernel's.

A branch or loop over Python values runs at trace time. A branch or loop over run-time values opens
a region of the kernel; names that it assigns do not outlive it, because their values would depend
on what happens when the kernel runs.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import Location, compile_error
from ..keywords import mistake
from ..language import builder as building
from ..language import expr as values
from ..language.buffer import Buffer, Element
from ..language.expr import Expr, Var
from ..language.loops import make_range
from ..language.reducers import Reducer
from ..language.symbols import Symbolic
from ..language.tile_ops import breakpoint_
from .regions import Branch, Context, Guard, Loop, Region, WhileLoop

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "@": operator.imatmul,
}


PACKAGE = __name__.partition(".")[0]

#: Functions of Python that would ask a run-time value for its truth.
_COMPARING = {id(builtins.max): "max", id(builtins.min): "min"}


class Reference:
    """A macro argument passed by reference (T.Ref): assignment stores into the element."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target

    def load(self) -> Any:
        return values.read(self.target)

    def store(self, value: Any) -> None:
        self.target.store(value)


class Runtime:
    """The `__tw__` of one rewritten function."""

    def __init__(self, name: str, locations: list[Location]) -> None:
        self.name = name
        self.locations = locations
        self.place = 0
        self.lost: dict[str, tuple[str, int]] = {}
        self.assigned_at: dict[str, Location] = {}
        self.declare_hook: Callable[[str, Any, Any], Any] | None = None

    @property
    def builder(self) -> Any:
        return building.current()

    # -- places ---------------------------------------------------------------------------------

    def at(self, place: int) -> None:
        """What is built next belongs to this place."""
        self.place = place
        builder = building.active()
        if builder is not None:
            here = self.locations[place]
            builder.set_location(here.file, here.line, here.column, here.end_line, here.end_column)

    def call(self, place: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls with the call's own place; afterwards the statement's place holds again."""
        before = self.place
        self.at(place)
        if function is range and any(values.is_runtime(a) for a in args):
            function = make_range
        if function is builtins.breakpoint:
            function = breakpoint_
        name = _COMPARING.get(id(function))
        if name and any(isinstance(a, Expr) and a.constant is None for a in args):
            raise TypeError(
                f"error[E0111]: Python's {name} compares in Python, where run-time values have no "
                f"number; use T.{name}(a, b), of two values at a time"
            )
        try:
            result = function(*args, **kwargs)
        except TypeError as error:
            if not _is_ours(function):
                raise
            raise mistake(function, args, kwargs) or error from None
        self.at(before)
        return result

    # -- assignment -----------------------------------------------------------------------------

    def bind(self, name: str, value: Any) -> Any:
        """A new binding: reads elements once, names fresh tiles after the variable."""
        if isinstance(value, Element):
            return values.read(value)
        if isinstance(value, (Buffer, Var)):
            self._name(value, name)
        elif isinstance(value, Reference):
            return value.load()
        return value

    def _name(self, value: Any, name: str) -> None:
        builder = building.active()
        if builder is None:
            return
        if isinstance(value, Buffer) and value.scope == "global":
            # Of the global tensors only T.empty's take the variable's name, unless it is taken.
            outputs = [*getattr(builder, "outputs", ()), *getattr(builder, "aliases", ())]
            if not any(value is made for made in outputs) or name in builder.parameter_names:
                return
            builder.parameter_names.add(name)
        named = builder.__dict__.setdefault("_named", {})
        if id(value) not in named:
            named[id(value)] = value
            value.rename(name)

    def _is_named(self, value: Any) -> bool:
        builder = building.active()
        return builder is None or id(value) in builder.__dict__.get("_named", ())

    def assign(self, name: str, value: Any, scope: Mapping[str, Any]) -> Any:
        """`name = value`. A variable of the kernel is stored to, anything else is rebound."""
        self.assigned_at[name] = self.locations[self.place]
        old = scope.get(name)
        if isinstance(old, (Var, Reference)):
            if isinstance(old, Var) and isinstance(value, Var) and not self._is_named(value):
                return self.bind(name, value)
            if _is_scalar(value):
                old.store(values.read(value))
                return old
        if isinstance(value, Var) and self._is_named(value):
            return values.read(value)
        return self.bind(name, value)

    def assign_annotated(
        self, name: str, value: Any, annotation: Any, scope: Mapping[str, Any]
    ) -> Any:
        """`name: type = value`: a scalar is converted to the type."""
        kind = annotation()
        if _is_scalar(value) and _is_dtype(kind) and not isinstance(scope.get(name), Var):
            value = values.cast_value(values.read(value), _dtype(kind))
        return self.assign(name, value, scope)

    def declare(self, place: int, name: str, annotation: Any, value: Any) -> Any:
        """`A: T.Tensor(...)` for a parameter of an eager kernel."""
        self.at(place)
        if self.declare_hook is None:
            return value
        try:
            kind = annotation()
        except NameError as error:
            raise compile_error(
                f"error[E0103]: {error} in the annotation of '{name}'. Python keeps a variable of "
                "the function around a kernel only if the kernel uses it outside of annotations: "
                "use it in the body too, or pass it as a compile-time argument",
                self.locations[place],
                error,
            ) from None
        return self.declare_hook(name, kind, value)

    def values(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Reads all parts before any is assigned, so that `a, b = b, a` swaps."""
        return tuple(values.read(p) if self._reads(p) else p for p in parts)

    def _reads(self, value: Any) -> bool:
        return isinstance(value, Element) or (isinstance(value, Var) and self._is_named(value))

    def unpack(self, count: int, value: Any) -> Any:
        if count == 1 and not isinstance(value, (tuple, list)):
            return (value,)
        if isinstance(value, (Buffer, Expr)):
            raise TypeError(f"error[E0114]: cannot unpack {value!r} into {count} names")
        return value

    def set_item(self, place: int, owner: Any, index: Any, value: Any) -> None:
        self.at(place)
        if isinstance(value, Var):
            value = values.read(value)
        if isinstance(owner, Reference):
            owner = owner.target
        owner[index] = value

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        old = getattr(owner, name, None)
        if isinstance(old, Var) and _is_scalar(value):
            old.store(values.read(value))
        else:
            setattr(owner, name, self.bind(name, value))

    def update(self, name: str, operation: str, old: Any, value: Any) -> Any:
        """`name op= value`."""
        self.assigned_at[name] = self.locations[self.place]
        if isinstance(old, (Var, Reference)):
            present = values.read(old) if isinstance(old, Var) else old.load()
            old.store(BINARY[operation](present, value))
            return old
        if isinstance(old, Buffer):
            raise TypeError(
                f"error[E0116]: `{name} {operation}= ...` on a whole buffer; loop over its "
                "elements with T.Parallel or use a tile operation such as T.vadd"
            )
        return self.bind(name, INPLACE[operation](old, value))

    def update_item(self, place: int, operation: str, owner: Any, index: Any, value: Any) -> None:
        """`owner[index] op= value`."""
        self.at(place)
        if isinstance(owner, Reference):
            owner = owner.target
        if isinstance(owner, Buffer):
            target = owner[index]
            if not isinstance(target, Element):
                raise TypeError(
                    f"error[E0116]: `{operation}=` on a slice; loop over its elements with "
                    "T.Parallel or use a tile operation such as T.vadd"
                )
            if isinstance(owner, Reducer) and operation in ("+", "&", "|", "^"):
                owner.combine(index, value)
                return
            target.store(BINARY[operation](target, value))
            return
        owner[index] = INPLACE[operation](owner[index], value)

    def update_attribute(self, operation: str, owner: Any, name: str, value: Any) -> None:
        old = getattr(owner, name)
        if isinstance(old, Var):
            old.store(BINARY[operation](values.read(old), value))
        else:
            setattr(owner, name, INPLACE[operation](old, value))

    def slice_(self, start: Any, stop: Any, step: Any) -> slice:
        return slice(start, stop, step)

    # -- control flow ---------------------------------------------------------------------------

    def if_(self, place: int, cond: Any, names: Any, scope: Any) -> Branch:
        self.at(place)
        return Branch(self, place, cond, names, scope)

    def loop(
        self, place: int, iterable: Any, names: Any, read_first: Any, jumps: Any, scope: Any
    ) -> Loop:
        self.at(place)
        return Loop(self, place, iterable, names, read_first, jumps, scope)

    def while_(
        self, place: int, test: Any, names: Any, read_first: Any, jumps: Any, scope: Any
    ) -> WhileLoop:
        self.at(place)
        return WhileLoop(self, place, test, names, read_first, jumps, scope)

    def context(self, place: int, inner: Any, count: int, tuple_target: bool) -> Context:
        self.at(place)
        if isinstance(inner, type) and hasattr(inner, "__enter__"):
            inner = inner()  # `with T.Then:` without parentheses
        if not hasattr(inner, "__enter__"):
            raise compile_error(
                "error[E0115]: `with` needs a context manager such as T.Kernel(...), found "
                f"{getattr(inner, '__name__', repr(inner))}",
                self.locations[place],
            )
        return Context(inner, count, tuple_target)

    def guard(self, place: int, loop: Loop, names: Any, scope: Any) -> Guard:
        self.at(place)
        return Guard(self, place, loop, names, scope)

    def return_(self, place: int, regions: tuple[Region, ...], value: Any) -> Any:
        if any(not r.static for r in regions):
            raise compile_error(
                "error[E0105]: `return` inside a branch or loop that runs on the device is not "
                "supported; put the rest of the function under `else`",
                self.locations[place],
            )
        return values.read(value) if self._reads(value) else value

    def assert_(self, place: int, cond: Any, message: Any) -> None:
        if values.is_runtime(cond):
            self.at(place)
            self.builder.assert_(cond, str(message()))
        elif not cond:
            raise AssertionError(message())

    # -- expressions ----------------------------------------------------------------------------

    def and_(self, place: int, left: Any, *rest: Callable[[], Any]) -> Any:
        for right in rest:
            if values.is_runtime(left):
                left = values.logical_and(left, right)
            elif left:
                left = right()
            else:
                return left
        return left

    def or_(self, place: int, left: Any, *rest: Callable[[], Any]) -> Any:
        for right in rest:
            if values.is_runtime(left):
                left = values.logical_or(left, right)
            elif left:
                return left
            else:
                left = right()
        return left

    def not_(self, place: int, value: Any) -> Any:
        return values.logical_not(value) if values.is_runtime(value) else not value

    def compare(self, place: int, left: Any, *rest: Any) -> Any:
        """`a < b < c`: each operand once, from left to right."""

        def pairs(left: Any, at: int) -> Any:
            right = rest[at + 1]()
            right = values.read(right) if self._reads(right) else right
            result = BINARY[rest[at]](left, right)
            if at + 2 == len(rest):
                return result
            return self.and_(place, result, lambda: pairs(right, at + 2))

        return pairs(left, 0)

    def choose(
        self, place: int, cond: Any, then: Callable[[], Any], other: Callable[[], Any]
    ) -> Any:
        """`then if cond else other`."""
        if not values.is_runtime(cond):
            return then() if cond else other()
        one, two = then(), other()
        for value in (one, two):
            if not _is_scalar(value):
                raise TypeError(
                    "error[E0117]: `a if c else b` with a run-time condition chooses between "
                    f"scalars, found {value!r}; use an `if` statement"
                )
        return values.if_then_else(cond, one, two)


def _is_ours(function: Any) -> bool:
    """Whether a function is of this package, which checks the arguments of its own calls."""
    return str(getattr(function, "__module__", "")).startswith(PACKAGE)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (Expr, Symbolic)) or values.is_number(value)


def _is_dtype(kind: Any) -> bool:
    from ..dtypes import DType

    return isinstance(kind, DType)


def _dtype(kind: Any) -> Any:
    from ..dtypes import dtype

    return dtype(kind)


def lost_name(error: NameError, runtime: Runtime) -> str | None:
    """The reason why a name is unbound, when a run-time region has dropped it."""
    name = getattr(error, "name", None) or _quoted(str(error))
    if name not in runtime.lost:
        return None
    what, line = runtime.lost[name]
    return (
        f"error[E0109]: '{name}' was assigned inside the {what} at line {line}, which runs on the "
        "device, so it has no value after it; assign it before, store it in a tile, or make it a "
        "variable with T.alloc_var"
    )


def _quoted(text: str) -> str | None:
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else None
