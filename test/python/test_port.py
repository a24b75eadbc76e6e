# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright port`: agreement, limits, and advice that has been simulated."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

_core = pytest.importorskip("tilewright._core")

HEAD = """
import numpy as np
import tilelang
import tilelang.language as T

rng = np.random.default_rng(0)
"""
SOFTMAX = """
def softmax(M, N, rows=4):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            top = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            share = T.alloc_var("float32")
            for i in T.serial(rows):
                for j in T.serial(N):
                    share = x[i, j] / total[i]
                    x[i, j] = share
            T.copy(x, Y[bx * rows, 0])

    return main

x = rng.standard_normal((64, 100)).astype(np.float32)
y = tilelang.compile(softmax(64, 100), out_idx=[-1])(x)
e = np.exp(x - x.max(axis=1, keepdims=True))
np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-4)
"""
#: Backwards, so that blocks are no parts of one larger block.
COPY = """
@tilelang.jit
def twice(A, block: int = 32):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block)) as bx:
        a = T.alloc_shared((block,), "float32")
        b = T.alloc_shared((block,), "float32")
        T.copy(A[bx * block], a)
        for i in T.Parallel(block):
            b[i] = a[block - 1 - i] * 2
        T.copy(b, B[bx * block])
    return B
"""


def port(tmp_path, text: str, *words: str, code: int = 0):
    path = tmp_path / "script.py"
    path.write_text(HEAD + textwrap.dedent(text))
    command = [sys.executable, "-m", "tilewright", "port", *words, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    return done


def kernels(tmp_path, text: str, *words: str) -> list[dict]:
    found = json.loads(port(tmp_path, text, "--json", *words).stdout)
    assert (found["schema"], found["version"]) == ("tilewright.port", 1)
    return found["kernels"]


def test_advice_holds_when_it_is_followed(tmp_path):
    """The times of the report are those of the edited script, to the cycle."""
    (found,) = kernels(tmp_path, SOFTMAX)
    assert found["agreement"] == {"exact": True, "source": 0.0, "reason": ""}
    steps = found["advice"]["steps"]
    first = steps[0]["changes"][0]
    lines = (tmp_path / "script.py").read_text().splitlines()
    loop = lines[first["line"] - 1]
    assert "in T.serial(" in loop
    assert (first["kind"], first["from"], first["to"]) == ("loop", "T.serial", "T.Parallel")
    assert steps[0]["before_us"] == found["core_us"] > 2 * steps[0]["after_us"]
    edited = SOFTMAX.replace(loop, loop.replace("T.serial", "T.Parallel"))
    for step in steps[1:]:
        for change in step["changes"]:
            assert change["name"] == "rows" and "rows=4" in lines[change["line"] - 1]
            edited = edited.replace("rows=4", f"rows={change['to']}")
    (followed,) = kernels(tmp_path, edited, "--no-advice")
    assert followed["core_us"] == steps[-1]["after_us"]
    assert followed["advice"] is None


def test_report_in_words(tmp_path):
    text = port(tmp_path, SOFTMAX).stdout
    line = (HEAD + SOFTMAX).splitlines().index("    @T.prim_func") + 1
    assert text.startswith(f"softmax, main (script.py:{line}): 1 call on 910b3\n")
    assert "agrees     with the interpreter, bit for bit, also of the kernel as written" in text
    assert f"line {line + 12}: T.Parallel(...) in place of T.serial(...)" in text
    assert "the scalar unit is busy" in text
    assert "script: ran unchanged to its end; comparisons of the script: 1 passed" in text


def test_an_argument_of_an_eager_kernel(tmp_path):
    (found,) = kernels(tmp_path, COPY + "twice(np.ones(200000, np.float32))")
    (step,) = found["advice"]["steps"]
    (change,) = step["changes"]
    assert change["name"] == "block" and change["from"] == 32 and change["to"] > 32
    assert step["difference"] == 0.0
    call = f"twice(np.ones(200000, np.float32), block={change['to']})"
    (followed,) = kernels(tmp_path, COPY + call, "--no-advice")
    assert followed["core_us"] == step["after_us"]


def test_a_literal_of_a_factory(tmp_path):
    """A number in the body of the factory stands for a tile size; the problem's size is none."""
    text = """
    @tilelang.jit(out_idx=-1)
    def double(n):
        size, _ = 64, 7

        @T.prim_func
        def main(A: T.Tensor((n, 64), "float32"), B: T.Tensor((n, 64), "float32")):
            with T.Kernel(T.ceildiv(n * 64, size * 64)) as bx:
                a = T.alloc_fragment((size, 64), "float32")
                T.copy(A[bx * size, 0], a)
                for i, j in T.Parallel(size, 64):
                    a[i, j] = a[i, j] * 2
                T.copy(a, B[bx * size, 0])

        return main

    double(4096)(np.ones((4096, 64), np.float32))
    """
    (found,) = kernels(tmp_path, text)
    changed = {c["name"] for s in found["advice"]["steps"] for c in s["changes"]}
    assert found["advice"]["tried"] >= 2 and changed <= {"size"}


def test_other_results_are_no_advice(tmp_path):
    """A loop whose turns need each other stays as it is, though it would be faster otherwise."""
    text = """
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            for i in T.serial(63):
                a[i + 1] = a[i] + a[i + 1]
            T.copy(a, B)

    tilelang.compile(main, out_idx=-1)(rng.standard_normal(64).astype(np.float32))
    """
    (found,) = kernels(tmp_path, text)
    assert found["advice"]["tried"] == 1 and found["advice"]["steps"] == []


def test_a_refused_kernel_and_a_failing_script(tmp_path):
    done = port(tmp_path, COPY + "twice(np.ones(64, np.float64))", code=1)
    assert "no kernel ran on the simulator" in done.stdout
    assert "script: ended with exit code 1" in done.stdout and "float64" in done.stderr
    text = COPY + "np.testing.assert_allclose(twice(np.ones(64, np.float32)), 3)"
    done = port(tmp_path, text, "--no-advice", code=1)
    assert "1 failed (assert_allclose in line" in done.stdout


def test_configurations_that_were_only_timed(tmp_path):
    text = (
        COPY.replace("@tilelang.jit", "@tilelang.autotune(configs=CONFIGS)\n@tilelang.jit")
        + "twice(np.ones(5000, np.float32))"
    )
    text = "CONFIGS = [{'block': b} for b in (16, 64, 256)]\n" + text
    done = port(tmp_path, text, "--no-advice")
    assert done.stdout.count(": 1 call on 910b3") == done.stdout.count(" on 910b3") == 1
    assert re.search("1 more configuration was|2 more configurations were", done.stdout)


def test_a_script_that_only_asks_for_times(tmp_path):
    text = COPY + "twice.compile(N=4096).simulate(timing_only=True)"
    (found,) = kernels(tmp_path, text)
    assert found["agreement"]["exact"] is None
    assert found["agreement"]["reason"] == "only its time was asked for"
    (step,) = found["advice"]["steps"]
    assert step["difference"] is None


def test_without_data_a_kernel_that_writes_less_is_no_advice(tmp_path):
    """Twice the block would leave the tail of the tensor out."""
    text = COPY.replace("T.ceildiv(N, block)", "N // block")
    (found,) = kernels(tmp_path, text + "twice.compile(N=4000).simulate(timing_only=True)")
    assert found["advice"]["tried"] >= 1 and found["advice"]["steps"] == []
    (found,) = kernels(tmp_path, text + "twice(np.ones(4000, np.float32))")
    assert found["advice"]["tried"] >= 1 and found["advice"]["steps"] == []


def test_the_extent_of_a_grid(tmp_path):
    text = """
    @tilelang.jit
    def double(A, parts: int = 2):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), "float32")
        B = T.empty((M, N), "float32")
        rows = T.ceildiv(M, parts)
        with T.Kernel(parts) as b:
            a = T.alloc_shared((N,), "float32")
            for r in T.serial(rows):
                T.copy(A[b * rows + r, 0], a)
                for j in T.Parallel(N):
                    a[j] = a[j] * 2
                T.copy(a, B[b * rows + r, 0])
        return B

    double(rng.standard_normal((160, 256)).astype(np.float32))
    """
    (found,) = kernels(tmp_path, text)
    changes = [c for s in found["advice"]["steps"] for c in s["changes"]]
    assert [(c["name"], c["kind"]) for c in changes] == [("parts", "grid")]
    assert found["advice"]["steps"][-1]["after_us"] < 0.5 * found["core_us"]


def test_sizes_that_help_only_together():
    """Of two sizes each is at its best alone; the pair is tried when no single move is left."""
    from tilewright.report.advice import Search
    from tilewright.report.variants import Knob

    m, n = (Knob(name, 64, "size", 1) for name in "mn")

    class Fake(Search):
        def _time(self, choice, moved=None):
            wide, narrow = (choice.get(knob, 64) for knob in (m, n))
            return 10.0 if (wide, narrow) == (128, 32) else 100.0

        def _compared(self, choice):
            return 0.0, True

    class Made:
        origin = object()

    search = Fake(Made(), None, True, "", 60.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilewright.report.variants.knobs", lambda origin: [m, n])
        advice = search.run(100.0)
    (step,) = advice.steps
    assert step.changes == {m: 128, n: 32} and step.after_us == 10.0


def test_the_time_for_a_comparison_is_limited(tmp_path):
    (found,) = kernels(tmp_path, SOFTMAX, "--budget", "0.001", "--no-advice")
    assert found["agreement"]["exact"] is None
    assert found["agreement"]["reason"] == "not finished in 0.001 s"


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "soon"])
def test_a_budget_is_a_number_of_seconds(tmp_path, budget):
    done = port(tmp_path, "", "--budget", budget, code=64)
    assert "--budget" in done.stderr


def test_relative_differences():
    from tilewright.report.calls import relative_difference, same_bits

    def bits(*values):
        return np.array(values, np.float32).tobytes()

    assert relative_difference(bits(1, 4), bits(1, 5), "float32") == 0.25
    assert relative_difference(bits(1, np.inf), bits(1, np.inf), "float32") == 0
    assert relative_difference(bits(1, np.inf), bits(1, 2), "float32") == np.inf
    assert relative_difference(bits(1, np.nan), bits(1, 2), "float32") == np.inf
    assert relative_difference(bits(0), bits(1), "float32") == np.inf
    assert relative_difference(b"\1", b"\2", "int8") == np.inf
    assert same_bits(bits(np.nan), bits(-np.nan), "float32")
    assert not same_bits(bits(1), bits(2), "float32")


def test_edits_keep_closures_and_lines(tmp_path):
    from tilewright.report.variants import Place, edited

    path = tmp_path / "made.py"
    path.write_text(
        "def outer(k):\n    def inner(x, s='ä'):\n        n = 3; return k, n, x\n    return inner\n"
    )
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    inner = scope["outer"](5)
    other = edited(inner, [(Place(3, 12, 13), "70")])
    assert inner(1) == (5, 3, 1) and other(1) == (5, 70, 1)
    assert other.__code__.co_firstlineno == 2 and other.__globals__ is inner.__globals__
