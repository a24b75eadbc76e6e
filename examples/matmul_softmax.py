# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax over the full rows of A.B as one kernel.

The kernel keeps each block's rows on one core group: the cube multiplies tile after tile while the
vector cores turn the tile before into exponentials (an online softmax); a second pass over the
block's own rows, still in the L2 cache, scales them.

    tilewright run examples/matmul_softmax.py
"""

from __future__ import annotations

import tilewright as tilelang
import tilewright.language as T


@tilelang.jit
def matmul_softmax(A, B, block_M: int, block_N: int, block_K: int):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    P = T.empty((M, N), T.float16)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bm:
        A_shared = T.alloc_shared((block_M, K), T.float16)
        B_shared = T.alloc_shared((block_K, block_N), T.float16)
        S = T.alloc_fragment((block_M, block_N), T.float32)
        E = T.alloc_shared((block_M, block_N), T.float16)
        tile_max = T.alloc_fragment((block_M,), T.float32)
        tile_sum = T.alloc_fragment((block_M,), T.float32)
        new_max = T.alloc_fragment((block_M,), T.float32)
        row_max = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        scale = T.alloc_fragment((block_M,), T.float16)
        seen_max = T.alloc_fragment((T.ceildiv(N, block_N), block_M), T.float32)

        T.copy(A[bm * block_M, 0], A_shared)
        T.fill(row_max, -T.infinity(T.float32))
        T.fill(row_sum, 0)
        for n in T.serial(T.ceildiv(N, block_N)):
            T.clear(S)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(B[k * block_K, n * block_N], B_shared)
                T.gemm(A_shared[:, k * block_K : (k + 1) * block_K], B_shared, S)
            T.reduce_max(S, tile_max, dim=1)
            for i in T.Parallel(block_M):
                new_max[i] = T.max(row_max[i], tile_max[i])
            for i, j in T.Parallel(block_M, block_N):
                S[i, j] = T.exp(S[i, j] - new_max[i])
            T.reduce_sum(S, tile_sum, dim=1)
            for i in T.Parallel(block_M):
                row_sum[i] = row_sum[i] * T.exp(row_max[i] - new_max[i]) + tile_sum[i]
                row_max[i] = new_max[i]
                seen_max[n, i] = new_max[i]
            T.copy(S, E)
            T.copy(E, P[bm * block_M, n * block_N])

        for n in T.Pipelined(T.ceildiv(N, block_N), num_stages=2):
            T.copy(P[bm * block_M, n * block_N], E)
            for i in T.Parallel(block_M):
                scale[i] = T.exp(seen_max[n, i] - row_max[i]) / row_sum[i]
            for i, j in T.Parallel(block_M, block_N):
                E[i, j] = E[i, j] * scale[i]
            T.copy(E, P[bm * block_M, n * block_N])

    return P
