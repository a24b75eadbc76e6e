# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums over a loop that L0C cannot hold together."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn
from kernels import attention, attention_reference


@tilelang.jit
def two_sums(A, B, C, rows, columns, turn, narrow):
    """left = P^T B and right = P^T C, where P = A B^T is made turn by turn."""
    N, M, D, E = T.const("N, M, D, E")
    A: T.Tensor((M, D), T.float16)
    B: T.Tensor((N, D), T.float16)
    C: T.Tensor((N, E), T.float16)
    Left = T.empty((M, D), T.float32)
    Right = T.empty((M, E), T.float32)
    kept = T.float16 if narrow else T.float32
    with T.Kernel(T.ceildiv(M, rows), threads=128) as b:
        a = T.alloc_shared((rows, D), T.float16)
        k = T.alloc_shared((turn, D), T.float16)
        v = T.alloc_shared((turn, columns), T.float16)
        score = T.alloc_fragment((rows, turn), T.float32)
        weight = T.alloc_shared((rows, turn), T.float16)
        left = T.alloc_fragment((rows, D), T.float32)
        right = T.alloc_fragment((rows, columns), kept)
        T.copy(A[b * rows, 0], a)
        T.clear(left)
        T.clear(right)
        for n in T.Pipelined(T.ceildiv(N, turn), num_stages=2):
            T.copy(B[n * turn, 0], k)
            T.copy(C[n * turn, 0], v)
            T.gemm(a, k, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(rows, turn):
                weight[i, j] = T.max(score[i, j], 0.0) * 0.0625
            T.gemm(weight, k, left)
            T.gemm(weight, v, right)
        T.copy(left, Left[b * rows, 0])
        T.copy(right, Right[b * rows, 0])
    return Left, Right


def reference(a, b, c):
    weight = (np.maximum(a @ b.T, 0) * np.float32(0.0625)).astype(np.float16).astype(np.float32)
    return weight @ b, weight @ c


# KiB of L0C for the sums and the scores: 32 + 16 + 16; 96 + 64 + 16, of which the product of the
# larger sum alone fits beside no other; 32 + 96 + 16, of which the larger has to leave.
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    ("width", "columns", "leave"),
    [(64, 32, set()), (192, 128, {"left", "right"}), (64, 192, {"right"})],
)
def test_sums_that_share_l0c(width, columns, leave, narrow):
    rows, turn, keys = 128, 32, 80
    inputs = [
        randn((rows, width), seed=1),
        randn((keys, width), seed=2),
        randn((keys, columns), seed=3),
    ]
    fixed = {"rows": rows, "columns": columns, "turn": turn, "narrow": narrow}
    found = compile_kernel(two_sums, inputs, fixed, level=2)
    said = {
        r["message"].split("'")[1]
        for r in found.remarks
        if "leaves L0C in each turn" in r["message"]
    }
    assert said == leave
    check(two_sums, inputs, reference, rtol=2e-2, atol=2e-2, **fixed)


@pytest.mark.parametrize(("queries", "keys"), [(512, 512), (500, 700)])
def test_sums_in_halves(queries, keys):
    """Scores of 128 x 256 fill L0C."""
    inputs = [
        randn((1, rows, 64), seed=seed) for seed, rows in enumerate((queries, keys, keys), start=1)
    ]
    fixed = {"heads": 1, "block_q": 128, "block_k": 256, "causal": False, "stages": 2}
    found = compile_kernel(attention, inputs, fixed, level=2)
    assert any(r["stage"] == "tile-halve-sums" for r in found.remarks)
    check(attention, inputs, attention_reference(False), rtol=1e-2, atol=4e-3, **fixed)


@tilelang.jit
def handed_on(A, B, turns):
    """A sum that a second loop goes on with, and clears behind itself."""
    M, N, K = T.dynamic("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, 32)) as by:
        a = T.alloc_shared((32, 16), T.float16)
        b = T.alloc_shared((16, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        r = T.alloc_fragment((32,), T.float32)
        T.clear(r)
        T.clear(s)
        for k in T.serial(T.ceildiv(K, 16)):
            T.copy(A[by * 32, k * 16], a)
            T.copy(B[k * 16, 0], b)
            T.gemm(a, b, s)
        for k in T.serial(turns):
            T.copy(A[by * 32, k * 16], a)
            T.copy(B[k * 16, 0], b)
            T.gemm(a, b, s)
            T.reduce_sum(s, r, dim=1, clear=False)
            T.clear(s)
        T.copy(r, C[by * 32])
    return C


@pytest.mark.parametrize("turns", [1, 2])
def test_a_sum_that_a_second_loop_goes_on_with(turns):
    def reference(a, b):
        a, b = a.astype(np.float64), b.astype(np.float64)
        return (a @ b).sum(1) + (a[:, : 16 * turns] @ b[: 16 * turns]).sum(1)

    inputs = [randn((40, 48), seed=1), randn((48, 32), seed=2)]
    check(handed_on, inputs, reference, rtol=1e-2, atol=5e-2, turns=turns)
