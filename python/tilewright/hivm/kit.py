# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright export --kit` and `tilewright import-result`: kernels for an NPU, and times from it.

A kit holds, for each kernel that the script calls, its HIVM text, the plan of its launches, the
tensors of the first call before and after it, and what the simulator predicts; and the programs
that compile, run, compare and profile there (`device/`). Untested on hardware.
"""

from __future__ import annotations

import ctypes
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import make_output
from ..errors import TilewrightError
from . import bisheng
from .export import CAUTION, Exporter, write_file

SCHEMA = "tilewright.kit"
#: Version of the manifest and of the plans of a kit.
VERSION = 1
RESULT = ("tilewright.result", 1)
DEVICE = Path(__file__).resolve().parent / "device"
#: What a plan keeps of the report of each launch.
PREDICTED = ("name", "microseconds", "cycles", "aic_busy", "aiv_busy")
#: Versions that the open part of the way was tried with; CANN: none was.
KNOWN: dict[str, list[str]] = {"bishengir": ["1.2.0"], "hivmc": ["1.2.0"], "cann": []}


def tensor(argument: tuple[int, tuple[int, ...], str]) -> np.ndarray:
    """A copy of a tensor argument, `(address, shape, dtype)`."""
    address, shape, name = argument
    dtype = make_output([0], name, like_torch=False, device=None).dtype
    count = int(np.prod(shape)) * dtype.itemsize
    memory = (ctypes.c_uint8 * count).from_address(address) if count else b""
    return np.frombuffer(bytes(memory), dtype).reshape(shape)


@dataclass
class Kit:
    """Watches the kernels of a process (see `session.observers`): the first call of each one with
    each set of shapes goes into a folder of its own."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    failed: bool = False
    wants_limits = False
    _names: list[str] = field(default_factory=list)
    _seen: set[Any] = field(default_factory=set)
    _before: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in DEVICE.iterdir():
            if path.is_file():
                shutil.copy(path, self.folder / path.name)
        (self.folder / "run_on_npu.sh").chmod(0o755)

    def _tensors(self, kernel: Any, arguments: list[Any]) -> dict[str, np.ndarray]:
        pairs = zip(kernel.parameters, arguments, strict=True)
        return {p["name"]: tensor(a) for p, a in pairs if p["kind"] == "tensor"}

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        self._before = self._tensors(kernel, arguments)

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        """Writes the folder of a call that was not seen before."""
        shapes = tuple(a[1:] if isinstance(a, tuple) else a for a in arguments)
        if (kernel.core, shapes) in self._seen:
            return
        self._seen.add((kernel.core, shapes))
        name = kernel.name + (f"-{len(self._names) + 1}" if kernel.name in self._names else "")
        folder = self.folder / name
        # Text with addresses where the package takes it on from there; else that of which its
        # whole pipeline gives the addresses.
        form = "b" if bisheng.find() else "a"
        exporter = Exporter(folder, form, use_bisheng=form == "b")
        exporter(kernel)
        self.lines += [f"{name}: {line}" for line in exporter.lines]
        self.failed |= exporter.failed
        if exporter.failed:
            return
        plan = json.loads((folder / f"{kernel.name}.json").read_text(encoding="utf-8"))
        timed = kernel.core.run(
            [self._again(a) for a in zip(kernel.parameters, arguments, strict=True)], time=True
        )
        plan["scalars"] = self._scalars(kernel, arguments)
        plan["predicted"] = [
            {key: launch[key] for key in PREDICTED} for launch in timed["launches"]
        ]
        np.savez(folder / "inputs.npz", **self._before)
        np.savez(folder / "expected.npz", **self._tensors(kernel, arguments))
        write_file(folder / "plan.json", json.dumps(plan, indent=2) + "\n")
        (folder / f"{kernel.name}.json").unlink()
        self._names.append(name)
        manifest = {"schema": SCHEMA, "version": VERSION, "known": KNOWN, "kernels": self._names}
        write_file(self.folder / "kit.json", json.dumps(manifest, indent=2) + "\n")

    def _again(self, pair: tuple[dict[str, Any], Any]) -> Any:
        """An argument of the call as it was before it, for the run that is timed."""
        parameter, argument = pair
        if parameter["kind"] != "tensor":
            return argument
        array = self._before[parameter["name"]].copy()
        self._before["." + parameter["name"]] = array  # its memory
        return (array.ctypes.data, argument[1], argument[2])

    def _scalars(self, kernel: Any, arguments: list[Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for parameter, argument in zip(kernel.parameters, arguments, strict=True):
            if parameter["kind"] == "tensor":
                result |= dict(zip(parameter["shape_text"], argument[1], strict=True))
                self._before.pop("." + parameter["name"], None)
            else:
                result[parameter["name"]] = argument
        return {name: value for name, value in result.items() if not name.lstrip("-").isdigit()}

    def text(self) -> str:
        """One line for each launch, or that there was none."""
        if not self.lines:
            return "no kernel was called"
        return "\n".join([*self.lines, f"{CAUTION}; see docs/hivm.md"])


def import_result(path: Path) -> str:
    """Predicted and measured times of a kit that has run, as a table.

    `path` is the kit's folder, or its result.json. TilewrightError for what is not one.
    """
    file = path / "result.json" if path.is_dir() else path
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TilewrightError(
            f"error[E0909]: {file}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not isinstance(result, dict) or (result.get("schema"), result.get("version")) != RESULT:
        raise TilewrightError(
            f"error[E0909]: {file}: expected schema {RESULT[0]} of version {RESULT[1]}, as "
            "run_on_npu.sh writes it"
        )
    lines = []
    for name, version in result["versions"].items():
        known = version in KNOWN.get(name, [])
        lines.append(
            f"{name} {version or 'not found'}{'' if known or not version else ', not known'}"
        )
    for kernel in result["kernels"]:
        plan = json.loads((file.parent / kernel["folder"] / "plan.json").read_text("utf-8"))
        lines += ["", *_kernel_lines(kernel, plan)]
    return "\n".join(lines)


def _kernel_lines(kernel: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    predicted = sum(launch["microseconds"] for launch in plan["predicted"])
    worst = max(kernel["differences"].values(), default=0.0)
    lines = [f"{kernel['kernel']}: largest difference {worst:g}"]
    if "microseconds" not in kernel:
        return [*lines, f"  core time     predicted {predicted:.2f} us, not measured"]
    measured = kernel["microseconds"]
    ratio = f"{measured / predicted:.2f}" if predicted else "-"
    lines.append(
        f"  core time     predicted {predicted:.2f} us, measured {measured:.2f} us ({ratio})"
    )
    shares: dict[str, float] = {}
    for launch in plan["predicted"]:
        weight = launch["microseconds"] / predicted if predicted else 0
        for core in ("aic", "aiv"):
            for pipe, share in launch[f"{core}_busy"].items():
                key = f"{core} {pipe}".upper()
                shares[key] = shares.get(key, 0.0) + weight * share
    names = {"vec": "V", "mac": "M", "cube": "M", "fixpipe": "FIX", "scalar": "S"}
    for name, share in kernel["pipes"].items():
        core, _, pipe = name.rpartition(" ")
        own = f"{core} {names.get(pipe, pipe.upper())}".strip()
        known = f"{shares[own.upper()]:.0%}" if own.upper() in shares else "-"
        lines.append(f"  {own.upper():13} predicted {known}, measured {share:.0%}")
    return lines
