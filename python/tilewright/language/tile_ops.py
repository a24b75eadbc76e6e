# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on whole tiles: copy, gemm, fill, reductions, scans, atomics, print and assert."""

from __future__ import annotations

import math
from typing import Any

from ..keywords import advice, hints
from . import packed
from .buffer import Buffer, Element, Region, is_box, operand
from .builder import current
from .expr import Expr, Var, as_expr, read, to_bool, to_value, to_values
from .views import View, reduce_view


def _sizes(size: Any) -> list[Any]:
    """The peer's `size` list; empty when it was not given."""
    if size is None:
        return []
    return to_values(size if isinstance(size, (list, tuple)) else [size])


@hints("disable_tma", "eviction_policy", "prefer_instruction", "annotations", "loop_layout")
def copy(src: Any, dst: Any, coalesced_width: Any = None, size: Any = None) -> None:
    """Copies a box between any two places, converting element types.

    Operands are buffers, corners `A[i, j]` and regions `A[a:b, c]`; a corner takes its extents
    from the other side or from `size`. Outside a global tensor reads give 0 and writes are dropped.
    """
    if size is None and isinstance(coalesced_width, (list, tuple)):
        size = coalesced_width
    elif coalesced_width is not None and not isinstance(coalesced_width, int):
        raise TypeError(
            "error[E0123]: T.copy takes a source, a destination and sizes; the third argument is "
            f"{coalesced_width!r}: use one T.copy for each pair"
        )
    if packed.copies(src, dst):
        packed.copy(src, dst)
        return
    if not is_box(src) and not isinstance(src, Var) and is_box(dst):
        fill(dst, src)
        return
    current().core.copy(operand(src, "src of T.copy"), operand(dst, "dst of T.copy"), _sizes(size))


def gemm(A: Any, B: Any, C: Any, *args: Any, **options: Any) -> None:
    """C = (clear ? 0 : C) + op(A) . op(B).

    Accepts both `gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum=...)` and
    `gemm(A, B, C, size, initC, a_transpose, b_transpose)`; the fourth positional argument decides.
    """
    peer = bool(args) and (args[0] is None or isinstance(args[0], (list, tuple)))
    names = (
        ("size", "initC", "a_transpose", "b_transpose")
        if peer
        else ("transpose_A", "transpose_B", "policy", "clear_accum", "k_pack", "wg_wait")
    )
    if len(args) > len(names):
        raise TypeError(
            f"error[E0123]: T.gemm takes at most {3 + len(names)} positional arguments, found "
            f"{3 + len(args)}"
        )
    for name, value in zip(names, args, strict=False):
        if name in options:
            raise TypeError(f"error[E0123]: T.gemm got {name} twice")
        options[name] = value
    known = _GEMM_OPTIONS
    for name in options:
        if name not in known:
            raise TypeError(
                f"error[E0123]: T.gemm has no argument `{name}`"
                + advice(name, sorted(known), f"it takes {', '.join(sorted(known))}")
            )
    transpose_a = options.get("transpose_A", options.get("a_transpose", False))
    transpose_b = options.get("transpose_B", options.get("b_transpose", False))
    clear_first = options.get("clear_accum", options.get("initC", False))
    init = None if clear_first is False or clear_first is None else to_value(to_bool(clear_first))
    current().core.gemm(
        operand(A, "A of T.gemm"),
        operand(B, "B of T.gemm"),
        operand(C, "C of T.gemm"),
        bool(transpose_a),
        bool(transpose_b),
        init,
        _sizes(options.get("size")),
    )


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: Any = None,
    annotations: Any = None,
) -> None:
    """Tile (nhw_step, c_step) of the matrix whose product with a filter is a convolution.

    `img` is a tensor (N, H, W, C). A row of the matrix is one place of the output, its columns are
    the kernel * kernel * C elements under the filter there, 0 outside the image.
    """
    current().core.im2col(
        operand(img, "the image of T.im2col").buffer,
        operand(col, "the tile of T.im2col").buffer,
        to_value(nhw_step),
        to_value(c_step),
        [int(kernel), int(stride), int(dilation), int(pad)],
    )


_GEMM_OPTIONS = {
    "transpose_A",
    "transpose_B",
    "a_transpose",
    "b_transpose",
    "clear_accum",
    "initC",
    "size",
    "policy",
    "k_pack",
    "wg_wait",
    "mbar",
    "annotations",
}


def fill(buffer: Any, value: Any) -> None:
    """Writes one value everywhere in a buffer or region."""
    if isinstance(buffer, Var):
        buffer.store(value)
        return
    if isinstance(buffer, packed.FourBit):
        value = packed.rounded(buffer.element, value)
    current().core.fill(operand(buffer, "the target of T.fill"), to_value(value))


def clear(buffer: Any) -> None:
    """Writes 0 everywhere in a buffer or region."""
    fill(buffer, 0)


# -- reductions -----------------------------------------------------------------------------------

_KINDS = {
    "sum": "sum",
    "max": "max",
    "min": "min",
    "abssum": "abssum",
    "absmax": "absmax",
    "prod": "prod",
    "any": "or",
    "all": "and",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
    "ori": "or",
    "xori": "xor",
    "andi": "and",
}


def _reduce(kind: str, src: Any, dst: Any, dims: Any, size: Any, clear_first: Any) -> None:
    if kind not in _KINDS:
        raise ValueError(
            f"error[E0421]: unknown reduction {kind!r}; allowed are {', '.join(_KINDS)}"
        )
    if size is not None and not isinstance(size, (list, tuple)):  # the fourth argument was `clear`
        size, clear_first = None, size
    if kind.startswith("bit") and src.dtype.is_float:
        raise TypeError(
            f"error[E0433]: T.reduce_{kind} of {src!r}: bits of floats have no such reduction; "
            "look at them with T.vbitcast, or convert with T.cast"
        )
    axes = [int(d) for d in (dims if isinstance(dims, (list, tuple)) else [dims])]

    def emit(source: Any, target: Any, along: list[int]) -> None:
        current().core.reduce(
            _KINDS[kind],
            operand(source, "the source of a reduction"),
            operand(target, "the destination of a reduction"),
            along,
            _sizes(size),
            not bool(clear_first),
        )

    if isinstance(src, View) and size is None:
        reduce_view(src, dst, axes, emit)
    else:
        emit(src, dst, axes)


_reduction = hints("batch", "annotations")


def _refuse_nan(asked: bool) -> None:
    """Refuses a maximum or minimum in which NaN is to win."""
    if asked:
        raise NotImplementedError(
            "error[E0122]: nan_propagate=True is not supported: the maximum and minimum of a "
            "number and NaN are the number; look for NaN with T.isnan"
        )


def reduce(
    src: Any,
    dst: Any,
    dims: Any = None,
    reduce_mode: Any = None,
    size: Any = None,
    clear: Any = True,
    *,
    buffer: Any = None,
    reduce_type: str | None = None,
    dim: Any = None,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> None:
    """`reduce(src, dst, dims, mode, size, clear)` or `reduce(src, dst, "sum", dim, clear)`."""
    _refuse_nan(nan_propagate)
    if isinstance(dims, str):
        if reduce_mode is not None:
            dim = reduce_mode
        if size is not None:
            clear = size
        _reduce(dims, src, dst, dim, None, clear)
        return
    mode = reduce_type if reduce_type is not None else reduce_mode
    if mode is None:
        raise TypeError('error[E0123]: T.reduce needs a reduction, for example reduce_mode="sum"')
    _reduce(mode, src, dst, dims if dims is not None else dim, size, clear)


@_reduction
def reduce_sum(buffer: Any, out: Any, dim: Any = -1, size: Any = None, clear: Any = True) -> None:
    """Sum along `dim`."""
    _reduce("sum", buffer, out, dim, size, clear)


@_reduction
def reduce_max(
    buffer: Any,
    out: Any,
    dim: Any = -1,
    size: Any = None,
    clear: Any = True,
    nan_propagate: bool = False,
) -> None:
    """Maximum along `dim`; with clear=False combined with what `out` held."""
    _refuse_nan(nan_propagate)
    _reduce("max", buffer, out, dim, size, clear)


@_reduction
def reduce_min(
    buffer: Any,
    out: Any,
    dim: Any = -1,
    size: Any = None,
    clear: Any = True,
    nan_propagate: bool = False,
) -> None:
    """Minimum along `dim`; with clear=False combined with what `out` held."""
    _refuse_nan(nan_propagate)
    _reduce("min", buffer, out, dim, size, clear)


@_reduction
def reduce_abssum(buffer: Any, out: Any, dim: Any = -1, clear: Any = True) -> None:
    """Sum of absolute values along `dim`."""
    _reduce("abssum", buffer, out, dim, None, clear)


@_reduction
def reduce_absmax(
    buffer: Any, out: Any, dim: Any = -1, clear: Any = True, nan_propagate: bool = False
) -> None:
    """Greatest absolute value along `dim`."""
    _refuse_nan(nan_propagate)
    _reduce("absmax", buffer, out, dim, None, clear)


@_reduction
def reduce_bitand(buffer: Any, out: Any, dim: Any = -1, clear: Any = True) -> None:
    """Bitwise and along `dim`."""
    _reduce("bitand", buffer, out, dim, None, clear)


@_reduction
def reduce_bitor(buffer: Any, out: Any, dim: Any = -1, clear: Any = True) -> None:
    """Bitwise or along `dim`."""
    _reduce("bitor", buffer, out, dim, None, clear)


@_reduction
def reduce_bitxor(buffer: Any, out: Any, dim: Any = -1, clear: Any = True) -> None:
    """Bitwise exclusive or along `dim`."""
    _reduce("bitxor", buffer, out, dim, None, clear)


def _scan(kind: str, src: Any, dst: Any, dim: int, reverse: bool) -> None:
    target = src if dst is None else dst
    if isinstance(src, View):
        along = src.base_dim(int(dim))
        if along is None:
            raise ValueError(
                f"error[E0311]: a scan along dimension {dim} of a view, a part of a tile's "
                "dimension"
            )
        dim = along
    current().core.scan(
        kind,
        operand(src, "the source of a scan"),
        operand(target, "the destination of a scan"),
        int(dim),
        bool(reverse),
    )


@hints("annotations")
def cumsum(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, size: Any = None
) -> None:
    """Running sum along `dim`; in place without `dst`."""
    _scan("sum", src, dst, dim, reverse)


@hints("annotations")
def cummax(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, size: Any = None
) -> None:
    """Running maximum along `dim`; in place without `dst`."""
    _scan("max", src, dst, dim, reverse)


# -- atomics --------------------------------------------------------------------------------------


def _atomic(kind: str, dst: Any, src: Any, third: Any, size: Any, return_prev: bool) -> Any:
    if size is None and isinstance(third, (list, tuple)):
        size = third
    builder, target = current(), operand(dst, "the destination of an atomic")
    if return_prev:
        if size is not None or (is_box(src) and not isinstance(src, Element)):
            raise ValueError(
                "error[E0319]: an atomic with return_prev=True takes one value, found a tile or "
                "region; add the elements one by one in T.Parallel"
            )
        return Expr(builder.core.atomic_fetch(kind, target, to_value(read(src))))
    element = isinstance(src, Element) and isinstance(dst, Element) and size is None
    if is_box(src) and not element:
        builder.core.atomic_box(kind, target, operand(src), _sizes(size))
    else:
        builder.core.atomic_scalar(kind, target, to_value(read(src)), _sizes(size))


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    use_tma: bool = False,
    size: Any = None,
    annotations: Any = None,
) -> Any:
    """dst += value, atomically across blocks; element, region or whole tensor.

    With `return_prev=True`, for one element: gives what was there before, in the order of blocks,
    statements and points.
    """
    return _atomic("sum", dst, value, memory_order, size, return_prev)


def _atomic_lanes(
    lanes: int, dst: Any, value: Any, third: Any, size: Any, return_prev: bool
) -> None:
    """Elements name the first of `lanes` neighbours; boxes are added whole."""
    if size is None and isinstance(third, (list, tuple)):
        size = third
    if return_prev:
        raise ValueError(
            f"error[E0319]: T.atomic_addx{lanes} has no one value that was there before; "
            "use T.atomic_add(x[i], value, return_prev=True) for each element"
        )
    if size is not None or not (isinstance(dst, Element) and isinstance(value, Element)):
        _atomic("sum", dst, value, None, size, False)
        return
    for lane in range(lanes):
        _atomic("sum", dst.shifted(lane), value.shifted(lane), None, None, False)


def atomic_addx2(
    dst: Any, value: Any, memory_order: Any = None, return_prev: bool = False, size: Any = None
) -> None:
    """Adds two neighbouring elements, `dst[i]` and `dst[i + 1]`; or a whole box."""
    _atomic_lanes(2, dst, value, memory_order, size, return_prev)


def atomic_addx4(
    dst: Any, value: Any, memory_order: Any = None, return_prev: bool = False, size: Any = None
) -> None:
    """Adds four neighbouring elements, `dst[i]` to `dst[i + 3]`; or a whole box."""
    _atomic_lanes(4, dst, value, memory_order, size, return_prev)


@hints("annotations")
def atomic_max(
    dst: Any, value: Any, memory_order: Any = None, return_prev: bool = False, size: Any = None
) -> Any:
    """dst = max(dst, value), atomically across blocks; `return_prev` as in `atomic_add`."""
    return _atomic("max", dst, value, memory_order, size, return_prev)


@hints("annotations")
def atomic_min(
    dst: Any, value: Any, memory_order: Any = None, return_prev: bool = False, size: Any = None
) -> Any:
    """dst = min(dst, value), atomically across blocks; `return_prev` as in `atomic_add`."""
    return _atomic("min", dst, value, memory_order, size, return_prev)


def atomic_load(src: Any, memory_order: Any = None) -> Any:
    """The value of an element, in order with the atomics of other blocks on it."""
    return _atomic("sum", src, 0, memory_order, None, True)


# -- debugging ------------------------------------------------------------------------------------


@hints("warp_group_id", "warp_id")
def print_(obj: Any = None, msg: str = "", *args: Any) -> None:
    """Prints a scalar, a buffer or a region once per block."""
    builder = current()
    if isinstance(obj, str):
        builder.core.print_message(obj if not msg else f"{msg} {obj}")
    elif obj is None:
        builder.core.print_message(str(msg))
    elif isinstance(obj, (Buffer, Region)):
        builder.core.print_box(operand(obj), str(msg))
    else:
        builder.core.print_scalar(as_expr(obj).core_value(), str(msg))


def assert_(cond: Any, msg: str = "") -> None:
    """Stops the run with a message when the condition is false."""
    if not isinstance(cond, Expr) and not hasattr(cond, "tokens"):
        if not cond:
            raise AssertionError(msg)
        return
    current().assert_(to_bool(cond), msg)


def device_assert(cond: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Stops the run with a message when the condition is false."""
    assert_(cond, msg)


def breakpoint_(*_: Any, **__: Any) -> None:
    """Under the interpreter, stops in Python's debugger at this line with tiles as arrays.

    `breakpoint()` in a kernel is the same. On the simulator the kernel goes on.
    """
    current().core.breakpoint()


def any_of(buffer: Any) -> Any:
    """True when some element is not 0."""
    return Expr(current().core.quantifier("or", operand(buffer)))


def all_of(buffer: Any) -> Any:
    """True when every element is not 0."""
    return Expr(current().core.quantifier("and", operand(buffer)))


def load_nd2nz(src: Any, dst: Any, size: Any = None) -> None:
    """Global memory to L1; the layout of L1 is not visible."""
    current().expert_names.add("load_nd2nz")
    current().core.copy(
        operand(src, "src of T.load_nd2nz"), operand(dst, "dst of T.load_nd2nz"), _sizes(size)
    )


def store_nz2nd(src: Any, dst: Any, size: Any = None) -> None:
    """L1 to global memory."""
    current().expert_names.add("store_nz2nd")
    current().core.copy(
        operand(src, "src of T.store_nz2nd"), operand(dst, "dst of T.store_nz2nd"), _sizes(size)
    )


def store_fixpipe(
    src: Any,
    dst: Any,
    size: Any = None,
    enable_nz2nd: bool = False,
    channel_split: bool = False,
    pre_relu_mode: str = "",
    scale: float | None = None,
) -> None:
    """L0C to global memory: `pre_relu_mode="relu"` clips at 0 first, then elements narrow.

    float32 narrows to float16 and bfloat16, half to even; int32 to int8 as `value * scale` (1
    without), rounded half to even and saturated. With `enable_nz2nd` the tensor gets rows. Without
    it gets the accumulator's own order, columns of 16 elements (32 of int8): column j of the tile
    is `dst[j, :, :]` of a tensor of shape (columns, rows, 16). `channel_split` makes the columns of
    float32 8 wide.
    """
    if enable_nz2nd and channel_split:
        raise ValueError(
            "error[E0607]: T.store_fixpipe: channel_split divides the columns of the accumulator's "
            "own order, and enable_nz2nd=True writes rows; leave one of them out"
        )
    if scale is not None and not math.isfinite(scale):
        raise ValueError(f"error[E0607]: T.store_fixpipe: scale is a finite number, found {scale}")
    if pre_relu_mode not in ("", "relu"):
        raise ValueError(
            f"error[E0607]: T.store_fixpipe: unknown pre_relu_mode {pre_relu_mode!r}; allowed are "
            "'relu' and ''"
        )
    current().expert_names.add("store_fixpipe")
    source, target = (
        operand(src, "src of T.store_fixpipe"),
        operand(dst, "dst of T.store_fixpipe"),
    )
    relu, sizes = bool(pre_relu_mode), _sizes(size)
    if enable_nz2nd:
        current().core.copy(source, target, sizes, relu, scale)
    else:
        current().core.store_fractals(source, target, sizes, relu, scale, channel_split)
