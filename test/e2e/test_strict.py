# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`strict`: an accumulator in f16 or bf16 rounds after every product, as the source says."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, bfloat16, check, compile_kernel, integers, same_bits


def product(A, B, M, N, K, block, dtype, out):
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), out)
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, block), dtype)
        Bs = T.alloc_shared((block, N), dtype)
        total = T.alloc_fragment((M, N), dtype)
        T.clear(total)
        for k in T.Pipelined(K // block, num_stages=2):
            T.copy(A[0, k * block], As)
            T.copy(B[k * block, 0], Bs)
            T.gemm(As, Bs, total)
        T.copy(total, C)
    return C


strict = tilelang.jit(product, strict=True)
loose = tilelang.jit(product)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("out", ["same", "float32"])
def test_rounds_after_every_product(dtype, out):
    """Sums of these integers are exact in f32, so that only roundings to the narrow type show."""
    to = bfloat16 if dtype == "bfloat16" else np.float16
    inputs = [integers((32, 64), -40, 41, to, 1), integers((64, 48), -40, 41, to, 2)]
    fixed = {"M": 32, "N": 48, "K": 64, "block": 16, "dtype": dtype}
    fixed["out"] = dtype if out == "same" else out

    simulated = check(strict, inputs, None, **fixed)
    program = Program(compile_kernel(strict, inputs, fixed, 2), inputs)
    same_bits(program.good(engine="interpreter"), simulated, "as built against simulated")

    a, b = (x.astype(np.float32) for x in inputs)
    total = np.zeros((32, 48), np.float32)
    for k in range(0, 64, 16):
        total = (total + a[:, k : k + 16] @ b[k : k + 16]).astype(to).astype(np.float32)
    np.testing.assert_array_equal(simulated.tensors["C"].astype(np.float32), total)

    kept = check(loose, inputs, None, **fixed, seeds=0)
    assert (kept.tensors["C"] != simulated.tensors["C"]).any(), "nothing rounds: no test"
