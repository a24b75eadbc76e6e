# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers, their elements and regions, and the annotations that declare tensors."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, dtype
from ..keywords import hints
from .builder import current
from .expr import Expr, if_then_else, read, to_value, to_values
from .mistakes import NoOperators
from .symbols import Symbolic


def normalize_shape(shape: Any) -> tuple[Any, ...]:
    """A shape given as a tuple, list, or a single size."""
    if isinstance(shape, (tuple, list)):
        return tuple(_size(s) for s in shape)
    if hasattr(shape, "__iter__") and not isinstance(shape, (Expr, Symbolic, str)):
        return tuple(_size(s) for s in shape)
    return (_size(shape),)


def _size(size: Any) -> Any:
    if isinstance(size, float) and size.is_integer():
        return int(size)
    if isinstance(size, Expr) and size.constant is not None:
        return int(size)
    return size


class Buffer(NoOperators):
    """A tensor parameter or an on-chip tile."""

    __slots__ = ("core", "scope_name", "shape")

    def __init__(self, core: Any, shape: tuple[Any, ...], scope_name: str = "global") -> None:
        self.core = core
        self.shape = shape
        self.scope_name = scope_name

    @property
    def name(self) -> str:
        return current().core.name_of(self.core)

    @property
    def dtype(self) -> DType:
        return DType(self.core.dtype)

    @property
    def scope(self) -> str:
        """TileLang's spelling of where the buffer lives: "global", "shared.dyn", ..."""
        return self.scope_name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data(self) -> Buffer:
        """The memory, for `T.Tensor(shape, dtype, buffer.data)`."""
        return self

    def rename(self, name: str) -> None:
        """Names a tile after the variable it was assigned to."""
        current().core.rename(self.core, name)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Any:
        raise TypeError(
            "error[E0114]: a buffer cannot be iterated in Python; loop over its indices with "
            "T.serial or T.Parallel"
        )

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Element | Region:
        if isinstance(index, tuple) and any(p is None for p in index):
            return Region(self, [p for p in index if p is not None], _positions(index))
        parts = self._expand(index)
        if any(isinstance(p, Ramp) for p in parts):
            return [read(self[place]) for place in self._lanes(parts)]  # type: ignore[return-value]
        if len(parts) < len(self.shape) or any(isinstance(p, slice) for p in parts):
            return Region(self, parts)
        return Element(self, parts)

    def __setitem__(self, index: Any, value: Any) -> None:
        """`A[i, j] = v`: stores with conversion. Writing to a slice fills or copies it."""
        parts = self._expand(index)
        if any(isinstance(p, Ramp) for p in parts):
            places = self._lanes(parts)
            values = value if isinstance(value, list) else [value] * len(places)
            if len(values) != len(places):
                raise ValueError(
                    f"error[E0305]: a store of {len(values)} elements to {len(places)} lanes of a "
                    "T.Ramp"
                )
            for place, one in zip(places, values, strict=True):
                self[place] = one
            return
        target = self[index]
        if isinstance(target, Element):
            target.store(value)
        else:
            self._assign(target, value)

    def _lanes(self, parts: list[Any]) -> list[tuple[Any, ...]]:
        """The index lists of a list with T.Ramp, one for each lane."""
        lanes = next(p.lanes for p in parts if isinstance(p, Ramp))
        return [
            tuple(
                p.at(lane, extent) if isinstance(p, Ramp) else p
                for p, extent in zip(parts, self.shape, strict=True)
            )
            for lane in range(lanes)
        ]

    def _assign(self, target: Region, value: Any) -> None:
        from . import tile_ops

        if isinstance(value, (Buffer, Region)):
            tile_ops.copy(value, target)
        else:
            tile_ops.fill(target, value)

    def _expand(self, index: Any) -> list[Any]:
        """Index parts with `...` replaced by full slices."""
        parts = list(index) if isinstance(index, (tuple, list)) else [index]
        if any(p is Ellipsis for p in parts):
            at = next(i for i, p in enumerate(parts) if p is Ellipsis)
            missing = len(self.shape) - (len(parts) - 1)
            parts[at : at + 1] = [slice(None)] * missing
        if len(parts) > len(self.shape):
            raise IndexError(
                f"error[E0305]: buffer {self.name} has {len(self.shape)} dimensions, found "
                f"{len(parts)} indices"
            )
        return parts

    def operand(self) -> Any:
        """This buffer as an operand of a tile operation."""
        from .. import _core

        return _core.Operand(self.core)

    def whole(self) -> Any:
        return self.operand()

    def __repr__(self) -> str:
        return f"<{self.scope_name} buffer {self.dtype}{list(self.shape)}>"


class Element(Expr):
    """`A[i, j]`: one element, or the corner where a box starts. Read at each use as a value."""

    __slots__ = ("buffer", "indices")

    def __init__(self, buffer: Buffer, indices: list[Any]) -> None:
        self.buffer = buffer
        self.indices = current().core.element_indices(buffer.core, to_values(indices))

    def core_value(self) -> Any:
        return current().core.load(self.buffer.core, self.indices)

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def constant(self) -> None:
        return None

    def store(self, value: Any) -> None:
        """Writes the element, converting to the buffer's type."""
        current().core.store(to_value(value), self.buffer.core, self.indices)

    def shifted(self, lane: int) -> Element:
        """The element `lane` places further along the last dimension."""
        indices = [Expr(i) for i in self.indices]
        indices[-1] = indices[-1] + lane
        return Element(self.buffer, indices)

    def operand(self) -> Any:
        from .. import _core

        return _core.Operand.corner(self.buffer.core, self.indices)

    def __repr__(self) -> str:
        return f"<element of {self.buffer!r}>"


class Region(NoOperators):
    """`A[a:b, c]`: a box of a buffer."""

    __slots__ = ("buffer", "core")

    def __init__(
        self, buffer: Buffer, parts: list[Any], positions: list[int] | None = None
    ) -> None:
        self.buffer = buffer
        if positions is not None and len(parts) != len(buffer.shape):
            raise IndexError(
                f"error[E0305]: buffer {buffer.name} has {len(buffer.shape)} dimensions, found "
                f"{len(parts)} indices beside None"
            )
        parts = [*parts, *[slice(None)] * (len(buffer.shape) - len(parts))]
        starts: list[Any] = []
        stops: list[Any] = []
        for part in parts:
            if isinstance(part, slice):
                if part.step is not None and part.step != 1:
                    raise ValueError(
                        f"error[E0307]: buffer {buffer.name} is sliced with step {part.step}; only "
                        "step 1 is allowed: use T.Parallel with a computed index"
                    )
                starts.append(to_value(0 if part.start is None else part.start))
                stops.append(None if part.stop is None else to_value(part.stop))
            else:
                starts.append(to_value(part))
                stops.append(None)
        scalar = [not isinstance(p, slice) for p in parts]
        self.core = current().core.region(buffer.core, starts, stops, scalar, positions or [])

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def scope(self) -> str:
        return self.buffer.scope

    @property
    def shape(self) -> tuple[Any, ...]:
        """Extents, 1 for dimensions with a scalar index."""
        return tuple(s.constant if s.is_constant else Expr(s) for s in self.core.sizes)

    def operand(self) -> Any:
        if self.core.positions:
            raise TypeError(
                f"error[E0309]: a slice of {self.buffer.name} with None is an operand of T.vadd "
                "and its relatives"
            )
        return self.core

    def __getitem__(self, index: Any) -> Any:
        """Elements and slices of a region, relative to its start.

        One index per sliced dimension, or one per dimension of the buffer.
        """
        parts = list(index) if isinstance(index, (tuple, list)) else [index]
        kept = [i for i, scalar in enumerate(self.core.scalars) if not scalar]
        if len(parts) == len(self.buffer.shape):
            kept = list(range(len(parts)))
        if len(parts) != len(kept):
            raise IndexError(
                f"error[E0305]: a slice of {self.buffer.name} with {len(kept)} dimensions is "
                f"indexed by {len(parts)} indices"
            )
        starts, sizes = [Expr(s) for s in self.core.starts], [Expr(s) for s in self.core.sizes]
        full: list[Any] = list(starts)
        for dim, part in zip(kept, parts, strict=True):
            if isinstance(part, slice):
                first = 0 if part.start is None else part.start
                last = sizes[dim] if part.stop is None else part.stop
                full[dim] = slice(starts[dim] + first, starts[dim] + last, part.step)
            else:
                full[dim] = starts[dim] + part
        if any(isinstance(part, slice) for part in full):
            return Region(self.buffer, full)
        return Element(self.buffer, full)

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index]
        if isinstance(target, Element):
            target.store(value)
        else:
            self.buffer._assign(target, value)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<region of {self.buffer!r}>"


def _positions(index: tuple[Any, ...]) -> list[int]:
    """Where in an index list with None each dimension of the buffer stands; -1 for one index."""
    found, at = [], 0
    for part in index:
        if part is not None:
            found.append(at if isinstance(part, slice) else -1)
        if part is None or isinstance(part, slice):
            at += 1
    return found


def operand(value: Any, what: str = "operand") -> Any:
    """The `_core.Operand` behind a buffer, element or region."""
    found = getattr(value, "operand", None)
    if found is None:
        raise TypeError(
            f"error[E0309]: {what} is {value!r}; allowed are a buffer, a corner A[i, j] and a "
            "region A[a:b, c:d]"
        )
    return found()


def is_box(value: Any) -> bool:
    return isinstance(value, (Buffer, Element, Region))


class TensorType:
    """The annotation of a tensor parameter."""

    __slots__ = ("dtype", "scope", "shape", "strides")

    def __init__(
        self, shape: Any, element: Any = "float32", scope: str = "global", strides: Any = None
    ) -> None:
        self.shape = normalize_shape(shape)
        self.dtype = dtype(element)
        self.scope = scope
        self.strides = strides

    def __repr__(self) -> str:
        return f"T.Tensor({self.shape}, {self.dtype!r})"


def _names_type(value: Any) -> bool:
    try:
        dtype(value)
    except TypeError:
        return False
    return not isinstance(value, (int, float))


class _TensorFactory:
    """`T.Tensor(shape, dtype)` and `T.Tensor[shape, dtype]`."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    @hints(
        *("elem_offset", "scope", "align", "offset_factor", "buffer_type", "axis_separators"),
        shown="T.Tensor",
    )
    def __call__(
        self, shape: Any, dtype: Any = "float32", data: Any = None, strides: Any = None
    ) -> Any:
        if isinstance(data, Buffer):
            from .views import view

            return view(data, shape, dtype)
        return TensorType(shape, dtype, self._scope, strides)

    def __getitem__(self, item: Any) -> TensorType:
        if isinstance(item, tuple) and len(item) == 2 and _names_type(item[1]):
            return TensorType(item[0], item[1], self._scope)
        return TensorType(item, "float32", self._scope)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Buffer)


class Pointer:
    """`A: T.ptr` in the signature of an eager kernel; the body gives it a shape (T.make_tensor)."""

    def __call__(self, *_: Any, **__: Any) -> Pointer:
        return self

    def __repr__(self) -> str:
        return "T.ptr"


ptr = Pointer()


def make_tensor(pointer: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Any:
    """The tensor of a shape behind a parameter `A: T.ptr`."""
    declare = getattr(type(pointer), "declare", None)
    if declare is None:
        raise TypeError(
            "error[E0312]: T.make_tensor takes a parameter annotated with T.ptr, found "
            f"{pointer!r}; addresses computed or read in a kernel cannot be followed"
        )
    return declare(pointer, TensorType(shape, dtype, strides=strides))


class Ramp:
    """`A[T.Ramp(base, stride, lanes)]`: elements base, base + stride, ... read or written at once.

    An index below 0 counts from the end.
    """

    def __init__(self, base: Any, stride: Any, lanes: int) -> None:
        self.base, self.stride, self.lanes = base, stride, int(lanes)

    def at(self, lane: int, extent: Any) -> Any:
        """The index of one lane."""
        index = self.base + lane * self.stride
        if isinstance(index, int):
            return index
        return if_then_else(index < 0, index + extent, index)


class _StridedFactory(_TensorFactory):
    """`T.StridedTensor(shape, strides, dtype)`: the caller's tensor may have any strides.

    Kernels see its elements in row-major order: a tensor with other strides is packed for the call
    and what the kernel wrote is unpacked after it.
    """

    @hints(
        *("elem_offset", "scope", "align", "offset_factor", "buffer_type", "axis_separators"),
        shown="T.StridedTensor",
    )
    def __call__(self, shape: Any, strides: Any, dtype: Any = "float32") -> TensorType:
        sizes, steps = normalize_shape(shape), normalize_shape(strides)
        if len(sizes) != len(steps):
            raise ValueError(
                f"error[E0313]: T.StridedTensor: {len(sizes)} sizes and {len(steps)} strides; give "
                "one of each for every dimension"
            )
        return TensorType(sizes, dtype, self._scope, steps)

    def __getitem__(self, item: Any) -> TensorType:
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise TypeError(
                "error[E0313]: T.StridedTensor[...] takes a shape, strides and an element type"
            )
        return self(*item)


Tensor = _TensorFactory("global")
StridedTensor = _StridedFactory("global")
FragmentBuffer = _TensorFactory("local.fragment")
SharedBuffer = _TensorFactory("shared.dyn")
LocalBuffer = _TensorFactory("local")
