# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views: another shape of a tile or tensor, over the same elements in row-major order.

A view of a tile is a way to write indices. Its dimensions and those of the tile fall into groups
with equal products; an index of the view becomes one of the tile by counting within its group.
A view of a tensor in global memory is a tensor of its own whose memory the runtime shares.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..dtypes import DType, check_supported
from ..dtypes import dtype as as_dtype
from .buffer import Buffer, Element, Region, normalize_shape
from .builder import current
from .expr import as_expr
from .loops import serial
from .packed import FourBitTile
from .symbols import size_tokens

#: One group: dimensions of the tile, dimensions of the view.
Group = tuple[tuple[int, ...], tuple[int, ...]]


def _groups(base: Sequence[int], view: Sequence[int]) -> list[Group]:
    """Cuts both shapes into the smallest runs of dimensions with equal products."""
    found: list[Group] = []
    i = j = 0
    while i < len(base) or j < len(view):
        from_i, from_j, p, q = i, j, 1, 1
        while (i == from_i or j == from_j or p != q) and (i < len(base) or j < len(view)):
            if j == len(view) or (p <= q and i < len(base)):
                p, i = p * base[i], i + 1
            else:
                q, j = q * view[j], j + 1
        found.append((tuple(range(from_i, i)), tuple(range(from_j, j))))
    return found


class View(Buffer):
    """A tile under another shape."""

    __slots__ = ("base", "groups")

    def __init__(self, base: Buffer, shape: tuple[int, ...]) -> None:
        super().__init__(base.core, shape, base.scope_name)
        self.base = base
        self.groups = _groups(base.shape, shape)

    def rename(self, name: str) -> None:
        """The tile keeps its own name."""

    def __getitem__(self, index: Any) -> Element | Region:
        parts = self._expand(index)
        parts += [slice(None)] * (len(self.shape) - len(parts))
        mapped: list[Any] = [0] * len(self.base.shape)
        for group in self.groups:
            self._map(group, parts, mapped)
        return self.base[tuple(mapped)]

    def _map(self, group: Group, parts: list[Any], mapped: list[Any]) -> None:
        """Writes the indices of one group of the tile's dimensions."""
        base, view = group
        wide = [d for d in view if self.shape[d] != 1]
        into = [d for d in base if self.base.shape[d] != 1]
        for d in base:
            mapped[d] = slice(None) if any(isinstance(parts[v], slice) for v in view) else 0
        if not wide:
            return
        if len(wide) == 1 and len(into) == 1:
            mapped[into[0]] = parts[wide[0]]
            return
        sliced = [d for d in wide if isinstance(parts[d], slice)]
        if not sliced:
            flat = self._flat(wide, parts)
            self._unflatten(flat, into, mapped)
            return
        if all(parts[d] == slice(None) for d in wide):
            return
        if (
            len(into) == 1
            and all(parts[d] == slice(None) for d in sliced[1:])
            and (sliced == wide[wide.index(sliced[0]) :])
        ):
            first = parts[sliced[0]]
            inner = math.prod(self.shape[d] for d in sliced[1:])
            start = first.start or 0
            stop = self.shape[sliced[0]] if first.stop is None else first.stop
            outer = self._flat(wide[: wide.index(sliced[0])], parts) * self.shape[sliced[0]]
            mapped[into[0]] = slice((outer + start) * inner, (outer + stop) * inner)
            return
        raise ValueError(
            f"error[E0311]: a slice of the view {self.shape} of {self.base.name} {self.base.shape} "
            "does not lie in one piece there; take single indices of the outer dimensions"
        )

    def _flat(self, dims: Sequence[int], parts: Sequence[Any]) -> Any:
        flat: Any = 0
        for d in dims:
            flat = flat * self.shape[d] + parts[d]
        return flat

    def _unflatten(self, flat: Any, dims: Sequence[int], mapped: list[Any]) -> None:
        for d in reversed(dims[1:]):
            mapped[d] = flat % self.base.shape[d]
            flat = flat // self.base.shape[d]
        mapped[dims[0]] = flat

    def operand(self) -> Any:
        """The whole view as an operand: the whole tile, where only dimensions of size 1 differ."""
        if [s for s in self.shape if s != 1] != [s for s in self.base.shape if s != 1]:
            raise ValueError(
                f"error[E0311]: the view {self.shape} of {self.base.name} {self.base.shape} cannot "
                "be an operand of this operation; use its elements, T.reduce_* on its last "
                "dimensions, or the tile itself"
            )
        return self.base.operand()

    def base_dim(self, dim: int) -> int | None:
        """The dimension of the tile that is this dimension of the view; None for a part of one."""
        dim = dim + len(self.shape) if dim < 0 else dim
        for base, view in self.groups:
            into = [d for d in base if self.base.shape[d] != 1] or list(base)
            if dim in view and [d for d in view if self.shape[d] != 1] in ([dim], []) and into:
                return into[0] if len(into) == 1 or self.shape[dim] == 1 else None
        return None

    def pieces(self, dims: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Dimensions to loop over so that `dims` are whole dimensions of what is left."""
        loops = []
        for _base, view in self.groups:
            wide = [d for d in view if self.shape[d] != 1]
            reduced = [d for d in wide if d in dims]
            if len(wide) < 2 or not reduced or reduced == wide:
                continue
            if reduced != wide[-len(reduced) :]:
                raise ValueError(
                    f"error[E0311]: a reduction of the view {self.shape} of {self.base.name} "
                    f"{self.base.shape} along {list(dims)}: within a dimension of the tile only "
                    "the last ones can be reduced"
                )
            loops += wide[: -len(reduced)]
        yield tuple(loops)


def reduce_view(
    src: View, dst: Any, dims: Sequence[int], emit: Callable[[Any, Any, list[int]], None]
) -> None:
    """A reduction of a view: loops over parts of dimensions, whole dimensions by `emit`."""
    rank = len(src.shape)
    dims = [d + rank if d < 0 else d for d in dims]
    (loops,) = src.pieces(dims)
    frames = [serial(src.shape[d]) for d in loops]
    at = dict(zip(loops, [f.__enter__() for f in frames], strict=True))
    parts = [at.get(d, slice(None)) for d in range(rank)]
    source = src[tuple(parts)]
    reduced = []
    for base, view in src.groups:
        if any(d in dims for d in view):
            reduced += [d for d in base if src.base.shape[d] != 1] or [base[0]]
    target = dst
    if loops:
        keeps = len(dst.shape) == rank
        kept = [d for d in range(rank) if keeps or d not in dims]
        target = dst[tuple(at.get(d, slice(None)) for d in kept)]
        if isinstance(target, Element):
            target = dst[tuple(slice(as_expr(at[d]), as_expr(at[d]) + 1) for d in kept)]
    emit(source, target, reduced)
    for frame in reversed(frames):
        frame.__exit__(None, None, None)


def _tensor_view(src: Buffer, shape: tuple[Any, ...], element: DType, name: str) -> Buffer:
    core = current().core.add_alias(
        name, check_supported(element), [size_tokens(d) for d in shape], src.core
    )
    found = Buffer(core, shape)
    current().aliases.append(found)
    return found


_numbers = itertools.count()


def view(src: Any, shape: Any = None, dtype: Any = None) -> Buffer:
    """The same memory under another shape or element type.

    A tile may be seen as elements of another type where each name reads only what it has written.
    """
    if not isinstance(src, Buffer) or isinstance(src, FourBitTile):
        raise TypeError(
            "error[E0310]: T.view takes a tile or a tensor of elements of 8 bits or more, found "
            f"{src!r}"
        )
    element = src.dtype if dtype is None else as_dtype(dtype)
    sizes = src.shape if shape is None else normalize_shape(shape)
    static = all(isinstance(s, int) for s in (*src.shape, *sizes))
    if static and math.prod(sizes) * element.bits != math.prod(src.shape) * src.dtype.bits:
        raise ValueError(
            f"error[E0310]: a view of {src.name} {tuple(src.shape)} {src.dtype} with shape "
            f"{tuple(sizes)} and type {element} has another number of bits"
        )
    if src.scope == "global":
        return _tensor_view(src, tuple(sizes), element, f"{src.name}_view{next(_numbers)}")
    base = src.base if isinstance(src, View) else src
    if element != src.dtype:
        plain = [int(s) for s in sizes]
        core = current().core.view_tile(base.core, check_supported(element), plain)
        return Buffer(core, tuple(plain), base.scope_name)
    return View(base, tuple(int(s) for s in sizes))
