# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact arithmetic beside a kernel names planted mistakes of precision; healthy kernels pass."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T

ROOT = Path(__file__).resolve().parents[2]


def line_of(function, text):
    """The line of the file on which a kernel has a text."""
    lines, first = inspect.getsourcelines(function.function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def only(found, kind):
    assert [f["kind"] for f in found] == [kind], found
    return found[0]


@tilelang.jit
def sums(A, element):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float16)
    C = T.empty((M,), T.float32)
    with T.Kernel(M) as row:
        x = T.alloc_shared((N,), T.float16)
        total = T.alloc_var(element, init=0)
        result = T.alloc_fragment((1,), T.float32)
        T.copy(A[row, 0], x)
        for j in T.serial(N):
            total = total + x[j]
        result[0] = total
        T.copy(result, C[row])
    return C


def test_a_sum_in_too_few_bits():
    a = np.full((2, 4096), 1.25, np.float16)
    assert sums.compare(a, "float32") == []
    found = sums.compare(a, "float16")[0]
    assert found["kind"] == "departs"
    assert found["memory"] == "total"
    assert found["location"][1] == line_of(sums, "total = total + x[j]")
    assert "(float16) is" in found["message"] and "exactly" in found["message"]


def test_the_limit_is_the_callers():
    a = np.random.default_rng(0).standard_normal((1, 64)).astype(np.float16)
    assert sums.compare(a, "float16") == []
    assert sums.compare(a, "float16", ulp=0.4)[0]["kind"] == "departs"
    with pytest.raises(ValueError, match="above 0"):
        sums.compare(a, "float16", ulp=0)


@tilelang.jit
def exponentials(A):
    N = T.const("N")
    A: T.Tensor((N,), T.float16)
    C = T.empty((N,), T.float16)
    with T.Kernel(1):
        x = T.alloc_shared((N,), T.float16)
        e = T.alloc_fragment((N,), T.float16)
        T.copy(A, x)
        for i in T.Parallel(N):
            e[i] = T.exp(x[i])
        T.copy(e, C)
    return C


def test_overflow_of_an_exponential():
    found = only(exponentials.compare(np.array([1, 2, 12, 3], np.float16)), "inf")
    assert found["memory"] == "e"
    assert found["location"][1] == line_of(exponentials, "T.exp(x[i])")
    assert (
        "'e'[2] (float16) is inf, exactly 162755; the largest float16 is 65504" in found["message"]
    )
    assert "x[2] = 12" in found["message"]
    assert exponentials.compare(np.array([1, 2, 3], np.float16)) == []


@tilelang.jit
def quotients(A, B):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B: T.Tensor((N,), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((N,), T.float32)
        b = T.alloc_shared((N,), T.float32)
        c = T.alloc_fragment((N,), T.float32)
        d = T.alloc_fragment((N,), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        T.vdiv(a, b, c)
        T.vadd(c, 1.0, d)
        T.copy(d, C)
    return C


def test_the_origin_of_a_nan():
    a, b = np.array([1, 0, 3], np.float32), np.array([1, 0, 2], np.float32)
    found = only(quotients.compare(a, b), "nan")
    assert found["location"][1] == line_of(quotients, "T.vdiv(a, b, c)")
    assert "'c'[1] (float32) is nan; from a[1] = 0, b[1] = 0" in found["message"]


@tilelang.jit
def difference(A):
    """(x + 1e6) - 1e6: what is left of x is the rounding of the sum."""
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((N,), T.float32)
        s = T.alloc_fragment((N,), T.float32)
        T.copy(A, a)
        for i in T.Parallel(N):
            s[i] = a[i] + 1e6
        for i in T.Parallel(N):
            s[i] = s[i] - 1e6
        T.copy(s, C)
    return C


def test_cancellation():
    found = only(difference.compare(np.linspace(0.1, 0.9, 8, dtype=np.float32)), "departs")
    assert found["location"][1] == line_of(difference, "s[i] = s[i] - 1e6")


@tilelang.jit
def unwritten(A):
    A: T.Tensor((64,), T.float32)
    C = T.empty((64,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((64,), T.float32)
        total = T.alloc_fragment((64,), T.float32)
        T.copy(A, a)
        for i in T.Parallel(64):
            total[i] += a[i]
        T.copy(total, C)
    return C


def test_what_nothing_has_written():
    found = only(unwritten.compare(np.ones(64, np.float32)), "unwritten")
    assert found["location"][1] == line_of(unwritten, "total[i] += a[i]")
    assert "'total' that nothing has written" in found["message"]


@tilelang.jit
def product(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (bx, by):
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        largest = T.alloc_fragment((32,), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * 32, k * 32], a)
            T.copy(B[k * 32, bx * 32], b)
            T.gemm(a, b, c)
        T.reduce_max(c, largest, dim=1)
        for i, j in T.Parallel(32, 32):
            c[i, j] = T.exp(c[i, j] - largest[i])
        T.copy(c, C[by * 32, bx * 32])
    return C


def test_a_healthy_kernel_passes():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((70, 90), (90, 50)))
    assert product.compare(a, b) == []


def test_integers_and_branches_are_the_kernels():
    @tilelang.jit
    def counted(A):
        A: T.Tensor((64,), T.float32)
        C = T.empty((64,), T.int32)
        D = T.empty((64,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64,), T.float32)
            n = T.alloc_fragment((64,), T.int32)
            d = T.alloc_fragment((64,), T.float32)
            T.copy(A, a)
            T.clear(n)
            for _ in T.serial(3):
                for i in T.Parallel(64):
                    n[i] += 1
            for i in T.Parallel(64):
                d[i] = T.if_then_else(a[i] > 0, a[i], T.cast(n[i], "float32"))
            if n[0] > 2:
                for i in T.Parallel(64):
                    d[i] = d[i] + 1
            T.copy(n, C)
            T.copy(d, D)
        return C, D

    a = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    assert counted.compare(a) == []
    n, d = counted(a)
    assert (n == 3).all() and np.allclose(d, np.where(a > 0, a, 3) + 1)


def test_what_cannot_be_compared_says_why():
    @tilelang.jit
    def planned(A):
        A: T.Tensor((64,), T.float32)
        with T.Cores(), T.Scope("Vector"):
            a = T.alloc_ub((64,), T.float32)
            T.copy(A, a)

    with pytest.raises(tilelang.errors.RunError, match="cannot be compared: it is the program of"):
        planned.compare(np.ones(64, np.float32))


def run(tmp_path, *words, script):
    file = tmp_path / "script.py"
    file.write_text(inspect.cleandoc(script))
    return subprocess.run(
        [sys.executable, "-m", "tilewright", "run", *words, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )


SCRIPT = """
    import numpy as np
    import tilewright as tilelang
    import tilewright.language as T

    @tilelang.jit
    def roots(A):
        A: T.Tensor((8,), T.float32)
        C = T.empty((8,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((8,), T.float32)
            T.copy(A, a)
            T.vsqrt(a, a)
            T.copy(a, C)
        return C

    print(roots(np.arange(8, dtype=np.float32) - OFFSET)[7])
"""


def test_command_line(tmp_path):
    found = run(tmp_path, "--compare", script=SCRIPT.replace("OFFSET", "1"))
    assert found.returncode == 2
    assert "compare: roots: nan: 'a'[0] (float32) is nan" in found.stderr
    assert "script.py:12" in found.stderr
    found = run(tmp_path, "--ulp", "2", script=SCRIPT.replace("OFFSET", "0"))
    assert found.returncode == 0 and "compare: nothing departs" in found.stderr
    found = run(tmp_path, "--ulp", "x", script=SCRIPT.replace("OFFSET", "0"))
    assert found.returncode != 0 and "is not a number of ulp" in found.stderr


def test_breakpoint(tmp_path, monkeypatch):
    """Python's debugger stops at the kernel's line, where tiles are arrays."""
    script = SCRIPT.replace("OFFSET", "0").replace(
        "T.vsqrt(a, a)",
        "b = T.alloc_var('int32', init=7)\n            breakpoint()\n            T.vsqrt(a, a)",
    )
    file = tmp_path / "script.py"
    file.write_text(inspect.cleandoc(script))
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", "--engine", "interpreter", str(file)],
        input="p a.sum(), A.shape, int(b), block\ncontinue\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "script.py(13)" in done.stdout
    assert "(np.float32(28.0), (8,), 7, (0, 0, 0))" in done.stdout
    assert done.stdout.rstrip().endswith("2.6457512")
    assert run(tmp_path, script=script).stdout.rstrip().endswith("2.6457512")  # goes on


def test_leaving_the_debugger_ends_the_run(tmp_path):
    script = SCRIPT.replace("OFFSET", "0").replace("T.vsqrt(a, a)", "T.breakpoint()")
    file = tmp_path / "script.py"
    file.write_text(inspect.cleandoc(script))
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", "--engine", "interpreter", str(file)],
        input="quit\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "BdbQuit" in done.stderr
