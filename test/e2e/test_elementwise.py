# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T.Parallel bodies, copies with ragged edges, casts, broadcasts, shifted and gathered accesses."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import bfloat16, check, integers, randn, wide


@tilelang.jit
def add(A, B, bm, bn, dtype):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        a = T.alloc_shared((bm, bn), dtype)
        b = T.alloc_shared((bm, bn), dtype)
        c = T.alloc_fragment((bm, bn), dtype)
        T.copy(A[by * bm, bx * bn], a)
        T.copy(B[by * bm, bx * bn], b)
        for i, j in T.Parallel(bm, bn):
            c[i, j] = a[i, j] + b[i, j]
        T.copy(c, C[by * bm, bx * bn])
    return C


@pytest.mark.parametrize("size", [(64, 64), (33, 70), (1, 1), (5, 129), (100, 3), (16, 17)])
def test_add(size):
    check(
        add,
        [randn(size, seed=1), randn(size, seed=2)],
        lambda a, b: a + b,
        bm=16,
        bn=32,
        dtype="float16",
    )


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "int32", "int16", "int8", "uint8", "int64"]
)
def test_add_types(dtype):
    if dtype in ("float32", "bfloat16"):
        kind = bfloat16 if dtype == "bfloat16" else np.float32
        inputs = [randn((20, 40), kind, s) for s in (1, 2)]
    else:
        inputs = [
            integers((20, 40), 0 if dtype == "uint8" else -100, 100, dtype, s) for s in (1, 2)
        ]
    check(
        add,
        inputs,
        lambda a, b: a + b,
        rtol=1e-2 if dtype == "bfloat16" else 1e-6,
        bm=16,
        bn=32,
        dtype=dtype,
    )


@tilelang.jit
def direct(A, B, rows, cols):
    """Element accesses to global tensors, without tiles."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B: T.Tensor((N,), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, rows), T.ceildiv(N, cols), threads=128) as (bx, by):
        for i, j in T.Parallel(rows, cols):
            C[bx * rows + i, by * cols + j] = (
                A[bx * rows + i, by * cols + j] * B[by * cols + j] + 1.0
            )
    return C


@pytest.mark.parametrize("size", [(32, 32), (19, 45)])
def test_direct(size):
    check(
        direct,
        [randn(size, np.float32, 1), randn(size[1], np.float32, 2)],
        lambda a, b: a * b + 1,
        rows=8,
        cols=16,
    )


UNARY = {
    "exp": (T.exp, np.exp),
    "exp2": (T.exp2, np.exp2),
    "log": (lambda x: T.log(T.abs(x) + 0.1), lambda x: np.log(np.abs(x) + 0.1)),
    "sqrt": (lambda x: T.sqrt(T.abs(x)), lambda x: np.sqrt(np.abs(x))),
    "rsqrt": (lambda x: T.rsqrt(T.abs(x) + 0.1), lambda x: 1 / np.sqrt(np.abs(x) + 0.1)),
    "tanh": (T.tanh, np.tanh),
    "sigmoid": (T.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "floor": (lambda x: T.floor(x * 4), lambda x: np.floor(x * 4)),
    "ceil": (lambda x: T.ceil(x * 4), lambda x: np.ceil(x * 4)),
    "sin": (T.sin, np.sin),
    "cos": (T.cos, np.cos),
    "relu": (lambda x: T.max(x, 0), lambda x: np.maximum(x, 0)),
    "clamp": (lambda x: T.clamp(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "abs": (T.abs, np.abs),
    "neg": (lambda x: -x, lambda x: -x),
    "square": (lambda x: x * x, lambda x: x * x),
    "select": (
        lambda x: T.if_then_else(x > 0, x, x * 0.25),
        lambda x: np.where(x > 0, x, x * 0.25),
    ),
}


@tilelang.jit
def unary(A, name, dtype):
    (M, N) = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), dtype)
        T.copy(A, a)
        for i, j in T.Parallel(M, N):
            a[i, j] = UNARY[name][0](a[i, j])
        T.copy(a, C)
    return C


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_unary(name, dtype):
    tol = 1e-5 if dtype == "float32" else 4e-3
    check(
        unary,
        [randn((24, 40), dtype, 5)],
        lambda a: UNARY[name][1](a.astype(np.float64)),
        rtol=tol,
        atol=tol,
        seeds=1,
        name=name,
        dtype=dtype,
    )


@tilelang.jit
def casts(A, source, target):
    N = T.const("N")
    A: T.Tensor((N,), source)
    C = T.empty((N,), target)
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), source)
        c = T.alloc_shared((N,), target)
        T.copy(A, a)
        for i in T.Parallel(N):
            c[i] = T.cast(a[i], target)
        T.copy(c, C)
    return C


CASTS = [
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float16", "bfloat16"),
    ("float32", "int32"),
    ("float32", "int8"),
    ("float16", "int32"),
    ("float16", "int8"),
    ("int32", "float32"),
    ("int32", "float16"),
    ("int8", "float16"),
    ("int8", "int32"),
    ("int32", "int8"),
    ("int32", "int64"),
    ("int64", "int32"),
    ("int16", "float32"),
    ("uint8", "float16"),
    ("int32", "uint8"),
    ("float32", "int64"),
    ("bool", "float32"),
    ("int32", "bool"),
]


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source, target):
    kinds = {"bfloat16": bfloat16}
    if source == "bool":
        values = integers(100, 0, 2, bool, 3)
    elif source.startswith("int") or source.startswith("uint"):
        values = integers(100, 0 if source[0] == "u" else -120, 120, kinds.get(source, source), 3)
    else:
        values = (randn(100, np.float32, 3) * 50).astype(kinds.get(source, source))

    def reference(a):
        if target == "bool":
            return a != 0
        if "float" in source and "int" in target:
            info = np.iinfo(target)
            return np.clip(np.trunc(a.astype(np.float64)), info.min, info.max).astype(target)
        return a.astype(kinds.get(target, target))

    check(casts, [values], reference, rtol=0, atol=0, seeds=1, source=source, target=target)


@tilelang.jit
def broadcasts(A, row, col, M, N):
    A: T.Tensor((M, N), "float32")
    row: T.Tensor((N,), "float32")
    col: T.Tensor((M,), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        r = T.alloc_shared((N,), "float32")
        c = T.alloc_shared((M,), "float32")
        wide_col = T.alloc_shared((M, 1), "float32")
        T.copy(A, a)
        T.copy(row, r)
        T.copy(col, c)
        for i in T.Parallel(M):
            wide_col[i, 0] = c[i] * 2.0
        for i, j in T.Parallel(M, N):
            a[i, j] = a[i, j] * r[j] + c[i] - wide_col[i, 0] + r[3]
        T.copy(a, C)
    return C


@pytest.mark.parametrize("size", [(16, 32), (7, 13)])
def test_broadcasts(size):
    M, N = size
    check(
        broadcasts,
        [randn(size, np.float32, 1), randn(N, np.float32, 2), randn(M, np.float32, 3)],
        lambda a, r, c: a * r + c[:, None] - 2 * c[:, None] + r[3],
        M=M,
        N=N,
    )


@tilelang.jit
def index_maths(A, N):
    A: T.Tensor((N,), "int32")
    C = T.empty((N,), "int32")
    D = T.empty((N,), "int32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "int32")
        c = T.alloc_shared((N,), "int32")
        d = T.alloc_shared((N,), "int32")
        T.copy(A, a)
        for i in T.Parallel(N):
            c[i] = a[i] // 7 + i % 5 - (i // 3) * 2
            d[i] = a[i] % 7 + T.if_then_else(i < N // 2, a[N - 1 - i], a[i // 2])
        T.copy(c, C)
        T.copy(d, D)
    return C, D


def test_index_maths():
    def reference(a):
        i = np.arange(a.size)
        picked = np.where(i < a.size // 2, a[::-1], a[i // 2])
        return a // 7 + i % 5 - (i // 3) * 2, a % 7 + picked

    check(index_maths, [integers(50, -1000, 1000)], reference, rtol=0, atol=0, N=50)


@tilelang.jit
def shifted(A, N):
    A: T.Tensor((N,), "float32")
    C = T.empty((N,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "float32")
        c = T.alloc_shared((N,), "float32")
        T.copy(A, a)
        for i in T.Parallel(N):
            c[i] = a[(i + 1) % N] - a[i]
        for i in T.Parallel(N - 1):
            a[i] = a[i + 1] + c[i]
        for i in T.Parallel(N):
            c[i] = c[i] + a[i]
        T.copy(c, C)
    return C


def test_shifted():
    def reference(a):
        c = np.roll(a, -1) - a
        moved = a.copy()
        moved[:-1] = a[1:] + c[:-1]
        return c + moved

    check(shifted, [randn(64, np.float32)], reference, N=64)


@tilelang.jit
def gathered(table, index, rows, cols, count):
    table: T.Tensor((rows, cols), "float16")
    index: T.Tensor((count,), "int32")
    C = T.empty((count, cols), "float16")
    with T.Kernel(T.ceildiv(count, 8), threads=128) as bx:
        where = T.alloc_shared((8,), "int32")
        out = T.alloc_shared((8, cols), "float16")
        T.copy(index[bx * 8], where)
        for i, j in T.Parallel(8, cols):
            out[i, j] = T.if_then_else(where[i] >= 0, table[where[i], j], 0.0)
        T.copy(out, C[bx * 8, 0])
    return C


def test_gathered():
    table, index = randn((20, 24)), integers(13, -1, 20)
    check(
        gathered,
        [table, index],
        lambda t, x: np.where((x >= 0)[:, None], t[np.maximum(x, 0)], 0),
        rows=20,
        cols=24,
        count=13,
    )


@tilelang.jit
def branches(A, M, N, limit):
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        for i, j in T.Parallel(M, N):
            if i * 3 + j >= limit:
                a[i, j] = a[i, j] * 2.0
            elif a[i, j] < 0:
                a[i, j] = 0.0
            else:
                a[i, j] += 1.0
        T.copy(a, C)
    return C


def test_branches():
    def reference(a):
        i, j = np.indices(a.shape)
        return np.where(i * 3 + j >= 20, a * 2, np.where(a < 0, 0, a + 1))

    check(branches, [randn((12, 24), np.float32)], reference, M=12, N=24, limit=20)


@tilelang.jit
def masked_store(A, N, keep):
    """Points outside the mask belong to someone else and stay as they are."""
    A: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 16), threads=128) as bx:
        for i in T.Parallel(16):
            if bx * 16 + i < keep:
                A[bx * 16 + i] = A[bx * 16 + i] * 10.0


@pytest.mark.parametrize("keep", [0, 5, 16, 29, 40])
def test_masked_store(keep):
    def reference(a):
        out = a.copy()
        out[:keep] *= np.float32(10)
        return out

    check(masked_store, [randn(40, np.float32)], reference, N=40, keep=keep)


@tilelang.jit
def three_dimensions(A, B, X, Y, Z):
    A: T.Tensor((X, Y, Z), "float16")
    B: T.Tensor((Y, Z), "float16")
    C = T.empty((X, Y, Z), "float16")
    with T.Kernel(X, T.ceildiv(Y, 4), T.ceildiv(Z, 8), threads=128) as (bx, by, bz):
        a = T.alloc_shared((4, 8), "float16")
        b = T.alloc_shared((4, 8), "float16")
        T.copy(A[bx, by * 4, bz * 8], a)
        T.copy(B[by * 4 : by * 4 + 4, bz * 8 : bz * 8 + 8], b)
        for i, j in T.Parallel(4, 8):
            a[i, j] = a[i, j] * b[i, j]
        T.copy(a, C[bx, by * 4, bz * 8])
    return C


def test_three_dimensional_grid():
    check(
        three_dimensions,
        [randn((3, 10, 20), seed=1), randn((10, 20), seed=2)],
        lambda a, b: a * b,
        X=3,
        Y=10,
        Z=20,
    )


@tilelang.jit
def transposed(A, M, N):
    A: T.Tensor((M, N), "float32")
    C = T.empty((N, M), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((M, N), "float32")
        c = T.alloc_shared((N, M), "float32")
        T.copy(A, a)
        for i, j in T.Parallel(N, M):
            c[i, j] = a[j, i]
        T.copy(c, C)
    return C


def test_transposed():
    check(transposed, [randn((16, 24), np.float32)], lambda a: a.T, M=16, N=24)


@tilelang.jit
def half_then_wide(A, B, N):
    A: T.Tensor((N,), "float16")
    B: T.Tensor((N,), "bfloat16")
    C = T.empty((N,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((N,), "float16")
        b = T.alloc_shared((N,), "bfloat16")
        c = T.alloc_shared((N,), "float32")
        T.copy(A, a)
        T.copy(B, b)
        for i in T.Parallel(N):
            c[i] = a[i] * b[i] + T.exp(a[i]) / 3
        T.copy(c, C)
    return C


def test_mixed_precision():
    check(
        half_then_wide,
        [randn(77), randn(77, bfloat16, 1)],
        lambda a, b: wide(a)[0] * wide(b)[0] + np.exp(wide(a)[0]) / 3,
        rtol=1e-2,
        atol=1e-2,
        N=77,
    )
