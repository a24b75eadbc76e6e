# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels on the simulator, without data, and reads their times."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilings import KERNELS, Kernel

ROOT = Path(__file__).resolve().parents[2]
SIMULATOR = ROOT / os.environ.get("TILEWRIGHT_BUILD", "build") / "bin" / "tilewright-sim"


@dataclass(frozen=True)
class Times:
    """What the model says about a kernel: microseconds, and shares per pipe.

    `busy` has keys like "aic.MTE2": busy microseconds, mean over the cores that ran.
    """

    core: float
    launch_task: float
    launch_kernel: float
    busy: dict[str, float]

    def time(self, profile: str) -> float:
        """Microseconds as the profiler of `profile` counts them: task, kernel or core."""
        launch = {"task": self.launch_task, "kernel": self.launch_kernel, "core": 0.0}
        return self.core + launch[profile]

    def share(self, pipe: str) -> float:
        """Per cent of the core time."""
        return 100 * self.busy[pipe] / self.core


def simulate(text: str, chip: str, options: Sequence[str]) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = [str(SIMULATOR), file.name, "--chip", chip, "--timing-only", "--json", *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode or not result.stdout:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stderr}")
    return json.loads(result.stdout)["launches"][0]


def combined(kernel: Kernel, runs: Sequence[dict[str, Any]]) -> Times:
    """Times of a kernel from the runs of its parts."""
    busy = {
        f"{core.lower()}.{pipe}": kernel.combine(
            [run["core_us"] * run["utilisation"][core][pipe] for run in runs]
        )
        for core, pipes in runs[0]["utilisation"].items()
        for pipe in pipes
    }
    return Times(
        kernel.combine([run["core_us"] for run in runs]),
        runs[0]["launch_us"],
        runs[0]["launch_warm_us"],
        busy,
    )


def times(name: str, alternatives: Sequence[dict[str, float]] = (), chip: str = "") -> list[Times]:
    """Times of kernel `name`, then with each of the alternative sets of constants."""
    kernel = KERNELS[name]
    options = [f"--constant={text}" for text in kernel.constants]
    options += [
        "--alternative=" + ",".join(f"{key}={value}" for key, value in constants.items())
        for constants in alternatives
    ]
    runs = [simulate(text, chip or kernel.chip, options) for text in kernel.texts()]
    return [
        combined(kernel, [r if i == 0 else r["alternatives"][i - 1] for r in runs])
        for i in range(len(alternatives) + 1)
    ]


def all_times(
    names: Iterable[str], alternatives: Sequence[dict[str, float]] = (), jobs: int = 2
) -> dict[str, list[Times]]:
    """`times` of several kernels, a few at once."""
    ordered = sorted(set(names))
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda name: times(name, alternatives), ordered)
        return dict(zip(ordered, found, strict=True))
