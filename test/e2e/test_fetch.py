# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics that give what was there before: `return_prev=True`."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from expert_source import module_of
from harness import Program, check, compile_kernel, integers, randn
from tilewright.errors import CompileError
from tilewright.hivm import launches

COLS = 48


@tilelang.jit
def tickets(A, count, C, N, blocks):
    """Each block takes a number and writes its row there."""
    A: T.Tensor((blocks, COLS), T.float32)
    count: T.Tensor((2,), T.int32)
    C: T.Tensor((2 * blocks, COLS), T.float32)
    N: T.Tensor((blocks,), T.int32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((COLS,), T.float32)
        T.copy(A[b, 0], a)
        ticket = T.atomic_add(count[1], 2, return_prev=True)
        N[b] = ticket
        T.copy(a, C[ticket, 0])


def test_tickets_in_the_order_of_blocks():
    blocks = 99
    a = randn((blocks, COLS), np.float32)

    def reference(a, count, c, n):
        c = c.copy()
        c[::2] = a
        return a, np.array([0, 2 * blocks]), c, 2 * np.arange(blocks)

    check(
        tickets,
        [
            a,
            np.zeros(2, np.int32),
            np.zeros((2 * blocks, COLS), np.float32),
            np.zeros(blocks, np.int32),
        ],
        reference,
        rtol=0,
        atol=0,
        blocks=blocks,
    )


@tilelang.jit
def compact(A, count, C, blocks):
    """Numbers above 0, one behind the other, in the order of blocks and points."""
    A: T.Tensor((blocks, COLS), T.float32)
    count: T.Tensor((1,), T.int32)
    C: T.Tensor((blocks * COLS,), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((COLS,), T.float32)
        T.copy(A[b, 0], a)
        for i in T.Parallel(COLS):
            if a[i] > 0:
                at = T.atomic_add(count[0], 1, return_prev=True)
                C[at] = a[i]


def test_compaction():
    a = randn((5, COLS), np.float32)

    def reference(a, count, c):
        kept = a[a > 0]
        return a, [kept.size], np.concatenate([kept, np.zeros(a.size - kept.size)])

    check(
        compact,
        [a, np.zeros(1, np.int32), np.zeros(a.size, np.float32)],
        reference,
        rtol=0,
        atol=0,
        blocks=5,
    )


@tilelang.jit
def ranks(K, H, R, dtype, bins):
    """How many equal keys come before each, counted on the chip."""
    K: T.Tensor((4, COLS), T.int32)
    H: T.Tensor((4, bins), dtype)
    R: T.Tensor((4, COLS), dtype)
    with T.Kernel(1, threads=128):
        keys = T.alloc_shared((4, COLS), T.int32)
        counts = T.alloc_shared((4, bins), dtype)
        rank = T.alloc_fragment((4, COLS), dtype)
        T.copy(K, keys)
        T.clear(counts)
        for i, j in T.Parallel(4, COLS):
            rank[i, j] = T.atomic_add(counts[i, keys[i, j]], 1, return_prev=True)
        T.copy(counts, H)
        T.copy(rank, R)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "uint8"])
def test_ranks_in_a_tile(dtype):
    keys = integers((4, COLS), 0, 7)

    def reference(keys, h, r):
        counts = np.stack([np.bincount(row, minlength=7) for row in keys])
        rank = [[np.sum(row[:i] == row[i]) for i in range(COLS)] for row in keys]
        return keys, counts, np.array(rank)

    check(
        ranks,
        [keys, np.zeros((4, 7), dtype), np.zeros((4, COLS), dtype)],
        reference,
        rtol=0,
        atol=0,
        dtype=dtype,
        bins=7,
    )


@tilelang.jit
def extremes(A, most, least, P, Q, dtype, blocks):
    """The largest and smallest so far, before each number."""
    A: T.Tensor((blocks, 8), dtype)
    most: T.Tensor((8,), dtype)
    least: T.Tensor((8,), dtype)
    P: T.Tensor((blocks, 8), dtype)
    Q: T.Tensor((blocks, 8), dtype)
    with T.Kernel(blocks, threads=128) as b, T.Parallel(8) as j:
        P[b, j] = T.atomic_max(most[j], A[b, j], return_prev=True)
        Q[b, j] = T.atomic_min(least[j], A[b, j], return_prev=True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "float32", "float16"])
def test_largest_and_smallest_before(dtype):
    a = integers((6, 8), 0, 1000).astype(dtype)
    if dtype == "uint32":
        a[3] += np.uint32(1 << 31)  # negative as a signed number
    start, end = np.full(8, 500, dtype), np.full(8, 400, dtype)

    def reference(a, most, least, p, q):
        above = np.maximum.accumulate(np.concatenate([most[None], a]))
        below = np.minimum.accumulate(np.concatenate([least[None], a]))
        return a, above[-1], below[-1], above[:-1], below[:-1]

    empty = np.zeros((6, 8), dtype)
    check(
        extremes, [a, start, end, empty, empty.copy()], reference,
        rtol=0, atol=0, dtype=dtype, blocks=6,
    )  # fmt: skip


@tilelang.jit
def counted_product(A, B, count, N, C, blocks):
    """Products whose blocks the two vector cores of each share; one of them counts."""
    A: T.Tensor((blocks * 32, 32), T.float16)
    B: T.Tensor((32, 32), T.float16)
    count: T.Tensor((1,), T.int32)
    N: T.Tensor((blocks,), T.int32)
    C: T.Tensor((blocks * 32, 32), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((32, 32), T.float16)
        w = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        T.copy(A[b * 32, 0], a)
        T.copy(B, w)
        T.gemm(a, w, c, clear_accum=True)
        order = T.alloc_var(T.int32)
        order = T.atomic_add(count[0], 1, return_prev=True)
        for i, j in T.Parallel(32, 32):
            c[i, j] = c[i, j] + order
        N[b] = order
        T.copy(c, C[b * 32, 0])


def test_one_vector_core_counts():
    a, b = randn((96, 32)), randn((32, 32), seed=1)

    def reference(a, b, count, n, c):
        product = a.astype(np.float32) @ b.astype(np.float32)
        return a, b, [3], np.arange(3), product + np.repeat(np.arange(3), 32)[:, None]

    check(
        counted_product,
        [a, b, np.zeros(1, np.int32), np.zeros(3, np.int32), np.zeros((96, 32), np.float32)],
        reference,
        blocks=3,
    )


@tilelang.jit
def outside(count, N, at):
    count: T.Tensor((4,), T.int32)
    N: T.Tensor((2,), T.int32)
    with T.Kernel(2, threads=128) as b:
        N[b] = T.atomic_add(count[at + b], 5, return_prev=True)


def test_outside_a_tensor_nothing_changes():
    count = np.arange(1, 5, dtype=np.int32)
    check(
        outside, [count, np.full(2, 9, np.int32)],
        lambda c, n: ([1, 2, 3, 9], [4, 0]), at=3, rtol=0, atol=0,
    )  # fmt: skip


def test_what_the_compiler_prints_does_the_same():
    a, zero = randn((9, COLS), np.float32), np.zeros(2, np.int32)
    inputs = [a, zero, np.zeros((18, COLS), np.float32), np.zeros(9, np.int32)]
    kernel = compile_kernel(tickets, inputs, {"blocks": 9}, 2)
    source = kernel.expert_source()
    assert "T.atomic_add(count[1], 2, return_prev=True)" in source
    want = Program(kernel, inputs).good(check=True).tensors
    found = Program(module_of(source).kernel, inputs).good(check=True).tensors
    assert all(np.array_equal(want[name], found[name]) for name in want)


@tilelang.jit
def steers_the_cube(A, B, count, C, blocks):
    A: T.Tensor((blocks * 32, 32), T.float16)
    B: T.Tensor((32, 32), T.float16)
    count: T.Tensor((1,), T.int32)
    C: T.Tensor((blocks * 32, 32), T.float32)
    with T.Kernel(blocks, threads=128):
        a = T.alloc_shared((32, 32), T.float16)
        w = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        b = T.atomic_add(count[0], 1, return_prev=True)
        T.copy(A[b * 32, 0], a)
        T.copy(B, w)
        T.gemm(a, w, c, clear_accum=True)
        for i, j in T.Parallel(32, 32):
            c[i, j] = T.exp(c[i, j])
        T.copy(c, C[b * 32, 0])


def test_a_number_of_the_vector_core_does_not_steer_the_cube():
    inputs = [randn((64, 32)), randn((32, 32)), np.zeros(1, np.int32), np.zeros((64, 32), "f4")]
    with pytest.raises(CompileError, match="E0704") as error:
        compile_kernel(steers_the_cube, inputs, {"blocks": 2}, 2)
    assert "T.atomic_add(count[0]" in str(error.value)


def test_hivm_has_no_such_atomic():
    a, zero = randn((9, COLS), np.float32), np.zeros(2, np.int32)
    inputs = [a, zero, np.zeros((18, COLS), np.float32), np.zeros(9, np.int32)]
    kernel = compile_kernel(tickets, inputs, {"blocks": 9}, 2)
    with pytest.raises(CompileError, match="return_prev"):
        launches(kernel.core, "flags")


@tilelang.jit
def looks(count, N, blocks):
    count: T.Tensor((1,), T.int32)
    N: T.Tensor((blocks,), T.int32)
    with T.Kernel(blocks, threads=128) as b:
        T.atomic_add(count[0], b)
        N[b] = T.atomic_load(count[0])


def test_a_load_in_order():
    check(
        looks, [np.zeros(1, np.int32), np.zeros(5, np.int32)],
        lambda c, n: ([10], np.cumsum(np.arange(5))), blocks=5, rtol=0, atol=0,
    )  # fmt: skip
