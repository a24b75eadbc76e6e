# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tilewright: TileLang-style kernels, compiled and simulated for Ascend NPUs.

    import tilewright as tilelang
    import tilewright.language as T

Importing is light: PyTorch and the parts that a script does not use are loaded at first use.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public names and the module that defines each.
_NAMES = {
    "AutoTuner": "autotuner",
    "autotune": "autotuner",
    "set_autotune_inputs": "autotuner",
    "clear_cache": "cache",
    "disable_cache": "cache",
    "enable_cache": "cache",
    "is_cache_enabled": "cache",
    "cached": "cache",
    "compile": "jit",
    "lazy_jit": "jit",
    "par_compile": "jit",
    "JITFunction": "jit",
    "lower": "engine",
    "JITKernel": "kernel",
    "Kernel": "kernel",
    "PassConfigKey": "options",
    "Profiler": "profiler",
    "SimulationResult": "report.result",
    "TensorDistributionType": "profiler",
    "TensorSupplyType": "profiler",
    "do_bench": "profiler",
    "Operator": "operators",
    "operator": "operators",
    "operator_from": "operators",
    "cdiv": "math",
    "next_power_of_2": "math",
    "DataType": "dtypes",
    "tvm": "compat",
}
#: Modules that are also attributes; `jit` is a module that can be called as the decorator.
_MODULES = (
    "autotuner",
    "cache",
    "compat",
    "dtypes",
    "engine",
    "env",
    "errors",
    "frontend",
    "jit",
    "kernel",
    "language",
    "layout",
    "math",
    "options",
    "profiler",
    "report",
    "testing",
    "transform",
    "utils",
    "carver",
)


def set_log_level(level: Any) -> None:
    """Sets the level of the package's logger."""
    import logging

    logging.getLogger("tilewright").setLevel(level.upper() if isinstance(level, str) else level)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(_missing(name))
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def _missing(name: str) -> str:
    """The message for a name that the package does not have."""
    if name.startswith("_"):
        return f"module {__name__!r} has no attribute {name!r}"
    from .keywords import advice

    where = "types, tensors and operations are in tilelang.language, usually called T"
    end = advice(name, __dir__(), where)
    return f"error[E0121]: tilelang.{name} is not a name that tilewright has{end}"


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
