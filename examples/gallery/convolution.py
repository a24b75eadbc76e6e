# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A 3x3 convolution of images in NHWC: for each tap one product, on a shifted stretch of a row."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def convolution(N, H, W, C, F, block_F=128):
    @T.prim_func
    def main(
        X: T.Tensor((N, H + 2, W + 2, C), "float16"),
        K: T.Tensor((3, 3, C, F), "float16"),
        Y: T.Tensor((N, H, W, F), "float16"),
    ):
        with T.Kernel(T.ceildiv(F, block_F), H, N, threads=128) as (bf, y, n):
            x = T.alloc_shared((W, C), "float16")
            k = T.alloc_shared((C, block_F), "float16")
            out = T.alloc_fragment((W, block_F), "float32")
            T.clear(out)
            for tap in T.Pipelined(9, num_stages=2):
                T.copy(X[n, y + tap // 3, tap % 3 : tap % 3 + W, :], x)
                T.copy(K[tap // 3, tap % 3, :, bf * block_F : (bf + 1) * block_F], k)
                T.gemm(x, k, out)
            T.copy(out, Y[n, y, :, bf * block_F : (bf + 1) * block_F])

    return main


def main(n: int = 2, h: int = 30, w: int = 64, c: int = 128, f: int = 256) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, h, w, c)).astype(np.float16)
    k = (rng.standard_normal((3, 3, c, f)) / 30).astype(np.float16)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = np.zeros((n, h, w, f), np.float32)
    for dy in range(3):
        for dx in range(3):
            shifted = padded[:, dy : dy + h, dx : dx + w].astype(np.float32)
            expected += shifted @ k[dy, dx].astype(np.float32)
    kernel = convolution(n, h, w, c, f)
    return show("3x3 convolution", lambda: kernel(padded, k), expected, 1e-3)


if __name__ == "__main__":
    main()
