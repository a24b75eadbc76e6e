# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing and checking of kernels. Times are modelled (predicted for the chip), not measured."""

from __future__ import annotations

import enum
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import env
from .arguments import DEVICE_TAG, loaded_torch, torch_or_error
from .kernel import Kernel, Timing
from .keywords import hints
from .utils.tensor import torch_assert_close

#: Bounds on repeating a callable that runs no kernel: its time is measured on this host.
MAX_REPEATS = 10
MAX_SECONDS = 0.5
_noted = False


class TensorSupplyType(enum.Enum):
    """How inputs are made."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


TensorDistributionType = TensorSupplyType


def _note() -> None:
    global _noted
    if not _noted:
        _noted = True
        chip = env.compile_settings().chip
        print(
            f"note: kernel times are modelled for {chip}, launch included, not measured",
            file=sys.stderr,
        )


def make_tensor(shape: Sequence[int], dtype: str, supply: TensorSupplyType) -> Any:
    """An input tensor on the simulated device when there is one."""
    torch = torch_or_error("making input tensors")
    if not shape or any(s < 0 for s in shape):
        raise ValueError(
            f"error[E0813]: cannot make an input of shape {tuple(shape)}: a size is known only at "
            "the call; pass input_tensors"
        )
    made = _values(torch, list(shape), dtype, supply).to(getattr(torch, dtype))
    compat = sys.modules.get("tilewright.compat.device")
    device = compat.default_device() if compat is not None else None
    if device is not None:
        setattr(made, DEVICE_TAG, device)
    return made


def _values(torch: Any, shape: list[int], dtype: str, supply: TensorSupplyType) -> Any:
    floating = "float" in dtype
    if supply is TensorSupplyType.Zero:
        return torch.zeros(shape)
    if supply is TensorSupplyType.One:
        return torch.ones(shape)
    if supply is TensorSupplyType.Uniform and floating:
        return torch.rand(shape) * 2 - 1
    if supply in (TensorSupplyType.Normal, TensorSupplyType.Randn) and floating:
        return torch.randn(shape)
    if supply is TensorSupplyType.Auto and floating:
        return torch.rand(shape) * 2 - 1
    if dtype == "bool":
        return torch.randint(0, 2, shape)
    if dtype.startswith("u"):
        return torch.randint(0, 3, shape)
    return torch.randint(-2, 3, shape)


@hints("grad_to_none", "device", "cache_size", "early_stop_baseline")
def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: str = "event",
    return_mode: str = "mean",
) -> Any:
    """Milliseconds of one call: modelled when it runs kernels, else measured on this host.

    A modelled time is the same at every call, so nothing is repeated. Other callables run at most
    10 times and half a second.
    """
    with Timing() as timing:
        start = time.perf_counter()
        fn()
        first = time.perf_counter() - start
    if timing.launches:
        _note()
        return _summary([timing.milliseconds], quantiles, return_mode)
    samples = [first]
    while len(samples) < MAX_REPEATS and sum(samples) < MAX_SECONDS:
        start = time.perf_counter()
        fn()
        samples.append(time.perf_counter() - start)
    if len(samples) > 1:
        samples = samples[1:]  # the first call warms up
    return _summary([1000 * s for s in samples], quantiles, return_mode)


def _summary(samples: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    if quantiles is not None:
        ordered = sorted(samples)
        found = [ordered[min(int(q * len(ordered)), len(ordered) - 1)] for q in quantiles]
        return found[0] if len(found) == 1 else found
    modes: dict[str, Callable[[list[float]], float]] = {
        "mean": statistics.fmean,
        "median": statistics.median,
        "min": min,
        "max": max,
    }
    if return_mode == "all":
        return samples
    if return_mode not in modes:
        raise ValueError(
            f"error[E0813]: return_mode {return_mode!r} is not one of {', '.join([*modes, 'all'])}"
        )
    return modes[return_mode](samples)


class Profiler:
    """Times and checks one kernel with inputs that it makes itself."""

    def __init__(
        self, kernel: Kernel, supply_type: TensorSupplyType = TensorSupplyType.Auto
    ) -> None:
        self.kernel = kernel
        self.supply_type = supply_type
        self.adapter = kernel

    @property
    def params(self) -> list[Any]:
        return self.kernel.params

    @property
    def func(self) -> Kernel:
        return self.kernel

    @property
    def result_idx(self) -> list[int]:
        return self.kernel.out_idx

    def with_default_adapter(self, adapter: Any) -> Profiler:
        return self

    def _get_inputs(self, with_output: bool = False, dynamic: Any = None) -> list[Any]:
        """Inputs in the order of the call."""
        found = []
        for position in self.kernel.inputs:
            parameter = self.kernel.parameters[position]
            if parameter["kind"] != "tensor":
                found.append(1)
                continue
            shape = list(parameter["shape"])
            for at, size in enumerate(shape):
                if size < 0 and dynamic:
                    shape[at] = int(dynamic.get(parameter["shape_text"][at], size))
            found.append(make_tensor(shape, parameter["dtype"], self.supply_type))
        return found

    @hints()
    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Compares with a reference on the same inputs; inputs are compared after the call too."""
        inputs = list(input_tensors) if input_tensors is not None else self._get_inputs()
        copies = [x.clone() if hasattr(x, "clone") else x for x in inputs]
        expected = _as_list(reference_program(*copies))
        found = _as_list(self.kernel(*inputs))
        if len(found) != len(expected) and expected:
            raise AssertionError(
                f"the kernel returns {len(found)} tensors, the reference {len(expected)}"
            )
        for left, right in [*zip(found, expected, strict=False), *zip(inputs, copies, strict=True)]:
            if hasattr(left, "shape") and right is not None:
                torch_assert_close(
                    left,
                    right,
                    rtol=rtol,
                    atol=atol,
                    max_mismatched_ratio=max_mismatched_ratio,
                    equal_nan=True,
                )

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[..., Any] | None = None,
    ) -> None:
        """Like assert_allclose with the caller's own comparison of (outputs, expected)."""
        if manual_check_prog is None:
            raise ValueError("error[E0813]: manual_assert_close needs manual_check_prog")
        inputs = list(input_tensors) if input_tensors is not None else self._get_inputs()
        copies = [x.clone() if hasattr(x, "clone") else x for x in inputs]
        manual_check_prog(_as_list(self.kernel(*inputs)), _as_list(reference_program(*copies)))

    def assert_consistent(self, repeat: int = 10) -> None:
        """The same inputs give the same outputs, bit for bit."""
        inputs = self._get_inputs()
        first = _as_list(self.kernel(*inputs))
        for _ in range(min(repeat, 3)):
            again = _as_list(self.kernel(*inputs))
            for left, right in zip(first, again, strict=True):
                if not loaded_torch().equal(left, right):
                    raise AssertionError("two runs on the same inputs differ")

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        return (func or self.kernel)(*self._get_inputs())

    def determine_profiler(self, *_: Any, **__: Any) -> str:
        return "tilewright"

    @hints("device", "early_stop_baseline")
    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 1,
        n_repeat: int = 1,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: Any = None,
    ) -> Any:
        """Modelled milliseconds (core and launch) of the kernel, or of `func` on its inputs."""
        inputs = (
            list(input_tensors)
            if input_tensors is not None
            else self._get_inputs(dynamic=dynamic_symbolic_constraints)
        )
        if func is not None:
            return do_bench(lambda: func(*inputs), quantiles=quantiles, return_mode=return_mode)
        milliseconds = modelled_milliseconds(self.kernel, inputs)
        if milliseconds == math.inf:
            return do_bench(
                lambda: self.kernel(*inputs), quantiles=quantiles, return_mode=return_mode
            )
        _note()
        return _summary([milliseconds], quantiles, return_mode)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)


def modelled_milliseconds(kernel: Kernel, inputs: Sequence[Any]) -> float:
    """Predicted time of one call; infinite when the engine gives no times."""
    with Timing(with_data=False) as timing:
        kernel(*inputs)
    return timing.milliseconds if timing.launches else math.inf


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (tuple, list)) else [value]
