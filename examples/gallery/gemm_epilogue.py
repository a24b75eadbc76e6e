# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer with bias and GELU: vector cores finish a tile while the cube makes the next."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def linear_gelu(X, W, bias, block_M: int = 128, block_N: int = 128, block_K: int = 64):
    M, N, K = T.const("M, N, K")
    X: T.Tensor((M, K), T.float16)
    W: T.Tensor((K, N), T.float16)
    bias: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        x = T.alloc_shared((block_M, block_K), T.float16)
        w = T.alloc_shared((block_K, block_N), T.float16)
        y = T.alloc_fragment((block_M, block_N), T.float32)
        b = T.alloc_fragment((block_N,), T.float32)
        inner = T.alloc_fragment((block_M, block_N), T.float32)
        T.copy(bias[bx * block_N], b)
        T.clear(y)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(X[by * block_M, k * block_K], x)
            T.copy(W[k * block_K, bx * block_N], w)
            T.gemm(x, w, y)
        for i, j in T.Parallel(block_M, block_N):
            y[i, j] = y[i, j] + b[j]
        for i, j in T.Parallel(block_M, block_N):
            inner[i, j] = y[i, j] + 0.044715 * y[i, j] * y[i, j] * y[i, j]
        for i, j in T.Parallel(block_M, block_N):
            y[i, j] = y[i, j] / (1.0 + T.exp(-1.5957691 * inner[i, j]))
        T.copy(y, Y[by * block_M, bx * block_N])
    return Y


def main(m: int = 1024, n: int = 1280, k: int = 1024) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(np.float16)
    w = (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float16)
    bias = rng.standard_normal(n).astype(np.float32)
    y = x.astype(np.float32) @ w.astype(np.float32) + bias
    expected = 0.5 * y * (1 + np.tanh(0.79788456 * (y + 0.044715 * y**3)))
    return show("linear, bias, GELU", lambda: linear_gelu(x, w, bias), expected, 1e-3)


if __name__ == "__main__":
    main()
