# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product with few rows and columns and a long sum: blocks share K and add up with atomics."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def split_k(A, B, C, parts: int = 20, block_M: int = 128, block_N: int = 128, block_K: int = 128):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C: T.Tensor((M, N), T.float32)
    steps = T.ceildiv(K, parts * block_K)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), parts) as (bx, by, bz):
        a = T.alloc_shared((block_M, block_K), T.float16)
        b = T.alloc_shared((block_K, block_N), T.float16)
        c = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(c)
        for k in T.Pipelined(steps, num_stages=2):
            T.copy(A[by * block_M, (bz * steps + k) * block_K], a)
            T.copy(B[(bz * steps + k) * block_K, bx * block_N], b)
            T.gemm(a, b, c)
        for i, j in T.Parallel(block_M, block_N):
            T.atomic_add(C[by * block_M + i, bx * block_N + j], c[i, j])


def main(m: int = 128, n: int = 128, k: int = 20480) -> Row:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)

    def call() -> np.ndarray:
        c = np.zeros((m, n), np.float32)
        split_k(a, b, c)
        return c

    return show("split-K product", call, a.astype(np.float32) @ b.astype(np.float32), 1e-5)


if __name__ == "__main__":
    main()
