# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops: frames whose `__enter__` gives the loop variable or variables."""

from __future__ import annotations

from typing import Any

from .builder import current
from .expr import Expr, as_expr, binary, to_value, to_values


class LoopFrame:
    """A loop as a context manager."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Ends the loop after its body was built."""
        current().core.end_for()

    def __iter__(self) -> Any:
        raise TypeError(
            "error[E0102]: this loop can only be used as `for i in ...` inside a kernel whose "
            "source is rewritten (@T.prim_func, @T.macro or @tilelang.jit)"
        )


class ForFrame(LoopFrame):
    """`for i in range(start, stop, step)` at run time."""

    def __init__(self, start: Any, stop: Any = None, step: Any = None, stages: int = 0) -> None:
        if stop is None:
            start, stop = 0, start
        self.start, self.stop, self.step, self.stages = (
            start,
            stop,
            1 if step is None else step,
            stages,
        )

    def __enter__(self) -> Expr:
        return Expr(
            current().core.begin_for(
                to_value(self.start), to_value(self.stop), to_value(self.step), self.stages
            )
        )


class GridFrame(LoopFrame):
    """Nested serial loops."""

    def __init__(self, extents: tuple[Any, ...]) -> None:
        if not extents:
            raise ValueError("error[E0506]: T.grid needs at least one extent")
        self.extents = extents

    def __enter__(self) -> Any:
        found = [ForFrame(extent).__enter__() for extent in self.extents]
        return found[0] if len(found) == 1 else tuple(found)

    def close(self) -> None:
        for _ in self.extents:
            current().core.end_for()


class ParallelFrame(LoopFrame):
    """An element-wise program over an index box."""

    def __init__(self, extents: tuple[Any, ...]) -> None:
        if not extents:
            raise ValueError(
                "error[E0506]: T.Parallel needs at least one extent, for example T.Parallel(128, "
                "64)"
            )
        self.extents = extents

    def __enter__(self) -> Any:
        found = [Expr(v) for v in current().core.begin_parallel(to_values(self.extents))]
        return found[0] if len(found) == 1 else tuple(found)

    def close(self) -> None:
        current().core.end_parallel()


class PersistentFrame(LoopFrame):
    """This block's share of a domain of tiles: tile `index`, `index + wave_size`, ..."""

    def __init__(self, domain: Any, wave_size: Any, index: Any, stages: int = 0) -> None:
        self.domain = list(domain)
        self.wave_size, self.index, self.stages = wave_size, index, stages

    def __enter__(self) -> Any:
        total: Any = 1
        for extent in self.domain:
            total = extent * total
        tile: Any = ForFrame(self.index, total, self.wave_size, self.stages).__enter__()
        found: list[Any] = []
        for extent in reversed(self.domain[1:]):
            found.append(tile % extent)
            tile = tile // extent
        found.append(tile)
        found = [as_expr(v) for v in reversed(found)]
        return found[0] if len(found) == 1 else tuple(found)


def serial(start: Any, stop: Any = None, step: Any = None, *, annotations: Any = None) -> LoopFrame:
    """A sequential loop with the meaning of `range`; bounds may be run-time values."""
    return ForFrame(start, stop, step)


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: Any = None,
) -> LoopFrame:
    """A sequential loop; unrolling is left to the compiler."""
    return ForFrame(start, stop, step)


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> LoopFrame:
    """A sequential loop; vectorising is left to the compiler."""
    return ForFrame(start, stop)


def _stages(count: Any) -> int:
    """`num_stages` as a number; the builder checks its range."""
    if not hasattr(count, "__index__") or isinstance(count, Expr):
        raise TypeError(
            f"error[E0124]: num_stages is {count!r}; it is a whole number known while the kernel "
            "is built: how many turns ahead loads may run"
        )
    return int(count)


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: Any = None,
    stage: Any = None,
    sync: Any = None,
    group: Any = None,
    annotations: Any = None,
) -> LoopFrame:
    """A sequential loop whose loads may run `num_stages` iterations ahead."""
    return ForFrame(start, stop, None, _stages(num_stages))


def Parallel(
    *extents: Any,
    coalesced_width: Any = None,
    loop_layout: Any = None,
    prefer_async: Any = None,
    annotations: Any = None,
) -> LoopFrame:
    """An element-wise region: each statement runs for all points of the box before the next one."""
    return ParallelFrame(extents)


def grid(*extents: Any) -> LoopFrame:
    """Nested sequential loops."""
    return GridFrame(extents)


def Persistent(
    domain: Any, wave_size: Any, index: Any, group_size: int = 8, num_stages: int = 0
) -> LoopFrame:
    """The tiles of `domain` that this block works on; `group_size` orders tiles for the cache."""
    return PersistentFrame(domain, wave_size, index, _stages(num_stages))


def parallel(start: Any, stop: Any = None, *, annotations: Any = None) -> LoopFrame:
    """A loop whose iterations are independent, run in order."""
    return ForFrame(start, stop)


Serial = serial
Unroll = unroll
Vectorized = vectorized


def as_loop(iterable: Any) -> LoopFrame | None:
    """The loop frame behind what stands after `in`; None when it is an ordinary Python iterable.

    `range` of Python numbers is a run-time loop too. `range` with run-time bounds cannot be made in
    Python: rewritten code calls `make_range` in its place.
    """
    if isinstance(iterable, LoopFrame):
        return iterable
    if isinstance(iterable, range):
        return ForFrame(iterable.start, iterable.stop, iterable.step)
    return None


def make_range(*arguments: Any) -> LoopFrame:
    """`range` whose arguments may be run-time values."""
    if not 1 <= len(arguments) <= 3:
        raise TypeError(f"error[E0505]: range takes 1 to 3 arguments, found {len(arguments)}")
    return ForFrame(*arguments)


def ceildiv(left: Any, right: Any) -> Any:
    """Quotient rounded up; a Python number for Python numbers."""
    from . import symbols

    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right)
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        one, two = symbols.size_tokens(left), symbols.size_tokens(right)
        if one is not None and two is not None:
            if isinstance(left, symbols.Symbolic) or isinstance(right, symbols.Symbolic):
                return symbols.binary("ceildiv", left, right)
            return -(-int(left) // int(right))
    found = binary("ceildiv", left, right)
    if found is NotImplemented:
        raise TypeError(f"error[E0203]: T.ceildiv of {left!r} and {right!r}; both must be integers")
    return found
