# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of long rows of logits: log-sum-exp and the target's logit in one pass."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def cross_entropy(X, target, rows: int = 8, width: int = 1024):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float16)
    target: T.Tensor((M,), T.int32)
    loss = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, width), T.float32)
        chosen = T.alloc_fragment((rows, width), T.float32)
        label = T.alloc_fragment((rows,), T.int32)
        top = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        part = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        picked = T.alloc_fragment((rows,), T.float32)
        T.copy(target[bx * rows], label)
        T.fill(top, -T.infinity("float32"))
        T.clear(total)
        T.clear(picked)
        for n in T.Pipelined(T.ceildiv(N, width), num_stages=2):
            T.copy(X[bx * rows, n * width], x)
            T.copy(top, before)
            T.reduce_max(x, top, dim=1, clear=False)
            for i, j in T.Parallel(rows, width):
                chosen[i, j] = T.if_then_else(n * width + j == label[i], x[i, j], 0.0)
            T.reduce_sum(chosen, picked, dim=1, clear=False)
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, part, dim=1)
            for i in T.Parallel(rows):
                total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
        for i in T.Parallel(rows):
            picked[i] = T.log(total[i]) + top[i] - picked[i]
        T.copy(picked, loss[bx * rows])
    return loss


def main(m: int = 640, n: int = 8192) -> Row:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(np.float16)
    target = rng.integers(0, n, m, dtype=np.int32)
    wide = x.astype(np.float64)
    expected = np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(m), target]
    return show("cross entropy", lambda: cross_entropy(x, target), expected, 1e-5)


if __name__ == "__main__":
    main()
