# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that `#include` arrows between the folders of tilewright/ go downward only.

Also: the plain folders include no MLIR or LLVM header, binding and tools stay above driver and
builder, and a project header is always named by its path from the root of the repository.
"""

import re
import sys
from pathlib import Path

from sources import ROOT, project_files, relative, report

# Folder -> folders whose headers it may include, itself apart. The same arrows are the DEPENDS of
# the CMakeLists.txt files; this table is the one to edit when the design changes.
ALLOWED: dict[str, set[str]] = {
    "support": set(),
    "machine": {"support"},
    "tile": {"support", "machine"},
    "npu": {"support", "machine"},
    "sim": {"support", "machine"},
    "interp": {"support", "machine", "tile"},
    "builder": {"support", "machine", "tile"},
    "passes": {"support", "machine", "tile", "npu"},
    "to_sim": {"support", "machine", "npu", "sim"},
    "to_hivm": {"support", "machine", "npu"},
    "from_hivm": {"support", "machine", "npu"},
    "driver": {
        "support",
        "machine",
        "tile",
        "npu",
        "interp",
        "builder",
        "passes",
        "sim",
        "to_sim",
        "to_hivm",
        "from_hivm",
    },
}
# The binding sees no dialect; tools register dialects and passes and may include all.
BINDING = {"support", "machine", "sim", "builder", "driver"}

# Only passes/ConvertTileToNpu*.cpp knows both dialects, beside the files that name pipelines.
PLAIN = {"support", "machine", "sim"}
# The one file of support/ that may name MLIR: the access interface of both dialects.
PLAIN_EXCEPTIONS = re.compile(r"^tilewright/support/\w*Access\w*\.(h|cpp)$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
OURS = re.compile(r"^tilewright/(\w+)/")
FOREIGN = re.compile(r"^(mlir|llvm)(-c)?/")


def check(path: Path) -> list[str]:
    name = relative(path)
    parts = name.split("/")
    if parts[0] == "tilewright" and len(parts) > 2:
        folder = parts[1]
        if folder not in ALLOWED:
            return [f"{name}: folder tilewright/{folder} is not in check_layers.py"]
        allowed = ALLOWED[folder] | {folder}
    elif name.startswith("python/binding/"):
        folder, allowed = "binding", BINDING
    else:
        return []

    problems = []
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        where = f"{name}:{line}"
        if FOREIGN.match(header):
            plain = folder in PLAIN or folder == "binding"
            if plain and not PLAIN_EXCEPTIONS.match(name):
                problems.append(f"{where}: {folder}/ includes no MLIR or LLVM header ({header})")
            continue
        ours = OURS.match(header)
        if ours and ours.group(1) not in allowed:
            problems.append(
                f"{where}: {folder}/ may not include {ours.group(1)}/ "
                f"(allowed: {', '.join(sorted(allowed))})"
            )
        if quote == '"' and not ours and (path.parent / header).is_file():
            problems.append(f'{where}: write "tilewright/{folder}/{header}" for "{header}"')
        if header.startswith("../"):
            problems.append(f"{where}: no relative include ({header})")
    return problems


def main() -> int:
    files = project_files(".cpp", ".h")
    folders = {p.name for p in (ROOT / "tilewright").iterdir() if p.is_dir()}
    problems = [f"tilewright/{f}: not in check_layers.py" for f in sorted(folders - set(ALLOWED))]
    for path in files:
        problems += check(path)
    return report("layers", len(files), problems)


if __name__ == "__main__":
    sys.exit(main())
