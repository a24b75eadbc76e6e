# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the compiler's own planning, printed as Expert source that is the same program."""

from __future__ import annotations

import re

import numpy as np
import pytest
import workloads

import kernels
import tilewright as tilelang
import tilewright.language as T
from expert_source import module_of, round_trip
from harness import compile_kernel, randn


def compiled(function, inputs, **fixed):
    return compile_kernel(function, inputs, fixed, 2)


@pytest.mark.parametrize("size", [(256, 256, 256), (200, 300, 130)])
def test_gemm(size):
    kernel = workloads.matmul(*size, 64, 64, 64)
    m, n, k = size
    round_trip(kernel, [randn((m, k)), randn((k, n), seed=1)])


def test_batched_gemm():
    kernel = workloads.batched_matmul(3, 96, 64, 64, 32, 64, 32)
    round_trip(kernel, [randn((3, 96, 64)), randn((3, 64, 64), seed=1)])


def test_gemm_of_transposes():
    kernel = transposed(70, 90, 50)
    round_trip(kernel, [randn((50, 70)), randn((90, 50), seed=1)])


@tilelang.jit(out_idx=[-1])
def transposed(m, n, k):
    @T.prim_func
    def main(
        A: T.Tensor((k, m), "float16"),
        B: T.Tensor((n, k), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
            a = T.alloc_shared((16, 32), "float16")
            b = T.alloc_shared((32, 16), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, 16), num_stages=2):
                T.copy(A[i * 16, by * 32], a)
                T.copy(B[bx * 32, i * 16], b)
                T.gemm(a, b, c, transpose_A=True, transpose_B=True)
            T.copy(c, C[by * 32, bx * 32])

    return main


@pytest.mark.parametrize("columns", [128, 100])
def test_softmax(columns):
    round_trip(workloads.softmax(96, columns, 8), [randn((96, columns), np.float32)])


def test_softmax_in_half():
    round_trip(workloads.softmax_half(64, 256, 8), [randn((64, 256), np.float32)])


def test_rms_norm():
    round_trip(workloads.rms_norm(64, 100, 4), [randn((64, 100), np.float32)])


def test_gelu():
    round_trip(workloads.add_gelu(64, 128, 16, 64), [randn((64, 128)), randn((64, 128), seed=1)])


def test_column_sum():
    round_trip(workloads.column_sum(64, 128, 16, 64), [randn((64, 128), np.float32)])


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    inputs = [randn((2, 200, 64), seed=i) for i in range(3)]
    fixed = {"heads": 2, "block_q": 64, "block_k": 64, "causal": causal, "stages": 2}
    round_trip(compiled(kernels.attention, inputs, **fixed), inputs)


def test_fused_product_and_softmax():
    fused = kernels.example("matmul_softmax").matmul_softmax
    inputs = [randn((200, 256)), randn((256, 192), seed=1)]
    round_trip(compiled(fused, inputs, block_M=64, block_N=64, block_K=64), inputs)


@tilelang.jit
def pieces(A, count):
    """Run-time sizes, a branch, a scalar variable, atomics and a print."""
    M = T.const("M")
    A: T.Tensor((M, 64), T.float32)
    C = T.empty((M, 64), T.float32)
    total = T.empty((64,), T.float32)
    with T.Kernel(T.ceildiv(M, 16)) as b:
        x = T.alloc_shared((16, 64), T.float32)
        part = T.alloc_fragment((64,), T.float32)
        T.copy(A[b * 16, 0], x)
        for i, j in T.Parallel(16, 64):
            x[i, j] = T.if_then_else(x[i, j] > 0, x[i, j], 0.25 * x[i, j])
        if b % 2 == 0:
            for i, j in T.Parallel(16, 64):
                x[i, j] = x[i, j] + float(count)
        T.reduce_sum(x, part, dim=0)
        T.atomic_add(total, part)
        T.copy(x, C[b * 16, 0])
    return C, total


def test_branches_and_atomics():
    inputs = [randn((70, 64), np.float32)]
    round_trip(compiled(pieces, inputs, count=3), inputs)


def test_source_is_for_reading():
    """Names and lines of the author's source, and what the compiler decided."""
    source = workloads.matmul(256, 256, 256, 64, 64, 64).expert_source()
    assert "B_shared = T.alloc_L1((" in source and ', "float16", slots=2, address=' in source
    assert re.search(r"# \d+: T.gemm\(A_shared, B_shared, C_local\)", source)
    assert 'with T.rs("PIPE_MTE2"):' in source
    assert "for block in T.blocks(" in source


def test_an_edited_source_is_checked():
    """Who takes a wait out of the printed source has it named."""
    source = workloads.softmax(96, 128, 8).expert_source()
    lines = source.splitlines()
    at = next(i for i, line in enumerate(lines) if 'T.wait_flag("PIPE_MTE2"' in line)
    lines[at] = lines[at][: len(lines[at]) - len(lines[at].lstrip())] + "pass"
    kernel = module_of("\n".join(lines)).kernel
    from harness import Program

    report = Program(kernel, [randn((96, 128), np.float32)]).run(check=True).report
    assert any("set_flag/wait_flag MTE2->V" in f["message"] for f in report["findings"])
