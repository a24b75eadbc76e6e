# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""f16 rows times 4-bit weights, two in a byte: the vector cores unpack what the cube multiplies."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def dequantize_matmul(X, packed, scale, block_M: int = 128, block_N: int = 128, block_K: int = 64):
    M, N, K, half = T.const("M, N, K, half")
    X: T.Tensor((M, K), T.float16)
    packed: T.Tensor((N, half), T.uint8)
    scale: T.Tensor((N,), T.float16)
    Y = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        x = T.alloc_shared((block_M, block_K), T.float16)
        p = T.alloc_shared((block_N, block_K // 2), T.uint8)
        w = T.alloc_shared((block_N, block_K), T.float16)
        s = T.alloc_fragment((block_N,), T.float16)
        y = T.alloc_fragment((block_M, block_N), T.float32)
        T.copy(scale[bx * block_N], s)
        T.clear(y)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(X[by * block_M, k * block_K], x)
            T.copy(packed[bx * block_N, k * block_K // 2], p)
            for i, j in T.Parallel(block_N, block_K // 2):
                w[i, j] = (T.cast(p[i, j] & 15, "float16") - 8) * s[i]
                w[i, j + block_K // 2] = (T.cast(p[i, j] >> 4, "float16") - 8) * s[i]
            T.gemm(x, w, y, transpose_B=True)
        T.copy(y, Y[by * block_M, bx * block_N])
    return Y


def main(m: int = 256, n: int = 1280, k: int = 1024, block: int = 64) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(np.float16)
    q = rng.integers(0, 16, (n, k), dtype=np.uint8)
    scale = (rng.random(n) / 8).astype(np.float16)
    # Within each step of K the low halves of the bytes come first, then the high ones.
    steps = q.reshape(n, k // block, 2, block // 2)
    packed = (steps[:, :, 0] | steps[:, :, 1] << 4).reshape(n, k // 2)
    weights = (q.astype(np.float32) - 8) * scale.astype(np.float32)[:, None]
    expected = x.astype(np.float32) @ weights.T
    return show(
        "4-bit weights", lambda: dequantize_matmul(x, packed, scale, block_K=block), expected, 1e-3
    )


if __name__ == "__main__":
    main()
