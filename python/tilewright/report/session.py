# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings and times of all kernels of a process; printed as they come."""

from __future__ import annotations

import sys
from typing import Any

findings: list[Any] = []
#: Told of every kernel run, with all of its arguments as the core takes them:
#: `before(kernel, arguments, computes)`, and `after(kernel, arguments, report, chip)` when it has
#: come to its end; a run that does not compute is there for its times alone, and `chip` is empty
#: where the kernel ran on the one it was compiled for. `wants_limits`: the report holds times, and
#: limits of each launch.
observers: list[Any] = []
#: Called with every kernel that is compiled.
compiled: list[Any] = []


def record(name: str, report: dict[str, Any], settings: Any) -> None:
    """Prints what the settings ask for and remembers findings for the exit code."""
    lines = []
    if settings.check or settings.compare:
        findings.extend(report["findings"])
        lines += [finding_text(name, finding) for finding in report["findings"]]
    if settings.time:
        lines += [launch_text(launch) for launch in report["launches"]]
    if lines:
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()


def _place(location: Any) -> str:
    return f"{location[0]}:{location[1]}" if location and location[1] else ""


def finding_text(name: str, finding: Any) -> str:
    first, second = _place(finding["location"]), _place(finding["other_location"])
    places = f" at {first}" if first else ""
    if second and second != first:
        places += f" against {second}"
    times = f" ({finding['count']} times)" if finding["count"] > 1 else ""
    compared = finding["tool"] == "compare"
    tool = "compare: " if compared else "check: "
    head = f"{tool}{name}: " + ("" if compared else f"{finding['tool']}: ") + finding["kind"]
    head += f" [{finding['code']}]" if finding.get("code") else ""
    return f"{head}: {finding['message']}{places}{times}"


def busy_text(busy: dict[str, float]) -> str:
    return " ".join(f"{pipe} {share:.0%}" for pipe, share in busy.items() if share >= 0.005)


def basis_text(timed: int, waves: int) -> str:
    """What a time rests on; `timed` is 0 where all waves of blocks were timed."""
    return f"estimated from {timed} of {waves} waves of blocks" if timed else "predicted"


def launch_text(launch: Any) -> str:
    """One launch: core time and launch cost apart, then how busy each pipe was."""
    lines = [
        f"time: {launch['name']}: core {launch['microseconds']:.2f} us ({launch['cycles']:.0f} "
        "cycles), "
        f"launch {launch['launch_microseconds']:.2f} us "
        f"({basis_text(*launch.get('waves', (0, 0)))})"
    ]
    if sensitivity := launch.get("sensitivity"):
        lines.append("      core " + sensitivity_text(**sensitivity))
    for kind in ("aic", "aiv"):
        if launch[f"{kind}_count"] and launch[f"{kind}_busy"]:
            count = launch[f"{kind}_count"]
            lines.append(f"      {count} {kind.upper()}: {busy_text(launch[f'{kind}_busy'])}")
    traffic = [("read", "gm_read_bytes"), ("written", "gm_write_bytes"), ("HBM", "hbm_bytes")]
    parts = [f"{label} {size_text(launch[key])}" for label, key in traffic if launch[key]]
    if launch["exchange_bytes"]:
        parts.append(f"between cores {size_text(launch['exchange_bytes'])}")
    if parts:
        lines.append("      global memory: " + ", ".join(parts))
    return "\n".join(lines)


def sensitivity_text(least_us: float, most_us: float, most: str) -> str:
    """The range of a core time; `most` is the constant that moves it most, or empty."""
    text = f"{least_us:.2f} to {most_us:.2f} us over the uncertain constants"
    return f"{text}; most: {most}" if most else text


def size_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def write_sarif(path: str) -> str:
    """Writes all findings as SARIF 2.1.0; what went wrong, empty when nothing did."""
    from .. import __version__, _core

    return _core.write_sarif(findings, __version__, path)


def exit_code() -> int:
    """2 when the checker has found something, else 0."""
    return 2 if findings else 0
