# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of four bits: two to a byte in global memory, one to a byte or half on the chip.

A tensor of int4, uint4 or float4_e2m1fn is a tensor of bytes whose last dimension is halved, the
even element in the low bits. A tile of them holds int8, uint8 or float16 elements that are values
of the type: what is stored is wrapped (integers) or rounded half to even and limited to 6 (float4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..dtypes import DType
from . import math as tmath
from .buffer import Buffer, Element
from .builder import current
from .expr import Expr, as_expr, cast_value, if_then_else, is_number, read
from .loops import Parallel

#: Element type on the chip of each type of four bits.
ON_CHIP = {"int4": "int8", "uint4": "uint8", "float4_e2m1fn": "float16"}
BYTE = DType("uint8")


def is_packed(element: Any) -> bool:
    return element in ON_CHIP


def _int4(value: Any) -> Any:
    """The low four bits with their sign."""
    low = cast_value(value, DType("int32")) & 15
    return cast_value((low ^ 8) - 8, DType("int8"))


def _uint4(value: Any) -> Any:
    return cast_value(cast_value(value, DType("int32")) & 15, BYTE)


def _float4(value: Any) -> Any:
    """The nearest value with two bits of exponent and one of mantissa; ties to the even one."""
    x = cast_value(value, DType("float32"))
    size = tmath.abs(x)
    half, one, two = (
        tmath.nearbyint(x * 2.0) * 0.5,
        tmath.nearbyint(x),
        tmath.nearbyint(x * 0.5) * 2.0,
    )
    rounded = if_then_else(size < 2.0, half, if_then_else(size < 4.0, one, two))
    return cast_value(tmath.clamp(rounded, -6.0, 6.0), DType("float16"))


def _bits_int(value: Any) -> Any:
    return cast_value(value, DType("int32")) & 15


def _bits_float4(value: Any) -> Any:
    """Sign, exponent and mantissa of a value of the type: its f16 pattern, shifted."""
    scaled = cast_value(value, DType("float16")) * cast_value(2.0**-14, DType("float16"))
    bits = cast_value(tmath.reinterpret(DType("int16"), scaled), DType("int32"))
    return ((bits >> 9) & 7) | ((bits >> 12) & 8)


def _from_bits_float4(bits: Any) -> Any:
    pattern = ((bits & 7) << 9) | ((bits & 8) << 12)
    half = tmath.reinterpret(DType("float16"), cast_value(pattern, DType("uint16")))
    return half * cast_value(2.0**14, DType("float16"))


_ROUND: dict[str, Callable[[Any], Any]] = {"int4": _int4, "uint4": _uint4, "float4_e2m1fn": _float4}
_TO_BITS: dict[str, Callable[[Any], Any]] = {
    "int4": _bits_int,
    "uint4": _bits_int,
    "float4_e2m1fn": _bits_float4,
}
_FROM_BITS: dict[str, Callable[[Any], Any]] = {
    "int4": _int4,
    "uint4": _uint4,
    "float4_e2m1fn": _from_bits_float4,
}


class FourBitElement(Expr):
    """One element: read as a value, written with rounding; in a tensor also a corner."""

    __slots__ = ("buffer", "parts")

    def __init__(self, buffer: FourBit, parts: Sequence[Any]) -> None:
        self.buffer = buffer
        self.parts = list(parts)

    def core_value(self) -> Any:
        return self.buffer.load(self.parts).core_value()

    @property
    def dtype(self) -> DType:
        return DType(ON_CHIP[self.buffer.dtype])

    @property
    def constant(self) -> None:
        return None

    def store(self, value: Any) -> None:
        self.buffer.store(self.parts, value)


class Part:
    """A box of a tile or tensor of four bits."""

    def __init__(self, buffer: FourBit, parts: Sequence[Any]) -> None:
        self.buffer = buffer
        self.parts = list(parts)


class FourBit(Buffer):
    """What tiles and tensors of four bits share."""

    __slots__ = ("element",)

    def __init__(self, core: Any, shape: tuple[Any, ...], scope: str, element: DType) -> None:
        super().__init__(core, shape, scope)
        self.element = element

    @property
    def dtype(self) -> DType:
        return self.element

    def __getitem__(self, index: Any) -> Any:
        parts = self._expand(index)
        parts += [slice(None)] * (len(self.shape) - len(parts))
        if any(isinstance(p, slice) for p in parts):
            return Part(self, parts)
        return FourBitElement(self, parts)

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index]
        if isinstance(target, Part):
            raise TypeError(f"error[E0316]: writing a slice of {self.element} elements; use T.copy")
        target.store(value)

    def load(self, parts: Sequence[Any]) -> Expr:
        raise NotImplementedError

    def store(self, parts: Sequence[Any], value: Any) -> None:
        raise NotImplementedError


class FourBitTile(FourBit):
    """A tile: each element is one of the type on the chip."""

    __slots__ = ("plain",)

    def __init__(self, core: Any, shape: tuple[Any, ...], scope: str, element: DType) -> None:
        super().__init__(core, shape, scope, element)
        self.plain = Buffer(core, shape, scope)

    def load(self, parts: Sequence[Any]) -> Expr:
        return read(self.plain[tuple(parts)])

    def store(self, parts: Sequence[Any], value: Any) -> None:
        found = self.plain[tuple(parts)]
        assert isinstance(found, Element)
        found.store(_ROUND[self.element](read(value) if isinstance(value, Expr) else value))


class FourBitTensor(FourBit):
    """A tensor in global memory: a byte holds two elements."""

    __slots__ = ("bytes",)

    def __init__(self, core: Any, shape: tuple[Any, ...], element: DType) -> None:
        super().__init__(core, shape, "global", element)
        self.bytes = Buffer(core, (*shape[:-1], shape[-1] // 2))

    def load(self, parts: Sequence[Any]) -> Expr:
        byte = read(self.bytes[(*parts[:-1], parts[-1] // 2)])
        shifted = cast_value(byte, DType("int32")) >> (parts[-1] % 2) * 4
        return as_expr(_FROM_BITS[self.element](shifted & 15))

    def store(self, parts: Sequence[Any], value: Any) -> None:
        """Writes one element next to the other one in its byte, which only this block may touch."""
        lanes, _ = current().core.parallel_lanes()
        if lanes:
            raise ValueError(
                f"error[E0316]: {self.element} elements of a tensor share a byte, which two lanes "
                "of T.Parallel would write at once; write a tile and copy it with T.copy, or use "
                "T.serial"
            )
        place = (*parts[:-1], parts[-1] // 2)
        shift = (parts[-1] % 2) * 4
        bits = _TO_BITS[self.element](_ROUND[self.element](value))
        others = cast_value(read(self.bytes[place]), DType("int32")) & (240 >> shift)
        self.bytes[place] = cast_value(others | (bits << shift), BYTE)


@contextlib.contextmanager
def _lanes(sizes: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """T.Parallel over `sizes`; always a tuple of indices."""
    frame = Parallel(*sizes)
    found = frame.__enter__()
    yield found if isinstance(found, tuple) else (found,)
    frame.__exit__(None, None, None)


def _tile(name: str, shape: tuple[int, ...], element: DType) -> Buffer:
    return Buffer(current().core.alloc(name, element, list(shape), "fragment"), shape, "local")


def _starts_and_sizes(part: Any) -> tuple[FourBit | Buffer, list[Any], list[Any] | None]:
    """Buffer, where the box starts, and its sizes; None for a corner."""
    if isinstance(part, FourBitElement):
        return part.buffer, part.parts, None
    if isinstance(part, Part):
        starts, sizes = [], []
        for at, extent in zip(part.parts, part.buffer.shape, strict=True):
            if isinstance(at, slice):
                start, stop = at.start or 0, extent if at.stop is None else at.stop
                starts.append(start)
                sizes.append(stop - start)
            else:
                starts.append(at)
                sizes.append(1)
        return part.buffer, starts, sizes
    if isinstance(part, Buffer):
        return part, [0] * len(part.shape), list(part.shape)
    raise TypeError(
        "error[E0316]: a copy of elements of four bits takes whole tiles on its other side, found "
        f"{part!r}"
    )


def copies(src: Any, dst: Any) -> bool:
    """True when a copy has elements of four bits on a side."""
    return any(isinstance(s, (FourBit, FourBitElement, Part)) for s in (src, dst))


def copy(src: Any, dst: Any) -> None:
    """T.copy where one side has elements of four bits."""
    from . import tile_ops

    source, source_at, source_sizes = _starts_and_sizes(src)
    target, target_at, target_sizes = _starts_and_sizes(dst)
    if isinstance(source, FourBitTensor) and isinstance(target, FourBitTensor):
        raise NotImplementedError(
            "error[E0316]: a copy from tensor to tensor of four bits; copy through a tile"
        )
    if not isinstance(source, FourBitTensor) and not isinstance(target, FourBitTensor):
        _convert(source, source_at, target, target_at, target_sizes or source_sizes)
        return
    tile, tile_sizes = (
        (target, target_sizes)
        if isinstance(source, FourBitTensor)
        else (
            source,
            source_sizes,
        )
    )
    tensor, at = (source, source_at) if isinstance(source, FourBitTensor) else (target, target_at)
    assert isinstance(tensor, FourBitTensor)
    if (
        not isinstance(tile, FourBitTile)
        or tile_sizes != list(tile.shape)
        or (tile.element != tensor.element)
    ):
        raise ValueError(
            f"error[E0316]: a copy of {tensor.element} elements between a tensor and a tile takes "
            "a whole tile of that type"
        )
    sizes = [int(s) for s in tile.shape]
    if sizes[-1] % 2 or (is_number(at[-1]) and at[-1] % 2):
        raise ValueError(
            f"error[E0316]: {tensor.element}: two elements share a byte, so rows of a tile have an "
            f"even size and start at an even index; found {sizes[-1]} elements from {at[-1]}"
        )
    packed = _tile("packed", (*sizes[:-1], sizes[-1] // 2), BYTE)
    corner = tensor.bytes[(*at[:-1], at[-1] // 2)]
    plain = tile.plain
    if tensor is source:
        tile_ops.copy(corner, packed)
        with _lanes(packed.shape) as lanes:
            byte = cast_value(read(packed[lanes]), DType("int32"))
            for side in (0, 1):
                value = _FROM_BITS[tensor.element]((byte >> 4 * side) & 15)
                plain[(*lanes[:-1], lanes[-1] * 2 + side)] = value
        return
    with _lanes(packed.shape) as lanes:
        low, high = (
            _TO_BITS[tensor.element](read(plain[(*lanes[:-1], lanes[-1] * 2 + side)]))
            for side in (0, 1)
        )
        packed[lanes] = cast_value(low | (high << 4), BYTE)
    tile_ops.copy(packed, corner)


def _convert(
    source: Any, source_at: list[Any], target: Any, target_at: list[Any], sizes: list[Any] | None
) -> None:
    """Between tiles: element by element, with the rounding of the target."""
    if sizes is None or len(source_at) != len(target_at):
        raise ValueError(
            "error[E0316]: a copy between tiles of four bits needs the same rank on both sides"
        )
    with _lanes(sizes) as lanes:
        value = source[tuple(a + i for a, i in zip(source_at, lanes, strict=True))]
        target[tuple(a + i for a, i in zip(target_at, lanes, strict=True))] = read(value)


def rounded(element: DType, value: Any) -> Any:
    """A number as a value of the type, for T.fill."""
    return _ROUND[element](value)
