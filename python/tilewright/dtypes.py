# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: strings that know their size and can be called to convert a value."""

from __future__ import annotations

import math
from typing import Any

from .keywords import advice

#: Types that kernels can compute with.
SUPPORTED = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)

#: Types of four bits: two to a byte in global memory (language/packed.py).
PACKED = ("int4", "uint4", "float4_e2m1fn")

#: Types whose names are known, but which kernels cannot use yet.
NOT_YET = (
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1_unpacked",
)

_ALIASES = {
    "float": "float32",
    "half": "float16",
    "double": "float64",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "bf16": "bfloat16",
    "int": "int32",
    "uint": "uint32",
    "short": "int16",
    "long": "int64",
    "boolean": "bool",
    "uint1": "bool",
    "tfloat32": "float32",
    "float8_e4m3": "float8_e4m3fn",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
    "float8": "float8_e4m3fn",
    "fp8": "float8_e4m3fn",
}

_SPECIAL_BITS = {"bool": 8, "bfloat16": 16}


def _bits(name: str) -> int:
    if name in _SPECIAL_BITS:
        return _SPECIAL_BITS[name]
    digits = name.removeprefix("u").removeprefix("int").removeprefix("float")
    return int(digits.split("_")[0])


class DType(str):
    """An element type. Equal to its name, so that `buffer.dtype == "float16"` works."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Bits of storage of one element."""
        return _bits(self)

    @property
    def bytes(self) -> int:
        return (self.bits + 7) // 8

    @property
    def itemsize(self) -> int:
        return self.bytes

    @property
    def lanes(self) -> int:
        return 1

    @property
    def is_float(self) -> bool:
        return "float" in self

    @property
    def is_bool(self) -> bool:
        return self == "bool"

    @property
    def is_unsigned(self) -> bool:
        return self.startswith("uint")

    @property
    def is_integer(self) -> bool:
        return not self.is_float and not self.is_bool

    def as_torch(self) -> Any:
        """The torch dtype of the same name."""
        import torch

        return getattr(torch, str(self))

    def __call__(self, value: Any = None) -> Any:
        """Converts a number or a run-time value to this type; without one, a name for T.let."""
        from .language.expr import Named, cast_value

        if value is None:
            return Named(self)

        return cast_value(value, self)

    def __repr__(self) -> str:
        return str.__repr__(self)


def dtype(value: Any) -> DType:
    """The type that a name, torch dtype, NumPy dtype, Python type or DType means.

    Raises TypeError for anything else; types that kernels cannot compute with are accepted here and
    refused where a kernel uses them.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        name = value
    elif value is bool:
        name = "bool"
    elif value is int:
        name = "int32"
    elif value is float:
        name = "float32"
    elif isinstance(value, type) and hasattr(
        value, "__name__"
    ):  # numpy.float16, ml_dtypes.bfloat16
        name = value.__name__
    else:
        name = getattr(value, "name", None) or str(value)
    name = name.removeprefix("torch.")
    name = _ALIASES.get(name, name)
    if name == "bool_":
        name = "bool"
    if name in SUPPORTED or name in PACKED or name in NOT_YET:
        return DType(name)
    raise TypeError(
        f"error[E0201]: {value!r} names no element type"
        + advice(str(value), SUPPORTED, f"allowed are {', '.join(SUPPORTED)}")
    )


#: TileLang's name for it.
DataType = dtype


def check_usable(name: DType) -> DType:
    """Refuses types that tiles and tensors cannot have."""
    return name if name in PACKED else check_supported(name)


def check_supported(name: DType) -> DType:
    """Refuses types that kernels cannot compute with."""
    if name not in SUPPORTED:
        raise TypeError(
            f"error[E0201]: element type {name} is not supported yet; allowed are "
            f"{', '.join(SUPPORTED)}"
        )
    return name


_FLOAT_MAX = {
    "float4_e2m1fn": 6.0,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
}


def limits(name: DType) -> tuple[int | float, int | float]:
    """Least and greatest finite value of a type."""
    if name in _FLOAT_MAX:
        return -_FLOAT_MAX[name], _FLOAT_MAX[name]
    if name == "bool":
        return 0, 1
    check_usable(name)
    if name.is_unsigned:
        return 0, 2**name.bits - 1
    return -(2 ** (name.bits - 1)), 2 ** (name.bits - 1) - 1


def round_constant(value: int | float | bool, name: DType) -> int | float | bool:
    """A Python number as a constant of a type: integers wrap, floats to int saturate, NaN is 0."""
    if name == "bool":
        return bool(value)
    if name.is_float:
        return float(value)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        low, high = limits(name)
        return int(max(min(value, high), low))
    bits = name.bits
    value = int(value) & (2**bits - 1)
    if not name.is_unsigned and value >= 2 ** (bits - 1):
        value -= 2**bits
    return value


def __getattr__(name: str) -> DType:
    try:
        return dtype(name)
    except TypeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
