# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary position embedding: the halves of each head turn by an angle of their position."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def rotary(S, H, D, block_S=16):
    half = D // 2

    @T.prim_func
    def main(
        X: T.Tensor((S, H, D), "float16"),
        cos: T.Tensor((S, half), "float32"),
        sin: T.Tensor((S, half), "float32"),
        Y: T.Tensor((S, H, D), "float16"),
    ):
        with T.Kernel(T.ceildiv(S, block_S), H, threads=128) as (bs, h):
            x = T.alloc_fragment((block_S, D), "float32")
            y = T.alloc_fragment((block_S, D), "float32")
            c = T.alloc_fragment((block_S, half), "float32")
            s = T.alloc_fragment((block_S, half), "float32")
            T.copy(X[bs * block_S : (bs + 1) * block_S, h, :], x)
            T.copy(cos[bs * block_S, 0], c)
            T.copy(sin[bs * block_S, 0], s)
            for i, j in T.Parallel(block_S, half):
                y[i, j] = x[i, j] * c[i, j] - x[i, j + half] * s[i, j]
            for i, j in T.Parallel(block_S, half):
                y[i, j + half] = x[i, j + half] * c[i, j] + x[i, j] * s[i, j]
            T.copy(y, Y[bs * block_S : (bs + 1) * block_S, h, :])

    return main


def main(s: int = 1024, h: int = 16, d: int = 128) -> Row:
    x = np.random.default_rng(0).standard_normal((s, h, d)).astype(np.float16)
    angle = np.arange(s)[:, None] * 10000.0 ** (-np.arange(d // 2) / (d // 2))
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    left, right = np.split(x.astype(np.float32), 2, axis=-1)
    c, t = cos[:, None], sin[:, None]
    expected = np.concatenate([left * c - right * t, right * c + left * t], axis=-1)
    kernel = rotary(s, h, d, block_S=64)
    return show("rotary embedding", lambda: kernel(x, cos, sin), expected, 1e-3)


if __name__ == "__main__":
    main()
