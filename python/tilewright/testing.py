# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.testing`: gates for tests, seeds, comparison."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .arguments import loaded_torch
from .utils.tensor import torch_assert_close


def main() -> None:
    """Runs the tests of the calling file."""
    import pytest

    file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([str(file), *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch = loaded_torch()
    if torch is not None:
        torch.manual_seed(seed)


class _Gate:
    """A decorator that keeps a test: the simulated device stands for the required one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **_: Any) -> Any:
        if len(args) == 1 and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return args[0]
        return lambda function: function

    def marks(self) -> list[Any]:
        return []


class _Skip(_Gate):
    """A decorator that skips a test: it needs a target that is not served here."""

    def __call__(self, *args: Any, **_: Any) -> Any:
        import pytest

        mark = pytest.mark.skip(reason=f"needs {self.name}, which tilewright does not serve")
        if len(args) == 1 and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return mark(args[0])
        return mark

    def marks(self) -> list[Any]:
        import pytest

        return [pytest.mark.skip(reason=f"needs {self.name}")]


requires_cuda = _Gate("CUDA")
requires_cuda_compute_version = _Gate("a CUDA compute version")
requires_cuda_compute_version_ge = requires_cuda_compute_version_gt = requires_cuda_compute_version
requires_cuda_compute_version_le = requires_cuda_compute_version_lt = requires_cuda_compute_version
requires_cuda_compute_version_eq = requires_cuda_or_cdna = requires_cuda_compute_version
requires_rocm = _Skip("ROCm")
requires_cdna = _Skip("CDNA")
requires_gfx950 = _Skip("gfx950")
requires_metal = _Skip("Metal")
requires_llvm = _Skip("the LLVM target")


def requires_package(*names: str) -> Callable[[Any], Any]:
    """Skips a test when one of the packages is not installed."""
    import importlib.util

    import pytest

    missing = [n for n in names if importlib.util.find_spec(n) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs package {', '.join(missing)}")


def regression(*_: Any, **__: Any) -> None:
    """Performance regressions are run by TileLang's own infrastructure."""


def process_func(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a benchmark function."""
    return function(*args, **kwargs)


__all__ = [
    "main",
    "process_func",
    "regression",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_package",
    "set_random_seed",
    "torch_assert_close",
]
