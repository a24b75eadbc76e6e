# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T.Kernel: one launch over a grid of blocks."""

from __future__ import annotations

import threading
from typing import Any

from .builder import current
from .expr import Expr, to_values

_local = threading.local()


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

    def __enter__(self) -> Any:
        values = current().core.begin_launch(to_values(self.blocks))
        self.ids = [Expr(v) for v in values]
        stack = getattr(_local, "stack", None)
        if stack is None:
            stack = _local.stack = []
        stack.append(self)
        if self.npu:
            return (*self.ids, SubcoreId())
        return BlockId(values[0]) if len(values) == 1 else tuple(self.ids)

    def __exit__(self, kind: Any, *_: object) -> None:
        _local.stack.pop()
        if kind is None:
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
    """One launch over 1 to 3 block extents, the first fastest.

    GPU form: `with T.Kernel(gx, gy, threads=128) as (bx, by)`; `threads` is a hint. NPU form:
    `with T.Kernel(n, is_npu=True) as (cid, _)`.
    """
    if not 1 <= len(blocks) <= 3:
        raise TypeError(f"T.Kernel takes 1 to 3 block extents, found {len(blocks)}")
    return KernelFrame(blocks, is_npu, threads)


def _frame(name: str) -> KernelFrame:
    stack = getattr(_local, "stack", None)
    if not stack:
        raise RuntimeError(f"{name} works only inside `with T.Kernel(...)`")
    return stack[-1]


def get_block_binding(dim: int = 0) -> Expr:
    """Block id in one dimension of the launch."""
    frame = _frame("T.get_block_binding")
    if not 0 <= dim < len(frame.ids):
        raise IndexError(f"the launch has {len(frame.ids)} dimensions, found dimension {dim}")
    return frame.ids[dim]


def get_block_bindings() -> list[Expr]:
    """All block ids of the launch."""
    return list(_frame("T.get_block_bindings").ids)


def get_block_extent(dim: int = 0) -> Any:
    """Grid extent in one dimension of the launch."""
    frame = _frame("T.get_block_extent")
    if not 0 <= dim < len(frame.blocks):
        raise IndexError(f"the launch has {len(frame.blocks)} dimensions, found dimension {dim}")
    return frame.blocks[dim]


def get_block_extents() -> list[Any]:
    """All grid extents of the launch."""
    return list(_frame("T.get_block_extents").blocks)


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
