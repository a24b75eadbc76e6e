# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax of rows that fit a vector core's memory: one pass over global memory."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def softmax(X, rows: int = 8):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows, 0], x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = T.exp(x[i, j] - top[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[bx * rows, 0])
    return Y


def main(m: int = 2048, n: int = 1000) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float16)
    e = np.exp(x.astype(np.float32) - x.max(axis=1, keepdims=True))
    return show("softmax", lambda: softmax(x), e / e.sum(axis=1, keepdims=True), 1e-3)


if __name__ == "__main__":
    main()
