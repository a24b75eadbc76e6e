# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each pass has its four spellings, so that one search finds all of it.

`def TilePlanLayout : Pass<"tile-plan-layout">` in tilewright/passes/*.td asks for
tilewright/passes/TilePlanLayout.cpp, which says GEN_PASS_DEF_TILEPLANLAYOUT and whose DEBUG_TYPE,
if any, is the flag; for test/passes/tile-plan-layout.mlir, whose RUN line calls the flag; and, if
the pass emits errors, for test/passes/tile-plan-layout-errors.mlir.
"""

import re
import sys
from pathlib import Path

from sources import ROOT, relative, report

PASSES = ROOT / "tilewright" / "passes"
TESTS = ROOT / "test" / "passes"
DEFINITION = re.compile(r'^def\s+(\w+)\s*:\s*(?:Interface)?Pass<\s*"([^"]+)"', re.MULTILINE)
ERROR = re.compile(r"\bemit(?:OpError|Error)\(")


def flag_of(stem: str) -> str:
    """TilePlanLayout -> tile-plan-layout; a run of capitals or digits stays with its word."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", stem).lower()


def check_pass(td: Path, stem: str, flag: str) -> list[str]:
    problems = []
    where = f"{relative(td)}: {stem}"
    if flag != flag_of(stem):
        problems.append(f"{where}: the flag is {flag_of(stem)}, not {flag}")

    source = PASSES / f"{stem}.cpp"
    if not source.is_file():
        return [*problems, f"{where}: {relative(source)} is missing"]
    text = source.read_text()
    if f"GEN_PASS_DEF_{stem.upper()}" not in text:
        problems.append(f"{relative(source)}: does not define GEN_PASS_DEF_{stem.upper()}")
    debug_type = re.search(r'#define DEBUG_TYPE "([^"]+)"', text)
    if debug_type and debug_type.group(1) != flag:
        problems.append(f"{relative(source)}: DEBUG_TYPE is {debug_type.group(1)}, not {flag}")

    test = TESTS / f"{flag}.mlir"
    if not test.is_file():
        problems.append(f"{where}: {relative(test)} is missing")
    elif flag not in "".join(re.findall(r"// RUN:.*", test.read_text())):
        problems.append(f"{relative(test)}: no RUN line calls {flag}")

    if ERROR.search(text):
        errors = TESTS / f"{flag}-errors.mlir"
        if not errors.is_file():
            problems.append(f"{where}: emits errors, and {relative(errors)} is missing")
        elif not re.search(r"expected-error|CHECK", errors.read_text()):
            problems.append(f"{relative(errors)}: expects no error")
    return problems


def check_dialect(folder: str) -> list[str]:
    """Each dialect has its three test files, if it has ops at all."""
    if not (ROOT / "tilewright" / folder / "CMakeLists.txt").is_file():
        return []
    names = ("ops.mlir", "invalid.mlir", "canonicalize.mlir")
    tests = ROOT / "test" / folder
    return [f"test/{folder}/{name} is missing" for name in names if not (tests / name).is_file()]


def main() -> int:
    problems: list[str] = []
    count = 0
    for td in sorted(PASSES.glob("*.td")):
        for stem, flag in DEFINITION.findall(td.read_text()):
            count += 1
            problems += check_pass(td, stem, flag)
    for folder in ("tile", "npu"):
        count += 1
        problems += check_dialect(folder)
    return report("names", count, problems)


if __name__ == "__main__":
    sys.exit(main())
