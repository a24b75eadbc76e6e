# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test of a built tree and ends with one line that counts them all.

The steps: the check scripts, ruff, clang-format, lit, the gtest binaries, pytest. Each runs even if
an earlier one failed. `--only lit,pytest` picks steps; `--list` names them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sources import ROOT, project_files, relative


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Count") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return f"{text}, {self.skipped} skipped" if self.skipped else text


class Runner:
    def __init__(self, build: Path) -> None:
        self.build = build
        self.scratch = Path(tempfile.mkdtemp(prefix="tilewright-tests-"))
        self.environment = dict(os.environ)
        path = [str(build / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment["PYTHONPATH"] = os.pathsep.join(path)

    def call(self, *command: str | Path) -> int:
        words = [str(word) for word in command]
        return subprocess.run(words, cwd=ROOT, env=self.environment, check=False).returncode

    def one(self, *command: str | Path) -> Count:
        """A command that is one test by itself."""
        return Count(failed=1) if self.call(*command) else Count(passed=1)

    def junit(self, xml: Path, status: int) -> Count:
        """Counts from a JUnit file; a run that left none, or failed without a culprit, counts as
        one failure."""
        count = Count()
        status = status or not xml.is_file()
        if xml.is_file():
            for case in ElementTree.parse(xml).iter("testcase"):
                if case.find("failure") is not None or case.find("error") is not None:
                    count.failed += 1
                elif case.find("skipped") is not None or case.get("status") == "notrun":
                    count.skipped += 1
                else:
                    count.passed += 1
        if status and not count.failed:
            count.failed = 1
        return count

    def checks(self) -> Count:
        count = Count()
        for script in sorted((ROOT / "utils").glob("check_*.py")):
            count.add(self.one(sys.executable, script))
        return count

    def ruff(self) -> Count:
        folders = [
            f for f in ("python", "utils", "test", "examples", "bench") if (ROOT / f).is_dir()
        ]
        return self.one(sys.executable, "-m", "ruff", "check", "--quiet", *folders)

    def clang_format(self) -> Count:
        tool = shutil.which("clang-format-19")
        files = [relative(f) for f in project_files(".cpp", ".h")]
        if not tool or not files:
            return Count(skipped=1)
        return self.one(tool, "--dry-run", "-Werror", *files)

    def lit(self) -> Count:
        if not any((ROOT / "test").glob("*/*.mlir")):
            return Count()
        xml = self.scratch / "lit.xml"
        lit = (sys.executable, "-c", "from lit.main import main; main()")  # no `-m lit` there
        status = self.call(*lit, "-sv", "--xunit-xml-output", xml, self.build / "test")
        return self.junit(xml, status)

    def gtest(self) -> Count:
        count = Count()
        for binary in sorted((self.build / "bin").glob("test_*")):
            xml = self.scratch / f"{binary.name}.xml"
            status = self.call(binary, "--gtest_brief=1", f"--gtest_output=xml:{xml}")
            count.add(self.junit(xml, status))
        return count

    def pytest(self) -> Count:
        folders = [f for f in ("test/python", "test/e2e") if any((ROOT / f).glob("**/test_*.py"))]
        if not folders:
            return Count()
        xml = self.scratch / "pytest.xml"
        # Workers of pytest-xdist: a test that takes its process down is one failure, not the end.
        parallel = ["-n", "auto"] if find_spec("xdist") else []
        options = ["-q", *parallel, f"--junitxml={xml}"]
        status = self.call(sys.executable, "-m", "pytest", *options, *folders)
        return self.junit(xml, status)


STEPS: dict[str, Callable[[Runner], Count]] = {
    "checks": Runner.checks,
    "ruff": Runner.ruff,
    "clang-format": Runner.clang_format,
    "lit": Runner.lit,
    "gtest": Runner.gtest,
    "pytest": Runner.pytest,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--only", metavar="STEP,...", help="run these steps alone")
    parser.add_argument("--list", action="store_true", help="name the steps")
    options = parser.parse_args()
    if options.list:
        print("\n".join(STEPS))
        return 0
    steps = options.only.split(",") if options.only else list(STEPS)
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        parser.error(f"no step {', '.join(unknown)}; there are {', '.join(STEPS)}")
    if not options.build.is_dir():
        parser.error(f"{options.build} is not a build tree; `make build` makes one")

    runner = Runner(options.build.resolve())
    total = Count()
    lines = []
    for step in steps:
        print(f"== {step}", flush=True)
        start = time.monotonic()
        count = STEPS[step](runner)
        total.add(count)
        lines.append(f"  {step:<13} {count}  ({time.monotonic() - start:.1f} s)")
        print(lines[-1], flush=True)
    shutil.rmtree(runner.scratch, ignore_errors=True)

    # The summary keeps to a form of its own, so that the closing line is the only one of its kind.
    print("== summary", *lines, sep="\n")
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
