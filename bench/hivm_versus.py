# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our schedule against that of the published compiler, both on our simulator.

    python bench/hivm_versus.py [-k EXPRESSION] [--every N] [--keep DIR] [--least CYCLES]

Runs test/e2e. The text of each program without addresses, slots and flags (form c) goes through the
published compiler with several settings; what it hands on is read back, run on the same arguments
and checked. Of the settings the fastest one counts that gives the right result without findings.
Plans whose only findings are events that are set again before their wait are listed apart: they are
right if an event counts how often it was set, and wrong if it is one bit. Both sides have the same
tiles and the same division between the cores. Programs of level 0 are no schedule of ours and do
not count.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hivm_readback import Reader, bytes_at, copied, watch_tests

from tilewright.env import compile_settings
from tilewright.hivm import bisheng, launches, readback
from tilewright.report import session

#: Settings of the pipeline, by what is tried: slots, and the two solvers of its flags.
SETTINGS = {
    "slots": {"enable-auto-multi-buffer": "true"},
    "no slots": {"enable-auto-multi-buffer": "false"},
    "slots, unit flag": {"enable-auto-multi-buffer": "true", "enable-hivm-unit-flag-sync": "true"},
    "slots, inject-sync": {
        "enable-auto-multi-buffer": "true",
        "enable-hivm-graph-sync-solver": "false",
    },
}
SPACES = {"ub": "UB", "cbuf": "L1", "cc": "L0C"}
BYTES = {"f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2, "i8": 1, "i1": 1, "i64": 8}


@dataclass
class Side:
    """One schedule: cycles, bytes by memory, counts of flags and barriers in the text."""

    cycles: float
    memory: dict[str, int]
    flags: int
    barriers: int
    setting: str = ""
    counts_sets: bool = False  #: right only if events count


@dataclass(eq=False)
class Row:
    name: str
    ours: Side
    theirs: Side | None = None
    counting: Side | None = None  #: the best of those that are right only if events count
    problems: list[str] = field(default_factory=list)


def counts(text: str) -> tuple[int, int]:
    return len(re.findall(r"hivm\.hir\.(?:set|wait)_flag", text)), text.count("pipe_barrier")


def memory_of(text: str) -> dict[str, int]:
    """The highest byte of each memory that a planned generic text names."""
    numbers = dict(re.findall(r'(%\w+) = "arith.constant"\(\) <\{value = (\d+) : i64\}>', text))
    result: dict[str, int] = {}
    casts = re.findall(r'pointer_cast"\((%\w+)\).*memref<([0-9x]+)x(\w+), #hivm.\w+<(\w+)>>', text)
    for value, shape, element, space in casts:
        if value in numbers:
            bits = int(np.prod([int(n) for n in shape.split("x")])) * (
                1 if element == "i1" else 8 * BYTES[element]
            )
            end = int(numbers[value]) + -(-bits // 8)
            result[SPACES[space]] = max(result.get(SPACES[space], 0), end)
    return result


class Versus(Reader):
    """Compares instead of reading back."""

    def __init__(self, folder: Path, least: float, quick: bool, every: int) -> None:
        super().__init__(folder, direct=False, quick=quick, every=every)
        self.least = least
        self.rows: list[Row] = []

    def compiled(self, kernel: Any) -> None:
        """Hears of a kernel when it is compiled: what has the plain form of all stages is left
        out."""
        if compile_settings().opt_level == 0:
            self.seen.add(kernel.core.text("npu"))

    def compare(self, kernel: Any, given: list[Any], chip: str) -> str:
        keep: list[Any] = []
        ours = copied(given, keep)
        reference = kernel.core.run(ours, time=True)
        cycles = sum(launch["cycles"] for launch in reference["launches"])
        if not reference["ok"] or cycles < self.least:
            return ""
        own = [text["text"] for text in launches(kernel.core, "planned")]
        ends: dict[str, int] = {}
        for buffer in kernel.core.buffers():
            if buffer["space"] != "GM":
                end = buffer["address"] + buffer["bytes"] * max(buffer["slots"], 1)
                ends[buffer["space"]] = max(ends.get(buffer["space"], 0), end)
        row = Row(f"{kernel.name} in {self.test}", Side(cycles, ends, *counts("".join(own))))
        self.rows.append(row)
        for setting, switches in SETTINGS.items():
            side = self.other(kernel, given, chip, ours, setting, switches, row)
            place = "counting" if side and side.counts_sets else "theirs"
            best = getattr(row, place)
            if side and (best is None or side.cycles < best.cycles):
                setattr(row, place, side)
        return "compared" if row.theirs or row.counting else "not compared"

    def other(
        self,
        kernel: Any,
        given: list[Any],
        chip: str,
        ours: list[Any],
        setting: str,
        switches: dict[str, str],
        row: Row,
    ) -> Side | None:
        """The other compiler's schedule under a setting; none after a problem, which is noted."""
        keep: list[Any] = []
        theirs = copied(given, keep)
        side = Side(0, {}, 0, 0, setting)
        for text in launches(kernel.core, "plain"):
            path = self.folder / f"{len(self.seen)}-{text['name']}.plain.mlir"
            lines = text["text"].splitlines()
            if setting == "no slots":
                lines = [line for line in lines if "hivm.multi_buffer" not in line]
            path.write_text("\n".join(lines) + "\n")
            words = bisheng.pipeline("plain", kernel.core.hivm_target)
            for name, value in switches.items():
                words[-1] = re.sub(rf" {name}=\w+", "", words[-1]) + f" {name}={value}"
            opt = self.package.program("bishengir-opt")
            done = bisheng.run([opt, *words, "--mlir-print-op-generic", str(path)])
            if done.returncode:
                row.problems.append(f"{setting}: {bisheng.reason(done)[:90]}")
                return None
            path.with_suffix(f".{setting.replace(' ', '-')}.last.mlir").write_text(done.stdout)
            core = readback.read(done.stdout, path.name, chip)
            arguments = readback.launch_arguments(text, core, kernel.parameters, theirs)
            report = core.run(arguments, time=True, check=True)
            others = [f for f in report["findings"] if f["kind"] != "flag-reuse"]
            side.counts_sets |= bool(report["findings"])
            if not report["ok"] or others:
                what = report["error"] or others[0]["message"]
                row.problems.append(f"{setting}: {what.splitlines()[0][:110]}")
                return None
            side.cycles += sum(launch["cycles"] for launch in report["launches"])
            for space, end in memory_of(done.stdout).items():
                side.memory[space] = max(side.memory.get(space, 0), end)
            flags, barriers = counts(done.stdout)
            side.flags += flags
            side.barriers += barriers
        for mine, read in zip(ours, theirs, strict=True):
            if isinstance(mine, tuple) and not close(mine, read):
                row.problems.append(f"{setting}: other result")
                return None
        return side


def close(mine: Any, read: Any) -> bool:
    """Tensors with the same numbers, up to what another expression of a function changes."""
    a, b = bytes_at(mine), bytes_at(read)
    if a is None or np.array_equal(a, b):
        return True
    kinds = {"float16": np.float16, "float32": np.float32}
    if mine[2] not in kinds:
        return False
    first, second = a.view(kinds[mine[2]]), b.view(kinds[mine[2]])
    return bool(np.allclose(first, second, rtol=1e-2, atol=1e-3, equal_nan=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="as for pytest: which tests")
    parser.add_argument("--keep", type=Path, help="folder for the texts")
    parser.add_argument("--least", type=float, default=0, help="cycles of kernels that count")
    parser.add_argument("--quick", action="store_true", help="the first program of each test")
    parser.add_argument("--every", type=int, default=1, help="every so many tests only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        versus = Versus(folder, options.least, options.quick, options.every)
        if versus.package is None:
            print(f"the package {bisheng.PACKAGE} is not installed")
            return 1
        session.compiled.append(versus.compiled)
        watch_tests(versus, options.k)
    return table(versus)


def table(versus: Versus) -> int:
    compared = [(row, row.theirs) for row in versus.rows if row.theirs]
    counting = [(row, row.counting) for row in versus.rows if row.counting]
    counting = [p for p in counting if not p[0].theirs or p[1].cycles < p[0].theirs.cycles]
    print(f"{len(compared)} of {len(versus.rows)} kernels compared; cycles, bytes ours / theirs")
    show(compared)
    if counting:
        print(f"{len(counting)} plans are faster, or the only ones, if events count:")
        show(counting)
        either = dict(compared) | dict(counting)
        print(f"with them, {len(either)} kernels: {mean([*either.items()]):.3f}")
    for row in versus.rows:
        if not row.theirs and not row.counting:
            print(f"not compared: {row.name}: {'; '.join(row.problems[:1])}")
    for outcome, names in sorted(versus.results.items()):
        if not outcome.endswith("compared") and not outcome.startswith("not compared"):
            print(f"{len(names)} x {outcome}: {', '.join(names[:3])}")
    return 0 if compared else 1


def show(rows: list[tuple[Row, Side]]) -> None:
    """A line for each kernel, by the quotient of its cycles, and the mean of that."""
    for row, theirs in sorted(rows, key=lambda pair: pair[1].cycles / max(pair[0].ours.cycles, 1)):
        ours = row.ours
        ratio = theirs.cycles / max(ours.cycles, 1)
        memory = " ".join(
            f"{space} {ours.memory.get(space, 0)}/{theirs.memory.get(space, 0)}"
            for space in SPACES.values()
            if space in ours.memory or space in theirs.memory
        )
        print(
            f"{ratio:6.2f}  {ours.cycles:9.0f} / {theirs.cycles:9.0f}  {memory}  "
            f"flags {ours.flags}/{theirs.flags} barriers {ours.barriers}/{theirs.barriers}  "
            f"[{theirs.setting}] {row.name}"
        )
    if rows:
        print(f"geometric mean of theirs / ours: {mean(rows):.3f}")


def mean(rows: list[tuple[Row, Side]]) -> float:
    """The geometric mean of their cycles over ours."""
    quotients = [theirs.cycles / max(row.ours.cycles, 1) for row, theirs in rows]
    return float(np.exp(np.mean(np.log(quotients))))


if __name__ == "__main__":
    sys.exit(main())
