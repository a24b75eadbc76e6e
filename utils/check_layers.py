# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that `#include` arrows between the folders of tilewright/ go downward only.

Also: the plain folders include no MLIR or LLVM header, binding and tools stay above driver and
builder, and a project header is always named by its path from the root of the repository.
"""

import re
import sys
from pathlib import Path

from sources import ROOT, project_files, relative, report

# Layer -> layers whose headers it may include, itself apart. A layer is a folder, but for the files
# of support/ that both dialects share and that speak MLIR: they are the layer support_ir. The same
# arrows are the DEPENDS of the CMakeLists.txt files; this table is the one to edit when the design
# changes. tile and npu do not know each other; tools register everything and may include all.
COMMON = {"support", "machine"}
ALLOWED: dict[str, set[str]] = {
    "support": set(),
    "support_ir": {"support"},
    "machine": {"support"},
    "sim": COMMON,
    "tile": COMMON | {"support_ir"},
    "npu": COMMON | {"support_ir"},
    "interp": COMMON | {"support_ir", "tile"},
    "builder": COMMON | {"support_ir", "tile"},
    "passes": COMMON | {"support_ir", "tile", "npu"},
    "to_sim": COMMON | {"support_ir", "npu", "sim"},
    "hivm": COMMON,
    "to_hivm": COMMON | {"support_ir", "npu", "hivm"},
    "to_expert": COMMON | {"support_ir", "npu"},
    "from_hivm": COMMON | {"support_ir", "npu", "hivm"},
    "driver": COMMON
    | {"support_ir", "tile", "npu", "interp", "builder", "passes", "sim"}
    | {"to_sim", "to_hivm", "from_hivm", "to_expert"},
    "binding": COMMON | {"sim", "builder", "driver"},
}
PLAIN = {"support", "machine", "sim", "binding"}
SUPPORT_IR = re.compile(r"^tilewright/support/(Access\w*|BoundedText|Boxes|Enums|TypeNames)\.")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FOREIGN = re.compile(r"^(mlir|llvm)(-c)?/")


def layer_of(name: str) -> str | None:
    """The layer of a file or an included header, named from the root; None: not ours to judge."""
    parts = name.split("/")
    if name.startswith("python/binding/"):
        return "binding"
    if parts[0] != "tilewright" or len(parts) < 3:
        return None
    return "support_ir" if SUPPORT_IR.match(name) else parts[1]


def check(path: Path) -> list[str]:
    name = relative(path)
    layer = layer_of(name)
    if layer is None or layer not in ALLOWED:
        return []
    allowed = ALLOWED[layer] | {layer}

    problems = []
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        where = f"{name}:{line}"
        target = layer_of(header)
        if FOREIGN.match(header) and layer in PLAIN:
            problems.append(f"{where}: {layer} includes no MLIR or LLVM header ({header})")
        if target and target not in allowed:
            problems.append(
                f"{where}: {layer} may not include {header} of {target} "
                f"(allowed: {', '.join(sorted(allowed))})"
            )
        if quote == '"' and not target and (path.parent / header).is_file():
            problems.append(f"{where}: name {header} by its path from the root")
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
