# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of eight bits that are floats, and elements of four bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, integers, randn

QUARTERS = ("float8_e4m3fn", "float8_e5m2")


@tilelang.jit
def quantise(A, kind):
    A: T.Tensor((16, 96), T.float32)
    B = T.empty((16, 96), kind)
    C = T.empty((16, 96), T.float32)
    with T.Kernel(2) as bx:
        a = T.alloc_shared((8, 96), T.float32)
        b = T.alloc_shared((8, 96), kind)
        T.copy(A[bx * 8, 0], a)
        for i, j in T.Parallel(8, 96):
            b[i, j] = a[i, j] * 2
        T.copy(b, B[bx * 8, 0])
        for i, j in T.Parallel(8, 96):
            a[i, j] = b[i, j] + 1
        T.copy(a, C[bx * 8, 0])
    return B, C


@pytest.mark.parametrize("kind", QUARTERS)
def test_eight_bit_floats_round_half_to_even_and_saturate(kind):
    a = randn((16, 96), np.float32) * np.exp2(integers((16, 96), -20, 20, np.float32))
    a[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    element = np.dtype(getattr(ml_dtypes, kind))
    top = float(ml_dtypes.finfo(element).max)

    def reference(a):
        clipped = np.clip(a * 2, -top, top)
        if kind == "float8_e5m2":  # it has infinities
            clipped = np.where(np.isinf(a), a, clipped)
        b = clipped.astype(element)
        return b, b.astype(np.float32) + 1

    check(quantise, [a], reference, rtol=0, atol=0, kind=kind)


@tilelang.jit
def product(A, B, kind, total):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), kind)
    B: T.Tensor((N, K), kind)
    C = T.empty((M, N), total)
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (bx, by):
        a = T.alloc_shared((32, 32), kind)
        b = T.alloc_shared((32, 32), kind)
        c = T.alloc_fragment((32, 32), total)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * 32, k * 32], a)
            T.copy(B[bx * 32, k * 32], b)
            T.gemm(a, b, c, transpose_B=True)
        T.copy(c, C[by * 32, bx * 32])
    return C


def widened(a, b):
    return a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("chip", ["910b3", "950pr"])
@pytest.mark.parametrize("kind", QUARTERS)
def test_products_of_eight_bit_floats(monkeypatch, kind, chip):
    """One cube multiplies them, the other gets them as f16: the same sums."""
    monkeypatch.setenv("TILEWRIGHT_CHIP", chip)
    element = getattr(ml_dtypes, kind)
    a, b = randn((40, 72)).astype(element), randn((48, 72), seed=1).astype(element)
    check(product, [a, b], widened, rtol=1e-5, atol=1e-4, kind=kind, total="float32")


def test_a_sum_of_eight_bit_floats_is_wider():
    a = np.zeros((32, 32), ml_dtypes.float8_e4m3fn)
    with pytest.raises(ValueError, match="accumulates in float32, found float8_e4m3fn"):
        product(a, a, "float8_e4m3fn", "float8_e4m3fn")


@tilelang.jit
def rounded_up(A):
    A: T.Tensor((32,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((32,), T.float32)
        b = T.alloc_shared((32,), T.float8_e5m2)
        T.copy(A, a)
        T.vcast(a, b, round_mode="ceil")


def test_eight_bit_floats_know_one_rounding():
    with pytest.raises(ValueError, match="float8_e5m2 rounds half to even"):
        rounded_up(np.zeros(32, np.float32))


def pack(values):
    """Pairs of elements of four bits, the even one low."""
    values = np.asarray(values).astype(np.uint8) & 15
    return values[..., ::2] | values[..., 1::2] << 4


def test_products_of_four_bit_integers():
    a, b = integers((40, 64), -8, 8, np.int8), integers((48, 64), -8, 8, np.int8, seed=1)

    def reference(*_):
        return a.astype(np.int32) @ b.astype(np.int32).T

    @tilelang.jit
    def packed(A, B):
        A: T.Tensor((40, 64), T.int4)
        B: T.Tensor((48, 64), T.int4)
        C = T.empty((40, 48), T.int32)
        with T.Kernel(2, 2) as (bx, by):
            x = T.alloc_shared((32, 32), T.int4)
            y = T.alloc_shared((32, 32), T.int4)
            c = T.alloc_fragment((32, 32), T.int32)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 32, k * 32], x)
                T.copy(B[bx * 32, k * 32], y)
                T.gemm(x, y, c, transpose_B=True)
            T.copy(c, C[by * 32, bx * 32])
        return C

    check(packed, [pack(a), pack(b)], reference, rtol=0, atol=0)


FLOAT4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]


@tilelang.jit
def to_and_from(A, kind):
    A: T.Tensor((16, 32), T.float32)
    B = T.empty((16, 32), kind)
    C = T.empty((16, 32), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((16, 32), T.float32)
        b = T.alloc_shared((16, 32), kind)
        T.copy(A, a)
        T.copy(a, b)
        T.copy(b, B)
        T.copy(b, a)
        T.copy(a, C)
    return B, C


def test_float4_rounds_half_to_even():
    ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0]
    a = np.concatenate([ties, np.negative(ties), randn(496, np.float32) * 3]).astype(np.float32)

    def reference(a):
        table = np.array(FLOAT4[:8])
        distance = np.abs(np.abs(a.astype(np.float64))[..., None] - table)
        near = distance == distance.min(-1, keepdims=True)
        # Of two neighbours at one distance the one with an even number has the even mantissa.
        number = np.where(near, np.where(np.arange(8) % 2, 8, 0) + np.arange(8), 99).argmin(-1)
        return pack(number + np.where(a < 0, 8, 0)), np.sign(a) * table[number]

    check(to_and_from, [a.reshape(16, 32)], reference, rtol=0, atol=0, kind="float4_e2m1fn")


@pytest.mark.parametrize("kind", ["int4", "uint4"])
def test_four_bit_integers_wrap(kind):
    a = integers((16, 32), -40, 40, np.float32)

    def reference(a):
        low = a.astype(np.int64) & 15
        return pack(low), np.where(low > 7, low - 16, low) if kind == "int4" else low

    check(to_and_from, [a], reference, rtol=0, atol=0, kind=kind)


@tilelang.jit
def scattered(src, dst, where):
    n = T.dynamic("n")
    src: T.Tensor((n, 32), T.float4_e2m1fn)
    dst: T.Tensor((n, 32), T.float4_e2m1fn)
    where: T.Tensor((n,), T.int32)
    with T.Kernel(n) as i:
        for k in T.serial(32):
            dst[where[i], k] = src[i, k]


def test_single_four_bit_elements_keep_their_neighbours():
    source, target = integers((6, 16), 0, 256, np.uint8), np.zeros((6, 16), np.uint8)
    order = np.array([3, 5, 0, 1, 4, 2], np.int32)
    outcome = check(scattered, [source, target, order], None)
    values = source & 0x77  # -0 and 0 are one value
    assert np.array_equal((outcome.tensors["dst"] & 0x77)[order], values)


def test_four_bit_elements_of_a_tensor_in_parallel_lanes_are_refused():
    @tilelang.jit
    def lanes(A):
        A: T.Tensor((2, 32), T.int4)
        with T.Kernel(1):
            for i, j in T.Parallel(2, 32):
                A[i, j] = 1

    with pytest.raises(ValueError, match="share a byte, which two lanes"):
        lanes(np.zeros((2, 16), np.uint8))


def test_rows_of_four_bit_elements_start_at_a_byte():
    @tilelang.jit
    def shifted(A):
        A: T.Tensor((2, 32), T.int4)
        with T.Kernel(1):
            a = T.alloc_shared((2, 8), T.int4)
            T.copy(A[0, 3], a)

    with pytest.raises(ValueError, match="start at an even index; found 8 elements from 3"):
        shifted(np.zeros((2, 16), np.uint8))


@tilelang.jit
def widths(src, count):
    n = T.dynamic("n")
    src: T.Tensor((4, n), T.float4_e2m1fn)
    count: T.Tensor((4,), T.int32)
    with T.Kernel(4) as i:
        count[i] = n


def test_rows_of_pairs_tell_a_symbolic_width():
    check(
        widths,
        [integers((4, 5), 0, 256, np.uint8), np.zeros(4, np.int32)],
        lambda src, count: [src, np.full(4, 10, np.int32)],
    )


@tilelang.jit
def wrapped(A, how, dtype):
    """Loop variables as integers of few bits: what does not fit wraps, and is no place any more."""
    A: T.Tensor((96,), T.int32)
    C = T.empty((96,), T.int32)
    with T.Kernel(1):
        a = T.alloc_shared((96,), T.int32)
        c = T.alloc_shared((96,), T.int32)
        T.copy(A, a)
        for i in T.Parallel(96):
            c[i] = 0
            if how == "value":
                c[i] = T.cast(i * 1000, dtype)
            elif how == "condition":
                if T.cast(i * 1000, dtype) < 100:
                    c[i] = a[i]
            elif how == "choice":
                c[i] = T.if_then_else(T.cast(i * 1000, dtype) < 100, a[i], 1)
            elif how == "sum":
                c[i] = T.cast(i, dtype) + T.cast(i, dtype)
            elif how == "product":
                if T.cast(i, dtype) * T.cast(3, dtype) > 0:
                    c[i] = a[i]
            elif how == "shifted":
                c[i] = T.cast(i, dtype) << 6
            elif how == "place":
                c[i] = a[(T.cast(i * 1000, dtype) + 32768) % 96]
        T.copy(c, C)
    return C


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
@pytest.mark.parametrize(
    "how", ["value", "condition", "choice", "place", "sum", "product", "shifted"]
)
def test_casts_of_loop_variables_wrap(how, dtype):
    value = (np.arange(96) * 1000).astype(dtype).astype(np.int32)
    lane = np.arange(96).astype(dtype)

    def reference(a):
        return {
            "value": value,
            "condition": np.where(value < 100, a, 0),
            "choice": np.where(value < 100, a, 1),
            "sum": (lane + lane).astype(np.int32),
            "product": np.where(lane * np.dtype(dtype).type(3) > 0, a, 0),
            "shifted": (lane << np.dtype(dtype).type(6)).astype(np.int32),
            "place": a[(value + 32768) % 96],
        }[how]

    check(wrapped, [integers((96,), -50, 50, np.int32)], reference, how=how, dtype=dtype)
