# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose author places tiles, divides work between cores and orders pipes by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn, setting

MANUAL = {
    tilelang.PassConfigKey.NPUIR_ENABLE_AUTO_MULTI_BUFFER: False,
    tilelang.PassConfigKey.NPUIR_DISABLE_HIVM_AUTO_INJECT_SYNC: True,
}


@tilelang.jit(pass_configs=MANUAL)
def ring(A, rows, cols, runners, slots):
    """Tasks in turns through a ring of slots: loads run ahead of the work, stores behind it."""
    A: T.Tensor((rows, cols), T.float32)
    C = T.empty((rows, cols), T.float32)
    with T.Kernel(runners, is_npu=True) as (me, _):
        tile = T.alloc_ub((slots, cols), T.float32)
        tasks = T.ceildiv(rows - me, runners)
        for s in T.serial(slots):
            with T.rs("PIPE_MTE3"):
                T.set_flag("PIPE_MTE2", s)
        for step in T.serial(tasks + 2):
            if step < tasks:
                with T.rs("PIPE_MTE2"):
                    T.wait_flag("PIPE_MTE3", step % slots)
                    T.copy(A[step * runners + me, :], tile[step % slots, :])
                    T.set_flag("PIPE_V", step % slots)
            if step > 0 and step < tasks + 1:
                with T.rs("PIPE_V"):
                    T.wait_flag("PIPE_MTE2", (step - 1) % slots)
                    T.vmul(tile[(step - 1) % slots, :], 2.0, tile[(step - 1) % slots, :])
                    T.pipe_barrier("PIPE_V")
                    T.vadd(tile[(step - 1) % slots, :], 1.0, tile[(step - 1) % slots, :])
                    T.set_flag("PIPE_MTE3", (step - 1) % slots)
            if step > 1:
                with T.rs("PIPE_MTE3"):
                    T.wait_flag("PIPE_V", (step - 2) % slots)
                    T.copy(tile[(step - 2) % slots, :], C[(step - 2) * runners + me, :])
                    T.set_flag("PIPE_MTE2", (step - 2) % slots)
        for s in T.serial(slots):
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE3", s)
    return C


@pytest.mark.parametrize(("rows", "runners", "slots"), [(7, 1, 3), (23, 4, 3), (40, 60, 2)])
def test_ring_of_slots(rows, runners, slots):
    a = randn((rows, 64), np.float32)
    check(ring, [a], lambda a: a * 2 + 1, rows=rows, cols=64, runners=runners, slots=slots)


def test_flags_are_kept_as_written():
    kernel = compile_kernel(
        ring, [randn((8, 64), np.float32)], {"rows": 8, "cols": 64, "runners": 2, "slots": 3}, 2
    )
    points = [text for text, _ in kernel.core.sync_points()]
    assert len([p for p in points if "set_flag" in p]) == 4
    assert len([p for p in points if "barrier V" in p]) == 1


@tilelang.jit
def product(A, B, m, n, k, bk):
    """Two slots of L1 by hand; accumulation over K, relu on the way out."""
    A: T.Tensor((m, k), T.float16)
    B: T.Tensor((k, n), T.float16)
    C = T.empty((m, n), T.float16)
    with T.Kernel(T.ceildiv(m, 32), is_npu=True) as (block, _), T.Scope("Cube"):
        a = T.alloc_L1((2, 32, bk), T.float16)
        b = T.alloc_L1((2, bk, n), T.float16)
        c = T.alloc_L0C((32, n), T.float32)
        for s in range(2):
            with T.rs("PIPE_MTE1"):
                T.set_flag("PIPE_MTE2", s)
        for i in T.serial(k // bk):
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE1", i % 2)
                T.load_nd2nz(A[block * 32, i * bk], a[i % 2, :, :])
                T.load_nd2nz(B[i * bk, 0], b[i % 2, :, :])
                T.set_flag("PIPE_MTE1", i % 2)
            with T.rs("PIPE_MTE1"):
                T.wait_flag("PIPE_MTE2", i % 2)
                T.gemm(a[i % 2, :, :], b[i % 2, :, :], c, initC=(i == 0))
                T.set_flag("PIPE_MTE2", i % 2)
        with T.rs("PIPE_M"):
            T.set_flag("PIPE_FIX", 0)
        with T.rs("PIPE_FIX"):
            T.wait_flag("PIPE_M", 0)
            T.store_fixpipe(
                c, C[block * 32, 0], size=[32, n], enable_nz2nd=True, pre_relu_mode="relu"
            )
        for s in range(2):
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE1", s)
    return C


@pytest.mark.parametrize(("m", "k"), [(32, 64), (96, 192), (32 * 30, 32)])
def test_product_with_flags(m, k):
    a, b = randn((m, k), np.float16, seed=1), randn((k, 48), np.float16, seed=2)

    def reference(a, b):
        return np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)

    check(product, [a, b], reference, rtol=2e-3, atol=2e-3, m=m, n=48, k=k, bk=32)


@tilelang.jit
def ping_pong(A, B, W, S, blocks, turns):
    """Cube and vector cores hand a tile to and fro each turn; rows are halved by hand."""
    A: T.Tensor((blocks * 32, 32), T.float16)
    B: T.Tensor((32, 32), T.float16)
    W: T.Tensor((blocks * 32, 32), T.float32)
    S: T.Tensor((blocks * 32, 32), T.float16)
    C = T.empty((blocks * 32, 32), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, half):
        row = block * 32
        with T.Scope("Cube"):
            a = T.alloc_L1((32, 32), T.float16)
            b = T.alloc_L1((32, 32), T.float16)
            c = T.alloc_L0C((32, 32), T.float32)
            T.copy(B, b)
            for turn in T.serial(turns):
                if turn == 0:
                    T.copy(A[row, 0], a)
                else:
                    with T.rs("PIPE_MTE2"):
                        T.sync_block_wait(1)
                        T.copy(S[row, 0], a)
                T.gemm(a, b, c, initC=True)
                with T.rs("PIPE_FIX"):
                    T.copy(c, W[row, 0])
                    T.sync_block_set(0)
        with T.Scope("Vector"):
            x = T.alloc_ub((16, 32), T.float32)
            y = T.alloc_ub((16, 32), T.float16)
            mine = row + half * 16
            for turn in T.serial(turns):
                with T.rs("PIPE_MTE2"):
                    T.sync_block_wait(0)
                    T.copy(W[mine, 0], x)
                T.vmul(x, 0.25, x)
                if turn < turns - 1:
                    T.vcast(x, y, round_mode="rint")
                    with T.rs("PIPE_MTE3"):
                        T.copy(y, S[mine, 0])
                        T.sync_block_set(1)
                else:
                    T.copy(x, C[mine, 0])
    return C


@pytest.mark.parametrize(("blocks", "turns"), [(1, 1), (2, 3), (30, 2)])
def test_cores_in_turns(blocks, turns):
    a, b = randn((blocks * 32, 32), np.float16, seed=1), randn((32, 32), np.float16, seed=2)
    work = np.zeros((blocks * 32, 32), np.float32)

    def reference(a, b, *_):
        for turn in range(turns):
            c = (a.astype(np.float32) @ b.astype(np.float32)) * np.float32(0.25)
            a = c.astype(np.float16)
        return c

    inputs = [a, b, work, work.astype(np.float16)]
    check(ping_pong, inputs, reference, rtol=2e-2, atol=2e-2, blocks=blocks, turns=turns)


@tilelang.jit
def charged(A, C, D, blocks, ahead):
    """The cube may run `ahead` tiles in front: that many signals are sent before the first."""
    A: T.Tensor((blocks * 16, 16), T.float16)
    C: T.Tensor((blocks, 4, 16, 16), T.float32)
    D: T.Tensor((blocks, 4, 16, 16), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, half):
        with T.Scope("Cube"):
            a = T.alloc_L1((16, 16), T.float16)
            c = T.alloc_L0C((16, 16), T.float32)
            T.copy(A[block * 16, 0], a)
            for i in T.serial(4):
                T.gemm(a, a, c, initC=True)
                with T.rs("PIPE_FIX"):
                    T.sync_block_wait(5)
                    T.store_fixpipe(c, C[block, i, 0, 0], [16, 16], enable_nz2nd=True)
                    T.sync_block_set(i)
            with T.rs("PIPE_FIX"):
                for _ in range(ahead):
                    T.sync_block_wait(5)
        with T.Scope("Vector"):
            with T.rs("PIPE_MTE2"):
                for _ in range(ahead):
                    T.sync_block_set(5)
            tile = T.alloc_ub((8, 16), T.float32)
            for i in T.serial(4):
                with T.rs("PIPE_MTE2"):
                    T.sync_block_wait(i)
                    T.copy(C[block, i, half * 8 : half * 8 + 8, :], tile)
                    T.sync_block_set(5)
                T.vadd(tile, 1.0, tile)
                T.copy(tile, D[block, i, half * 8 : half * 8 + 8, :])


@pytest.mark.parametrize(("blocks", "ahead"), [(1, 1), (25, 14)])
def test_signals_ahead(blocks, ahead):
    a = randn((blocks * 16, 16), np.float16)
    empty = np.zeros((blocks, 4, 16, 16), np.float32)
    kernel = compile_kernel(charged, [a, empty, empty], {"blocks": blocks, "ahead": ahead}, 2)
    found = np.zeros_like(empty)
    kernel(a, np.zeros_like(empty), found)
    wide = a.reshape(blocks, 1, 16, 16).astype(np.float32)
    np.testing.assert_allclose(found, np.repeat(wide @ wide, 4, 1) + 1, rtol=1e-4, atol=1e-4)
    check(charged, [a, empty, empty], None, blocks=blocks, ahead=ahead)


@tilelang.jit
def halves(A, blocks, cols):
    """Without cube work the two vector cores of a block are two blocks' worth of cores."""
    A: T.Tensor((blocks * 2, cols), T.float32)
    C = T.empty((blocks * 2, cols), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, half):
        tile = T.alloc_ub((1, cols), T.float32)
        T.copy(A[block * 2 + half, 0], tile)
        if half == 0:
            T.vexp(tile, tile)
        T.copy(tile, C[block * 2 + half, 0])
    return C


def test_halves_of_vector_work():
    a = randn((14, 40), np.float32)

    def reference(a):
        c = a.copy()
        c[::2] = np.exp(a[::2])
        return c

    check(halves, [a], reference, rtol=1e-5, atol=1e-6, blocks=7, cols=40)


@tilelang.jit
def scoped(A, B, n):
    """Scopes alone: the compiler orders what the author has placed."""
    A: T.Tensor((n, n), T.int8)
    B: T.Tensor((n, n), T.int8)
    C = T.empty((n, n), T.int8)
    with T.Kernel(1, is_npu=True) as (_, _), T.Scope("Cube"):
        a = T.alloc_L1((n, n), T.int8)
        b = T.alloc_L1((n, n), T.int8)
        c = T.alloc_L0C((n, n), T.int32)
        T.copy(A, a)
        T.copy(B, b)
        T.npuir_dot(a, b, c, initC=True, b_transpose=True)
        T.store_fixpipe(c, C, enable_nz2nd=True)
    return C


def test_scope_and_narrow_integers():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 3, (32, 32)).astype(np.int8) for _ in range(2))

    def reference(a, b):
        return np.clip(a.astype(np.int32) @ b.astype(np.int32).T, -128, 127).astype(np.int8)

    check(scoped, [a, b], reference, n=32)


@tilelang.jit
def scaled(A, B, n, relu, scale):
    """A sum of integers leaves as int8, by a factor."""
    A: T.Tensor((n, n), T.int8)
    B: T.Tensor((n, n), T.int8)
    C = T.empty((n, n), T.int8)
    with T.Kernel(1, is_npu=True) as (_, _), T.Scope("Cube"):
        a = T.alloc_L1((n, n), T.int8)
        b = T.alloc_L1((n, n), T.int8)
        c = T.alloc_L0C((n, n), T.int32)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, initC=True)
        T.store_fixpipe(c, C, enable_nz2nd=True, pre_relu_mode=relu, scale=scale)
    return C


@pytest.mark.parametrize(("relu", "scale"), [("", 0.125), ("relu", 0.0375), ("", -2.0)])
def test_integers_leave_scaled_and_saturated(relu, scale):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (32, 32)).astype(np.int8) for _ in range(2))

    def reference(a, b):
        c = a.astype(np.int32) @ b.astype(np.int32)
        c = np.maximum(c, 0) if relu else c
        quantised = np.rint(c.astype(np.float32) * np.float32(scale))
        return np.clip(quantised, -128, 127).astype(np.int8)

    check(scaled, [a, b], reference, n=32, relu=relu, scale=scale)


@tilelang.jit
def wrapped(A, B, n):
    """The compiler's way out of a sum keeps the meaning of a copy: narrow integers wrap."""
    A: T.Tensor((n, n), T.int8)
    B: T.Tensor((n, n), T.int8)
    C = T.empty((n, n), T.int8)
    with T.Kernel(1):
        a = T.alloc_shared((n, n), T.int8)
        b = T.alloc_shared((n, n), T.int8)
        c = T.alloc_fragment((n, n), T.int32)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        T.copy(c, C)
    return C


def test_integers_of_a_fragment_wrap():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (32, 32)).astype(np.int8) for _ in range(2))
    check(wrapped, [a, b], lambda a, b: (a.astype(np.int32) @ b).astype(np.int8), n=32)


@tilelang.jit
def fractals(A, B, m, n, dtype, width):
    """The accumulator in its own order, columns of `width`, behind the first column of C."""
    A: T.Tensor((m, 32), T.float16)
    B: T.Tensor((32, n), T.float16)
    C = T.empty((1 + T.ceildiv(n, width), m, width), dtype)
    with T.Kernel(1, is_npu=True) as (_, _), T.Scope("Cube"):
        a = T.alloc_L1((m, 32), T.float16)
        b = T.alloc_L1((32, n), T.float16)
        c = T.alloc_L0C((m, n), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, initC=True)
        T.store_fixpipe(c, C[1, 0, 0], size=[m, n], channel_split=width == 8, pre_relu_mode="relu")
    return C


@pytest.mark.parametrize(
    ("n", "dtype", "width"), [(48, "float16", 16), (32, "float32", 16), (40, "float32", 8)]
)
def test_accumulator_in_its_own_order(n, dtype, width):
    a, b = randn((24, 32), np.float16, seed=1), randn((32, n), np.float16, seed=2)

    def reference(a, b):
        c = np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)
        columns = c.reshape(24, n // width, width).transpose(1, 0, 2)
        return np.concatenate([np.zeros((1, 24, width), np.float32), columns]).astype(dtype)

    check(fractals, [a, b], reference, rtol=2e-3, atol=2e-3, m=24, n=n, dtype=dtype, width=width)


@tilelang.jit
def through_l1(A, n):
    """A tile that only passes through L1."""
    A: T.Tensor((n, n), T.float16)
    C = T.empty((n, n), T.float16)
    with T.Kernel(1, is_npu=True) as (_, _), T.Scope("Cube"):
        a = T.alloc_L1((n, n), T.float16)
        T.load_nd2nz(A, a)
        T.store_nz2nd(a, C)
    return C


def test_through_l1():
    check(through_l1, [randn((32, 32), np.float16)], lambda a: a, n=32)


@tilelang.jit
def braked(A, n):
    """A barrier alone leaves the order to the compiler."""
    A: T.Tensor((n, 64), T.float32)
    C = T.empty((n, 64), T.float32)
    with T.Kernel(2, is_npu=True) as (block, _):
        tile = T.alloc_ub((64,), T.float32)
        for i in T.Pipelined(n // 2, num_stages=2):
            T.copy(A[i * 2 + block, 0], tile)
            T.pipe_barrier("PIPE_ALL")
            T.vadd(tile, 1.0, tile)
            T.copy(tile, C[i * 2 + block, 0])
    return C


def test_barrier_in_an_automatic_kernel():
    a = randn((6, 64), np.float32)
    check(braked, [a], lambda a: a + 1, n=6)
    kernel = compile_kernel(braked, [a], {"n": 6}, 2)
    points = [text for text, _ in kernel.core.sync_points()]
    assert any("barrier ALL" in p for p in points)
    assert any("set_flag MTE2->V" in p for p in points)


def test_interpreter_reports_deadlock():
    @tilelang.jit
    def stuck(A):
        A: T.Tensor((16, 16), T.float16)
        C = T.empty((16, 16), T.float32)
        with T.Kernel(1, is_npu=True) as (_, _):
            with T.Scope("Cube"):
                a = T.alloc_L1((16, 16), T.float16)
                c = T.alloc_L0C((16, 16), T.float32)
                T.copy(A, a)
                T.gemm(a, a, c, initC=True)
                with T.rs("PIPE_FIX"):
                    T.sync_block_wait(3)
                    T.copy(c, C)
            with T.Scope("Vector"):
                x = T.alloc_ub((16, 16), T.float16)
                T.copy(A, x)
                with T.rs("PIPE_MTE2"):
                    T.sync_block_set(2)
        return C

    for engine in ("interpreter", "simulator"):
        with setting(engine=engine), pytest.raises(tilelang.errors.RunError, match="deadlock"):
            stuck(np.ones((16, 16), np.float16))


@tilelang.jit
def through_l0(A, B, m, n, k, bk, tb):
    """Two slots in each of L1, L0A and L0B, ordered by hand on all four pipes."""
    A: T.Tensor((m, k), T.float16)
    B: T.Tensor((n, k) if tb else (k, n), T.float16)
    C = T.empty((m, n), T.float32)
    with T.Kernel(1, is_npu=True) as (_, _), T.Scope("Cube"):
        b_shape = (n, bk) if tb else (bk, n)
        a1 = T.alloc_L1((2, m, bk), T.float16)
        b1 = T.alloc_L1((2, *b_shape), T.float16)
        a0 = T.alloc_L0A((2, m, bk), T.float16)
        b0 = T.alloc_L0B((2, *b_shape), T.float16)
        c = T.alloc_L0C((m, n), T.float32)
        for s in range(2):
            with T.rs("PIPE_MTE1"):
                T.set_flag("PIPE_MTE2", s)
            with T.rs("PIPE_M"):
                T.set_flag("PIPE_MTE1", s)
        for i in T.serial(k // bk):
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE1", i % 2)
                T.load_nd2nz(A[0, i * bk], a1[i % 2, :, :])
                if tb:
                    T.load_nd2nz(B[0, i * bk], b1[i % 2, :, :])
                else:
                    T.load_nd2nz(B[i * bk, 0], b1[i % 2, :, :])
                T.set_flag("PIPE_MTE1", i % 2)
            with T.rs("PIPE_MTE1"):
                T.wait_flag("PIPE_MTE2", i % 2)
                T.wait_flag("PIPE_M", i % 2)
                T.copy(a1[i % 2, :, :], a0[i % 2, :, :])
                T.copy(b1[i % 2, :, :], b0[i % 2, :, :])
                T.set_flag("PIPE_MTE2", i % 2)
                T.set_flag("PIPE_M", i % 2)
            with T.rs("PIPE_M"):
                T.wait_flag("PIPE_MTE1", i % 2)
                T.gemm(a0[i % 2, :, :], b0[i % 2, :, :], c, initC=(i == 0), b_transpose=tb)
                T.set_flag("PIPE_MTE1", i % 2)
        with T.rs("PIPE_M"):
            T.set_flag("PIPE_FIX", 0)
        with T.rs("PIPE_FIX"):
            T.wait_flag("PIPE_M", 0)
            T.copy(c, C)
        for s in range(2):
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE1", s)
            with T.rs("PIPE_MTE1"):
                T.wait_flag("PIPE_M", s)
    return C


@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize(("n", "k"), [(32, 64), (48, 32)])
def test_products_in_l0_by_hand(n, k, tb):
    a = randn((32, k), np.float16, seed=1)
    b = randn((n, k) if tb else (k, n), np.float16, seed=2)

    def reference(a, b):
        return a.astype(np.float32) @ (b.T if tb else b).astype(np.float32)

    check(through_l0, [a, b], reference, m=32, n=n, k=k, bk=16, tb=tb)


@tilelang.jit
def placed_in_l0(A, B, m, n, k):
    """Tiles in L0, whose order is the compiler's."""
    A: T.Tensor((m, k), T.float16)
    B: T.Tensor((k, n), T.float16)
    C = T.empty((m, n), T.float16)
    with T.Kernel(T.ceildiv(m, 32), is_npu=True) as (block, _):
        a1 = T.alloc_L1((32, 32), T.float16)
        b1 = T.alloc_L1((32, n), T.float16)
        a0 = T.alloc_L0A((32, 32), T.float16)
        b0 = T.alloc_L0B((32, n), T.float16)
        c = T.alloc_L0C((32, n), T.float32)
        for i in T.Pipelined(k // 32, num_stages=2):
            T.copy(A[block * 32, i * 32], a1)
            T.copy(B[i * 32, 0], b1)
            T.copy(a1, a0)
            T.copy(b1, b0)
            T.gemm(a0, b0, c, clear_accum=(i == 0))
        T.copy(c, C[block * 32, 0])
    return C


@pytest.mark.parametrize(("m", "k"), [(64, 96), (32 * 45, 64)])
def test_products_in_l0_ordered_by_the_compiler(m, k):
    a, b = randn((m, k), np.float16, seed=1), randn((k, 32), np.float16, seed=2)

    def reference(a, b):
        return a.astype(np.float32) @ b.astype(np.float32)

    check(placed_in_l0, [a, b], reference, rtol=2e-3, atol=2e-3, m=m, n=32, k=k)
