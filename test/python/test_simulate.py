# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Kernel.simulate`: the result object, timing without data, other chips, the JSON form."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from tilewright.errors import ArgumentError, MissingPackageError, RunError, TimingOnlyError
from tilewright.report.result import TABLES, SimulationResult

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ROOT / "tilewright" / "machine" / "chips"


def line_of(text: str) -> int:
    """The line of this file that holds `text`, which stands on one line only."""
    lines = Path(__file__).read_text().splitlines()
    found = [n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line]
    assert len(found) == 1
    return found[0]


def matmul(m: int = 256, n: int = 256, k: int = 256):
    @T.prim_func
    def main(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(m // 64, n // 64) as (y, x):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for turn in T.Pipelined(k // 64, num_stages=2):
                T.copy(A[y * 64, turn * 64], a)
                T.copy(B[turn * 64, x * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * 64, x * 64])

    return tilelang.compile(main, out_idx=[2])


def inputs():
    random = np.random.default_rng(0)
    return [random.standard_normal((256, 256)).astype(np.float16) for _ in range(2)]


def test_the_result_says_what_a_call_reports():
    kernel = matmul()
    a, b = inputs()
    result = kernel.simulate(a, b)
    (launch,) = kernel.last_report["launches"]
    assert result.ok and result.error is None and not result.findings and not result.timing_only
    assert (result.kernel, result.chip, result.clock_mhz) == ("main", "910b3", 1800.0)
    assert result.core_us == launch["microseconds"] > 0
    assert result.cycles == pytest.approx(result.core_us * result.clock_mhz)
    assert result.launch_us == launch["launch_microseconds"] > 0
    assert result.launches[0].launch_warm_us == launch["launch_warm_microseconds"]
    assert result.launches[0].cores == {"AIC": 16, "AIV": 0}
    assert set(result.utilisation) == {"AIC"}
    assert result.utilisation["AIC"]["MTE2"] == pytest.approx(launch["aic_busy"]["MTE2"])
    assert result.traffic["gm_write_bytes"] == 256 * 256 * 4
    assert result.lines[0].cycles == max(line.cycles for line in result.lines)
    assert {Path(line.location.file).name for line in result.lines} == {"test_simulate.py"}
    np.testing.assert_allclose(
        result.outputs, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2
    )
    assert "core" in str(result) and "MTE2" in str(result)


def test_timing_only_needs_no_arguments_and_gives_the_same_times():
    kernel = matmul()
    full = kernel.simulate(*inputs())
    alone = kernel.simulate(timing_only=True)
    assert alone.timing_only and alone.outputs is None
    assert alone.launches == full.launches
    assert kernel.simulate(*inputs(), timing_only=True).launches == full.launches


def test_timing_only_leaves_arguments_alone():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            T.copy(a, B)

    source, target = np.ones(64, np.float32), np.full(64, 7, np.float32)
    result = tilelang.compile(main).simulate(source, target, timing_only=True)
    assert result.core_us > 0 and (target == 7).all()


def test_timing_only_with_sizes_that_only_a_call_knows():
    @T.prim_func
    def main(A: T.Tensor((T.dynamic("n"),), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            T.copy(A[0:64], a)
            T.copy(a, B)

    kernel = tilelang.compile(main, out_idx=[1])
    with pytest.raises(ArgumentError, match="the size of 'A' is known only at a call; pass"):
        kernel.simulate(timing_only=True)
    assert kernel.simulate(np.ones(640, np.float32), timing_only=True).core_us > 0


def test_timing_only_with_a_scalar_parameter():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), turns: T.int32):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            for _ in range(turns):
                for i in T.Parallel(64):
                    a[i] = a[i] * 2.0
            T.copy(a, A)

    kernel = tilelang.compile(main)
    with pytest.raises(ArgumentError, match="the value of 'turns' is known only at a call"):
        kernel.simulate(timing_only=True)
    a = np.ones(64, np.float32)
    short, long = (kernel.simulate(a, n, timing_only=True).core_us for n in (1, 100))
    assert long > 2 * short
    assert long == kernel.simulate(a, 100).core_us


def gather_rows(through_tile: bool):
    """Copies the rows that a list names; a row -1 ends it."""

    @T.prim_func
    def main(
        X: T.Tensor((64, 128), "float32"),
        rows: T.Tensor((16,), "int32"),
        Y: T.Tensor((16, 128), "float32"),
    ):
        with T.Kernel(1):
            tile = T.alloc_shared((1, 128), "float32")
            if through_tile:
                picked = T.alloc_shared((16,), "int32")
                T.copy(rows, picked)
                for n in range(16):
                    if picked[n] >= 0:  # steered through a tile
                        T.copy(X[picked[n], 0], tile)
                        T.copy(tile, Y[n, 0])
            else:
                for n in range(16):
                    if rows[n] >= 0:  # steered from memory
                        T.copy(X[rows[n], 0], tile)
                        T.copy(tile, Y[n, 0])

    return tilelang.compile(main)


@pytest.mark.parametrize("through_tile", [False, True])
def test_timing_only_reads_what_steers_the_kernel(through_tile):
    kernel = gather_rows(through_tile)
    x, y = np.ones((64, 128), np.float32), np.zeros((16, 128), np.float32)
    few = np.array([3, 5] + [-1] * 14, np.int32)
    many = np.arange(16, dtype=np.int32)
    for rows in (few, many):
        timed = kernel.simulate(x, rows, y, timing_only=True)
        assert not y.any()
        assert timed.launches == kernel.simulate(x, rows, np.zeros_like(y)).launches
    assert (
        kernel.simulate(x, few, y, timing_only=True).core_us
        < kernel.simulate(x, many, y, timing_only=True).core_us / 2
    )


@pytest.mark.parametrize("through_tile", [False, True])
def test_timing_only_without_the_arguments_that_steer(through_tile):
    place = line_of("# steered through a tile" if through_tile else "# steered from memory")
    with pytest.raises(TimingOnlyError) as caught:
        gather_rows(through_tile).simulate(timing_only=True)
    assert f"test_simulate.py:{place}" in str(caught.value)
    assert "control flow or an address depends on" in str(caught.value)
    assert "times need the contents of the arguments; pass them" in str(caught.value)


def test_timing_only_is_refused_where_control_is_computed():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.reduce_max(a, top, dim=0)
            if top[0] > 0.0:  # computed control
                for i in T.Parallel(64):
                    a[i] = a[i] * 2.0
            T.copy(a, B)

    kernel = tilelang.compile(main, out_idx=[1])
    a = np.ones(64, np.float32)
    with pytest.raises(TimingOnlyError) as caught:
        kernel.simulate(a, timing_only=True)
    assert f"test_simulate.py:{line_of('# computed control')}" in str(caught.value)
    assert "the kernel computes this value" in str(caught.value)
    assert kernel.simulate(a).core_us > 0


def test_timing_only_does_not_mind_scalars_that_steer_nothing():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.reduce_max(a, top, dim=0)
            for i in T.Parallel(64):
                a[i] = a[i] * top[0]
            a[3] = top[0] + 1.0
            T.copy(a, B)

    kernel = tilelang.compile(main, out_idx=[1])
    assert (
        kernel.simulate(timing_only=True).launches
        == kernel.simulate(np.ones(64, np.float32)).launches
    )


def test_timing_only_is_refused_where_an_earlier_launch_computes_what_steers():
    @T.prim_func
    def main(count: T.Tensor((1,), "int32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            one = T.alloc_shared((1,), "int32")
            T.fill(one, 3)
            T.copy(one, count)
        with T.Kernel(1):
            b = T.alloc_shared((64,), "float32")
            T.clear(b)
            for _ in range(count[0]):  # computed by the launch before
                for i in T.Parallel(64):
                    b[i] = b[i] + 1.0
            T.copy(b, B)

    kernel = tilelang.compile(main)
    arguments = np.zeros(1, np.int32), np.zeros(64, np.float32)
    with pytest.raises(TimingOnlyError) as caught:
        kernel.simulate(*arguments, timing_only=True)
    place = line_of("# computed by the launch before")
    assert f"test_simulate.py:{place}" in str(caught.value)
    kernel.simulate(*arguments)
    assert (arguments[1] == 3).all()


def test_a_sample_of_waves_estimates_the_whole():
    kernel = matmul(2048, 4096, 128)  # 512 joined blocks on 20 cores
    whole = kernel.simulate(timing_only=True)
    sample = kernel.simulate(timing_only=True, sample_waves=4)
    assert whole.launches[0].waves is None and "waves" not in whole.json
    assert sample.launches[0].waves == {"timed": 4, "all": 26}
    assert sample.instructions < whole.instructions / 6
    assert 0.95 < sample.cycles / whole.cycles < 1.05
    for key, count in whole.traffic.items():
        assert 0.8 * count <= sample.traffic[key] <= 1.25 * count, key
    assert [line.location for line in sample.lines] == [line.location for line in whole.lines]
    assert "(estimated from 4 of 26 waves of blocks)" in str(sample)
    assert SimulationResult.from_json(sample.to_json()).launches == sample.launches
    # Sensitivity and other constants go by the same estimate.
    found = sample.launches[0].sensitivity
    assert found.least_us <= sample.core_us <= found.most_us < 2 * sample.core_us


def test_a_sample_is_timed_again():
    kernel = matmul(2048, 4096, 128)
    sample = kernel.simulate(timing_only=True, sample_waves=4, store=True)
    again = sample.retime()
    assert (again.cycles, again.launches[0].waves) == (sample.cycles, sample.launches[0].waves)


def test_a_sample_follows_blocks_of_growing_length():
    """Each block is longer than the one before; the sample sees only short ones."""

    @T.prim_func
    def main(A: T.Tensor((64, 4096), "float32"), B: T.Tensor((640, 4096), "float32")):
        with T.Kernel(640) as block:
            a = T.alloc_shared((4096,), "float32")
            total = T.alloc_shared((4096,), "float32")
            T.clear(total)
            for row in T.serial(block // 10 + 1):
                T.copy(A[row, 0], a)
                for i in T.Parallel(4096):
                    total[i] += a[i]
            T.copy(total, B[block, 0])

    kernel = tilelang.compile(main, out_idx=[1])
    whole = kernel.simulate(timing_only=True).cycles
    sample = kernel.simulate(timing_only=True, sample_waves=4).cycles
    assert 0.8 < sample / whole < 1.25


def test_a_sample_of_waves_is_refused_where_it_says_nothing():
    kernel = matmul()  # 16 blocks on 20 cores
    with pytest.raises(RunError, match="a sample of 2 waves leaves nothing out: no core has more "):
        kernel.simulate(timing_only=True, sample_waves=2)
    for waves in (1, 0, -3, 1.5, "4", 10**30):
        with pytest.raises(ArgumentError, match=r"sample_waves is .* a whole number from 2 on"):
            kernel.simulate(timing_only=True, sample_waves=waves)
    with pytest.raises(ArgumentError, match="sample_waves needs timing_only=True"):
        kernel.simulate(*inputs(), sample_waves=2)


@pytest.mark.parametrize("chip", ["910b1", "910b4", "a3"])
def test_another_chip_runs_the_same_program(chip, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DISABLE", "fit")  # which asks how many cores there are
    here = matmul()
    there = here.simulate(timing_only=True, chip=chip)
    assert there.chip == chip and there.core_us != here.simulate(timing_only=True).core_us
    full = here.simulate(*inputs(), chip=chip)
    assert full.launches == there.launches
    assert (full.outputs == here.simulate(*inputs()).outputs).all()
    monkeypatch.setenv("TILEWRIGHT_CHIP", chip)
    assert matmul().simulate(timing_only=True).launches == there.launches


def test_a_chip_that_the_plan_does_not_fit(tmp_path):
    values = json.loads((CHIPS / "910b3.json").read_text())
    values["name"] = "small"
    values["l1_bytes"]["value"] = values["l1_bytes"]["range"][0] = 16384
    path = tmp_path / "small.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ArgumentError) as caught:
        matmul().simulate(timing_only=True, chip=str(path))
    assert "memory plan does not fit small" in str(caught.value)
    assert "compile it for small" in str(caught.value)
    with pytest.raises(ArgumentError, match="unknown chip 'h100'; known are"):
        matmul().simulate(timing_only=True, chip="h100")


def test_options_that_exclude_each_other():
    with pytest.raises(ArgumentError, match="timing_only=True computes nothing to check"):
        matmul().simulate(timing_only=True, check=True)
    with pytest.raises(ArgumentError, match="Expected 2 inputs, got 0"):
        matmul().simulate()


def test_a_kernel_for_the_interpreter(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "interpreter")
    with pytest.raises(RunError, match="compiled for the interpreter alone"):
        matmul().simulate(timing_only=True)


def racy():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(4):
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            T.copy(a, B)  # all blocks write this

    return tilelang.compile(main, out_idx=[1])


def test_findings(monkeypatch):
    a = np.ones(64, np.float32)
    kernel = racy()
    assert not kernel.simulate(a).findings
    result = kernel.simulate(a, check=True)
    (finding,) = result.findings
    assert (finding.kind, finding.tool) == ("write-after-write", "racecheck")
    assert finding.memory == "tensor B" and finding.count == 6
    assert finding.edge == "an atomic, or parts that do not overlap"
    assert finding.location.line == line_of("# all blocks write this")
    assert finding.other_location == finding.location
    assert "racecheck: race on tensor B" in str(result)
    monkeypatch.setenv("TILEWRIGHT_CHECK", "1")
    assert kernel.simulate(a).findings == result.findings


@pytest.mark.parametrize("shared", [True, False])
def test_arguments_that_share_memory(shared):
    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2) as block:
            a = T.alloc_shared((128,), "float32")
            T.copy(A[(1 - block) * 128], a)  # what the other block writes when B is A
            T.copy(a, B[block * 128])

    a = np.ones(256, np.float32)
    result = tilelang.compile(main).simulate(a, a if shared else a.copy(), check=True)
    assert {f.kind for f in result.findings} == ({"read-after-write"} if shared else set())
    assert {f.memory for f in result.findings} == ({"tensor A/B"} if shared else set())


def test_a_kernel_that_stops():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), at: T.int32):
        with T.Kernel(1):
            T.assert_(at < 3, "at is too large")  # fails
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            T.copy(a, A)

    kernel, a = tilelang.compile(main), np.ones(64, np.float32)
    with pytest.raises(RunError, match="at is too large"):
        kernel.simulate(a, 5)
    result = kernel.simulate(a, 5, check=True)
    assert not result.ok and "at is too large" in result.error and result.outputs is None
    assert result.error_location.line == line_of("# fails")
    assert [f.tool for f in result.findings] == ["assert"] and not result.launches
    assert result.core_us == 0 and "stopped" in str(result)


def test_json_round_trip_and_bad_text():
    result = racy().simulate(np.ones(64, np.float32), check=True)
    text = result.to_json()
    assert SimulationResult.from_json(text) == result
    assert tilelang.SimulationResult is SimulationResult
    root = json.loads(text)
    assert (root["schema"], root["version"]) == ("tilewright.simulation", 1)
    with pytest.raises(ValueError, match="no JSON, or cut short"):
        SimulationResult.from_json(text[: len(text) // 2])
    with pytest.raises(ValueError, match="no simulation result"):
        SimulationResult.from_json("[]")
    with pytest.raises(ValueError, match="version 2; this package reads 1"):
        SimulationResult.from_json(json.dumps({**root, "version": 2}))
    del root["launches"]
    with pytest.raises(ValueError, match="lacks 'launches'"):
        SimulationResult.from_json(json.dumps(root))


def test_tables(monkeypatch):
    result = matmul().simulate(timing_only=True)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="to_pandas needs pandas, which is not installed"):
        result.to_pandas()
    stand_in = types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    for table in TABLES:
        assert result.to_pandas(table) == ("frame", result.rows(table))
    (row,) = result.rows("launches")
    assert row["core_us"] == result.core_us and row["AIC_cores"] == 16
    assert {r["pipe"] for r in result.rows("pipes")} >= {"MTE2", "M", "FIX"}
    assert sum(r["cycles"] for r in result.rows("lines")) == sum(x.cycles for x in result.lines)
    assert result.rows("findings") == []
    with pytest.raises(ValueError, match="no table 'cores'; there are launches, pipes"):
        result.rows("cores")


def test_sensitivity(monkeypatch, capsys):
    kernel = matmul()
    result = kernel.simulate(timing_only=True)
    (launch,) = result.launches
    found = launch.sensitivity
    assert found.least_us <= launch.core_us <= found.most_us and found.share == 1
    reaches = [max(abs(us - launch.core_us) for us in effect.core_us) for effect in found.effects]
    assert reaches == sorted(reaches, reverse=True) and reaches[-1] > 0
    assert {us for effect in found.effects for us in effect.core_us} >= {
        found.least_us,
        found.most_us,
    }
    assert f"core {found}" in str(result) and found.effects[0].constant in str(found)
    # Where times are printed; not where they are added up.
    monkeypatch.setenv("TILEWRIGHT_TIME", "1")
    kernel(*inputs())
    assert f"\n      core {found}\n" in capsys.readouterr().err
    monkeypatch.setenv("TILEWRIGHT_SENSITIVITY", "0")
    kernel(*inputs())
    assert "uncertain" not in capsys.readouterr().err
    (launch,) = kernel.simulate(timing_only=True).launches
    assert launch.sensitivity is None


def test_stored_runs_are_timed_again():
    kernel = matmul()
    result = kernel.simulate(timing_only=True, store=True)
    again = result.retime()
    assert again.cycles == result.cycles and again.lines == result.lines
    assert result.retime(constants={"clock_mhz": 900}).core_us == 2 * result.core_us
    slow = result.retime(constants={"mte2_rate_aic": 10, "mte2_row_aic": 5}).retime()
    assert slow.cycles == result.cycles, "each time from what the run did"
    assert result.retime(constants={"mte2_rate_aic": 10}).cycles > 1.5 * result.cycles
    ours = kernel.simulate(timing_only=True, chip="910b1", store=True)
    assert ours.retime("a3").cycles == kernel.simulate(timing_only=True, chip="a3").cycles
    with pytest.raises(ArgumentError, match="of 910b3 with 20 cube cores and cannot be timed for "):
        result.retime("910b1")
    with pytest.raises(ArgumentError, match="910b3 has no constant 'speed'"):
        result.retime(constants={"speed": 2})
    for value in (0, -1, 1e300, float("nan")):
        with pytest.raises(ArgumentError, match=r"'mte2_rate_aic' cannot be .* makes sense"):
            result.retime(constants={"mte2_rate_aic": value})
    with pytest.raises(ArgumentError, match="l2_line_bytes must be 1 to 8 sectors"):
        result.retime(constants={"l2_sector_bytes": 96})
    with pytest.raises(ArgumentError, match="unknown chip 'x'"):
        result.retime("x")
    with pytest.raises(ArgumentError, match="pass store=True to simulate"):
        kernel.simulate(timing_only=True).retime()


def test_trace(tmp_path):
    path = tmp_path / "trace.json"
    matmul().simulate(timing_only=True, trace=path)
    assert json.loads(path.read_text())["traceEvents"]
    assert os.listdir(tmp_path) == ["trace.json"]


def test_the_tool_prints_the_same_document(tmp_path):
    kernel = matmul()
    (tmp_path / "kernel.mlir").write_text(kernel.text("npu"))
    tool = ROOT / "build" / "bin" / "tilewright-sim"
    done = subprocess.run(
        [tool, "kernel.mlir", "--timing-only", "--json", "--time"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    theirs, ours = json.loads(done.stdout), json.loads(kernel.simulate(timing_only=True).to_json())
    for root in (theirs, ours):  # places in the text differ from places in the source
        for launch in root["launches"]:
            launch["lines"] = sum(line["cycles"] for line in launch["lines"])
            launch["name"] = ""
    assert theirs == ours


def test_docstrings_name_every_parameter():
    text = inspect.getdoc(tilelang.Kernel.simulate) or ""
    for name in list(inspect.signature(tilelang.Kernel.simulate).parameters)[1:]:
        assert f"`{name}`" in text
