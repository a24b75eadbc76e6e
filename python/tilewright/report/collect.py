# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script for `tilewright bug-report`, in a process of its own that may die.

    python -m tilewright.report.collect FOLDER DATA [options of run] script.py [arguments]

Notes are appended line by line as things happen, so that they are there after a crash: the source
files that were run, kernels with their arguments and, with DATA = 1, the tensors.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from ..cli import main
from ..fingerprint import is_fixed_file
from . import session


class Sources:
    """Writes down each Python file of the user's that is run, with the folder it was found in."""

    def __init__(self, notes: TextIO) -> None:
        self.notes = notes
        self.seen: set[str] = set()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "exec":
            return
        path = getattr(arguments[0], "co_filename", "")
        if path in self.seen or not path.endswith(".py") or not os.path.isfile(path):
            return
        self.seen.add(path)
        if not is_fixed_file(path):
            path = os.path.abspath(path)
            entries = [os.path.abspath(entry) for entry in sys.path]
            holders = [e for e in entries if path.startswith(e.rstrip(os.sep) + os.sep)]
            _note(self.notes, {"file": path, "root": max(holders, key=len, default="")})


class Calls:
    """Writes down the first call of each kernel with each set of shapes (see session.observers)."""

    wants_limits = False

    def __init__(self, notes: TextIO, data: Path | None) -> None:
        self.notes, self.data = notes, data
        self.seen: set[str] = set()

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        described = []
        for parameter, value in zip(kernel.parameters, arguments, strict=True):
            entry = {"name": parameter["name"], "output": parameter["output"]}
            if parameter["kind"] == "tensor":
                described.append({**entry, "dtype": value[2], "shape": list(value[1])})
            else:
                described.append({**entry, "dtype": parameter["dtype"], "value": value})
        key = f"{id(kernel.core)} {json.dumps(described)}"
        if key in self.seen:
            return
        self.seen.add(key)
        _note(self.notes, {"kernel": kernel.name, "arguments": described})
        if self.data is not None:
            folder = self.data / f"{len(self.seen)}-{kernel.name}"
            for entry, value in zip(described, arguments, strict=True):
                if "shape" in entry and not entry["output"] and value[0]:
                    _save(folder / f"{entry['name']}.npy", *value)

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        pass


def _note(notes: TextIO, entry: dict[str, Any]) -> None:
    notes.write(json.dumps(entry) + "\n")
    notes.flush()


def _save(path: Path, pointer: int, shape: Any, dtype: str) -> None:
    """A tensor as .npy; bfloat16 as the uint16 of its bits."""
    import numpy as np

    kind = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    count = int(np.prod(shape, dtype=np.int64))
    data = ctypes.string_at(pointer, count * kind.itemsize) if count else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.frombuffer(data, kind).reshape(tuple(shape)))


def collect(folder: Path, data: bool, words: list[str]) -> int:
    notes = (folder / "notes.jsonl").open("a", encoding="utf-8")
    sys.addaudithook(Sources(notes))
    session.observers.append(Calls(notes, folder / "data" if data else None))
    os.environ["TILEWRIGHT_DUMP_IR"] = str(folder / "ir")
    return main(["run", *words])


if __name__ == "__main__":
    # So that the session that kernels know is the one above.
    sys.exit(collect(Path(sys.argv[1]), sys.argv[2] == "1", sys.argv[3:]))
