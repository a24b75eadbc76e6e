# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the published compiler makes of every kernel of the end-to-end tests, in each form of text.

    python bench/hivm.py [--forms flags,plain] [-k EXPRESSION] [--every N] [--quick] [--keep DIR]

Runs test/e2e and takes each kernel that it compiles, once per program: exports it, lowers the text
with the package `ascendnpu-ir` and counts what passes. A kernel passes when the compiler reads the
text, keeps every attribute, runs to its last open stage and leaves no operation that it should have
turned into a call. Causes are listed with how often and where they occur; without the package only
the export is tried.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tilewright.errors import CompileError
from tilewright.hivm import FORMS, bisheng, launches
from tilewright.report import session

ROOT = Path(__file__).resolve().parents[1]


class Collector:
    """A pytest plugin: the text of every kernel that is compiled, in every form."""

    def __init__(self, forms: list[str], folder: Path, every: int, quick: bool) -> None:
        self.forms, self.folder, self.every, self.quick = forms, folder, every, quick
        self.test = ""
        self.programs: dict[str, str] = {}  #: text of the compiled program -> where
        self.texts: list[tuple[str, str, list[Path], str]] = []  #: form, kernel, files, target
        self.refused: list[tuple[str, str, str]] = []  #: form, kernel, reason

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = items[:: self.every]

    def pytest_runtest_setup(self, item: Any) -> None:
        self.test = item.nodeid.rsplit("/", 1)[-1]

    def __call__(self, kernel: Any) -> None:
        self.collect(kernel)
        if self.quick:
            pytest.skip("exported, the test itself is not wanted")

    def collect(self, kernel: Any) -> None:
        if not kernel.core.hivm_target:
            return
        program = kernel.core.text("npu")
        if program in self.programs:
            return
        name = f"{kernel.name} in {self.test}"
        number = len(self.programs)
        self.programs[program] = name
        for form in self.forms:
            try:
                texts = launches(kernel.core, form)
            except CompileError as error:
                self.refused.append((form, name, str(error).splitlines()[0]))
                continue
            files = []
            for text in texts:
                files.append(self.folder / f"{number}-{text['name']}.{form}.mlir")
                files[-1].write_text(text["text"])
            self.texts.append((form, name, files, kernel.core.hivm_target))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", default=",".join(FORMS.values()))
    parser.add_argument("-k", default="", help="as for pytest: which tests")
    parser.add_argument("--every", type=int, default=1, help="every so many tests only")
    parser.add_argument("--quick", action="store_true", help="the first program of each test")
    parser.add_argument("--keep", type=Path, help="folder for the texts")
    options = parser.parse_args()
    os.environ |= {"TILEWRIGHT_TEST_SEEDS": "1", "TILEWRIGHT_CACHE": "0"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        collector = Collector(options.forms.split(","), folder, options.every, options.quick)
        return table(collector, options.k)


def table(collector: Collector, expression: str) -> int:
    """Prints the table and the causes; 1 when no kernel was found."""
    session.compiled.append(collector)
    words = ["-q", "-q", "-n", "0", "-p", "no:cacheprovider", str(ROOT / "test" / "e2e")]
    pytest.main([*words, *(["-k", expression] if expression else [])], plugins=[collector])
    package = bisheng.find()
    passed: Counter[str] = Counter()
    causes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for form, name, reason in collector.refused:
        causes[form, "export: " + reason].append(name)

    def lower(entry: tuple[str, str, list[Path], str]) -> str:
        form, _, files, target = entry
        for file in files if package else []:
            lowered = bisheng.lower(package, file, form, target)
            if not lowered.ok:
                return f"{lowered.stage}: {lowered.problem}"
        return ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, problem in zip(collector.texts, pool.map(lower, collector.texts), strict=True):
            form, name = entry[:2]
            if problem:
                causes[form, re.sub(r"\d+ bits", "N bits", problem)[:120]].append(name)
            else:
                passed[form] += 1
    total = len(collector.programs)
    print(f"{total} programs, ascendnpu-ir {package.version if package else 'not installed'}")
    for form in collector.forms:
        print(f"  {form:8} {passed[form]:5} pass  {100 * passed[form] / max(total, 1):5.1f} %")
    for (form, cause), names in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{form}: {len(names)} x {cause}\n    {', '.join(names[:3])}")
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main())
