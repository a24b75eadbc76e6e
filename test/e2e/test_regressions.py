# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that once gave another result in one form than in another, or a message of no use."""

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, randn


@tilelang.jit
def guarded_quotients(A, B, where):
    A: T.Tensor((8,), T.int32)
    B: T.Tensor((8,), T.int32)
    where: T.Tensor((8,), T.int32)
    C = T.empty((8,), T.int32)
    D = T.empty((8,), T.int32)
    with T.Kernel(1):
        a = T.alloc_shared((8,), T.int32)
        b = T.alloc_shared((8,), T.int32)
        w = T.alloc_shared((8,), T.int32)
        c = T.alloc_shared((8,), T.int32)
        T.copy(A, a)
        T.copy(B, b)
        T.copy(where, w)
        for i in T.Parallel(8):
            c[w[i]] = T.if_then_else(b[i] != 0, a[i] // b[i], -5)
        T.copy(c, C)
        for i in T.Parallel(8):
            c[i] = a[i] % b[i] + a[i] // b[i]
        T.copy(c, D)
    return C, D


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("engine", ["simulator", "interpreter"])
def test_division_by_zero_gives_zero_in_every_form(monkeypatch, level, engine):
    """A scalar loop stopped the kernel where a vector instruction and the interpreter gave 0."""
    monkeypatch.setenv("TILEWRIGHT_OPT_LEVEL", level)
    monkeypatch.setenv("TILEWRIGHT_ENGINE", engine)
    a = np.arange(8, dtype=np.int32) * 7 - 20
    b = np.array([0, -1, 0, 1, 2, 3, -2, 0], np.int32)
    where = np.arange(8, dtype=np.int32)[::-1].copy()
    c, d = guarded_quotients(a, b, where)
    with np.errstate(divide="ignore"):
        quotient, rest = a // b, a % b
    assert np.array_equal(c[::-1], np.where(b != 0, quotient, -5))
    assert np.array_equal(d, np.where(b != 0, quotient + rest, a))  # a % 0 is a - 0 * 0


@tilelang.jit
def twice(A, block: int):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as i:
        a = T.alloc_shared((block,), T.float32)
        T.copy(A[i * block], a)
        for j in T.Parallel(block):
            a[j] = a[j] * 2
        T.copy(a, B[i * block])
    return B


@pytest.mark.parametrize("value", [None, [1.0, 2.0]])
def test_no_tensor_where_one_gives_the_size(value):
    with pytest.raises(TypeError, match=r"argument 'A' is a .*the kernel expects a tensor"):
        twice(value, block=4)


@pytest.mark.parametrize("block", ["4", None])
def test_block_that_is_no_number(block):
    with pytest.raises(tilelang.errors.CompileError, match=r"T\.ceildiv of .* must be integers"):
        twice(np.ones(8, np.float32), block=block)


@pytest.mark.parametrize("block", [2**63, 2**41])
def test_tile_without_bounds(block):
    with pytest.raises(tilelang.errors.CompileError, match="fits into no memory of the chip"):
        twice(np.ones(8, np.float32), block=block)


@tilelang.jit
def narrow_sum(A):
    A: T.Tensor((16, 16), T.float32)
    C = T.empty((16, 16), T.float16)
    with T.Kernel(1):
        a = T.alloc_shared((16, 16), T.float32)
        c = T.alloc_fragment((16, 16), T.float16)
        T.copy(A, a)
        T.gemm(a, a, c)
        T.copy(c, C)
    return C


def test_type_of_an_accumulator_is_named_once():
    with pytest.raises(
        tilelang.errors.CompileError, match="float32 accumulates in float32, found float16"
    ):
        narrow_sum(np.ones((16, 16), np.float32))


def test_bits_of_floats():
    """Bits of narrow floats were read one by one by the scalar unit, which has no such type."""

    @tilelang.jit
    def bits(A, n, dtype, whole):
        A: T.Tensor((n,), dtype)
        N = T.empty((n,), dtype)
        B = T.empty((n,), whole)
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((n,), dtype)
            T.copy(A, a)
            T.copy(T.vbitcast(a, whole), B)
            for _ in T.serial(3):
                T.vnot(a, a)
            T.copy(a, N)
        return N, B

    for dtype, whole in ((np.float16, np.int16), (np.float32, np.uint32), (np.float64, np.int64)):
        a = randn((70,), dtype, seed=4)

        def reference(a, whole=whole):
            return (~a.view(whole)).view(a.dtype), a.view(whole)

        check(bits, [a], reference, n=70, dtype=a.dtype.name, whole=np.dtype(whole).name)


@tilelang.jit
def rounded(A, kind):
    modes = ("rint", "round", "floor", "ceil", "trunc")
    A: T.Tensor((2, 32), kind)
    B = T.empty((6, 2, 32), kind)
    with T.Kernel(1):
        a = T.alloc_shared((2, 32), kind)
        b = T.alloc_shared((2, 32), kind)
        T.copy(A, a)
        for at, mode in enumerate(modes):
            T.vcast(a, b, round_mode=mode)
            T.copy(b, B[at, 0, 0])
        T.vcast(a, b)
        T.copy(b, B[5, 0, 0])
    return B


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_rounding_mode_between_equal_types_rounds_to_integers(kind):
    """It was a copy."""
    a = randn((2, 32), np.dtype(kind), seed=5) * 8
    a[0, :6] = [0.5, 1.5, -2.5, 62.5, -0.25, 3]

    def reference(a):
        away = np.copysign(np.floor(np.abs(a.astype(np.float64)) + 0.5), a).astype(a.dtype)
        return np.stack([np.rint(a), away, np.floor(a), np.ceil(a), np.trunc(a), a])

    check(rounded, [a], reference, rtol=0, atol=0, kind=kind)

    @tilelang.jit
    def odd(A):
        A: T.Tensor((2, 32), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((2, 32), T.float32)
            T.vcast(a, a, round_mode="odd")

    with pytest.raises(ValueError, match="'odd' between tiles of float32"):
        odd(np.zeros((2, 32), np.float32))


@tilelang.jit
def scaled_by_slots(A, S):
    A: T.Tensor((8, 32), T.float32)
    S: T.Tensor((2, 8, 1), T.float32)
    B = T.empty((8, 32), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((8, 32), T.float32)
        s = T.alloc_shared((2, 8, 1), T.float32)
        T.copy(A, a)
        T.copy(S, s)
        for k in T.serial(2):
            T.vmul(a, s[k % 2, :, :], a)
        T.copy(a, B)
    return B


def test_a_slot_of_columns_is_repeated_along_rows():
    """A slot s[k, :, :] of sizes (1, 8, 1) did not fit a tile of (8, 32)."""
    a, s = randn((8, 32), np.float32, seed=6), randn((2, 8, 1), np.float32, seed=7)
    check(scaled_by_slots, [a, s], lambda a, s: a * s[0] * s[1])


@tilelang.jit
def chosen_nowhere(X, C):
    X: T.Tensor((10, 16), T.float32)
    C: T.Tensor((16,), T.float32)
    H = T.empty((10, 16), T.float16)
    with T.Kernel(2) as by:
        x = T.alloc_shared((5, 16), T.float32)
        h = T.alloc_shared((5, 16), T.float16)
        c = T.alloc_shared((16,), T.float32)
        T.copy(X[by * 5, 0], x)
        T.copy(C, c)
        for i, j in T.Parallel(5, 16):
            if i >= by + 2:
                inner = T.if_then_else(c[j] > 0.0, h[i, j], x[i, j])
                h[i, j] = T.if_then_else(i < by + 2, inner, x[i, j])
        T.copy(h, H[by * 5, 0])
    return H


def test_a_choice_for_no_row_takes_no_tile():
    """What HIVM's choice needs between became a tile of no rows, which has no bytes."""

    def reference(x, c):
        rows = np.arange(10)
        return np.where((rows % 5 >= rows // 5 + 2)[:, None], x, 0).astype(np.float16)

    check(chosen_nowhere, [randn((10, 16), np.float32, 1), randn(16, np.float32, 2)], reference)
