# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with an online softmax, causal or not: the cube and the vector cores take turns."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def attention(B, H, S, D, causal=False, block_M=128, block_N=128):
    scale = 1.44269504 / D**0.5
    shape = (B, H, S, D)

    @T.prim_func
    def main(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(S, block_M), H, B, threads=256) as (bx, h, b):
            q = T.alloc_shared((block_M, D), "float16")
            k = T.alloc_shared((block_N, D), "float16")
            v = T.alloc_shared((block_N, D), "float16")
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), "float16")
            out = T.alloc_fragment((block_M, D), "float32")
            top = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            shrink = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(Q[b, h, bx * block_M : (bx + 1) * block_M, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            turns = T.ceildiv((bx + 1) * block_M if causal else S, block_N)
            for n in T.Pipelined(turns, num_stages=2):
                T.copy(K[b, h, n * block_N : (n + 1) * block_N, :], k)
                T.copy(V[b, h, n * block_N : (n + 1) * block_N, :], v)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(
                            bx * block_M + i >= n * block_N + j, 0, -T.infinity("float32")
                        )
                else:
                    T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    shrink[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * shrink[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, D):
                    out[i, j] = out[i, j] * shrink[i]
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block_M, D):
                out[i, j] = out[i, j] / total[i]
            T.copy(out, O[b, h, bx * block_M : (bx + 1) * block_M, :])

    return main


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def main(b: int = 1, h: int = 4, s: int = 1024, d: int = 128, causal: bool = False) -> Row:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((b, h, s, d)).astype(np.float16) for _ in range(3))
    kernel = attention(b, h, s, d, causal)
    name = "causal attention" if causal else "attention"
    return show(name, lambda: kernel(q, k, v), reference(q, k, v, causal), 5e-3)


if __name__ == "__main__":
    main()
