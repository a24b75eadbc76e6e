# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/calibration: the list of published figures, its arithmetic, the bars that times keep."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

CALIBRATION = Path(__file__).resolve().parents[2] / "bench" / "calibration"
sys.path.insert(0, str(CALIBRATION))

import published  # noqa: E402
import score  # noqa: E402
from plot import scatter  # noqa: E402
from simulated import SIMULATOR, all_times  # noqa: E402
from tilings import KERNELS, Kernel  # noqa: E402


def row(name: str, value: float, ladder: str = "l") -> score.Row:
    return score.Row(name, "f", name, ladder, "time", "task", value, "us", "s")


def results(*pairs: tuple[float, float]) -> list[score.Result]:
    """Results with (published, predicted) figures."""
    return [score.Result(row(str(i), p), q) for i, (p, q) in enumerate(pairs)]


def test_rows_name_kernels_and_sources() -> None:
    rows = score.read()
    assert len({r.id for r in rows}) == len(rows)
    for r in rows:
        assert r.kernel in KERNELS, r
        assert r.source and r.value > 0, r
        assert r.profile in ("task", "kernel", "core"), r
        assert r.unit == "us" or (r.unit == "%" and not r.is_scored), r
    assert {r.family for r in rows} >= {*score.MAIN, *score.ODD}


def test_errors_and_summary() -> None:
    found = results((100, 110), (200, 180), (50, 50))
    assert [round(r.error, 6) for r in found] == [10, -10, 0]
    assert score.summary(found) == pytest.approx((20 / 3, 10, 10))


def test_rank_of_ladders() -> None:
    assert score.kendall(results((1, 10), (2, 20), (3, 30))) == 1
    assert score.kendall(results((1, 30), (2, 20), (3, 10))) == -1
    assert score.kendall(results((1, 10), (2, 10), (3, 30))) == pytest.approx(2 / 6**0.5)
    assert score.kendall(results((1, 10), (1, 20))) is None
    assert score.kendall(results((1, 10), (2, 10))) == 0
    assert score.best_first(results((1, 10), (2, 20)))
    assert not score.best_first(results((1, 20), (2, 10)))


def test_task_times_rank_before_core_times() -> None:
    times = [
        score.Result(row("a", 1), 1),
        score.Result(score.Row("b", "f", "a", "l", "time", "core", 0.5, "us", "s"), 0.5),
        score.Result(row("c", 2), 2),
    ]
    (steps,) = score.ladders(times).values()
    assert [s.row.profile for s in steps] == ["task", "task"]


def test_extrapolation() -> None:
    class Program:
        n = 100

    kernel = Kernel("910b1", Program(), extrapolated=(2, 4))
    assert kernel.combine([10, 14]) == 10 + 2 * 98


def line(**changed: str) -> dict[str, str]:
    base = {
        "id": "P1",
        "op": "gemm",
        "shape": "M=N=K=8192 case 5: MDL+L1 cache",
        "dtype": "float16",
        "chip": "A2",
        "metric": "task_duration",
        "value": "4156.76",
        "unit": "us",
        "impl": "sample",
        "source": "mirror-cann/asc-devkit@82b89a1 a/matmul_high_performance/README.md",
        "confidence": "high",
    }
    return {**base, **changed}


def test_rules_of_the_choice() -> None:
    chosen = published.choose(line())
    assert isinstance(chosen, score.Row)
    assert (chosen.kernel, chosen.family, chosen.profile) == ("gemm_a2_5", "gemm_a2", "task")
    assert chosen.source == "asc-devkit@82b89a1 matmul_high_performance"
    pipe = published.choose(line(metric="mte2_time_avg"))
    assert isinstance(pipe, score.Row)
    assert not pipe.is_scored
    ticks = published.choose(
        line(
            op="vadd_bank_conflict",
            shape="scenario 2: same bank",
            metric="sys_cnt_ticks_50MHz",
            value="4167",
            unit="ticks",
            source="x/asc-devkit@82b89a1 a/bank_conflict_ub/README.md",
        )
    )
    assert isinstance(ticks, score.Row)
    assert (ticks.kernel, ticks.value) == ("banks_2", 83.34)
    library = published.choose(line(source="hicann/cann-bench@d59d44c bench_lab"))
    assert library == "library operators: neither tiling nor algorithm is published"
    assert published.choose(line(metric="temperature")) == "no rule for the metric temperature"


def test_rows_survive_writing(tmp_path: Path) -> None:
    rows = score.read()
    published.write(rows, tmp_path / "rows.csv")
    assert score.read(tmp_path / "rows.csv") == rows
    assert (tmp_path / "rows.csv").read_bytes() == score.ROWS.read_bytes()


def test_plot_is_an_image_of_all_rows() -> None:
    root = ElementTree.fromstring(scatter(results((100, 110), (2000, 1800), (3, 50))))
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 3
    assert titles[0] == "0 0: +10.0 %"


@pytest.mark.skipif(not SIMULATOR.exists(), reason="tilewright-sim is not built")
def test_times_keep_their_bars() -> None:
    """Median, mean and worst error of each group, and the order within each ladder."""
    rows = [r for r in score.read() if r.is_scored]
    times = all_times(r.kernel for r in rows)
    found = score.evaluate(rows, {name: each[0] for name, each in times.items()})
    main = [r for r in found if r.row.family in score.MAIN]
    mean, median, _ = score.summary(main)
    assert mean <= 6
    assert median <= 3
    odd = [r for r in found if r.row.family in score.ODD]
    assert score.summary(odd)[0] <= 10
    firsts = [score.best_first(steps) for steps in score.ladders(found).values()]
    assert sum(firsts) >= 0.9 * len(firsts)
