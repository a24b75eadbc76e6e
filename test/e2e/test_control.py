# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, branches, scalars, run-time sizes, atomics, several launches, print and assert."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, check, compile_kernel, findings_text, integers, randn, wide


@tilelang.jit
def dynamic_add(A, B, block):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    B: T.Tensor((n,), "float32")
    C = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
        a = T.alloc_shared((block,), "float32")
        b = T.alloc_shared((block,), "float32")
        T.copy(A[bx * block], a)
        T.copy(B[bx * block], b)
        for i in T.Parallel(block):
            a[i] += b[i]
        T.copy(a, C[bx * block])
    return C


@pytest.mark.parametrize("size", [1, 31, 64, 100, 1000])
def test_dynamic_size(size):
    check(
        dynamic_add,
        [randn(size, np.float32, 1), randn(size, np.float32, 2)],
        lambda a, b: a + b,
        block=64,
    )


@pytest.mark.parametrize("engine", ["simulator", "interpreter"])
@pytest.mark.parametrize("size", [0, None])
def test_an_empty_grid_is_an_error(monkeypatch, engine, size):
    """As on GPUs, and as a kernel that was given the wrong tensor would want to know."""
    monkeypatch.setenv("TILEWRIGHT_ENGINE", engine)

    @tilelang.jit
    def nothing(A):
        A: T.Tensor((4,), "float32")
        with T.Kernel(0) as bx:
            A[bx] = 1.0

    a = np.zeros(4 if size is None else size, np.float32)
    with pytest.raises(tilelang.errors.RunError, match="has an extent of 0"):
        nothing(a) if size is None else dynamic_add(a, a, 64)


@tilelang.jit
def dynamic_matmul(A, B, bm, bn, bk):
    m, n, k = T.dynamic("m, n, k")
    A: T.Tensor((m, k), "float16")
    B: T.Tensor((k, n), "float16")
    C = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
        As = T.alloc_shared((bm, bk), "float16")
        Bs = T.alloc_shared((bk, bn), "float16")
        acc = T.alloc_fragment((bm, bn), "float32")
        T.clear(acc)
        for step in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
            T.copy(A[by * bm, step * bk], As)
            T.copy(B[step * bk, bx * bn], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * bm, bx * bn])
    return C


@pytest.mark.parametrize("size", [(64, 64, 64), (33, 50, 70), (10, 20, 0), (1, 1, 1)])
def test_dynamic_matmul(size):
    m, n, k = size
    check(
        dynamic_matmul,
        [randn((m, k), seed=1), randn((k, n), seed=2)],
        lambda a, b: wide(a)[0] @ wide(b)[0],
        rtol=1e-3,
        atol=1e-3,
        bm=32,
        bn=32,
        bk=32,
    )


@tilelang.jit
def pipelined_copy(A, trips, stages, rows):
    A: T.Tensor((max(trips, 1) * rows, 32), "float32")
    C = T.empty((rows, 32), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((rows, 32), "float32")
        total = T.alloc_fragment((rows, 32), "float32")
        T.clear(total)
        for k in T.Pipelined(trips, num_stages=stages):
            T.copy(A[k * rows, 0], a)
            for i, j in T.Parallel(rows, 32):
                total[i, j] = total[i, j] * 0.5 + a[i, j]
        T.copy(total, C)
    return C


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("stages", [0, 2, 3])
def test_trips(trips, stages):
    def reference(a):
        total = np.zeros((8, 32), np.float32)
        for k in range(trips):
            total = total * np.float32(0.5) + a[8 * k : 8 * k + 8]
        return total

    check(
        pipelined_copy,
        [randn((max(trips, 1) * 8, 32), np.float32)],
        reference,
        seeds=2,
        trips=trips,
        stages=stages,
        rows=8,
    )


@tilelang.jit
def read_after_loop(A, trips):
    """What the last turn loaded is used after the loop, and a second loop starts from it."""
    A: T.Tensor((trips * 16,), "float32")
    C = T.empty((2, 16), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((16,), "float32")
        total = T.alloc_shared((16,), "float32")
        T.clear(total)
        for k in T.Pipelined(trips, num_stages=2):
            T.copy(A[k * 16], a)
            for i in T.Parallel(16):
                total[i] += a[i]
        for i in T.Parallel(16):
            a[i] = a[i] * 2.0 + total[i]
        T.copy(a, C[0, 0])
        for k in T.Pipelined(trips, num_stages=2):
            for i in T.Parallel(16):
                total[i] += a[i]
            T.copy(A[k * 16], a)
        T.copy(total, C[1, 0])
    return C


@pytest.mark.parametrize("trips", [1, 2, 3])
def test_read_after_loop(trips):
    def reference(a):
        rows = a.reshape(trips, 16)
        total = rows.sum(0)
        first = rows[-1] * 2 + total
        second = total + first + rows[:-1].sum(0)
        return np.stack([first, second])

    check(read_after_loop, [randn(trips * 16, np.float32)], reference, trips=trips)


@tilelang.jit
def nested(A, outer, inner):
    A: T.Tensor((outer, inner, 64), "float32")
    C = T.empty((outer, 64), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64,), "float32")
        b = T.alloc_shared((64,), "float32")
        total = T.alloc_shared((64,), "float32")
        for o in T.Pipelined(outer, num_stages=2):
            T.clear(total)
            for n in T.Pipelined(inner, num_stages=2):
                T.copy(A[o, n, 0], a)
                for i in T.Parallel(64):
                    total[i] += a[i] * (n + 1)
            for n in T.serial(inner):
                T.copy(A[o, inner - 1 - n, 0], b)
                for i in T.Parallel(64):
                    total[i] = T.max(total[i], b[i])
            T.copy(total, C[o, 0])
    return C


@pytest.mark.parametrize("trips", [(1, 1), (3, 1), (2, 3), (3, 4)])
def test_nested_loops(trips):
    def reference(a):
        scaled = (a * np.arange(1, trips[1] + 1, dtype=np.float32)[:, None]).sum(1)
        return np.maximum(scaled, a.max(1))

    check(nested, [randn((*trips, 64), np.float32)], reference, outer=trips[0], inner=trips[1])


@tilelang.jit
def triangular(A, N):
    """Loop bounds that follow from the block and the outer loop."""
    A: T.Tensor((N, 32), "float32")
    C = T.empty((N, 32), "float32")
    with T.Kernel(N, threads=128) as bx:
        a = T.alloc_shared((32,), "float32")
        total = T.alloc_shared((32,), "float32")
        T.clear(total)
        for k in T.Pipelined(bx, num_stages=2):
            for m in T.serial(k, bx):
                T.copy(A[m, 0], a)
                for i in T.Parallel(32):
                    total[i] += a[i]
        T.copy(total, C[bx, 0])
    return C


def test_run_time_bounds():
    def reference(a):
        out = np.zeros_like(a)
        for b in range(len(a)):
            for k in range(b):
                out[b] += a[k:b].sum(0)
        return out

    check(triangular, [randn((5, 32), np.float32)], reference, N=5)


@tilelang.jit
def steps(A, N):
    A: T.Tensor((N,), "int32")
    C = T.empty((N,), "int32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "int32")
        T.copy(A, a)
        for k in T.serial(1, N, 3):
            a[k] = a[k] + k
        for k in range(N - 1, 0, -2):
            a[k] = a[k] * 2
        for k in T.unroll(4):
            a[k] += a[k + 4]
        T.copy(a, C)
    return C


def test_steps():
    def reference(a):
        a = a.copy()
        for k in range(1, 20, 3):
            a[k] += k
        for k in range(19, 0, -2):
            a[k] *= 2
        for k in range(4):
            a[k] += a[k + 4]
        return a

    check(steps, [integers(20, -50, 50)], reference, rtol=0, atol=0, N=20)


@tilelang.jit
def variables(A, start, N):
    A: T.Tensor((N,), "int32")
    start: T.int32
    C = T.empty((4,), "int32")
    with T.Kernel(1, threads=128) as _:
        out = T.alloc_shared((4,), "int32")
        count = T.alloc_var("int32", init=0)
        best = T.alloc_var("int32", init=-1000000)
        place = T.alloc_var("int32")
        for k in T.serial(N):
            value = A[k]
            if value > 0:
                count += 1
            if value > best:
                best = value
                place = k
        left = T.alloc_var("int32", init=start)
        turns = T.alloc_var("int32", init=0)
        while left > 1:
            if left % 2 == 0:
                left = left // 2
            else:
                left = 3 * left + 1
            turns += 1
        out[0] = count
        out[1] = best
        out[2] = place
        out[3] = turns
        T.copy(out, C)
    return C


@pytest.mark.parametrize(("start", "turns"), [(1, 0), (6, 8), (27, 111)])
def test_variables_and_while(start, turns):
    values = integers(30, -100, 100)

    def reference(a, s):
        return np.array([(a > 0).sum(), a.max(), a.argmax(), turns], np.int32)

    check(variables, [values, start], reference, rtol=0, atol=0, N=30)


@tilelang.jit
def branch_on_block(A, flag, N):
    A: T.Tensor((4, N), "float32")
    flag: T.Tensor((4,), "int32")
    C = T.empty((4, N), "float32")
    with T.Kernel(4, threads=128) as bx:
        a = T.alloc_shared((N,), "float32")
        T.copy(A[bx, 0], a)
        if bx == 0:
            for i in T.Parallel(N):
                a[i] = a[i] + 1.0
        elif flag[bx] > 0:
            T.fill(a, 3.0)
        else:
            for i in T.Parallel(N):
                a[i] = -a[i]
        T.copy(a, C[bx, 0])
    return C


def test_branches():
    flags = np.array([0, 1, 0, 5], np.int32)
    check(
        branch_on_block,
        [randn((4, 40), np.float32), flags],
        lambda a, f: np.stack([a[0] + 1, np.full(40, 3.0), -a[2], np.full(40, 3.0)]),
        N=40,
    )


@tilelang.jit
def histogram(A, C, N, bins):
    A: T.Tensor((N,), "int32")
    C: T.Tensor((bins,), "int32")
    with T.Kernel(T.ceildiv(N, 32), threads=128) as bx:
        a = T.alloc_shared((32,), "int32")
        T.copy(A[bx * 32], a)
        for i in T.serial(32):
            if bx * 32 + i < N:
                T.atomic_add(C[a[i]], 1)


def test_atomic_elements():
    values = integers(100, 0, 8)
    check(
        histogram,
        [values, np.zeros(8, np.int32)],
        lambda a, c: (a, np.bincount(a, minlength=8).astype(np.int32)),
        rtol=0,
        atol=0,
        N=100,
        bins=8,
    )


@tilelang.jit
def split_sum(A, C, M, N, dtype):
    A: T.Tensor((M, N), dtype)
    C: T.Tensor((N,), dtype)
    with T.Kernel(T.ceildiv(M, 8), threads=128) as bx:
        a = T.alloc_shared((8, N), dtype)
        c = T.alloc_shared((N,), dtype)
        T.copy(A[bx * 8, 0], a)
        T.reduce_sum(a, c, dim=0)
        T.atomic_add(C, c)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_atomic_tiles(dtype):
    a = integers((50, 40), -9, 9, dtype)
    check(
        split_sum, [a, np.ones(40, dtype)], lambda a, c: (a, a.sum(0) + 1), M=50, N=40, dtype=dtype
    )


@tilelang.jit
def split_k(A, B, C, M, N, K, parts, bk):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C: T.Tensor((M, N), "float32")
    with T.Kernel(parts, threads=128) as bx:
        As = T.alloc_shared((M, bk), "float16")
        Bs = T.alloc_shared((bk, N), "float16")
        acc = T.alloc_fragment((M, N), "float32")
        T.clear(acc)
        share = K // parts
        for k in T.Pipelined(T.ceildiv(share, bk), num_stages=2):
            T.copy(A[0, bx * share + k * bk], As)
            T.copy(B[bx * share + k * bk, 0], Bs)
            T.gemm(As, Bs, acc)
        T.atomic_add(C, acc)


def test_split_k():
    check(
        split_k,
        [randn((32, 128), seed=1), randn((128, 48), seed=2), np.zeros((32, 48), np.float32)],
        lambda a, b, c: (a, b, wide(a)[0] @ wide(b)[0]),
        rtol=1e-3,
        atol=1e-3,
        M=32,
        N=48,
        K=128,
        parts=4,
        bk=16,
    )


@tilelang.jit
def two_launches(A, N):
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    C = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 32), threads=128) as bx:
        a = T.alloc_shared((32,), "float32")
        T.copy(A[bx * 32], a)
        for i in T.Parallel(32):
            a[i] = a[i] * 2.0
        T.copy(a, B[bx * 32])
    with T.Kernel(T.ceildiv(N, 16), threads=128) as bx:
        b = T.alloc_shared((16,), "float32")
        T.copy(B[N - 16 - bx * 16], b)
        for i in T.Parallel(16):
            b[i] = b[i] + 1.0
        T.copy(b, C[bx * 16])
    return B, C


def test_two_launches():
    def reference(a):
        b = 2 * a
        return b, np.concatenate([b[96 - 16 - k * 16 : 96 - k * 16] + 1 for k in range(6)])

    check(two_launches, [randn(96, np.float32)], reference, N=96)


@tilelang.jit
def grids(A, X, Y, Z):
    A: T.Tensor((X, Y, Z), "int32")
    C = T.empty((X, Y, Z), "int32")
    with T.Kernel(X, Y, Z, threads=128) as (bx, by, bz):
        C[bx, by, bz] = A[bx, by, bz] * 1000 + bx * 100 + by * 10 + bz
    return C


@pytest.mark.parametrize("size", [(1, 1, 1), (3, 4, 5), (7, 1, 9)])
def test_grids(size):
    def reference(a):
        x, y, z = np.indices(a.shape)
        return a * 1000 + x * 100 + y * 10 + z

    check(grids, [integers(size, 0, 9)], reference, rtol=0, atol=0, X=size[0], Y=size[1], Z=size[2])


@tilelang.jit
def scalars_in(A, factor, shift, N):
    A: T.Tensor((N,), "float32")
    factor: T.float32
    shift: T.int32
    C = T.empty((N,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "float32")
        T.copy(A, a)
        for i in T.Parallel(N):
            a[i] = a[i] * factor + shift
        T.copy(a, C)
    return C


def test_scalar_parameters():
    check(scalars_in, [randn(33, np.float32), 2.5, -3], lambda a, f, s: a * f + s, N=33)


@tilelang.jit
def printing(A, N):
    A: T.Tensor((N,), "int32")
    C = T.empty((N,), "int32")
    with T.Kernel(2, threads=128) as bx:
        a = T.alloc_shared((N,), "int32")
        T.copy(A, a)
        T.print(a, msg="tile")
        T.print(bx, msg="block")
        if bx == 0:
            T.copy(a, C)
    return C


def test_print():
    outcome = check(printing, [np.arange(5, dtype=np.int32)], lambda a: a, N=5)
    assert outcome.printed.count("tile") == 2
    assert outcome.printed.count("block") == 2


@tilelang.jit
def asserting(A, N):
    A: T.Tensor((N,), "int32")
    C = T.empty((N,), "int32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "int32")
        T.copy(A, a)
        T.device_assert(A[0] > 0, "the first element must be positive")
        T.copy(a, C)
    return C


def test_assert():
    check(asserting, [np.arange(1, 6, dtype=np.int32)], lambda a: a, N=5)
    bad = Program(
        compile_kernel(asserting, [np.zeros(5, np.int32)], {"N": 5}, 2), [np.zeros(5, np.int32)]
    )
    for engine in ("interpreter", "simulator"):
        report = bad.run(engine=engine).report
        assert not report["ok"]
        assert "the first element must be positive" in report["error"] + findings_text(report)


@tilelang.jit
def persistent(A, M, N, cores):
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(cores, threads=128) as bx:
        a = T.alloc_shared((8, 16), "float32")
        for by, bz in T.Persistent([T.ceildiv(M, 8), T.ceildiv(N, 16)], cores, bx):
            T.copy(A[by * 8, bz * 16], a)
            for i, j in T.Parallel(8, 16):
                a[i, j] = a[i, j] * 2.0
            T.copy(a, C[by * 8, bz * 16])
    return C


def test_persistent():
    check(persistent, [randn((30, 50), np.float32)], lambda a: 2 * a, M=30, N=50, cores=3)


@tilelang.jit
def through_global(A, B, P, M, N, K):
    """Both cores work, and vector results are read back from global memory, shifted by a row."""
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    P: T.Tensor((M + 1, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, K), "float16")
        Bs = T.alloc_shared((K, N), "float16")
        acc = T.alloc_fragment((M, N), "float32")
        T.copy(A, As)
        T.copy(B, Bs)
        T.gemm(As, Bs, acc, clear_accum=True)
        for i, j in T.Parallel(M, N):
            acc[i, j] = acc[i, j] * 2.0
        T.copy(acc, P[0:M, 0:N])
        T.copy(P[1 : M + 1, 0:N], acc)
        for i, j in T.Parallel(M, N):
            acc[i, j] = acc[i, j] + 1.0
        T.copy(acc, C)
    return C


def test_rows_read_back_from_global():
    def reference(a, b, p):
        product = 2 * (wide(a)[0] @ wide(b)[0])
        return np.concatenate([product[1:], p[-1:]]) + 1

    inputs = [randn((32, 16), seed=1), randn((16, 48), seed=2), randn((33, 48), np.float32, 3)]
    check(through_global, inputs, reference, rtol=1e-3, atol=1e-3, M=32, N=48, K=16)


@tilelang.jit
def never(A, last):
    A: T.Tensor((8, 8), T.float32)
    C = T.empty((8, 8), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((8, 8), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(8, 8):
            if i >= last and j > 3:
                a[i, j] = a[i, j] + 1
        T.copy(a, C)
    return C


@pytest.mark.parametrize("last", [7, 8, 100])
def test_boxes_of_conditions_that_never_hold(last):
    def reference(a):
        a = a.copy()
        a[last:, 4:] += 1
        return a

    check(never, [randn((8, 8), np.float32)], reference, last=last)
