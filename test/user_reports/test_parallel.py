# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about T.Parallel, reductions and scans: A038 to A056."""

from __future__ import annotations

import numpy as np
import pytest
from results import pointwise, refused, result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)


def small(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return rng.integers(-8, 8, shape).astype(dtype)


@pytest.mark.parametrize("g", [1, 16])
def test_a038_compact_tile_into_a_padded_one(g):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((g, 4), T.float32)
        C = T.empty((g, 8), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((g, 4), T.float32)
            c = T.alloc_shared((g, 8), T.float32)
            T.copy(A, a)
            T.clear(c)
            for i, j in T.Parallel(g, 4):
                c[i, j] = a[i, j]
            T.copy(c, C)
        return C

    a = small(g, 4)
    assert np.array_equal(result(kernel, a), np.pad(a, ((0, 0), (0, 4))))


def test_a039_branches_that_store_to_different_tiles():
    @tilelang.jit
    def kernel(X):
        X: T.Tensor((64,), T.float32)
        Y = T.empty((64,), T.float32)
        Z = T.empty((64,), T.float32)
        W = T.empty((64,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((64,), T.float32)
            y = T.alloc_shared((64,), T.float32)
            z = T.alloc_shared((64,), T.float32)
            w = T.alloc_shared((64,), T.float32)
            T.copy(X, x)
            T.clear(y)
            T.clear(z)
            for i in T.Parallel(64):
                if x[i] > 0:
                    y[i] = x[i]
                    w[i] = 1
                else:
                    z[i] = -x[i]
                    w[63 - (63 - i)] = 2
            T.copy(y, Y)
            T.copy(z, Z)
            T.copy(w, W)
        return Y, Z, W

    x = small(64)
    y, z, w = result(kernel, x)
    assert np.array_equal(y, np.maximum(x, 0)) and np.array_equal(z, np.maximum(-x, 0))
    assert np.array_equal(w, np.where(x > 0, 1, 2))


@pytest.mark.parametrize("modulus", [1, 5, 12, 32, 50])
def test_a040_index_modulo_a_size_that_does_not_divide(modulus):
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((32, 32), T.float32)
        B: T.Tensor((modulus,), T.float32)
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((modulus,), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + b[j % modulus]
            T.copy(a, C)
        return C

    a, b = small(32, 32), small(modulus)
    assert np.array_equal(result(kernel, a, b), a + b[np.arange(32) % modulus])


def test_a041_loops_of_different_extents_over_one_tile():
    @tilelang.jit
    def kernel():
        C = T.empty((256,), T.float32)
        with T.Kernel(1):
            f = T.alloc_shared((256,), T.float32)
            T.clear(f)
            for i in T.Parallel(100):
                f[i] = 5
            for i in T.Parallel(256):
                C[i] = f[i] + 1
        return C

    assert np.array_equal(result(kernel), np.where(np.arange(256) < 100, 6, 1))


@pytest.mark.parametrize("turn", [1, 5, 127])
def test_a042_rotated_read(turn):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((128,), T.float32)
        C = T.empty((128,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((128,), T.float32)
            c = T.alloc_shared((128,), T.float32)
            T.copy(A, a)
            for i in T.Parallel(128):
                c[i] = a[(i + turn) % 128]
            T.copy(c, C)
        return C

    a = small(128)
    assert np.array_equal(result(kernel, a), np.roll(a, -turn))


def test_a043_one_tile_read_at_two_places():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((8, 128), T.float32)
        C = T.empty((8, 128), T.float32)
        D = T.empty((8, 128), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((8, 128), T.float32)
            c = T.alloc_shared((8, 128), T.float32)
            T.copy(A, a)
            T.clear(c)
            for i, j in T.Parallel(8, 127):
                c[i, j] = a[i, j] + a[i, j + 1]
            T.copy(c, C)
            for i, j in T.Parallel(8, 128):
                c[i, j] = a[i, j] - a[0, j]
            T.copy(c, D)
        return C, D

    a = small(8, 128)
    c, d = result(kernel, a)
    assert np.array_equal(c[:, :127], a[:, :127] + a[:, 1:]) and (c[:, 127] == 0).all()
    assert np.array_equal(d, a - a[0])


def test_a044_elements_stored_by_serial_loops():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((16, 16), T.float32)
        C = T.empty((16, 16), T.float32)
        with T.Kernel(1):
            a = T.alloc_fragment((16, 16), T.float32)
            T.copy(A, a)
            for i in T.serial(16):
                for j in T.serial(16):
                    C[i, j] = a[i, j]
        return C

    a = np.arange(256, dtype=np.float32).reshape(16, 16)
    assert np.array_equal(result(kernel, a), a)


@pytest.mark.parametrize("n", [1, 192, 229, 257])
def test_a045_any_width_whatever_the_threads(n):
    x = small(n)
    kernel = pointwise(lambda v: v * 2 + 1, n, "float32", threads=128)
    assert np.array_equal(result(kernel, x), x * 2 + 1)


def test_a046_scalar_variable_assigned_in_a_parallel_loop():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((16, 64), T.int32)
        C = T.empty((16, 64), T.int32)
        with T.Kernel(1):
            a = T.alloc_shared((16, 64), T.int32)
            T.copy(A, a)
            for i, j in T.Parallel(16, 64):
                v = T.alloc_var("int32")
                v = i * 64 + j
                a[i, j] = a[i, j] + v
            T.copy(a, C)
        return C

    a = small(16, 64, dtype=np.int32)
    assert np.array_equal(result(kernel, a), a + np.arange(1024, dtype=np.int32).reshape(16, 64))


@pytest.mark.parametrize(("rows", "groups"), [(16, 14), (1, 224)])
def test_a047_sums_of_groups(rows, groups):
    """Several points of one statement that store to one element: the last one stays. Sums of
    groups are a reduction of a view."""

    @tilelang.jit
    def kernel(B):
        B: T.Tensor((rows, groups * 32), T.float32)
        A = T.empty((rows, groups), T.float32)
        with T.Kernel(1):
            b = T.alloc_shared((rows, groups * 32), T.float32)
            a = T.alloc_shared((rows, groups), T.float32)
            T.copy(B, b)
            T.reduce_sum(T.view(b, (rows, groups, 32)), a, dim=2)
            T.copy(a, A)
        return A

    b = small(rows, groups * 32)
    assert np.array_equal(result(kernel, b), b.reshape(rows, groups, 32).sum(2))


def test_a048_nested_conversions_keep_the_type_of_each_step():
    @tilelang.jit
    def kernel(X, W, B):
        X: T.Tensor((8, 256), T.float16)
        W: T.Tensor((256,), T.float16)
        B: T.Tensor((256,), T.float16)
        Y = T.empty((8, 256), T.float16)
        with T.Kernel(1):
            x = T.alloc_shared((8, 256), T.float16)
            w = T.alloc_shared((256,), T.float16)
            b = T.alloc_shared((256,), T.float16)
            mean = T.alloc_shared((8,), T.float32)
            T.copy(X, x)
            T.copy(W, w)
            T.copy(B, b)
            for i in T.Parallel(8):
                mean[i] = 0.5 * i
            for i, j in T.Parallel(8, 256):
                y = T.cast((T.cast(x[i, j], "float32") - mean[i]) * 1.25, "float16")
                x[i, j] = y * w[j] + b[j]
            T.copy(x, Y)
        return Y

    x, w, b = small(8, 256, dtype=np.float16), *small(2, 256, dtype=np.float16)
    mean = 0.5 * np.arange(8, dtype=np.float32)[:, None]
    want = ((x.astype(np.float32) - mean) * np.float32(1.25)).astype(np.float16) * w + b
    assert np.array_equal(result(kernel, x, w, b), want)


KINDS = {"sum": np.sum, "max": np.max, "min": np.min}


def reduced(kind, shape, dim, dtype="float32"):
    """A kernel that reduces a tile of `shape` along `dim`."""
    kept = tuple(s for d, s in enumerate(shape) if d != dim % len(shape)) or (1,)

    @tilelang.jit
    def kernel(A):
        A: T.Tensor(shape, dtype)
        C = T.empty(kept, dtype)
        with T.Kernel(1):
            a = T.alloc_shared(shape, dtype)
            c = T.alloc_shared(kept, dtype)
            T.copy(A, a)
            getattr(T, f"reduce_{kind}")(a, c, dim=dim)
            T.copy(c, C)
        return C

    return kernel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a049_both_axes_and_types(kind, dim, dtype):
    a = small(16, 128, dtype=dtype)
    assert np.array_equal(result(reduced(kind, (16, 128), dim, dtype), a), KINDS[kind](a, dim))


@pytest.mark.parametrize("reverse", [False, True])
def test_a050_magnitudes_and_prefix_sums(reverse):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((8, 64), T.float32)
        S = T.empty((8,), T.float32)
        M = T.empty((8,), T.float32)
        C = T.empty((8, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((8, 64), T.float32)
            s = T.alloc_shared((8,), T.float32)
            c = T.alloc_shared((8, 64), T.float32)
            T.copy(A, a)
            T.reduce_abssum(a, s, dim=1)
            T.copy(s, S)
            T.reduce_absmax(a, s, dim=1)
            T.copy(s, M)
            T.cumsum(a, c, dim=1, reverse=reverse)
            T.copy(c, C)
        return S, M, C

    a = small(8, 64)
    s, m, c = result(kernel, a)
    assert np.array_equal(s, abs(a).sum(1)) and np.array_equal(m, abs(a).max(1))
    assert np.array_equal(c, a[:, ::-1].cumsum(1)[:, ::-1] if reverse else a.cumsum(1))


@pytest.mark.parametrize("n", [1, 3, 33, 48, 100])
def test_a051_lengths_that_are_no_powers_of_two(n):
    a = np.arange(1, n + 1, dtype=np.float32)
    assert result(reduced("sum", (n,), 0), a)[0] == n * (n + 1) // 2


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a052_each_axis_of_three(dim):
    a = np.arange(512, dtype=np.float32).reshape(16, 4, 8)
    assert np.array_equal(result(reduced("sum", (16, 4, 8), dim), a), a.sum(dim))


def test_a053_bits_of_floats_have_no_reduction():
    with refused("E0433", "bits of floats have no such reduction") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((8, 64), "float32")):
            with T.Kernel(1):
                a = T.alloc_shared((8, 64), "float32")
                s = T.alloc_shared((8,), "float32")
                T.reduce_bitor(a, s, dim=1)

    assert "T.reduce_bitor(a, s, dim=1)" in str(caught.value)


@pytest.mark.parametrize("target", ["shared", "fragment", "itself"])
def test_a054_scan_between_classes_of_tiles(target):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((32, 64), T.float32)
        C = T.empty((32, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((32, 64), T.float32)
            c = a if target == "itself" else getattr(T, f"alloc_{target}")((32, 64), T.float32)
            T.copy(A, a)
            T.cumsum(src=a, dst=c, dim=1)
            T.copy(c, C)
        return C

    a = small(32, 64)
    assert np.array_equal(result(kernel, a), a.cumsum(1))


def test_a055_prefix_sum_of_a_repeated_scalar_stored_in_reverse():
    @tilelang.jit
    def kernel(S):
        S: T.Tensor((1,), T.float16)
        C = T.empty((32,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((32,), T.float32)
            y = T.alloc_shared((32,), T.float32)
            z = T.alloc_shared((32,), T.float32)
            for i in T.Parallel(32):
                x[i] = T.cast(S[0], "float32")
            T.cumsum(x, y, dim=0)
            for i in T.Parallel(32):
                z[i] = y[31 - i]
            T.copy(z, C)
        return C

    s = np.array([1.5], np.float16)
    assert np.array_equal(result(kernel, s), 1.5 * np.arange(32, 0, -1))


@pytest.mark.parametrize("shape", [(16, 16), (32, 32), (64, 64), (48, 80), (5, 7)])
def test_a056_transposition_of_any_size(shape):
    import ml_dtypes

    @tilelang.jit
    def kernel(A):
        A: T.Tensor(shape, T.bfloat16)
        C = T.empty(shape[::-1], T.bfloat16)
        with T.Kernel(1):
            a = T.alloc_shared(shape, T.bfloat16)
            c = T.alloc_shared(shape[::-1], T.bfloat16)
            T.copy(A, a)
            T.transpose(a, c, [1, 0])
            T.copy(c, C)
        return C

    a = small(*shape, dtype=ml_dtypes.bfloat16)
    assert np.array_equal(result(kernel, a).astype(np.float32), a.astype(np.float32).T)
