# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product of 8-bit integers, exact in 32 bits, scaled by row and by column to f16."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def matmul_int8(A, B, a_scale, b_scale, block_M: int = 128, block_N: int = 128, block_K: int = 128):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.int8)
    B: T.Tensor((N, K), T.int8)
    a_scale: T.Tensor((M,), T.float32)
    b_scale: T.Tensor((N,), T.float32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        a = T.alloc_shared((block_M, block_K), T.int8)
        b = T.alloc_shared((block_N, block_K), T.int8)
        c = T.alloc_fragment((block_M, block_N), T.int32)
        rows = T.alloc_fragment((block_M,), T.float32)
        columns = T.alloc_fragment((block_N,), T.float32)
        out = T.alloc_shared((block_M, block_N), T.float16)
        T.copy(a_scale[by * block_M], rows)
        T.copy(b_scale[bx * block_N], columns)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], a)
            T.copy(B[bx * block_N, k * block_K], b)
            T.gemm(a, b, c, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            out[i, j] = T.cast(c[i, j], "float32") * rows[i] * columns[j]
        T.copy(out, C[by * block_M, bx * block_N])
    return C


def main(m: int = 1024, n: int = 1280, k: int = 1024) -> Row:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-127, 128, (rows, k), dtype=np.int8) for rows in (m, n))
    a_scale, b_scale = (rng.random(rows).astype(np.float32) / 1000 for rows in (m, n))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    expected = exact * a_scale[:, None] * b_scale
    return show("int8 product", lambda: matmul_int8(a, b, a_scale, b_scale), expected, 1e-3)


if __name__ == "__main__":
    main()
