# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often each value occurs: each block compares with all bins and adds its counts atomically."""

import numpy as np
import tilelang
import tilelang.language as T
from gallery import Row, show


@tilelang.jit
def histogram(X, H, bins: int, block: int = 128):
    N = T.const("N")
    X: T.Tensor((N,), T.int32)
    H: T.Tensor((bins,), T.int32)
    with T.Kernel(T.ceildiv(N, block * 16), threads=128) as bx:
        x = T.alloc_fragment((block,), T.int32)
        equal = T.alloc_fragment((block, bins), T.float32)
        counts = T.alloc_fragment((bins,), T.float32)
        whole = T.alloc_fragment((bins,), T.int32)
        T.clear(counts)
        for n in T.Pipelined(16, num_stages=2):
            T.copy(X[(bx * 16 + n) * block], x)
            for i, j in T.Parallel(block, bins):
                equal[i, j] = T.if_then_else(x[i] == j, 1.0, 0.0)
            T.reduce_sum(equal, counts, dim=0, clear=False)
        T.copy(counts, whole)
        for j in T.Parallel(bins):
            T.atomic_add(H[j], whole[j])


def main(n: int = 163840, bins: int = 64) -> Row:
    x = np.random.default_rng(0).integers(0, bins, n, dtype=np.int32)

    def call() -> np.ndarray:
        found = np.zeros(bins, np.int32)
        histogram(x, found, bins)
        return found

    return show("histogram", call, np.bincount(x, minlength=bins), 0.0)


if __name__ == "__main__":
    main()
