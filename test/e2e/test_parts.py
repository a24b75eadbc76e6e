# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without cube work whose blocks are cut by rows: tiles that do not fit, small grids."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn


@tilelang.jit
def normalised(A, W, rows, cols, block):
    """Rows divided by their norm, times a weight for each column."""
    A: T.Tensor((rows, cols), T.float32)
    W: T.Tensor((cols,), T.float32)
    C = T.empty((rows, cols), T.float32)
    N = T.empty((rows,), T.float32)
    with T.Kernel(T.ceildiv(rows, block), threads=128) as b:
        a = T.alloc_shared((block, cols), T.float32)
        w = T.alloc_fragment((cols,), T.float32)
        square = T.alloc_fragment((block, cols), T.float32)
        norm = T.alloc_fragment((block,), T.float32)
        T.copy(A[b * block, 0], a)
        T.copy(W, w)
        for i, j in T.Parallel(block, cols):
            square[i, j] = a[i, j] * a[i, j]
        T.reduce_sum(square, norm, dim=1)
        for i in T.Parallel(block):
            norm[i] = T.sqrt(norm[i] + 1e-6)
        for i, j in T.Parallel(block, cols):
            a[i, j] = a[i, j] / norm[i] * w[j]
        T.copy(a, C[b * block, 0])
        T.copy(norm, N[b * block])
    return C, N


def reference(a, w):
    norm = np.sqrt((a * a).sum(1) + 1e-6)
    return a / norm[:, None] * w, norm


@pytest.mark.parametrize(
    ("rows", "cols", "block"),
    [(64, 1024, 64), (37, 2048, 37), (50, 1000, 20), (3, 8192, 3), (200, 96, 8)],
)
def test_parts(rows, cols, block):
    inputs = [randn((rows, cols), np.float32, seed=1), randn((cols,), np.float32, seed=2)]
    check(normalised, inputs, reference, rtol=1e-5, atol=1e-5, rows=rows, cols=cols, block=block)


def parts_of(rows, cols, block):
    inputs = [randn((rows, cols), np.float32), randn((cols,), np.float32)]
    kernel = compile_kernel(normalised, inputs, {"rows": rows, "cols": cols, "block": block}, 2)
    found = [r["message"] for r in kernel.remarks if "each block is cut into" in r["message"]]
    return int(found[0].split("into ")[1].split()[0]) if found else 1


def test_as_many_parts_as_needed():
    assert parts_of(rows=4096, cols=512, block=8) == 1  # fits, and keeps all cores busy
    assert parts_of(rows=4096, cols=1024, block=64) == 8  # 768 KiB of slots in 192 KiB
    assert parts_of(rows=64, cols=1024, block=64) > 4  # one block for 40 cores


def test_one_row_stays_on_the_vector_unit():
    """A dimension of one point is a lane like any other: the scalar unit would have to wait for the
    vector unit, and could not issue the next block's load meanwhile."""
    inputs = [randn((96, 512), np.float32), randn((512,), np.float32)]
    kernel = compile_kernel(normalised, inputs, {"rows": 96, "cols": 512, "block": 1}, 2)
    assert "scalar_load" not in kernel.text("npu-insert-sync")
    check(normalised, inputs, reference, rtol=1e-5, atol=1e-5, rows=96, cols=512, block=1)


@tilelang.jit
def overlapping_stores(A, turns):
    """Each turn stores a row further down: the last turn that reaches a row decides."""
    A: T.Tensor((64, 1024), T.float32)
    turns: T.int32
    C = T.empty((80, 1024), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((16, 1024), T.float32)
        T.copy(A[0, 0], a)
        for t in T.serial(turns):
            for i, j in T.Parallel(16, 1024):
                a[i, j] = a[i, j] * 0.5 + t
            T.copy(a, C[t, 0])
    return C


@tilelang.jit
def overlapping_products(A, B, turns):
    A: T.Tensor((32, 32), T.float16)
    B: T.Tensor((32, 32), T.float16)
    turns: T.int32
    C = T.empty((64, 32), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        d = T.alloc_fragment((32, 32), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        T.clear(d)
        for t in T.serial(turns):
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                d[i, j] = d[i, j] + c[i, j] + t
            T.copy(d, C[t, 0])
    return C


def test_rows_that_turns_store_again():
    """The rows of one part in a turn are those of another in the next: no core may run ahead."""
    check(overlapping_stores, [randn((64, 1024), np.float32), 5], None)
    check(overlapping_products, [randn((32, 32)), randn((32, 32), seed=2), 5], None)


@tilelang.jit
def two_launches(A, B, blocks):
    """The first does not fit and can be cut; the second fits and is a product or cannot be cut."""
    A: T.Tensor((64 * blocks, 2048), T.float32)
    B: T.Tensor((32, 32), T.float16)
    C = T.empty((64 * blocks, 2048), T.float32)
    D = T.empty((32, 32), T.float32)
    with T.Kernel(blocks) as b:
        a = T.alloc_shared((64, 2048), T.float32)
        T.copy(A[b * 64, 0], a)
        for i, j in T.Parallel(64, 2048):
            a[i, j] = a[i, j] * 2
        T.copy(a, C[b * 64, 0])
    with T.Kernel(1):
        b = T.alloc_shared((32, 32), T.float16)
        d = T.alloc_fragment((32, 32), T.float32)
        T.copy(B, b)
        if blocks == 1:
            T.cumsum(b, dim=0)
            T.cumsum(b, dim=1)
            T.copy(b, d)
        else:
            T.gemm(b, b, d, clear_accum=True)
        T.copy(d, D)
    return C, D


@pytest.mark.parametrize("blocks", [1, 41])
def test_one_launch_of_two(blocks):
    def reference(a, b):
        b = b.astype(np.float64)
        return a * 2, b.cumsum(0).cumsum(1) if blocks == 1 else b @ b

    inputs = [randn((64 * blocks, 2048), np.float32), randn((32, 32), seed=2)]
    check(two_launches, inputs, reference, rtol=1e-2, atol=0.2, seeds=1, blocks=blocks)


@tilelang.jit
def weighted_rows(A, W, rows, cols):
    """Per column, sums over rows of a and of a times its share of its row; what the tiles leave of
    the unified buffer is less than one row of float32."""
    A: T.Tensor((rows, cols), T.float32)
    W: T.Tensor((cols,), T.float32)
    S = T.empty((2, cols), T.float32)
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_fragment((1, cols), T.float32)
        w = T.alloc_fragment((cols,), T.float32)
        scaled = T.alloc_fragment((1, cols), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        sums = T.alloc_fragment((cols,), T.float32)
        products = T.alloc_fragment((cols,), T.float32)
        T.copy(W, w)
        T.clear(sums)
        T.clear(products)
        for k in T.serial(rows):
            T.copy(A[k, 0], a)
            for i, j in T.Parallel(1, cols):
                scaled[i, j] = a[i, j] * w[j]
            T.reduce_sum(scaled, total, dim=1)
            for i, j in T.Parallel(1, cols):
                share = (scaled[i, j] - w[j] * 0.5) / (total[0] + a[i, j])
                products[j] += share * a[i, j]
                sums[j] += share
        T.copy(sums, S[0, 0])
        T.copy(products, S[1, 0])
    return S


def weighted_rows_reference(a, w):
    scaled = a * w
    share = (scaled - w * np.float32(0.5)) / (scaled.sum(1, keepdims=True) + a)
    return np.stack([share.sum(0), (share * a).sum(0)])


@pytest.mark.parametrize("cols", [8192, 8000])
def test_strips_of_rows_that_cannot_be_cut(cols):
    inputs = [np.abs(randn((3, cols), np.float32, seed=1)), np.abs(randn((cols,), np.float32))]
    kernel = compile_kernel(weighted_rows, inputs, {"rows": 3, "cols": cols}, 2)
    text = kernel.text("tile-vectorize-parallel")
    assert "memref<1x1024xf32" in text and "step %c1024" in text
    check(weighted_rows, inputs, weighted_rows_reference, rtol=1e-4, rows=3, cols=cols)
