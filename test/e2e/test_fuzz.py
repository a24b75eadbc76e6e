# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short run of test/fuzz/kernel_fuzz.py with fixed seeds, and kernels that once failed."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, randn
from kernels import ROOT


def kernel_fuzz():
    spec = importlib.util.spec_from_file_location(
        "kernel_fuzz", ROOT / "test" / "fuzz" / "kernel_fuzz.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_fuzz"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("start", [0, 20, 40])
def test_random_kernels(start, tmp_path):
    failed, refused, done = kernel_fuzz().fuzz(start, 20, 60, 2, tmp_path)
    assert not failed, f"run test/fuzz/kernel_fuzz.py --seed {failed[0]} --shrink"
    assert sum(refused.values()) <= done // 4, refused


@pytest.mark.parametrize("family", ["parts", "attention"])
def test_random_kernels_of_a_family(family, tmp_path):
    failed, refused, done = kernel_fuzz().fuzz(0, 14, 60, 1, tmp_path, family=family)
    assert not failed, f"run test/fuzz/kernel_fuzz.py --family {family} --seed {failed[0]}"
    assert sum(refused.values()) <= done // 4, refused


@tilelang.jit
def unread_accumulator(A, B, trips):
    A: T.Tensor((16, 32), "float16")
    B: T.Tensor((32, 16), "float16")
    C = T.empty((16, 16), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((16, 32), "float16")
        b = T.alloc_shared((32, 16), "float16")
        used = T.alloc_fragment((16, 16), "float32")
        unused = T.alloc_fragment((16, 16), "float32")
        T.copy(A, a)
        T.copy(B, b)
        for k in T.Pipelined(trips, num_stages=2):
            T.gemm(a, b, unused)
        T.gemm(a, b, used)
        T.copy(used, C)
    return C


def test_accumulator_that_nobody_reads():
    check(
        unread_accumulator,
        [randn((16, 32), seed=1), randn((32, 16), seed=2)],
        lambda a, b: a.astype(np.float64) @ b.astype(np.float64),
        trips=3,
    )


@tilelang.jit
def scalar_in_a_loop(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=128) as _:
        x = T.alloc_shared((64,), "float32")
        y = T.alloc_shared((64,), "float32")
        T.copy(A, y)
        T.fill(x, 2.0)
        for k in T.serial(4):
            for i in T.Parallel(64):
                y[i] = y[i] + x[i] * k
            for i in T.Parallel(64):
                y[i] = y[i] + y[3]
        T.copy(y, B)
    return B


def test_scalar_that_a_loop_reads():
    """The first vector statement of the loop comes before the scalar unit waits for anything."""

    def reference(a):
        y = a.astype(np.float64)
        for k in range(4):
            y = y + 2 * k
            y = y + y[3]
        return y

    check(scalar_in_a_loop, [randn(64, "float32", 1)], reference)


@tilelang.jit
def both_cores_in_one_tensor(A, B):
    A: T.Tensor((24, 32), "float16")
    B: T.Tensor((32, 24), "float16")
    O = T.empty((2, 24, 24), "float32")
    with T.Kernel(2, threads=128) as by:
        a = T.alloc_shared((16, 32), "float16")
        b = T.alloc_shared((32, 24), "float16")
        product = T.alloc_fragment((16, 24), "float32")
        other = T.alloc_fragment((16, 24), "float32")
        T.copy(A[by * 16, 0], a)
        T.copy(B, b)
        T.gemm(a, b, product, clear_accum=True)
        T.copy(product, O[0, by * 16, 0])
        for i, j in T.Parallel(16, 24):
            other[i, j] = product[i, j] * 0.5
        T.copy(other, O[1, by * 16, 0])
    return O


def test_parts_of_a_tensor_written_by_different_cores():
    def reference(a, b):
        product = a.astype(np.float64) @ b.astype(np.float64)
        return np.stack([product, product * 0.5])

    check(
        both_cores_in_one_tensor,
        [randn((24, 32), seed=1), randn((32, 24), seed=2)],
        reference,
    )


@tilelang.jit
def sum_that_is_read_before_it_grows(A, B):
    A: T.Tensor((16, 48), "float16")
    B: T.Tensor((48, 16), "float16")
    before = T.empty((16, 16), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((16, 16), "float16")
        b = T.alloc_shared((16, 16), "float16")
        total = T.alloc_shared((16, 16), "float32")
        seen = T.alloc_fragment((16, 16), "float32")
        for k in T.Pipelined(3, num_stages=1):
            T.copy(A[0, k * 16], a)
            T.copy(B[k * 16, 0], b)
            for i, j in T.Parallel(16, 16):
                seen[i, j] = total[i, j]
            T.gemm(a, b, total)
        T.copy(seen, before)
    return before


def test_sum_that_is_read_before_it_grows():
    """A copy of the sum is no row that is spread over it."""
    check(
        sum_that_is_read_before_it_grows,
        [randn((16, 48), seed=1), randn((48, 16), seed=2)],
        lambda a, b: a[:, :32].astype(np.float64) @ b[:32].astype(np.float64),
    )
