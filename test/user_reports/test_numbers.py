# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about NaN, integers, types and bits: A057 to A074."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from results import modes, pointwise, refused, result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)
nan, inf = np.nan, np.inf


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("clear", [True, False])
def test_a057_a_number_wins_over_nan_in_a_maximum(dtype, clear):
    """The rule of docs/developer-mode.md, with and without what was there."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((2, 64), dtype)
        C = T.empty((2,), dtype)
        with T.Kernel(1):
            a = T.alloc_shared((2, 64), dtype)
            c = T.alloc_shared((2,), dtype)
            T.copy(A, a)
            T.fill(c, -1)
            T.reduce_max(a, c, dim=1, clear=clear)
            T.copy(c, C)
        return C

    a = rng.standard_normal((2, 64)).astype(dtype)
    a[0, 17] = nan
    got = result(kernel, a)
    assert np.array_equal(got, np.fmax.reduce(a, 1) if clear else np.fmax(np.fmax.reduce(a, 1), -1))


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_absmax"])
def test_a057_asking_for_nan_is_refused(name):
    with refused("E0122", "nan_propagate=True is not supported.*T.isnan"):

        @T.prim_func
        def kernel(A: T.Tensor((8, 64), "float32")):
            with T.Kernel(1):
                a = T.alloc_shared((8, 64), "float32")
                s = T.alloc_shared((8,), "float32")
                getattr(T, name)(a, s, dim=1, nan_propagate=True)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a058_clamp_of_nan(dtype):
    """A number wins over NaN in a maximum, so the lower bound is what is left."""
    kernel = pointwise(lambda v: T.clamp(v, -1, 1), 4, T.dtype(np.dtype(dtype).name))
    got = result(kernel, np.array([nan, 2, 0.5, -2], dtype)).astype(np.float32)
    assert np.array_equal(got, [-1, 1, 0.5, -1])


@pytest.mark.parametrize("pair", [(1.0, nan), (nan, 1.0)])
def test_a059_maximum_of_constants_is_that_of_values(pair):
    folded = pointwise(lambda v: T.max(T.float32(pair[0]), T.float32(pair[1])) + v, 8, "float32")
    x = np.full(8, 2, np.float32)
    first = result(folded, x)

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((8,), T.float32)
        B: T.Tensor((8,), T.float32)
        C = T.empty((8,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(8):
                C[i] = T.max(A[i], B[i]) + 2
        return C

    second = result(kernel, np.full(8, pair[0], np.float32), np.full(8, pair[1], np.float32))
    assert np.array_equal(first, second, equal_nan=True)


@pytest.mark.parametrize(
    "row", [[nan, 6, 8], [inf, nan, 0], [nan, nan, nan], [3, 3, 1], [-inf, 0, 0]]
)
def test_a060_place_of_the_maximum_is_the_same_on_both_engines(row):
    """By hand: the first element that equals the maximum; none does when that is NaN."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((3,), T.float32)
        C = T.empty((1,), T.int32)
        with T.Kernel(1):
            best = T.alloc_var("float32", init=-inf)
            at = T.alloc_var("int32", init=-1)
            for i in T.serial(3):
                if A[i] > best:
                    best = A[i]
                    at = i
            C[0] = at
        return C

    a = np.array(row, np.float32)
    want, best = -1, -inf
    for i, value in enumerate(a):
        if value > best:
            want, best = i, value
    assert result(kernel, a)[0] == want


@pytest.mark.parametrize("divisor", [4, -4, 3, -7])
def test_a061_quotients_and_remainders_are_pythons(divisor):
    i = np.arange(-9, 10, dtype=np.int32)
    quotient = result(pointwise(lambda v: v // divisor, 19, "int32"), i)
    remainder = result(pointwise(lambda v: v % divisor, 19, "int32"), i)
    assert np.array_equal(quotient, i // divisor) and np.array_equal(remainder, i % divisor)


def test_a061_negative_index_arithmetic_at_a_border():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((16,), T.float32)
        C = T.empty((16,), T.float32)
        with T.Kernel(16) as h:
            at = (h * 3 - 5) // 4
            if at >= 0:
                C[h] = A[at]
            else:
                C[h] = -1
        return C

    a = np.arange(16, dtype=np.float32)
    at = (np.arange(16) * 3 - 5) // 4
    assert np.array_equal(result(kernel, a), np.where(at >= 0, a[np.maximum(at, 0)], -1))


@pytest.mark.parametrize("b", [-4, 4])
@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_a062_unequal_conditions(b, dtype):
    def body(a):
        r = a - T.cast(T.trunc(T.cast(a, "float32") / b), dtype) * T.cast(b, dtype)
        differ = (r < 0) != (b < 0)
        return T.if_then_else(T.And(differ, r != 0), r + T.cast(b, dtype), r)

    a = np.arange(-10, 11).astype(dtype)
    assert np.array_equal(result(pointwise(body, 21, dtype), a), np.mod(a, np.dtype(dtype).type(b)))


@pytest.mark.parametrize("dtype", ["int32", "int8"])
def test_a063_integer_as_a_condition(dtype):
    @tilelang.jit
    def kernel(A, mask):
        A: T.Tensor((8, 16), T.float32)
        mask: T.Tensor((8,), dtype)
        C = T.empty((8, 16), T.float32)
        with T.Kernel(8) as i:
            a = T.alloc_shared((1, 16), T.float32)
            m = T.alloc_shared((8,), dtype)
            T.copy(mask, m)
            T.clear(a)
            if m[i]:
                T.copy(A[i, 0], a)
            T.copy(a, C[i, 0])
        return C

    a = rng.standard_normal((8, 16)).astype(np.float32)
    mask = np.array([0, 1, 2, -1, 0, 4, 0, 8], dtype)
    assert np.array_equal(result(kernel, a, mask), np.where(mask[:, None] != 0, a, 0))


def test_a064_one_element_is_converted_by_a_copy():
    @tilelang.jit
    def kernel(A, index):
        A: T.Tensor((8, 16), T.float32)
        index: T.Tensor((8,), T.int64)
        C = T.empty((8, 16), T.float32)
        with T.Kernel(8) as i:
            at = T.alloc_shared((1,), T.int32)
            row = T.alloc_shared((1, 16), T.float32)
            T.copy(index[i], at)
            T.copy(A[at[0], 0], row)
            T.copy(row, C[i, 0])
        return C

    a = rng.standard_normal((8, 16)).astype(np.float32)
    index = rng.integers(0, 8, 8)
    assert np.array_equal(result(kernel, a, index), a[index])


def test_a065_elements_of_four_bits_travel_unchanged():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((2, 64), T.int4)
        C = T.empty((2, 64), T.int4)
        with T.Kernel(1):
            a = T.alloc_shared((2, 64), T.int4)
            T.copy(A, a)
            T.copy(a, C)
        return C

    a = rng.integers(-128, 128, (2, 32)).astype(np.int8)
    assert np.array_equal(np.asarray(result(kernel, a)).view(np.int8), a)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "float16"), ("int8", "float16"), ("float16", "uint8"), ("float32", "int32")],
)
def test_a066_copies_that_change_the_size_of_elements(source, target):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((256,), source)
        C = T.empty((256,), target)
        with T.Kernel(1):
            a = T.alloc_shared((256,), source)
            c = T.alloc_shared((256,), target)
            T.copy(A, a)
            T.copy(a, c)
            T.copy(c, C)
        return C

    low = 0 if target == "uint8" else -100
    a = rng.integers(low, 100, 256).astype(source)
    assert np.array_equal(result(kernel, a), a.astype(target))


def test_a068_integers_to_bf16_round_to_nearest_even():
    kernel = pointwise(lambda v: T.cast(v, "bfloat16"), 3, "int32", "bfloat16")
    got = result(kernel, np.array([259, 33000, -259], np.int32)).astype(np.float32)
    assert np.array_equal(got, [260, 33024, -260])


@pytest.mark.parametrize("value", [-5, 5, -128, 127])
def test_a069_fill_of_int8(value):
    @tilelang.jit
    def kernel():
        C = T.empty((64, 64), T.int8)
        with T.Kernel(1):
            c = T.alloc_shared((64, 64), T.int8)
            T.fill(c, value)
            T.copy(c, C)
        return C

    assert (result(kernel) == value).all()


@pytest.mark.parametrize("target", ["int32", "float32"])
def test_a070_unsigned_bytes_widen_without_a_sign(target):
    kernel = pointwise(lambda v: T.cast(v, target), 3, "uint8", target)
    a = np.array([128, 200, 255], np.uint8)
    assert np.array_equal(result(kernel, a), a.astype(target))


def test_a070_unsigned_byte_as_an_index():
    @tilelang.jit
    def kernel(A, index):
        A: T.Tensor((256,), T.float32)
        index: T.Tensor((3,), T.uint8)
        C = T.empty((3,), T.float32)
        with T.Kernel(1):
            for i in T.serial(3):
                C[i] = A[index[i]]
        return C

    a, index = np.arange(256, dtype=np.float32), np.array([128, 200, 255], np.uint8)
    assert np.array_equal(result(kernel, a, index), a[index])


def test_a071_large_values_to_an_8_bit_float():
    """Finite numbers saturate, as conversions of GPUs do; infinity stays."""
    kernel = pointwise(lambda v: T.cast(v, "float8_e5m2"), 4, "float32", "float8_e5m2")
    got = np.asarray(result(kernel, np.array([65504, 1e5, inf, -inf], np.float32)))
    assert np.array_equal(got.astype(np.float32), [57344, 57344, inf, -inf])


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_a072_shifts_of_64_bits(dtype):
    a = rng.integers(0, 2**62, 64).astype(dtype) * (2 if dtype == "uint64" else 1)
    a[0] = 2**63 if dtype == "uint64" else -(2**63)
    assert np.array_equal(result(pointwise(lambda v: v >> 3, 64, dtype), a), a >> 3)


@pytest.mark.parametrize(
    ("name", "values", "tolerance"),
    [
        ("tan", np.tile(np.float32([1.5707, -1.5707, 0, 1.2, 3.1415]), 8), 2e-3),
        ("sin", np.linspace(-100, 100, 40).astype(np.float32), 1e-5),
        ("sin", np.linspace(1e4, 1e6, 40).astype(np.float32), 4e-2),
        ("cos", np.linspace(-1e6, -1e4, 40).astype(np.float32), 4e-2),
    ],
)
def test_a073_functions_of_large_arguments_and_near_poles(name, values, tolerance):
    kernel = pointwise(getattr(T, name), len(values), "float32")
    want = getattr(np, name)(values.astype(np.float64))
    for got in modes(kernel, values):
        assert (abs(got[0] - want) <= tolerance * np.maximum(abs(want), 1)).all()


def test_a073_powers_of_special_values():
    special = np.array([0, -0.0, 1, -2, inf, -inf, nan], np.float32)
    base, exponent = (m.reshape(-1) for m in np.meshgrid(special, special, indexing="ij"))

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((49,), T.float32)
        B: T.Tensor((49,), T.float32)
        C = T.empty((49,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(49):
                C[i] = T.pow(A[i], B[i])
        return C

    with np.errstate(all="ignore"):
        want = np.power(base, exponent)
    assert np.array_equal(result(kernel, base, exponent), want, equal_nan=True)


@pytest.mark.parametrize("shift", [0, 4, 28])
def test_a074_unpacking_of_four_bits_has_no_scalar_loop(shift):
    @tilelang.jit
    def kernel(Q):
        Q: T.Tensor((8, 64), T.int32)
        C = T.empty((8, 64), T.float32)
        with T.Kernel(1):
            q = T.alloc_shared((8, 64), T.int32)
            c = T.alloc_shared((8, 64), T.float32)
            T.copy(Q, q)
            for i, j in T.Parallel(8, 64):
                c[i, j] = T.cast(((q[i, j] >> shift) & 15) - 8, "float32") * 0.5
            T.copy(c, C)
        return C

    q = rng.integers(-(2**31), 2**31, (8, 64)).astype(np.int32)
    assert np.array_equal(result(kernel, q), (((q >> shift) & 15) - 8) * np.float32(0.5))
    assert not [r for r in kernel.compile().remarks if r["kind"] == "fallback"]


def test_a063_a_mask_of_floats_is_refused_in_words():
    with refused("E0204", "condition"):

        @T.prim_func
        def kernel(A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(64):
                    A[i] = ~A[i]
