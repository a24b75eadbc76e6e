# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal linear attention by chunks: a state of K'V is carried from chunk to chunk."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def linear_attention(H, S, D, chunk=128):
    @T.prim_func
    def main(
        Q: T.Tensor((H, S, D), "float16"),
        K: T.Tensor((H, S, D), "float16"),
        V: T.Tensor((H, S, D), "float16"),
        O: T.Tensor((H, S, D), "float16"),
    ):
        with T.Kernel(H, threads=128) as h:
            q = T.alloc_shared((chunk, D), "float16")
            k = T.alloc_shared((chunk, D), "float16")
            v = T.alloc_shared((chunk, D), "float16")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            masked = T.alloc_shared((chunk, chunk), "float16")
            state = T.alloc_fragment((D, D), "float32")
            rounded = T.alloc_shared((D, D), "float16")
            out = T.alloc_fragment((chunk, D), "float32")
            T.clear(state)
            for c in T.Pipelined(T.ceildiv(S, chunk), num_stages=2):
                T.copy(Q[h, c * chunk : (c + 1) * chunk, :], q)
                T.copy(K[h, c * chunk : (c + 1) * chunk, :], k)
                T.copy(V[h, c * chunk : (c + 1) * chunk, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    masked[i, j] = T.if_then_else(i >= j, scores[i, j], 0.0)
                T.copy(state, rounded)
                T.gemm(masked, v, out, clear_accum=True)
                T.gemm(q, rounded, out)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(out, O[h, c * chunk : (c + 1) * chunk, :])

    return main


def main(h: int = 20, s: int = 1024, d: int = 64) -> Row:
    rng = np.random.default_rng(0)
    q, k, v = ((rng.standard_normal((h, s, d)) / 4).astype(np.float16) for _ in range(3))
    wide = [x.astype(np.float32) for x in (q, k, v)]
    scores = np.tril(wide[0] @ wide[1].swapaxes(1, 2))
    kernel = linear_attention(h, s, d)
    return show("linear attention", lambda: kernel(q, k, v), scores @ wide[2], 5e-3)


if __name__ == "__main__":
    main()
