# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an Expert author cannot have is refused at the line that asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T


def flag(pipe: str, other: str, *rest: object) -> Callable[[], None]:
    def statement() -> None:
        with T.rs(pipe):
            T.set_flag(other, *rest)

    return statement


def scoped(scope: str, statement: Callable[[], None]) -> Callable[[], None]:
    def inside() -> None:
        with T.Scope(scope):
            statement()

    return inside


def signal(pipe: str, event: object) -> Callable[[], None]:
    def statement() -> None:
        with T.rs(pipe):
            T.sync_block_set(event)

    return statement


def fixpipe(**options: object) -> Callable[[], None]:
    def statement() -> None:
        tile = T.alloc_ub((16, 16), "float32")
        T.store_fixpipe(tile, tile, **options)

    return statement


def fractals(dtype: str, **options: object) -> Callable[[], None]:
    def statement() -> None:
        c = T.alloc_L0C((16, 16), "float32")
        T.store_fixpipe(c, T.alloc_global((16, 16), dtype), **options)

    return statement


def barrier(pipe: str, event: object = 0, name: str = "block_barrier") -> Callable[[], None]:
    def statement() -> None:
        with T.rs(pipe):
            getattr(T, name)(event)

    return statement


REFUSED = {
    "no rs": (lambda: T.set_flag("PIPE_V", 0), r'stands outside `with T.rs\("PIPE_...'),
    "pipe": (flag("PIPE_X", "PIPE_V"), "unknown pipe 'PIPE_X'; allowed are PIPE_S"),
    "virtual": (flag("PIPE_MTE4", "PIPE_V"), "simulated chips have no pipe 'PIPE_MTE4'"),
    "same": (flag("PIPE_V", "PIPE_V"), "two different pipes, found PIPE_V and PIPE_V"),
    "all": (flag("PIPE_ALL", "PIPE_V"), "two different pipes, found PIPE_ALL and PIPE_V"),
    "cores": (flag("PIPE_V", "PIPE_M"), "PIPE_M is a pipe of the cube core"),
    "both": (flag("PIPE_MTE2", "PIPE_S"), "both kinds of core have PIPE_MTE2 and PIPE_S"),
    "event": (flag("PIPE_V", "PIPE_MTE3", -1), "event -1; events are numbered from 0"),
    "form": (flag("PIPE_V", "PIPE_MTE3", 0, 1), "the form of another dialect"),
    "scope": (scoped("Tensor", lambda: None), 'T.Scope."Tensor".: allowed are "Cube" and "Vector"'),
    "nested": (
        scoped("Cube", scoped("Vector", lambda: None)),
        "a statement runs on one kind of core; close the other scope first",
    ),
    "wrong scope": (
        scoped("Cube", flag("PIPE_MTE2", "PIPE_V")),
        r'PIPE_V is a pipe of the vector core, but this is T.Scope\("Cube"\)',
    ),
    "signal": (signal("PIPE_MTE2", 0), "both kinds of core have PIPE_MTE2; put it inside T.Scope"),
    "signal of all": (signal("PIPE_ALL", 0), "belongs to one pipe, found PIPE_ALL"),
    "barrier of both": (barrier("PIPE_MTE2"), "both kinds of core have PIPE_MTE2; put it inside"),
    "barrier of all": (barrier("PIPE_ALL"), "belongs to one pipe, found PIPE_ALL"),
    "barrier of the cube": (
        barrier("PIPE_FIX", name="subblock_barrier"),
        "the two vector cores of a block meet, and PIPE_FIX is a pipe of the cube core",
    ),
    "barrier in the cube's scope": (
        scoped("Cube", barrier("PIPE_MTE2", name="subblock_barrier")),
        r'vector cores of a block meet, and this is T.Scope\("Cube"\)',
    ),
    "barrier number": (
        lambda: barrier("PIPE_MTE3", T.alloc_var("int32"))(),
        "the number of T.block_barrier is known only at run time",
    ),
    "split rows": (
        fixpipe(enable_nz2nd=True, channel_split=True),
        "divides the columns of the accumulator's own order, and enable_nz2nd=True writes rows",
    ),
    "endless scale": (fixpipe(scale=float("inf")), "scale is a finite number, found inf"),
    "scale of floats": (
        fixpipe(enable_nz2nd=True, scale=2.0),
        "a scale is for int32 of T.alloc_L0C that leaves as int8; the source is",
    ),
    "fractals of ub": (fixpipe(), "that of a matrix in T.alloc_L0C; the source is"),
    "fractals of rows": (
        fractals("float32"),
        r"columns of 16 elements, to a tensor of shape \(columns, rows, 16\)",
    ),
    "split halves": (
        fractals("float16", channel_split=True),
        "channel_split halves the fractals of float32, found",
    ),
    "relu mode": (fixpipe(enable_nz2nd=True, pre_relu_mode="elu"), "unknown pre_relu_mode 'elu'"),
    "relu of ub": (
        fixpipe(enable_nz2nd=True, pre_relu_mode="relu"),
        "from T.alloc_L0C to global memory; the source is",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_statement_is_refused(case):
    statement, message = REFUSED[case]
    with pytest.raises((tilelang.errors.CompileError, ValueError, TypeError), match=message):

        @T.prim_func
        def kernel(A: T.Tensor((16, 16), "float32")):
            with T.Kernel(1, is_npu=True):
                statement()


def compile_error(body: Callable[..., None]) -> tuple[str, int]:
    """Message of the error that compiling gives, and the line it stands at."""
    with pytest.raises(tilelang.errors.CompileError) as caught:
        tilelang.compile(body)
    text = str(caught.value)
    return text.splitlines()[0], int(re.search(r"\.py:(\d+):", text)[1])


def line_of(text: str) -> int:
    """Line of this file with that comment."""
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if f"# {text}" in line)


def test_tile_of_the_other_core():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, is_npu=True), T.Scope("Cube"):
            tile = T.alloc_ub((16, 16), "float32")
            T.copy(A, tile)  # on the wrong core

    message, line = compile_error(kernel)
    assert 'this statement stands in T.Scope("Cube") but needs the vector core' in message
    assert line == line_of("on the wrong core")


def test_hand_over_in_a_divided_kernel():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, is_npu=True) as (_, half):
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            x = T.alloc_ub((16, 16), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, initC=True)
            T.copy(c, x)  # from core to core
            T.copy(x[half * 8 : half * 8 + 8, :], C[half * 8, 0])

    message, line = compile_error(kernel)
    assert "'c' would go from one kind of core to the other here" in message
    assert "T.sync_block_set and T.sync_block_wait" in message
    assert line == line_of("from core to core")


def test_signal_to_nobody():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, is_npu=True), T.Scope("Vector"):
            tile = T.alloc_ub((16, 16), "float32")
            T.copy(A, tile)
            with T.rs("PIPE_MTE2"):
                T.sync_block_set(0)  # to nobody

    message, line = compile_error(kernel)
    assert "this kernel has no work for the cube core; use T.set_flag" in message
    assert line == line_of("to nobody")


def l0_kernel(fill: bool = False, direct: bool = False, mixed: bool = False) -> object:
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, is_npu=True):
            a = T.alloc_L1((16, 16), "float16")
            a0 = T.alloc_L0A((16, 16), "float16")
            b0 = T.alloc_L0B((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            if fill:
                T.clear(a0)  # fill L0A
            elif direct:
                T.copy(A, a0)  # from global memory
            else:
                T.copy(a, a0)
            T.copy(a, b0)
            if mixed:
                T.gemm(a, b0, c, initC=True)  # from L1 and L0B
            else:
                T.gemm(a0, b0, c, initC=True)
            if not (fill or direct or mixed):
                T.gemm(a, a, c, initC=False)  # a macro beside tiles in L0
            T.copy(c, C)

    return kernel


@pytest.mark.parametrize(
    ("options", "message", "mark"),
    [
        ({"fill": True}, "is in l0a, which no instruction fills with a value", "fill L0A"),
        ({"direct": True}, "L0A and L0B are loaded from L1", "from global memory"),
        ({"mixed": True}, "are in l1 and l0b; allowed are both in L1", "from L1 and L0B"),
        ({}, "takes all of L0A and L0B for its parts", "a macro beside tiles in L0"),
    ],
)
def test_tiles_in_l0(options, message, mark):
    text, line = compile_error(l0_kernel(**options))
    assert message in text
    assert line == line_of(mark)


def test_manual_tiles_share_no_memory():
    @T.prim_func
    def kernel(A: T.Tensor((4, 16384), "float32")):
        with T.Kernel(1, is_npu=True):
            extra = T.alloc_ub((16384,), "float32")
            for i in range(2):  # one after the other, so automatic tiles would share
                tile = T.alloc_ub((16384,), "float32")
                other = T.alloc_ub((16384,), "float32")
                last = T.alloc_ub((16384,), "float32")
                T.copy(A[i, 0], tile)
                with T.rs("PIPE_MTE2"):
                    T.set_flag("PIPE_V", 0)
                with T.rs("PIPE_V"):
                    T.wait_flag("PIPE_MTE2", 0)
                T.vadd(tile, 1.0, other)
                T.vadd(other, 1.0, last)
                T.vadd(last, 1.0, extra)

    message, _ = compile_error(kernel)
    assert "do not fit" in message


def test_developer_mode_allows_no_orders(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_MODE", "developer")
    with pytest.raises(tilelang.errors.CompileError, match=r"T.Scope: .*leaves cores and order"):

        @T.prim_func
        def kernel(A: T.Tensor((16, 16), "float32")):
            with T.Kernel(1, is_npu=True), T.Scope("Vector"):
                T.alloc_ub((16, 16), "float32")


@pytest.mark.parametrize("constant", [True, False])
def test_event_out_of_range(constant):
    """A number is told when the kernel is compiled, what is computed when it runs."""

    @tilelang.jit
    def kernel(A, first):
        A: T.Tensor((16, 16), T.float32)
        first: T.Tensor((1,), T.int32)
        with T.Kernel(1, is_npu=True):
            tile = T.alloc_ub((16, 16), T.float32)
            T.copy(A, tile)
            event = 8 if constant else first[0]
            with T.rs("PIPE_MTE2"):
                T.set_flag("PIPE_V", event)
            with T.rs("PIPE_V"):
                T.wait_flag("PIPE_MTE2", event)

    kind, message = (
        (
            tilelang.errors.CompileError,
            r"the event between two pipes has number 8, but .* has 0 to 7",
        )
        if constant
        else (tilelang.errors.RunError, r"event id 8 is outside 0\.\.7")
    )
    with pytest.raises(kind, match=message):
        kernel(np.ones((16, 16), np.float32), np.array([8], np.int32))


def test_signal_out_of_range():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), W: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, is_npu=True):
            with T.Scope("Cube"):
                a = T.alloc_L1((16, 16), "float16")
                c = T.alloc_L0C((16, 16), "float32")
                T.load_nd2nz(A, a, [16, 16])
                T.gemm(a, a, c, initC=True)
                with T.rs("PIPE_FIX"):
                    T.store_fixpipe(c, W, [16, 16], enable_nz2nd=True)
                    T.sync_block_set(16)
            with T.Scope("Vector"):
                x = T.alloc_ub((16, 16), "float32")
                with T.rs("PIPE_MTE2"):
                    T.sync_block_wait(16)
                    T.copy(W, x)
                T.copy(x, W)

    message = r"the signal between cores has number 16, but .* 0 to 15"
    with pytest.raises(tilelang.errors.CompileError, match=message):
        tilelang.compile(kernel)
