# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One new token over a long cache: parts of the keys go to different cores and are joined after."""

import numpy as np
import tilelang
import tilelang.language as T
from attention import reference
from gallery import Row, show


@tilelang.jit(out_idx=-1)
def decode(B, H, G, S, D, parts, block_N=128):
    scale = 1.44269504 / D**0.5
    heads = H // G
    rows = max(heads, 16)
    length = S // parts

    @T.prim_func
    def main(
        Q: T.Tensor((B, H, D), "float16"),
        K: T.Tensor((B, G, S, D), "float16"),
        V: T.Tensor((B, G, S, D), "float16"),
        sums: T.Tensor((B, H, parts, D), "float32"),
        logs: T.Tensor((B, H, parts), "float32"),
        O: T.Tensor((B, H, D), "float16"),
    ):
        with T.Kernel(parts, G, B, threads=128) as (p, g, b):
            q = T.alloc_shared((rows, D), "float16")
            k = T.alloc_shared((block_N, D), "float16")
            v = T.alloc_shared((block_N, D), "float16")
            scores = T.alloc_fragment((rows, block_N), "float32")
            weights = T.alloc_fragment((rows, block_N), "float16")
            out = T.alloc_fragment((rows, D), "float32")
            top = T.alloc_fragment((rows,), "float32")
            before = T.alloc_fragment((rows,), "float32")
            shrink = T.alloc_fragment((rows,), "float32")
            part = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(Q[b, g * heads : g * heads + heads, :], q[0:heads, :])
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(length, block_N), num_stages=2):
                T.copy(K[b, g, p * length + n * block_N : p * length + (n + 1) * block_N, :], k)
                T.copy(V[b, g, p * length + n * block_N : p * length + (n + 1) * block_N, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(rows):
                    shrink[i] = T.exp2((before[i] - top[i]) * scale)
                for i, j in T.Parallel(rows, block_N):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * shrink[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(rows, D):
                    out[i, j] *= shrink[i]
                T.gemm(weights, v, out)
            for i, j in T.Parallel(rows, D):
                out[i, j] /= total[i]
            for i in T.Parallel(rows):
                total[i] = T.log2(total[i]) + top[i] * scale
            T.copy(out[0:heads, :], sums[b, g * heads : g * heads + heads, p, :])
            T.copy(total[0:heads], logs[b, g * heads : g * heads + heads, p])
        with T.Kernel(H, B, threads=128) as (h, b):
            partial = T.alloc_fragment((parts, D), "float32")
            weight = T.alloc_fragment((parts,), "float32")
            highest = T.alloc_fragment((1,), "float32")
            whole = T.alloc_fragment((1,), "float32")
            result = T.alloc_fragment((D,), "float32")
            T.copy(sums[b, h, :, :], partial)
            T.copy(logs[b, h, :], weight)
            T.reduce_max(weight, highest, dim=0)
            for i in T.Parallel(parts):
                weight[i] = T.exp2(weight[i] - highest[0])
            T.reduce_sum(weight, whole, dim=0)
            for i, j in T.Parallel(parts, D):
                partial[i, j] = partial[i, j] * weight[i]
            T.reduce_sum(partial, result, dim=0)
            for j in T.Parallel(D):
                result[j] = result[j] / whole[0]
            T.copy(result, O[b, h, :])

    return main


def main(b: int = 1, h: int = 32, g: int = 4, s: int = 8192, d: int = 128, parts: int = 8) -> Row:
    rng = np.random.default_rng(0)
    q = rng.standard_normal((b, h, d)).astype(np.float16)
    k, v = (rng.standard_normal((b, g, s, d)).astype(np.float16) for _ in range(2))
    wide = [x.repeat(h // g, axis=1) for x in (k, v)]
    expected = reference(q[:, :, None], *wide, causal=False)[:, :, 0]
    sums, logs = np.empty((b, h, parts, d), np.float32), np.empty((b, h, parts), np.float32)
    kernel = decode(b, h, g, s, d, parts)
    return show("attention, decoding", lambda: kernel(q, k, v, sums, logs), expected, 5e-3)


if __name__ == "__main__":
    main()
