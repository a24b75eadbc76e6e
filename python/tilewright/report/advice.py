# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which other choice of a kernel is faster, found by simulating it.

Nothing is said that was not run: each step of the search is timed on the simulator without data,
and a step is taken only if the kernel, run on the arguments of the script's own call, gives the
results of that call up to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from . import variants
from .calls import Saved
from .variants import Choice, Knob

#: A step that gains less is not worth an edit.
WORTH = 0.02
#: Kinds of knobs in the order in which they are moved: the form of the program before its sizes.
ORDER = ("loop", "type", "size", "grid", "stages")


@dataclass(frozen=True)
class Step:
    """What to change at once, the core time before and after it, and how far results move."""

    changes: Choice
    before_us: float
    after_us: float
    difference: float | None  #: None: the results were not compared


@dataclass
class Advice:
    """The steps found, best choice last; `tried` counts the kernels that were simulated."""

    steps: list[Step] = field(default_factory=list)
    tried: int = 0
    complete: bool = True  #: False: the time was up before the search came to its end
    reason: str = ""  #: why nothing was tried


@dataclass
class Search:
    """A walk from the kernel as it is, one knob after the other, while it gets faster."""

    kernel: Any
    saved: Saved
    has_data: bool  #: the contents of the arguments were kept
    chip: str
    seconds: float
    advice: Advice = field(default_factory=Advice)
    _times: dict[Any, float | None] = field(default_factory=dict)
    _fixed: set[Knob] = field(default_factory=set)
    _arguments: Any = None
    _written: int = 0  #: bytes of results; without data nothing that writes less is believed

    def run(self, base_us: float) -> Advice:
        """The advice for a kernel that takes `base_us` now."""
        origin = self.kernel.origin
        found = variants.knobs(origin) if origin is not None else []
        found.sort(key=lambda knob: ORDER.index(knob.kind))
        if not found:
            self.advice.reason = "no tile size, number of stages or loop of it can be chosen"
            return self.advice
        self._end = time.monotonic() + self.seconds
        self._written = 0 if self.has_data else written(self._timed(self.kernel.core))
        choice: dict[Knob, Any] = {}
        best = base_us
        moved = True
        while moved and self._in_time():
            moved = False
            for knobs in [*([knob] for knob in found), *_pairs(found)]:
                if moved and len(knobs) > 1:
                    break  # single moves first
                while (step := self._better(choice, knobs, best)) is not None:
                    choice.update(step.changes)
                    best, moved = step.after_us, True
        self.advice.complete = self._in_time()
        self.advice.steps = self._steps(choice, base_us)
        return self.advice

    def _steps(self, choice: Choice, base_us: float) -> list[Step]:
        """The changes in the order of what they bring, each on top of those before it. Those that
        bring something only together are one step, and what brings too little is left out."""
        left = {knob: value for knob, value in choice.items() if value != knob.value}
        steps: list[Step] = []
        done: dict[Knob, Any] = {}
        best = base_us
        while left:
            several = [{knob: value} for knob, value in left.items()]
            timed = [(self._time({**done, **changes}) or math.inf, changes) for changes in several]
            taken, changes = min(timed, key=lambda pair: pair[0])
            if taken >= best * (1 - WORTH):
                taken, changes = self._time({**done, **left}) or math.inf, dict(left)
            if taken >= best * (1 - WORTH):
                break
            difference, fine = self._compared({**done, **changes})
            left = {knob: value for knob, value in left.items() if knob not in changes}
            if fine:
                done |= changes
                steps.append(Step(changes, best, taken, difference))
                best = taken
        return steps

    def _in_time(self) -> bool:
        return time.monotonic() < self._end

    def _better(self, choice: dict[Knob, Any], knobs: Sequence[Knob], best: float) -> Step | None:
        """The fastest neighbour of the knobs' values that gives the same results, if it is faster
        than `best`."""
        if not self._fixed.isdisjoint(knobs):
            return None
        timed = []
        for values in product(*(knob.neighbours(choice.get(knob, knob.value)) for knob in knobs)):
            if not self._in_time():
                break
            changes = dict(zip(knobs, values, strict=True))
            taken = self._time({**choice, **changes}, knobs[0] if len(knobs) == 1 else None)
            if taken is not None and taken < best * (1 - WORTH):
                timed.append((taken, changes))
        for taken, changes in sorted(timed, key=lambda pair: pair[0]):
            difference, fine = self._compared({**choice, **changes})
            if fine:
                return Step(changes, best, taken, difference)
            self._times[self._key({**choice, **changes})] = None
        return None

    @staticmethod
    def _key(choice: Choice) -> Any:
        moved = {k: v for k, v in choice.items() if v != k.value}
        return frozenset((k, str(v)) for k, v in moved.items())

    def _made(self, choice: Choice) -> Any:
        return variants.make(self.kernel.origin, {k: v for k, v in choice.items() if v != k.value})

    def _time(self, choice: Choice, moved: Knob | None = None) -> float | None:
        """Core time with a choice, in which `moved` is new; None when there is no such kernel."""
        key = self._key(choice)
        if key not in self._times:
            self._times[key] = self._simulated(choice, moved)
        return self._times[key]

    def _simulated(self, choice: Choice, moved: Knob | None) -> float | None:
        try:
            other = self._made(choice)
        except Exception:  # a factory may refuse a size by any error
            return None
        if not self._same_signature(other):
            if moved is not None:
                self._fixed.add(moved)  # a size of the problem, not of a tile
            return None
        self.advice.tried += 1
        report = self._timed(other.core)
        if not report["ok"] or (not self.has_data and written(report) < self._written):
            return None
        return sum(x["microseconds"] for x in report["launches"])

    def _timed(self, core: Any) -> dict[str, Any]:
        options = {"time": True, "chip": self.chip, "limits": True}
        if self._arguments is None:
            self._arguments = self.saved.copies() if self.has_data else self.saved.shapes()
        report = core.run(self._arguments.values, data="never", **options)
        if report["needs_data"] and self.has_data:
            return self.saved.run(core, data="when-needed", **options)[0]
        return report

    def _same_signature(self, other: Any) -> bool:
        return other.inputs == self.kernel.inputs and other.parameters == self.kernel.parameters

    def _compared(self, choice: Choice) -> tuple[float | None, bool]:
        """How far the results of the script's call move with a choice, and whether by rounding."""
        if not self.has_data:
            return None, all(knob.kind in ("size", "stages") for knob in choice)
        report, after = self.saved.run(self._made(choice).core, chip=self.chip)
        if not report["ok"]:
            return None, False
        return self.saved.difference(after)


def written(report: dict[str, Any]) -> int:
    """Bytes of global memory that the launches of a run have written, each once."""
    return sum(launch["limits"]["written_bytes"] for launch in report["launches"])


def _pairs(knobs: Sequence[Knob]) -> list[tuple[Knob, ...]]:
    """Sizes that may have to move together: larger one way and smaller the other."""
    return list(combinations([knob for knob in knobs if knob.kind == "size"], 2))


def advise(
    kernel: Any, saved: Saved, has_data: bool, chip: str, base_us: float, seconds: float
) -> Advice:
    """Looks for a faster choice for `seconds`. `base_us` is the kernel's core time now."""
    return Search(kernel, saved, has_data, chip, seconds).run(base_us)
