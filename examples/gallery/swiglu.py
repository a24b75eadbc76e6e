# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SwiGLU of a tensor that holds gate and value side by side."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def swiglu(M, N, block_M=8, block_N=1024):
    @T.prim_func
    def main(X: T.Tensor((M, 2 * N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            gate = T.alloc_fragment((block_M, block_N), "float32")
            value = T.alloc_fragment((block_M, block_N), "float32")
            T.copy(X[by * block_M, bx * block_N], gate)
            T.copy(X[by * block_M, N + bx * block_N], value)
            for i, j in T.Parallel(block_M, block_N):
                gate[i, j] = gate[i, j] / (1.0 + T.exp(-gate[i, j])) * value[i, j]
            T.copy(gate, Y[by * block_M, bx * block_N])

    return main


def main(m: int = 1024, n: int = 2048) -> Row:
    x = np.random.default_rng(0).standard_normal((m, 2 * n)).astype(np.float16)
    gate, value = np.split(x.astype(np.float32), 2, axis=1)
    return show("SwiGLU", lambda: swiglu(m, n)(x), gate / (1 + np.exp(-gate)) * value, 1e-3)


if __name__ == "__main__":
    main()
