# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows to 8-bit integers with one scale a row."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def quantize(X, rows: int = 8):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    Q = T.empty((M, N), T.int8)
    S = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        q = T.alloc_fragment((rows, N), T.int8)
        top = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows, 0], x)
        T.reduce_absmax(x, top, dim=1)
        for i in T.Parallel(rows):
            top[i] = T.max(top[i], 1e-4) / 127.0
        for i, j in T.Parallel(rows, N):
            q[i, j] = T.cast(T.round(x[i, j] / top[i]), "int8")
        T.copy(q, Q[bx * rows, 0])
        T.copy(top, S[bx * rows])
    return Q, S


def main(m: int = 2048, n: int = 2048) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float16)
    wide = x.astype(np.float32)
    scale = np.abs(wide).max(axis=1) / np.float32(127)
    expected = np.round(wide / scale[:, None]), scale
    return show("quantise rows", lambda: tuple(quantize(x)), expected, 1 / 127)


if __name__ == "__main__":
    main()
