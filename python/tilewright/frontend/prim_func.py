# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@T.prim_func`: a function whose annotated parameters are the kernel's parameters."""

from __future__ import annotations

import contextlib
import inspect
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import CompileError, compile_error
from ..language.buffer import TensorType
from ..language.builder import Builder
from .function import Traced, plain, resolve_annotations

_local = threading.local()


@dataclass(frozen=True)
class Built:
    """A traced kernel: its module (given to one compile) and what the runtime must know."""

    module: Any
    expert: bool


@dataclass(frozen=True)
class Param:
    """A parameter as book-keeping code sees it."""

    name: str
    dtype: Any
    shape: tuple[Any, ...] = ()

    @property
    def is_scalar(self) -> bool:
        return not self.shape


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """While active, `@T.prim_func` does not trace: the caller compiles the result at once."""
    _local.deferred = getattr(_local, "deferred", 0) + 1
    try:
        yield
    finally:
        _local.deferred -= 1


class PrimFunc:
    """A kernel that can be compiled. Tracing happens at decoration, so that mistakes show there."""

    def __init__(self, function: types.FunctionType, annotations: dict[str, Any]) -> None:
        self.function = function
        self.annotations = annotations
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.attrs: dict[str, Any] = {"global_symbol": function.__name__}
        self._built: Built | None = None
        self._check_signature()

    def _check_signature(self) -> None:
        for name, parameter in inspect.signature(self.function).parameters.items():
            place = Traced(self.function).location
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise compile_error(
                    f"error[E0103]: kernel '{self.__name__}' cannot take *{name}", place
                )
            if name not in self.annotations:
                raise compile_error(
                    f"error[E0103]: parameter '{name}' of kernel '{self.__name__}' has no "
                    f"annotation; write for example {name}: T.Tensor((M, N), 'float16') or "
                    f"{name}: T.int32",
                    place,
                )

    @property
    def names(self) -> list[str]:
        return list(inspect.signature(self.function).parameters)

    @property
    def params(self) -> list[Param]:
        found = []
        for name in self.names:
            kind = self.annotations[name]
            tensor = isinstance(kind, TensorType)
            found.append(Param(name, kind.dtype if tensor else kind, kind.shape if tensor else ()))
        return found

    @property
    def buffer_map(self) -> dict[str, Any]:
        return {n: a for n, a in self.annotations.items() if isinstance(a, TensorType)}

    def with_attr(self, key: str, value: Any) -> PrimFunc:
        """A copy with one more attribute; "global_symbol" is the kernel's name."""
        copy = PrimFunc(self.function, self.annotations)
        copy.attrs = {**self.attrs, key: value}
        return copy

    def with_function(self, function: types.FunctionType) -> PrimFunc:
        """A copy around another function of the same signature."""
        copy = PrimFunc(function, self.annotations)
        copy.attrs = dict(self.attrs)
        return copy

    def trace(self, outputs: tuple[int, ...] = ()) -> Built:
        """Builds the kernel's module; parameters at `outputs` are allocated by the runtime."""
        traced = Traced(self.function)
        with Builder(self.attrs["global_symbol"]) as builder:
            place = traced.location
            builder.set_location(place.file, place.line, 1, place.line, 1)
            arguments = []
            for position, name in enumerate(self.names):
                kind = self.annotations[name]
                arguments.append(add_parameter(builder, name, kind, position in outputs, traced))
            result = traced.run(*arguments)
            if result is not None:
                raise compile_error(
                    f"error[E0104]: kernel '{self.__name__}' returns a value; a @T.prim_func "
                    "writes its results into tensor parameters",
                    place,
                )
            return Built(finish(builder, traced), bool(builder.expert_names))

    def check(self) -> None:
        """Traces once, so that mistakes are reported where the kernel is written."""
        self._built = self.trace()

    def take(self, outputs: tuple[int, ...]) -> Built:
        """The traced kernel for one compile; the trace made at decoration is used once."""
        built, self._built = self._built, None
        if built is None or outputs:
            built = self.trace(outputs)
        return built

    def script(self, *_: Any, **__: Any) -> str:
        """The kernel's IR as text, before any pass."""
        if self._built is None:
            self._built = self.trace()
        return str(self._built.module)

    @property
    def body(self) -> str:
        """What `tvm.tir.stmt_functor.post_order_visit` looks through."""
        return self.script()

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"error[E0120]: kernel '{self.__name__}' is not compiled; use "
            f"tilelang.compile({self.__name__}), or decorate the function that makes it with "
            "@tilelang.jit"
        )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def add_parameter(builder: Builder, name: str, kind: Any, output: bool, traced: Traced) -> Any:
    """One parameter from its annotation; errors stand at the function's `def`."""
    from .. import _core

    try:
        if not isinstance(kind, TensorType):
            if output:
                raise ValueError(
                    f"error[E0809]: '{name}' is a scalar and cannot be an output (out_idx)"
                )
            return builder.add_scalar_param(name, kind)
        if output:
            if not kind.shape:
                raise ValueError(
                    f"error[E0809]: '{name}' has no dimensions and cannot be an output (out_idx)"
                )
            return builder.add_output(name, kind.shape, kind.dtype)
        return builder.add_tensor_param(name, kind)
    except (TypeError, ValueError, RuntimeError, _core.BuildError) as error:
        if isinstance(error, CompileError):
            raise
        raise compile_error(
            f"error[E0103]: parameter '{name}' of kernel '{traced.name}': {error}",
            traced.location,
            error,
        ) from None


def finish(builder: Builder, traced: Traced) -> Any:
    """Closes the kernel; what the last checks find is reported at the function."""
    from .. import _core

    try:
        return builder.finish()
    except _core.BuildError as error:
        raise compile_error(str(error), traced.location) from None


def prim_func(
    function: Callable[..., Any] | None = None,
    /,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    eager_jit: bool = False,
) -> Any:
    """Makes a kernel of an annotated function. Usable with or without `()`."""
    if function is None:
        return lambda f: _make(f, 3)
    return _make(function, 3)


def _make(function: Callable[..., Any], depth: int) -> PrimFunc:
    if isinstance(function, PrimFunc):
        return function
    user = plain(function)
    made = PrimFunc(user, resolve_annotations(user, depth))
    if not getattr(_local, "deferred", 0):
        made.check()
    return made
