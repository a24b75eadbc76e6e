# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm in bf16, with mean and variance in f32 from one pass over the tile."""

import ml_dtypes
import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def layer_norm(X, gamma, beta, rows: int = 4):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.bfloat16)
    gamma: T.Tensor((N,), T.float32)
    beta: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.bfloat16)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        squares = T.alloc_fragment((rows, N), T.float32)
        g = T.alloc_fragment((N,), T.float32)
        b = T.alloc_fragment((N,), T.float32)
        mean = T.alloc_fragment((rows,), T.float32)
        scale = T.alloc_fragment((rows,), T.float32)
        T.copy(gamma, g)
        T.copy(beta, b)
        T.copy(X[bx * rows, 0], x)
        T.reduce_sum(x, mean, dim=1)
        for i in T.Parallel(rows):
            mean[i] = mean[i] / N
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] - mean[i]
        for i, j in T.Parallel(rows, N):
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, scale, dim=1)
        for i in T.Parallel(rows):
            scale[i] = T.rsqrt(scale[i] / N + 1e-5)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] * scale[i] * g[j] + b[j]
        T.copy(x, Y[bx * rows, 0])
    return Y


def main(m: int = 2048, n: int = 2048) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(ml_dtypes.bfloat16)
    gamma, beta = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    wide = x.astype(np.float32)
    centred = wide - wide.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    expected = centred * scale * gamma + beta
    return show("LayerNorm", lambda: layer_norm(x, gamma, beta), expected, 4e-3)


if __name__ == "__main__":
    main()
