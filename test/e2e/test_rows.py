# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks that get more rows, tiles that only hold copies, tiles that stay the same."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn


def applied(function, inputs, fixed):
    """The stages that did something."""
    kernel = compile_kernel(function, inputs, fixed, 2)
    return {r["stage"] for r in kernel.remarks if r["kind"] == "applied"}


@tilelang.jit
def quantised(A, W, M, N, rows, cols, down):
    """A few rows a block: scaled by their largest element, weighted, with the row's number."""
    A: T.Tensor((M, N), T.float32)
    W: T.Tensor((cols,), T.float16)
    C = T.empty((M, N), T.float16)
    S = T.empty((M, N // cols), T.float32)
    with T.Kernel(T.ceildiv(M, rows), N // cols, threads=128) as (by, bx):
        a = T.alloc_fragment((rows, cols), T.float32)
        w = T.alloc_shared((cols,), T.float16)
        top = T.alloc_fragment((rows,), T.float32)
        out = T.alloc_fragment((rows, cols), T.float16)
        staged = T.alloc_shared((rows, cols), T.float16)
        T.copy(A[by * rows, bx * cols], a)
        T.copy(W, w)
        T.reduce_absmax(a, top, dim=1)
        for i in T.Parallel(rows):
            top[i] = T.max(top[i], 1e-4)
        for i, j in T.Parallel(rows, cols):
            if down:
                out[i, j] = a[i, j] / top[i] * w[j] + (by * rows + i) / 64
            else:
                out[i, j] = a[i, j] / top[i] * w[j]
        T.copy(out, staged)
        T.copy(staged, C[by * rows, bx * cols])
        T.copy(top, S[by * rows : (by + 1) * rows, bx])
    return C, S


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(
    ("M", "N", "rows", "cols", "grows"),
    [
        (1024, 128, 8, 64, True),
        (640, 128, 4, 32, True),
        (509, 64, 8, 64, True),
        (60, 64, 3, 64, False),
        (4 * 163, 64, 4, 64, True),  # no number of blocks divides the grid
        (4 * 97 - 3, 96, 4, 32, True),
    ],
)
def test_a_few_rows(M, N, rows, cols, grows, down):
    inputs = [randn((M, N), np.float32, seed=1), randn((cols,), seed=2)]
    fixed = {"M": M, "N": N, "rows": rows, "cols": cols, "down": down}

    def reference(a, w):
        parts = a.reshape(M, N // cols, cols)
        top = np.maximum(np.abs(parts).max(-1), 1e-4)
        c = parts / top[..., None] * w.astype(np.float32)
        if down:
            c = c + np.arange(M)[:, None, None] / 64
        return c.reshape(M, N), top

    stages = applied(quantised, inputs, fixed)
    assert ("tile-batch-blocks" in stages) == grows
    assert "tile-forward-copies" in stages
    check(quantised, inputs, reference, rtol=4e-3, atol=4e-3, **fixed)


@tilelang.jit
def first_rows(A, M, N, rows, blocks):
    """Work on the first rows only: a block beyond the grid would find rows to work on."""
    A: T.Tensor((M, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((rows, N), T.float32)
        T.copy(A[b * rows, 0], a)
        for i, j in T.Parallel(rows, N):
            a[i, j] = a[i, j] + 1.0
        T.copy(a, C[b * rows, 0])
    return C


@pytest.mark.parametrize(("rows", "blocks"), [(1, 163), (2, 163), (2, 164), (2, 192)])
def test_rows_behind_the_grid_stay(rows, blocks):
    inputs = [randn((rows * 200, 32), np.float32, seed=1)]
    fixed = {"M": rows * 200, "N": 32, "rows": rows, "blocks": blocks}

    def reference(a):
        c = np.zeros_like(a)
        c[: rows * blocks] = a[: rows * blocks] + np.float32(1)
        return c

    check(first_rows, inputs, reference, rtol=1e-6, atol=1e-6, **fixed)


@tilelang.jit
def relu_product(A, B, M, N, K, bm, bn, bk):
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        a = T.alloc_shared((bm, bk), T.float16)
        b = T.alloc_shared((bk, bn), T.float16)
        c = T.alloc_fragment((bm, bn), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
            T.copy(A[by * bm, k * bk], a)
            T.copy(B[k * bk, bx * bn], b)
            T.gemm(a, b, c)
        for i, j in T.Parallel(bm, bn):
            c[i, j] = T.max(c[i, j], 0)
        T.copy(c, C[by * bm, bx * bn])
    return C


@pytest.mark.parametrize(("M", "N"), [(32 * 13, 32 * 11), (32 * 7 - 3, 32 * 17 - 7)])
def test_grids_of_odd_extents(M, N):
    """A product with vector work in small tiles, whose blocks no number divides."""
    inputs = [randn((M, 64), seed=1), randn((64, N), seed=2)]
    fixed = {"M": M, "N": N, "K": 64, "bm": 32, "bn": 32, "bk": 32}

    def reference(a, b):
        return np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)

    assert "tile-widen-blocks" in applied(relu_product, inputs, fixed)
    check(relu_product, inputs, reference, rtol=1e-2, atol=1e-2, **fixed)


@tilelang.jit
def attention(Q, K, V, S, L, D, bq, bk, tail, causal):
    """Rows of queries; `tail`: a mask of columns that may lie outside."""
    Q: T.Tensor((S, D), T.float16)
    K: T.Tensor((L, D), T.float16)
    V: T.Tensor((L, D), T.float16)
    O = T.empty((S, D), T.float16)
    with T.Kernel(T.ceildiv(S, bq), threads=128) as bx:
        q = T.alloc_shared((bq, D), T.float16)
        k = T.alloc_shared((bk, D), T.float16)
        v = T.alloc_shared((bk, D), T.float16)
        o_shared = T.alloc_shared((bq, D), T.float16)
        s = T.alloc_fragment((bq, bk), T.float32)
        p = T.alloc_fragment((bq, bk), T.float16)
        o = T.alloc_fragment((bq, D), T.float32)
        top = T.alloc_fragment((bq,), T.float32)
        before = T.alloc_fragment((bq,), T.float32)
        scale = T.alloc_fragment((bq,), T.float32)
        part = T.alloc_fragment((bq,), T.float32)
        total = T.alloc_fragment((bq,), T.float32)
        T.copy(Q[bx * bq, 0], q)
        T.clear(o)
        T.clear(total)
        T.fill(top, -T.infinity("float32"))
        turns = T.ceildiv((bx + 1) * bq, bk) if causal else T.ceildiv(L, bk)
        for t in T.Pipelined(turns, num_stages=2):
            T.copy(K[t * bk, 0], k)
            if tail:
                for i, j in T.Parallel(bq, bk):
                    s[i, j] = T.if_then_else(t * bk + j >= L, -T.infinity("float32"), 0)
            elif causal:
                for i, j in T.Parallel(bq, bk):
                    s[i, j] = T.if_then_else(bx * bq + i >= t * bk + j, 0, -T.infinity("float32"))
            else:
                T.clear(s)
            T.gemm(q, k, s, transpose_B=True)
            T.copy(top, before)
            T.fill(top, -T.infinity("float32"))
            T.reduce_max(s, top, dim=1, clear=False)
            for i in T.Parallel(bq):
                top[i] = T.max(top[i], before[i])
            for i in T.Parallel(bq):
                scale[i] = T.exp2(before[i] * 0.125 - top[i] * 0.125)
            for i, j in T.Parallel(bq, bk):
                s[i, j] = T.exp2(s[i, j] * 0.125 - top[i] * 0.125)
            T.reduce_sum(s, part, dim=1)
            for i in T.Parallel(bq):
                total[i] = total[i] * scale[i] + part[i]
            T.copy(s, p)
            for i, j in T.Parallel(bq, D):
                o[i, j] *= scale[i]
            T.copy(V[t * bk, 0], v)
            T.gemm(p, v, o)
        for i, j in T.Parallel(bq, D):
            o[i, j] /= total[i]
        T.copy(o, o_shared)
        T.copy(o_shared, O[bx * bq, 0])
    return O


@pytest.mark.parametrize(
    ("S", "L", "bq", "bk", "tail", "causal", "grows"),
    [
        (1536, 256, 16, 64, False, False, True),
        (1536, 256, 32, 64, True, False, True),
        (1528, 200, 32, 64, True, False, True),
        (256, 256, 32, 64, False, True, False),
    ],
)
def test_queries(S, L, bq, bk, tail, causal, grows):
    inputs = [randn((S, 64), seed=1), randn((L, 64), seed=2), randn((L, 64), seed=3)]
    fixed = {"S": S, "L": L, "D": 64, "bq": bq, "bk": bk, "tail": tail, "causal": causal}

    def reference(q, k, v):
        s = q.astype(np.float64) @ k.astype(np.float64).T
        if causal:
            s = np.where(np.arange(S)[:, None] >= np.arange(L), s, -np.inf)
        w = np.exp2((s - s.max(1, keepdims=True)) * 0.125)
        return w / w.sum(1, keepdims=True) @ v.astype(np.float64)

    assert ("tile-widen-blocks" in applied(attention, inputs, fixed)) == grows
    check(attention, inputs, reference, rtol=1e-2, atol=1e-2, seeds=2, **fixed)


def test_a_mask_that_covers_all_is_none():
    inputs = [randn((64, 64), seed=1), randn((128, 64), seed=2), randn((128, 64), seed=3)]
    fixed = {"S": 64, "L": 128, "D": 64, "bq": 64, "bk": 64, "causal": False}
    with_mask, without = (
        compile_kernel(attention, inputs, fixed | {"tail": tail}, 2).text("tile-vectorize-parallel")
        for tail in (True, False)
    )
    assert "0xFF800000" in without  # the first maximum
    assert with_mask.count("0xFF800000") == without.count("0xFF800000")


@tilelang.jit
def backward(Q, K, S, D, block):
    """A tile made once is an operand of two products, the second time as a copy."""
    Q: T.Tensor((S, D), T.float16)
    K: T.Tensor((S, D), T.float16)
    G = T.empty((S, D), T.float16)
    H = T.empty((S, D), T.float32)
    with T.Kernel(S // block, threads=128) as bx:
        q = T.alloc_shared((block, D), T.float16)
        k = T.alloc_shared((block, D), T.float16)
        s = T.alloc_fragment((block, block), T.float32)
        narrow = T.alloc_fragment((block, block), T.float16)
        again = T.alloc_shared((block, block), T.float16)
        g = T.alloc_fragment((block, D), T.float32)
        h = T.alloc_fragment((block, D), T.float32)
        staged = T.alloc_shared((block, D), T.float16)
        T.copy(K[bx * block, 0], k)
        T.clear(g)
        for t in T.Pipelined(S // block, num_stages=2):
            T.copy(Q[t * block, 0], q)
            T.clear(s)
            T.gemm(k, q, s, transpose_B=True)
            for i, j in T.Parallel(block, block):
                narrow[i, j] = s[i, j] * 0.05
            T.gemm(narrow, q, g)
            T.copy(narrow, again)
            T.clear(h)
            T.gemm(again, k, h, transpose_A=True)
            for i, j in T.Parallel(block, D):
                T.atomic_add(H[t * block + i, j], h[i, j])
        T.copy(g, staged)
        T.copy(staged, G[bx * block, 0])
    return G, H


@pytest.mark.parametrize(("S", "block"), [(64, 32), (96, 32), (128, 64)])
def test_a_tile_read_as_a_copy(S, block):
    inputs = [randn((S, 32), seed=1), randn((S, 32), seed=2)]
    fixed = {"S": S, "D": 32, "block": block}

    def reference(q, k):
        q, k = q.astype(np.float64), k.astype(np.float64)
        s = k @ q.T * 0.05
        return s @ q, s.T @ k

    kernel = compile_kernel(backward, inputs, fixed, 2)
    assert not any("again" in text for text in kernel.text("tile-split-cores").split("tile.alloc"))
    check(backward, inputs, reference, rtol=2e-2, atol=2e-2, **fixed)


@tilelang.jit
def affine(A, W, B, M, N, rows):
    """Weights that a loop loads again and again, and what is made of them."""
    A: T.Tensor((M, N), T.float16)
    W: T.Tensor((N,), T.float16)
    B: T.Tensor((N,), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(M // (2 * rows), threads=128) as b:
        a = T.alloc_shared((rows, N), T.float16)
        w = T.alloc_shared((N,), T.float16)
        bias = T.alloc_shared((N,), T.float16)
        gain = T.alloc_fragment((N,), T.float32)
        for half in T.Pipelined(2, num_stages=2):
            T.copy(A[(b * 2 + half) * rows, 0], a)
            T.copy(W, w)
            T.copy(B, bias)
            for j in T.Parallel(N):
                gain[j] = w[j] * 2.0 + 1.0
            for i, j in T.Parallel(rows, N):
                a[i, j] = a[i, j] * gain[j] + bias[j]
            T.copy(a, C[(b * 2 + half) * rows, 0])
    return C


@pytest.mark.parametrize(("M", "N", "rows"), [(512, 64, 2), (2048, 96, 16), (96, 130, 3)])
def test_tiles_that_stay(M, N, rows):
    inputs = [randn((M, N), seed=1), randn((N,), seed=2), randn((N,), seed=3)]
    fixed = {"M": M, "N": N, "rows": rows}

    def reference(a, w, b):
        a, w, b = (x.astype(np.float32) for x in (a, w, b))
        return a * (w * 2 + 1) + b

    assert "npu-hoist-invariants" in applied(affine, inputs, fixed)
    check(affine, inputs, reference, rtol=4e-3, atol=4e-3, **fixed)


@tilelang.jit
def counted(A, C, N):
    """Each turn reads the tensor that it writes when both are one array."""
    A: T.Tensor((N,), T.float32)
    C: T.Tensor((N,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((N,), T.float32)
        more = T.alloc_shared((N,), T.float32)
        for _ in T.serial(4):
            T.copy(A, a)
            for i in T.Parallel(N):
                more[i] = a[i] + 1
            T.copy(more, C)


@pytest.mark.parametrize("is_one", [True, False])
def test_one_array_for_two_tensors(is_one):
    a, c = np.zeros(64, np.float32), np.zeros(64, np.float32)
    counted(a, a if is_one else c, N=64)
    assert (a == (4 if is_one else 0)).all() and (c == (0 if is_one else 1)).all()


@tilelang.jit
def branches_that_no_lane_takes(X, limit):
    """The places of the branches lie in front of the tile."""
    X: T.Tensor((24, 24), "float32")
    limit: T.int32
    Y = T.empty((24, 24), "float32")
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_shared((24, 24), "float32")
        T.copy(X, x)
        for i, j in T.Parallel(24, 2):
            if j >= 2 and i == limit:
                x[i, j] = x[i, j - 2]
            if i == limit and j > 3:
                x[i, j] = x[i, j - 4]
            if j < 2 or i == limit:
                x[i, j] = x[i, j] + 1.0
        T.copy(x, Y)
    return Y


def test_branches_that_no_lane_takes_need_no_place() -> None:
    def reference(X: np.ndarray, limit: int) -> np.ndarray:
        Y = X.copy()
        Y[:, :2] += np.float32(1)
        return Y

    check(branches_that_no_lane_takes, [randn((24, 24), dtype=np.float32, seed=5), 3], reference)
