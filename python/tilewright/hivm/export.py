# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright export`: the kernels of a script as HIVM text, each with a plan of its launches."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core, env
from ..errors import CompileError, Location, compile_error
from . import bisheng

SCHEMA = "tilewright.hivm"
#: Version of the plan. It grows when a key goes away or changes its meaning.
VERSION = 1
#: How much of the schedule the text holds (docs/hivm.md), with the letters of the command line.
FORMS = {"a": "flags", "b": "planned", "c": "plain"}
CAUTION = "untested on hardware"
#: Parameters of every device function in front of the kernel's own, and behind them.
FIRST = ("ffts_base_address", "sync_block_lock", "workspace")
LAST = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def launches(core: Any, form: str) -> list[dict[str, Any]]:
    """The launches of a compiled kernel as HIVM text.

    Raises CompileError where HIVM has nothing that could stand for a statement, with its place.
    """
    texts, diagnostics = core.hivm(FORMS.get(form, form))
    for found in diagnostics:
        if found["severity"] == "error":
            raise compile_error(f"error[E0909]: {found['message']}", Location(*found["location"]))
    return texts


def launch_plan(kernel: Any, form: str, chip: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What a host program must do for a kernel, and the text of each launch by file name.

    Sizes are bytes; `grid` counts cores: AICs with their two AIVs each, or AIVs in a kernel
    without cube work.
    """
    texts = launches(kernel.core, form)
    info = _core.chip_info(chip)
    files: dict[str, str] = {}
    entries = []
    for text in texts:
        cores = int(info["aiv_count" if text["core"] == "aiv" else "aic_count"])
        name = text["name"] + ".mlir"
        files[name] = text["text"]
        functions = [text["name"]]
        if text["core"] == "mix":
            functions = [f"{text['name']}_mix_{kind}" for kind in ("aic", "aiv")]
        entries.append(
            {
                "name": text["name"],
                "file": name,
                "core": text["core"],
                "functions": functions,
                "grid": [cores, 1, 1],
                "workspace_bytes": cores * text["workspace_bytes"],
                "arguments": [
                    *({"kind": kind} for kind in FIRST),
                    *(_argument(kernel, parameter) for parameter in text["parameters"]),
                    *({"kind": kind} for kind in LAST),
                ],
            }
        )
    own = FORMS.get(form, form) != "plain"
    plan = {
        "schema": SCHEMA,
        "version": VERSION,
        "kernel": kernel.name,
        "chip": chip,
        "target": kernel.core.hivm_target,
        "form": FORMS.get(form, form),
        "caution": CAUTION,
        "flags_within_core": "in the text" if own else "made by the compiler",
        "flags_between_cores": "in the text",
        "parameters": [
            {key: p[key] for key in ("name", "kind", "dtype", "output")}
            | {"shape": list(p["shape_text"])}
            for p in kernel.parameters
        ],
        "launches": entries,
    }
    return plan, files


def _argument(kernel: Any, parameter: dict[str, Any]) -> dict[str, Any]:
    """Where a parameter of a device function comes from."""
    entry: dict[str, Any] = {"kind": parameter["kind"], "type": parameter["type"]}
    if parameter["parameter"] < 0:
        return entry | {"kind": "size", "symbol": parameter["symbol"]}
    entry["of"] = kernel.parameters[parameter["parameter"]]["name"]
    if parameter["dim"] >= 0:
        entry["dim"] = parameter["dim"]
    return entry


def write_file(path: Path, text: str) -> None:
    """Writes a whole file or, when that fails, none."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="." + path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@dataclass
class Exporter:
    """Writes every kernel that is compiled, once; called with each new kernel of the process.

    `use_bisheng`: also run the published compiler on each text and keep what it would hand on.
    """

    folder: Path
    form: str = "flags"
    use_bisheng: bool = False
    lines: list[str] = field(default_factory=list)
    failed: bool = False
    _names: dict[str, int] = field(default_factory=dict)
    _texts: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.bisheng = bisheng.find() if self.use_bisheng else None

    def __call__(self, kernel: Any) -> None:
        try:
            chip = env.compile_settings().chip
            plan, files = launch_plan(kernel, self.form, chip)
        except CompileError as error:
            self.failed = True
            self.lines.append(f"{kernel.name}: not exported: {error}")
            return
        if tuple(files.values()) in self._texts:
            return
        self._texts.add(tuple(files.values()))
        stem = self._unused(kernel.name)
        for entry in plan["launches"]:
            text = files[entry["file"]]
            if stem != kernel.name:
                entry["file"] = entry["file"].replace(kernel.name, stem, 1)
            path = self.folder / entry["file"]
            write_file(path, text)
            line = f"{path.name}: {entry['core']}, grid {entry['grid'][0]}"
            if self.use_bisheng:
                line += ", " + self._lower(entry, path, plan["target"])
            self.lines.append(line)
        # The plan comes last: where it is, its texts are whole.
        write_file(self.folder / f"{stem}.json", json.dumps(plan, indent=2) + "\n")

    def _unused(self, name: str) -> str:
        """A kernel compiled again for other shapes gets a number."""
        count = self._names[name] = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"

    def _lower(self, entry: dict[str, Any], path: Path, target: str) -> str:
        """Runs the published compiler on a text; what came of it, for the plan and as words."""
        if self.bisheng is None:
            return f"not compiled: the package {bisheng.PACKAGE} is not installed"
        lowered = bisheng.lower(self.bisheng, path, FORMS.get(self.form, self.form), target)
        result = {
            "version": self.bisheng.version,
            "command": list(lowered.command),
            "ok": lowered.ok,
            "problem": lowered.problem,
        }
        entry["compiled"] = result
        if not lowered.ok:
            self.failed = True
            return f"refused by {bisheng.PACKAGE} {self.bisheng.version}: {lowered.problem}"
        out = path.with_suffix(".hivmc.mlir")
        write_file(out, lowered.text)
        result["file"] = out.name
        return f"lowered to {out.name}; hivmc and the linker are left, on a machine with CANN"

    def text(self) -> str:
        """One line for each launch, or that there was none."""
        if not self.lines:
            return "no kernel was compiled"
        return "\n".join([*self.lines, f"{CAUTION}; see docs/hivm.md"])
