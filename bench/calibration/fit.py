# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proposes constants of a generation of chips from the scored rows.

    python bench/calibration/fit.py 2201 [--rounds N] [--constant KEY ...]

Coordinate descent: each constant in turn tries some values within the range that its chip file
gives; the value with the smallest cost stays. The cost is the mean over families of the mean
absolute error, so that a family with many rows does not rule. Nothing is written: a new value goes
into the chip file by hand, together with where it comes from.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence

import score
from simulated import ROOT, all_times
from tilings import KERNELS

#: Chips that share their constants, and the one that says the ranges.
GENERATIONS = {"2201": ("910b1", "a3"), "3510": ("950pr",)}
#: What is fitted unless said otherwise: constants that are not read off a figure.
CONSTANTS = (
    "l2_effective_fraction",
    "l2_bytes_per_cycle",
    "hbm_bytes_per_cycle",
    "hbm_evict_factor",
    "hbm_row_overhead_aic",
    "hbm_row_overhead_aiv",
    "unaligned_line_factor",
    "single_core_hbm_bytes_per_cycle",
    "mte2_latency_hit",
    "mte2_latency_miss",
    "mte2_rate_aic",
    "mte2_row_aic",
    "mte2_row_in_flight_aic",
    "mte1_start",
    "mte2_rate_aiv",
    "mte2_row_aiv",
    "mte3_rate_aiv",
    "fix_gm_rate",
    "mte1_loads_per_operand",
    "launch_a",
)
STEPS = 7  #: values tried per constant


def candidates(low: float, high: float, now: float, width: float) -> list[float]:
    """Values around `now`, at most `width` of the range away."""
    reach = (high - low) * width
    first, last = max(low, now - reach), min(high, now + reach)
    values = [first + (last - first) * i / (STEPS - 1) for i in range(STEPS)]
    return [value for value in values if abs(value - now) > 1e-9 * abs(now)]


def costs(rows: Sequence[score.Row], sets: Sequence[dict[str, float]]) -> list[float]:
    """Of each set of constants: mean over families of the mean absolute error in per cent."""
    times = all_times((row.kernel for row in rows), sets)
    found = []
    for index in range(1, len(sets) + 1):
        results = score.evaluate(rows, {name: each[index] for name, each in times.items()})
        families = score.by_family(results).values()
        found.append(statistics.fmean(score.summary(members)[0] for members in families))
    return found


def entries(chip: str) -> dict[str, dict]:
    path = ROOT / "tilewright" / "machine" / "chips" / f"{chip}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def fit(
    rows: Sequence[score.Row], keys: Iterable[str], chip: str, rounds: int
) -> tuple[dict[str, float], float, float]:
    """Values for `keys`, and the cost before and after."""
    constants = entries(chip)
    now = {key: float(constants[key]["value"]) for key in keys}
    start = best = costs(rows, [now])[0]
    for turn in range(rounds):
        before = best
        for key in keys:
            low, high = constants[key]["range"]
            tried = candidates(low, high, now[key], 0.5**turn)
            if isinstance(constants[key]["value"], int) and high - low <= 8:
                tried = [float(v) for v in range(int(low), int(high) + 1) if v != now[key]]
            if not tried:
                continue
            found = costs(rows, [{**now, key: value} for value in tried])
            if min(found) < best - 1e-3:
                best = min(found)
                now[key] = tried[found.index(best)]
                print(f"round {turn + 1}: {key} = {now[key]:.6g}, cost {best:.3f} %", flush=True)
        if before - best < 0.01:
            break
    return now, start, best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generation", choices=sorted(GENERATIONS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--constant", action="append", help="fit these alone")
    parser.add_argument("--without", action="append", default=[], help="leave a family out")
    options = parser.parse_args()
    chips = GENERATIONS[options.generation]
    rows = [
        row
        for row in score.read()
        if row.is_scored and KERNELS[row.kernel].chip in chips and row.family not in options.without
    ]
    keys = options.constant or CONSTANTS
    constants = entries(chips[0])
    now, start, best = fit(rows, keys, chips[0], options.rounds)
    print(f"{len(rows)} rows, cost {start:.3f} % before, {best:.3f} % after")
    for key in keys:
        value = constants[key]["value"]
        low, high = constants[key]["range"]
        print(f"  {key:34} {value:10.5g} -> {now[key]:10.5g}  in [{low:g}, {high:g}]")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
