# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as text of HIVM, the dialect of the published Ascend compiler (docs/hivm.md)."""

from .export import FORMS, Exporter, launch_plan, launches

__all__ = ["FORMS", "Exporter", "launch_plan", "launches"]
