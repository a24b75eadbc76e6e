# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of HIVM as a program that the simulator runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import CompileError, Location, compile_error
from . import bisheng

_PRETTY = re.compile(r"(?<![\"@\w])hivm\.hir\.\w+")


def read(text: str, file_name: str, chip: str) -> Any:
    """The program of planned text, npu or HIVM in the generic form, as the core has kernels.

    `file_name` is for messages. Raises CompileError at the place of what cannot be read.
    """
    core, diagnostics = _core.load_text(text, file_name, chip)
    for found in diagnostics:
        if found["severity"] == "error":
            location = Location(*found["location"]) if found["location"] else None
            if location is None:
                raise CompileError(f"error[E0909]: {file_name}: {found['message']}")
            raise compile_error(f"error[E0909]: {found['message']}", location)
    return core


def is_planned(text: str) -> bool:
    """Buffers have addresses. Text of npu and text without buffers on the chip counts too."""
    return "hivm." not in text or "memref.alloc" not in text


def is_generic(text: str) -> bool:
    return not _PRETTY.search(text)


def generic(package: bisheng.Bisheng, path: Path, text: str | None = None) -> str:
    """The text at `path`, or `text`, in the generic form. CompileError with what is wrong."""
    command = [package.program("bishengir-opt"), "--mlir-print-op-generic"]
    done = bisheng.run([*command, "-" if text is not None else str(path)], text)
    if done.returncode:
        raise CompileError(f"error[E0909]: {path}: {bisheng.reason(done)}")
    return done.stdout


def launch_arguments(
    text: dict[str, Any], core: Any, parameters: Sequence[dict[str, Any]], arguments: Sequence[Any]
) -> list[Any]:
    """What a launch's text takes, from a call of its kernel.

    `text` describes the launch (`launches` in export.py), `core` is the program that was read from
    it, `parameters` and `arguments` are the kernel's: tensors as (address, shape, dtype).
    """
    symbols: dict[str, int] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter["kind"] == "tensor":
            symbols |= dict(zip(parameter["shape_text"], argument[1], strict=True))
        else:
            symbols[parameter["name"]] = argument
    result: list[Any] = []
    for entry, wanted in zip(text["parameters"], core.parameters, strict=True):
        if entry["parameter"] < 0:
            result.append(symbols[entry["symbol"]])
        elif entry["kind"] == "tensor":
            address, shape, _ = arguments[entry["parameter"]]
            result.append((address, (math.prod(shape),), wanted["dtype"]))
        elif entry["dim"] >= 0:
            result.append(arguments[entry["parameter"]][1][entry["dim"]])
        else:
            result.append(arguments[entry["parameter"]])
    return result
