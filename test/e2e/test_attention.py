# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in which cube and vector cores work together: attention, and a product with softmax."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn
from kernels import attention, attention_reference, example, softmax


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("blocks", [(32, 32), (16, 64), (64, 16)])
def test_attention(causal, blocks):
    inputs = [randn((2, 128, 32), seed=s) for s in (1, 2, 3)]
    check(
        attention,
        inputs,
        attention_reference(causal),
        rtol=1e-2,
        atol=4e-3,
        heads=2,
        block_q=blocks[0],
        block_k=blocks[1],
        causal=causal,
        stages=2,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention_ragged(causal):
    inputs = [randn((1, 70, 16), seed=s) for s in (1, 2, 3)]
    check(
        attention,
        inputs,
        attention_reference(causal),
        rtol=1e-2,
        atol=4e-3,
        heads=1,
        block_q=32,
        block_k=16,
        causal=causal,
        stages=2,
    )


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_attention_stages(stages):
    inputs = [randn((1, 32, 64), seed=1), randn((1, 96, 64), seed=2), randn((1, 96, 64), seed=3)]
    check(
        attention,
        inputs,
        attention_reference(False),
        rtol=1e-2,
        atol=4e-3,
        heads=1,
        block_q=32,
        block_k=32,
        causal=False,
        stages=stages,
    )


def test_attention_one_turn():
    inputs = [randn((1, 16, 16), seed=s) for s in (1, 2, 3)]
    check(
        attention,
        inputs,
        attention_reference(False),
        rtol=1e-2,
        atol=4e-3,
        heads=1,
        block_q=16,
        block_k=16,
        causal=False,
        stages=2,
    )


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        ((64, 96, 64), (32, 32, 32)),
        ((70, 90, 48), (32, 32, 16)),
        ((32, 32, 32), (32, 32, 32)),
        ((48, 128, 32), (16, 64, 16)),
    ],
)
def test_matmul_softmax(size, blocks):
    M, N, K = size
    inputs = [randn((M, K), seed=1) * np.float16(0.5), randn((K, N), seed=2)]
    kernel = example("matmul_softmax").matmul_softmax
    check(
        kernel,
        inputs,
        lambda a, b: softmax(a.astype(float) @ b.astype(float)),
        rtol=1e-2,
        atol=2e-3,
        block_M=blocks[0],
        block_N=blocks[1],
        block_K=blocks[2],
    )


def test_tiles_that_fill_the_chip_have_a_plain_form():
    """128 x 128 scores with a causal mask fit UB only when vector work is cut over two cores, and
    only whole-tile statements can be cut: the plain form falls back on both."""
    inputs = [randn((1, 128, 128), seed=s) for s in (1, 2, 3)]
    check(
        attention,
        inputs,
        attention_reference(True),
        rtol=1e-2,
        atol=4e-3,
        opt_levels=[0],
        seeds=1,
        heads=1,
        block_q=128,
        block_k=128,
        causal=True,
        stages=1,
    )


@tilelang.jit
def masked_scores(Q, K, causal, inverted):
    """Products where a mask allows them, minus infinity elsewhere, as attention kernels begin."""
    S, L, D = T.const("S, L, D")
    Q: T.Tensor((S, D), T.float16)
    K: T.Tensor((L, D), T.float16)
    O = T.empty((S, L), T.float32)
    with T.Kernel(T.ceildiv(S, 32), threads=128) as b:
        q = T.alloc_shared((32, D), T.float16)
        k = T.alloc_shared((32, D), T.float16)
        score = T.alloc_fragment((32, 32), T.float32)
        T.copy(Q[b * 32, 0], q)
        for n in T.Pipelined(T.ceildiv(L, 32), num_stages=2):
            T.copy(K[n * 32, 0], k)
            for i, j in T.Parallel(32, 32):
                if causal:
                    if inverted:
                        score[i, j] = T.if_then_else(
                            b * 32 + i < n * 32 + j, -T.infinity("float32"), 0
                        )
                    else:
                        score[i, j] = T.if_then_else(
                            b * 32 + i >= n * 32 + j, 0, -T.infinity("float32")
                        )
                else:
                    score[i, j] = T.if_then_else(n * 32 + j >= L, -T.infinity("float32"), 0)
            T.gemm(q, k, score, transpose_B=True)
            T.copy(score, O[b * 32, n * 32])
    return O


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_masks_choose(causal, inverted):
    def reference(q, k):
        scores = q @ k.T
        rows, columns = np.indices(scores.shape)
        return np.where(rows >= columns, scores, -np.inf) if causal else scores

    inputs = [randn((80, 48), seed=1), randn((104, 48), seed=2)]
    fixed = {"causal": causal, "inverted": inverted}
    found = compile_kernel(masked_scores, inputs, fixed, level=2)
    assert any(r["stage"] == "tile-fold-masks" for r in found.remarks)
    check(masked_scores, inputs, reference, rtol=1e-2, atol=1e-2, **fixed)
