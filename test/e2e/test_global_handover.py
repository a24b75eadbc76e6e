# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in global memory through which one kind of core hands data to the other."""

from __future__ import annotations

import numpy as np

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn


@tilelang.jit
def through(A, B, W, S, blocks, turns, first_only):
    """The vector cores double rows in W, the cube multiplies those, and its products come back in
    S; with `first_only`, W is written in the first turn alone."""
    A: T.Tensor((blocks, turns, 32, 32), T.float16)
    B: T.Tensor((32, 32), T.float16)
    W: T.Tensor((blocks, 32, 32), T.float16)
    S: T.Tensor((blocks, 32, 32), T.float32)
    C = T.empty((blocks, 32, 32), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((32, 32), T.float16)
        w = T.alloc_shared((32, 32), T.float16)
        right = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        s = T.alloc_fragment((32, 32), T.float32)
        total = T.alloc_fragment((32, 32), T.float32)
        T.copy(B, right)
        T.clear(total)
        for k in T.Pipelined(turns, num_stages=2):
            if k == 0 or not first_only:
                T.copy(A[b, k, 0, 0], a)
                for i, j in T.Parallel(32, 32):
                    a[i, j] = a[i, j] * 2
                T.copy(a, W[b, 0, 0])
            T.copy(W[b, 0, 0], w)
            T.gemm(w, right, c, clear_accum=True)
            T.copy(c, S[b, 0, 0])
            T.copy(S[b, 0, 0], s)
            for i, j in T.Parallel(32, 32):
                total[i, j] += s[i, j]
        T.copy(total, C[b, 0, 0])
    return C


def run(turns: int, first_only: bool, blocks: int = 2) -> None:
    a, b = randn((blocks, turns, 32, 32)), randn((32, 32), seed=1)

    def reference(a, b, w, s):
        rows = a[:, :1].repeat(turns, 1) if first_only else a
        return (2 * rows.astype(np.float32) @ b.astype(np.float32)).sum(1)

    check(
        through,
        [a, b, np.zeros((blocks, 32, 32), np.float16), np.zeros((blocks, 32, 32), np.float32)],
        reference,
        rtol=1e-2,
        atol=5e-2,
        blocks=blocks,
        turns=turns,
        first_only=first_only,
    )


def test_each_turn_waits_for_the_other_core():
    run(4, False)


def test_more_blocks_than_cores():
    run(2, False, blocks=27)


def test_writes_of_the_first_turn():
    run(3, True)


def test_a_remark_tells_the_way():
    inputs = [randn((1, 2, 32, 32)), randn((32, 32))]
    inputs += [np.zeros((1, 32, 32), np.float16), np.zeros((1, 32, 32), np.float32)]
    fixed = {"blocks": 1, "turns": 2, "first_only": False}
    remarks = [r["message"] for r in compile_kernel(through, inputs, fixed, 2).remarks]
    assert "'W' goes from aiv to aic in global memory; reads wait for the writes" in remarks
    assert "'S' goes from aic to aiv in global memory; reads wait for the writes" in remarks


@tilelang.jit
def with_a_product_between(Q, K, V, W, turns):
    """W comes back from the cube and is read, and other work is handed over before it is used."""
    Q: T.Tensor((64, 32), T.float16)
    K: T.Tensor((turns, 64, 32), T.float16)
    V: T.Tensor((64, 32), T.float16)
    W: T.Tensor((64, 64), T.float32)
    O = T.empty((64, 32), T.float32)
    R = T.empty((turns, 64, 64), T.float32)
    with T.Kernel(1, threads=128) as _:
        q = T.alloc_shared((64, 32), T.float16)
        k = T.alloc_shared((64, 32), T.float16)
        v = T.alloc_shared((64, 32), T.float16)
        c = T.alloc_fragment((64, 64), T.float32)
        s = T.alloc_fragment((64, 64), T.float32)
        w = T.alloc_fragment((64, 64), T.float32)
        p = T.alloc_shared((64, 64), T.float16)
        top = T.alloc_fragment((64,), T.float32)
        o = T.alloc_fragment((64, 32), T.float32)
        T.copy(Q, q)
        T.copy(V, v)
        T.clear(o)
        for t in T.serial(turns):
            T.copy(K[t, :, :], k)
            T.gemm(q, k, c, transpose_B=True, clear_accum=True)
            T.copy(c, s)
            T.gemm(q, k, c, transpose_B=True, clear_accum=True)
            T.copy(c, W)
            T.copy(W, w)
            T.reduce_max(s, top, dim=1)
            for i, j in T.Parallel(64, 64):
                p[i, j] = s[i, j] - top[i]
            T.gemm(p, v, o)
            for i, j in T.Parallel(64, 64):
                w[i, j] = w[i, j] * top[i]
            T.copy(w, R[t, :, :])
        T.copy(o, O)
    return O, R


def test_reads_of_a_tensor_stay_before_it_is_given_back() -> None:
    Q, K, V = randn((64, 32), seed=1), randn((4, 64, 32), seed=2), randn((64, 32), seed=3)

    def reference(
        Q: np.ndarray, K: np.ndarray, V: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        scores = np.einsum("ik,tjk->tij", Q.astype(np.float32), K.astype(np.float32))
        top = scores.max(2, keepdims=True)
        weights = (scores - top).astype(np.float16).astype(np.float32)
        return np.einsum("tij,jk->ik", weights, V.astype(np.float32)), scores * top

    W = np.zeros((64, 64), np.float32)
    check(with_a_product_between, [Q, K, V, W], reference, rtol=2e-2, atol=2e-1, turns=4)
