# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The largest values of each row and where they stand, one after the other."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def topk(X, k: int, rows: int = 64):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    values = T.empty((M, k), T.float32)
    places = T.empty((M, k), T.int32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        at = T.alloc_fragment((rows, N), T.int32)
        first = T.alloc_fragment((rows,), T.int32)
        T.copy(X[bx * rows, 0], x)
        for turn in T.serial(k):
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                at[i, j] = T.if_then_else(x[i, j] == top[i], j, N)
            T.reduce_min(at, first, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.if_then_else(j == first[i], -T.infinity("float32"), x[i, j])
            for i in T.Parallel(rows):
                values[bx * rows + i, turn] = top[i]
                places[bx * rows + i, turn] = first[i]
    return values, places


def main(m: int = 2560, n: int = 128, k: int = 6) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    places = np.argsort(-x, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(x, places, axis=1), places
    return show("top k of rows", lambda: tuple(topk(x, k)), expected, 0.0)


if __name__ == "__main__":
    main()
