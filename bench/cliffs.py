# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks for cliffs: what one more element in a dimension costs, per unit of work.

    python bench/cliffs.py [--count 200] [--family NAME] [--seed 0]

Random shapes of each family are compiled and timed without data, as they are and with one more in
each dimension in turn. A step that takes more than 1.25 times as long per unit of work is a cliff.
Shapes with fewer than four waves of blocks are apart: one more block there adds a wave, and so more
than a quarter, whatever the compiler does.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from measure import one_thread, setting

LIMIT = 1.25
LEAST_WAVES = 4


@dataclass(frozen=True)
class Family:
    """`make` compiles a kernel for a shape; `work` counts what it must do at least."""

    make: Callable[..., Any]
    draw: Callable[[random.Random], tuple[int, ...]]
    work: Callable[..., float]
    dims: str


@dataclass(frozen=True)
class Step:
    """From a shape to its neighbour with one more in `dim`."""

    shape: tuple[int, ...]
    dim: int
    cycles: tuple[float, float]
    waves: int
    ratio: float  #: of the times per unit of work

    def text(self, dims: str) -> str:
        shape = " x ".join(str(size) for size in self.shape)
        cycles = f"{self.cycles[0]:.0f} to {self.cycles[1]:.0f} cycles"
        return f"{shape}, {dims[self.dim]} + 1: {self.ratio:.2f} ({cycles}, {self.waves} waves)"


def near(random: random.Random, low: int, high: int) -> int:
    """Of any magnitude alike; half of them at or near a multiple of 64, where tiles end."""
    size = round(math.exp(random.uniform(math.log(low), math.log(high))))
    if random.random() < 0.5:
        size = max(low, size // 64 * 64 + random.choice([0, 0, -1, 1]))
    return size


def families() -> dict[str, Family]:
    import workloads

    def gemm(random: random.Random) -> tuple[int, ...]:
        return near(random, 512, 8192), near(random, 512, 8192), near(random, 64, 4096)

    def heads(random: random.Random) -> tuple[int, ...]:
        return random.randint(4, 40), near(random, 512, 4096)

    def rows(random: random.Random) -> tuple[int, ...]:
        return near(random, 1024, 65536), near(random, 64, 4096)

    def plane(random: random.Random) -> tuple[int, ...]:
        return near(random, 512, 8192), near(random, 512, 8192)

    return {
        "gemm": Family(
            lambda m, n, k: workloads.matmul(m, n, k, 128, 256, 64),
            gemm,
            lambda m, n, k: m * n * k,
            "MNK",
        ),
        "attention": Family(
            lambda h, s: workloads.attention(h, s, 128, 128, 128),
            heads,
            lambda h, s: h * s * s,
            "HS",
        ),
        "softmax": Family(lambda m, n: workloads.softmax(m, n, 8), rows, lambda m, n: m * n, "MN"),
        "rms_norm": Family(
            lambda m, n: workloads.rms_norm(m, n, 8), rows, lambda m, n: m * n, "MN"
        ),
        "elementwise": Family(
            lambda m, n: workloads.add_gelu(m, n, 64, 128), plane, lambda m, n: m * n, "MN"
        ),
    }


def timed(kernel: Any) -> tuple[float, int]:
    """Cycles, and blocks of the core that has most."""
    report = kernel.core.run(kernel._without_data(()), time=True, data="never")
    if not report["ok"]:
        raise RuntimeError(report["error"])
    launches = report["launches"]
    return sum(launch["cycles"] for launch in launches), max(map(waves_of, launches))


def waves_of(launch: dict[str, Any]) -> int:
    return int(launch["core_blocks"])


def steps(family: Family, shape: tuple[int, ...]) -> list[Step]:
    cycles, waves = timed(family.make(*shape))
    found = []
    for dim in range(len(shape)):
        other = tuple(size + (number == dim) for number, size in enumerate(shape))
        longer, _ = timed(family.make(*other))
        ratio = longer / cycles * family.work(*shape) / family.work(*other)
        found.append(Step(shape, dim, (cycles, longer), waves, ratio))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="shapes of each family")
    parser.add_argument("--family", action="append")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    one_thread()
    cliffs = 0
    with setting(sensitivity=0):
        for name, family in families().items():
            if options.family and name not in options.family:
                continue
            draw = random.Random(options.seed)
            found: list[Step] = []
            for _ in range(options.count):
                found += steps(family, family.draw(draw))
            found.sort(key=lambda step: -step.ratio)
            large = [step for step in found if step.waves >= LEAST_WAVES]
            small = [step for step in found if step.waves < LEAST_WAVES]
            over = [step for step in large if step.ratio > LIMIT]
            cliffs += len(over)
            print(f"{name}: {len(large)} steps, {len(over)} beyond {LIMIT}", end="")
            print(f"; apart, below {LEAST_WAVES} waves: {len(small)}", flush=True)
            for step in (over or large)[:8]:
                print(f"  {step.text(family.dims)}")
            for step in small[:2]:
                print(f"  apart: {step.text(family.dims)}", flush=True)
    return int(cliffs > 0)


if __name__ == "__main__":
    raise SystemExit(main())
