# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in which groups of query heads share keys and values; one block does a group's rows."""

import numpy as np
import tilelang
import tilelang.language as T
from attention import reference
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def grouped_query(B, H, G, S, D, block_M=64, block_N=128):
    scale = 1.44269504 / D**0.5
    heads = H // G

    @T.prim_func
    def main(
        Q: T.Tensor((B, S, H, D), "float16"),
        K: T.Tensor((B, S, G, D), "float16"),
        V: T.Tensor((B, S, G, D), "float16"),
        O: T.Tensor((B, S, H, D), "float16"),
    ):
        with T.Kernel(T.ceildiv(S, block_M), H, B, threads=128) as (bx, h, b):
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
            T.copy(Q[b, bx * block_M : (bx + 1) * block_M, h, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(S, block_N), num_stages=2):
                T.copy(K[b, n * block_N : (n + 1) * block_N, h // heads, :], k)
                T.copy(V[b, n * block_N : (n + 1) * block_N, h // heads, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    shrink[i] = T.exp2((before[i] - top[i]) * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * shrink[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, D):
                    out[i, j] *= shrink[i]
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block_M, D):
                out[i, j] /= total[i]
            T.copy(out, O[b, bx * block_M : (bx + 1) * block_M, h, :])

    return main


def main(b: int = 1, h: int = 8, g: int = 2, s: int = 1024, d: int = 128) -> Row:
    rng = np.random.default_rng(0)
    q = rng.standard_normal((b, s, h, d)).astype(np.float16)
    k, v = (rng.standard_normal((b, s, g, d)).astype(np.float16) for _ in range(2))
    wide = [x.repeat(h // x.shape[2], axis=2).swapaxes(1, 2) for x in (q, k, v)]
    expected = reference(*wide, causal=False).swapaxes(1, 2)
    kernel = grouped_query(b, h, g, s, d)
    return show("grouped-query attention", lambda: kernel(q, k, v), expected, 5e-3)


if __name__ == "__main__":
    main()
