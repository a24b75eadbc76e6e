# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel language: `import tilewright.language as T`."""

# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from .. import dtypes as dtypes
from ..dtypes import NOT_YET as _LATER_TYPES
from ..dtypes import PACKED as _PACKED
from ..dtypes import SUPPORTED as _TYPES
from ..dtypes import DType
from ..dtypes import dtype as _as_dtype
from . import hints as _hints
from . import math as _math
from . import vector_ops as _vector_ops
from .alloc import (
    alloc_fragment,
    alloc_global,
    alloc_L0A,
    alloc_L0B,
    alloc_L0C,
    alloc_L1,
    alloc_local,
    alloc_shared,
    alloc_ub,
    alloc_var,
    alloc_workspace,
    empty,
)
from .buffer import (
    Element,
    FragmentBuffer,
    LocalBuffer,
    Ramp,
    Region,
    SharedBuffer,
    StridedTensor,
    Tensor,
    TensorType,
    make_tensor,
    ptr,
)
from .buffer import Tensor as Buffer  # TileLang's older name
from .builder import Builder, NoBuilderError, active, current
from .cores import Cores, begin_block, blocks, core_count, core_id, next_slot
from .expert import (
    Scope,
    block_barrier,
    pipe_barrier,
    rs,
    set_flag,
    subblock_barrier,
    sync_block_set,
    sync_block_wait,
    wait_flag,
)
from .expr import (
    Expr,
    as_expr,
    cast_value,
    if_then_else,
    is_runtime,
    logical_and,
    logical_not,
    logical_or,
    read,
    to_bool,
)
from .expr import Var as _MutableVar
from .hints import (
    Fragment,
    GemmWarpPolicy,
    Layout,
    annotate_layout,
    annotate_safe_value,
    attr,
)
from .kernel import (
    Else,
    If,
    Kernel,
    Then,
    While,
    get_block_binding,
    get_block_bindings,
    get_block_extent,
    get_block_extents,
    get_thread_binding,
    get_thread_bindings,
    get_thread_extent,
    thread_binding,
)
from .loops import (
    LoopFrame,
    Parallel,
    Persistent,
    Pipelined,
    Serial,
    Unroll,
    Vectorized,
    as_loop,
    ceildiv,
    grid,
    make_range,
    parallel,
    serial,
    unroll,
    vectorized,
)
from .math import *  # noqa: F403
from .reducers import alloc_reducer, finalize_reducer, reducer_init, reducer_update
from .symbols import ConstVar, Symbolic, SymbolicVar, bind_consts, const, dynamic, symbolic
from .tile_ops import (
    all_of,
    any_of,
    assert_,
    atomic_add,
    atomic_addx2,
    atomic_addx4,
    atomic_load,
    atomic_max,
    atomic_min,
    clear,
    copy,
    cummax,
    cumsum,
    device_assert,
    fill,
    gemm,
    im2col,
    load_nd2nz,
    reduce,
    reduce_absmax,
    reduce_abssum,
    reduce_bitand,
    reduce_bitor,
    reduce_bitxor,
    reduce_max,
    reduce_min,
    reduce_sum,
    store_fixpipe,
    store_nz2nd,
)
from .tile_ops import breakpoint_ as breakpoint
from .tile_ops import im2col as c2d_im2col
from .tile_ops import print_ as print
from .views import view

#: Names that the rewriter's side defines; imported at first use, since it imports this module.
_FRONTEND = ("prim_func", "macro", "inline", "meta_class", "Ref")


class _DTypeMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, DType)


class dtype(metaclass=_DTypeMeta):
    """`T.dtype("float16")`: the element type of that name."""

    def __new__(cls, value: Any) -> DType:  # type: ignore[misc]
        return _as_dtype(value)


class _VarMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (_MutableVar, SymbolicVar))


class Var(metaclass=_VarMeta):
    """`T.Var("n")`: a symbolic size; isinstance is true for variables of the kernel too."""

    def __new__(cls, name: str, dtype: Any = "int32") -> SymbolicVar:  # type: ignore[misc]
        return SymbolicVar(name)


def _publish() -> None:
    """Adds what is named by tables: mathematics, vector operations, hints and element types."""
    space = globals()
    for name, value in vars(_math).items():
        if (
            not name.startswith("_")
            and callable(value)
            and getattr(value, "__module__", "") == _math.__name__
        ):
            space[name] = value
    space.update(_vector_ops.NAMES)
    for name in _hints.NAMES:
        space[name] = _hints.hint(name)
    for name in (
        "add",
        "mul",
        "exp",
        "dot",
        "copy",
        "clear",
        "fill",
        "reduce",
        "atomic_add",
        "atomic_addx4",
    ):
        source = {"dot": gemm}.get(name, space.get(name))
        if source is not None and f"npuir_{name}" not in space:
            space[f"npuir_{name}"] = source
    for name in (
        "reduce_sum",
        "reduce_max",
        "reduce_min",
        "cumsum",
        "load_nd2nz",
        "store_fixpipe",
        "store_nz2nd",
    ):
        space[f"npuir_{name}"] = space[name]
    for name in (*_TYPES, *_PACKED, *_LATER_TYPES):
        space[name] = DType(name)
    for alias in (
        "tfloat32",
        "float8_e4m3",
        "float",
        "half",
        "double",
        "int",
        "uint",
        "short",
        "long",
        "fp8",
    ):
        space[alias] = _as_dtype(alias)
    for name in ("exp", "log", "log2", "log10", "exp10", "sin", "cos", "tan", "sqrt"):
        space[f"__{name}"] = getattr(_math, name)


_publish()


def __getattr__(name: str) -> Any:
    if name in _FRONTEND:
        from .. import frontend

        return getattr(frontend, name)
    from .status import missing

    raise AttributeError(missing(name))
