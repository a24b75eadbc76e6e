# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.language.fp8`: the 8-bit floating-point type of the device."""

from __future__ import annotations

from ..dtypes import DType, dtype

TYPES = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def determine_fp8_type(fp8_format: str = "e4m3") -> DType:
    if fp8_format not in TYPES:
        raise ValueError(
            f"error[E0201]: fp8 format {fp8_format!r} is not one of {', '.join(TYPES)}"
        )
    return dtype(TYPES[fp8_format])


def determine_torch_fp8_type(fp8_format: str = "e4m3") -> object:
    return determine_fp8_type(fp8_format).as_torch()
