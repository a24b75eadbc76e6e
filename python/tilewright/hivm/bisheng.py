# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The published compiler (package `ascendnpu-ir`) on exported text, down to its last open stage.

What follows that stage, `hivmc` and the linker, is part of CANN and needs a machine that has it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from .order import difference, foreign_address

PACKAGE = "ascendnpu-ir"
MODULE = "ascendnpuir"
#: Seconds after which a run of the compiler counts as hanging.
TIMEOUT = 120
#: Operations that the last open stage must have turned into calls.
STRUCTURED = re.compile(r"hivm\.hir\.(v[a-z]\w*|load|store|copy|nd2nz|nz2nd|mmadL1|fixpipe)\b")
_OPERATION = re.compile(r'"(hivm\.hir\.\w+)"\([^)]*\)(?: <\{(.*)\}>)?')


@dataclass(frozen=True)
class Bisheng:
    """An installed package: its programs and its version."""

    folder: Path
    version: str

    def program(self, name: str) -> str:
        return str(self.folder / name)


@dataclass(frozen=True)
class Lowered:
    """What became of one text: `text` is what would be handed to hivmc, empty after a problem."""

    command: tuple[str, ...]
    text: str = ""
    #: Where it ended: "verify", "attributes", "pipeline", "leftover" or "order".
    stage: str = ""
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


def find() -> Bisheng | None:
    """The package of this Python, if it is installed."""
    spec = importlib.util.find_spec(MODULE)
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        if (Path(folder) / "bin" / "bishengir-opt").is_file():
            return Bisheng(Path(folder) / "bin", importlib.metadata.version(PACKAGE))
    return None


def pipeline(form: str, target: str, slots: bool = True) -> list[str]:
    """Options of `bishengir-opt` for a form of text (see docs/hivm.md). `slots`: where the compiler
    plans, tiles may get more than one slot."""
    own = form == "flags"
    switches = {
        "enable-triton-kernel-compile": True,
        "disable-hivm-tensor-compile": True,
        "enable-auto-multi-buffer": slots and not own,
        "disable-hivm-auto-inject-sync": own,
    }
    words = " ".join(f"{name}={str(value).lower()}" for name, value in switches.items())
    return [
        f"--hacc-append-device-spec=target={target}",
        "--triton-global-kernel-args-to-hivm-op",
        "--convert-to-hivm-op",
        f"--optimize-hivm-pipeline={words}",
    ]


#: Planned text keeps its addresses, so it goes through single passes: instructions get their hidden
#: temporaries, these get memory behind the plan, and instructions become calls.
BEFORE_PLACES = (
    "builtin.module(func.func(triton-global-kernel-args-to-hivm-op,hivm-init-entry-kernel,"
    "hivm-aggregated-decompose-op,hivm-decompose-op,hivm-flatten-ops,hivm-reduce-rank-subview,"
    "hivm-lift-lowest-stride,hivm-aggregated-decompose-op,hivm-alloc-extra-buffer))"
)
AFTER_PLACES = (
    "builtin.module(hacc-append-device-spec{{target={target}}},func.func(hivm-lower-to-loops,"
    "hivm-decompose-op,hivm-add-ffts-to-syncblocksetop,hivm-lift-lowest-stride),"
    "convert-hivm-to-std)"
)


def _lower_planned(opt: str, path: Path, target: str) -> tuple[list[str], Any]:
    """The last command, and its result or that of the step that failed."""
    command = ["bishengir-opt", "--pass-pipeline=" + BEFORE_PLACES, "--mlir-print-op-generic"]
    done = run([opt, *command[1:], str(path)])
    if done.returncode:
        return command, done
    text, problem = _core.place_temporaries(done.stdout)
    if problem:
        return command, subprocess.CompletedProcess(command, 1, "", "error: " + problem)
    command = ["bishengir-opt", "--pass-pipeline=" + AFTER_PLACES.format(target=target)]
    return command, run([opt, *command[1:], "-"], text)


def _lower_whole(opt: str, path: Path, form: str, target: str) -> tuple[list[str], Any]:
    """Likewise for text that the compiler plans. A tile that does not fit with the slots that the
    compiler gives by itself is tried without them, as `bishengir-compile` does."""
    for slots in (True, False):
        command = ["bishengir-opt", *pipeline(form, target, slots)]
        done = run([opt, *command[1:], str(path)])
        if done.returncode == 0 or "overflow" not in done.stderr:
            break
    return command, done


def lower(bisheng: Bisheng, path: Path, form: str, target: str) -> Lowered:
    """Runs the compiler on the text at `path` and checks what it makes of it."""
    opt = bisheng.program("bishengir-opt")
    generic = run([opt, "--mlir-print-op-generic", str(path)])
    if generic.returncode:
        return Lowered((), stage="verify", problem=reason(generic))
    dropped = dropped_attributes(path.read_text(encoding="utf-8"), generic.stdout)
    if dropped:
        return Lowered((), stage="attributes", problem=dropped)
    if form == "planned":
        command, done = _lower_planned(opt, path, target)
    else:
        command, done = _lower_whole(opt, path, form, target)
    if done.returncode:
        return Lowered(tuple(command), stage="pipeline", problem=reason(done))
    left = sorted(set(STRUCTURED.findall(done.stdout)))
    if left:
        problem = "operations without a library function: " + ", ".join(left)
        return Lowered(tuple(command), stage="leftover", problem=problem)
    if form != "plain":
        ours = path.read_text(encoding="utf-8")
        changed = difference(ours, done.stdout)
        if form == "planned":
            changed = changed or foreign_address(ours, done.stdout)
        if changed:
            return Lowered(tuple(command), stage="order", problem="other program: " + changed)
    return Lowered(tuple(command), done.stdout)


def dropped_attributes(ours: str, theirs: str) -> str:
    """The first attribute of `ours` that `theirs`, the same module printed by the compiler, lacks.

    A name that the compiler does not know vanishes without a word. Empty if there is none.
    """
    first, second = _OPERATION.findall(ours), _OPERATION.findall(theirs)
    if [name for name, _ in first] != [name for name, _ in second]:
        return "the compiler prints other operations than it was given"
    for (name, given), (_, kept) in zip(first, second, strict=True):
        known = set(_attributes(kept))
        for attribute in _attributes(given):
            if attribute not in known:
                return f"{name} loses {attribute}"
    return ""


def _attributes(text: str) -> list[str]:
    """The entries of an attribute dictionary; commas inside brackets or quotes part none."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and char in "<[({":
            depth += 1
        elif not quoted and char in ">])}":
            depth -= 1
        elif char == "," and depth == 0 and not quoted:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def run(command: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        text = f"error: no result after {TIMEOUT} s"
        return subprocess.CompletedProcess(command, 124, "", text)


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """The first error that a run of the compiler prints, or how it died."""
    found = re.search(r"error\s*:\s*(.+)", done.stderr, re.IGNORECASE)
    if found:
        return found.group(1).strip()
    return f"ended with exit code {done.returncode}"
