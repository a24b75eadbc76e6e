# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax over the full rows of A.B as one kernel, and as two kernels one after the other.

The fused kernel keeps each block's rows on one core group: the cube multiplies tile after tile
while the vector cores turn the tile before into exponentials (an online softmax); a second pass
over the block's own rows, still in the L2 cache, scales them.

    python examples/matmul_softmax.py [--m 4000 --n 4096 --k 512] [--chip 910b3] [--out DIR]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import tilewright as tilelang
import tilewright.language as T
from tilewright.kernel import Timing
from tilewright.report.decisions import decisions_text


@tilelang.jit
def matmul_softmax(A, B, block_M: int, block_N: int, block_K: int):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    P = T.empty((M, N), T.float16)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bm:
        A_shared = T.alloc_shared((block_M, K), T.float16)
        B_shared = T.alloc_shared((block_K, block_N), T.float16)
        S = T.alloc_fragment((block_M, block_N), T.float32)
        E = T.alloc_shared((block_M, block_N), T.float16)
        tile_max = T.alloc_fragment((block_M,), T.float32)
        tile_sum = T.alloc_fragment((block_M,), T.float32)
        new_max = T.alloc_fragment((block_M,), T.float32)
        row_max = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        scale = T.alloc_fragment((block_M,), T.float16)
        seen_max = T.alloc_fragment((T.ceildiv(N, block_N), block_M), T.float32)

        T.copy(A[bm * block_M, 0], A_shared)
        T.fill(row_max, -T.infinity(T.float32))
        T.fill(row_sum, 0)
        for n in T.serial(T.ceildiv(N, block_N)):
            T.clear(S)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(B[k * block_K, n * block_N], B_shared)
                T.gemm(A_shared[:, k * block_K : (k + 1) * block_K], B_shared, S)
            T.reduce_max(S, tile_max, dim=1)
            for i in T.Parallel(block_M):
                new_max[i] = T.max(row_max[i], tile_max[i])
            for i, j in T.Parallel(block_M, block_N):
                S[i, j] = T.exp(S[i, j] - new_max[i])
            T.reduce_sum(S, tile_sum, dim=1)
            for i in T.Parallel(block_M):
                row_sum[i] = row_sum[i] * T.exp(row_max[i] - new_max[i]) + tile_sum[i]
                row_max[i] = new_max[i]
                seen_max[n, i] = new_max[i]
            T.copy(S, E)
            T.copy(E, P[bm * block_M, n * block_N])

        for n in T.Pipelined(T.ceildiv(N, block_N), num_stages=2):
            T.copy(P[bm * block_M, n * block_N], E)
            for i in T.Parallel(block_M):
                scale[i] = T.exp(seen_max[n, i] - row_max[i]) / row_sum[i]
            for i, j in T.Parallel(block_M, block_N):
                E[i, j] = E[i, j] * scale[i]
            T.copy(E, P[bm * block_M, n * block_N])

    return P


@tilelang.jit
def matmul(A, B, block_M: int, block_N: int, block_K: int):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), T.float16)
        B_shared = T.alloc_shared((block_K, block_N), T.float16)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])

    return C


@tilelang.jit
def softmax(C, block_M: int):
    M, N = T.const("M, N")
    C: T.Tensor((M, N), T.float16)
    P = T.empty((M, N), T.float16)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bm:
        X = T.alloc_shared((block_M, N), T.float16)
        F = T.alloc_fragment((block_M, N), T.float32)
        Y = T.alloc_shared((block_M, N), T.float16)
        row_max = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        T.copy(C[bm * block_M, 0], X)
        T.copy(X, F)
        T.reduce_max(F, row_max, dim=1)
        for i, j in T.Parallel(block_M, N):
            F[i, j] = T.exp(F[i, j] - row_max[i])
        T.reduce_sum(F, row_sum, dim=1)
        for i, j in T.Parallel(block_M, N):
            Y[i, j] = F[i, j] / row_sum[i]
        T.copy(Y, P[bm * block_M, 0])

    return P


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    scores = a.astype(np.float32) @ b.astype(np.float32)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def core_time(kernel) -> float:
    """Predicted core time of the kernel's last run, microseconds; launch cost is apart."""
    return sum(launch["microseconds"] for launch in kernel.last_report["launches"])


def shares(busy: dict[str, float], *pipes: str) -> str:
    return ", ".join(f"{pipe} busy {100 * busy[pipe]:.0f} %" for pipe in pipes)


def mebibytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--m", type=int, default=4000)
    parser.add_argument("--n", type=int, default=4096)
    parser.add_argument("--k", type=int, default=512)
    parser.add_argument("--chip", default=os.environ.get("TILEWRIGHT_CHIP", "910b3"))
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    arguments = parser.parse_args()
    M, N, K = arguments.m, arguments.n, arguments.k
    arguments.out.mkdir(parents=True, exist_ok=True)
    trace, ir = arguments.out / "matmul_softmax.trace.json", arguments.out / "ir"
    os.environ["TILEWRIGHT_CHIP"] = arguments.chip

    rng = np.random.default_rng(0)
    a = (rng.standard_normal((M, K)) * 0.5).astype(np.float16)
    b = (rng.standard_normal((K, N)) * 0.5).astype(np.float16)
    expected = reference(a, b)

    with Timing():  # ask the simulator for times
        os.environ.update(TILEWRIGHT_TRACE=str(trace), TILEWRIGHT_DUMP_IR=str(ir))
        fused = matmul_softmax.compile(M=M, N=N, K=K, block_M=200, block_N=128, block_K=512)
        result = fused(a, b)
        del os.environ["TILEWRIGHT_TRACE"], os.environ["TILEWRIGHT_DUMP_IR"]
        product = matmul.compile(M=M, N=N, K=K, block_M=128, block_N=256, block_K=128)
        rows = softmax.compile(M=M, N=N, block_M=2)
        separate = rows(product(a, b))

    # The separate kernels hand the scores over in f16, which costs them some accuracy.
    for name, found in (("fused", result), ("separate", separate)):
        error = float(np.abs(found.astype(np.float32) - expected).max())
        if not error < 1e-2:
            raise SystemExit(f"{name} result is wrong: largest difference {error}")
        print(f"{name}: agrees with the NumPy reference, largest difference {error:.1e}")

    launch = fused.last_report["launches"][0]
    cube, vector = launch["aic_busy"], launch["aiv_busy"]
    cold, warm = launch["launch_microseconds"], launch["launch_warm_microseconds"]
    print()
    print(f"softmax(A.B), M = {M}, N = {N}, K = {K}, f16, predicted for a {arguments.chip}:")
    print(
        f"  core time {launch['microseconds']:.1f} us; launch {cold:.1f} us cold, {warm:.1f} warm"
    )
    print(f"  {launch['aic_count']} cube cores: {shares(cube, 'M', 'MTE1', 'MTE2', 'FIX')}")
    print(f"  {launch['aiv_count']} vector cores: {shares(vector, 'V', 'MTE2', 'MTE3')}")
    print(f"  exchanged between the cores: {mebibytes(launch['exchange_bytes'])}")
    print(f"  read from and written to HBM: {mebibytes(launch['hbm_bytes'])}")
    first, second = core_time(product), core_time(rows)
    print(f"  as two kernels: {first:.1f} + {second:.1f} = {first + second:.1f} us")
    print(f"  fused takes {core_time(fused) / (first + second):.2f} of that")
    print()
    print(decisions_text(fused.core))
    print()
    print(f"timeline: {trace} (open in ui.perfetto.dev)")
    print(f"IR of every stage: {ir}")


if __name__ == "__main__":
    main()
