# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RMSNorm with weights."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def rms_norm(X, weight, rows: int = 4, eps: float = 1e-6):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    weight: T.Tensor((N,), T.float16)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        squares = T.alloc_fragment((rows, N), T.float32)
        w = T.alloc_fragment((N,), T.float32)
        scale = T.alloc_fragment((rows,), T.float32)
        T.copy(weight, w)
        T.copy(X[bx * rows, 0], x)
        for i, j in T.Parallel(rows, N):
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, scale, dim=1)
        for i in T.Parallel(rows):
            scale[i] = T.rsqrt(scale[i] / N + eps)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] * scale[i] * w[j]
        T.copy(x, Y[bx * rows, 0])
    return Y


def main(m: int = 2048, n: int = 2048) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(np.float16)
    w = rng.standard_normal(n).astype(np.float16)
    wide = x.astype(np.float32)
    expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * w.astype(np.float32)
    return show("RMSNorm", lambda: rms_norm(x, w), expected, 1e-3)


if __name__ == "__main__":
    main()
