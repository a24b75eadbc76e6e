# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first half of a gated MLP in one kernel: two products share the rows, SwiGLU joins them."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def gate_up(X, gate, up, block_M: int = 128, block_N: int = 128, block_K: int = 64):
    M, N, K = T.const("M, N, K")
    X: T.Tensor((M, K), T.float16)
    gate: T.Tensor((K, N), T.float16)
    up: T.Tensor((K, N), T.float16)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        x = T.alloc_shared((block_M, block_K), T.float16)
        g = T.alloc_shared((block_K, block_N), T.float16)
        u = T.alloc_shared((block_K, block_N), T.float16)
        gates = T.alloc_fragment((block_M, block_N), T.float32)
        ups = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(gates)
        T.clear(ups)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(X[by * block_M, k * block_K], x)
            T.copy(gate[k * block_K, bx * block_N], g)
            T.copy(up[k * block_K, bx * block_N], u)
            T.gemm(x, g, gates)
            T.gemm(x, u, ups)
        for i, j in T.Parallel(block_M, block_N):
            ups[i, j] = gates[i, j] / (1.0 + T.exp(-gates[i, j])) * ups[i, j]
        T.copy(ups, Y[by * block_M, bx * block_N])
    return Y


def main(m: int = 512, n: int = 1280, k: int = 1024) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(np.float16)
    gate, up = ((rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float16) for _ in range(2))
    g, u = (x.astype(np.float32) @ w.astype(np.float32) for w in (gate, up))
    return show("gated MLP", lambda: gate_up(x, gate, up), g / (1 + np.exp(-g)) * u, 1e-3)


if __name__ == "__main__":
    main()
