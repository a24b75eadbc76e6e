# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@tilelang.jit` and `tilelang.compile`. This module can be called: it is the decorator itself."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import cache, env
from .cache import Memo
from .errors import compile_error
from .fingerprint import Fingerprint, TooMuchError
from .frontend import Built, EagerBuilt, EagerFunction, PrimFunc, deferred
from .frontend.function import Macro, has_inner_prim_func, opens_kernel, plain
from .kernel import COMPARE_ULP, Kernel, diagnostics_error
from .keywords import hints, mistake
from .language.builder import NoBuilderError
from .options import check_pass_configs, output_positions, with_pass_configs
from .origin import Origin, free_integers, rebound

_dumped: dict[tuple[str, str], int] = {}
LAZY, EAGER = "lazy", "eager"


def compile_built(built: Built, name: str, settings: env.CompileSettings) -> Any:
    """Compiles a traced kernel to a `_core.Kernel`; mistakes are raised at the user's line."""
    from . import _core

    dump_dir = _dump_folder(settings.dump_dir, name) if settings.dump_dir else ""
    cache_folder, cache_bytes = cache.disk()
    core, diagnostics = _core.compile(
        built.module,
        chip=settings.chip,
        opt_level=settings.opt_level,
        strict=settings.strict,
        verify_each=settings.verify_each,
        dump_dir=dump_dir,
        disable=list(settings.disable),
        manual_sync=settings.manual_sync,
        interpret_only=settings.interpret_only,
        cache_folder=cache_folder,
        cache_bytes=cache_bytes,
    )
    if core is None:
        raise diagnostics_error(diagnostics, name)
    cache.note_use(core, cache_folder)
    for found in diagnostics:
        if found["severity"] == "warning":
            print(f"warning: {name}: {found['message']}", file=sys.stderr)
    return core


def _dump_folder(parent: str, name: str) -> str:
    """A folder of its own for every compiled kernel: DIR/name, DIR/name.1, ..."""
    count = _dumped.get((parent, name), 0)
    _dumped[parent, name] = count + 1
    return os.path.join(parent, f"{name}.{count}" if count else name)


@hints()
def compile(
    func: Any = None,
    out_idx: Any = None,
    execution_backend: str = "auto",
    target: Any = "auto",
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Any = None,
    compile_flags: Any = None,
    workspace_idx: Any = None,
    strict: bool = False,
) -> Kernel:
    """Compiles a `@T.prim_func`. Targets and backends of other TileLangs mean the NPU.

    `strict` rounds an f16 or bf16 accumulator after every product, as the source says.
    """
    if isinstance(func, Kernel):
        return func
    if not isinstance(func, PrimFunc):
        raise TypeError(
            "error[E0120]: tilelang.compile takes a function made by @T.prim_func, found "
            + getattr(func, "__name__", repr(func))
            + ("; call it with its arguments first" if callable(func) else "")
        )
    check_pass_configs(pass_configs)
    count = len(func.names)
    scratch = output_positions(workspace_idx, count)
    outputs = output_positions(out_idx, count)
    settings = with_pass_configs(env.compile_settings(strict), pass_configs)
    core = compile_built(func.take((*outputs, *scratch)), func.__name__, settings)
    kernel = Kernel(core, prim_func=func, out_idx=outputs)

    def again(function: types.FunctionType, names: Mapping[str, int]) -> Kernel:
        other = func.with_function(rebound(function, names))
        return compile(
            other, outputs, pass_configs=pass_configs, workspace_idx=workspace_idx, strict=strict
        )

    kernel.origin = Origin(func.function, free_integers(func.function), again)
    return kernel


def par_compile(
    funcs: Iterable[Any],
    out_idx: Any = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
    **options: Any,
) -> list[Kernel | None]:
    """Compiles several kernels. With `ignore_error` those that fail give None."""
    found: list[Kernel | None] = []
    for func in funcs:
        try:
            found.append(compile(func, out_idx=out_idx, **options))
        except Exception:
            if not ignore_error:
                raise
            found.append(None)
    return found


class JITFunction:
    """The object that `@tilelang.jit` makes of a function."""

    def __init__(self, function: Callable[..., Any], out_idx: Any, options: dict[str, Any]) -> None:
        self.function = plain(function)
        functools.update_wrapper(self, self.function)
        self.func = self.function
        self.out_idx = out_idx
        self.options = options
        self.pass_configs = options.get("pass_configs")
        check_pass_configs(self.pass_configs)
        self.signature = inspect.signature(self.function)
        self._mode: str | None = options.get("mode")
        self._eager: EagerFunction | None = None
        self._fingerprint: Fingerprint | None = None
        self._memo = Memo()
        self._variants: dict[Any, JITFunction] = {}

    def with_passes(self, pass_configs: Any) -> JITFunction:
        """The same function with more pass settings; one object for each set of them."""
        key = tuple(sorted((str(k), repr(v)) for k, v in pass_configs.items()))
        if key not in self._variants:
            check_pass_configs(pass_configs)
            made = copy.copy(self)
            made.pass_configs = {**(self.pass_configs or {}), **pass_configs}
            made.options = {**self.options, "pass_configs": made.pass_configs}
            made._memo, made._variants = Memo(), {}
            self._variants[key] = made
        return self._variants[key]

    # -- lazy and eager -------------------------------------------------------------------------

    @property
    def mode(self) -> str | None:
        """Either "lazy" (returns a kernel) or "eager" (is the kernel); None until it is known."""
        if self._mode is None:
            inner = has_inner_prim_func(self.function)
            if inner:
                self._mode = LAZY
            elif opens_kernel(self.function):
                self._mode = EAGER
        return self._mode

    def initialize_jit_mode(self, *args: Any, **kwargs: Any) -> str:
        self._resolve_mode(args, kwargs)
        assert self._mode is not None
        return self._mode

    def _resolve_mode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Decides by calling when the source does not tell; gives the result of a lazy call."""
        if self.mode is not None:
            return None
        try:
            with deferred():
                result = self.function(*args, **kwargs)
        except NoBuilderError:
            self._mode = EAGER
            return None
        except TypeError as error:
            raise mistake(self.function, args, kwargs) or error from None
        self._mode = LAZY
        return result

    @property
    def eager(self) -> EagerFunction:
        if self._eager is None:
            self._eager = EagerFunction(self.function)
            if self.out_idx is not None:
                raise compile_error(
                    f"error[E0104]: '{self.function.__name__}' makes its outputs with T.empty and "
                    "returns them; out_idx is only for functions that return a @T.prim_func: "
                    "remove it",
                    self._eager.location,
                )
        return self._eager

    def _key(self, *parts: Any) -> Any:
        """What a kernel of this function is remembered by; None: it cannot be."""
        if self._fingerprint is None:
            self._fingerprint = Fingerprint(self.function)
        try:
            return self._fingerprint(*parts), env.compile_settings()
        except TooMuchError:
            return None

    # -- calls ----------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("__return_kernel", None)
        early = self._resolve_mode(args, kwargs)
        if self._mode == LAZY:
            return self._lazy_kernel(args, kwargs, early)
        kernel, tensors = self._eager_call(args, kwargs)
        return kernel(*tensors)

    def compare(self, *args: Any, ulp: float = COMPARE_ULP, **kwargs: Any) -> list[dict[str, Any]]:
        """A call beside exact arithmetic: where it departs, as Kernel.compare says."""
        if self._resolve_mode(args, kwargs) is not None or self._mode == LAZY:
            raise TypeError(
                f"error[E0120]: {self.function.__name__} makes kernels: compare the one that a "
                f"call gives, as in {self.function.__name__}(sizes).compare(tensors)"
            )
        kernel, tensors = self._eager_call(args, kwargs)
        return kernel.compare(*tensors, ulp=ulp)

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """The kernel for these arguments, not run. Eager kernels: sizes are given as keywords."""
        early = self._resolve_mode(args, kwargs)
        if self._mode == LAZY:
            return self._lazy_kernel(args, kwargs, early)
        run_time, fixed, consts = self.eager.split(args, kwargs, False)
        return self._eager_kernel(run_time, fixed, consts)

    def _lazy_kernel(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], early: Any = None
    ) -> Kernel:
        key = self._key(args, sorted(kwargs.items()))
        found = self._memo.get(key)
        if found is None:
            found = self._compile_lazy(args, kwargs, early)
            self._memo.put(key, found)
        return found

    def _compile_lazy(self, args: Any, kwargs: Any, early: Any) -> Kernel:
        result = early
        if result is None:
            with deferred():
                result = self.function(*args, **kwargs)
        if isinstance(result, Kernel):
            return self._made(result, args, kwargs)
        if not isinstance(result, PrimFunc):
            raise TypeError(
                f"error[E0120]: '{self.function.__name__}' is decorated with @tilelang.jit and "
                f"returned {result!r}; it must return a @T.prim_func, or be a kernel itself (`with "
                "T.Kernel(...)`)"
            )
        options = {
            k: v
            for k, v in self.options.items()
            if k in ("workspace_idx", "strict", "pass_configs")
        }
        kernel = compile(result, out_idx=self.out_idx, **options)
        return self._made(kernel, args, kwargs)

    def _made(self, kernel: Kernel, args: Any, kwargs: Any) -> Kernel:
        """Notes how this factory has made the kernel."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def again(function: types.FunctionType, arguments: Mapping[str, Any]) -> Kernel:
            given = inspect.BoundArguments(self.signature, {**bound.arguments, **arguments})
            other = JITFunction(function, self.out_idx, self.options)
            return other._compile_lazy(given.args, given.kwargs, None)

        kernel.origin = Origin(self.function, dict(bound.arguments), again)
        return kernel

    def _eager_call(self, args: Any, kwargs: Any) -> tuple[Kernel, list[Any]]:
        run_time, fixed, consts = self.eager.split(args, kwargs, True)
        shapes = [
            (tuple(v.shape), str(v.dtype)) if hasattr(v, "shape") else None
            for v in run_time.values()
        ]
        key = self._key("call", shapes, fixed, consts)
        kernel = self._memo.get(key)
        if kernel is None:
            kernel = self._eager_kernel(run_time, fixed, consts)
            self._memo.put(key, kernel)
        return kernel, list(run_time.values())

    def _eager_kernel(self, run_time: Any, fixed: Any, consts: Any) -> Kernel:
        eager = self.eager
        annotations = eager.probe(fixed, consts)
        sizes = eager.deduce(annotations, run_time, consts)
        sizes = {n: v for n, v in sizes.items() if n in eager.consts}
        key = self._key("kernel", fixed, sorted(sizes.items()))
        found = self._memo.get(key)
        if found is None:
            built = eager.build(fixed, sizes)
            settings = with_pass_configs(
                env.compile_settings(self.options["strict"]), self.pass_configs
            )
            core = compile_built(built, self.function.__name__, settings)
            found = self._wrap(core, built)

            def again(function: types.FunctionType, arguments: Mapping[str, Any]) -> Kernel:
                other = JITFunction(function, None, self.options)
                return other._eager_kernel({}, arguments, sizes)

            found.origin = Origin(self.function, dict(fixed), again)
            self._memo.put(key, found)
        return found

    def _wrap(self, core: Any, built: EagerBuilt) -> Kernel:
        return Kernel(
            core, prim_func=self, order=built.order, returned=built.returned, single=built.single
        )

    # -- book-keeping ---------------------------------------------------------------------------

    def par_compile(
        self, configs: Sequence[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[Kernel | None]:
        """Kernels for several argument sets, each a dict of keywords or a tuple."""
        found: list[Kernel | None] = []
        for config in configs:
            try:
                if isinstance(config, dict):
                    found.append(self.compile(**config))
                else:
                    found.append(self.compile(*config))
            except Exception:
                if not ignore_error:
                    raise
                found.append(None)
        return found

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        """The kernel function for these arguments."""
        self._resolve_mode(args, kwargs)
        if self._mode == LAZY:
            return self.function(*args, **kwargs)
        return self.compile(*args, **kwargs)

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        return self.compile(*args, **kwargs).get_kernel_source()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit function {self.function.__name__}>"


@hints()
def jit(
    func: Callable[..., Any] | None = None,
    *,
    out_idx: Any = None,
    target: Any = "auto",
    target_host: Any = None,
    execution_backend: str = "auto",
    verbose: bool | None = None,
    pass_configs: Any = None,
    debug_root_path: Any = None,
    compile_flags: Any = None,
    workspace_idx: Any = None,
    mode: str | None = None,
    strict: bool = False,
) -> Any:
    """Makes a function compile kernels. Usable with or without parentheses.

    `mode` is "lazy" or "eager" and found out when not given; `strict` as for `compile`.
    """
    if mode not in (None, "auto", LAZY, EAGER):
        raise ValueError(f"error[E0911]: mode {mode!r} is not one of 'auto', 'lazy', 'eager'")
    options: dict[str, Any] = {"pass_configs": pass_configs, "strict": strict}
    if workspace_idx is not None:
        options["workspace_idx"] = workspace_idx
    if mode in (LAZY, EAGER):
        options["mode"] = mode

    def decorate(function: Callable[..., Any]) -> Any:
        if isinstance(function, PrimFunc):
            return compile(function, out_idx=out_idx, pass_configs=pass_configs, strict=strict)
        if isinstance(function, Macro):
            raise TypeError(
                "error[E0120]: @tilelang.jit on a @T.macro; a macro is called from kernels only"
            )
        return JITFunction(function, out_idx, options)

    return decorate if func is None else decorate(func)


def lazy_jit(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`jit` for kernels without a surrounding factory."""
    return jit(func, **options)


class _CallableModule(types.ModuleType):
    """`tilelang.jit` is a package to import from and a decorator at once."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
JITImpl = JITFunction
