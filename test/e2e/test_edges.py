# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products at the edge of tensors, where a part of a tile is neither loaded nor multiplied."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, randn


@tilelang.jit
def both_operands(X, size):
    """One tile on the left of a product and on the right of another."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    Left = T.empty((T.ceildiv(N, size), M, size), T.float32)
    Right = T.empty((T.ceildiv(M, size), size, N), T.float32)
    with T.Kernel(T.ceildiv(N, size), T.ceildiv(M, size), threads=128) as (bx, by):
        x = T.alloc_shared((size, size), T.float16)
        ones = T.alloc_shared((size, size), T.float16)
        left = T.alloc_fragment((size, size), T.float32)
        right = T.alloc_fragment((size, size), T.float32)
        T.copy(X[by * size, bx * size], x)
        T.fill(ones, 1.0)
        T.gemm(x, ones, left, clear_accum=True)
        T.gemm(ones, x, right, clear_accum=True)
        T.copy(left, Left[bx, by * size, 0])
        T.copy(right, Right[by, 0, bx * size])
    return Left, Right


def test_a_tile_that_is_both_operands():
    def reference(x):
        rows = [x[:, at : at + 32].sum(axis=1) for at in range(0, x.shape[1], 32)]
        columns = [x[at : at + 32].sum(axis=0) for at in range(0, x.shape[0], 32)]
        return (
            np.stack([np.repeat(row[:, None], 32, axis=1) for row in rows]),
            np.stack([np.repeat(column[None], 32, axis=0) for column in columns]),
        )

    check(both_operands, [randn((50, 75), seed=1)], reference, rtol=1e-2, atol=1e-2, size=32)


@tilelang.jit
def loaded_once(A, B, turns):
    """The left operand is loaded in the first turn of the loop over the others."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((turns, K, 32), T.float16)
    C = T.empty((M, 32), T.float32)
    with T.Kernel(T.ceildiv(M, 32), threads=128) as b:
        a = T.alloc_shared((32, K), T.float16)
        k = T.alloc_shared((K, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        T.clear(c)
        for t in T.serial(turns):
            if t == 0:
                T.copy(A[b * 32, 0], a)
            T.copy(B[t, 0, 0], k)
            T.gemm(a, k, c)
        T.copy(c, C[b * 32, 0])
    return C


def test_a_load_inside_of_a_branch():
    inputs = [randn((75, 48), seed=1), randn((3, 48, 32), seed=2)]
    check(loaded_once, inputs, lambda a, b: a @ b.sum(axis=0), rtol=2e-2, atol=2e-2, turns=3)


@tilelang.jit
def upwards(A, B, size):
    """A sum in L0C that starts with the tile at the edge and goes on with whole ones."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, 32), T.float16)
    C = T.empty((M, 32), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_L1((size, K), T.float16)
        b = T.alloc_L1((K, 32), T.float16)
        c = T.alloc_L0C((size, 32), T.float32)
        T.copy(B, b)
        for t in T.serial(3):
            T.copy(A[(2 - t) * size, 0], a)
            T.gemm(a, b, c, initC=(t == 0))
            T.copy(c, C[(2 - t) * size, 0])
    return C


def test_a_sum_that_grows():
    def reference(a, b):
        result = np.zeros((len(a), 32), np.float32)
        total = np.zeros((32, 32), np.float32)
        for first in (64, 32, 0):
            part = a[first : first + 32] @ b
            total[: len(part)] += part
            result[first : first + 32] = total[: len(part)]
        return result

    inputs = [randn((75, 48), seed=1), randn((48, 32), seed=2)]
    check(upwards, inputs, reference, rtol=2e-2, atol=2e-2, size=32)


@tilelang.jit
def row_and_padding(G, R, size):
    """A row spread over a tile, and a load that reads a given value beyond its tensor."""
    M, N = T.const("M, N")
    G: T.Tensor((M, N), T.float32)
    R: T.Tensor((N,), T.float32)
    O = T.empty((T.ceildiv(M, size) * size, N), T.float32)
    with T.Kernel(T.ceildiv(M, size), threads=128) as b:
        total = T.alloc_fragment((size, N), T.float32)
        part = T.alloc_shared((size, N), T.float32)
        row = T.alloc_shared((N,), T.float32)
        T.annotate_safe_value({G: 7.0})
        T.copy(R, row)
        for i, j in T.Parallel(size, N):
            total[i, j] = row[j]
        T.copy(G[b * size, 0], part)
        for i, j in T.Parallel(size, N):
            total[i, j] += part[i, j]
        T.copy(total, O[b * size, 0])
    return O


@pytest.mark.parametrize("rows", [50, 64])
def test_values_beyond_the_tensor_stay(rows):
    def reference(g, r):
        padded = np.full((64, g.shape[1]), 7, np.float32)
        padded[: len(g)] = g
        return padded + r

    inputs = [randn((rows, 64), np.float32, 1), randn((64,), np.float32, 2)]
    check(row_and_padding, inputs, reference, rtol=1e-6, atol=1e-6, size=32)
