# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of a table by index: each block copies the rows that its indices name."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def embedding(table, which, rows: int = 32):
    V, D, N = T.const("V, D, N")
    table: T.Tensor((V, D), T.float16)
    which: T.Tensor((N,), T.int32)
    Y = T.empty((N, D), T.float16)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as bx:
        y = T.alloc_shared((rows, D), T.float16)
        for i in T.serial(rows):
            T.copy(table[which[bx * rows + i], 0:D], y[i, :])
        T.copy(y, Y[bx * rows, 0])
    return Y


def main(v: int = 10000, d: int = 1024, n: int = 2560) -> Row:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((v, d)).astype(np.float16)
    which = rng.integers(0, v, n, dtype=np.int32)
    return show("embedding", lambda: embedding(table, which), table[which], 0.0)


if __name__ == "__main__":
    main()
