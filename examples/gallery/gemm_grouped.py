# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of groups of rows, each with a matrix of its own, as in a mixture of experts.

A block reads from `which` the group that its rows belong to; groups begin at multiples of a block.
"""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def grouped(X, W, which, block_M: int = 128, block_N: int = 256, block_K: int = 64):
    M, N, K, G, blocks = T.const("M, N, K, G, blocks")
    X: T.Tensor((M, K), T.float16)
    W: T.Tensor((G, K, N), T.float16)
    which: T.Tensor((blocks,), T.int32)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), blocks, threads=128) as (bx, by):
        x = T.alloc_shared((block_M, block_K), T.float16)
        w = T.alloc_shared((block_K, block_N), T.float16)
        y = T.alloc_fragment((block_M, block_N), T.float32)
        group = which[by]
        T.clear(y)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(X[by * block_M, k * block_K], x)
            T.copy(W[group, k * block_K, bx * block_N], w)
            T.gemm(x, w, y)
        T.copy(y, Y[by * block_M, bx * block_N])
    return Y


def main(n: int = 1024, k: int = 512) -> Row:
    rng = np.random.default_rng(0)
    which = np.repeat(np.arange(5, dtype=np.int32), [1, 3, 2, 2, 4])
    x = rng.standard_normal((128 * len(which), k)).astype(np.float16)
    w = rng.standard_normal((5, k, n)).astype(np.float16)
    rows = x.astype(np.float32).reshape(len(which), 128, k)
    expected = (rows @ w.astype(np.float32)[which]).reshape(-1, n)
    return show("grouped product", lambda: grouped(x, w, which), expected, 1e-3)


if __name__ == "__main__":
    main()
