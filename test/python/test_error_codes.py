# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of errors: each example raises its code at its line, and is what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_docs import load
from tilewright import catalogue
from tilewright.cli import main
from tilewright.errors import CompileError, with_code

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = catalogue.entries()
RAISED = [entry for entry in ENTRIES.values() if entry.example]
gen_error_docs = load("gen_error_docs")


@pytest.mark.parametrize("entry", RAISED, ids=lambda entry: entry.code)
def test_example_raises_its_code(entry: catalogue.Entry) -> None:
    text = gen_error_docs.printed(entry)
    first = re.search(r"\[(E\d{4})\]", text)
    assert (first and first[1] == entry.code) or entry.frame == "check", text
    assert f"[{entry.code}]" in text, text
    lines = entry.program.splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# <-")]
    if not marked or f"{entry.code}.py" not in text:
        return
    assert f"at {entry.code}.py:{marked[0]}" in text, text
    if "| " in text:  # the line, and a caret under it
        _, _, excerpt = text.partition("| ")
        assert excerpt.splitlines()[0].strip() in lines[marked[0] - 1]
        assert re.match(r"\s*\|\s+\^~*$", excerpt.splitlines()[1]), text


def test_errors_of_kernels_show_line_and_caret() -> None:
    """All examples that are bodies of kernels and mark a line, so that the test above checks it."""
    for entry in RAISED:
        if entry.frame == "kernel" and "# <-" in entry.example:
            assert re.search(r"\| +\^", gen_error_docs.printed(entry)), entry.code


def test_page_is_up_to_date() -> None:
    assert gen_error_docs.PAGE.read_text() == gen_error_docs.page(), "run utils/gen_error_docs.py"


def test_unraised_codes_say_where_they_are_tested() -> None:
    for entry in ENTRIES.values():
        assert bool(entry.example) != bool(entry.unraised), entry.code
        for path in re.findall(r"test/\S+", entry.unraised):
            assert (ROOT / path).exists(), path


def test_every_error_has_a_code() -> None:
    assert load("check_codes").main() == 0


def test_explain_prints_an_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E0411"]) == 0
    printed = capsys.readouterr().out
    entry = ENTRIES["E0411"]
    assert entry.title in printed and entry.example.splitlines()[1] in printed
    assert main(["explain", "e411"]) == 0
    assert capsys.readouterr().out == printed


def test_explain_of_an_unknown_code_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E0410"]) == 64
    assert "there is no error E0410; near it are" in (said := capsys.readouterr().err)
    assert "E0411" in said


def test_explain_without_a_code_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(ENTRIES)


def test_a_quoted_error_gives_its_code() -> None:
    assert with_code("error[E0103]: parameter 'A': error[E0201]: no type") == (
        "error[E0201]: parameter 'A': no type"
    )
    assert CompileError("error[E0411]: K").code == "E0411"
    assert CompileError("K").code == ""
