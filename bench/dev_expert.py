# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Developer source against Expert source of the same operator, by the same simulator.

    python bench/dev_expert.py FOLDER [--keyword REGEX] [--json FILE]

FOLDER is a checkout of grandliu/tilelang-mlir-ascend. Each pair below is two files of it that work
on the same shapes; those of other pairs differ, and no argument makes them equal. Both run as they
are, and each launch of the one is held against the launch of the other with the same number. The
figure is the Expert author's core time over ours: above 1 the compiler's schedule is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = "testing/npuir"
#: Operator -> (Developer file, Expert file), with arguments. Those in `testing` run under pytest.
PAIRS: dict[str, tuple[str, str]] = {
    **{
        f"{folder}/{name}": tuple(
            f"{TESTS}/{folder}_ops/test_{name}_{mode}.py" for mode in ("dev", "exp")
        )
        for folder, names in {
            "arith": ("2d_grid", "clamp", "clamp_vec", "vcos", "verf", "vsin", "vtanh"),
            "linalg": ("2d_grid_gemm_dyn", "slice_gemm"),
            "reduction": ("reduce", "reduce_slice"),
            "scan": ("cumsum",),
            "shape_manipulation": ("brc", "brc_fill_dyn", "reshape"),
        }.items()
        for name in names
    },
    "slice_transpose": tuple(
        f"{TESTS}/broken/test_slice_transpose_{mode}.py" for mode in ("dev", "exp")
    ),
    "atomic_add": ("examples/elementwise/atomic_add_dev.py", "examples/elementwise/atomic_add.py"),
    "flash_attention": (
        "examples/flash_attention/flash_attn_npuir_dev.py",
        "examples/flash_attention/flash_attn_npuir.py --seq_len 512",
    ),
    "matmul_exp": ("examples/mixcv/example_mixcv.py", "examples/mixcv/mixcv_mixkernel.py"),
    "sparse_mla_fwd": (
        "examples/deepseek_v32/sparse_mla_fwd.py",
        "examples/deepseek_v32/sparse_mla_fwd_exp.py --seq_len 32 --seq_len_kv 32 --heads 16"
        " --dim 128 --top_k 16 --block_i 16 --block_k 16",
    ),
}
LEAST, MEAN = 0.97, 1.05
_TIME = re.compile(r"^time: ([^:\n]+): core ([\d.]+) us ", re.MULTILINE)


def core_times(root: Path, command: str, timeout: int) -> list[tuple[str, float]]:
    """Kernel and core time, in microseconds, of each launch of a file."""
    file, *arguments = command.split()
    path = root / file
    is_test = file.startswith("testing")
    what = ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", path.name] if is_test else [path]
    run = subprocess.run(
        [Path(sys.executable).with_name("tilewright"), "run", "--time", *what, *arguments],
        cwd=path.parent if is_test else root / "examples",
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    text = run.stdout + run.stderr
    if run.returncode:
        raise RuntimeError(f"{file} ends with {run.returncode}: {text[-400:]}")
    return [(name, float(time)) for name, time in _TIME.findall(text)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keyword", default="")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for a file")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    rows = []
    is_bad = False
    for name, (developer, expert) in PAIRS.items():
        if not re.search(options.keyword, name):
            continue
        try:
            ours, theirs = (
                core_times(options.folder, file, options.timeout) for file in (developer, expert)
            )
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}", flush=True)
            is_bad = True
            continue
        if len(ours) != len(theirs) or not ours:
            print(f"{name}: {len(ours)} launches against {len(theirs)}", flush=True)
            is_bad = True
            continue
        ratios = [their / our for (_, our), (_, their) in zip(ours, theirs, strict=True)]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append({"operator": name, "ratio": mean, "ours": ours, "theirs": theirs})
        print(
            f"{name:32} {len(ratios):3} launches  Developer {sum(t for _, t in ours):10.2f} us  "
            f"Expert {sum(t for _, t in theirs):10.2f} us  ratio {mean:5.2f}  "
            f"least {min(ratios):5.2f}{'  BELOW' if min(ratios) < LEAST else ''}",
            flush=True,
        )
        is_bad |= min(ratios) < LEAST
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if not rows:
        return 1
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    print(f"{len(rows)} operators, geometric mean {mean:.3f} (>= {MEAN}), each >= {LEAST}")
    return int(is_bad or mean < MEAN)


if __name__ == "__main__":
    sys.exit(main())
