# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches by cores: the author writes the program of a core, with its loop over blocks.

No stage decides anything in such a launch. What `tilewright run --emit expert` prints is one.
"""

from __future__ import annotations

from typing import Any

from .buffer import Buffer
from .builder import current
from .expert import author
from .expr import Expr, to_value
from .kernel import KernelFrame, SubcoreId
from .loops import ForFrame


class _Cores(KernelFrame):
    def __init__(self) -> None:
        super().__init__((1,), True, None)

    def __enter__(self) -> Any:
        builder = author("T.Cores")
        builder.core.begin_cores()
        builder.by_core = True
        self.push()
        return SubcoreId()

    def __exit__(self, kind: Any, *rest: object) -> None:
        current().by_core = False
        super().__exit__(kind, *rest)


def Cores() -> KernelFrame:
    """`with T.Cores() as half`: one launch in which every core of the chip runs the body once.

    The statements of the cube core stand in `T.Scope("Cube")`, those of the two vector cores in
    `T.Scope("Vector")`, where `half` is 0 or 1. `for block in T.blocks(n)` goes through the blocks
    of a core. Boxes lie inside their tensors, each statement is one instruction, and orders,
    places and slots are as written.
    """
    return _Cores()


def core_id() -> Expr:
    """The number of this core (int32), the same for a cube core and its two vector cores."""
    return Expr(author("T.core_id").core.core_id())


def core_count() -> Expr:
    """The number of cores of the launch (int32)."""
    return Expr(author("T.core_count").core.core_count())


def begin_block(block: Any) -> None:
    """Block number `block` starts: atomics are ordered by it, and reports name it."""
    author("T.begin_block").core.begin_block(to_value(block))


class _Blocks(ForFrame):
    def __enter__(self) -> Expr:
        block = super().__enter__()
        begin_block(block)
        return block


def blocks(count: Any) -> ForFrame:
    """`for block in T.blocks(count)`: blocks `core_id`, `core_id + core_count`, ... of a launch."""
    return _Blocks(core_id(), count, core_count())


def next_slot(tile: Buffer) -> None:
    """Goes on to the next of a tile's slots, which all later statements mean; the first is 0."""
    author("T.next_slot").core.next_slot(tile.core)
