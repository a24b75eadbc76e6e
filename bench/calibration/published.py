# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rows of a table of published times are scored, with which kernel, and why others are not.

    python bench/calibration/published.py TABLE.csv [--write]

The table has the columns id, op, shape, dtype, chip, metric, value, unit, impl, source and
confidence. It is no part of the project: `--write` puts the single figures that are scored into
rows.csv, each with its source. `run.py --published TABLE.csv` scores another table by these rules.
"""

from __future__ import annotations

import argparse
import collections
import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from score import ROWS, Row

Line = dict[str, str]

#: Metrics of a pipe.
PIPES = {
    "cube_time_avg": "aic.M",
    "mte1_time_avg": "aic.MTE1",
    "mte2_time_avg": "aic.MTE2",
    "fixpipe_time_avg": "aic.FIX",
    "cube_busy": "aic.M",
    "mte1_busy": "aic.MTE1",
    "mte2_busy": "aic.MTE2",
    "fixpipe_busy": "aic.FIX",
    "vec_time": "aiv.V",
    "vec_time_avg": "aiv.V",
    "mte2_time": "aiv.MTE2",
    "mte3_time": "aiv.MTE3",
}
#: Metrics of a whole launch: what they include.
PROFILES = {
    "task_duration": "task",
    "kernel_time": "kernel",
    "mte2_or_core_time": "core",
    "sys_cnt_ticks_50MHz": "core",
}


def sample_gemm(line: Line) -> tuple[str, str, str] | None:
    chip = "950" if line["chip"].startswith("950") else "a2"
    case = re.search(r"case (\d)", line["shape"])
    if "basic API" in line["shape"]:
        name = "basic" if "no L2" in line["shape"] else "basic_halves"
    elif case:
        name = case[1]
    else:
        return None
    return f"gemm_{chip}_{name}", f"gemm_{chip}", f"gemm_{chip}"


def square_gemm(line: Line) -> tuple[str, str, str] | None:
    side = re.match(r"M=N=K=(\d+)", line["shape"])
    return (f"gemm_a3_{side[1]}", "gemm_a3", "") if side else None


def runs_gemm(line: Line) -> tuple[str, str, str]:
    chip = "950" if line["chip"].startswith("950") else "a3"
    return f"gemm_{chip}_runs", f"gemm_{chip}", ""


def copy(line: Line) -> tuple[str, str, str] | None:
    chip = "950" if line["chip"].startswith("950") else "a2"
    place = "ub" if "ub" in line["op"] else "l1"
    shape, group, family = line["shape"], "", "copy_large"
    tile = re.search(r"tile (\d+x\d+)", shape)
    if "same-address" in line["op"]:
        case = "staggered" if "staggered" in shape else "same"
        family, group = "copy_shared", "_shared"
    elif "x4" in line["op"]:
        case, group = ("whole_x4" if "whole" in shape else "slices_x4"), "_x4"
    elif "unaligned" in shape:
        case, family = "unaligned", "copy_odd"
    elif tile:
        case = tile[1]
        family = "copy_large" if case in ("64x256", "64x1024") else "copy_odd"
    else:
        return None
    return f"copy_{place}_{chip}_{case}", family, f"copy_{place}_{chip}{group}"


def add(line: Line) -> tuple[str, str, str] | None:
    chip = "950" if line["chip"].startswith("950") else "a2"
    case = re.search(r"case ([1-6])", line["shape"])
    return (f"add_{chip}_{case[1]}", "add", f"add_{chip}") if case else None


def banks(line: Line) -> tuple[str, str, str] | None:
    scenario = re.search(r"scenario ([1-68])", line["shape"])
    return (f"banks_{scenario[1]}", "banks", "banks") if scenario else None


def scatter(line: Line) -> tuple[str, str, str] | None:
    pitch = re.search(r"stride (144|145)", line["shape"])
    is_known = pitch and line["chip"].startswith("A2")
    return (f"scatter_a2_{pitch[1]}", "banks", "scatter_a2") if is_known else None


def grouped(line: Line) -> tuple[str, str, str]:
    chip = "950" if line["chip"].startswith("950") else "a2"
    if "1:1" in line["shape"]:
        case = "1_1"
    else:
        case = "1_2" if "no pipeline" in line["shape"] else "1_2_deep"
    return f"grouped_{chip}_{case}", "grouped", f"grouped_{chip}"


Choice = Callable[[Line], tuple[str, str, str] | None]
#: Operation, part of the source, and how to name the kernel, family and ladder of such a row.
SCORED: tuple[tuple[str, str, Choice], ...] = (
    (r"gemm", "asc-devkit@82b89a1 .*matmul_", sample_gemm),
    (r"gemm", "gemm_performance", square_gemm),
    (r"gemm", "gemm_ar", runs_gemm),
    (r"gm_to_(ub|l1).*", "data_copy", copy),
    (r"add", "add_high_performance", add),
    (r"vadd_bank_conflict", "bank_conflict_ub", banks),
    (r"nd2nz_in_ub", "bank_conflict_nd2nz", scatter),
    (r"quant_grouped_matmul.*", "quant_group_matmul", grouped),
)
#: Operation, source, and why such a row has no kernel here; the first that fits counts.
LEFT_OUT: tuple[tuple[str, str, str], ...] = (
    (r".*", "cann-bench", "library operators: neither tiling nor algorithm is published"),
    (r"gemm", "catlass.*aswt", "tile sizes are not stated"),
    (r"gemm", "catlass", "L1 tile alone is stated; L0 tile, padding and stage count are not"),
    (r"gemm", "matmul-l2-schedule", "a rate, without the order of tiles"),
    (r"gemm", "best-practice cases", "before and after of a change; tiling not stated"),
    (r"gemm decode.*", ".*", "time of one block under load of others"),
    (r"mx_gemm", ".*", "mxfp4 and mxfp8 products are not modelled"),
    (r"grouped_matmul int8", ".*", "before and after of a change; tiling not stated"),
    (r"reduce_sum.*", ".*", "chains of two or three instructions whose barriers are not stated"),
    (r"flash_attention.*|mla.*|sparse_flash.*", ".*", "tile sizes or algorithm not published"),
    (r"softmax|gelu", "asc-devkit", "register code of the 3510 vector unit, which is not modelled"),
    (r".*", "tilelang-ascend|tilelang-mlir", "chip or tile sizes not stated"),
    (r".*", "pto-kernels|arXiv|gitcode|public", "a rate or share without shape, tiling or chip"),
)


def choose(line: Line) -> Row | str:
    """The row to score, or the reason why there is none."""
    for operation, source, choice in SCORED:
        if re.fullmatch(operation, line["op"]) and re.search(source, line["source"]):
            found = choice(line)
            if not found:
                return "a variant without a kernel here"
            return _row(line, *found)
    for operation, source, reason in LEFT_OUT:
        if re.fullmatch(operation, line["op"]) and re.search(source, line["source"]):
            return reason
    return "no rule"


def _row(line: Line, kernel: str, family: str, ladder: str) -> Row | str:
    metric = line["metric"]
    quantity = PIPES.get(metric, "time")
    if quantity == "time" and metric not in PROFILES:
        return f"no rule for the metric {metric}"
    value, unit = float(line["value"]), line["unit"]
    if unit == "ticks":  # of 50 MHz
        value, unit = value / 50, "us"
    source = re.sub(r"^[\w-]+/", "", line["source"].split(" ", 1)[0])
    place = Path(line["source"].split(" ", 1)[-1]).parent.name
    profile = PROFILES.get(metric, "core")
    return Row(
        line["id"], family, kernel, ladder, quantity, profile, value, unit, f"{source} {place}"
    )


def read(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows(path: Path) -> list[Row]:
    """The rows of a table that are scored."""
    return [row for line in read(path) if isinstance(row := choose(line), Row)]


def write(found: Iterable[Row], path: Path = ROWS) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(Row.__dataclass_fields__)
        for row in found:
            out.writerow([f"{v:.10g}" if isinstance(v, float) else v for v in vars(row).values()])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--write", action="store_true", help="write rows.csv")
    options = parser.parse_args()
    lines = read(options.table)
    found = [choose(line) for line in lines]
    scored = [row for row in found if isinstance(row, Row)]
    print(f"{len(lines)} rows: {sum(r.is_scored for r in scored)} scored,", end=" ")
    print(f"{sum(not r.is_scored for r in scored)} pipe times shown")
    reasons = collections.Counter(reason for reason in found if isinstance(reason, str))
    for reason, count in reasons.most_common():
        print(f"{count:5} left out: {reason}")
    if options.write:
        write(scored)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
