# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets: every name means the NPU."""

from __future__ import annotations

from . import determine_target

__all__ = ["determine_target"]
