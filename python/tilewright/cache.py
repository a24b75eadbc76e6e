# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-process memory of compiled kernels; keys that tell when two calls mean the same kernel."""

from __future__ import annotations

import os
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAIN = (int, float, str, bytes, bool, type(None), complex)
_enabled = True
_memos: weakref.WeakSet[Memo] = weakref.WeakSet()


class Memo:
    """A thread-safe map from keys to kernels that `clear_cache` empties."""

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.lock = threading.Lock()
        _memos.add(self)

    def get(self, key: Any) -> Any:
        return self.entries.get(key) if _enabled else None

    def put(self, key: Any, value: Any) -> None:
        if _enabled:
            with self.lock:
                self.entries[key] = value


def clear_cache() -> None:
    """Forgets all compiled kernels."""
    for memo in list(_memos):
        with memo.lock:
            memo.entries.clear()


def enable_cache() -> None:
    global _enabled
    _enabled = True


def disable_cache() -> None:
    """Every call compiles anew."""
    global _enabled
    _enabled = False


def is_cache_enabled() -> bool:
    return _enabled


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    os.environ["TILELANG_CACHE_DIR"] = str(path)


def get_cache_dir() -> Path:
    return Path(os.environ.get("TILELANG_CACHE_DIR") or Path.home() / ".cache" / "tilewright")


def cached(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Compiles a kernel, remembering the result."""
    from .jit import compile as compile_kernel

    return compile_kernel(function, *args, **kwargs)


def freeze(value: Any) -> Any:
    """A hashable stand-in: equal for values that lead to the same kernel."""
    kind = type(value)
    if kind in PLAIN:
        return kind, value
    if kind in (tuple, list):
        return kind, tuple([freeze(v) for v in value])
    if kind is dict:
        return kind, tuple([(freeze(k), freeze(v)) for k, v in value.items()])
    if kind in (set, frozenset):
        return kind, frozenset(freeze(v) for v in value)
    if kind is types.FunctionType:
        return "function", id(value.__code__), cells(value)
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None and not isinstance(value, type):
        return kind, tuple([(name, freeze(getattr(value, name))) for name in fields])
    try:
        hash(value)
    except TypeError:
        return Identity(value)
    return value


class Identity:
    """Compares by identity and keeps the object alive, so that its address is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value


def cells(function: types.FunctionType) -> tuple[Any, ...]:
    """What a function closes over, shallowly: nested functions count by their code."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            found.append(None)
            continue
        if isinstance(content, types.FunctionType):
            found.append(("function", id(content.__code__)))
        elif isinstance(content, (types.ModuleType, type)):
            found.append(id(content))
        else:
            found.append(freeze(content))
    return tuple(found)


def _global_names(code: types.CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.extend(_global_names(constant))
    return list(dict.fromkeys(names))


def _function_of(value: Any) -> types.FunctionType | None:
    if isinstance(value, types.FunctionType):
        return value
    inner = getattr(value, "function", None)
    return inner if isinstance(inner, types.FunctionType) else None


class Fingerprint:
    """What a function depends on beside its arguments: globals and closure, of helpers too.

    Modules and classes are taken as fixed; everything else is read again at every call.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.functions: list[types.FunctionType] = []
        self.globals: list[tuple[dict[str, Any], str]] = []
        self._collect(function, set())

    def _collect(self, function: types.FunctionType, seen: set[int]) -> None:
        if id(function.__code__) in seen:
            return
        seen.add(id(function.__code__))
        if function.__closure__:
            self.functions.append(function)
        space = function.__globals__
        for name in _global_names(function.__code__):
            if name not in space or name.startswith("__"):
                continue
            value = space[name]
            if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
                continue
            inner = _function_of(value)
            if inner is not None and inner.__module__ and inner.__module__.startswith("tilewright"):
                continue
            self.globals.append((space, name))
            if inner is not None:
                self._collect(inner, seen)
        for cell in function.__closure__ or ():
            try:
                inner = _function_of(cell.cell_contents)
            except ValueError:
                continue
            if inner is not None:
                self._collect(inner, seen)

    def __call__(self) -> tuple[Any, ...]:
        found: list[Any] = [cells(f) for f in self.functions]
        for space, name in self.globals:
            value = space.get(name)
            inner = _function_of(value)
            found.append(id(inner.__code__) if inner is not None else freeze(value))
        return tuple(found)


def remember(memo: Memo, key: Any, make: Callable[[], Any]) -> Any:
    """The value under `key`, made when it is not there."""
    found = memo.get(key)
    if found is None:
        found = make()
        memo.put(key, found)
    return found
