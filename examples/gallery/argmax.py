# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The place of the largest value of long rows, found piece by piece."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def argmax(M, N, rows=16, width=512):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "int32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, width), "float32")
            where = T.alloc_fragment((rows, width), "int32")
            top = T.alloc_fragment((rows,), "float32")
            first = T.alloc_fragment((rows,), "int32")
            best = T.alloc_fragment((rows,), "float32")
            place = T.alloc_fragment((rows,), "int32")
            T.fill(best, -T.infinity("float32"))
            T.clear(place)
            for n in T.Pipelined(T.ceildiv(N, width), num_stages=2):
                T.copy(X[bx * rows, n * width], x)
                T.reduce_max(x, top, dim=1)
                for i, j in T.Parallel(rows, width):
                    where[i, j] = T.if_then_else(x[i, j] == top[i], n * width + j, N)
                T.reduce_min(where, first, dim=1)
                for i in T.Parallel(rows):
                    place[i] = T.if_then_else(top[i] > best[i], first[i], place[i])
                    best[i] = T.max(top[i], best[i])
            T.copy(place, Y[bx * rows])

    return main


def main(m: int = 640, n: int = 4096) -> Row:
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return show("argmax of rows", lambda: argmax(m, n)(x), x.argmax(axis=1), 0.0)


if __name__ == "__main__":
    main()
