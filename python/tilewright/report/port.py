# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright port`: how a script made for GPUs does on the NPU, kernel by kernel."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import env
from .advice import Advice, Step, advise
from .calls import Agreement, Saved, agreement
from .comparisons import Comparisons
from .explain import _argument, _argument_text, _launch_json
from .variants import Knob

SCHEMA = "tilewright.port"
#: Version of the JSON form. It grows when a key goes away or changes its meaning.
VERSION = 1
#: Contents of arguments that are kept, all kernels together.
KEPT_BYTES = 2 << 30
#: A pipe that is busy for this share of the time is what limits a kernel.
BUSY = 0.85
#: Share of the scalar unit from which on it is worth a line.
SCALAR = 0.03
LINES = 3
REMARKS = 6


@dataclass
class Ported:
    """A kernel with the arguments of its first call and what was found out about it."""

    kernel: Any
    chip: str
    described: list[dict[str, Any]]
    launches: list[dict[str, Any]]
    calls: int  #: that computed something
    timed_only: bool = False  #: the script has never computed anything with it
    saved: Saved | None = None
    agreement: Agreement = field(default_factory=Agreement)
    advice: Advice | None = None  #: None: not looked for

    @property
    def core_us(self) -> float:
        return sum(launch["microseconds"] for launch in self.launches)

    @property
    def bound_share(self) -> float:
        """The busiest pipe's time over the core time, all launches together."""
        bound = sum(launch["limits"]["pipe_us"] for launch in self.launches)
        return bound / self.core_us if self.core_us else 0.0

    @property
    def pipe(self) -> str:
        """What binds the longest launch."""
        longest = max(self.launches, key=lambda launch: launch["microseconds"])
        return str(longest["limits"]["pipe"])

    def lines(self) -> list[tuple[str, int, float]]:
        """(file, line, share of the busy cycles), the costliest first."""
        total: Counter[tuple[str, int]] = Counter()
        for launch in self.launches:
            for (file, line, _), cycles in launch["line_cycles"]:
                total[file, line] += cycles
        whole = sum(total.values()) or 1
        ordered = sorted(total.items(), key=lambda item: -item[1])
        return [(file, line, cycles / whole) for (file, line), cycles in ordered if line]

    def scalar_share(self) -> float:
        """Share of the core time in which the scalar unit computes, the larger one of both kinds
        of core."""
        busy = [
            sum(x[f"{kind}_busy"].get("S", 0.0) * x["microseconds"] for x in self.launches)
            for kind in ("aic", "aiv")
        ]
        return max(busy) / self.core_us if self.core_us else 0.0


@dataclass
class Porter:
    """Watches the kernels of a process (see `session.observers`)."""

    kernels: dict[Any, Ported] = field(default_factory=dict)
    wants_limits = True
    _kept: int = 0
    _pending: Saved | None = None
    _computes: bool = False

    @staticmethod
    def _key(kernel: Any, described: list[dict[str, Any]]) -> Any:
        return id(kernel.core), json.dumps(described)

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        self._pending, self._computes = None, computes
        known = self.kernels.get(self._key(kernel, _described(kernel, arguments)))
        if not computes or (known is not None and not known.timed_only):
            return
        saved = Saved(list(arguments))
        size = 2 * sum(count for _, _, count in saved.tensors())
        if self._kept + size <= KEPT_BYTES:
            self._kept += size
            self._pending = Saved.of(arguments)

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        described = _described(kernel, arguments)
        key = self._key(kernel, described)
        known = self.kernels.get(key)
        saved, self._pending = self._pending, None
        if saved is not None:
            saved.finish()
        if known is not None:
            known.calls += self._computes
            if known.timed_only and self._computes:
                known.saved, known.timed_only = saved, False
            return
        if not all("limits" in launch for launch in report["launches"]) or not report["launches"]:
            return
        chip = chip or env.compile_settings().chip
        calls, timed_only = int(self._computes), not self._computes
        launches = report["launches"]
        self.kernels[key] = Ported(kernel, chip, described, launches, calls, timed_only, saved)

    def shown(self) -> list[Ported]:
        """The kernels to report: not those that a tuner has only timed while it kept another."""
        used = {_source(p.kernel) for p in self.kernels.values() if not p.timed_only}
        return [
            p for p in self.kernels.values() if not p.timed_only or _source(p.kernel) not in used
        ]

    def study(self, seconds: float, search: bool) -> None:
        """Compares each kernel with the interpreter and looks for a faster choice."""
        shown = self.shown()
        for number, found in enumerate(shown, 1):
            _progress(f"{found.kernel.name} ({number} of {len(shown)})")
            kept = found.saved
            if kept is not None:
                found.agreement = agreement(found.kernel.core, kept, seconds)
            else:
                reason = "only its time was asked for" if found.timed_only else "too large to keep"
                found.agreement = Agreement(reason=reason)
            if search:
                saved = kept or Saved(_addressless(found))
                found.advice = advise(
                    found.kernel, saved, kept is not None, found.chip, found.core_us, seconds
                )
        _progress("")


def _addressless(found: Ported) -> list[Any]:
    return [
        (0, tuple(a["shape"]), a["dtype"]) if "shape" in a else a["value"] for a in found.described
    ]


def _described(kernel: Any, arguments: list[Any]) -> list[dict[str, Any]]:
    return [_argument(p, value) for p, value in zip(kernel.parameters, arguments, strict=True)]


def _source(kernel: Any) -> Any:
    """What two configurations of one kernel share."""
    origin = kernel.origin
    return kernel.name if origin is None else (origin.function.__code__, kernel.name)


def _progress(text: str) -> None:
    """One line that is overwritten, where somebody looks."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Kport: {text}\r" if text else "\r\033[K")
        sys.stderr.flush()


# -- text -----------------------------------------------------------------------------------------


def report_text(porter: Porter, comparisons: Comparisons, code: int) -> str:
    """The whole report."""
    shown = porter.shown()
    parts = [_kernel_text(found) for found in shown]
    rest = len(porter.kernels) - len(shown)
    if rest:
        kernels = "configuration was" if rest == 1 else "configurations were"
        parts.append(f"{rest} more {kernels} only timed")
    if not shown:
        parts.append("no kernel ran on the simulator")
    ending = "ran unchanged to its end" if code == 0 else f"ended with exit code {code}"
    parts.append(f"script: {ending}; {comparisons.text()}")
    return "\n\n".join(parts)


def _row(label: str, text: str) -> str:
    return f"  {label:<10} {text}"


def _kernel_text(found: Ported) -> str:
    calls = "1 call" if found.calls == 1 else f"{found.calls} calls"
    calls = calls if found.calls else "only timed"
    rows = [f"{_title(found)}: {calls} on {found.chip}"]
    rows.append(_row("arguments", ", ".join(map(_argument_text, found.described))))
    rows.append(_row("agrees", agreement_text(found.agreement)))
    launch_us = sum(launch["launch_microseconds"] for launch in found.launches)
    rows.append(_row("time", f"core {found.core_us:.2f} us, launch {launch_us:.2f} us (predicted)"))
    roofline = sum(max(x["limits"]["cube_us"], x["limits"]["memory_us"]) for x in found.launches)
    share = roofline / found.core_us if found.core_us else 0.0
    rows.append(_row("roofline", f"{share:.1%} reached"))
    rows.append(_row("limit", limit_text(found)))
    lines = [f"line {line} {share:.0%}" for _, line, share in found.lines()[:LINES]]
    if lines:
        rows.append(_row("cycles", "of all pipes: " + ", ".join(lines)))
    rows += _remarks_text(found)
    rows += _advice_text(found.advice, found.core_us)
    return "\n".join(rows)


def _title(found: Ported) -> str:
    """The kernel's name, that of the function around it, and where they begin."""
    name, origin = found.kernel.name, found.kernel.origin
    if origin is None:
        return str(name)
    code = origin.function.__code__
    outer = origin.function.__qualname__.split(".<locals>")[0]
    name = name if outer in (name, "<module>") else f"{outer}, {name}"
    return f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


def agreement_text(found: Agreement) -> str:
    """One line about the comparison with the interpreter."""
    if found.exact is None:
        return f"not compared: {found.reason}"
    if not found.exact:
        return "NO: the simulator's results are not the interpreter's; please report this"
    text = "with the interpreter, bit for bit"
    if found.source is None:
        return text
    if found.source == 0.0:
        return f"{text}, also of the kernel as written"
    return f"{text}; from the kernel as written by {found.source:.1e} of the largest value"


def limit_text(found: Ported) -> str:
    """What limits a kernel: a pipe that is always busy, or the waiting for each other."""
    share = f"{found.bound_share:.1%} of the bound reached"
    if found.bound_share >= BUSY:
        return f"{share}: {found.pipe} is busy nearly all the time"
    launch = max(found.launches, key=lambda x: x["microseconds"])
    cores = ", ".join(
        f"{launch[f'{kind}_count']} {kind.upper()}"
        for kind in ("aic", "aiv")
        if launch[f"{kind}_count"]
    )
    blocks = launch["core_blocks"]
    turns = f"each core runs {blocks} blocks at most" if blocks > 1 else "each core runs one block"
    return f"{share}: the busiest pipe, {found.pipe}, waits for others; {cores}, {turns}"


def _remarks_text(found: Ported) -> list[str]:
    """Scalar loops and missed chances, with their lines."""
    rows = []
    scalar = found.scalar_share()
    told = [r for r in found.kernel.remarks if r["kind"] in ("fallback", "missed")]
    for remark in told[:REMARKS]:
        line = remark["location"][1]
        where = f"line {line}: " if line else ""
        label = "scalar" if "scalar" in remark["message"] else remark["kind"]
        rows.append(_row(label, f"{where}{remark['message']}"))
    if scalar >= SCALAR:
        rows.append(_row("scalar", f"the scalar unit is busy {scalar:.0%} of the time"))
    return rows


def _advice_text(found: Advice | None, core_us: float) -> list[str]:
    if found is None:
        return []
    if found.reason:
        return [_row("advice", f"none: {found.reason}")]
    tried = f"{found.tried} other kernels simulated"
    if not found.complete:
        tried += ", then the time was up"
    if not found.steps:
        return [_row("advice", f"none: nothing faster found ({tried})")]
    rows = [_row("advice", _step_text(step)) for step in found.steps]
    last = found.steps[-1].after_us
    rows.append(_row("", f"together {last:.2f} us, {core_us / last:.2f} times as fast ({tried})"))
    return rows


def _step_text(step: Step) -> str:
    same = "results not compared"
    if step.difference is not None:
        same = "same results"
        if step.difference:
            same += f" up to {step.difference:.1e} of the largest value"
    gain = f"{step.before_us:.2f} to {step.after_us:.2f} us"
    changes = []
    for knob, value in step.changes.items():
        new = f"{value}(...) in place of {knob.value}(...)" if knob.kind == "loop" else ""
        changes.append(f"line {knob.line}: " + (new or f"{knob.name} = {value}"))
    return f"{', '.join(changes)}: {gain}; {same}"


# -- JSON -----------------------------------------------------------------------------------------


def report_json(porter: Porter, comparisons: Comparisons, code: int) -> str:
    """The whole report for programs; docs/cli.md has the keys."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "exit_code": code,
            "comparisons": {
                "passed": [_comparison(*item) for item in sorted(comparisons.passed.items())],
                "failed": [_comparison(*item) for item in sorted(comparisons.failed.items())],
            },
            "kernels": [_kernel_json(found) for found in porter.shown()],
        },
        indent=2,
    )


def _comparison(what: tuple[str, int], count: int) -> dict[str, Any]:
    return {"function": what[0], "line": what[1] or None, "count": count}


def _change(knob: Knob, value: Any) -> dict[str, Any]:
    return {
        "name": knob.name,
        "kind": knob.kind,
        "line": knob.line,
        "from": knob.value,
        "to": value,
    }


def _kernel_json(found: Ported) -> dict[str, Any]:
    remarks = [r for r in found.kernel.remarks if r["kind"] in ("fallback", "missed")]
    return {
        "name": found.kernel.name,
        "chip": found.chip,
        "calls": found.calls,
        "arguments": found.described,
        "agreement": vars(found.agreement),
        "core_us": found.core_us,
        "launches": [_launch_json(launch) for launch in found.launches],
        "limit": {"pipe": found.pipe, "share": found.bound_share},
        "scalar_share": found.scalar_share(),
        "lines": [
            {"file": file, "line": line, "share": share} for file, line, share in found.lines()
        ],
        "remarks": [
            {"kind": r["kind"], "line": r["location"][1] or None, "message": r["message"]}
            for r in remarks
        ],
        "advice": _advice_json(found.advice),
    }


def _advice_json(found: Advice | None) -> dict[str, Any] | None:
    if found is None:
        return None
    steps = [
        {
            "changes": [_change(*item) for item in step.changes.items()],
            "before_us": step.before_us,
            "after_us": step.after_us,
            "difference": step.difference,
        }
        for step in found.steps
    ]
    state = {"tried": found.tried, "complete": found.complete, "reason": found.reason or None}
    return {"steps": steps, **state}
