# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published rows, their errors, and what can be said about a set of them."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulated import Times

HERE = Path(__file__).resolve().parent
ROWS = HERE / "rows.csv"
#: Which bar a family is held to: per cent of median, mean and worst error.
MAIN = ("gemm_a2", "gemm_a3", "gemm_950", "copy_large", "banks")
ODD = ("add", "copy_odd")
#: Times closer than this share are the same for a ranking.
TIE = 0.001


@dataclass(frozen=True)
class Row:
    """A published figure; rows.csv has one line for each.

    `quantity` is "time" or a pipe ("aic.MTE2"). `profile` says what the figure includes: task and
    kernel are times with the launch as the two kinds of profilers see it, core is without. `unit`
    is us, or % of the core time.
    """

    id: str
    family: str
    kernel: str
    ladder: str
    quantity: str
    profile: str
    value: float
    unit: str
    source: str

    @property
    def is_scored(self) -> bool:
        return self.quantity == "time"


@dataclass(frozen=True)
class Result:
    row: Row
    predicted: float

    @property
    def error(self) -> float:
        """Per cent of the published figure."""
        return 100 * (self.predicted / self.row.value - 1)


def read(path: Path = ROWS) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**{**line, "value": float(line["value"])}) for line in csv.DictReader(file)]


def predicted(row: Row, times: Times) -> float:
    if row.is_scored:
        return times.time(row.profile)
    return times.share(row.quantity) if row.unit == "%" else times.busy[row.quantity]


def evaluate(rows: Iterable[Row], times: Mapping[str, Times]) -> list[Result]:
    return [Result(row, predicted(row, times[row.kernel])) for row in rows]


def summary(results: Sequence[Result]) -> tuple[float, float, float]:
    """Mean, median and worst of the absolute errors."""
    errors = [abs(result.error) for result in results]
    return statistics.fmean(errors), statistics.median(errors), max(errors)


def by_family(results: Iterable[Result]) -> dict[str, list[Result]]:
    families: dict[str, list[Result]] = {}
    for result in results:
        families.setdefault(result.row.family, []).append(result)
    return families


def ladders(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Variants of one kernel, compared by the task time, or by the core time where that is all."""
    found: dict[str, dict[str, Result]] = {}
    for result in results:
        if result.row.ladder:
            steps = found.setdefault(result.row.ladder, {})
            if result.row.kernel not in steps or result.row.profile == "task":
                steps[result.row.kernel] = result
    return {name: list(steps.values()) for name, steps in found.items() if len(steps) > 1}


def kendall(steps: Sequence[Result], tie: float = TIE) -> float | None:
    """Rank correlation of prediction and publication (tau-b); figures within TIE are ties.

    None when all published figures tie.
    """
    concordant = ties_a = ties_b = pairs = 0
    for i, first in enumerate(steps):
        for second in steps[:i]:
            a = _order(first.row.value, second.row.value, tie)
            b = _order(first.predicted, second.predicted, tie)
            pairs += 1
            ties_a += a == 0
            ties_b += b == 0
            concordant += a * b
    if pairs == ties_a:
        return None
    if pairs == ties_b:
        return 0.0
    return concordant / ((pairs - ties_a) * (pairs - ties_b)) ** 0.5


def _order(a: float, b: float, tie: float) -> int:
    return 0 if abs(a - b) <= tie * max(a, b) else 1 if a > b else -1


def best_first(steps: Sequence[Result], tie: float = TIE) -> bool:
    """Whether the published best is the predicted best, or ties with it."""
    best = min(steps, key=lambda s: s.row.value)
    return best.predicted <= min(s.predicted for s in steps) * (1 + tie)
