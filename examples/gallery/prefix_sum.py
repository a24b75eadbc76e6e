# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running sums along rows."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def prefix_sum(X, rows: int = 32):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_shared((rows, N), T.float32)
        T.copy(X[bx * rows, 0], x)
        T.cumsum(x, dim=1)
        T.copy(x, Y[bx * rows, 0])
    return Y


def main(m: int = 2560, n: int = 256) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return show("running sums", lambda: prefix_sum(x), np.cumsum(x, axis=1, dtype=np.float64), 1e-5)


if __name__ == "__main__":
    main()
