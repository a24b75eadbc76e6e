# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@tilelang.autotune`: tries configurations and keeps the one with the least modelled time."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .cache import Memo
from .jit import EAGER, JITFunction, compile
from .kernel import Kernel
from .keywords import hints
from .profiler import Profiler, TensorSupplyType
from .tuning import InputsNeededError, Search

_local = threading.local()


@contextlib.contextmanager
def set_autotune_inputs(*tensors: Any) -> Iterator[None]:
    """While active, candidates are timed on these inputs."""
    inputs = (
        list(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else list(tensors)
    )
    before = getattr(_local, "inputs", None)
    _local.inputs = inputs
    try:
        yield
    finally:
        _local.inputs = before


def get_autotune_inputs() -> list[Any] | None:
    return getattr(_local, "inputs", None)


class Settings:
    """How candidates are checked and timed."""

    @hints(
        *("warmup", "rep", "timeout", "cache_input_tensors", "backend"),
        "early_stop",
        shown="tilelang.autotune",
    )
    def __init__(
        self,
        supply_type: Any = None,
        ref_prog: Any = None,
        supply_prog: Any = None,
        rtol: float = 1e-2,
        atol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        skip_check: bool = False,
        manual_check_prog: Any = None,
        early_stop_factor: float = 2.0,
    ) -> None:
        self.supply_type = supply_type or TensorSupplyType.Auto
        self.ref_prog, self.supply_prog = ref_prog, supply_prog
        self.rtol, self.atol = rtol, atol
        self.max_mismatched_ratio = max_mismatched_ratio
        self.skip_check, self.manual_check_prog = skip_check, manual_check_prog
        _check_early_stop(float(early_stop_factor))

    def inputs(self, kernel: Kernel) -> list[Any]:
        given = get_autotune_inputs()
        if given is not None:
            return given
        scalars = [kernel.params[i].name for i in kernel.inputs if kernel.params[i].is_scalar]
        if scalars and self.supply_prog is None:
            raise InputsNeededError(
                f"error[E0814]: autotune: no value for {', '.join(scalars)} of kernel "
                f"{kernel.name}; give the arguments with `with set_autotune_inputs(...)` or "
                "supply_prog"
            )
        if self.supply_prog is not None:
            return list(self.supply_prog([kernel.params[i] for i in kernel.inputs]))
        return Profiler(kernel, self.supply_type)._get_inputs()

    def check(self, kernel: Kernel, inputs: list[Any]) -> None:
        if self.skip_check or self.ref_prog is None:
            return
        profiler = Profiler(kernel, self.supply_type)
        if self.manual_check_prog is not None:
            profiler.manual_assert_close(self.ref_prog, inputs, self.manual_check_prog)
        else:
            profiler.assert_allclose(
                self.ref_prog,
                inputs,
                atol=self.atol,
                rtol=self.rtol,
                max_mismatched_ratio=self.max_mismatched_ratio,
            )


def _check_early_stop(factor: float) -> None:
    """Early stop: every search times slow configurations by a sample only, whatever the factor."""
    if not factor >= 1.0:
        raise ValueError(f"error[E0124]: early_stop_factor is {factor}; give a number from 1 on")


#: Key of a configuration for passes; everything else in it is an argument of the function.
PASSES = "pass_configs"


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What one search found."""

    config: dict[str, Any]
    latency: float | None = None
    ref_latency: float | None = None
    skipped: tuple[tuple[dict[str, Any], str], ...] = ()


class TunedFunction:
    """The object that `@autotune` makes of a jit function.

    The choice for one set of arguments is kept; those in `do_not_specialize` do not tell sets
    apart.
    """

    def __init__(
        self,
        function: JITFunction,
        configs: Any,
        settings: Settings,
        do_not_specialize: Sequence[str] = (),
    ) -> None:
        self.jit = function
        self.configs = configs
        self.settings = settings
        self.shared = frozenset(do_not_specialize)
        self._memo = Memo()
        functools.update_wrapper(self, function, updated=())

    @property
    def _tuner_cache(self) -> dict[Any, Tuned]:
        return self._memo.entries

    def _configs(self, args: Any, kwargs: Any) -> list[dict[str, Any]]:
        found = self.configs(*args, **kwargs) if callable(self.configs) else self.configs
        if isinstance(found, dict):
            found = [found]
        return [dict(c) for c in found]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("__return_kernel", None)
        tuned, eager = self._tuned(args, kwargs)
        function, merged = self._configured(kwargs, tuned.config)
        if eager:
            return function(*args, **merged)
        return self._noted(function.compile(*args, **merged), tuned)

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        tuned, _ = self._tuned(args, kwargs, compile_only=True)
        function, merged = self._configured(kwargs, tuned.config)
        return self._noted(function.compile(*args, **merged), tuned)

    def _noted(self, kernel: Kernel, tuned: Tuned) -> Kernel:
        if tuned.latency is not None:
            kernel.update_tuner_result(tuned.latency, tuned.config)
            kernel.ref_latency = tuned.ref_latency
            kernel.tuner_skipped = list(tuned.skipped)
        return kernel

    def _configured(self, kwargs: Any, config: dict[str, Any]) -> tuple[JITFunction, Any]:
        """The jit function and the keywords of one configuration."""
        merged = {**kwargs, **config}
        passes = merged.pop(PASSES, None)
        return (self.jit if passes is None else self.jit.with_passes(passes)), merged

    def _tuned(self, args: Any, kwargs: Any, compile_only: bool = False) -> tuple[Tuned, bool]:
        configs = self._configs(args, kwargs)
        given = self._given(args, kwargs)
        _, first = self._configured(kwargs, configs[0] if configs else {})
        self.jit._resolve_mode(args, {**first, **kwargs})
        eager = self.jit.mode == EAGER and not compile_only
        named = {n: _described(v) for n, v in sorted(given.items()) if n not in self.shared}
        key = self.jit._key("tuned", eager, named, configs)
        found = self._memo.get(key)
        if found is None:
            # A caller who has chosen the tunable arguments leaves nothing to search.
            chosen = not configs or set(given) & set(configs[0])
            found = Tuned({}) if chosen else self._search(args, kwargs, configs, eager)
            self._memo.put(key, found)
        return found, eager

    def _given(self, args: Any, kwargs: Any) -> dict[str, Any]:
        return {**dict(zip(self.jit.signature.parameters, args, strict=False)), **kwargs}

    def _search(self, args: Any, kwargs: Any, configs: list[dict[str, Any]], eager: bool) -> Tuned:
        run_time: list[Any] = []

        def make(config: dict[str, Any]) -> Kernel:
            function, merged = self._configured(kwargs, config)
            if not eager:
                return function.compile(*args, **merged)
            kernel, tensors = function._eager_call(args, merged)
            run_time[:] = tensors
            return kernel

        inputs_of = (lambda _: run_time) if eager else None
        search = Search(make, self.settings, inputs_of)
        best = search.run(configs)
        return Tuned(best.config or {}, best.latency, best.ref_latency, tuple(search.skipped))

    @property
    def signature(self) -> inspect.Signature:
        return self.jit.signature

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.jit, name)


def _described(value: Any) -> Any:
    """A tensor by shape and type, on which its kernel depends; anything else as it is."""
    return (tuple(value.shape), str(value.dtype)) if hasattr(value, "shape") else value


def autotune(
    func: Any = None,
    *,
    configs: Any = None,
    do_not_specialize: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Chooses the tunable arguments of a jit function by modelled time.

    `configs` is a list of dicts or a function that gives one; their key "pass_configs" is for the
    compiler. A call that passes tunable arguments itself is compiled as it is. Values of the
    arguments in `do_not_specialize` share one choice. `timeout`, `warmup`, `rep` are accepted, as
    modelled time needs none, and so is `early_stop`, as slow configurations are always left out
    early. `kernel.tuner_skipped` says which were left out, and why.
    """
    if func is not None or configs is None:
        raise ValueError("error[E0120]: use @tilelang.autotune(configs=[...]) above @tilelang.jit")

    def decorate(function: Any) -> TunedFunction:
        if not isinstance(function, JITFunction):
            raise ValueError("error[E0120]: @tilelang.autotune goes above @tilelang.jit")
        return TunedFunction(function, configs, Settings(**options), do_not_specialize)

    return decorate


class AutoTuner:
    """The same search as an object: `AutoTuner.from_kernel(f, configs).run()`."""

    def __init__(self, function: Any, configs: Any) -> None:
        self.function = function
        self.configs = configs
        self.compile_args: dict[str, Any] = {}
        self.profile_args: dict[str, Any] = {}
        self.kernel_parameters: tuple[Any, dict[str, Any]] = ((), {})

    @classmethod
    def from_kernel(cls, kernel: Any, configs: Any) -> AutoTuner:
        return cls(kernel, configs)

    @hints("target", "target_host", "execution_backend", "verbose")
    def set_compile_args(self, out_idx: Any = None, pass_configs: Any = None) -> AutoTuner:
        given = {"out_idx": out_idx, "pass_configs": pass_configs}
        self.compile_args = {k: v for k, v in given.items() if v is not None}
        return self

    def set_profile_args(self, **options: Any) -> AutoTuner:
        self.profile_args = options
        return self

    def set_kernel_parameters(self, parameters: Any, *_: Any) -> AutoTuner:
        self.kernel_parameters = parameters
        return self

    @hints(
        *("use_pipeline", "enable_grouped_compile", "group_compile_size", "benchmark_devices"),
        "benchmark_multi_gpu",
    )
    def run(
        self,
        warmup: int = 25,
        rep: int = 100,
        timeout: int = 30,
        early_stop: bool = False,
        early_stop_factor: float = 2.0,
    ) -> Kernel:
        """The kernel with the least modelled time. `warmup`, `rep` and `timeout` are accepted;
        modelled time needs none; slow configurations are always left out early."""

        def make(config: dict[str, Any]) -> Kernel:
            arguments = {k: v for k, v in config.items() if k != PASSES}
            passes = config.get(PASSES)
            if isinstance(self.function, JITFunction):
                function = self.function if passes is None else self.function.with_passes(passes)
                return function.compile(**arguments)
            merged = {**(self.compile_args.get(PASSES) or {}), **(passes or {})}
            options = {**self.compile_args, PASSES: merged or None}
            return compile(self.function(**arguments), **options)

        configs = self.configs() if callable(self.configs) else self.configs
        settings = Settings(**{**self.profile_args, "early_stop_factor": early_stop_factor})
        search = Search(make, settings)
        best = search.run([dict(c) for c in configs])
        best.libcode = best.text()  # type: ignore[attr-defined]
        best.func = best.prim_func  # type: ignore[attr-defined]
        return best


__all__ = ["AutoTuner", "autotune", "get_autotune_inputs", "set_autotune_inputs"]
