# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module `torch_npu`: importing it brings the "npu" device, nothing else."""

from __future__ import annotations

from typing import Any

from ..arguments import torch_or_error
from ..errors import NotAvailableError
from . import device

torch_or_error("torch_npu")
device.install()
device.prefer("npu:0")

__version__ = "0"


def __getattr__(name: str) -> Any:
    if name == "npu":
        import torch

        return torch.npu  # type: ignore[attr-defined]
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotAvailableError(
        f"error[E0122]: torch_npu.{name} is a kernel or tool of the real device and is not "
        "available on the simulated one"
    )
