# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets unmodified scripts run: serves `tilelang`, `torch_npu`, the "npu" and "cuda" devices."""

from __future__ import annotations

import sys


def install() -> None:
    """Serves the names from now on. Safe to call twice. PyTorch is prepared when it is imported."""
    from . import importer

    importer.install()
    if "torch" in sys.modules:
        from . import device

        device.install()
