# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in which cube and vector cores work together: attention, and a product with softmax."""

from __future__ import annotations

import numpy as np
import pytest

from harness import check, randn
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
