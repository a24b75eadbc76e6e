# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On-chip tiles, scalar variables and output tensors."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import DType, check_supported, check_usable, dtype, limits
from .buffer import Buffer, normalize_shape
from .builder import current
from .expr import Var
from .packed import ON_CHIP, FourBitTile, is_packed
from .symbols import Symbolic

#: TileLang's scope spelling -> scope of the tile dialect.
SCOPES = {
    "shared": "shared",
    "shared.dyn": "shared",
    "local.fragment": "fragment",
    "local": "fragment",
    "local.var": "local",
    "ub": "ub",
    "l1": "l1",
    "l0a": "l0a",
    "l0b": "l0b",
    "l0c": "l0c",
    "workspace": "workspace",
}

#: Sizes in bytes stay far within 64 bits; the planner lists what is smaller and does not fit.
MOST_ELEMENTS = 1 << 40


def _alloc(
    function: str, shape: Any, element: Any, scope: str, slots: int = 1, address: int | None = None
) -> Buffer:
    if scope not in SCOPES:
        raise ValueError(
            f"error[E0304]: {function}: unknown scope {scope!r}; allowed are {', '.join(SCOPES)}"
        )
    sizes = normalize_shape(shape)
    for position, size in enumerate(sizes):
        if isinstance(size, Symbolic) or not hasattr(size, "__index__") or _runtime(size):
            raise ValueError(
                f"error[E0302]: {function}: dimension {position} of the tile is {size!r}, known "
                "only at run time; on-chip tiles need sizes known at compile time: allocate the "
                "largest size and use a part of it"
            )
    plain = [int(s) for s in sizes]
    if math.prod(plain) > MOST_ELEMENTS:
        raise ValueError(
            f"error[E0303]: {function}: a tile of {' x '.join(map(str, plain))} elements fits into "
            "no memory of the chip; make the block smaller"
        )
    kind = check_usable(dtype(element))
    place = SCOPES[scope]
    if is_packed(kind):
        core = current().core.alloc(function, ON_CHIP[kind], plain, place)
        return FourBitTile(core, tuple(plain), scope, kind)
    if address is not None and int(address) < 0:
        raise ValueError(
            f"error[E0124]: {function}: address {int(address)}; a tile begins at byte 0 or behind"
        )
    planned = {} if slots == 1 else {"slots": int(slots)}
    if address is not None:
        planned["address"] = int(address)
    core = current().core.alloc(function, kind, plain, place, **planned)
    return Buffer(core, tuple(plain), scope)


def _runtime(size: Any) -> bool:
    return getattr(size, "constant", 0) is None


def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Buffer:
    """A tile on the chip, shared by the whole block; its place is chosen by the compiler."""
    return _alloc("alloc_shared", shape, dtype, scope)


def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Buffer:
    """A tile on the chip for accumulators and intermediate results."""
    return _alloc("alloc_fragment", shape, dtype, scope)


def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Buffer:
    """A small tile of the block."""
    return _alloc("alloc_local", shape, dtype, scope)


def _expert(
    function: str, shape: Any, element: Any, scope: str, slots: int, address: int | None
) -> Buffer:
    current().expert_names.add(function)
    return _alloc(function, shape, element, scope, slots, address)


def alloc_ub(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """A tile in the unified buffer of the vector core.

    In T.Cores a tile may be `slots` copies that take turns (T.next_slot), the first at byte
    `address` of its memory.
    """
    return _expert("alloc_ub", shape, dtype, "ub", slots, address)


def alloc_L1(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """A tile in L1, where the cube core's operands wait; `slots` and `address` as in alloc_ub."""
    return _expert("alloc_L1", shape, dtype, "l1", slots, address)


def alloc_L0A(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """A tile in L0A, the left operand of a product; loaded from L1 by T.copy."""
    return _expert("alloc_L0A", shape, dtype, "l0a", slots, address)


def alloc_L0B(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """A tile in L0B, the right operand of a product; loaded from L1 by T.copy."""
    return _expert("alloc_L0B", shape, dtype, "l0b", slots, address)


def alloc_L0C(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """A tile in L0C, the cube's accumulator; `slots` and `address` as in alloc_ub."""
    return _expert("alloc_L0C", shape, dtype, "l0c", slots, address)


def alloc_workspace(shape: Any, dtype: Any, slots: int = 1, address: int | None = None) -> Buffer:
    """In T.Cores: a tile in global memory of a cube core and its two vector cores.

    Each of the three goes through its `slots` at a pace of its own (T.next_slot).
    """
    return _expert("alloc_workspace", shape, dtype, "workspace", slots, address)


def _check_range(init: Any, element: DType) -> None:
    """Refuses a finite number that a floating-point variable cannot hold."""
    if isinstance(init, (int, float)) and element.is_float and math.isfinite(init):
        most = limits(element)[1]
        if abs(init) > most:
            raise ValueError(
                f"error[E0206]: alloc_var: {init} exceeds maximum of {element} ({most}); use a "
                "wider type"
            )


def alloc_var(dtype: Any, *args: Any, init: Any = None, scope: str = "local.var") -> Var:
    """A mutable scalar, `x = T.alloc_var("int32", init=0)`; zero without `init`."""
    if len(args) > 2:
        raise TypeError(
            "error[E0123]: T.alloc_var takes an element type, a first value and a scope, found "
            f"{1 + len(args)} arguments"
        )
    for arg in args:
        if not isinstance(arg, str):  # a text is a scope, which changes nothing for a scalar
            init = arg
    from .. import dtypes

    element = check_supported(dtypes.dtype(dtype))
    core = current().core
    lanes, extents = core.parallel_lanes()  # inside T.Parallel every lane has its own
    buffer = Buffer(core.alloc_lanes("alloc_var", element, extents), (), "local.var")
    found = Var(buffer, lanes)
    _check_range(init, element)
    if init is not None or not current().by_core:  # in T.Cores each store is the author's
        found.store(0 if init is None else init)
    return found


def alloc_global(shape: Any, dtype: Any) -> Buffer:
    """A tensor in global memory for the launches of one call; the runtime allocates it."""
    return current().add_scratch(normalize_shape(shape), dtype)


def empty(*shape: Any, dtype: Any = "float32") -> Buffer:
    """A tensor that the kernel fills and returns: `T.empty((M, N), dtype)` or `T.empty(M, N)`."""
    from .. import dtypes

    if shape and isinstance(shape[0], (tuple, list)):
        if len(shape) > 2:
            raise TypeError("error[E0314]: T.empty takes a shape and an element type")
        if len(shape) == 2:
            dtype = shape[1]
        sizes = normalize_shape(shape[0])
    else:
        parts = list(shape)
        if parts and isinstance(parts[-1], str):
            dtype = parts.pop()
        sizes = normalize_shape(tuple(parts))
    if not sizes:
        raise ValueError(
            "error[E0314]: T.empty needs at least one dimension; return a (1,) tensor for a scalar"
        )
    builder = current()
    return builder.add_output(f"out{len(builder.outputs)}", sizes, dtypes.dtype(dtype))
