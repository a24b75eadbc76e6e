# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation test of synchronisation: breaks each flag, barrier and cross-core signal in turn.

    python bench/mutation.py matmul_softmax attention [--seeds 20] [--level 2] [--verbose]

A mutant drops one synchronisation instruction of the compiled program. It is *reported* when the
checker finds something or the run stops (deadlock), *redundant* when holding back what that
instruction orders for 10^6 cycles at every occurrence changes neither the result nor the findings
of the checker, and *missed* otherwise. Mutants that the checker calls racy are run out of program
order for some seeds; how many of them give a wrong result or deadlock is the third figure.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import workloads

from harness import Outcome, Program, bits, compile_kernel, randn
from kernels import attention, example
from test_elementwise import add
from test_gemm import bias_relu
from test_reduce import online_softmax

RACES = ("read-after-write", "write-after-read", "write-after-write")
#: Kernel -> (function, inputs as shapes or shapes with an element type, fixed arguments). Enough
#: blocks that each core has two at least once blocks have got more rows, and every inner loop turns
#: several times.
KERNELS: dict[str, Any] = {
    "matmul": (
        lambda: workloads.matmul,
        [(352, 2048), (2048, 128)],
        {"M": 352, "N": 128, "K": 2048, "block_M": 32, "block_N": 32, "block_K": 32},
    ),
    "gemm_bias_relu": (
        lambda: bias_relu,
        [(5632, 96), (96, 128), ((128,), np.float32)],
        {"M": 5632, "N": 128, "K": 96, "bm": 32, "bn": 32, "bk": 32},
    ),
    "matmul_softmax": (
        lambda: example("matmul_softmax").matmul_softmax,
        [(1408, 96), (96, 96)],
        {"block_M": 32, "block_N": 32, "block_K": 32},
    ),
    "attention": (
        lambda: attention,
        [(4, 352, 32), (4, 96, 32), (4, 96, 32)],
        {"heads": 4, "block_q": 32, "block_k": 32, "causal": False, "stages": 2},
    ),
    "attention_causal": (
        lambda: attention,
        [(3, 512, 32), (3, 512, 32), (3, 512, 32)],
        {"heads": 3, "block_q": 32, "block_k": 32, "causal": True, "stages": 2},
    ),
    "add": (
        lambda: add,
        [(1408, 1024), (1408, 1024)],
        {"bm": 16, "bn": 32, "dtype": "float16"},
    ),
    "softmax": (
        lambda: workloads.softmax,
        [((704, 96), np.float32)],
        {"M": 704, "N": 96, "block_M": 8},
    ),
    "online_softmax": (lambda: online_softmax, [(704, 96)], {"rows": 8, "cols": 32}),
    "rms_norm": (
        lambda: workloads.rms_norm,
        [((704, 96), np.float32)],
        {"M": 704, "N": 96, "block_M": 8},
    ),
    "column_sum": (
        lambda: workloads.column_sum,
        [((64, 51200), np.float32)],
        {"M": 64, "N": 51200, "block_M": 16, "block_N": 256},
    ),
}


@dataclass
class Mutant:
    """What became of one synchronisation instruction."""

    number: int
    text: str
    location: Any
    verdict: str  #: reported, redundant or missed
    kinds: set[str] = field(default_factory=set)
    seed: int | None = None  #: the first seed with a visible effect

    @property
    def is_racy(self) -> bool:
        return any(kind in RACES for kind in self.kinds)


@dataclass
class Score:
    """All mutants of one kernel."""

    kernel: str
    mutants: list[Mutant]

    def count(self, verdict: str) -> int:
        return sum(m.verdict == verdict for m in self.mutants)

    @property
    def known(self) -> float:
        """Share that is reported or proved redundant."""
        return 1 - self.count("missed") / max(len(self.mutants), 1)

    @property
    def redundant(self) -> float:
        return self.count("redundant") / max(len(self.mutants), 1)

    @property
    def visible(self) -> float:
        """Of the racy mutants, the share with a wrong result or deadlock under some seed."""
        racy = [m for m in self.mutants if m.is_racy]
        return sum(m.seed is not None for m in racy) / max(len(racy), 1)

    def text(self) -> str:
        return (
            f"{self.kernel}: {len(self.mutants)} mutants, {self.count('reported')} reported, "
            f"{self.count('redundant')} redundant, {self.count('missed')} missed; reported or "
            f"redundant {100 * self.known:.1f} % (>= 98), redundant {100 * self.redundant:.1f} % "
            f"(<= 10), racy with a visible effect {100 * self.visible:.1f} % (>= 80)"
        )


def is_same(want: Outcome, have: Outcome) -> bool:
    return bool(have.report["ok"]) and all(
        (bits(a) == bits(have.tensors[n])).all() for n, a in want.tensors.items()
    )


def judge(program: Program, good: Outcome, number: int, seeds: int) -> Mutant:
    text, location = program.kernel.sync_points[number]
    dropped = program.run(check=True, mutant=number)
    kinds = {f["kind"] for f in dropped.report["findings"]}
    mutant = Mutant(number, text, location, "reported", kinds)
    if not kinds and dropped.report["ok"]:
        held = program.run(check=True, mutant=number, hold_producer=True)
        quiet = is_same(good, held) and not held.report["findings"]
        mutant.verdict = "redundant" if quiet and is_same(good, dropped) else "missed"
    if mutant.is_racy:
        for seed in range(seeds):
            if not is_same(good, program.run(delay_seed=seed, mutant=number)):
                mutant.seed = seed
                break
    return mutant


def compiled(name: str, level: int = 2) -> Program:
    """A kernel of KERNELS with its inputs."""
    make, shapes, fixed = KERNELS[name]
    inputs = []
    for number, entry in enumerate(shapes):
        shape, dtype = entry if isinstance(entry[0], tuple) else (entry, np.float16)
        inputs.append(randn(shape, dtype, number + 1))
    return Program(compile_kernel(make(), inputs, fixed, level), inputs)


def score(name: str, seeds: int = 20, level: int = 2, every: int = 1) -> Score:
    """Judges every `every`-th mutant of a kernel."""
    program = compiled(name, level)
    good = program.good(check=True)
    points = range(0, len(program.kernel.sync_points), every)
    return Score(name, [judge(program, good, number, seeds) for number in points])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="show every mutant")
    options = parser.parse_args()
    bad = False
    for name in options.kernels or KERNELS:
        start = time.perf_counter()
        found = score(name, options.seeds, options.level)
        print(f"{found.text()}  [{time.perf_counter() - start:.1f} s]")
        bad |= found.known < 0.98 or found.redundant > 0.1 or found.visible < 0.8
        for mutant in found.mutants:
            hidden = mutant.is_racy and mutant.seed is None
            if options.verbose or mutant.verdict != "reported" or hidden:
                state = ", no visible effect" if hidden else ""
                place = f"line {mutant.location[1]}" if mutant.location else "no line"
                print(
                    f"  {mutant.number:3} {mutant.text} ({place}): {mutant.verdict}{state} "
                    f"{' '.join(sorted(mutant.kinds))}"
                )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
