# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tile vector operations of the Ascend dialect; each has the names `T.vadd` and `T.npuir_add`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import check_supported
from ..dtypes import dtype as as_dtype
from .buffer import Buffer, Region, is_box, operand
from .builder import current
from .expr import to_value, to_values
from .views import view


def _source(value: Any, what: str) -> Any:
    """A box, or a scalar as `_core.Value`."""
    if isinstance(value, Region):
        return value.core
    return operand(value, what) if is_box(value) else to_value(value)


def _elementwise(
    function: str, sources: list[Any], dst: Any, size: Any = None, rounding: str = ""
) -> None:
    current().core.elementwise(
        function,
        [_source(s, f"operand {i} of T.v{function}") for i, s in enumerate(sources)],
        operand(dst, f"the destination of T.v{function}"),
        [] if size is None else to_values(size),
        rounding,
    )


def _binary(name: str, function: str, text: str) -> Callable[..., None]:
    def apply(A: Any, B: Any, C: Any) -> None:
        _elementwise(function, [A, B], C)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


def _unary(name: str, function: str, text: str) -> Callable[..., None]:
    def apply(A: Any, C: Any, *scratch: Any, size: Any = None) -> None:
        if scratch and isinstance(scratch[0], (list, tuple)):
            size = scratch[0]
        _elementwise(function, [A], C, size)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


vadd = _binary("vadd", "add", "C = A + B.")
vsub = _binary("vsub", "sub", "C = A - B.")
vmul = _binary("vmul", "mul", "C = A * B.")
vdiv = _binary("vdiv", "div", "C = A / B; integers truncate toward zero.")
vmax = _binary("vmax", "max", "C = max(A, B); NaN wins.")
vmin = _binary("vmin", "min", "C = min(A, B); NaN wins.")
vand = _binary("vand", "and", "C = A & B.")
vor = _binary("vor", "or", "C = A | B.")
vxor = _binary("vxor", "xor", "C = A ^ B.")
vshl = _binary("vshl", "shl", "C = A << B.")
vshr = _binary("vshr", "shr", "C = A >> B; arithmetic for signed types.")
vpow = _binary("vpow", "pow", "C = A ** B.")
vfloordiv = _binary("vfloordiv", "floordiv", "C = floor(A / B).")

vexp = _unary("vexp", "exp", "C = exp(A).")
vexp2 = _unary("vexp2", "exp2", "C = 2 ** A; a third operand is scratch and is left alone.")
vln = _unary("vln", "log", "C = ln(A).")
vlog2 = _unary("vlog2", "log2", "C = log2(A); a third operand is scratch and is left alone.")
vsqrt = _unary("vsqrt", "sqrt", "C = sqrt(A).")
vrsqrt = _unary("vrsqrt", "rsqrt", "C = 1 / sqrt(A).")
vabs = _unary("vabs", "abs", "C = |A|.")
vrec = _unary("vrec", "rec", "C = 1 / A.")
vrelu = _unary("vrelu", "relu", "C = max(A, 0).")
vsigmoid = _unary("vsigmoid", "sigmoid", "C = 1 / (1 + exp(-A)).")
vfloor = _unary("vfloor", "floor", "C = floor(A).")
vnot = _unary("vnot", "not", "C = ~A; logical for bool.")
vcos = _unary("vcos", "cos", "C = cos(A).")
vsin = _unary("vsin", "sin", "C = sin(A).")
verf = _unary("verf", "erf", "C = erf(A).")
vtanh = _unary("vtanh", "tanh", "C = tanh(A).")

_COMPARISONS = ("eq", "ne", "lt", "gt", "ge", "le")
_ROUNDINGS = ("rint", "round", "floor", "ceil", "trunc", "odd")


def vcmp(A: Any, B: Any, C: Any, mode: str) -> None:
    """C = A `mode` B, a bool tile; mode is eq, ne, lt, gt, ge or le."""
    if mode not in _COMPARISONS:
        raise ValueError(
            f"error[E0434]: T.vcmp: unknown mode {mode!r}; allowed are {', '.join(_COMPARISONS)}"
        )
    _elementwise(mode, [A, B], C)


def vselect(Cond: Any, A: Any, B: Any, Out: Any) -> None:
    """Out = Cond ? A : B, element by element."""
    _elementwise("select", [Cond, A, B], Out)


def vcast(src: Any, dst: Any, size: Any = None, round_mode: str | None = None) -> None:
    """Converts element types; float to int rounds by `round_mode`, to the nearest without one.

    Between floats of one type a `round_mode` rounds to integral values.
    """
    if isinstance(size, str):
        size, round_mode = None, size
    if round_mode is not None and round_mode not in _ROUNDINGS:
        raise ValueError(
            f"error[E0207]: T.vcast: unknown round_mode {round_mode!r}; allowed are "
            f"{', '.join(_ROUNDINGS)}"
        )
    _elementwise("cast", [src], dst, size, round_mode or "")


def vop(function: str, *operands: Any, round_mode: str = "") -> None:
    """`T.vop("maxnum", a, b, c)`: c = maxnum(a, b), by the name of a function of the vector unit.

    For those without a name of their own: neg, log10, log1p, tan, ceil, round, trunc, rint, isnan,
    isinf, isfinite, rem, floormod, maxnum, minnum, copy and bitcast.
    """
    *sources, dst = operands
    _elementwise(function, sources, dst, None, round_mode)


def vbrc(src: Any, dst: Any) -> None:
    """Fills a tile with a scalar, or repeats a tile along its dimensions of size 1."""
    if is_box(src) and not hasattr(src, "indices"):
        _elementwise("copy", [src], dst)
    else:
        current().core.fill(operand(dst, "the destination of T.vbrc"), to_value(src))


def vclamp(src: Any, dst: Any, min: Any, max: Any) -> None:
    """dst = min(max(src, low), high)."""
    _elementwise("max", [src, min], dst)
    _elementwise("min", [dst, max], dst)


def vgather(src: Any, dst: Any, indices: Any, size: Any = None) -> None:
    """dst[..., j] = src[..., indices[..., j]]."""
    current().core.gather(
        operand(src, "src of T.vgather"),
        operand(dst, "dst of T.vgather"),
        operand(indices, "indices of T.vgather"),
    )


def varange(dst: Any, strides: Any, offset: Any = 0) -> None:
    """dst[i0, i1, ...] = offset + sum of ik * strides[k]."""
    steps = strides if isinstance(strides, (list, tuple)) else [strides]
    current().core.iota(operand(dst, "dst of T.varange"), to_value(offset), to_values(steps))


def vtranspose(src: Any, dst: Any, permutation: Any = None, size: Any = None) -> None:
    """Dimension i of dst is dimension permutation[i] of src; without it a 2-D transpose."""
    order = [1, 0] if permutation is None else [int(p) for p in permutation]
    current().core.transpose(
        operand(src, "src of T.transpose"), operand(dst, "dst of T.transpose"), order
    )


def vreshape(src: Any, dst: Any, *rest: Any) -> Any:
    """With a shape: a view of src. With a tile: copies src into it in row-major order."""
    if not is_box(dst):
        return view(src, dst)
    if src is dst:  # a tile onto itself
        return None
    current().core.reshape(operand(src, "src of T.reshape"), operand(dst, "dst of T.reshape"))


def vbitcast(src: Any, dtype: Any, size: Any = None) -> Buffer:
    """A new tile of src's shape with the same bits, read as elements of another type as wide."""
    if size is not None:
        raise ValueError("error[E0444]: T.vbitcast: give a slice of the tile in place of size")
    core = current().core.bitcast_tile(
        operand(src, "src of T.vbitcast"), check_supported(as_dtype(dtype))
    )
    return Buffer(core, tuple(src.shape), "local.fragment")


def vconcat(*arguments: Any, dim: int | None = None) -> None:
    """`T.concat(a, b, ..., dst, dim)`: puts the sources one after the other along a dimension."""
    parts = list(arguments)
    if dim is None:
        dim = int(parts.pop())
    if len(parts) < 2:
        raise TypeError(
            "error[E0444]: T.concat takes at least one source, the destination and the dimension"
        )
    *sources, dst = parts
    current().core.concat([operand(s) for s in sources], operand(dst), int(dim))


def vflip(src: Any, dst: Any, axis: int, size: Any = None) -> None:
    """Reverses the order of elements along an axis."""
    current().core.flip(operand(src, "src of T.flip"), operand(dst, "dst of T.flip"), int(axis))


def _lanes(extents: list[Any]) -> Any:
    """T.Parallel over a shape; entering always gives a tuple."""
    from .loops import ParallelFrame

    class Lanes(ParallelFrame):
        def __enter__(self) -> Any:
            found = super().__enter__()
            return found if isinstance(found, tuple) else (found,)

    return Lanes(tuple(extents))


def vinterleave(*tiles: Any, channel_nums: int = 2, size: Any = None) -> None:
    """dst[..., 2 j] = a[..., j], dst[..., 2 j + 1] = b[..., j]."""
    *sources, dst = tiles
    if len(sources) != channel_nums:
        raise ValueError(
            f"error[E0446]: T.interleave: {len(sources)} sources for channel_nums={channel_nums}"
        )
    for channel, source in enumerate(sources):
        with _lanes(list(source.shape)) as index:
            *outer, last = index
            dst[(*outer, last * channel_nums + channel)] = source[tuple(index)]


def vdeinterleave(
    src: Any, *dsts: Any, channel_nums: int = 2, index_mode: str = "ALL_CHANNELS", size: Any = None
) -> None:
    """The inverse of interleave; CHANNEL_0 and CHANNEL_1 give one of the outputs."""
    modes = {f"CHANNEL_{c}": [c] for c in range(channel_nums)}
    modes["ALL_CHANNELS"] = list(range(channel_nums))
    if index_mode not in modes or len(dsts) != len(modes[index_mode]):
        raise ValueError(
            f"error[E0446]: T.deinterleave: index_mode {index_mode!r} with {len(dsts)} outputs; "
            f"allowed are ALL_CHANNELS with {channel_nums}, and one of CHANNEL_0 to "
            f"CHANNEL_{channel_nums - 1}"
        )
    for channel, dst in zip(modes[index_mode], dsts, strict=True):
        with _lanes(list(dst.shape)) as index:
            *outer, last = index
            dst[tuple(index)] = src[(*outer, last * channel_nums + channel)]


def vpad(src: Any, dst: Any, value: Any, low: Any, high: Any, size: Any = None) -> None:
    """Copies src into dst after `low` elements of `value`, followed by `high`; negative crops."""
    shape = list(src.shape)
    lows, highs = list(low), list(high)
    if len(lows) != len(shape) or len(highs) != len(shape):
        raise ValueError(
            f"error[E0444]: T.pad: low and high need {len(shape)} entries, one per dimension"
        )
    padded = [d for d in range(len(shape)) if not (_is_zero(lows[d]) and _is_zero(highs[d]))]
    if len(padded) > 1:
        raise ValueError(f"error[E0444]: T.pad: dimensions {padded} are padded; only one may be")
    current().core.fill(operand(dst, "dst of T.pad"), to_value(value))
    source: list[Any] = [slice(None)] * len(shape)
    target: list[Any] = [slice(0, extent) for extent in shape]
    for dim in padded:
        before, after = _whole(lows[dim]), _whole(highs[dim])
        crop = max(-before, 0) if isinstance(before, int) else 0
        end = shape[dim] + min(after, 0) if isinstance(after, int) else shape[dim]
        start = max(before, 0) if isinstance(before, int) else before
        source[dim] = slice(crop, end)
        target[dim] = slice(start, start + (end - crop))
    current().core.copy(operand(src[tuple(source)]), operand(dst[tuple(target)]), [])


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0


#: Everything that has the two spellings T.vX and T.npuir_X.
OPS: dict[str, Callable[..., None]] = {
    name: value
    for name, value in list(globals().items())
    if name.startswith("v") and callable(value) and value.__module__ == __name__
}
NAMES: dict[str, Callable[..., None]] = {}
for _name, _function in OPS.items():
    NAMES[_name] = _function
    NAMES["npuir_" + _name[1:]] = _function
    NAMES["npuir_" + _name] = _function
NAMES["arange"] = varange
NAMES["transpose"] = vtranspose
NAMES["reshape"] = vreshape
NAMES["npuir_reshape"] = vreshape
NAMES["concat"] = vconcat
NAMES["flip"] = vflip
NAMES["interleave"] = vinterleave
NAMES["deinterleave"] = vdeinterleave
NAMES["pad"] = vpad
NAMES["gather"] = vgather
