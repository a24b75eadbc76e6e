# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the source of a generated kernel in NumPy: an opinion that shares nothing with the compiler.

The source is Python, so Python itself follows its loops and branches once per block; this module
stands in for `tilewright.language`. A parallel loop is one turn with arrays of indices, and an `if`
in it a mask. `evaluate` runs a kernel with its own element types or in float64: where these
differ, a result hangs on rounding and says nothing.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray


class Cell:
    """`tile[i, j]` or `tensor[i, 0:8]`: a place to copy from or to, and a value in expressions."""

    __array_ufunc__ = None  #: arrays leave operators to this class

    def __init__(self, owner: Tile, index: Any) -> None:
        self.owner = owner
        self.index = index if isinstance(index, tuple) else (index,)

    def value(self) -> Any:
        """What is there; 0 outside of a tensor."""
        index = [np.asarray(at) for at in self.index]
        inside = np.bool_(True)
        for at, size in zip(index, self.owner.data.shape, strict=True):
            inside = inside & (at >= 0) & (at < size)
        sizes = self.owner.data.shape
        safe = tuple(np.clip(at, 0, size - 1) for at, size in zip(index, sizes, strict=True))
        return np.where(inside, self.owner.data[safe], self.owner.data.dtype.type(0))


def plain(value: Any) -> Any:
    """A value of an expression; integers and floats of Python mix as float32 and int32 do."""
    return value.value() if isinstance(value, Cell) else value


def binary(name: str) -> Any:
    function = getattr(operator, name)

    def apply(self: Any, other: Any) -> Any:
        return function(plain(self), plain(other))

    def reflected(self: Any, other: Any) -> Any:
        return function(plain(other), plain(self))

    return apply, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    _apply, _reflected = binary(_name)
    setattr(Cell, f"__{_name}__", _apply)
    setattr(Cell, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Cell, f"__{_name}__", binary(_name)[0])


class Tile:
    """A tile or a tensor."""

    def __init__(self, data: Array, model: Model) -> None:
        self.data = data
        self.model = model

    def __getitem__(self, index: Any) -> Cell:
        return Cell(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """An assignment in a parallel loop."""
        index = index if isinstance(index, tuple) else (index,)
        value, mask = plain(value), self.model.mask
        shape = np.broadcast_shapes(*(np.shape(at) for at in index), np.shape(mask))
        places = tuple(np.broadcast_to(at, shape) for at in index)
        values = np.broadcast_to(value, shape)
        keep = np.broadcast_to(mask, shape)
        self.data[tuple(at[keep] for at in places)] = values[keep].astype(self.data.dtype)


def box(place: Any, shape: tuple[int, ...]) -> tuple[Array, tuple[slice, ...], tuple[slice, ...]]:
    """The array of a copy's side, its box clipped to the array, and that part of the box."""
    owner, index = (place.owner, place.index) if isinstance(place, Cell) else (place, ())
    sizes = owner.data.shape
    if not index:
        index = (0,) * len(sizes)
    free = list(shape)
    here, there = [], []
    # Dimensions with an extent of their own take it; the others take the last ones of the shape.
    unit = len(index) - len(shape)
    for number, (at, size) in enumerate(zip(index, sizes, strict=True)):
        if isinstance(at, slice):
            low = at.start or 0
            extent = (size if at.stop is None else at.stop) - low
            if free and (free[0] == extent or number >= unit):
                free.pop(0)
        else:
            low = int(at)
            extent = free.pop(0) if number >= unit and free else 1
        high = min(low + extent, size)
        here.append(slice(max(low, 0), max(high, max(low, 0))))
        there.append(slice(max(-low, 0), max(high - low, 0)))
    return owner.data, tuple(here), tuple(there)


def extent_of(place: Any) -> tuple[int, ...] | None:
    """The shape of a whole tile or of a slice; None for `tensor[i, j]`, which takes the other's."""
    if isinstance(place, Tile):
        return place.data.shape
    if any(isinstance(at, slice) for at in place.index):
        sizes = place.owner.data.shape
        found = []
        for at, size in zip(place.index, sizes, strict=True):
            if isinstance(at, slice):
                found.append((size if at.stop is None else at.stop) - (at.start or 0))
        return tuple(found)
    return None


class Model:
    """`T` for one run of a kernel. `exact` computes everything in float64."""

    Pipelined = staticmethod(lambda count, num_stages=0: range(max(0, int(count))))
    serial = staticmethod(lambda count: range(max(0, int(count))))
    ceildiv = staticmethod(lambda a, b: -(-a // b))
    int32 = None

    def __init__(self, exact: bool, sizes: dict[str, int]) -> None:
        self.exact, self.sizes = exact, sizes
        self.outputs: list[Tile] = []
        self.made = 0
        self.block: tuple[int, ...] = ()
        self.mask: Any = np.bool_(True)

    def type_of(self, name: str) -> Any:
        return np.float64 if self.exact and name.startswith("float") else np.dtype(name)

    # -- structure ------------------------------------------------------------------------------

    def dynamic(self, names: str) -> list[int]:
        return [self.sizes[name] for name in names.split(", ")]

    def Tensor(self, *_: Any) -> None:
        pass

    def empty(self, shape: tuple[int, ...], dtype: str) -> Tile:
        """The outputs, the same ones in every block."""
        self.made += 1
        if self.made > len(self.outputs):
            self.outputs.append(Tile(np.zeros(shape, self.type_of(dtype)), self))
        return self.outputs[self.made - 1]

    @contextlib.contextmanager
    def Kernel(self, *grid: int, threads: int = 0) -> Iterator[tuple[int, ...]]:
        assert len(grid) == len(self.block) and threads
        yield self.block

    def alloc_shared(self, shape: tuple[int, ...], dtype: str) -> Tile:
        return Tile(np.zeros(shape, self.type_of(dtype)), self)

    alloc_fragment = alloc_shared

    def alloc_var(self, dtype: str, init: int) -> int:
        return init

    def Parallel(self, *extents: int) -> list[Any]:
        """One turn, with the indices of all lanes."""
        grids = np.meshgrid(*map(np.arange, extents), indexing="ij")
        return [grids[0]] if len(grids) == 1 else [tuple(grids)]

    @contextlib.contextmanager
    def where(self, condition: Any) -> Iterator[None]:
        before, self.mask = self.mask, self.mask & plain(condition)
        yield
        self.mask = before

    # -- statements -----------------------------------------------------------------------------

    def copy(self, source: Any, target: Any) -> None:
        """Outside of a tensor nothing is written, and 0 read."""
        shape = extent_of(source) or extent_of(target) or (1,)
        data, here, there = box(source, shape)
        values = np.zeros(self._padded(shape, data.ndim), data.dtype)
        values[there] = data[here]
        into, here, there = box(target, shape)
        into[here] = values.reshape(self._padded(shape, into.ndim))[there].astype(into.dtype)

    @staticmethod
    def _padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """The shape with as many dimensions as an array has."""
        while len(shape) > rank and 1 in shape:
            at = shape.index(1)
            shape = shape[:at] + shape[at + 1 :]
        return (1,) * (rank - len(shape)) + tuple(shape)

    def fill(self, tile: Tile, value: float) -> None:
        tile.data[...] = value

    def clear(self, tile: Tile) -> None:
        tile.data[...] = 0

    def gemm(
        self, a: Tile, b: Tile, c: Tile, transpose_B: bool = False, clear_accum: bool = False
    ) -> None:
        wide = np.float64 if self.exact else np.float32
        right = b.data.T if transpose_B else b.data
        before = 0 if clear_accum else c.data
        c.data[...] = before + a.data.astype(wide) @ right.astype(wide)

    def _reduce(self, name: str, source: Tile, target: Tile, dim: int, clear: bool) -> None:
        values = np.abs(source.data) if name.startswith("abs") else source.data
        kind = name.removeprefix("abs")
        found = getattr(np, {"sum": "sum", "max": "max", "min": "min"}[kind])(values, axis=dim)
        join = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
        target.data[...] = found if clear else join(target.data, found)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("reduce_"):
            raise AttributeError(name)

        def reduce(source: Tile, target: Tile, dim: int, clear: bool = True) -> None:
            self._reduce(name.removeprefix("reduce_"), source, target, dim, clear)

        return reduce

    def cumsum(self, tile: Tile, dim: int) -> None:
        tile.data[...] = np.cumsum(tile.data, axis=dim)

    def atomic_add(self, place: Cell, tile: Tile) -> None:
        into, here, there = box(place, tile.data.shape)
        into[here] += tile.data[there].astype(into.dtype)

    # -- expressions ----------------------------------------------------------------------------

    def max(self, a: Any, b: Any) -> Any:
        return np.maximum(plain(a), plain(b))

    def min(self, a: Any, b: Any) -> Any:
        return np.minimum(plain(a), plain(b))

    def exp(self, x: Any) -> Any:
        return np.exp(plain(x))

    def exp2(self, x: Any) -> Any:
        return np.exp2(plain(x))

    def infinity(self, dtype: str) -> float:
        return float("inf")

    def abs(self, x: Any) -> Any:
        return np.abs(plain(x))

    def cast(self, x: Any, dtype: str) -> Any:
        return np.asarray(plain(x)).astype(self.type_of(dtype))

    def clamp(self, x: Any, low: float, high: float) -> Any:
        return np.clip(plain(x), low, high)

    def if_then_else(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(plain(condition), plain(x), plain(y))


class Masks(ast.NodeTransformer):
    """`if` in a parallel loop becomes `with T.where(...)`, and annotations of tensors go away."""

    def __init__(self) -> None:
        self.isParallel = False

    def visit_For(self, node: ast.For) -> Any:
        before = self.isParallel
        call = node.iter
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        self.isParallel = before or call.func.attr == "Parallel"
        self.generic_visit(node)
        self.isParallel = before
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if not self.isParallel:
            return node
        test = ast.parse("T.where(0)", mode="eval").body
        assert isinstance(test, ast.Call)
        test.args = [node.test]
        return ast.With(items=[ast.withitem(context_expr=test)], body=node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return ast.Pass()


def evaluate(
    source: str, sizes: dict[str, int], grid: tuple[int, ...], inputs: list[Any], exact: bool
) -> list[Array]:
    """The outputs and then the tensors among the inputs, in the kernel's types or in float64."""
    tree = ast.parse(source)
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.decorator_list = []
    module = ast.Module(body=[Masks().visit(function)], type_ignores=[])
    model = Model(exact, sizes)
    scope: dict[str, Any] = {"T": model}
    exec(compile(ast.fix_missing_locations(module), "<kernel>", "exec"), scope)
    given = [
        Tile(x.astype(model.type_of(x.dtype.name)), model) if isinstance(x, Array) else x
        for x in inputs
    ]
    with np.errstate(all="ignore"):
        for block in np.ndindex(*grid[::-1]):
            model.block, model.made = block[::-1], 0
            scope[function.name](*given)
    return [tile.data for tile in [*model.outputs, *(x for x in given if isinstance(x, Tile))]]


#: Where a kernel's types and float64 differ by more than this, relative to 1 and more, a result
#: hangs on rounding and says nothing. Else NumPy's and ours may differ by ten times as much.
NEAR = 2e-3


def is_near(found: Array, typed: Array) -> bool:
    """True when `difference` finds nothing, whatever float64 gives."""
    with np.errstate(all="ignore"):
        found, typed = found.astype(np.float64), typed.astype(np.float64)
        near = np.abs(found - typed) <= 9.9 * NEAR * (1 + np.abs(typed))
        return bool((near | ~np.isfinite(typed)).all())


def difference(found: Array, typed: Array, exact: Array) -> str:
    """How far a result is from the model's where that does not hang on rounding; empty if near."""
    with np.errstate(all="ignore"):
        found, typed = found.astype(np.float64), typed.astype(np.float64)
        near = NEAR * (1 + np.abs(exact))
        sure = np.isfinite(typed) & (np.abs(typed - exact) <= near)
        wrong = sure & ~(np.abs(found - typed) <= 10 * near)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} elements differ, first at {at}: {found[at]}, NumPy has {typed[at]}"
