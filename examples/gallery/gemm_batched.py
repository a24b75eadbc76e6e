# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A batch of products with B stored transposed: the third extent of the grid is the batch."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def batched(batch, M, N, K, block_M=128, block_N=128, block_K=64):
    @T.prim_func
    def main(
        A: T.Tensor((batch, M, K), "float16"),
        B: T.Tensor((batch, N, K), "float16"),
        C: T.Tensor((batch, M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), batch) as (bx, by, bz):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_N, block_K), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[bz, by * block_M, k * block_K], A_shared)
                T.copy(B[bz, bx * block_N, k * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[bz, by * block_M, bx * block_N])

    return main


def main(batch: int = 10, m: int = 256, n: int = 512, k: int = 512) -> Row:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((batch, m, k)).astype(np.float16)
    b = rng.standard_normal((batch, n, k)).astype(np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1)
    return show("batched product", lambda: batched(batch, m, n, k)(a, b), expected, 1e-3)


if __name__ == "__main__":
    main()
