# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright explain`: how near to its limits each kernel of a script runs, and why it is so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .. import env
from .session import busy_text, sensitivity_text, size_text

SCHEMA = "tilewright.explanation"
#: Version of the JSON form. It grows when a key goes away or changes its meaning.
VERSION = 1


@dataclass
class Explained:
    """A kernel with the shapes of its first call; times are those of that call."""

    kernel: Any
    chip: str
    arguments: list[dict[str, Any]]
    launches: list[dict[str, Any]]
    ablation: list[dict[str, Any]]
    calls: int = 1

    @property
    def cycles(self) -> float:
        return sum(launch["cycles"] for launch in self.launches)


@dataclass
class Explainer:
    """Watches the kernels of a process (see `session.observers`)."""

    ablate: bool = False  #: also compile without each automatic stage in turn
    kernels: dict[Any, Explained] = field(default_factory=dict)
    wants_limits = True

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        pass

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        described = [
            _argument(parameter, value)
            for parameter, value in zip(kernel.parameters, arguments, strict=True)
        ]
        key = id(kernel.core), chip, json.dumps(described)
        known = self.kernels.get(key)
        if known is not None:
            known.calls += 1
        elif report["launches"] and all("limits" in launch for launch in report["launches"]):
            ablation = self._ablated(kernel, arguments, chip) if self.ablate else []
            chip = chip or env.compile_settings().chip
            self.kernels[key] = Explained(kernel, chip, described, report["launches"], ablation)

    def _ablated(self, kernel: Any, arguments: list[Any], chip: str) -> list[dict[str, Any]]:
        """Cycles without each stage. Nothing is computed: tensors stay as they are."""
        from .. import _core

        found = []
        for stage in _core.switch_names():
            core, diagnostics = kernel.core.recompile([stage])
            if core is None:
                found.append({"stage": stage, "cycles": None, "error": diagnostics[0]["message"]})
                continue
            report = core.run(arguments, time=True, data="never", chip=chip)
            cycles = sum(launch["cycles"] for launch in report["launches"])
            ok = report["ok"]
            error = None if ok else report["error"]
            found.append({"stage": stage, "cycles": cycles if ok else None, "error": error})
        return found

    def to_json(self) -> str:
        kernels = [_kernel_json(found) for found in self.kernels.values()]
        return json.dumps({"schema": SCHEMA, "version": VERSION, "kernels": kernels}, indent=2)

    def text(self) -> str:
        if not self.kernels:
            return "explain: no kernel ran on the simulator"
        return "\n\n".join(_kernel_text(found) for found in self.kernels.values())


def _argument(parameter: dict[str, Any], value: Any) -> dict[str, Any]:
    if parameter["kind"] == "tensor":
        return {"name": parameter["name"], "dtype": value[2], "shape": list(value[1])}
    return {"name": parameter["name"], "dtype": parameter["dtype"], "value": value}


def _launch_json(launch: dict[str, Any]) -> dict[str, Any]:
    limits, core_us = launch["limits"], launch["microseconds"]
    roofline = max(limits["cube_us"], limits["memory_us"])
    kinds = [kind for kind in ("aic", "aiv") if launch[f"{kind}_count"]]
    return {
        "name": launch["name"],
        "cycles": launch["cycles"],
        "core_us": core_us,
        "launch_us": launch["launch_microseconds"],
        "sensitivity": launch.get("sensitivity"),
        "cores": {kind.upper(): launch[f"{kind}_count"] for kind in kinds},
        "utilisation": {kind.upper(): launch[f"{kind}_busy"] for kind in kinds},
        "roofline": {
            "flops": limits["flops"],
            "read_bytes": limits["read_bytes"],
            "written_bytes": limits["written_bytes"],
            "cube_us": limits["cube_us"],
            "memory_us": limits["memory_us"],
            "share": roofline / core_us if core_us else 0.0,
        },
        "bound": {
            "pipe": limits["pipe"],
            "us": limits["pipe_us"],
            "share": limits["pipe_us"] / core_us if core_us else 0.0,
        },
    }


def _kernel_json(found: Explained) -> dict[str, Any]:
    return {
        "name": found.kernel.name,
        "chip": found.chip,
        "calls": found.calls,
        "arguments": found.arguments,
        "launches": [_launch_json(launch) for launch in found.launches],
        "decisions": [
            {**remark, "location": _location(remark["location"])} for remark in found.kernel.remarks
        ],
        "ablation": [
            {**row, "ratio": row["cycles"] / found.cycles if row["cycles"] else None}
            for row in found.ablation
        ],
    }


def _location(place: Any) -> dict[str, Any] | None:
    return dict(zip(("file", "line", "column"), place, strict=True)) if place[1] else None


def _kernel_text(found: Explained) -> str:
    calls = "1 call" if found.calls == 1 else f"{found.calls} calls"
    rows = [f"{found.kernel.name}: {calls} on {found.chip}"]
    rows.append("  arguments  " + ", ".join(map(_argument_text, found.arguments)))
    for launch in found.launches:
        rows += _launch_text(launch)
    rows += _ablation_text(found)
    rows += _decisions_text(found.kernel.remarks)
    return "\n".join(rows)


def _argument_text(argument: dict[str, Any]) -> str:
    if "shape" in argument:
        return f"{argument['name']} {argument['dtype']} {tuple(argument['shape'])}"
    return f"{argument['name']} = {argument['value']}"


def _launch_text(launch: dict[str, Any]) -> list[str]:
    entry = _launch_json(launch)
    roofline, bound = entry["roofline"], entry["bound"]
    moved = (
        f"{size_text(roofline['read_bytes'])} read, {size_text(roofline['written_bytes'])} written"
    )
    rows = [
        f"  {'time':<10} core {entry['core_us']:.2f} us ({entry['cycles']:.0f} cycles), launch "
        f"{entry['launch_us']:.2f} us (predicted)",
        f"  {'roofline':<10} {roofline['share']:.1%} reached: cube {roofline['cube_us']:.2f} us "
        f"({roofline['flops'] / 1e9:.3g} GFLOP), memory {roofline['memory_us']:.2f} us ({moved})",
        f"  {'bound':<10} {bound['share']:.1%} reached: {bound['pipe']} is busy for "
        f"{bound['us']:.2f} us",
    ]
    if sensitivity := entry["sensitivity"]:
        rows.insert(1, f"  {'range':<10} core {sensitivity_text(**sensitivity)}")
    for kind, count in entry["cores"].items():
        rows.append(f"  {'pipes':<10} {count} {kind}: {busy_text(entry['utilisation'][kind])}")
    return rows


def _ablation_text(found: Explained) -> list[str]:
    rows = []
    for row in found.ablation:
        effect = row["error"]
        if row["cycles"] is not None:
            effect = f"{row['cycles']:.0f} cycles, {row['cycles'] / found.cycles:.2f} times as long"
        rows.append(f"  {'without':<10} {row['stage']}: {effect}")
    return rows


def _decisions_text(remarks: list[Any]) -> list[str]:
    rows = []
    for remark in remarks:
        file, line, _ = remark["location"]
        where = f"{file.rpartition('/')[2]}:{line}" if line else "the kernel"
        kind = "" if remark["kind"] == "applied" else f" ({remark['kind']})"
        rows.append(f"  {'decision':<10} {where}: {remark['stage']}{kind}: {remark['message']}")
    return rows
