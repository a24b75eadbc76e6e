# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near to its limits each of a list of kernels runs, without data.

    python bench/shares.py [KERNEL ...] [--pessimistic] [--json FILE]

Three shares of the core time: of the frozen roofline (work alone), of the bound of the schedule
that the compiler chose (the busiest pipe, mean over the cores that ran), and of the scalar pipe,
which should be small. `--pessimistic` compiles and runs each kernel a second time on a chip with
every uncertain constant at the end of its range that costs more, and says how far the share of the
bound falls.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import workloads

from tilewright.kernel import Timing
from tilewright.report import explain, session

CHIPS = workloads.ROOT / "tilewright" / "machine" / "chips"
Make = Callable[[], Any]


def gemm(m: int, n: int, k: int, *tiles: int, batch: int = 0) -> Make:
    if batch:
        return lambda: workloads.batched_matmul(batch, m, n, k, *tiles)
    return lambda: workloads.matmul(m, n, k, *tiles)


def attention(length: int, causal: bool) -> Make:
    return lambda: workloads.attention(1, length, 128, 128, 128, causal=causal)


def fused() -> Any:
    sizes = {"M": 4000, "N": 4096, "K": 512, "block_M": 200, "block_N": 128, "block_K": 512}
    return workloads.example("matmul_softmax").matmul_softmax.compile(**sizes)


#: Name -> (chip, kernel, least share of the bound, least share of the roofline).
KERNELS: dict[str, tuple[str, Make, float | None, float | None]] = {
    **{
        f"gemm_4096_{'_'.join(map(str, tiles))}_{chip}": (
            chip,
            gemm(4096, 4096, 4096, *tiles),
            0.97,
            0.83 if chip == "910b3" else None,
        )
        for tiles in ((128, 128, 32), (128, 256, 64))
        for chip in ("910b3", "910b2", "a3")
    },
    "gemm_8192": ("910b2", gemm(8192, 8192, 8192, 128, 256, 64), 0.93, None),
    "gemm_8_x_4096": ("910b2", gemm(4096, 4096, 4096, 128, 256, 64, batch=8), 0.93, None),
    "gemm_2048": ("910b2", gemm(2048, 2048, 2048, 128, 256, 64), 0.93, None),
    "gemm_1000_1333_777": ("910b2", gemm(1000, 1333, 777, 128, 128, 32), 0.85, None),
    "gemm_1_4096_4096": ("910b2", gemm(1, 4096, 4096, 16, 128, 64), 0.85, None),
    "gemm_16_4096_4096": ("910b2", gemm(16, 4096, 4096, 16, 128, 64), 0.85, None),
    "gemm_64_4096_4096": ("910b2", gemm(64, 4096, 4096, 64, 128, 64), 0.85, None),
    **{
        f"attention_{length}{'_causal' * causal}": ("910b3", attention(length, causal), 0.9, None)
        for length in (2048, 32768)
        for causal in (False, True)
    },
    "matmul_softmax_fused": ("910b3", fused, 0.9, None),
    "softmax_4096": ("910b2", lambda: workloads.softmax_of_half(4096, 4096, 1), None, 0.85),
    "rms_norm_4096": ("910b2", lambda: workloads.weighted_rms_norm(4096, 4096, 1), None, 0.85),
    "add_rms_norm_4096": ("910b2", lambda: workloads.add_rms_norm(4096, 4096, 1), None, 0.85),
}


def pessimistic(chip: str, make: Make, folder: Path) -> Path:
    """A chip file with each uncertain constant at the end where the kernel is slower."""
    root = json.loads((CHIPS / f"{chip}.json").read_text(encoding="utf-8"))
    with chip_is(chip):
        (launch,) = make().simulate(timing_only=True).launches
    for effect in launch.sensitivity.effects:
        low, high = effect.core_us
        entry = root[effect.constant]
        entry["value"] = entry["range"][low < high]  # a whole number stays one
    path = folder / f"{chip}-pessimistic.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


@contextmanager
def chip_is(chip: str) -> Iterator[None]:
    before = os.environ.get("TILEWRIGHT_CHIP")
    os.environ["TILEWRIGHT_CHIP"] = chip
    try:
        yield
    finally:
        if before is None:
            del os.environ["TILEWRIGHT_CHIP"]
        else:
            os.environ["TILEWRIGHT_CHIP"] = before


def measure(make: Make, chip: str) -> dict[str, Any]:
    """The single launch of a kernel, as `tilewright explain --json` tells it."""
    import numpy as np

    explainer = explain.Explainer()
    with chip_is(chip), Timing(with_data=False):
        kernel = make()
        parameters = [kernel.parameters[position] for position in kernel.inputs]
        arguments = [np.zeros(p["shape"], p["dtype"]) for p in parameters]
        session.observers.append(explainer)
        try:
            kernel(*arguments)
        finally:
            session.observers.remove(explainer)
    (launch,) = json.loads(explainer.to_json())["kernels"][0]["launches"]
    return launch


def line(name: str, launch: dict[str, Any], bars: tuple[float | None, float | None]) -> str:
    words = []
    for kind, share, bar in (
        ("bound", launch["bound"]["share"], bars[0]),
        ("roofline", launch["roofline"]["share"], bars[1]),
    ):
        verdict = "" if bar is None else " met" if share >= bar else f" MISSED {bar:.0%}"
        words.append(f"{kind} {share:6.1%}{verdict}")
    scalar = max(pipes.get("S", 0.0) for pipes in launch["utilisation"].values())
    return (
        f"{name:28} {launch['core_us']:9.1f} us  {'  '.join(words)}  "
        f"({launch['bound']['pipe']})  S {scalar:.1%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--pessimistic", action="store_true", help="also on the dear chip")
    parser.add_argument("--json", type=Path, help="write what was found")
    options = parser.parse_args()
    if unknown := set(options.kernels) - set(KERNELS):
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(KERNELS)}")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.kernels or KERNELS:
            chip, make, *bars = KERNELS[name]
            found[name] = launch = measure(make, chip)
            text = line(name, launch, (bars[0], bars[1]))
            if options.pessimistic:
                worst = measure(make, str(pessimistic(chip, make, Path(folder))))
                found[f"{name}_pessimistic"] = worst
                lower = 1 - worst["bound"]["share"] / launch["bound"]["share"]
                text += f"  pessimistic {worst['core_us']:.1f} us, share {lower:.1%} lower"
            print(text, flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
