# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of reports: all are there, each with a test that exists or a reason."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "utils" / "gen_report_table.py"))


def test_every_report_has_an_answer():
    answers = SCRIPT["answers"]()
    assert list(answers) == [f"A{number:03}" for number in range(1, 124)]
    assert [report for report, answer in answers.items() if not answer] == []
    assert set(SCRIPT["own_tests"]()) <= set(answers)


def test_named_tests_exist():
    table = tomllib.loads(Path(__file__).with_name("reports.toml").read_text())
    for paths in table["tests"].values():
        assert all((ROOT / path).is_file() for path in paths)
    assert not set(table["tests"]) & set(table["reasons"])


def test_page_is_up_to_date():
    assert SCRIPT["PAGE"].read_text() == SCRIPT["page"](), "run utils/gen_report_table.py"
