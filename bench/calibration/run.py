# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the simulator's times with published ones.

    python bench/calibration/run.py [--published TABLE] [--family NAME] [--svg FILE] [--json FILE]

Rows come from rows.csv, or from a table of published times by the rules of published.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import published
import score
from plot import scatter
from simulated import all_times


def print_rows(results: Sequence[score.Result]) -> None:
    for result in results:
        row = result.row
        print(
            f"{row.id:6} {row.kernel:24} {row.quantity:9} {row.profile:7}"
            f" {result.predicted:12.2f} {row.value:12.2f} {row.unit:2} {result.error:+7.1f} %"
        )


def print_families(results: Sequence[score.Result]) -> None:
    print(f"\n{'family':14} rows   mean  median  worst   mean without it")
    for name, members in score.by_family(results).items():
        mean, median, worst = score.summary(members)
        others = [r for r in results if r.row.family != name]
        rest = f"{score.summary(others)[0]:6.1f} %" if others else ""
        print(f"{name:14} {len(members):4} {mean:6.1f} {median:7.1f} {worst:6.1f}   {rest:>15}")


def print_ladders(results: Sequence[score.Result]) -> None:
    print("\nladder                 steps    tau  best first")
    firsts = []
    for name, steps in score.ladders(results).items():
        tau = score.kendall(steps)
        firsts.append(score.best_first(steps))
        text = "all tie" if tau is None else f"{tau:7.2f}"
        print(f"{name:22} {len(steps):5} {text:>7}  {'yes' if firsts[-1] else 'NO'}")
    if firsts:
        print(f"best first in {sum(firsts)} of {len(firsts)} ladders")


def print_bars(results: Sequence[score.Result]) -> None:
    for name, families in (("main", score.MAIN), ("add and odd copies", score.ODD)):
        members = [r for r in results if r.row.family in families]
        if members:
            mean, median, worst = score.summary(members)
            print(
                f"{name}: {len(members)} rows, mean {mean:.1f} %, median {median:.1f} %,"
                f" worst {worst:.1f} %"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, default=score.ROWS, help="default: rows.csv")
    parser.add_argument("--published", type=Path, help="a table of published times instead")
    parser.add_argument("--family", action="append", help="these families alone")
    parser.add_argument("--svg", type=Path, help="write a scatter plot here")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--jobs", type=int, default=2, help="kernels at a time")
    options = parser.parse_args()
    rows = published.rows(options.published) if options.published else score.read(options.rows)
    rows = [r for r in rows if not options.family or r.family in options.family]
    if not rows:
        parser.error("no row is left")
    times = all_times((row.kernel for row in rows), jobs=options.jobs)
    results = score.evaluate(rows, {name: found[0] for name, found in times.items()})
    scored = [r for r in results if r.row.is_scored]
    pipes = [r for r in results if not r.row.is_scored]
    print("row    kernel                   quantity  profile    predicted    published      error")
    print_rows(scored)
    if pipes:
        print("\nbusy times of pipes, for reading; not scored")
        print_rows(pipes)
        mean, median, _ = score.summary(pipes)
        print(f"pipe rows: {len(pipes)}, mean {mean:.1f} %, median {median:.1f} %")
    if not scored:
        return 0
    print_families(scored)
    print_ladders(scored)
    print()
    print_bars(scored)
    if options.svg:
        options.svg.write_text(scatter(scored), encoding="utf-8")
    if options.json:
        figures = [{"id": r.row.id, "predicted": r.predicted, "error": r.error} for r in results]
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    mean, median, worst = score.summary(scored)
    print(
        f"scored rows: {len(scored)}, mean {mean:.1f} %, median {median:.1f} %, worst {worst:.1f} %"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
