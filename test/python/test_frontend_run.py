# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow, variables and macros of kernels, by their results."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from tilewright.errors import RunError


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "interpreter")


def run(kernel, *scalars, size=8):
    """Calls a kernel on a zeroed int32 vector and gives the vector."""
    data = np.zeros(size, np.int32)
    tilelang.compile(kernel)(data, *scalars)
    return data.tolist()


def test_break_and_continue():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i in range(8):
                if i == 2:
                    continue
                if i >= n:
                    break
                A[i] = i + 1

    assert run(main, 5) == [1, 2, 0, 4, 5, 0, 0, 0]
    assert run(main, 0) == [0] * 8
    assert run(main, 99) == [1, 2, 0, 4, 5, 6, 7, 8]


def test_while_with_break_and_a_variable():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            v = T.alloc_var("int32", 0)
            total = T.alloc_var("int32", init=10)
            while v < 100:
                if v == n:
                    break
                total += v
                v += 1
            A[0] = v
            A[1] = total

    assert run(main, 4)[:2] == [4, 16]


def test_nested_branches():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i in T.serial(8):
                if i < n and i % 2 == 0:
                    A[i] = 1
                elif i == n or not i < 6:
                    A[i] = 2
                else:
                    A[i] = 3 if 1 < i < 5 else 4

    assert run(main, 3) == [1, 4, 1, 2, 3, 4, 2, 2]


def test_short_circuit_does_not_read_out_of_bounds():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            t = T.alloc_shared((4,), "int32")
            T.fill(t, 1)
            for i in T.serial(8):
                if i < 4 and t[i] > 0:
                    A[i] = 1
                A[i] += 5 if i >= 4 or t[i] == 0 else 0

    assert run(main, 0) == [1, 1, 1, 1, 5, 5, 5, 5]


def test_macro_with_reference_and_result():
    @T.macro
    def add_one(x, out: T.Ref):
        out = x + 1
        return x * 2

    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            v = T.alloc_var("int32", 0)
            y = add_one(n, A[1])
            z = add_one(y, v)
            A[0] = y
            A[2] = v
            A[3] = z

    assert run(main, 3)[:4] == [6, 4, 7, 12]


def test_swap_and_shadowing():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            A[0] = 1
            A[1] = 2
            a, b = A[0], A[1]
            a, b = b, a
            A[0], A[1] = a, b
            t = n
            t = t + 1
            A[2] = t
            A[3] = A[4] = t

    assert run(main, 6)[:5] == [2, 1, 7, 7, 7]


def test_block_ids_and_grids():
    @T.prim_func
    def main(A: T.Tensor((24,), "int32")):
        with T.Kernel(4, 3, 2, threads=32) as (bx, by, bz):
            A[(bz * 3 + by) * 4 + bx] = bz * 100 + by * 10 + bx

    expected = [z * 100 + y * 10 + x for z in range(2) for y in range(3) for x in range(4)]
    assert run(main, size=24) == expected


def test_python_helpers_and_unrolled_loops():
    def place(i):
        return 2 * i

    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i, value in enumerate([5, 6, 7]):
                A[place(i)] = value + n

    assert run(main, 1) == [6, 0, 7, 0, 8, 0, 0, 0]


def test_assertion_stops_the_kernel():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            assert n > 3, "n must be large"
            A[0] = n

    assert run(main, 4)[0] == 4
    with pytest.raises(RunError, match="n must be large") as caught:
        run(main, 2)
    assert "assert n > 3" in str(caught.value)


def test_frames_of_the_builder_style():
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            v = T.alloc_var("int32", 0)
            with T.While(v < n):
                with T.If(v == 1):
                    with T.Then:
                        A[v] = 10
                    with T.Else:
                        A[v] = 20
                v += 1

    assert run(main, 3)[:4] == [20, 10, 20, 0]


def test_printing(capfd):
    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            T.print(n, msg="value")

    run(main, 42)
    assert "42" in capfd.readouterr().out


def test_meta_class():
    @T.meta_class
    class Counter:
        def __init__(self):
            self.value = T.alloc_var("int32", 0)

        @T.macro
        def add(self, amount):
            self.value += amount

    @T.prim_func
    def main(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            counter = Counter()
            for _ in range(3):
                counter.add(n)
            A[0] = counter.value

    assert run(main, 5)[0] == 15
