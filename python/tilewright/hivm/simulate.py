# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright simulate`: runs, times and checks the program of a text of npu or HIVM."""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import make_output
from ..errors import ArgumentError, CompileError, with_code
from . import bisheng, readback
from .export import FIRST, LAST, SCHEMA


@dataclass(frozen=True)
class Prepared:
    """Text that the core can read, and how it came about."""

    text: str
    note: str = ""


def prepare(path: Path, target: str) -> Prepared:
    """The text of a file, in the generic form and with addresses.

    Text without addresses goes through the published compiler first: what is simulated is then
    that compiler's plan. CompileError where the package is needed and not installed, and for what
    it refuses.
    """
    text = path.read_text(encoding="utf-8")
    planned, generic = readback.is_planned(text), readback.is_generic(text)
    if planned and generic:
        return Prepared(text)
    package = bisheng.find()
    if package is None:
        what = "is in the pretty form" if planned else "has buffers without addresses"
        raise CompileError(
            f"error[E0909]: {path}: this text {what}; to read it, install the published compiler: "
            'pip install "tilewright[hivm]"'
        )
    if planned:
        return Prepared(readback.generic(package, path))
    form = "flags" if "hivm.hir.set_flag" in text else "plain"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / path.name
        source.write_text(text if generic else readback.generic(package, path), encoding="utf-8")
        lowered = bisheng.lower(package, source, form, target)
    if not lowered.ok:
        raise CompileError(
            f"error[E0909]: {path}: {bisheng.PACKAGE} {package.version}: {lowered.problem}"
        )
    whose = "addresses" if form == "flags" else "addresses, slots and flags"
    note = f"{whose} are those of {bisheng.PACKAGE} {package.version}"
    return Prepared(readback.generic(package, path, lowered.text), note)


@dataclass
class Arguments:
    """Where the arguments of a text come from: a file, a launch plan beside it, or a generator.

    `given` are arrays and numbers by name, `sizes` numbers of elements, or values of scalars.
    """

    given: dict[str, Any]
    sizes: dict[str, int]
    seed: int = 0
    names: list[str] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def make(self, core: Any, plan: list[dict[str, Any]] | None) -> list[Any]:
        """The arguments as the core takes them. ArgumentError for one that is not known, and for a
        size or an array of none of them."""
        self._check_names(core, plan)
        for entry in plan or ():
            self._take_sizes(entry)
        result: list[Any] = []
        for index, parameter in enumerate(core.parameters):
            entry = plan[index] if plan else {}
            name = entry.get("of") or entry.get("symbol") or parameter["name"]
            result.append(self._one(f"arg{index}", name, parameter, entry))
        return result

    def _take_sizes(self, entry: dict[str, Any]) -> None:
        """Symbols in the shape of a tensor that is given are its extents."""
        name = entry.get("of")
        if name not in self.given or not entry.get("shape"):
            return
        shape = np.shape(self.given[name])
        if len(shape) != len(entry["shape"]):
            raise ArgumentError(
                f"error[E0804]: '{name}' has {len(shape)} dimensions; the plan says "
                f"({', '.join(entry['shape'])})"
            )
        for extent, found in zip(entry["shape"], shape, strict=True):
            known = int(extent) if extent.isdigit() else self.sizes.setdefault(extent, found)
            if known != found:
                raise ArgumentError(
                    f"error[E0804]: '{name}' has shape {shape}; {extent} is {known}"
                    if not extent.isdigit()
                    else f"error[E0804]: '{name}' has shape {shape}; the plan says "
                    f"({', '.join(entry['shape'])})"
                )

    def _check_names(self, core: Any, plan: list[dict[str, Any]] | None) -> None:
        known: dict[str, None] = {}  # in order
        for index, parameter in enumerate(core.parameters):
            entry = plan[index] if plan else {}
            names = [entry.get("of"), entry.get("symbol"), parameter["name"]]
            names += [e for e in entry.get("shape") or () if not e.lstrip("-").isdigit()]
            known |= dict.fromkeys(name for name in names if name)
        positions = {f"arg{index}" for index in range(len(core.parameters))}
        for name in [*self.sizes, *self.given]:
            if name not in known and name not in positions:
                where = "--size" if name in self.sizes else "--args"
                raise ArgumentError(
                    f"error[E0909]: {where}: the text has no parameter '{name}'; "
                    + (f"it has {', '.join(known)}" if known else "it has none")
                )

    def _one(self, position: str, name: str, parameter: Any, entry: dict[str, Any]) -> Any:
        value = self.given.get(name, self.given.get(position))
        if parameter["kind"] != "tensor":
            if "dim" in entry and name in self.given:
                value = np.shape(self.given[name])[entry["dim"]]
            elif "dim" in entry and entry.get("shape"):
                value = self._extent(name, entry["shape"][entry["dim"]])
            if value is None:
                value = self.sizes.get(name, self.sizes.get(position))
            if value is None:
                raise ArgumentError(
                    f"error[E0909]: the value of '{name}' is not known; --size {name}=NUMBER"
                )
            number = np.asarray(value).item()
            return float(number) if "float" in parameter["dtype"] else int(number)
        self.names.append(name)
        dtype = make_output([0], parameter["dtype"], like_torch=False, device=None).dtype
        if value is None:
            array = self._generated(name, position, parameter, entry, dtype)
        else:
            array = np.ascontiguousarray(value).copy()
            if array.dtype.itemsize != dtype.itemsize:
                raise ArgumentError(
                    f"error[E0803]: '{name}' has element type {array.dtype}; the text has "
                    f"{parameter['dtype']}"
                )
        self.arrays[name] = array
        shape = array.shape if len(array.shape) == len(parameter["shape"]) else (array.size,)
        return (array.ctypes.data, shape, parameter["dtype"])

    def _generated(
        self, name: str, position: str, parameter: Any, entry: dict[str, Any], dtype: Any
    ) -> np.ndarray:
        """Multiples of 1/8 in [-2, 2], or small integers, that any machine makes alike."""
        shape = list(parameter["shape"])
        if count := self.sizes.get(name, self.sizes.get(position)):
            shape = [count] if len(shape) == 1 else shape
        elif entry.get("shape"):
            shape = [self._extent(name, extent) for extent in entry["shape"]]
        if -1 in shape:
            raise ArgumentError(
                f"error[E0909]: the size of '{name}' is not in the text; --size {name}=NUMBER"
            )
        random = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        numbers = random.integers(-16, 17, shape)
        if np.issubdtype(dtype, np.integer):
            return (numbers // 2).astype(dtype)
        return (numbers / 8).astype(np.float32).astype(dtype)

    def _extent(self, name: str, extent: str) -> int:
        if extent.lstrip("-").isdigit():
            return int(extent)
        if self.sizes.get(extent, -1) >= 0:
            return self.sizes[extent]
        raise ArgumentError(
            f"error[E0909]: '{name}' has the size {extent}, which is not known or below 0; "
            f"--size {extent}=NUMBER"
        )


def plan_of(path: Path) -> list[dict[str, Any]] | None:
    """What the plan beside an exported text says of its parameters; None without one."""
    for stem in {path.name.split(".", 1)[0], path.stem}:
        try:
            plan = json.loads((path.parent / f"{stem}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
            continue
        shapes = {p["name"]: p["shape"] for p in plan["parameters"]}
        for launch in plan["launches"]:
            if path.name in (launch["file"], launch.get("compiled", {}).get("file")):
                own = launch["arguments"][len(FIRST) : -len(LAST)]
                return [entry | {"shape": shapes.get(entry.get("of"))} for entry in own]
    return None


def pairs(words: list[str]) -> dict[str, int]:
    """NAME=NUMBER words. ArgumentError for another form."""
    result = {}
    for word in words:
        name, _, value = word.partition("=")
        if not name or not value.lstrip("-").isdigit():
            raise ArgumentError(f"error[E0909]: expected NAME=NUMBER, found '{word}'")
        result[name] = int(value)
    return result


def simulate(options: Any, chip: str) -> int:
    """Runs a text; 0, 1 after an error, 2 after findings."""
    from .. import env
    from ..report import session

    path = Path(options.file)
    prepared = prepare(path, "Ascend910B3")
    core = readback.read(prepared.text, path.name, chip)
    if prepared.note:
        print(f"plan: {prepared.note}", file=sys.stderr)
    given = dict(np.load(options.args)) if options.args else {}
    arguments = Arguments(given, pairs(options.size), options.seed)
    values = arguments.make(core, plan_of(path))
    before = {name: array.copy() for name, array in arguments.arrays.items()}
    settings = env.run_settings()
    report = core.run(
        values,
        time=settings.time,
        check=settings.check,
        delay_seed=settings.delay_seed,
        trace_file=settings.trace_file,
        num_threads=settings.num_threads,
    )
    sys.stdout.write(report["printed"])
    sys.stdout.flush()  # what goes to the error stream comes behind
    session.record(core.name, report, settings)
    if not report["ok"]:
        place = report["error_location"]
        where = f"{place[0]}:{place[1]}: " if place and place[1] else ""
        print(f"tilewright: {where}{with_code(report['error'])}", file=sys.stderr)
        return session.exit_code() or 1
    for name, array in arguments.arrays.items():
        if before[name].tobytes() != array.tobytes():
            shape = "x".join(map(str, array.shape))
            print(f"{name}: {array.dtype} {shape}, checksum {zlib.crc32(array.tobytes()):08x}")
    sys.stdout.flush()
    if options.output:
        np.savez(options.output, **arguments.arrays)
    if settings.check and not session.findings:
        print("check: nothing found", file=sys.stderr)
    return session.exit_code()
