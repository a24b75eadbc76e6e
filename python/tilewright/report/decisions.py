# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler decided about a kernel, as text."""

from __future__ import annotations

import collections
from typing import Any


def decisions_text(core: Any) -> str:
    """Statements by core, tiles by place, synchronisation, and why; `core` is a `_core.Kernel`."""
    parts = [
        _statements(core.statements()),
        _buffers(core.buffers()),
        _synchronisation(core.sync_points()),
        _reasons(core.remarks),
    ]
    return "\n\n".join(part for part in parts if part)


def _line(location: Any) -> str:
    return f"line {location[1]}" if location and location[1] else ""


def _statements(statements: list[Any]) -> str:
    lines: dict[tuple[int, str], list[str]] = {}
    for core, text, location in statements:
        texts = lines.setdefault((location[1], core), [])
        if text not in texts:
            texts.append(text)
    rows = ["Which statement runs where:"]
    for (line, core), texts in sorted(lines.items()):
        rows.append(f"  line {line:<4} {core}  {'; '.join(texts)}")
    return "\n".join(rows)


def _buffers(buffers: list[Any]) -> str:
    rows = ["Where each tile lives:"]
    for b in sorted(buffers, key=lambda b: (b["core"], b["space"], b["address"])):
        place = "workspace in GM" if b["space"] == "GM" else b["space"]
        slots = f"{b['slots']} x " if b["slots"] > 1 else ""
        rows.append(
            f"  {b['name']:<14} {b['core']} {place} at {b['address']}, {slots}{b['bytes']} bytes, "
            f"{_line(b['location'])}"
        )
    return "\n".join(rows)


def _synchronisation(points: list[Any]) -> str:
    counts: collections.Counter[str] = collections.Counter()
    lines: dict[str, set[int]] = collections.defaultdict(set)
    for text, location in points:
        kind = text.split(": ", 1)[1].split(" id ")[0]
        key = f"{text.split(' ', 1)[0]} {kind}"
        counts[key] += 1
        if location and location[1]:
            lines[key].add(location[1])
    rows = [f"Flags, barriers and signals between cores ({sum(counts.values())} instructions):"]
    for key, count in sorted(counts.items()):
        where = ", ".join(str(line) for line in sorted(lines[key]))
        rows.append(f"  {count} x {key} (lines {where})")
    return "\n".join(rows)


def _reasons(remarks: list[Any]) -> str:
    rows = ["Why:"]
    for remark in remarks:
        where = _line(remark["location"])
        rows.append(f"  {where:<9} {remark['stage']}: {remark['message']}")
    return "\n".join(rows) if remarks else ""
