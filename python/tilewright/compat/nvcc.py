# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.contrib.nvcc`: what GPU scripts ask of the CUDA compiler to choose between variants."""

from __future__ import annotations

import sys
from typing import Any

from .accelerator import CAPABILITY


def get_target_compute_version(target: Any = None) -> str:
    return ".".join(map(str, CAPABILITY))


def parse_compute_version(version: str) -> tuple[int, int]:
    major, _, minor = str(version).partition(".")
    return int(major), int(minor or 0)


def get_cuda_version() -> tuple[int, int]:
    return 12, 8


nvcc = sys.modules[__name__]  # `from tilelang.contrib import nvcc`
