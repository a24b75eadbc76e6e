# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel's function depends on, as a value: equal only while building it again would give
the same kernel.

A function is its code, defaults and closure, the globals that it names, and all of these of the
functions that it calls. Modules and classes of the program count with the attributes that some
reached function names, other objects with all they hold, arrays by content. Installed packages and
tilewright itself are taken as fixed. What a function reads from files, clocks and random numbers is
not seen.
"""

from __future__ import annotations

import ast
import collections.abc
import enum
import functools
import os
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from typing import Any

PLAIN = (int, str, bytes, bool, type(None))
CONTAINERS = (tuple, list, set, frozenset, dict)
#: Names that reach attributes without saying which.
REFLECTION = {"getattr", "vars", "globals", "eval", "exec", "__dict__", "attrgetter"}
#: Values after which a function is not worth (or not able) to be remembered.
MAX_VALUES = 20_000
MAX_DEPTH = 100
MAX_ARRAY_BYTES = 1 << 16
_OURS = __name__.partition(".")[0] + "."
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSTALLED = tuple(
    {
        os.path.abspath(path) + os.sep
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_path(name))
    }
)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Names by code object, which is kept alive; second: with the names of the source.
_names: dict[tuple[int, bool], tuple[types.CodeType, frozenset[str]]] = {}


class TooMuchError(Exception):
    """The values are too many or too large to compare."""


class Identity:
    """Compares by identity and keeps the object alive, so that its address is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value


@functools.cache
def is_fixed_file(path: str) -> bool:
    """Whether a file belongs to an installed package or to tilewright."""
    if path.startswith("<frozen"):
        return True
    path = os.path.abspath(path)
    parts = path.split(os.sep)
    installed = "site-packages" in parts or "dist-packages" in parts
    return installed or path.startswith((_PACKAGE, *_INSTALLED))


def _is_fixed_module(module: types.ModuleType) -> bool:
    paths = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    path = next(filter(None, paths), None)
    if path is None:  # built into the interpreter, or made by the program
        return getattr(module, "__spec__", None) is not None
    return is_fixed_file(path)


def _is_fixed_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and kind.__module__ != "__main__" and _is_fixed_module(module)


def _code_names(code: types.CodeType) -> Iterator[str]:
    """Global and attribute names; texts too where names may be put together."""
    yield from code.co_names
    texts = REFLECTION.intersection(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_names(constant)
        elif texts and isinstance(constant, str) and constant.isidentifier():
            yield constant


def _annotation_names(function: types.FunctionType) -> Iterator[str]:
    """Names in annotations, which the front end reads from the source: code has not all of them."""
    from .errors import CompileError
    from .frontend import source

    try:
        tree = source.load(function)
    except CompileError:
        return
    for node in ast.walk(tree):
        for root in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for part in ast.walk(root) if root is not None else ():
                if isinstance(part, ast.Name):
                    yield part.id
                elif isinstance(part, ast.Attribute):
                    yield part.attr
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from _WORD.findall(part.value)


def names_of(function: types.FunctionType, is_traced: bool) -> frozenset[str]:
    """Names that a function may look up; `is_traced`: the front end reads its source."""
    code = function.__code__
    known = _names.get((id(code), is_traced))
    if known is not None:
        return known[1]
    found = set(_code_names(code))
    if is_traced:
        found.update(_annotation_names(function))
    names = frozenset(found)
    _names[id(code), is_traced] = code, names
    return names


class Fingerprint:
    """Freezes values for one function. Attribute names that were reached once stay of interest.

    May be called from several threads.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.names = frozenset({"__getattr__"})

    def __call__(self, *values: Any) -> Any:
        """The function and `values` frozen; raises TooMuchError when they cannot be."""
        while True:
            freezer = _Freezer(self.names)
            found = (freezer.function(self.function, True), *map(freezer.freeze, values))
            if freezer.met <= freezer.names:
                return found
            self.names |= freezer.met


class _Freezer:
    """One walk over what a function depends on, with the attribute names known before it."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.ordered = sorted(names)
        self.met: set[str] = set()
        self.done: dict[int, Any] = {}
        self.depth = 0
        self.keep: list[Any] = []

    def freeze(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return kind, value
        if kind is float:
            return kind, value.hex()  # 0.0 and -0.0 differ, NaN is itself
        if kind is complex:
            return kind, value.real.hex(), value.imag.hex()
        found = self.done.get(id(value))
        if found is not None:
            return found
        if len(self.keep) == MAX_VALUES or self.depth == MAX_DEPTH:
            raise TooMuchError
        self.keep.append(value)  # so that no other object takes its address meanwhile
        self.done[id(value)] = "inside", self.depth
        self.depth += 1
        found = (kind, self._items(value)) if kind in CONTAINERS else self._object(kind, value)
        self.depth -= 1
        self.done[id(value)] = found
        return found

    def _items(self, value: Any) -> Any:
        if isinstance(value, dict):
            return tuple([(self.freeze(k), self.freeze(v)) for k, v in value.items()])
        if isinstance(value, (set, frozenset)):
            return frozenset(map(self.freeze, value))
        return tuple([self.freeze(v) for v in value])

    def _object(self, kind: type, value: Any) -> Any:
        if kind is types.FunctionType:
            return self.function(value, False)
        if kind is types.MethodType:
            return kind, self.freeze(value.__func__), self.freeze(value.__self__)
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, (staticmethod, classmethod)):
            return kind, self.freeze(value.__func__)
        if isinstance(value, property):
            return kind, self.freeze(value.fget)
        if isinstance(value, functools.partial):
            bound = self._items(value.args), self._items(value.keywords)
            return kind, self.freeze(value.func), bound
        if value is os.environ:
            return kind, tuple(value.items())
        if isinstance(value, enum.Enum) or kind.__module__ == "logging":
            return Identity(value)
        array = self._array(kind, value)
        return self._instance(kind, value) if array is None else array

    def _array(self, kind: type, value: Any) -> Any:
        """NumPy arrays and scalars, PyTorch tensors; None for anything else."""
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            if value.nbytes > MAX_ARRAY_BYTES or value.dtype.hasobject:
                raise TooMuchError
            return kind, value.dtype.str, value.shape, value.tobytes()
        if torch is not None and isinstance(value, torch.Tensor):
            # Every write to a tensor counts its version up.
            return Identity(value), value._version, tuple(value.shape), str(value.dtype)
        return None

    def _instance(self, kind: type, value: Any) -> Any:
        if kind.__module__.startswith(_OURS):
            inner = getattr(value, "function", None)
            if isinstance(inner, types.FunctionType):  # a macro, a prim_func, a jit function
                extra = self.freeze(getattr(value, "annotations", None))
                return kind, self.function(inner, True), extra
            if kind.__name__ == "Kernel":
                return Identity(value)
        state = getattr(value, "__dict__", None)
        slots = _slots(kind)
        if state is None and not slots:
            return self._opaque(kind, value)
        parts: list[Any] = [kind if _is_fixed_class(kind) else self.freeze(kind)]
        for base in (*CONTAINERS, *PLAIN[:-1], float):
            if isinstance(value, base):
                parts.append(self._items(value) if base in CONTAINERS else base(value))
                break
        if state:
            parts.append(self._items(state))
        parts += [self.freeze(getattr(value, name, None)) for name in slots]
        return tuple(parts)

    def _opaque(self, kind: type, value: Any) -> Any:
        """An object of C: by its items, its own equality or, where it has neither, by identity."""
        if isinstance(value, CONTAINERS) or (
            kind.__hash__ is None and isinstance(value, collections.abc.Collection)
        ):
            return kind, self._items(value)
        if kind.__eq__ is object.__eq__ or kind.__hash__ is None:
            return Identity(value)
        return kind, value

    def function(self, function: types.FunctionType, is_traced: bool) -> Any:
        code = function.__code__
        parts = [Identity(code), self.freeze(function.__defaults__)]
        parts.append(self.freeze(function.__kwdefaults__))
        for cell in function.__closure__ or ():
            try:
                parts.append(self.freeze(cell.cell_contents))
            except ValueError:  # not bound yet
                parts.append(None)
        if is_fixed_file(code.co_filename):
            return tuple(parts)
        names = names_of(function, is_traced)
        self.met |= names
        space = function.__globals__
        package = space.get("__package__") or ""
        for name in names:
            if name in space:
                parts.append((name, self.freeze(space[name])))
            else:  # imported by the function itself
                module = sys.modules.get(name) or sys.modules.get(f"{package}.{name}")
                if module is not None:
                    parts.append((name, self.freeze(module)))
        if names & REFLECTION:
            parts.append(self._data(space))
        return tuple(parts)

    def _attributes(self, space: Any) -> Any:
        found = [(name, self.freeze(space[name])) for name in self.ordered if name in space]
        if self.names & REFLECTION:
            found.append(("", self._data(space)))
        return tuple(found)

    def _data(self, space: Any) -> Any:
        """All plain values of a name space, for code that may put their names together."""
        data = (*PLAIN, float, *CONTAINERS)
        return tuple(
            [
                (name, self.freeze(value))
                for name, value in list(space.items())
                if type(value) in data and not name.startswith("__")
            ]
        )

    def _module(self, module: types.ModuleType) -> Any:
        if module is os and not self.names.isdisjoint(("environ", "getenv")):
            return Identity(module), self.freeze(os.environ)
        if _is_fixed_module(module):
            return Identity(module)
        return Identity(module), self._attributes(vars(module))

    def _class(self, kind: type) -> Any:
        parts: list[Any] = [Identity(kind)]
        for base in kind.__mro__:
            if not _is_fixed_class(base):
                space = vars(base)
                parts.append(self._attributes(space))
                parts += [
                    self.freeze(value)
                    for name, value in space.items()
                    if name.startswith("__") and type(value) is types.FunctionType
                ]
        return tuple(parts)


@functools.cache
def _slots(kind: type) -> tuple[str, ...]:
    found: list[str] = []
    for base in kind.__mro__:
        slots: Iterable[str] | str = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))
