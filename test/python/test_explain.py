# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright explain`: limits, decisions and the worth of each stage."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

_core = pytest.importorskip("tilewright._core")

HEAD = """
import numpy as np
import tilewright as tilelang
import tilewright.language as T
"""
MATMUL = """
@tilelang.jit(out_idx=-1)
def matmul(n, dtype="float16"):
    @T.prim_func
    def kernel(A: T.Tensor((n, n), dtype), B: T.Tensor((n, n), dtype), C: T.Tensor((n, n), dtype)):
        with T.Kernel(n // 128, n // 128) as (y, x):
            a = T.alloc_shared((128, 64), dtype)
            b = T.alloc_shared((64, 128), dtype)
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for k in T.Pipelined(n // 64, num_stages=2):
                T.copy(A[y * 128, k * 64], a)
                T.copy(B[k * 64, x * 128], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * 128, x * 128])

    return kernel

n = 512
a = np.ones((n, n), np.float16)
b = a.copy()
"""


def explain(tmp_path, text: str, *words: str, arguments: tuple[str, ...] = (), code: int = 0):
    path = tmp_path / "script.py"
    path.write_text(HEAD + textwrap.dedent(text))
    command = [sys.executable, "-m", "tilewright", "explain", *words, str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def kernels(tmp_path, text: str, *words: str) -> list[dict]:
    found = json.loads(explain(tmp_path, text, "--json", *words).stdout)
    assert (found["schema"], found["version"]) == ("tilewright.explanation", 1)
    return found["kernels"]


def test_roofline_of_a_product(tmp_path):
    (found,) = kernels(tmp_path, MATMUL + "assert matmul(n)(a, b)[0, 0] == n")
    (launch,) = found["launches"]
    roofline = launch["roofline"]
    assert roofline["flops"] == 2 * 512**3
    assert (
        roofline["read_bytes"] == 2 * 512 * 512 * 2 and roofline["written_bytes"] == 512 * 512 * 2
    )
    # 20 cores, 8192 operations a cycle, 1.8 GHz; 1.6 TB/s
    assert roofline["cube_us"] == pytest.approx(2 * 512**3 / (20 * 8192 * 1.8e3))
    assert roofline["memory_us"] == pytest.approx(3 * 512 * 512 * 2 / 1.6e6, rel=1e-4)
    bound = max(roofline["cube_us"], roofline["memory_us"])
    assert roofline["share"] == pytest.approx(bound / launch["core_us"])
    kind, _, pipe = launch["bound"]["pipe"].partition(" ")
    busiest = launch["utilisation"][kind][pipe]
    assert busiest == max(s for pipes in launch["utilisation"].values() for s in pipes.values())
    assert launch["bound"]["share"] == pytest.approx(busiest)
    assert 0 < roofline["share"] < launch["bound"]["share"] < 1
    assert found["arguments"][0] == {"name": "A", "dtype": "float16", "shape": [512, 512]}


def test_the_chip_counts(tmp_path):
    (found,) = kernels(tmp_path, MATMUL + "matmul(n)(a, b)", "--chip", "910b4")
    assert found["chip"] == "910b4"
    roofline = found["launches"][0]["roofline"]
    assert roofline["cube_us"] == pytest.approx(2 * 512**3 / (20 * 8192 * 1.5e3))
    assert roofline["memory_us"] == pytest.approx(3 * 512 * 512 * 2 / 0.8e6, rel=1e-4)


def test_simulated_runs_count_too(tmp_path):
    text = MATMUL + "k = matmul(n)\nk.simulate(timing_only=True)\n"
    text += "k.simulate(timing_only=True)\nk.simulate(timing_only=True, chip='910b1')"
    found = kernels(tmp_path, text, "--ablate")
    assert [(k["chip"], k["calls"]) for k in found] == [("910b3", 2), ("910b1", 1)]
    slow, fast = (k["launches"][0] for k in found)
    assert fast["roofline"]["cube_us"] < slow["roofline"]["cube_us"]
    for kernel in found:  # switched off or not, it is the same program on the same chip
        rows = {row["stage"]: row["ratio"] for row in kernel["ablation"]}
        assert rows["vectorize"] == 1


def test_decisions_stand_at_their_lines(tmp_path):
    (found,) = kernels(tmp_path, MATMUL + "matmul(n)(a, b)")
    lines = (tmp_path / "script.py").read_text().splitlines()
    buffers = [d for d in found["decisions"] if d["stage"] == "tile-place-buffers"]
    places = [d for d in buffers if "'a'" in d["message"]]
    assert places and {"stage", "kind", "message", "location"} == set(places[0])
    for decision in places:
        assert decision["location"]["file"] == str(tmp_path / "script.py")
        assert lines[decision["location"]["line"] - 1].strip().startswith("a = T.alloc_shared")


def test_calls_are_counted_by_kernel_and_shape(tmp_path):
    text = MATMUL + "for _ in range(3): matmul(n)(a, b)\nmatmul(256)(a[:256, :256], b[:256, :256])"
    found = kernels(tmp_path, text)
    assert [k["calls"] for k in found] == [3, 1]


def test_ablation(tmp_path):
    (found,) = kernels(tmp_path, MATMUL + "matmul(n)(a, b)", "--ablate")
    rows = {row["stage"]: row for row in found["ablation"]}
    assert list(rows) == _core.switch_names() and {"pipeline", "sync"} <= set(rows)
    cycles = found["launches"][0]["cycles"]
    assert rows["pipeline"]["cycles"] > cycles and rows["sync"]["ratio"] > 1
    assert rows["vectorize"]["cycles"] == cycles  # there is no T.Parallel


def test_without_ablation_there_is_none(tmp_path):
    (found,) = kernels(tmp_path, MATMUL + "matmul(n)(a, b)")
    assert found["ablation"] == []


IN_PLACE = """
@T.prim_func
def increment(A: T.Tensor((64,), "float32"), n: T.int32):
    with T.Kernel(1):
        for i in T.Parallel(64):
            A[i] += n

a = np.zeros(64, np.float32)
tilelang.compile(increment)(a, 3)
assert (a == 3).all(), a
"""


def test_ablation_leaves_tensors_alone(tmp_path):
    (found,) = kernels(tmp_path, IN_PLACE, "--ablate")
    assert found["launches"][0]["roofline"]["read_bytes"] == 256
    assert found["launches"][0]["roofline"]["flops"] == 0
    assert found["arguments"][1] == {"name": "n", "dtype": "int32", "value": 3}


def test_what_a_kernel_reads_back_is_no_input(tmp_path):
    text = """
    @T.prim_func
    def twice(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((1024,), "float32")
            T.copy(A, a)
            T.copy(a, B)
            T.copy(B, a)
            for i in T.Parallel(1024):
                a[i] = a[i] + 1.0
            T.copy(a, B)

    tilelang.compile(twice, out_idx=[1])(np.zeros(1024, np.float32))
    """
    (found,) = kernels(tmp_path, text)
    roofline = found["launches"][0]["roofline"]
    assert (roofline["read_bytes"], roofline["written_bytes"]) == (4096, 4096)


def test_times_that_depend_on_data_have_no_ablation(tmp_path):
    text = """
    @T.prim_func
    def positive(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.reduce_max(a, top, dim=0)
            if top[0] > 0.0:
                T.clear(a)
            T.copy(a, B)

    tilelang.compile(positive, out_idx=[1])(np.ones(64, np.float32))
    """
    (found,) = kernels(tmp_path, text, "--ablate")
    for row in found["ablation"]:
        assert row["cycles"] is None and "depends on" in row["error"]


def test_text(tmp_path):
    done = explain(tmp_path, MATMUL + "matmul(n)(a, b)\nprint('hello')", "--ablate")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "hello",
        "kernel: 1 call on 910b3",
        "  arguments  A float16 (512, 512), B float16 (512, 512), C float16 (512, 512)",
    ]
    heads = [line.split()[0] for line in lines[3:]]
    assert heads[:5] == ["time", "range", "roofline", "bound", "pipes"]
    assert "us over the uncertain constants; most: " in lines[4]
    assert heads.count("without") == len(_core.switch_names()) and heads[-1] == "decision"
    assert any("script.py:" in line for line in lines)


def test_output_of_the_script_is_kept_apart(tmp_path):
    text = "import sys\n" + MATMUL + "matmul(n)(a, b)\nprint('hello', sys.argv[1:])\nsys.exit(3)"
    done = explain(tmp_path, text, "--json", arguments=("--json", "x"), code=3)
    assert "hello ['--json', 'x']" in done.stderr
    assert len(json.loads(done.stdout)["kernels"]) == 1


def test_a_script_that_fails_is_explained_as_far_as_it_came(tmp_path):
    done = explain(tmp_path, MATMUL + "matmul(n)(a, b)\nraise ValueError('no')", code=1)
    assert "roofline" in done.stdout and "ValueError: no" in done.stderr


def test_no_kernel(tmp_path):
    assert explain(tmp_path, "").stdout == "explain: no kernel ran on the simulator\n"
    assert kernels(tmp_path, "") == []


def test_unknown_switch(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DISABLE", "pipelines")
    done = explain(tmp_path, MATMUL + "matmul(n)(a, b)", code=1)
    expected = "there is no stage 'pipelines' to switch off; there are "
    assert expected + ", ".join(_core.switch_names()) in done.stderr
