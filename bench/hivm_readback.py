# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned text of every kernel of the end-to-end tests, lowered, read back and simulated.

    python bench/hivm_readback.py [-k EXPRESSION] [--every N] [--keep DIR] [--direct]

Runs test/e2e. Each program that a test runs is exported in form (b), taken by the published
compiler to its last open stage, read back and run on the same arguments. A program counts as the
same when the order of moves, products, flags and signals is, its addresses are, the results are bit
for bit, and the cycles are within 2 %. With `--direct` the exported text itself is read, and the
program's own text (npu) too, which has to give the same bits in the same cycles.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.dtypes import DType
from tilewright.errors import CompileError
from tilewright.hivm import bisheng, launches, readback
from tilewright.report import session

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 0.02


def chip_of(target: str) -> str:
    """The chip that HIVM calls `target`."""
    return "a3" if target == "Ascend910_9392" else target.removeprefix("Ascend").lower()


def bytes_at(argument: Any) -> np.ndarray:
    """A tensor argument's memory, as it lies there."""
    address, shape, dtype = argument
    count = int(np.prod(shape)) * DType(dtype).bytes
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)) if count else None


def copied(arguments: list[Any], keep: list[Any]) -> list[Any]:
    """The arguments with tensors of their own; `keep` gets the memory."""
    result = []
    for argument in arguments:
        if not isinstance(argument, tuple):
            result.append(argument)
            continue
        memory = bytes_at(argument)
        memory = np.zeros(64, np.uint8) if memory is None else memory.copy()
        keep.append(memory)
        result.append((memory.ctypes.data, argument[1], argument[2]))
    return result


class Reader:
    """A pytest plugin that watches the tests' runs: reads each program back once."""

    wants_limits = False

    def __init__(self, folder: Path, direct: bool, quick: bool = False, every: int = 1) -> None:
        self.folder, self.direct, self.quick, self.every = folder, direct, quick, every
        self.package = bisheng.find()
        self.test = ""
        self.seen: set[str] = set()
        self.results: dict[str, list[str]] = defaultdict(list)
        self.ratios: list[tuple[float, str]] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = items[:: self.every]

    def pytest_runtest_setup(self, item: Any) -> None:
        self.test = item.nodeid.rsplit("/", 1)[-1]

    def pytest_runtest_call(self) -> None:
        """Puts itself in front of the runs of the tests' harness, once that is there."""
        program = getattr(sys.modules.get("harness"), "Program", None)
        if program is None or hasattr(program, "watched"):
            return
        run = program.run

        def watched(own: Any, **options: Any) -> Any:
            arguments, tensors = own._arguments()
            self.consider(own.kernel, arguments)
            del tensors  # the memory of the arguments
            if self.quick:
                pytest.skip("read back, the test itself is not wanted")
            return run(own, **options)

        program.run, program.watched = watched, True

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        self.consider(kernel, arguments)

    def after(self, *_: Any) -> None:
        """Nothing is left to be done behind a run."""

    def consider(self, kernel: Any, arguments: list[Any]) -> None:
        """Reads a program back that was not seen before."""
        if not kernel.core.hivm_target:
            return
        program = kernel.core.text("npu")
        if program in self.seen:
            return
        self.seen.add(program)
        try:
            outcome = self.compare(kernel, arguments, chip_of(kernel.core.hivm_target))
        except CompileError as error:
            outcome = re.sub(r"/\S*/", "", str(error).strip().splitlines()[0])
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"[:100]
        if outcome:
            self.results[outcome].append(f"{kernel.name} in {self.test}")

    def compare(self, kernel: Any, given: list[Any], chip: str) -> str:
        keep: list[Any] = []
        ours, theirs = copied(given, keep), copied(given, keep)
        reference = kernel.core.run(ours, time=True, check=True)
        if not reference["ok"]:  # a kernel that is to stop
            return ""
        cycles = [launch["cycles"] for launch in reference["launches"]]
        if self.direct and (problem := self.own_text(kernel, given, ours, cycles, chip)):
            return problem
        number = len(self.seen)
        found = []
        for text in launches(kernel.core, "planned"):
            path = self.folder / f"{number}-{text['name']}.planned.mlir"
            path.write_text(text["text"])
            if not self.direct:
                lowered = bisheng.lower(self.package, path, "planned", kernel.core.hivm_target)
                if not lowered.ok:
                    return f"not lowered: {lowered.stage}: {lowered.problem}"
                source = readback.generic(self.package, path, lowered.text)
                path.with_suffix(".last.mlir").write_text(source)
            else:
                source = text["text"]
            core = readback.read(source, path.name, chip)
            report = core.run(
                readback.launch_arguments(text, core, kernel.parameters, theirs),
                time=True,
                check=True,
            )
            if not report["ok"]:
                return f"stopped: {report['error'].splitlines()[0]}"
            if report["findings"] and not reference["findings"]:
                finding = report["findings"][0]
                return f"finding: {finding['kind']}: {finding['message']}"[:120]
            found += [launch["cycles"] for launch in report["launches"]]
        ratio = sum(found) / max(sum(cycles), 1)
        self.ratios.append((ratio, f"{kernel.name} in {self.test}"))
        if not same_bytes(ours, theirs):
            return "other result"
        if abs(ratio - 1) > TOLERANCE:
            return "same result, other cycles"
        return "same"

    def own_text(
        self, kernel: Any, given: list[Any], ours: list[Any], cycles: list[float], chip: str
    ) -> str:
        """What is not the same about the program that is read from its text of npu."""
        keep: list[Any] = []
        again = copied(given, keep)
        core = readback.read(kernel.core.text("npu"), f"{kernel.name}.mlir", chip)
        report = core.run(again, time=True)
        if not report["ok"]:
            return f"npu text stopped: {report['error'].splitlines()[0]}"
        if not same_bytes(ours, again):
            return "npu text: other result"
        same = [launch["cycles"] for launch in report["launches"]] == cycles
        return "" if same else "npu text: other cycles"


def same_bytes(first: list[Any], second: list[Any]) -> bool:
    """Whether the tensors among two lists of arguments hold the same."""
    pairs = [pair for pair in zip(first, second, strict=True) if isinstance(pair[0], tuple)]
    return all(
        a is None or np.array_equal(a, b) for a, b in ((bytes_at(x), bytes_at(y)) for x, y in pairs)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="as for pytest: which tests")
    parser.add_argument("--keep", type=Path, help="folder for the texts")
    parser.add_argument("--direct", action="store_true", help="read the exported text itself")
    parser.add_argument("--quick", action="store_true", help="the first program of each test")
    parser.add_argument("--every", type=int, default=1, help="every so many tests only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        reader = Reader(folder, options.direct, options.quick, options.every)
        if reader.package is None and not options.direct:
            print(f"the package {bisheng.PACKAGE} is not installed")
            return 1
        watch_tests(reader, options.k)
    return table(reader)


def watch_tests(reader: Reader, expression: str) -> None:
    """Runs the end-to-end tests that `expression` selects under the eyes of `reader`."""
    os.environ |= {"TILEWRIGHT_TEST_SEEDS": "1", "TILEWRIGHT_CACHE": "0"}
    session.observers.append(reader)
    words = ["-q", "-q", "-n", "0", "-p", "no:cacheprovider", str(ROOT / "test" / "e2e")]
    words += ["-k", expression] if expression else []
    pytest.main(words, plugins=[reader])


def table(reader: Reader) -> int:
    """Prints what was the same and why the rest was not."""
    counts = Counter({outcome: len(names) for outcome, names in reader.results.items()})
    total = sum(counts.values())
    print(f"{total} programs")
    for outcome, count in counts.most_common():
        print(f"  {count:5}  {100 * count / max(total, 1):5.1f} %  {outcome}")
        if outcome != "same":
            print(f"         {', '.join(reader.results[outcome])}")
    near = [ratio for ratio, _ in reader.ratios]
    if near:
        print(f"cycles read back / own: {min(near):.3f} to {max(near):.3f}")
        far = [entry for entry in reader.ratios if abs(entry[0] - 1) > TOLERANCE]
        for ratio, name in sorted(far, key=lambda r: -abs(r[0] - 1)):
            print(f"  {ratio:.3f} {name}")
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main())
