# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that several tests share: attention and the fused product with softmax."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tilelang
import tilewright.language as T

ROOT = Path(__file__).resolve().parents[2]


def example(name: str) -> Any:
    """The module examples/NAME.py."""
    module = sys.modules.get(f"example_{name}")
    if module is None:
        spec = importlib.util.spec_from_file_location(
            f"example_{name}", ROOT / "examples" / f"{name}.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module


@tilelang.jit
def attention(Q, K, V, heads, block_q, block_k, causal, stages):
    """Softmax of scaled Q.K^T times V, one block of rows at a time, keys in blocks."""
    S, L, D = T.const("S, L, D")
    Q: T.Tensor((heads, S, D), T.float16)
    K: T.Tensor((heads, L, D), T.float16)
    V: T.Tensor((heads, L, D), T.float16)
    O = T.empty((heads, S, D), T.float16)
    scale = 1.4426950408889634 / float(D) ** 0.5  # exp2 in place of exp

    with T.Kernel(T.ceildiv(S, block_q), heads, threads=128) as (bq, h):
        q = T.alloc_shared((block_q, D), T.float16)
        k = T.alloc_shared((block_k, D), T.float16)
        v = T.alloc_shared((block_k, D), T.float16)
        score = T.alloc_fragment((block_q, block_k), T.float32)
        weight = T.alloc_shared((block_q, block_k), T.float16)
        out = T.alloc_fragment((block_q, D), T.float32)
        top = T.alloc_fragment((block_q,), T.float32)
        top_before = T.alloc_fragment((block_q,), T.float32)
        shrink = T.alloc_fragment((block_q,), T.float32)
        part = T.alloc_fragment((block_q,), T.float32)
        total = T.alloc_fragment((block_q,), T.float32)

        T.copy(Q[h, bq * block_q : (bq + 1) * block_q, :], q)
        T.clear(out)
        T.clear(total)
        T.fill(top, -1e30)
        turns = T.ceildiv(L, block_k)
        if causal:
            turns = T.min(turns, T.ceildiv((bq + 1) * block_q, block_k))
        for n in T.Pipelined(turns, num_stages=stages):
            T.copy(K[h, n * block_k : (n + 1) * block_k, :], k)
            for i, j in T.Parallel(block_q, block_k):
                if causal:
                    score[i, j] = T.if_then_else(bq * block_q + i >= n * block_k + j, 0.0, -1e30)
                else:
                    score[i, j] = T.if_then_else(n * block_k + j < L, 0.0, -1e30)
            T.gemm(q, k, score, transpose_B=True)
            T.copy(V[h, n * block_k : (n + 1) * block_k, :], v)
            T.copy(top, top_before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(block_q):
                shrink[i] = T.exp2((top_before[i] - top[i]) * scale)
            for i, j in T.Parallel(block_q, block_k):
                score[i, j] = T.exp2(score[i, j] * scale - top[i] * scale)
            T.reduce_sum(score, part, dim=1)
            T.copy(score, weight)
            for i in T.Parallel(block_q):
                total[i] = total[i] * shrink[i] + part[i]
            for i, j in T.Parallel(block_q, D):
                out[i, j] *= shrink[i]
            T.gemm(weight, v, out)
        for i, j in T.Parallel(block_q, D):
            out[i, j] /= total[i]
        T.copy(out, O[h, bq * block_q : (bq + 1) * block_q, :])
    return O


def attention_reference(causal: bool) -> Any:
    def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        q, k, v = (a.astype(np.float64) for a in (q, k, v))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
        return softmax(scores) @ v

    return reference


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax over the last dimension."""
    found = np.exp(scores - scores.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)
