# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the skeleton of a pass: its .td entry, .cpp, lit test and error test.

    python utils/new_pass.py tile-fold-clears "fold a clear into the gemm that follows"

It lists the .cpp in tilewright/passes/CMakeLists.txt if that has one file a line. What remains:
describe the contract in the .td entry, and add the pass to Pipelines.cpp where it belongs.
"""

import argparse
import re
import sys
from pathlib import Path

from sources import ROOT, relative

PASSES = ROOT / "tilewright" / "passes"
TESTS = ROOT / "test" / "passes"

TD = """
def {stem} : Pass<"{flag}", "{anchor}"> {{
  let summary = "{summary}";
  let description = [{{
    Needs: what the pass expects to hold before it.
    Guarantees: what holds after it.
    Leaves alone: what it never touches.

    Example: test/passes/{flag}.mlir.
  }}];
}}
"""

CPP = """\
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {flag}: {summary}.

#include "tilewright/passes/PassDetails.h"

#define DEBUG_TYPE "{flag}"

namespace tilewright::passes {{
#define GEN_PASS_DEF_{upper}
#include "tilewright/passes/Passes.h.inc"

namespace {{

struct {stem}Pass : impl::{stem}Base<{stem}Pass> {{
  void runOnOperation() override {{ getOperation(); }}
}};

}} // namespace
}} // namespace tilewright::passes
"""

TEST = """\
// RUN: tilewright-opt %s --{flag} | FileCheck %s

// CHECK-LABEL: module @leaves_an_empty_module_alone
module @leaves_an_empty_module_alone {{
}}
"""

ERRORS = """\
// RUN: tilewright-opt %s --{flag} --split-input-file --verify-diagnostics

// One case per message of {stem}.cpp, split from the next.
module @accepts_an_empty_module {{
}}
"""


def write_new(path: Path, text: str) -> None:
    if path.exists():
        raise SystemExit(f"{relative(path)} exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"wrote {relative(path)}")


def list_source(stem: str) -> None:
    """Adds the .cpp to the sorted list in the folder's CMakeLists.txt, if there is such a list."""
    cmake = PASSES / "CMakeLists.txt"
    lines = cmake.read_text().splitlines()
    if any("GLOB" in line for line in lines):
        return
    entry = re.compile(r"^(\s+)(\w+\.cpp)$")
    found = [(i, m) for i, line in enumerate(lines) if (m := entry.match(line))]
    if not found:
        print(f"add {stem}.cpp to {relative(cmake)}")
        return
    later = [i for i, m in found if m.group(2) > f"{stem}.cpp"]
    at = later[0] if later else found[-1][0] + 1
    lines.insert(at, f"{found[0][1].group(1)}{stem}.cpp")
    cmake.write_text("\n".join(lines) + "\n")
    print(f"listed in {relative(cmake)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("flag", help="dialect, verb, object: tile-plan-layout")
    parser.add_argument("summary", help="one line, no full stop")
    parser.add_argument("--anchor", default="::mlir::func::FuncOp", help="the op the pass runs on")
    options = parser.parse_args()
    if not re.fullmatch(r"(tile|npu|convert)(-[a-z0-9]+)+", options.flag):
        parser.error(f"{options.flag}: begin with tile-, npu- or convert-, small letters, hyphens")

    stem = "".join(word.capitalize() for word in options.flag.split("-"))
    fields = {
        "stem": stem,
        "flag": options.flag,
        "upper": stem.upper(),
        "summary": options.summary,
        "anchor": options.anchor,
    }
    td = PASSES / "Passes.td"
    text = td.read_text()
    if re.search(rf"\bdef {stem}\b", text):
        parser.error(f"{relative(td)} has {stem} already")

    write_new(PASSES / f"{stem}.cpp", CPP.format(**fields))
    write_new(TESTS / f"{options.flag}.mlir", TEST.format(**fields))
    write_new(TESTS / f"{options.flag}-errors.mlir", ERRORS.format(**fields))
    head, guard, tail = text.rpartition("\n#endif")
    td.write_text(
        (head + TD.format(**fields) + guard + tail) if guard else text + TD.format(**fields)
    )
    print(f"added to {relative(td)}")
    list_source(stem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
