# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants bugs in the passes, one at a time, and counts kernels until the fuzzers find each.

    python bench/planted.py [--only NAME] [--most 2000] [--seconds 300] [--keep FOLDER]

The bugs of planted_bugs.py are written into the passes, behind a switch each, and the compiler is
built once; it is copied away, and the passes are put back. Then the fuzzer of each bug runs with
that bug switched on until a kernel fails, at most `--most` kernels or `--seconds`. `--keep` keeps
that compiler, and uses it when it is there. Exit status 1 if fewer than 28 are found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planted_bugs import BUGS, Bug

ROOT = Path(__file__).resolve().parents[1]
PASSES = ROOT / "tilewright" / "passes"
BUILD = ROOT / "build"
ENOUGH = 28
HEADER = """#include <cstdlib>
#include <string_view>
static bool planted(std::string_view name) {
  const char *on = std::getenv("TILEWRIGHT_PLANT");
  return on && name == on;
}
"""


def planted(text: str, bugs: list[Bug]) -> str:
    """A pass with bugs in it. ValueError when one no longer fits."""
    for bug in bugs:
        if text.count(bug.old) != 1:
            raise ValueError(f"{bug.name}: its text is no longer once in {bug.file}")
        text = text.replace(bug.old, bug.new.replace("PLANTED", f'planted("{bug.name}")'))
    return HEADER + text


def build(folder: Path) -> None:
    """The compiler with all bugs, in `folder`; the passes are then as before."""
    files = sorted({bug.file for bug in BUGS})
    before = {file: (PASSES / file).read_text() for file in files}
    after = {f: planted(before[f], [bug for bug in BUGS if bug.file == f]) for f in files}
    try:
        for file, text in after.items():
            (PASSES / file).write_text(text)
        targets = ["_core", "tilewright-opt", "tilewright-sim"]
        subprocess.run(["ninja", "-j2", "-C", str(BUILD), *targets], check=True)
        shutil.copytree(BUILD / "python", folder / "python")
        (folder / "bin").mkdir()
        for tool in targets[1:]:
            shutil.copy(BUILD / "bin" / tool, folder / "bin")
    finally:
        for file, text in before.items():
            (PASSES / file).write_text(text)


def command(bug: Bug, start: int, count: int, folder: Path) -> list[str]:
    fuzz = ROOT / "test" / "fuzz"
    if bug.fuzzer == "plan":
        options = ["--bin", str(folder / "bin"), "--first", str(start), "--count", str(count)]
        return [sys.executable, str(fuzz / "plan_fuzz.py"), *options]
    family = ["--family", bug.fuzzer]
    options = [*family, "--start", str(start), "--count", str(count), "--seeds", "2", "--stop"]
    return [sys.executable, str(fuzz / "kernel_fuzz.py"), *options]


def search(bug: Bug, folder: Path, most: int, seconds: float) -> tuple[int, str]:
    """Kernels until one failed, and what the fuzzer said of it; empty when none did."""
    environment = {
        **os.environ,
        "TILEWRIGHT_PLANT": bug.name,
        "TILEWRIGHT_CACHE": "0",
        "TILEWRIGHT_NUM_THREADS": "1",
        "PYTHONPATH": str(folder / "python"),
    }
    end = time.monotonic() + seconds
    tried, step = 0, 10
    while tried < most and time.monotonic() < end:
        words = command(bug, tried, step, folder)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if "seed" in line]
        if done.returncode != 0:
            first = [*lines, *done.stderr.splitlines()[-1:], f"exit status {done.returncode}"][0]
            number = first.split("seed ")[-1].split(":")[0].split(" ")[0]
            return int(number) + 1 if number.isdigit() else tried + step, first[:110]
        tried += step
        step = min(100, 2 * step)
    return tried, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=[bug.name for bug in BUGS])
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found = 0
    bugs = [bug for bug in BUGS if not options.only or bug.name in options.only]
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        if not (folder / "python").exists():
            folder.mkdir(parents=True, exist_ok=True)
            build(folder)
        for bug in bugs:
            tried, said = search(bug, folder, options.most, options.seconds)
            found += bool(said)
            verdict = f"found by kernel {tried}" if said else f"NOT FOUND in {tried} kernels"
            print(f"{bug.name:32} {verdict:26} {bug.what}\n    {said}", flush=True)
    print(f"{found} of {len(bugs)} found")
    return int(found < min(ENOUGH, len(bugs)))


if __name__ == "__main__":
    sys.exit(main())
