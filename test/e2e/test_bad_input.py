# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users get wrong: a message says what and where for each, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, compile_kernel, randn, setting
from tilewright.errors import ArgumentError, ArgumentTypeError, RunError


@tilelang.jit(out_idx=[-1])
def add_kernel(M, N, dtype="float16"):
    @T.prim_func
    def add(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
            a = T.alloc_shared((16, N), dtype)
            b = T.alloc_shared((16, N), dtype)
            T.copy(A[bx * 16, 0], a)
            T.copy(B[bx * 16, 0], b)
            for i, j in T.Parallel(16, N):
                a[i, j] += b[i, j]
            T.copy(a, C[bx * 16, 0])

    return add


def works_still(kernel):
    a, b = randn((32, 24), seed=1), randn((32, 24), seed=2)
    np.testing.assert_array_equal(kernel(a, b), a + b)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            [randn((32, 24), np.float32), randn((32, 24))],
            ArgumentTypeError,
            ["'A'", "float32", "float16"],
        ),
        ([randn((32, 24)), randn((32, 24, 2))], ArgumentError, ["'B'", "(32, 24, 2)", "(32, 24)"]),
        ([randn((32, 24)), randn((32, 25))], ArgumentError, ["'B'", "(32, 25)", "(32, 24)"]),
        ([randn((32, 24))], ArgumentError, ["Expected 2 inputs, got 1"]),
        ([randn((32, 24)), 3], ArgumentTypeError, ["'B'", "int", "tensor"]),
        ([randn((32, 24)), [1, 2]], ArgumentTypeError, ["'B'", "list", "tensor"]),
    ],
    ids=["dtype", "rank", "shape", "count", "number", "list"],
)
def test_wrong_argument(arguments, error, words):
    kernel = add_kernel(32, 24)
    with pytest.raises(error) as found:
        kernel(*arguments)
    for word in words:
        assert word in str(found.value)
    works_still(kernel)


def test_wrong_device():
    torch = pytest.importorskip("torch")
    kernel = add_kernel(32, 24)
    there = torch.empty((32, 24), dtype=torch.float16, device="meta")
    here = torch.zeros((32, 24), dtype=torch.float16)
    with pytest.raises((ArgumentError, ArgumentTypeError), match="meta"):
        kernel(there, here)
    works_still(kernel)


@tilelang.jit
def dynamic_pair(A, B):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    B: T.Tensor((n,), "float32")
    C = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:
        a = T.alloc_shared((32,), "float32")
        T.copy(A[bx * 32], a)
        T.copy(a, C[bx * 32])
    return C


def test_sizes_that_disagree():
    with pytest.raises((ArgumentError, RunError)) as found:
        dynamic_pair(randn(40, np.float32), randn(41, np.float32))
    assert "'B'" in str(found.value) and "40" in str(found.value) and "41" in str(found.value)


@tilelang.jit
def inner_mismatch(A, B):
    A: T.Tensor((32, 48), "float16")
    B: T.Tensor((64, 32), "float16")
    C = T.empty((32, 32), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((32, 48), "float16")
        b = T.alloc_shared((64, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c)  # the mistake
        T.copy(c, C)
    return C


@tilelang.jit
def too_big(A):
    """Sums over both dimensions: the block cannot be cut into smaller ones."""
    A: T.Tensor((512, 1024), "float32")
    C = T.empty((512,), "float32")
    D = T.empty((1024,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((512, 1024), "float32")  # the mistake
        rows = T.alloc_fragment((512,), "float32")
        columns = T.alloc_fragment((1024,), "float32")
        T.copy(A, a)
        T.reduce_sum(a, rows, dim=1)
        T.reduce_sum(a, columns, dim=0)
        T.copy(rows, C)
        T.copy(columns, D)
    return C, D


@tilelang.jit
def too_big_accumulator(A, B):
    A: T.Tensor((256, 64), "float16")
    B: T.Tensor((64, 512), "float16")
    C = T.empty((256, 512), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((256, 64), "float16")
        b = T.alloc_shared((64, 512), "float16")
        c = T.alloc_fragment((256, 512), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c)  # the mistake
        T.copy(c, C)
    return C


@tilelang.jit
def run_time_tile(A):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    C = T.empty((n,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((n,), "float32")  # the mistake
        T.copy(A, a)
        T.copy(a, C)
    return C


@tilelang.jit
def gpu_only(A):
    A: T.Tensor((32,), "float32")
    C = T.empty((32,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((32,), "float32")
        T.copy(A, a)
        T.ptx_mma(a)  # the mistake
        T.copy(a, C)
    return C


@tilelang.jit
def unknown_name(A):
    A: T.Tensor((32,), "float32")
    C = T.empty((32,), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((32,), "float32")
        T.copi(A, a)  # the mistake
        T.copy(a, C)
    return C


@tilelang.jit
def wrong_rank(A):
    A: T.Tensor((32, 32), "float32")
    C = T.empty((32, 32), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((32, 32), "float32")
        T.copy(A, a)
        for i in T.Parallel(32):
            a[i, i, i] = 1.0  # the mistake
        T.copy(a, C)
    return C


@tilelang.jit
def branch_on_value(A):
    A: T.Tensor((32,), "float32")
    C = T.empty((32,), "float32")
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((32,), "float32")
        T.copy(A, a)
        if bx > 0:
            value = 1.0
        a[0] = value  # the mistake
        T.copy(a, C)
    return C


@pytest.mark.parametrize(
    ("kernel", "inputs", "words"),
    [
        (inner_mismatch, [randn((32, 48)), randn((64, 32))], ["48", "64"]),
        (too_big, [randn((512, 1024), np.float32)], ["'a'", "UB"]),
        (too_big_accumulator, [randn((256, 64)), randn((64, 512))], ["'c", "L0C"]),
        (run_time_tile, [randn(32, np.float32)], ["run time"]),
        (gpu_only, [randn(32, np.float32)], ["ptx_mma", "GPU"]),
        (unknown_name, [randn(32, np.float32)], ["copi"]),
        (wrong_rank, [randn((32, 32), np.float32)], ["3", "2"]),
        (branch_on_value, [randn(32, np.float32)], ["value"]),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "__name__") else "",
)
def test_mistake_in_a_kernel(kernel, inputs, words):
    with pytest.raises(Exception) as found:
        compile_kernel(kernel, inputs, {}, 2)
    text = str(found.value)
    assert "fault of the compiler" not in text
    for word in words:
        assert word in text, text
    source = kernel.function.__code__
    lines = Path(__file__).read_text().splitlines()[source.co_firstlineno - 1 :]
    line = source.co_firstlineno + next(
        i for i, text in enumerate(lines) if "# the mistake" in text
    )
    assert f"test_bad_input.py:{line}" in text, text


@tilelang.jit
def endless(A):
    A: T.Tensor((32,), "int32")
    with T.Kernel(1, threads=128) as _:
        count = T.alloc_var("int32", init=1)
        while count > 0:
            count = count % 7 + 1
        A[0] = count


def test_kernel_that_never_ends():
    """The watchdog stops it and names the loop; the default limit takes minutes."""
    program = Program(
        compile_kernel(endless, [np.zeros(32, np.int32)], {}, 2), [np.zeros(32, np.int32)]
    )
    line = endless.function.__code__.co_firstlineno + 4
    for engine in ("simulator", "interpreter"):
        report = program.run(engine=engine, max_instructions=100_000).report
        assert not report["ok"]
        assert "100000" in report["error"], report["error"]
        assert abs(report["error_location"][1] - line) <= 2
    values = np.zeros(32, np.int32)
    with setting(max_instructions=1000), pytest.raises(RunError, match=r"test_bad_input\.py"):
        endless(values)


def run_script(text: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    import os

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


def test_unreadable_chip_file(tmp_path):
    broken = tmp_path / "chip.json"
    broken.write_text("{ not json")
    for name in (str(broken), str(tmp_path / "none.json"), "910z9"):
        with setting(chip=name), pytest.raises(Exception) as found:
            add_kernel(48, 24)
        assert name.rsplit("/", 1)[-1] in str(found.value)
    works_still(add_kernel(32, 24))


def test_missing_torch():
    """Kernels run with NumPy; what needs PyTorch says so."""
    text = """
        import sys
        sys.modules["torch"] = None
        import numpy as np
        import tilewright as tilelang
        import tilewright.language as T
        @tilelang.jit(out_idx=[-1])
        def make(N):
            @T.prim_func
            def double(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
                with T.Kernel(1, threads=128) as _:
                    a = T.alloc_shared((N,), "float32")
                    T.copy(A, a)
                    for i in T.Parallel(N):
                        a[i] *= 2.0
                    T.copy(a, C)
            return double
        kernel = make(8)
        print(kernel(np.ones(8, np.float32)).sum())
        try:
            kernel.get_profiler().do_bench()
        except Exception as error:
            print(type(error).__name__, error)
    """
    # Kernels of `-c` have no source file: the script is written to one.
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(textwrap.dedent(text))
        found = run_script(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert found.returncode == 0, found.stderr
    assert "16.0" in found.stdout


def test_a_tensor_with_merged_dimensions_is_a_view():
    """Leading dimensions put together or taken apart name the same rows."""
    kernel = add_kernel(32, 24)
    a, b = randn((32, 24), seed=1), randn((32, 24), seed=2)
    np.testing.assert_array_equal(
        np.asarray(kernel(a.reshape(4, 8, 24), b.reshape(1, 32, 24))), a + b
    )
    with pytest.raises(ArgumentError, match=r"\(24, 32\)"):
        kernel(a.reshape(24, 32), b)


@tilelang.jit
def flat(A, where, unused, n):
    A: T.Tensor((n,), T.float32)
    where: T.Tensor((n,), T.float32)
    unused: T.Tensor((4, n), T.bfloat16)
    with T.Kernel(1):
        a = T.alloc_shared((n,), T.float32)
        T.copy(A, a)
        T.copy(a, where)


def test_a_flat_parameter_takes_all_elements_in_order():
    a, found = randn((2, 3, 8), np.float32, seed=1), np.zeros((6, 8), np.float32)
    kernel = flat.compile(n=48)
    kernel(a, found, None)
    np.testing.assert_array_equal(found.ravel(), a.ravel())
    with pytest.raises(ArgumentError, match=r"\(2, 3, 4\)"):
        kernel(a[:, :, :4], found, None)


def test_none_stands_for_a_tensor_that_no_statement_names():
    kernel = flat.compile(n=8)
    with pytest.raises(ArgumentTypeError, match="argument 1 'where' is a NoneType"):
        kernel(np.zeros(8, np.float32), None, None)
