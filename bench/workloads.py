# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that the benchmarks share, in the style of GPU scripts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilewright as tilelang
import tilewright.language as T

ROOT = Path(__file__).resolve().parents[1]


@tilelang.jit(out_idx=[-1])
def matmul(
    M,
    N,
    K,
    block_M,
    block_N,
    block_K,
    dtype="float16",
    accum_dtype="float32",
    stages=3,
    out_dtype=None,
):
    out_dtype = out_dtype or dtype

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), out_dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


@tilelang.jit(out_idx=[-1])
def batched_matmul(batch, M, N, K, block_M, block_N, block_K, stages=3):
    """f16 products of `batch` pairs, with f32 sums."""

    @T.prim_func
    def main(
        A: T.Tensor((batch, M, K), "float16"),
        B: T.Tensor((batch, K, N), "float16"),
        C: T.Tensor((batch, M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), batch, threads=128) as (
            bx,
            by,
            bz,
        ):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[bz, by * block_M, k * block_K], A_shared)
                T.copy(B[bz, k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[bz, by * block_M, bx * block_N])

    return main


@tilelang.jit(out_idx=[-1])
def softmax(M, N, block_M, dtype="float32"):
    """Whole rows at a time."""

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), dtype)
            row_max = T.alloc_fragment((block_M,), dtype)
            row_sum = T.alloc_fragment((block_M,), dtype)
            T.copy(X[bx * block_M, 0], x)
            T.reduce_max(x, row_max, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.exp(x[i, j] - row_max[i])
            T.reduce_sum(x, row_sum, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] / row_sum[i]
            T.copy(x, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1])
def softmax_half(M, N, block_M):
    """Softmax of f32 rows, written as f16: the second of two kernels after a product."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), "float32")
            y = T.alloc_fragment((block_M, N), "float16")
            row_max = T.alloc_fragment((block_M,), "float32")
            row_sum = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], x)
            T.reduce_max(x, row_max, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.exp(x[i, j] - row_max[i])
            T.reduce_sum(x, row_sum, dim=1)
            for i, j in T.Parallel(block_M, N):
                y[i, j] = x[i, j] / row_sum[i]
            T.copy(y, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1])
def softmax_of_half(M, N, block_M):
    """Softmax of f16 rows in f32: the second of two kernels when the first writes f16."""

    @T.prim_func
    def main(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            given = T.alloc_shared((block_M, N), "float16")
            x = T.alloc_fragment((block_M, N), "float32")
            row_max = T.alloc_fragment((block_M,), "float32")
            row_sum = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], given)
            T.copy(given, x)
            T.reduce_max(x, row_max, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.exp(x[i, j] - row_max[i])
            T.reduce_sum(x, row_sum, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] / row_sum[i]
            T.copy(x, given)
            T.copy(given, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1])
def rms_norm(M, N, block_M, dtype="float32"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), dtype)
            square = T.alloc_fragment((block_M, N), dtype)
            power = T.alloc_fragment((block_M,), dtype)
            T.copy(X[bx * block_M, 0], x)
            for i, j in T.Parallel(block_M, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, power, dim=1)
            for i in T.Parallel(block_M):
                power[i] = T.rsqrt(power[i] / N + 1e-12)
            for i, j in T.Parallel(block_M, N):
                x[i, j] *= power[i]
            T.copy(x, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1])
def weighted_rms_norm(M, N, block_M):
    """RMSNorm of f16 rows in f32, times a weight per column."""

    @T.prim_func
    def main(
        X: T.Tensor((M, N), "float16"), W: T.Tensor((N,), "float16"), Y: T.Tensor((M, N), "float16")
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            given = T.alloc_shared((block_M, N), "float16")
            weight = T.alloc_fragment((N,), "float16")
            x = T.alloc_fragment((block_M, N), "float32")
            square = T.alloc_fragment((block_M, N), "float32")
            power = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], given)
            T.copy(W, weight)
            T.copy(given, x)
            for i, j in T.Parallel(block_M, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, power, dim=1)
            for i in T.Parallel(block_M):
                power[i] = T.rsqrt(power[i] / N + 1e-6)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * power[i] * weight[j]
            T.copy(x, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-2, -1])
def add_rms_norm(M, N, block_M):
    """The sum of two f16 tensors and its RMSNorm: both are outputs."""
    shape = (M, N)

    @T.prim_func
    def main(
        X: T.Tensor(shape, "float16"),
        R: T.Tensor(shape, "float16"),
        W: T.Tensor((N,), "float16"),
        S: T.Tensor(shape, "float16"),
        Y: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, N), "float32")
            r = T.alloc_fragment((block_M, N), "float32")
            weight = T.alloc_fragment((N,), "float32")
            power = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], x)
            T.copy(R[bx * block_M, 0], r)
            T.copy(W, weight)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] + r[i, j]
            T.copy(x, S[bx * block_M, 0])
            for i, j in T.Parallel(block_M, N):
                r[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(r, power, dim=1)
            for i in T.Parallel(block_M):
                power[i] = T.rsqrt(power[i] / N + 1e-6)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * power[i] * weight[j]
            T.copy(x, Y[bx * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1])
def column_sum(M, N, block_M, block_N, dtype="float32"):
    """Sums over rows, one stripe of columns per program."""

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), threads=128) as bx:
            x = T.alloc_shared((block_M, block_N), dtype)
            total = T.alloc_fragment((block_N,), dtype)
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(M, block_M), num_stages=2):
                T.copy(X[k * block_M, bx * block_N], x)
                T.reduce_sum(x, total, dim=0, clear=False)
            T.copy(total, Y[bx * block_N])

    return main


@tilelang.jit(out_idx=[-1])
def attention(heads, length, dim, block_M=64, block_N=64, stages=2, causal=False):
    """Flash attention, one head and one block of rows per program; `causal`: up to the diagonal."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = (heads, length, dim)

    @T.prim_func
    def main(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, threads=128) as (bx, h):
            q = T.alloc_shared((block_M, dim), "float16")
            k = T.alloc_shared((block_N, dim), "float16")
            v = T.alloc_shared((block_N, dim), "float16")
            score = T.alloc_fragment((block_M, block_N), "float32")
            weight = T.alloc_fragment((block_M, block_N), "float16")
            out = T.alloc_fragment((block_M, dim), "float32")
            top = T.alloc_fragment((block_M,), "float32")
            top_before = T.alloc_fragment((block_M,), "float32")
            shrink = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            T.copy(Q[h, bx * block_M : (bx + 1) * block_M, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            keys = (bx + 1) * block_M if causal else length
            for n in T.Pipelined(T.ceildiv(keys, block_N), num_stages=stages):
                T.copy(K[h, n * block_N : (n + 1) * block_N, :], k)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        above = n * block_N + j > bx * block_M + i
                        score[i, j] = T.if_then_else(above, -T.infinity("float32"), 0)
                else:
                    T.clear(score)
                T.gemm(q, k, score, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, top_before)
                T.reduce_max(score, top, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    shrink[i] = T.exp2(top_before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    score[i, j] = T.exp2(score[i, j] * scale - top[i] * scale)
                T.reduce_sum(score, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * shrink[i] + part[i]
                T.copy(score, weight)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= shrink[i]
                T.copy(V[h, n * block_N : (n + 1) * block_N, :], v)
                T.gemm(weight, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, O[h, bx * block_M : (bx + 1) * block_M, :])

    return main


@tilelang.jit(out_idx=[-1])
def add_gelu(M, N, block_M, block_N, dtype="float16"):
    """Element-wise: a sum and the tanh form of GELU."""

    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_N), dtype)
            b = T.alloc_shared((block_M, block_N), dtype)
            T.copy(A[by * block_M, bx * block_N], a)
            T.copy(B[by * block_M, bx * block_N], b)
            for i, j in T.Parallel(block_M, block_N):
                a[i, j] += b[i, j]
                a[i, j] *= 0.5 * (
                    1 + T.tanh(0.7978845608 * (a[i, j] + 0.044715 * a[i, j] * a[i, j] * a[i, j]))
                )
            T.copy(a, C[by * block_M, bx * block_N])

    return main


def example(name: str) -> Any:
    """The module examples/NAME.py."""
    module = sys.modules.get(f"example_{name}")
    if module is None:
        path = ROOT / "examples" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"example_{name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module


#: Ten kernels that stand for the rest where all modes of a run are compared.
SUITE: dict[str, Callable[[], Any]] = {
    "gemm 512^3": lambda: matmul(512, 512, 512, 128, 256, 64),
    "gemm 512^3, f32 out": lambda: matmul(512, 512, 512, 128, 128, 64, out_dtype="float32"),
    "attention 4 x 512 x 64": lambda: attention(4, 512, 64),
    "attention 1024 x 128": lambda: attention(1, 1024, 128, 128, 128),
    "softmax 1024^2": lambda: softmax(1024, 1024, 16),
    "softmax of f16": lambda: softmax_of_half(512, 1024, 8),
    "rms_norm 1024^2": lambda: rms_norm(1024, 1024, 8),
    "matmul + softmax": lambda: example("matmul_softmax").matmul_softmax.compile(
        M=400, N=1024, K=256, block_M=100, block_N=128, block_K=128
    ),
    "add + gelu 1024^2": lambda: add_gelu(1024, 1024, 64, 128),
    "column sum 1024^2": lambda: column_sum(1024, 1024, 64, 64),
}


def inputs_of(kernel: Any, seed: int = 0) -> list[Any]:
    """Normally distributed arrays for the parameters that a call of `kernel` takes."""
    import numpy as np

    random = np.random.default_rng(seed)
    parameters = [kernel.parameters[position] for position in kernel.inputs]
    return [random.standard_normal(p["shape"]).astype(p["dtype"]) for p in parameters]
