# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import hook: `tilelang` and its submodules are our modules; `torch` gets its devices."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

from ..errors import MissingTorchError

#: Module of TileLang -> module here. Submodules that are not listed are refused by name.
MODULES = {
    "tilelang": "",
    "tilelang.autotuner": ".autotuner",
    "tilelang.autotuner.capture": ".autotuner",
    "tilelang.autotuner.tuner": ".autotuner",
    "tilelang.cache": ".cache",
    "tilelang.carver": ".carver",
    "tilelang.contrib": ".compat.nvcc",
    "tilelang.contrib.nvcc": ".compat.nvcc",
    "tilelang.engine": ".engine",
    "tilelang.engine.lower": ".compat.lower",
    "tilelang.env": ".env",
    "tilelang.jit": ".jit",
    "tilelang.jit.jit_npu": ".compat.jit_npu",
    "tilelang.jit.kernel": ".kernel",
    "tilelang.language": ".language",
    "tilelang.language.dtypes": ".dtypes",
    "tilelang.language.fp8": ".compat.fp8",
    "tilelang.layout": ".layout",
    "tilelang.layout.swizzle": ".layout",
    "tilelang.math": ".math",
    "tilelang.profiler": ".profiler",
    "tilelang.profiler.bench": ".profiler",
    "tilelang.testing": ".testing",
    "tilelang.transform": ".transform",
    "tilelang.transform.pass_config": ".transform",
    "tilelang.utils": ".utils",
    "tilelang.utils.npu_utils": ".utils.npu_utils",
    "tilelang.utils.target": ".utils.target",
    "tilelang.utils.tensor": ".utils.tensor",
    "torch_npu": ".compat.torch_npu",
    "tvm": ".compat.tvm",
    "tvm.tir": ".compat.tvm_tir",
    "tvm.tirx": ".compat.tvm_tir",
    "tvm.tir.stmt_functor": ".compat.stmt_functor",
    "tvm.tirx.stmt_functor": ".compat.stmt_functor",
    "torch_npu.contrib": ".compat.torch_npu",
    "torch_npu.contrib.transfer_to_npu": ".compat.torch_npu",
}
PACKAGE = __name__.split(".")[0]


class _Alias(importlib.abc.Loader):
    """Puts an existing module under another name."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        real = (
            importlib.import_module(self.target, PACKAGE) if self.target else sys.modules[PACKAGE]
        )
        if not hasattr(real, "__path__"):
            real.__path__ = []  # its TileLang namesake has submodules
        sys.modules[module.__name__] = real


class _Prepared(importlib.abc.Loader):
    """Loads PyTorch as usual and then adds the simulated devices."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self.inner.exec_module(module)
        from . import device

        device.install()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Finder(importlib.abc.MetaPathFinder):
    """Answers for the served names before the installed packages are asked."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torch":
            return self._torch(path)
        if name in MODULES:
            spec = importlib.machinery.ModuleSpec(name, _Alias(MODULES[name]), is_package=True)
            spec.submodule_search_locations = []
            return spec
        root = name.partition(".")[0]
        if name.startswith("tilelang.carver."):
            return importlib.machinery.ModuleSpec(name, _Alias(".carver"), is_package=True)
        if root == "tilelang" and "." in name:
            raise ModuleNotFoundError(
                f"error[E0912]: {name} is not served by tilewright: it belongs to TileLang's GPU "
                "compiler and has no counterpart for the NPU",
                name=name,
            )
        return None

    def _torch(self, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec("torch", path, None)
            if spec is not None:
                spec.loader = _Prepared(spec.loader)
                return spec
        raise MissingTorchError("this script")


def install() -> None:
    if not any(isinstance(f, Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, Finder())
