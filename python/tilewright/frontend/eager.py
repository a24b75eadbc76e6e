# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager kernels: the body declares tensors, makes outputs with T.empty and returns them.

Two runs of the function: the first finds the declared shapes, from which the numbers behind T.const
are deduced; the second builds the kernel with them.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..dtypes import PACKED
from ..errors import ArgumentError, ArgumentTypeError, CompileError, compile_error
from ..language.buffer import Buffer, Pointer, TensorType
from ..language.builder import Builder, NoBuilderError
from ..language.symbols import ConstVar, Symbolic, bind_consts
from . import source
from .function import Traced, located, resolve_annotations
from .prim_func import Built, add_parameter, finish


class _ProbeDone(Exception):
    """Every tensor is declared; the rest of the function is not needed."""


@dataclass(frozen=True)
class EagerBuilt(Built):
    """A traced eager kernel."""

    order: tuple[str, ...]  #: call arguments in the order of the signature
    returned: tuple[str, ...]  #: names of the outputs in the order of `return`
    single: bool  #: `return C`, not a tuple


class Placeholder:
    """Stands for a tensor argument until the body declares it."""

    def __init__(self, name: str, hook: Any = None) -> None:
        self._name = name
        self._hook = hook

    def declare(self, annotation: TensorType) -> Any:
        """T.make_tensor: the parameter as a tensor."""
        return self._hook(self._name, annotation, None)

    def __getattr__(self, attribute: str) -> Any:
        raise TypeError(
            f"error[E0103]: argument '{self._name}' is used before it is declared; write "
            f"`{self._name}: T.Tensor(shape, dtype)` first"
        )


class EagerFunction:
    """The facts about an eager function that do not depend on arguments."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        traced = Traced(function)
        self.location = traced.location
        self.annotated = _tensor_annotations(function)
        declared = {*traced.result.declared, *self.annotated, *_pointers(function)}
        self.tensors = tuple(n for n in self.signature.parameters if n in declared)
        self.consts = _const_names(source.load(function))

    def split(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], need_all: bool
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
        """Run-time arguments, compile-time arguments and given T.const numbers of a call."""
        consts = {}
        rest = {}
        for name, value in kwargs.items():
            if name in self.signature.parameters:
                rest[name] = value
            elif name in self.consts:
                consts[name] = _size(name, value)
            else:
                allowed = ", ".join([*self.signature.parameters, *self.consts])
                raise TypeError(
                    f"error[E0125]: {self.function.__name__}() got an unexpected keyword {name!r}; "
                    f"allowed are {allowed}"
                )
        bind = self.signature.bind if need_all else self.signature.bind_partial
        if not need_all and args and self.tensors and not any(map(_looks_like_tensor, args)):
            args, rest = (), self._without_tensors(args, rest)
        try:
            bound = bind(*args, **rest)
        except TypeError as error:
            allowed = ", ".join(self.signature.parameters)
            raise TypeError(
                f"error[E0125]: {self.function.__name__}(): {error}; it takes ({allowed})"
            ) from None
        bound.apply_defaults()
        run_time = {n: bound.arguments[n] for n in self.tensors if n in bound.arguments}
        fixed = {n: v for n, v in bound.arguments.items() if n not in self.tensors}
        missing = [
            n
            for n, p in self.signature.parameters.items()
            if n not in self.tensors and n not in fixed and p.default is p.empty
        ]
        if missing:
            raise TypeError(
                f"error[E0125]: {self.function.__name__}() needs compile-time argument "
                f"{', '.join(map(repr, missing))}"
            )
        return run_time, fixed, consts

    def _without_tensors(self, args: tuple[Any, ...], rest: dict[str, Any]) -> dict[str, Any]:
        """`compile(64, 64)`: positional arguments skip the tensors."""
        names = [n for n in self.signature.parameters if n not in self.tensors]
        return {**dict(zip(names, args, strict=False)), **rest}

    def arguments(self, fixed: Mapping[str, Any], hook: Any) -> dict[str, Any]:
        return {**{n: Placeholder(n, hook) for n in self.tensors}, **fixed}

    def probe(self, fixed: Mapping[str, Any], consts: Mapping[str, int]) -> dict[str, Any]:
        """Runs the body up to its last declaration; gives the annotations of the tensors."""
        traced = Traced(self.function)
        found: dict[str, Any] = dict(self.annotated)
        if len(found) == len(self.tensors):
            return found

        def hook(name: str, annotation: Any, value: Any) -> Any:
            found[name] = annotation
            if len(found) == len(self.tensors):
                raise _ProbeDone
            return value

        traced.runtime.declare_hook = hook
        try:
            with bind_consts(consts):
                traced.callable(**self.arguments(fixed, hook))
        except (_ProbeDone, NoBuilderError):
            pass
        except Exception as error:
            if len(found) < len(self.tensors):
                raise located(error, traced) from None
        return found

    def deduce(
        self, annotations: Mapping[str, Any], tensors: Mapping[str, Any], known: Mapping[str, int]
    ) -> dict[str, int]:
        """Numbers behind T.const from the shapes of the given tensors.

        A dimension that is the name itself decides first, then one that is affine in it.
        """
        found = dict(known)
        origin: dict[str, str] = {}
        shapes = []
        for name, annotation in annotations.items():
            if isinstance(annotation, TensorType) and name in tensors:
                value = tensors[name]
                if not hasattr(value, "shape"):
                    raise ArgumentTypeError(
                        f"error[E0802]: argument '{name}' is a {type(value).__name__}; the kernel "
                        "expects a tensor (torch.Tensor or numpy.ndarray)"
                    )
                shape = tuple(value.shape)
                if len(shape) != len(annotation.shape):
                    sizes = ", ".join(str(size) for size in annotation.shape)
                    raise ArgumentError(
                        f"error[E0804]: argument '{name}' has shape {shape}; kernel "
                        f"{self.function.__name__} expects {len(annotation.shape)} dimensions, "
                        f"({sizes})"
                    )
                shapes.append((name, annotation.shape, shape))
                if annotation.strides is not None:
                    shapes.append((name, annotation.strides, _strides(value, annotation)))
        for direct in (True, False):
            for name, declared, actual in shapes:
                for size, number in zip(declared, actual, strict=True):
                    if not isinstance(size, Symbolic):
                        continue
                    if direct and isinstance(size, ConstVar):
                        if size.name not in found:
                            origin[size.name] = name
                        first = found.setdefault(size.name, int(number))
                        source = origin.get(size.name)
                        if source and first != number and 1 not in (first, number):
                            sizes = ", ".join(str(size) for size in declared)
                            raise ArgumentError(
                                f"error[E0804]: argument '{name}' has shape {actual}; kernel "
                                f"{self.function.__name__} expects ({sizes}) with {size.name} = "
                                f"{first}, as '{source}' says, found {number}"
                            )
                    elif not direct:
                        _solve(size, int(number), found)
        return found

    def build(self, fixed: Mapping[str, Any], consts: Mapping[str, int]) -> EagerBuilt:
        """Builds the kernel for given compile-time arguments and sizes."""
        missing = [n for n in self.consts if n not in consts]
        if missing:
            names = ", ".join(missing)
            raise compile_error(
                f"error[E0125]: no tensor argument of kernel '{self.function.__name__}' "
                f"determines {names}; pass it as a keyword ({missing[0]}=...)",
                self.location,
            )
        traced = Traced(self.function)
        with Builder(self.function.__name__) as builder:
            place = self.location
            builder.set_location(place.file, place.line, 1, place.line, 1)

            def hook(name: str, annotation: Any, value: Any) -> Any:
                return add_parameter(builder, name, annotation, False, traced)

            traced.runtime.declare_hook = hook
            arguments = self.arguments(fixed, hook)
            for name, annotation in self.annotated.items():
                arguments[name] = hook(name, annotation, None)
            with bind_consts(consts):
                result = traced.run(**arguments)
            returned, single = self._outputs(builder, result)
            return EagerBuilt(
                finish(builder, traced), bool(builder.expert_names), self.tensors, returned, single
            )

    def _outputs(self, builder: Builder, result: Any) -> tuple[tuple[str, ...], bool]:
        single = not isinstance(result, (tuple, list))
        values = [] if result is None else [result] if single else list(result)
        made = list(builder.outputs)
        for value in values:
            if not isinstance(value, Buffer) or not any(value is m for m in made):
                raise compile_error(
                    f"error[E0104]: kernel '{self.function.__name__}' returns {value!r}; only "
                    "tensors made by T.empty can be returned",
                    self.location,
                )
        if len(made) != len(values):
            raise compile_error(
                f"error[E0104]: kernel '{self.function.__name__}' makes {len(made)} tensors with "
                f"T.empty and returns {len(values)}; all of them must be returned",
                self.location,
            )
        return tuple(v.name for v in values), single


def _pointers(function: types.FunctionType) -> list[str]:
    """Parameters that the signature annotates with T.ptr."""
    try:
        annotations = resolve_annotations(function, 1)
    except CompileError:
        return []
    return [n for n, a in annotations.items() if isinstance(a, Pointer)]


def _strides(value: Any, annotation: TensorType) -> tuple[int, ...]:
    """Strides of a tensor in elements as the annotation counts them."""
    steps = value.stride() if callable(getattr(value, "stride", None)) else value.strides
    if not hasattr(value, "stride"):
        steps = [step // value.itemsize for step in steps]
    pairs = 2 if annotation.dtype in PACKED else 1
    return (*[step * pairs for step in steps[:-1]], *steps[-1:])


def _tensor_annotations(function: types.FunctionType) -> dict[str, Any]:
    """Tensors that the signature declares, `def f(A: T.Tensor((8,), "float16"))`."""
    try:
        annotations = resolve_annotations(function, 1)
    except CompileError:
        return {}  # a text about something else; the body declares the tensors
    return {n: a for n, a in annotations.items() if isinstance(a, TensorType) and n != "return"}


def _solve(size: Symbolic, number: int, found: dict[str, int]) -> None:
    """Solves a dimension that is affine in its one unknown symbol."""
    unknown = [n for n in size.symbols() if n not in found]
    if len(unknown) != 1:
        return
    name = unknown[0]
    try:
        zero, one, two = (size.substitute({**found, name: v}) for v in (0, 1, 2))
    except (KeyError, ZeroDivisionError):
        return
    slope = one - zero
    if slope and two - one == slope and (number - zero) % slope == 0:
        found[name] = (number - zero) // slope


def _size(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"error[E0125]: size {name} is {value!r}; an integer is needed")
    return value.__index__()


def _looks_like_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _const_names(node: ast.FunctionDef) -> tuple[str, ...]:
    """Names in the function's calls of T.const."""
    found: dict[str, None] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and getattr(child.func, "attr", "") == "const":
            for argument in child.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    found.update(dict.fromkeys(argument.value.replace(",", " ").split()))
    return tuple(found)


__all__ = ["CompileError", "EagerBuilt", "EagerFunction"]
