# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T.Kernel: one launch over a grid of blocks."""

from __future__ import annotations

import threading
from typing import Any

from .builder import current
from .expr import Expr, to_values

_local = threading.local()
#: Threads of a block that its author leaves open.
THREADS = 128


class BlockId(Expr):
    """The block index of a one-dimensional GPU-style launch; unpacks as `(bx,)` too."""

    __slots__ = ()

    def __iter__(self) -> Any:
        yield Expr(self._core_value)


class SubcoreId(Expr):
    """The number of the vector core, 0 or 1. A kernel that uses it divides its rows by hand."""

    __slots__ = ()

    def __init__(self) -> None:
        self._core_value = None

    def core_value(self) -> Any:
        from .expert import author

        return author("the vector core's number").core.sub_core_id()

    def __repr__(self) -> str:
        return "<vector sub-core>"


class KernelFrame:
    """The launch as a context manager; entering gives the block ids."""

    def __init__(self, blocks: tuple[Any, ...], npu: bool, threads: Any) -> None:
        self.blocks = blocks
        self.npu = npu
        self.threads = threads
        self.ids: list[Expr] = []
        self.lanes: list[Expr] = []  #: the threads, once the kernel has asked for one

    def thread_ids(self) -> list[Expr]:
        """Numbers of the thread in each dimension; from here on the body is code for one thread."""
        if not self.lanes:
            counts = self.threads if isinstance(self.threads, (list, tuple)) else [self.threads]
            extents = [THREADS if count is None else count for count in counts]
            self.lanes = [Expr(v) for v in current().core.begin_threads(to_values(extents))]
        return self.lanes

    def __enter__(self) -> Any:
        values = current().core.begin_launch(to_values(self.blocks))
        self.ids = [Expr(v) for v in values]
        self.push()
        if self.npu:
            return (*self.ids, SubcoreId())
        return BlockId(values[0]) if len(values) == 1 else tuple(self.ids)

    def push(self) -> None:
        """Makes this the launch that is being built."""
        stack = getattr(_local, "stack", None)
        if stack is None:
            stack = _local.stack = []
        stack.append(self)

    def __exit__(self, kind: Any, *_: object) -> None:
        _local.stack.pop()
        if kind is None:
            if self.lanes:
                current().core.end_parallel()
            current().core.end_launch()


def Kernel(
    *blocks: Any,
    threads: Any = None,
    is_cpu: bool = False,
    prelude: Any = None,
    is_npu: bool = False,
    pipeline: bool = False,
    cluster_dims: Any = None,
) -> KernelFrame:
    """One launch over 1 to 3 block extents, the first fastest; without any, of one block.

    GPU form: `with T.Kernel(gx, gy, threads=128) as (bx, by)`; `threads` is a hint. NPU form:
    `with T.Kernel(n, is_npu=True) as (cid, _)`.
    """
    if len(blocks) > 3:
        raise TypeError(
            f"error[E0503]: T.Kernel takes at most 3 block extents, found {len(blocks)}"
        )
    return KernelFrame(blocks or (1,), is_npu, threads)


def _frame(name: str) -> KernelFrame:
    stack = getattr(_local, "stack", None)
    if not stack:
        raise RuntimeError(f"error[E0501]: {name} works only inside `with T.Kernel(...)`")
    return stack[-1]


def get_block_binding(dim: int = 0) -> Expr:
    """Block id in one dimension of the launch."""
    frame = _frame("T.get_block_binding")
    if not 0 <= dim < len(frame.ids):
        raise IndexError(
            f"error[E0504]: the launch has {len(frame.ids)} dimensions, found dimension {dim}"
        )
    return frame.ids[dim]


def get_block_bindings() -> list[Expr]:
    """All block ids of the launch."""
    return list(_frame("T.get_block_bindings").ids)


def get_block_extent(dim: int = 0) -> Any:
    """Grid extent in one dimension of the launch."""
    frame = _frame("T.get_block_extent")
    if not 0 <= dim < len(frame.blocks):
        raise IndexError(
            f"error[E0504]: the launch has {len(frame.blocks)} dimensions, found dimension {dim}"
        )
    return frame.blocks[dim]


def get_block_extents() -> list[Any]:
    """All grid extents of the launch."""
    return list(_frame("T.get_block_extents").blocks)


def get_thread_binding(dim: int = 0) -> Expr:
    """The number of the thread. What follows in the kernel is code for one thread.

    The threads run statement by statement together, so that what one has written in a statement
    all can read in the next; T.sync_threads has nothing to add.
    """
    ids = _frame("T.get_thread_binding").thread_ids()
    if not 0 <= dim < len(ids):
        raise IndexError(
            f"error[E0504]: the launch has threads in {len(ids)} dimensions, found dimension {dim}"
        )
    return ids[dim]


def get_thread_bindings() -> list[Expr]:
    """Numbers of the thread in all dimensions."""
    return list(_frame("T.get_thread_bindings").thread_ids())


def get_thread_extent(dim: int = 0) -> Any:
    """Number of threads of a block in one dimension."""
    counts = _frame("T.get_thread_extent").threads
    counts = counts if isinstance(counts, (list, tuple)) else [counts]
    return THREADS if counts[dim] is None else counts[dim]


def thread_binding(
    start: Any, stop: Any = None, thread: str = "threadIdx.x", annotations: Any = None
) -> Expr:
    """`tx = T.thread_binding(0, n, thread="threadIdx.x")`: the number of the thread."""
    kind, _dot, letter = str(thread).partition(".")
    if letter not in ("x", "y", "z") or kind not in ("threadIdx", "blockIdx"):
        raise ValueError(f"error[E0510]: T.thread_binding: {thread!r} is not threadIdx.x, .y or .z")
    dim = "xyz".index(letter)
    if kind == "blockIdx":
        return get_block_binding(dim)
    return get_thread_binding(dim)


class _If:
    def __init__(self, cond: Any) -> None:
        self.cond = cond

    def __enter__(self) -> None:
        current().begin_if(self.cond)

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            current().end_if()


class _Then:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self) -> _Then:
        return self


class _Else(_Then):
    def __enter__(self) -> None:
        current().begin_else()

    def __call__(self) -> _Else:
        return self


class _While:
    def __init__(self, cond: Any) -> None:
        self.cond = cond

    def __enter__(self) -> None:
        builder = current()
        builder.begin_while()
        builder.while_condition(self.cond() if callable(self.cond) else self.cond)

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            current().end_while()


def If(cond: Any) -> _If:
    """`with T.If(cond), T.Then: ...`, or `with T.If(cond): with T.Then: ... ; with T.Else: ...`."""
    return _If(cond)


#: Used without or with parentheses.
Then = _Then()
Else = _Else()


def While(cond: Any) -> _While:
    """`with T.While(cond)`: rewritten code passes the condition as a function."""
    return _While(cond)
