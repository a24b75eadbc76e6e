# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars: promotion, arithmetic, selection; element types and symbolic sizes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as T
from tilewright import _core, dtypes
from tilewright.language.buffer import TensorType
from tilewright.language.builder import Builder
from tilewright.language.symbols import Symbolic

NUMPY = {"bfloat16": ml_dtypes.bfloat16}


def run(body, *arrays, outputs=(), scalars=()):
    """Builds a kernel whose body gets the buffers and runs it on the interpreter."""
    with Builder("kernel") as builder:
        builder.set_location("kernel.py", 1)
        params = [
            builder.add_tensor_param(f"A{i}", TensorType(a.shape, str(a.dtype)))
            for i, a in enumerate(arrays)
        ]
        params += [builder.add_scalar_param(f"s{i}", t) for i, (t, _) in enumerate(scalars)]
        params += [builder.add_output(f"C{i}", s, t) for i, (s, t) in enumerate(outputs)]
        body(*params)
        module = builder.finish()
    kernel, diagnostics = _core.compile(module, interpret_only=True)
    assert kernel is not None, diagnostics
    results = [np.zeros(s, NUMPY.get(t, t)) for s, t in outputs]
    tensors = [(a.ctypes.data, a.shape, str(a.dtype)) for a in (*arrays, *results)]
    split = len(arrays)
    arguments = [*tensors[:split], *(v for _, v in scalars), *tensors[split:]]
    report = kernel.run(arguments, engine="interpreter")
    assert report["ok"], report["error"]
    return results[0] if len(results) == 1 else results


def elementwise(expression, *arrays, to):
    """Applies an expression to every element in T.Parallel."""

    def body(*buffers):
        *sources, out = buffers
        with T.Kernel(1), T.Parallel(out.shape[0]) as i:
            out[i] = expression(*(s[i] for s in sources))

    return run(body, *arrays, outputs=[(arrays[0].shape, to)])


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("int8", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("uint8", "int8", "int8"),
        ("uint32", "int64", "int64"),
        ("int32", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("bool", "int8", "int8"),
        ("float32", "float64", "float64"),
    ],
)
def test_two_types_meet_in_the_wider(left, right, result):
    def body(a, b, out):
        with T.Kernel(1):
            assert (a[0] + b[0]).dtype == result
            assert (b[0] * a[0]).dtype == result
            assert (a[0] < b[0]).dtype == "bool"
            out[0] = 1

    one = np.ones(1, NUMPY.get(left, left)), np.ones(1, NUMPY.get(right, right))
    run(body, *one, outputs=[((1,), "int32")])


def test_numbers_adopt_the_other_type():
    def body(a, b, out):
        with T.Kernel(1) as bx:
            assert (a[0] * 2).dtype == "float16"
            assert (a[0] + 0.5).dtype == "float16"
            assert (b[0] + 1).dtype == "int8"
            assert (b[0] + 300).dtype == "int32"
            assert (b[0] * 0.5).dtype == "float32"
            assert (b[0] / 2).dtype == "float32"
            assert (bx + 1).dtype == "int32"
            assert (bx * T.float32(2)).dtype == "float32"
            out[0] = 1

    run(body, np.ones(1, np.float16), np.ones(1, np.int8), outputs=[((1,), "int32")])


@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
def test_integer_division_floors(kind):
    a = np.array([7, -7, 7, -7, 0, 100], kind)
    b = np.array([2, 2, -2, -2, 3, -7], kind)
    assert (elementwise(lambda x, y: x // y, a, b, to=kind) == a // b).all()
    assert (elementwise(lambda x, y: x % y, a, b, to=kind) == a % b).all()
    assert (elementwise(lambda x: x % 3, a, to=kind) == a % 3).all()
    assert (elementwise(lambda x: x // 4, a, to=kind) == a // 4).all()
    truncated = np.trunc(a / b).astype(kind)
    assert (elementwise(T.truncdiv, a, b, to=kind) == truncated).all()
    assert (elementwise(T.truncmod, a, b, to=kind) == a - truncated * b).all()


def test_large_int64_is_exact():
    a = np.array([2**53 + 1, -(2**61) - 3], np.int64)
    assert (elementwise(lambda x: x // 7, a, to="int64") == a // 7).all()
    assert (elementwise(lambda x: x * 3 - 1, a, to="int64") == a * 3 - 1).all()


def test_unsigned_arithmetic():
    a = np.array([250, 3, 128], np.uint8)
    assert (elementwise(lambda x: x >> 1, a, to="uint8") == a >> 1).all()
    assert (elementwise(lambda x: x // 3, a, to="uint8") == a // 3).all()
    assert (elementwise(lambda x: T.cast(x, "float32"), a, to="float32") == a).all()
    assert (
        elementwise(lambda x: T.cast(x, "int32") - 256, a, to="int32") == a.astype(int) - 256
    ).all()


FLOATS = np.array([-2.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.5, 2.5, 3.0, 10.0], np.float32)
POSITIVE = np.abs(FLOATS) + 0.125


@pytest.mark.parametrize(
    ("function", "reference", "values"),
    [
        (T.exp, np.exp, FLOATS),
        (T.exp2, np.exp2, FLOATS),
        (T.log, np.log, POSITIVE),
        (T.log2, np.log2, POSITIVE),
        (T.log10, np.log10, POSITIVE),
        (T.log1p, np.log1p, POSITIVE),
        (T.sqrt, np.sqrt, POSITIVE),
        (T.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE),
        (T.sin, np.sin, FLOATS),
        (T.cos, np.cos, FLOATS),
        (T.tanh, np.tanh, FLOATS),
        (T.sigmoid, lambda x: 1 / (1 + np.exp(-x)), FLOATS),
        (T.floor, np.floor, FLOATS),
        (T.ceil, np.ceil, FLOATS),
        (T.trunc, np.trunc, FLOATS),
        (T.nearbyint, np.rint, FLOATS),
        (T.round, lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), FLOATS),
        (T.abs, np.abs, FLOATS),
        (lambda x: T.pow(x, 1.5), lambda x: x**1.5, POSITIVE),
        (lambda x: x**2, lambda x: x * x, FLOATS),
        (lambda x: T.clamp(x, -1, 2), lambda x: np.clip(x, -1, 2), FLOATS),
        (lambda x: -x / 3 + 2 * x, lambda x: -x / 3 + 2 * x, FLOATS),
        (
            lambda x: T.max(x, 0) - T.min(x, 1.0),
            lambda x: np.maximum(x, 0) - np.minimum(x, 1),
            FLOATS,
        ),
    ],
)
def test_functions(function, reference, values):
    found = elementwise(function, values, to="float32")
    np.testing.assert_allclose(found, reference(values), rtol=2e-6, atol=1e-6)


def test_conversions():
    a = np.array([1.9, -1.9, 300.0, -300.0, np.nan, 2.5], np.float32)
    assert elementwise(lambda x: T.cast(x, "int8"), a, to="int8").tolist() == [
        1,
        -1,
        127,
        -128,
        0,
        2,
    ]
    assert elementwise(lambda x: T.Cast("int32", x), a, to="int32").tolist() == [
        1,
        -1,
        300,
        -300,
        0,
        2,
    ]
    assert elementwise(lambda x: x.astype("bool"), a, to="bool").all()
    assert (
        elementwise(lambda x: T.float16(x), a[:4], to="float16").tolist()
        == a[:4].astype(np.float16).tolist()
    )
    wide = np.array([300, -129, 65536 + 5], np.int32)
    assert elementwise(lambda x: x, wide, to="int8").tolist() == wide.astype(np.int8).tolist()
    bits = np.array([1.0, -2.0], np.float32)
    assert (
        elementwise(lambda x: T.reinterpret("int32", x), bits, to="int32") == bits.view(np.int32)
    ).all()


def test_bf16_is_computed_in_f32_and_rounded_at_the_store():
    a = np.array([1.0, 3.0], ml_dtypes.bfloat16)
    b = np.array([2**-9, 2**-9], ml_dtypes.bfloat16)
    found = elementwise(lambda x, y: (x + y) - x, a, b, to="bfloat16")
    assert found.tolist() == b.tolist()


def test_nan_rules():
    a = np.array([np.nan, 1.0, np.inf], np.float32)
    assert elementwise(lambda x: T.max(x, 0.0), a, to="float32").tolist() == [0.0, 1.0, np.inf]
    assert elementwise(T.isnan, a, to="bool").tolist() == [True, False, False]
    assert elementwise(T.isinf, a, to="bool").tolist() == [False, False, True]
    assert elementwise(T.isfinite, a, to="bool").tolist() == [False, True, False]
    assert elementwise(lambda x: x != x, a, to="bool").tolist() == [True, False, False]


def test_selection_and_logic():
    a = np.arange(-4, 4, dtype=np.int32)
    found = elementwise(
        lambda x: T.if_then_else(T.And(x > -2, T.Not(x == 1)), x, 100), a, to="int32"
    )
    assert found.tolist() == [100, 100, 100, -1, 0, 100, 2, 3]
    found = elementwise(lambda x: T.Select(T.Or(x < -3, x > 2), 1, 0), a, to="int32")
    assert found.tolist() == [1, 0, 0, 0, 0, 0, 0, 1]
    found = elementwise(lambda x: (x & 1) | (x << 1) ^ 2, a, to="int32")
    assert (found == (a & 1) | (a << 1) ^ 2).all()
    assert (elementwise(lambda x: ~x, a, to="int32") == ~a).all()


def test_side_not_taken_does_not_read():
    """Index 8 lies outside the tile: the read must stay behind the condition."""

    def body(a, out):
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "int32")
            T.copy(a, tile)
            with T.Parallel(16) as i:
                out[i] = T.if_then_else(i < 8, tile[i] * 2, T.if_then_else(i > 12, tile[i - 8], -1))

    a = np.arange(8, dtype=np.int32)
    found = run(body, a, outputs=[((16,), "int32")])
    assert found.tolist() == [*(2 * a), -1, -1, -1, -1, -1, 5, 6, 7]


def test_side_not_taken_does_not_divide():
    a, b = np.array([8, 9, 10], np.int32), np.array([2, 0, 5], np.int32)
    found = elementwise(lambda x, y: T.if_then_else(y != 0, x // y, -1), a, b, to="int32")
    assert found.tolist() == [4, -1, 2]


def test_scalar_parameters():
    def body(a, n, x, out):
        with T.Kernel(1), T.Parallel(8) as i:
            out[i] = T.if_then_else(i < n, a[i] * x, 0)

    a = np.arange(8, dtype=np.float32)
    found = run(body, a, outputs=[((8,), "float32")], scalars=[("int32", 3), ("float32", 0.5)])
    assert found.tolist() == [0, 0.5, 1.0, 0, 0, 0, 0, 0]


def test_constants():
    assert T.ceildiv(7, 2) == 4
    assert range(T.ceildiv(7, 2)) == range(4)
    assert T.min(3, 4) == 3 and T.max(3, 4) == 4
    assert float(-T.infinity("float16")) == -np.inf
    assert int(T.max_value("int8")) == 127 and int(T.min_value("int8")) == -128
    assert float(T.float32("-inf")) == -np.inf
    assert int(T.int8(200)) == -56
    assert list(range(3))[T.int32(1)] == 1
    assert bool(T.int32(1)) is True
    with pytest.raises(TypeError, match="no infinity"):
        T.infinity("int32")


def test_types():
    assert T.float16 == "float16" and T.float == "float32" and dtypes.dtype("half").bits == 16
    assert dtypes.dtype(np.float32) == "float32" and dtypes.dtype(ml_dtypes.bfloat16) == "bfloat16"
    assert isinstance(T.float16, T.dtype) and T.dtype("bool").bytes == 1
    with pytest.raises(TypeError, match="names no element type"):
        dtypes.dtype("float17")
    with pytest.raises(TypeError, match="not supported yet"):
        T.float8_e4m3fnuz(1.0)


def test_symbolic_sizes():
    m, n = T.dynamic("m, n")
    size = (m + 1) * 2 - n // 3
    assert isinstance(size, Symbolic) and size.symbols() == ("m", "n")
    assert size.substitute({"m": 4, "n": 9}) == 7
    assert str(T.ceildiv(m, 128)) == "ceildiv(m, 128)"
    assert m == m and m != n
    with pytest.raises(TypeError, match="known only when the kernel is called"):
        range(m)
    with T.bind_consts({"k": 64}):
        assert T.const("k") == 64
    assert isinstance(T.const("k"), T.ConstVar)


def test_runtime_values_cannot_steer_python():
    def body(a, out):
        with T.Kernel(1) as bx:
            with pytest.raises(TypeError, match="cannot steer Python"):
                bool(a[0] > 0)
            with pytest.raises(TypeError, match="Python number is needed"):
                range(bx)
            out[0] = 0

    run(body, np.ones(1, np.float32), outputs=[((1,), "int32")])
