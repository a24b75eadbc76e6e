# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' own logic: verdicts, peers that are missing. No times are asserted."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import budgets
import run_peers


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (budgets.Row("x", 10, 9), "met"),
        (budgets.Row("x", 10, 19), "within 2x"),
        (budgets.Row("x", 10, 21), "MISSED"),
        (budgets.Row("x", 10, None), "-"),
        (budgets.Row("x", None, 5), "-"),
        (budgets.Row("x", 3, 9, "peer", 4.0, 2.7), "met"),  # the ratio decides
        (budgets.Row("x", 30, 9, "peer", 1.0, 2.7), "MISSED"),
        (budgets.Row("x", 3, 9, "peer", None, 2.7), "MISSED"),  # no peer here
    ],
)
def test_verdict(row, verdict):
    assert row.verdict == verdict


def test_table_has_a_line_for_each_row():
    rows = [budgets.Row("a", 1, 2, note="why"), budgets.Row("b", None, None)]
    lines = budgets.table(rows).splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("why")


def test_missing_peers_are_left_out(tmp_path, capsys):
    here = [sys.executable]
    gone = run_peers.Script("x", "sys", "x", ["gone.py"])
    assert run_peers.run(gone, tmp_path, here) is None
    (tmp_path / "there.py").write_text("print('took median 2.5 ms')")
    missing = run_peers.Script("y", "no_such_module_at_all", "y-package", ["there.py"])
    assert run_peers.run(missing, tmp_path, here) is None
    said = capsys.readouterr().out
    assert "gone.py is not in" in said
    assert "pip install y-package" in said
    works = run_peers.Script("z", "sys", "z", ["there.py"])
    assert "2.5" in run_peers.run(works, tmp_path, here)


def test_failing_peer_is_told(tmp_path, capsys):
    (tmp_path / "bad.py").write_text("raise SystemExit('it broke')")
    assert (
        run_peers.run(run_peers.Script("x", "sys", "x", ["bad.py"]), tmp_path, [sys.executable])
        is None
    )
    assert "it broke" in capsys.readouterr().out


def test_figures_are_found():
    lines = {
        "numpy": "numpy    t1 gemm f32 512^3 [cpu 1.125 ms]        median  1.2 ms range 1-2",
        "triton": "matmul 90 {'import_s': (0.1, 0.1, 0.1), 'total_cold_s': (0.64, 0.6, 0.7)} n=3",
        "tilelang": '{"kernel": "gemm", "import_s": 1.5, "cold_cpu_s": 1.7, "warm_cpu_s": 0.1}',
    }
    want = {"numpy": 1.125, "triton": 640.0, "tilelang": 1500.0}
    for script in run_peers.SCRIPTS:
        if script.name in lines:
            figure = script.figures[0]
            match = re.search(figure.pattern, lines[script.name], re.MULTILINE)
            assert match, script.name
            assert float(match[1]) * figure.scale == pytest.approx(want[script.name])


def test_checks_of_default_sizes():
    """Checks belong to examples that are listed, and a wrong result or one of zeros fails."""
    torch = pytest.importorskip("torch", reason="the examples are PyTorch scripts")
    import default_checks
    import default_sizes

    names = {f"{d}/{f}" for d, files in default_sizes.EXAMPLES.items() for f in files.split()}
    assert set(default_checks.CHECKS) <= names
    good = torch.arange(12.0).view(3, 4)
    default_checks.close(good, good)
    for bad in (good + 1, good.flip(0)):
        with pytest.raises(AssertionError):
            default_checks.close(bad, good)
    with pytest.raises(AssertionError):
        default_checks.close(good * 0, good * 0)
