# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels of this folder share: running one call, comparing it, and saying how it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.report import session


@dataclass(frozen=True)
class Row:
    """How one kernel did: largest difference from its reference over the reference's largest
    value, predicted microseconds of the cores, and shares of the roofline and of the bound."""

    name: str
    difference: float
    core_us: float
    roofline: float
    bound: float
    pipe: str

    def __str__(self) -> str:
        return (
            f"{self.name}: differs by {self.difference:.1e} of the largest value; "
            f"{self.core_us:.2f} us, {self.roofline:.0%} of the roofline, "
            f"{self.bound:.0%} of the bound ({self.pipe})"
        )


class Launches:
    """Collects the launches of a call (see `tilewright.report.session`)."""

    wants_limits = True

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        pass

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        self.found += report["launches"]


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest value of `expected`."""
    left, right = (np.asarray(x).astype(np.float64) for x in (found, expected))
    if left.shape != right.shape:
        raise SystemExit(f"the result has shape {left.shape}, its reference {right.shape}")
    return float(np.abs(left - right).max() / max(np.abs(right).max(), 1e-30))


def show(
    name: str, call: Callable[[], Any], expected: Any, tolerance: float, quiet: bool = False
) -> Row:
    """Runs `call`, compares what it returns with `expected` (an array or a tuple of them), and
    prints a line. Stops the program where they differ by more than `tolerance`."""
    launches = Launches()
    session.observers.append(launches)
    try:
        found = call()
    finally:
        session.observers.remove(launches)
    pairs = (
        zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    )
    worst = max(difference(*pair) for pair in pairs)
    if not worst <= tolerance:
        raise SystemExit(f"{name}: differs from its reference by {worst:.1e}, allowed {tolerance}")
    core_us = sum(x["microseconds"] for x in launches.found)
    limits = [x["limits"] for x in launches.found]
    roofline = sum(max(x["cube_us"], x["memory_us"]) for x in limits)
    bound = sum(x["pipe_us"] for x in limits)
    pipe = max(limits, key=lambda x: x["pipe_us"])["pipe"]
    row = Row(name, worst, core_us, roofline / core_us, bound / core_us, pipe)
    if not quiet:
        print(row)
    return row
