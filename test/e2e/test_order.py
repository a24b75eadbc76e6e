# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks with unequal work: those with most turns come first, each exactly once."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn

COLS = 16


@tilelang.jit
def triangle(A, groups, blocks, falling):
    """Row (g, b) is the sum of rows up to b of group g, or from b on, times the number of rows."""
    A: T.Tensor((groups, blocks, COLS), T.float32)
    C = T.empty((groups, blocks, COLS), T.float32)
    with T.Kernel(blocks, groups, threads=128) as (b, g):
        a = T.alloc_shared((COLS,), T.float32)
        total = T.alloc_fragment((COLS,), T.float32)
        T.clear(total)
        for k in T.serial(b if falling else 0, blocks if falling else b + 1):
            T.copy(A[g, k, 0], a)
            for i in T.Parallel(COLS):
                total[i] = total[i] + a[i]
        T.copy(total, C[g, b, 0])
    return C


def remarks(groups, blocks, falling):
    fixed = {"groups": groups, "blocks": blocks, "falling": falling}
    kernel = compile_kernel(triangle, [randn((groups, blocks, COLS), np.float32)], fixed, 2)
    return [r["message"] for r in kernel.remarks if r["stage"] == "tile-order-blocks"]


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(
    ("groups", "blocks"), [(1, 1), (1, 39), (1, 41), (1, 80), (1, 99), (1, 130), (3, 27), (7, 6)]
)
def test_each_block_once(groups, blocks, falling):
    a = randn((groups, blocks, COLS), np.float32)

    def reference(a):
        return np.cumsum(a[:, ::-1], 1)[:, ::-1] if falling else np.cumsum(a, 1)

    check(
        triangle, [a], reference, rtol=1e-4, atol=1e-4,
        groups=groups, blocks=blocks, falling=falling,
    )  # fmt: skip


@pytest.mark.parametrize("falling", [False, True])
def test_heavy_blocks_come_first(falling):
    assert remarks(1, 99, falling)


@tilelang.jit
def through_data(N, A, blocks):
    """The number of turns is in a tensor."""
    N: T.Tensor((blocks,), T.int32)
    A: T.Tensor((blocks, COLS), T.float32)
    C = T.empty((blocks, COLS), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((COLS,), T.float32)
        T.copy(A[b, 0], a)
        for _ in T.serial(N[b]):
            for i in T.Parallel(COLS):
                a[i] = a[i] + 1.0
        T.copy(a, C[b, 0])
    return C


def test_unknown_work_stays_in_order():
    turns, a = np.arange(50, dtype=np.int32) % 5, randn((50, COLS), np.float32)
    kernel = compile_kernel(through_data, [turns, a], {"blocks": 50}, 2)
    assert not [r for r in kernel.remarks if r["stage"] == "tile-order-blocks"]
    check(through_data, [turns, a], lambda n, a: a + n[:, None], rtol=1e-6, atol=0, blocks=50)


@tilelang.jit
def adds_rows(A, C, blocks):
    """All blocks add to one row, later ones a sum of more rows."""
    A: T.Tensor((blocks, COLS), T.float32)
    C: T.Tensor((COLS,), T.float32)
    with T.Kernel(blocks, threads=128) as b:
        a = T.alloc_shared((COLS,), T.float32)
        total = T.alloc_fragment((COLS,), T.float32)
        T.clear(total)
        for k in T.serial(b + 1):
            T.copy(A[k, 0], a)
            for i in T.Parallel(COLS):
                total[i] = total[i] + a[i]
        T.atomic_add(C, total)


def test_atomics_keep_the_order_of_blocks():
    """In another order the sum would round elsewhere."""
    a, c = randn((99, COLS), np.float32), np.zeros(COLS, np.float32)
    kernel = compile_kernel(adds_rows, [a, c], {"blocks": 99}, 2)
    assert not [r for r in kernel.remarks if r["stage"] == "tile-order-blocks"]
    check(adds_rows, [a, c], None, blocks=99)
