# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets unmodified scripts run: serves `tilelang`, `torch_npu`, the "npu" and "cuda" devices."""

from __future__ import annotations

import sys
from typing import Any


def install() -> None:
    """Serves the names from now on. Safe to call twice. PyTorch is prepared when it is imported."""
    from . import importer

    importer.install()
    if "torch" in sys.modules:
        from . import device

        device.install()


def __getattr__(name: str) -> Any:
    if name == "tvm":
        import importlib

        return importlib.import_module(".tvm", __name__)
    raise AttributeError(name)
