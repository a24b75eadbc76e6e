# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search behind `@tilelang.autotune`: which of several kernels has the least modelled time.

Kernels are timed without data. One that is the same program as another before it has its time. One
with many blocks is first timed by a sample of them; only those within reach of the best sample are
timed in full. Results are compared with the reference from the fastest kernel on, until one is
right, so that the choice is the fastest kernel that is right.
"""

from __future__ import annotations

import functools
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import env
from .errors import MissingTorchError
from .kernel import Kernel, launch_milliseconds
from .profiler import do_bench, modelled_milliseconds

logger = logging.getLogger("tilewright.autotuner")
#: Blocks of each core in a sample.
WAVES = 3
#: A sample so many times as slow as the best one is not timed in full.
REACH = 1.15
#: A search that takes longer shows how far it is.
PATIENCE_S = 1.0


class InputsNeededError(ValueError):
    """Candidates cannot be timed without arguments from the caller."""


@dataclass
class Candidate:
    """A configuration, its kernel, and its modelled time; `sampled` until it was timed in full."""

    config: dict[str, Any]
    kernel: Kernel
    inputs: list[Any]
    milliseconds: float
    sampled: bool


@dataclass
class Progress:
    """A line on the terminal, overwritten as the search goes on."""

    total: int
    start: float = field(default_factory=time.monotonic)
    shown: bool = False

    def show(self, done: int, best: float) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self.start < PATIENCE_S:
            return
        filled = 20 * done // self.total
        bar = "#" * filled + "." * (20 - filled)
        text = f"autotune [{bar}] {done} of {self.total}"
        if best < math.inf:
            text += f", best {best:.4f} ms (modelled)"
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


@dataclass
class Search:
    """One search. `settings` says how inputs are made and results compared."""

    make: Callable[[dict[str, Any]], Kernel]
    settings: Any
    inputs_of: Callable[[Kernel], list[Any]] | None = None
    #: (configuration, why it was left out), in the order in which they were met.
    skipped: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    _inputs: dict[Any, list[Any]] = field(default_factory=dict)
    _times: dict[Any, tuple[float, bool]] = field(default_factory=dict)

    def run(self, configs: Sequence[dict[str, Any]]) -> Kernel:
        """The fastest kernel that is right. RuntimeError when no configuration works."""
        progress = Progress(len(configs))
        found: list[Candidate] = []
        best = math.inf
        for number, config in enumerate(configs):
            progress.show(number, best)
            candidate = self._candidate(config)
            if candidate is not None:
                found.append(candidate)
                best = min(best, candidate.milliseconds)
        progress.end()
        found = self._within_reach(found, best)
        chosen = self._first_right(sorted(found, key=lambda c: c.milliseconds))
        if chosen is None:
            raise RuntimeError(self._failed(len(configs)))
        kernel = chosen.kernel
        kernel.update_tuner_result(
            chosen.milliseconds, dict(chosen.config), self._reference(chosen)
        )
        kernel.tuner_skipped = list(self.skipped)
        return kernel

    def _skip(self, config: dict[str, Any], reason: str) -> None:
        self.skipped.append((dict(config), reason))
        logger.info("configuration skipped: %s: %s", config, reason)

    def _candidate(self, config: dict[str, Any]) -> Candidate | None:
        """A configuration that compiles, with a time; None and a reason when it does not."""
        try:
            kernel = self.make(config)
            inputs = self._inputs_for(kernel)
            milliseconds, sampled = self._timed(kernel, inputs)
        except (InputsNeededError, MissingTorchError):
            raise  # the others would say the same
        except Exception as error:
            self._skip(config, _first_line(error))
            return None
        return Candidate(config, kernel, inputs, milliseconds, sampled)

    def _inputs_for(self, kernel: Kernel) -> list[Any]:
        """Inputs of a kernel; those with the same parameters share them."""
        if self.inputs_of is not None:
            return self.inputs_of(kernel)
        key = tuple((p.name, str(p.dtype), tuple(map(str, p.shape))) for p in kernel.params)
        if key not in self._inputs:
            self._inputs[key] = self.settings.inputs(kernel)
        return self._inputs[key]

    def _timed(self, kernel: Kernel, inputs: list[Any]) -> tuple[float, bool]:
        """Milliseconds of a call, and whether they come from a sample of the blocks."""
        shapes = tuple(tuple(getattr(x, "shape", ())) for x in inputs)
        key = kernel.text(), shapes
        if key not in self._times:
            sample = sampled_milliseconds(kernel, inputs)
            self._times[key] = (
                (modelled_milliseconds(kernel, inputs), False) if sample is None else (sample, True)
            )
        return self._times[key]

    def _within_reach(self, found: list[Candidate], best: float) -> list[Candidate]:
        """Candidates with their full times; those whose sample is too slow are left out."""
        kept = []
        for candidate in sorted(found, key=lambda c: c.milliseconds):
            if candidate.sampled:
                if candidate.milliseconds > REACH * best:
                    reason = f"about {candidate.milliseconds / best:.2f} times as slow as the best"
                    self._skip(candidate.config, reason)
                    continue
                candidate.milliseconds = modelled_milliseconds(candidate.kernel, candidate.inputs)
                candidate.sampled = False
            kept.append(candidate)
        return kept

    def _first_right(self, ordered: list[Candidate]) -> Candidate | None:
        for candidate in ordered:
            try:
                self.settings.check(candidate.kernel, candidate.inputs)
            except Exception as error:
                self._skip(candidate.config, _first_line(error))
                continue
            return candidate
        return None

    def _reference(self, chosen: Candidate) -> float | None:
        program = self.settings.ref_prog
        if program is None:
            return None
        return float(do_bench(functools.partial(program, *chosen.inputs)))

    def _failed(self, count: int) -> str:
        told = [f"{config}: {reason}" for config, reason in self.skipped]
        more = "".join(f"\n  also {text}" for text in told[1:4])
        first = told[0] if told else "there are none"
        return f"error[E0814]: no configuration of {count} worked; {first}{more}"


def sampled_milliseconds(kernel: Kernel, inputs: Sequence[Any]) -> float | None:
    """Modelled time of a call, estimated from the first blocks of each core; None where that is no
    less work, or where times depend on data."""
    if env.run_settings().engine == "interpreter":
        return None
    arguments = kernel._without_data(inputs)
    report = kernel.core.run(arguments, time=True, data="never", sample_waves=WAVES)
    if not report["ok"]:
        return None
    return sum(map(launch_milliseconds, report["launches"]))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
