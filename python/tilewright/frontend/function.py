# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that the front end rewrites: kernels, macros, and the errors that they raise."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import inspect
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import (
    CompileError,
    InternalError,
    Location,
    NotAvailableError,
    compile_error,
    describe,
)
from . import source, trace
from .rewrite import LOCALS, RUNTIME, Rewritten, rewrite

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Rewritten code by original code: a factory that runs often rewrites its kernel once.
#: Keyed by identity (codes of different files can be equal); the code object is kept alive.
_rewritten: dict[int, tuple[types.CodeType, Rewritten]] = {}
#: Code that came from the rewriter, to find the user's frames in a traceback.
_places: dict[int, types.CodeType] = {}


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector from walking a large heap because many nodes are made."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def rewritten(function: types.FunctionType) -> Rewritten:
    """The rewritten form of a function's code."""
    code = function.__code__
    known = _rewritten.get(id(code))
    if known is not None:
        return known[1]
    with no_collection():
        found = rewrite(source.load_own(function), code.co_filename, code.co_freevars)
    _rewritten[id(code)] = code, found
    _note_code(found.code)
    return found


def _note_code(code: types.CodeType) -> None:
    _places[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_code(constant)


class Traced:
    """A user function together with its rewritten form."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.name = function.__name__
        self.result = rewritten(function)
        self.runtime = trace.Runtime(self.name, self.result.locations)
        self.callable = self._make()

    def _make(self) -> types.FunctionType:
        function = self.function
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if function.__name__ not in cells and function.__name__ in function.__globals__:
            # Inside the rewritten function's wrapper its own name is a variable around it.
            cells[function.__name__] = types.CellType(function.__globals__[function.__name__])
        cells[RUNTIME] = types.CellType(self.runtime)
        cells[LOCALS] = types.CellType(builtins.locals)
        closure = tuple(cells[name] for name in self.result.code.co_freevars)
        made = types.FunctionType(
            self.result.code,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            closure,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the rewritten function; errors of the compiler point to the user's line."""
        try:
            return self.callable(*args, **kwargs)
        except Exception as error:
            raise located(error, self) from None

    @property
    def location(self) -> Location:
        return def_place(self.function)


def _frames(error: BaseException) -> list[tuple[types.CodeType, Location, str]]:
    """Frames of an error from the outermost inwards: code, place in its file, file."""
    found = []
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        positions = list(code.co_positions())
        line, end_line, column, end_column = positions[entry.tb_lasti // 2]
        place = Location(
            code.co_filename,
            entry.tb_lineno,
            0 if column is None or line != entry.tb_lineno else column + 1,
            end_line or 0,
            0 if end_column is None else end_column + 1,
        )
        found.append((code, place, code.co_filename))
        entry = entry.tb_next
    return found


def _in_package(filename: str) -> bool:
    return filename.startswith(PACKAGE)


def user_place(error: BaseException) -> tuple[Location | None, bool]:
    """The innermost place in rewritten code, and whether the error was raised below it by us."""
    place: Location | None = None
    ours = False
    for code, location, filename in _frames(error):
        if id(code) in _places:
            place, ours = location, False
        elif place is not None:
            ours = _in_package(filename)
    return place, ours


def located(error: Exception, traced: Traced) -> Exception:
    """The error to raise instead: ours become CompileError with line and caret.

    An error that the user's own code raises (`raise ValueError` in a branch) is passed on with a
    note that names the kernel's line.
    """
    if isinstance(error, (CompileError, InternalError)) or getattr(
        error, "_tilewright_located", False
    ):
        return error
    from ..language.builder import NoBuilderError

    if isinstance(error, NoBuilderError):
        return error
    place, ours = user_place(error)
    if isinstance(error, NameError):
        reason = trace.lost_name(error, traced.runtime)
        if reason is not None:
            return compile_error(reason, place, error)
    core = _core_error()
    if core is not None and isinstance(error, core):
        return compile_error(str(error), place or traced.location)
    if isinstance(error, NotAvailableError):
        new = NotAvailableError(describe(str(error), place))
        new._tilewright_located = True  # type: ignore[attr-defined]
        return new
    if ours and isinstance(
        error,
        (TypeError, ValueError, IndexError, AttributeError, NotImplementedError, RuntimeError),
    ):
        return compile_error(str(error), place, error)
    if place is not None:
        error.add_note(describe(f"while building kernel '{traced.name}'", place))
        error._tilewright_located = True  # type: ignore[attr-defined]
    return error


@functools.cache
def _core_error() -> type[Exception] | None:
    try:
        from .. import _core
    except ImportError:
        return None
    return _core.BuildError


def def_place(function: types.FunctionType) -> Location:
    """The line of a function's `def`, behind its decorators."""
    code = function.__code__
    line = code.co_firstlineno
    while (text := linecache.getline(code.co_filename, line).lstrip()) and text[:1] in "@)":
        line += 1
    column = len(linecache.getline(code.co_filename, line)) - len(text) + 1
    if not text.startswith("def "):
        return Location(code.co_filename, code.co_firstlineno)
    return Location(code.co_filename, line, column, line, column + len(text.rstrip()))


class Macro:
    """`@T.macro`: its body is traced into the kernel at each call."""

    def __init__(self, function: types.FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._traced: Traced | None = None
        self._signature = inspect.signature(function)
        self._references = {
            n for n, p in self._signature.parameters.items() if _is_reference(p.annotation)
        }

    @property
    def traced(self) -> Traced:
        if self._traced is None:
            self._traced = Traced(self.function)
        return self._traced

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A macro in a class works as a method."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            bound.arguments[name] = self._argument(name, value)
        return self.traced.run(*bound.args, **bound.kwargs)

    def _argument(self, name: str, value: Any) -> Any:
        """Scalars by value, buffers and regions by alias, T.Ref by reference."""
        if name in self._references:
            if isinstance(value, (trace.Element, trace.Var)):
                return value if isinstance(value, trace.Var) else trace.Reference(value)
            raise TypeError(
                f"error[E0119]: parameter '{name}' of macro "
                f"{self.__name__} "  # type: ignore[attr-defined]
                "is a T.Ref; pass an element such as A[i, j] or a variable made by T.alloc_var"
            )
        return trace.values.read(value) if isinstance(value, (trace.Element, trace.Var)) else value


class _RefAnnotation:
    """`T.Ref`: annotates a macro parameter that the macro stores to."""

    def __repr__(self) -> str:
        return "T.Ref"


Ref = _RefAnnotation()


def _is_reference(annotation: Any) -> bool:
    if type(annotation) is str:
        return annotation.split(".")[-1] == "Ref"
    return annotation is Ref


def macro(function: Callable[..., Any] | None = None, /, **_: Any) -> Any:
    """Marks a function whose body is inlined where a kernel calls it. Works without `()` too."""
    if function is None:
        return macro
    if isinstance(function, Macro):
        return function
    return Macro(plain(function))


def meta_var(value: Any) -> Any:
    """Marks a value as known while the kernel is built; gives it back."""
    return value


def meta_class(cls: type) -> type:
    """Marks a class whose objects group buffers and macros while a kernel is built."""
    return cls


def inline(function: Callable[..., Any]) -> Any:
    """A macro that is a method of a `meta_class`."""
    return macro(function)


def plain(function: Any) -> types.FunctionType:
    """The Python function behind wrappers made by functools.wraps."""
    found = inspect.unwrap(function) if callable(function) else function
    if not isinstance(found, types.FunctionType):
        raise TypeError(
            f"error[E0120]: a kernel is a Python function written with `def`, found {function!r}"
        )
    return found


def resolve_annotations(function: types.FunctionType, depth: int) -> dict[str, Any]:
    """Annotations as objects; texts (`from __future__ import annotations`) are evaluated.

    `depth` counts the frames up to the one that holds the decorator, whose local names such texts
    may use although the function does not close over them.
    """
    found = dict(function.__annotations__)
    if not any(type(a) is str for a in found.values()):
        return found
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    names = dict(sys._getframe(depth).f_locals)
    for name, cell in cells:
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    for name, annotation in found.items():
        if type(annotation) is str:  # not an element type, which is a str too
            try:
                found[name] = eval(annotation, function.__globals__, names)
            except Exception as error:
                raise compile_error(
                    f"error[E0103]: the annotation of '{name}' cannot be evaluated: {error}",
                    def_place(function),
                    error,
                ) from None
    return found


def has_inner_prim_func(function: types.FunctionType) -> bool | None:
    """Whether a function defines a `@T.prim_func`; None when its source cannot be read."""
    node = _source_or_none(function)
    if node is None:
        return None
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef) and child is not node:
            for decorator in child.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if getattr(target, "attr", getattr(target, "id", "")) == "prim_func":
                    return True
    return False


def opens_kernel(function: types.FunctionType) -> bool:
    """Whether the function's own body has `with T.Kernel(...)` or declares tensors."""
    node = _source_or_none(function)
    if node is None:
        return False
    stack: list[ast.AST] = list(node.body)
    while stack:
        child = stack.pop()
        if isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(child, ast.With):
            for item in child.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in (
                    "Kernel",
                    "Cores",
                ):
                    return True
        stack.extend(ast.iter_child_nodes(child))
    return False


def _source_or_none(function: types.FunctionType) -> ast.FunctionDef | None:
    try:
        return source.load(function)
    except CompileError:
        return None
