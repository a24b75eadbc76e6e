# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of columns: rows are added up piece by piece."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def column_sums(M, N, block_M=128, block_N=64):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), threads=128) as bx:
            x = T.alloc_fragment((block_M, block_N), "float32")
            total = T.alloc_fragment((block_N,), "float32")
            T.clear(total)
            for m in T.Pipelined(T.ceildiv(M, block_M), num_stages=2):
                T.copy(X[m * block_M, bx * block_N], x)
                T.reduce_sum(x, total, dim=0, clear=False)
            T.copy(total, Y[bx * block_N])

    return main


def main(m: int = 2048, n: int = 2560) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return show("sums of columns", lambda: column_sums(m, n)(x), x.sum(axis=0), 1e-5)


if __name__ == "__main__":
    main()
