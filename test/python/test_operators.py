# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of users: functions with a reference, and files of IR."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T

TEXT = """// parameters: x T(M, N), y T(M, 4)
// types: T = float32 float16
// core: Vector
func.func @halves(%x: memref<{M}x{N}x{T}, #tile.scope<fragment>>,
                  %y: memref<{M}x4x{T}, #tile.scope<fragment>>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = arith.constant {M} : index
  %half = arith.constant 0.5 : {T}
  tile.elementwise <mul> (%y[%c0, %c0] [%m, %c4] : memref<{M}x4x{T}, #tile.scope<fragment>>,
                          %x[%c0, %c0] [%m, %c4] : memref<{M}x{N}x{T}, #tile.scope<fragment>>)
    scalar %half : {T}
  return
}
"""


@tilelang.operator(reference=lambda x, factor: x * factor)
def scaled(x, y, factor):
    """y = x * factor."""
    for i, j in T.Parallel(*x.shape):
        y[i, j] = x[i, j] * factor


def test_a_function():
    x = np.random.default_rng(0).standard_normal((5, 33)).astype(np.float32)
    (y,) = scaled.check([x], [(x.shape, "float32")], factor=3.0)
    assert np.array_equal(y, x * 3)
    assert scaled.__doc__ == "y = x * factor." and repr(scaled) == "<operator scaled>"


def test_a_wrong_function_is_found():
    @tilelang.operator(reference=lambda x: x + 1)
    def wrong(x, y):
        T.vadd(x, 2.0, y)

    x = np.zeros((2, 8), np.float32)
    with pytest.raises(AssertionError, match="output 0 of operator wrong"):
        wrong.check([x], [(x.shape, "float32")])


def test_a_check_needs_a_reference():
    @tilelang.operator
    def copied(x, y):
        T.copy(x, y)

    x = np.ones((2, 8), np.float32)
    assert np.array_equal(copied.run([x], [(x.shape, "float32")])[0], x)
    with pytest.raises(ValueError, match="has no reference"):
        copied.check([x], [(x.shape, "float32")])


def raising(*_):
    raise KeyError("gone")


def test_what_a_users_code_raises_has_a_code():
    @tilelang.operator(reference=raising)
    def copied(x, y):
        T.copy(x, y)

    @tilelang.operator(reference=lambda x: x)
    def broken(x, y):
        raising()

    @tilelang.operator(reference=lambda x: (x, x))
    def doubled(x, y):
        T.copy(x, y)

    x = np.ones((2, 8), np.float32)
    for operator, error, words in (
        (copied, RuntimeError, "E0463.*reference of operator copied raised KeyError: 'gone'"),
        (broken, RuntimeError, "E0463.*body of operator broken raised KeyError: 'gone'"),
        (doubled, ValueError, "E0463.*gives 2 arrays for 1 outputs"),
    ):
        with pytest.raises(error, match=words):
            operator.check([x], [(x.shape, "float32")])


def test_a_wrong_declared_shape_has_a_code():
    @tilelang.operator(reference=lambda x: x.sum(1))
    def summed(x, y):
        T.reduce_sum(x, y, dim=1)

    x = np.ones((2, 8), np.float32)
    with pytest.raises(ValueError, match=r"E0463.*declared with shape \(2, 1\).*gives \(2,\)"):
        summed.check([x], [((2, 1), "float32")])


@pytest.fixture
def template(tmp_path):
    def make(text=TEXT):
        file = tmp_path / "halves.mlir"
        file.write_text(text)
        return tilelang.operator_from(file, reference=lambda x: x[:, :4] / 2)

    return make


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(3, 16), (8, 7)])
def test_a_file(template, dtype, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    template().check([x], [((shape[0], 4), dtype)])


@pytest.mark.parametrize(
    ("shape", "dtype", "out", "match"),
    [
        ((3, 16), "float32", (3, 5), "'y' is .*; allowed is a size of 4"),
        ((3, 16), "float32", (2, 4), "where M is 3 by another tile"),
        ((3, 16), "int32", (3, 4), "allowed are float32, float16"),
        ((16,), "float32", (3, 4), "allowed are 2 dimensions"),
    ],
)
def test_tiles_that_do_not_fit(template, shape, dtype, out, match):
    with pytest.raises(Exception, match=match):
        template().run([np.ones(shape, dtype)], [(out, dtype)])


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("// parameters: x T(M, N), y T(M, 4)\n", "", "does not say what its parameters are"),
        ("x T(M, N)", "T(M, N)", "a parameter is a name, an element type and sizes"),
        ("x T(M, N), ", "", "takes 1 tiles, found 2"),
        ("tile.elementwise", "tile.nonsense", "is no IR of tiles: line 10"),
        ("%x: memref<{M}x{N}x{T}", "%x: memref<1x2x{T}", "is no IR of tiles|is not the memref"),
        ("// types: T = float32 float16\n", "", "allowed is T"),
    ],
)
def test_files_that_are_wrong(template, old, new, match):
    assert old in TEXT
    with pytest.raises(Exception, match=match):
        template(TEXT.replace(old, new)).run([np.ones((3, 16), np.float32)], [((3, 4), "float32")])


def test_where_a_file_may_stand(template):
    halves = template()

    @tilelang.jit
    def inside(A):
        A: T.Tensor((3, 16), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((3, 16), T.float32)
            y = T.alloc_shared((3, 4), T.float32)
            for i in T.Parallel(3):
                halves(x, y)

    @tilelang.jit
    def tensors(A):
        A: T.Tensor((3, 16), T.float32)
        with T.Kernel(1):
            y = T.alloc_shared((3, 4), T.float32)
            halves(A, y)

    a = np.ones((3, 16), np.float32)
    with pytest.raises(tilelang.errors.CompileError, match="it works on whole tiles"):
        inside(a)
    with pytest.raises(tilelang.errors.CompileError, match="it takes whole tiles on the chip"):
        tensors(a)
