# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix times a vector: nothing is used twice, so it is a stream through the vector cores."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def gemv(A, x, block_M: int = 16, block_K: int = 1024):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), T.float16)
    x: T.Tensor((K,), T.float16)
    y = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
        a = T.alloc_shared((block_M, block_K), T.float16)
        v = T.alloc_shared((block_K,), T.float16)
        products = T.alloc_fragment((block_M, block_K), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[bx * block_M, k * block_K], a)
            T.copy(x[k * block_K], v)
            for i, j in T.Parallel(block_M, block_K):
                products[i, j] = T.cast(a[i, j], "float32") * T.cast(v[j], "float32")
            T.reduce_sum(products, total, dim=1, clear=False)
        T.copy(total, y[bx * block_M])
    return y


def main(m: int = 4096, k: int = 4096) -> Row:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(np.float16)
    x = rng.standard_normal(k).astype(np.float16)
    expected = a.astype(np.float32) @ x.astype(np.float32)
    return show("matrix times vector", lambda: gemv(a, x), expected, 1e-5)


if __name__ == "__main__":
    main()
