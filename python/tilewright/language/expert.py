# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an Expert author decides: kinds of core, order of pipes, order of cores.

A launch without these names is divided and ordered by the compiler. One that uses them keeps what
its author wrote; what cannot be honoured is refused where it stands.
"""

from __future__ import annotations

import threading
from typing import Any

from .. import env
from .builder import Builder, current
from .expr import to_value

_local = threading.local()


def author(name: str) -> Builder:
    """The kernel being built, in which its author now decides what the compiler decides else."""
    if env.mode() == "developer":
        raise ValueError(
            f"error[E0606]: {name}: TILEWRIGHT_MODE=developer leaves cores and order to the "
            "compiler; leave the variable out, or this name"
        )
    builder = current()
    builder.expert_names.add(name)
    return builder


class _Scope:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        author("T.Scope").core.begin_scope(self.name)

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            current().core.end_scope()


def Scope(name: str) -> _Scope:
    """`with T.Scope("Cube")` or `"Vector"`: the statements inside run on that kind of core."""
    return _Scope(str(name))


class _Pipe:
    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def __enter__(self) -> None:
        _pipes().append(self.pipe)

    def __exit__(self, *_: object) -> None:
        _pipes().pop()


def _pipes() -> list[str]:
    stack = getattr(_local, "pipes", None)
    if stack is None:
        stack = _local.pipes = []
    return stack


def rs(pipe: str) -> _Pipe:
    """`with T.rs("PIPE_V")`: the pipe on whose side the flags and signals inside stand."""
    return _Pipe(str(pipe))


def _pipe(what: str) -> str:
    stack = _pipes()
    if not stack:
        raise ValueError(
            f'error[E0605]: {what} stands outside `with T.rs("PIPE_...")`, which names the pipe '
            'that it belongs to; write `with T.rs("PIPE_MTE2"):` around it'
        )
    return stack[-1]


def _flag(what: str, other: Any, id: Any, rest: tuple[Any, ...], wait: bool, rotate: Any) -> None:
    if rest:
        raise TypeError(
            f"error[E0605]: T.{what}(pipe, pipe, id) is the form of another dialect; write "
            f'`with T.rs("PIPE_..."): T.{what}("PIPE_...", id)`'
        )
    own = _pipe(f"T.{what}")
    source, target = (str(other), own) if wait else (own, str(other))
    tile = None if rotate is None else rotate.core
    author(f"T.{what}").core.set_flag(source, target, to_value(id), wait, tile)


def set_flag(other: str, event_id: Any = 0, *rest: Any, rotate: Any = None) -> None:
    """Inside `T.rs(P)`: when all of P so far is done, event `event_id` from P to `other` is set.

    Events are numbered per pair of pipes, 0 to 7; the number may be known only at run time. With
    `rotate`, a tile of T.Cores, its current slot is added.
    """
    _flag("set_flag", other, event_id, rest, False, rotate)


def wait_flag(other: str, event_id: Any = 0, *rest: Any, rotate: Any = None) -> None:
    """Inside `T.rs(P)`: P goes on once event `event_id` from `other` is set, and clears it."""
    _flag("wait_flag", other, event_id, rest, True, rotate)


def pipe_barrier(pipe: str) -> None:
    """Later work of the pipe starts when all its earlier work is done; "PIPE_ALL": of the core."""
    author("T.pipe_barrier").core.barrier(str(pipe))


def _signal(what: str, id: Any, wait: bool) -> None:
    author(f"T.{what}").core.block_sync(_pipe(f"T.{what}"), to_value(id), wait)


def sync_block_set(id: Any) -> None:
    """Inside `T.rs(P)`: when all of P so far is done, signal `id` goes to the other kind of core.

    Signals count: up to 15 may be on their way. The cube core signals both vector cores.
    """
    _signal("sync_block_set", id, False)


def sync_block_wait(id: Any) -> None:
    """Inside `T.rs(P)`: P goes on once signal `id` has come; the cube core waits for both."""
    _signal("sync_block_wait", id, True)


def _meet(what: str, id: Any, all_blocks: bool) -> None:
    author(f"T.{what}").core.core_barrier(_pipe(f"T.{what}"), to_value(id), all_blocks)


def block_barrier(id: Any) -> None:
    """Inside `T.rs(P)`: P goes on once all earlier work on P is done, in all blocks.

    The cores of one kind meet. A launch with it has at most as many blocks as the chip has cores,
    and each block comes to it equally often.
    """
    _meet("block_barrier", id, True)


def subblock_barrier(id: Any) -> None:
    """Inside `T.rs(P)`: P goes on once all earlier work on P is done, on both vector cores."""
    _meet("subblock_barrier", id, False)
