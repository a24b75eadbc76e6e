# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker against kernels with one mistake each, and their corrected twins.

A file of test/checker holds two kernels that differ in a line or two: those marked `bad` or `good`
belong to one of them. Its head says what the checker must find in the bad one, and nothing else:

    // expect: the class of fault
    // also: classes that follow from it
    // memory: the buffers or the tensor that the report names
    // edge: what the report says is missing

`first` and `second` mark the two lines that the report must name. The good twin must give no
report, and the same bits whatever the order in which its instructions take effect.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "checker"
TOOL = ROOT / "build" / "bin" / "tilewright-sim"
SEEDS = 3

#: Class -> the kernels in which it must be found.
SUITE = {
    "read-after-write": [
        "atomic-round-trip",
        "barrier-of-the-wrong-pipe",
        "block-reads-anothers-output",
        "event-to-the-wrong-pipe",
        "fixpipe-without-wait",
        "gm-round-trip",
        "mmad-without-wait",
        "result-to-l1",
        "scalar-reads-too-early",
        "set-before-its-work",
        "signal-on-the-wrong-pipe",
        "vector-without-barrier",
        "wait-after-use",
        "wait-on-the-wrong-pipe",
        "workspace-without-wait",
        "wrong-slot-event",
    ],
    "write-after-read": [
        "back-edge-missing",
        "column-over-rows",
        "freed-too-early",
        "load-over-read-tile",
        "one-element-overlap",
        "padding-over-read-tile",
        "product-over-read-result",
        "scalar-over-read-tile",
        "shift-in-place",
        "vector-over-stored-tile",
        "workspace-over-read-part",
        "widened-in-place",
    ],
    "write-after-write": [
        "blocks-write-the-same",
        "load-and-fill",
        "overlapping-buffers",
        "store-beside-atomic",
        "sub-cores-write-the-same",
        "unequal-parts",
    ],
    "uninitialised-read": [
        "accumulator-from-nothing",
        "mmad-past-the-loaded-part",
        "padding-lanes",
        "sum-from-nothing",
        "workspace-never-written",
        "workspace-written-with-a-gap",
    ],
    "out-of-bounds": [
        "event-id-too-large",
        "gather-index",
        "negative-offset",
        "past-the-buffer",
        "past-the-slot",
        "row-not-clipped",
        "tail-not-clipped",
        "tile-past-l1",
        "tile-past-ub",
    ],
    "double-set": ["second-set-without-wait"],
    "flag-reuse": ["one-id-for-two-slots"],
    "unconsumed-flag": [
        "epilogue-waits-dropped",
        "signal-never-waited-for",
        "unconsumed-event",
    ],
    "deadlock": [
        "back-edge-set-missing",
        "both-sides-wait",
        "flag-in-one-branch",
        "one-sub-core-signals",
        "wait-without-set",
    ],
    "counter-overflow": ["signals-pile-up"],
    "assert-failed": ["assertion"],
    "watchdog": ["endless-loop"],
}
NAMES = [name for names in SUITE.values() for name in names]
TOOLS = {
    "read-after-write": "racecheck",
    "write-after-read": "racecheck",
    "write-after-write": "racecheck",
    "uninitialised-read": "initcheck",
    "out-of-bounds": "memcheck",
    "assert-failed": "assert",
    "watchdog": "watchdog",
}
MARK = re.compile(r"// ((?:bad|good|first|second|either)\b[\w ]*)$")


def marks(line: str) -> set[str]:
    found = MARK.search(line)
    return set(found[1].split()) if found else set()


def head(name: str) -> dict[str, str]:
    text = (FOLDER / f"{name}.mlir").read_text()
    return dict(re.findall(r"^// (expect|also|memory|edge): (.*)$", text, re.MULTILINE))


def twin(name: str, which: str, folder: Path) -> Path:
    """One of the two kernels; lines of the other are left empty, so that numbers hold."""
    other = "good" if which == "bad" else "bad"
    lines = (FOLDER / f"{name}.mlir").read_text().splitlines()
    path = folder / f"{name}.mlir"
    path.write_text("\n".join("" if other in marks(line) else line for line in lines) + "\n")
    return path


def simulate(path: Path, *options: str) -> tuple[int, str]:
    command = [TOOL, path, "--sim-threads", "1", "--max-instructions", "100000", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1, 2), done.stderr
    return done.returncode, done.stdout


def line(place: dict[str, Any] | None) -> int | None:
    return place["line"] if place else None


def test_the_folder_is_the_suite():
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.glob("*.mlir"))
    for kind, names in SUITE.items():
        for name in names:
            assert head(name)["expect"] == kind, name


@pytest.mark.parametrize("name", NAMES)
def test_bad_kernel_is_reported(name, tmp_path):
    path = twin(name, "bad", tmp_path)
    lines = path.read_text().splitlines()
    code, output = simulate(path, "--check", "--json")
    report, want = json.loads(output), head(name)
    assert code == (2 if report["ok"] else 1)
    kinds = {finding["kind"] for finding in report["findings"]}
    assert kinds == {want["expect"], *filter(None, want.get("also", "").split(", "))}
    first, second = (
        [n for n, text in enumerate(lines, 1) if mark in marks(text)]
        for mark in ("first", "second")
    )
    matching = [
        finding
        for finding in report["findings"]
        if finding["kind"] == want["expect"]
        and want.get("memory", "") == finding["memory"]
        and finding["edge"].startswith(want.get("edge", ""))
        and (not first or line(finding["other_location"]) in first)
        and (not second or line(finding["location"]) in second)
    ]
    assert matching, json.dumps(report["findings"], indent=1)
    for finding in matching:
        assert finding["tool"] == TOOLS.get(want["expect"], "synccheck")
        for number in (*first, *second):
            assert f"{path.name}:{number}" in finding["message"] or "either" in marks(
                lines[number - 1]
            )


@pytest.mark.parametrize("name", NAMES)
def test_good_twin_is_silent(name, tmp_path):
    path = twin(name, "good", tmp_path)
    code, output = simulate(path, "--check", "--json")
    report = json.loads(output)
    assert code == 0 and report["ok"], output
    assert report["findings"] == []
    _, plain = simulate(path, "--checksums")
    for seed in range(SEEDS):
        assert simulate(path, "--checksums", "--delay", str(seed)) == (0, plain)
