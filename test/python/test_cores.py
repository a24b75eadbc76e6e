# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T.Cores: what an author of a core's program may write, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T


def refused(body, match, count=1):
    """A kernel with this body, in which A is a tensor of (16, 32) floats, is refused."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((16, 32), T.float32)
        body(A)

    with pytest.raises((tilelang.errors.CompileError, TypeError, ValueError), match=match):
        kernel(np.ones((16, 32), np.float32))


def inside(statements):
    """The statements as the vector core's program; they get A and a tile x of its rows."""

    @T.macro
    def body(A):
        with T.Cores(), T.Scope("Vector"):
            x = T.alloc_ub((2, 32), "float32")
            statements(A, x)

    return body


@pytest.mark.parametrize("half", [False, True])
def test_each_core_takes_its_blocks(half):
    @tilelang.jit
    def doubled(A):
        M = T.const("M")
        A: T.Tensor((M, 32), T.float32)
        C = T.empty((M, 32), T.float32)
        with T.Cores(), T.Scope("Vector"):
            x = T.alloc_ub((2, 32), "float32", slots=2, address=1024)
            s = T.alloc_ub((2,), "float32")
            for slot in T.serial(2):
                with T.rs("PIPE_MTE3"):
                    T.set_flag("PIPE_MTE2", slot)
            for block in T.blocks(T.ceildiv(M, 2)):
                T.next_slot(x)
                rows = T.min(M - block * 2, 2)
                with T.rs("PIPE_MTE2"):
                    T.wait_flag("PIPE_MTE3", 0, rotate=x)
                    T.copy(A[block * 2 : block * 2 + rows, :], x[:rows, :])
                    T.set_flag("PIPE_V", 0, rotate=x)
                with T.rs("PIPE_V"):
                    T.pipe_barrier("PIPE_V")
                    T.fill(s, 2.0)
                    T.pipe_barrier("PIPE_V")
                    T.wait_flag("PIPE_MTE2", 0, rotate=x)
                    T.vmul(x, s[:, None], x)
                    T.set_flag("PIPE_MTE3", 0, rotate=x)
                with T.rs("PIPE_MTE3"):
                    T.wait_flag("PIPE_V", 0, rotate=x)
                    T.copy(x[:rows, :], C[block * 2 : block * 2 + rows, :])
                    T.set_flag("PIPE_MTE2", 0, rotate=x)
            for slot in T.serial(2):
                with T.rs("PIPE_MTE2"):
                    T.wait_flag("PIPE_MTE3", slot)
        return C

    a = np.random.default_rng(0).standard_normal((333 if half else 12, 32)).astype(np.float32)
    kernel = doubled.compile(M=len(a))
    assert np.array_equal(kernel(a), a * 2)
    result = kernel.simulate(a, check=True)
    assert not result.findings
    tiles = {t["name"]: (t["address"], t["slots"]) for t in kernel.core.buffers()}
    assert tiles["x"] == (1024, 2) and tiles["s"][0] >= 1024 + 2 * 256


def test_parallel_is_for_the_compiler():
    @T.macro
    def statements(A, x):
        for i, j in T.Parallel(2, 32):
            x[i, j] = 0

    refused(inside(statements), "T.Parallel inside T.Cores")


def test_slots_have_a_count():
    refused(inside(lambda A, x: T.alloc_ub((2,), "float32", slots=0)), "0 slots; a tile has 1")
    refused(inside(lambda A, x: T.next_slot(x)), "T.next_slot: .* has one slot")


def test_flags_rotate_with_tiles():
    def statements(A, x):
        with T.rs("PIPE_V"):
            T.set_flag("PIPE_MTE3", T.core_id(), rotate=x)

    refused(inside(statements), "with rotate takes a number and a tile of T.Cores")


def test_places_are_in_their_memory():
    refused(
        inside(lambda A, x: T.fill(T.alloc_ub((8,), "float32", address=8), 0)),
        "is placed at byte 8 .* multiples of 32",
    )


def test_none_is_for_vector_instructions():
    refused(inside(lambda A, x: T.copy(A[0, :], x[0, None, :])), "a slice of x with None")
    refused(inside(lambda A, x: T.vadd(x[:, None], x, x)), "2 dimensions, found 1 indices")


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        (lambda: T.core_id(), "T.core_id stands inside `with T.Cores"),
        (lambda: T.core_count(), "T.core_count stands inside `with T.Cores"),
        (lambda: T.begin_block(0), "T.begin_block stands inside `with T.Cores"),
        (lambda: T.alloc_ub((8,), "float32", slots=2), "stand inside T.Cores"),
        (lambda: T.alloc_workspace((8,), "float32"), "stand inside T.Cores"),
    ],
)
def test_outside(statement, match):
    @T.macro
    def body(A):
        with T.Kernel(1):
            statement()

    refused(body, match)


def test_breakpoints_stand_between_statements():
    @T.macro
    def body(A):
        with T.Kernel(1):
            x = T.alloc_shared((16, 32), "float32")
            for i, j in T.Parallel(16, 32):
                x[i, j] = 0
                T.breakpoint()

    refused(body, "T.breakpoint inside T.Parallel")
    refused(lambda A: T.breakpoint(), "T.breakpoint stands outside")


def test_what_python_cannot_say():
    """Elements of four bits are bytes in the program."""

    @tilelang.jit
    def unpacked(A):
        A: T.Tensor((64,), T.int4)
        C = T.empty((64,), T.int8)
        with T.Kernel(1):
            a = T.alloc_shared((64,), T.int4)
            c = T.alloc_shared((64,), T.int8)
            T.copy(A, a)
            for i in T.Parallel(64):
                c[i] = a[i]
            T.copy(c, C)
        return C

    with pytest.raises(tilelang.errors.CompileError, match="elements of four bits"):
        unpacked.compile().expert_source()


def test_interpreted_kernels_have_no_program(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "interpreter")

    @tilelang.jit
    def nothing(A):
        A: T.Tensor((64,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64,), T.float32)
            T.copy(A, a)

    with pytest.raises(tilelang.errors.CompileError, match="has no program"):
        nothing.compile().expert_source()


def test_a_tile_does_not_begin_before_its_memory():
    @T.macro
    def body(A):
        with T.Cores(), T.Scope("Vector"):
            T.alloc_ub((2, 32), "float32", address=-32)

    refused(body, "error.E0124.: .*address -32")
