# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of one row each: one block does the rows of several."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, check, compile_kernel, randn


def batched(function, inputs, fixed):
    """Rows of a block, 1 when blocks stay as they are."""
    kernel = compile_kernel(function, inputs, fixed, 2)
    found = [r["message"] for r in kernel.remarks if r["stage"] == "tile-batch-blocks"]
    return int(found[0].split("rows of ")[1].split()[0].rstrip(":")) if found else 1


@tilelang.jit
def normalised(A, W, rows, cols, flat):
    """One row a block, as a tile of one row or of one dimension."""
    A: T.Tensor((rows, cols), T.float16)
    W: T.Tensor((cols,), T.float16)
    C = T.empty((rows, cols), T.float16)
    with T.Kernel(rows, threads=128) as b:
        shape = (cols,) if flat else (1, cols)
        a = T.alloc_shared(shape, T.float16)
        w = T.alloc_shared((cols,), T.float16)
        x = T.alloc_fragment((1, cols), T.float32)
        square = T.alloc_fragment((1, cols), T.float32)
        norm = T.alloc_fragment((1,), T.float32)
        T.copy(A[b, 0], a)
        T.copy(W, w)
        if flat:
            for j in T.Parallel(cols):
                x[0, j] = a[j]
        else:
            T.copy(a, x)
        for i, j in T.Parallel(1, cols):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, norm, dim=1)
        for i in T.Parallel(1):
            norm[i] = T.rsqrt(norm[i] / cols + 1e-6)
        for i, j in T.Parallel(1, cols):
            x[i, j] = x[i, j] * norm[i] * w[j]
        T.copy(x, C[b, 0])
    return C


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("rows", "cols"), [(320, 64), (640, 100), (256, 300)])
def test_rows(rows, cols, flat):
    inputs = [randn((rows, cols), seed=1), randn((cols,), seed=2)]
    fixed = {"rows": rows, "cols": cols, "flat": flat}

    def reference(a, w):
        x = a.astype(np.float32)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w.astype(np.float32)

    assert batched(normalised, inputs, fixed) > 1
    check(normalised, inputs, reference, rtol=4e-3, atol=4e-3, **fixed)


@tilelang.jit
def online(A, heads, rows, cols, step):
    """Rows of a second extent, in a loop over parts of the row; an index goes into the result."""
    A: T.Tensor((heads, rows, cols), T.float32)
    C = T.empty((heads, rows, 2), T.float32)
    with T.Kernel(rows, heads, threads=128) as (r, h):
        a = T.alloc_shared((1, step), T.float32)
        position = T.alloc_fragment((1, step), T.float32)
        top = T.alloc_fragment((1,), T.float32)
        result = T.alloc_fragment((1, 2), T.float32)
        T.fill(top, -1e30)
        for i, j in T.Parallel(1, step):
            position[i, j] = j
        for k in T.Pipelined(T.ceildiv(cols, step), num_stages=2):
            T.copy(A[h, r, k * step], a)
            for i, j in T.Parallel(1, step):
                a[i, j] = a[i, j] + position[i, j] * 0.001
            T.reduce_max(a, top, dim=1, clear=False)
        for i, j in T.Parallel(1, 2):
            result[i, j] = top[i]
        T.copy(result, C[h, r, 0])
    return C


def test_second_extent_and_loop():
    heads, rows, cols, step = 3, 160, 96, 32
    inputs = [randn((heads, rows, cols), np.float32)]
    fixed = {"heads": heads, "rows": rows, "cols": cols, "step": step}

    def reference(a):
        shifted = a + np.tile(np.arange(step, dtype=np.float32) * np.float32(0.001), cols // step)
        return np.repeat(shifted.max(2)[..., None], 2, 2)

    assert batched(online, inputs, fixed) > 1
    check(online, inputs, reference, rtol=1e-6, atol=1e-6, **fixed)


@tilelang.jit
def apart(A, rows, cols, how):
    """Work that neighbours cannot share a block for."""
    A: T.Tensor((rows, cols), T.float32)
    C = T.empty((rows, cols), T.float32)
    with T.Kernel(rows, threads=128) as b:
        a = T.alloc_shared((1, cols), T.float32)
        T.copy(A[b, 0], a)
        if how == "scalar":
            for i, j in T.Parallel(1, cols):
                a[i, j] = a[i, j] * b
        elif how == "turns":
            for _ in T.serial(b % 3):
                for i, j in T.Parallel(1, cols):
                    a[i, j] = a[i, j] + 1.0
        elif how == "print":
            T.print(b, msg="row")
        T.copy(a, C[rows - 1 - b if how == "backwards" else b, 0])
    return C


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("scalar", lambda a: a * np.arange(len(a), dtype=np.float32)[:, None]),
        ("turns", lambda a: a + np.float32(1) * (np.arange(len(a)) % 3)[:, None]),
        ("print", lambda a: a),
        ("backwards", lambda a: a[::-1]),
    ],
)
def test_left_alone(how, expected):
    inputs = [randn((160, 64), np.float32)]
    fixed = {"rows": 160, "cols": 64, "how": how}
    assert batched(apart, inputs, fixed) == 1
    check(apart, inputs, expected, rtol=1e-6, atol=1e-6, **fixed)


@tilelang.jit
def shared(A, rows, cols, apart):
    """Blocks that touch each other's rows: a race, which must stay one."""
    A: T.Tensor((40, rows + 1, cols), T.float32)
    with T.Kernel(rows, 40, threads=128) as (b, p):
        a = T.alloc_shared((cols,), T.float32)
        T.copy(A[p, b + apart, 0], a)
        T.copy(a, A[p, b, 0])


@pytest.mark.parametrize(("apart", "races"), [(0, False), (1, True)])
def test_races_are_not_hidden(apart, races):
    inputs = [randn((40, 17, 64), np.float32)]
    fixed = {"rows": 16, "cols": 64, "apart": apart}
    program = Program(compile_kernel(shared, inputs, fixed, 2), inputs)
    findings = program.run(check=True).report["findings"]
    assert bool(findings) == races
    assert (batched(shared, inputs, fixed) > 1) != races


@tilelang.jit
def padded_groups(A, counts, most, block):
    """Groups of rows that lie one behind the other, each with its rows halved and zeros behind."""
    M, N, G = T.const("M, N, G")
    A: T.Tensor((M, N), T.float32)
    counts: T.Tensor((G,), T.int32)
    B = T.empty((G, most, N), T.float32)
    with T.Kernel(T.ceildiv(most, block), G, threads=128) as (row, group):
        first = T.alloc_var(T.int32)
        a = T.alloc_fragment((block, N), T.float32)
        b = T.alloc_fragment((block, N), T.float32)
        first = 0
        for g in T.serial(group):
            first += counts[g]
        T.copy(A[first + row * block : first + (row + 1) * block, 0:N], a)
        for i, j in T.Parallel(block, N):
            b[i, j] = T.if_then_else(row * block + i < counts[group], a[i, j] * 0.5, 0)
        T.copy(b, B[group, row * block : (row + 1) * block, 0:N])
    return B


def padded_groups_reference(a, counts, most):
    starts = np.concatenate([[0], np.cumsum(counts)])
    result = np.zeros((len(counts), most, a.shape[1]), np.float32)
    for group, count in enumerate(counts):
        result[group, :count] = a[starts[group] : starts[group] + count] * np.float32(0.5)
    return result


@pytest.mark.parametrize("counts", [(21, 256), (256, 0), (8, 250)])
def test_rows_of_groups_that_end_inside_a_block(counts):
    inputs = [randn((300, 64), np.float32), np.array(counts, np.int32)]
    fixed = {"most": 256, "block": 4}
    assert batched(padded_groups, inputs, fixed) > 1
    check(padded_groups, inputs, lambda a, c: padded_groups_reference(a, c, 256), **fixed)
