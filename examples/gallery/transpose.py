# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transpose through on-chip tiles."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def transpose(X, block: int = 128):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    Y = T.empty((N, M), T.float16)
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
        x = T.alloc_shared((block, block), T.float16)
        y = T.alloc_shared((block, block), T.float16)
        T.copy(X[by * block, bx * block], x)
        T.transpose(x, y)
        T.copy(y, Y[bx * block, by * block])
    return Y


def main(m: int = 2048, n: int = 2560) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float16)
    return show("transpose", lambda: transpose(x), x.T, 0.0)


if __name__ == "__main__":
    main()
