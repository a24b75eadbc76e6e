# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well times are predicted of a family of rows that no constant was fitted to.

    python bench/calibration/leave_out.py 2201 [--json FILE]

Each family in turn is left out, the constants are fitted anew to the others within their ranges,
and the family is predicted with them. A fit takes hundreds of runs of all kernels, so it works on a
table: each constant alone at some values, the ratios of the times multiplied. What is printed comes
from runs of the simulator with the constants that were found, not from the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import score
from fit import CONSTANTS, GENERATIONS, entries
from simulated import Times, all_times
from tilings import KERNELS

STEPS = 5  #: values of a constant in the table
TRIED = 13  #: values of a constant that a fit tries
ROUNDS = 6
BATCH = 16  #: sets of constants that are timed in one run of the kernels

Constants = dict[str, float]


class Table:
    """Core times of kernels with one constant at a time away from its value in the chip file."""

    def __init__(self, kernels: Sequence[str], chip: str) -> None:
        constants = entries(chip)
        self.now = {key: float(constants[key]["value"]) for key in CONSTANTS}
        self.grid: dict[str, list[float]] = {}
        for key in CONSTANTS:
            low, high = map(float, constants[key]["range"])
            values = {low + (high - low) * i / (STEPS - 1) for i in range(STEPS)} | {self.now[key]}
            if isinstance(constants[key]["value"], int):
                values = {float(round(value)) for value in values}
            self.grid[key] = sorted(values)
        self.times = timed(kernels, [self.now])[0]
        wanted = [(key, value) for key in CONSTANTS for value in self.grid[key]]
        found = timed(kernels, [{**self.now, key: value} for key, value in wanted])
        #: Of each kernel and constant: core times over the grid, relative to that with `now`.
        self.ratios: dict[str, dict[str, list[float]]] = {name: {} for name in self.times}
        for (key, _), times in zip(wanted, found, strict=True):
            for name, each in times.items():
                ratio = each.core / self.times[name].core
                self.ratios[name].setdefault(key, []).append(ratio)

    def core(self, kernel: str, constants: Constants) -> float:
        """Estimated microseconds."""
        time = self.times[kernel].core
        for key, value in constants.items():
            if value != self.now[key]:
                time *= interpolated(self.grid[key], self.ratios[kernel][key], value)
        return time

    def cost(self, rows: Sequence[score.Row], constants: Constants) -> float:
        """As fit.costs: mean over families of the mean absolute error in per cent."""
        cores = {name: self.core(name, constants) for name in {row.kernel for row in rows}}
        families: dict[str, list[float]] = {}
        for row in rows:
            base = self.times[row.kernel]
            time = cores[row.kernel] + base.time(row.profile) - base.core
            families.setdefault(row.family, []).append(100 * abs(time / row.value - 1))
        return statistics.fmean(map(statistics.fmean, families.values()))

    def fit(self, rows: Sequence[score.Row]) -> Constants:
        """Coordinate descent from the values of the chip file."""
        now, best = dict(self.now), self.cost(rows, self.now)
        for _ in range(ROUNDS):
            before = best
            for key, grid in self.grid.items():
                tried = [grid[0] + (grid[-1] - grid[0]) * i / (TRIED - 1) for i in range(TRIED)]
                if all(value.is_integer() for value in grid) and grid[-1] - grid[0] < TRIED:
                    tried = grid
                for value in tried:
                    cost = self.cost(rows, {**now, key: value})
                    if cost < best - 1e-3:
                        best, now = cost, {**now, key: value}
            if before - best < 0.01:
                break
        return now


def interpolated(grid: Sequence[float], values: Sequence[float], at: float) -> float:
    for i in range(len(grid) - 1):
        if at <= grid[i + 1]:
            part = (at - grid[i]) / (grid[i + 1] - grid[i])
            return values[i] + part * (values[i + 1] - values[i])
    return values[-1]


def timed(kernels: Sequence[str], sets: Sequence[Constants]) -> list[dict[str, Times]]:
    """Times of the kernels with each set of constants."""
    found: list[dict[str, Times]] = []
    for first in range(0, len(sets), BATCH):
        batch = sets[first : first + BATCH]
        times = all_times(kernels, batch)
        found += [{n: each[i + 1] for n, each in times.items()} for i in range(len(batch))]
    return found


def summaries(rows: Sequence[score.Row], times: Mapping[str, Times]) -> list[float]:
    return [float(f"{value:.3g}") for value in score.summary(score.evaluate(rows, times))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generation", choices=sorted(GENERATIONS))
    parser.add_argument("--json", type=Path, help="write what was found here")
    options = parser.parse_args()
    chips = GENERATIONS[options.generation]
    rows = [r for r in score.read() if r.is_scored and KERNELS[r.kernel].chip in chips]
    kernels = sorted({row.kernel for row in rows})
    table = Table(kernels, chips[0])
    families = list(dict.fromkeys(row.family for row in rows))
    fits = [table.fit([row for row in rows if row.family != family]) for family in families]
    fits.append(table.fit(rows))
    times = timed(kernels, fits)
    print("per cent: mean, median, worst with the chip file | fitted to all | fitted to the others")
    found = {}
    for family, others in zip(families, times, strict=False):
        members = [row for row in rows if row.family == family]
        columns = [summaries(members, each) for each in (table.times, times[-1], others)]
        texts = ["".join(f"{value:7.1f}" for value in column) for column in columns]
        print(f"{family:14} {len(members):4} rows {' |'.join(texts)}", flush=True)
        found[family] = columns
    if options.json:
        constants = dict(zip([*families, "none"], fits, strict=True))
        text = json.dumps({"left out": constants, "errors": found}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
