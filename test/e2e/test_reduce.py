# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans and what is made of them: softmax and the two usual norms."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import bfloat16, check, integers, randn, wide
from kernels import softmax

KINDS = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "abssum": lambda a, axis: np.sum(np.abs(a), axis=axis),
    "absmax": lambda a, axis: np.max(np.abs(a), axis=axis),
}


@tilelang.jit
def reduction(A, kind, axis, dtype):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    C = T.empty((N,) if axis == 0 else (M,), dtype)
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), dtype)
        c = T.alloc_fragment((N,) if axis == 0 else (M,), dtype)
        T.copy(A, a)
        if kind == "sum":
            T.reduce_sum(a, c, dim=axis)
        elif kind == "max":
            T.reduce_max(a, c, dim=axis)
        elif kind == "min":
            T.reduce_min(a, c, dim=axis)
        elif kind == "abssum":
            T.reduce_abssum(a, c, dim=axis)
        else:
            T.reduce_absmax(a, c, dim=axis)
        T.copy(c, C)
    return C


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_reduction(kind, axis, dtype):
    tol = 1e-5 if dtype == "float32" else 5e-3
    check(
        reduction,
        [randn((20, 72), dtype, 4)],
        lambda a: KINDS[kind](a.astype(np.float64), axis=axis),
        rtol=tol,
        atol=tol,
        seeds=1,
        kind=kind,
        axis=axis,
        dtype=dtype,
    )


@pytest.mark.parametrize("size", [(1, 1), (1, 100), (100, 1), (3, 7), (33, 65)])
@pytest.mark.parametrize("axis", [0, 1])
def test_reduction_sizes(size, axis):
    check(
        reduction,
        [randn(size, np.float32, 4)],
        lambda a: a.sum(axis),
        rtol=1e-4,
        atol=1e-4,
        seeds=1,
        kind="sum",
        axis=axis,
        dtype="float32",
    )


@pytest.mark.parametrize("dtype", ["int32", "bfloat16"])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_reduction_types(dtype, kind):
    values = integers((12, 40), -100, 100) if dtype == "int32" else randn((12, 40), bfloat16)
    check(
        reduction,
        [values],
        lambda a: KINDS[kind](a if dtype == "int32" else wide(a)[0], axis=1),
        rtol=2e-2,
        atol=2e-2,
        seeds=1,
        kind=kind,
        axis=1,
        dtype=dtype,
    )


@tilelang.jit
def kept(A, M, N):
    """The reduced dimension stays as 1; the second reduction goes on from the first."""
    A: T.Tensor((2, M, N), "float32")
    C = T.empty((M, 1), "float32")
    D = T.empty((1, 1), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        c = T.alloc_shared((M, 1), "float32")
        d = T.alloc_shared((1, 1), "float32")
        T.copy(A[0, 0, 0], a)
        T.reduce_max(a, c, dim=1)
        T.copy(A[1, 0, 0], a)
        T.reduce_max(a, c, dim=1, clear=False)
        T.reduce(a, d, [0, 1], "sum")
        T.copy(c, C)
        T.copy(d, D)
    return C, D


def test_kept_dimension():
    check(
        kept,
        [randn((2, 16, 40), np.float32)],
        lambda a: (a.max((0, 2))[:, None], a[1].sum(keepdims=True)),
        rtol=1e-4,
        atol=1e-4,
        M=16,
        N=40,
    )


@tilelang.jit
def scan(A, axis, reverse):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        T.cumsum(a, dim=axis, reverse=reverse)
        T.copy(a, C)
    return C


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(axis, reverse):
    def reference(a):
        a = np.flip(a, axis) if reverse else a
        out = np.cumsum(a, axis)
        return np.flip(out, axis) if reverse else out

    check(
        scan,
        [randn((9, 21), np.float32)],
        reference,
        rtol=1e-4,
        atol=1e-4,
        axis=axis,
        reverse=reverse,
    )


@tilelang.jit
def rows_softmax(A, rows, dtype):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        a = T.alloc_fragment((rows, N), dtype)
        x = T.alloc_fragment((rows, N), "float32")
        top = T.alloc_fragment((rows,), "float32")
        total = T.alloc_fragment((rows,), "float32")
        T.copy(A[bx * rows, 0], a)
        T.copy(a, x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = T.exp(x[i, j] - top[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, a)
        T.copy(a, C[bx * rows, 0])
    return C


@pytest.mark.parametrize("size", [(16, 64), (13, 50), (40, 100)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax(size, dtype):
    kind = bfloat16 if dtype == "bfloat16" else np.float16
    check(
        rows_softmax,
        [randn(size, kind)],
        lambda a: softmax(wide(a)[0]),
        rtol=1e-2,
        atol=2e-3,
        rows=8,
        dtype=dtype,
    )


@tilelang.jit
def online_softmax(A, rows, cols):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float16")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        a = T.alloc_shared((rows, cols), "float16")
        x = T.alloc_fragment((rows, cols), "float32")
        part = T.alloc_fragment((rows,), "float32")
        top = T.alloc_fragment((rows,), "float32")
        before = T.alloc_fragment((rows,), "float32")
        total = T.alloc_fragment((rows,), "float32")
        T.fill(top, -T.infinity("float32"))
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(N, cols), num_stages=2):
            T.copy(A[bx * rows, k * cols], a)
            for i, j in T.Parallel(rows, cols):
                x[i, j] = T.if_then_else(k * cols + j < N, a[i, j], -T.infinity("float32"))
            T.copy(top, before)
            T.reduce_max(x, top, dim=1, clear=False)
            for i, j in T.Parallel(rows, cols):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, part, dim=1)
            for i in T.Parallel(rows):
                total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
        for k in T.Pipelined(T.ceildiv(N, cols), num_stages=2):
            T.copy(A[bx * rows, k * cols], a)
            for i, j in T.Parallel(rows, cols):
                a[i, j] = T.exp(a[i, j] - top[i]) / total[i]
            T.copy(a, C[bx * rows, k * cols])
    return C


@pytest.mark.parametrize("size", [(16, 96), (11, 70)])
def test_online_softmax(size):
    check(
        online_softmax,
        [randn(size)],
        lambda a: softmax(wide(a)[0]),
        rtol=1e-2,
        atol=1e-3,
        rows=8,
        cols=32,
    )


@tilelang.jit
def norms(A, weight, rows, rms):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float16")
    weight: T.Tensor((N,), "float32")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        a = T.alloc_shared((rows, N), "float16")
        w = T.alloc_shared((N,), "float32")
        x = T.alloc_fragment((rows, N), "float32")
        square = T.alloc_fragment((rows, N), "float32")
        mean = T.alloc_fragment((rows,), "float32")
        spread = T.alloc_fragment((rows,), "float32")
        T.copy(weight, w)
        T.copy(A[bx * rows : (bx + 1) * rows, :], a)
        for i, j in T.Parallel(rows, N):
            x[i, j] = a[i, j]
        if not rms:
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] -= mean[i] / N
        for i, j in T.Parallel(rows, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, spread, dim=1)
        for i in T.Parallel(rows):
            spread[i] = T.rsqrt(spread[i] / N + 1e-5)
        for i, j in T.Parallel(rows, N):
            a[i, j] = x[i, j] * spread[i] * w[j]
        T.copy(a, C[bx * rows : (bx + 1) * rows, :])
    return C


@pytest.mark.parametrize("rms", [False, True])
@pytest.mark.parametrize("size", [(16, 64), (21, 100)])
def test_norms(rms, size):
    def reference(a, w):
        a = wide(a)[0]
        if not rms:
            a = a - a.mean(1, keepdims=True)
        return a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5) * w

    check(
        norms,
        [randn(size), randn(size[1], np.float32, 1)],
        reference,
        rtol=5e-3,
        atol=5e-3,
        rows=8,
        rms=rms,
    )


BITWISE = {
    "bitand": (T.reduce_bitand, np.bitwise_and),
    "bitor": (T.reduce_bitor, np.bitwise_or),
    "bitxor": (T.reduce_bitxor, np.bitwise_xor),
}


@tilelang.jit
def bitwise(A, kind, clear):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "int32")
    C = T.empty((M,), "int32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "int32")
        c = T.alloc_shared((M,), "int32")
        T.copy(A, a)
        T.fill(c, 5)
        BITWISE[kind][0](a, c, dim=1, clear=clear)
        T.copy(c, C)
    return C


@pytest.mark.parametrize("kind", BITWISE)
@pytest.mark.parametrize("clear", [True, False])
def test_bitwise(kind, clear):
    def reference(a):
        found = BITWISE[kind][1].reduce(a, axis=1)
        return found if clear else BITWISE[kind][1](found, 5)

    values = integers((6, 20), -(2**30), 2**30)
    check(bitwise, [values], reference, rtol=0, atol=0, seeds=1, kind=kind, clear=clear)


@tilelang.jit
def special_values(A, kind):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M,), "float32")
    D = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        c = T.alloc_shared((M,), "float32")
        T.copy(A, a)
        T.reduce(a, c, kind, 1)
        for i, j in T.Parallel(M, N):
            a[i, j] = T.exp(a[i, j] - c[i]) + T.max(a[i, j], 0.0)
        T.copy(c, C)
        T.copy(a, D)
    return C, D


@pytest.mark.parametrize("kind", ["sum", "max", "min", "absmax", "prod"])
def test_special_values(kind):
    """Infinities, NaNs, zeros of both signs: all engines give the same bits."""
    values = randn((8, 24), np.float32)
    values.reshape(-1)[::7] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e38, 1e-44] * 4
    check(special_values, [values], None, kind=kind)
