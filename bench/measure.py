# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the benchmarks measure: CPU time, the smallest of several tries.

That is what other work on the machine disturbs least.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
#: One thread everywhere: two threads on a busy machine measure its scheduler. Compiling means
#: compiling: what is on disk is used only where that is the question.
ONE_THREAD = {
    "TILEWRIGHT_CACHE": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TILEWRIGHT_NUM_THREADS": "1",
}
#: These change which of its kernels OpenBLAS takes.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@contextmanager
def setting(**variables: Any) -> Iterator[None]:
    """Sets TILEWRIGHT_<NAME> inside the block."""
    names = {f"TILEWRIGHT_{name.upper()}": str(value) for name, value in variables.items()}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_thread() -> None:
    """Call before NumPy or PyTorch is imported."""
    os.environ.update(ONE_THREAD)
    for name in UNSET:
        os.environ.pop(name, None)


def best(call: Callable[[], Any], tries: int = 7, seconds: float = 2.0) -> float:
    """CPU milliseconds of the best call after a first one to warm up."""
    call()
    found = float("inf")
    end = time.perf_counter() + seconds
    for turn in range(tries):
        start = time.process_time()
        call()
        found = min(found, time.process_time() - start)
        if turn >= 2 and time.perf_counter() > end:
            break
    return found * 1e3


@dataclass
class Process:
    """Of the best of several fresh processes."""

    cpu: float  #: milliseconds, user and system
    wall: float
    megabytes: float  #: largest resident set
    output: str


def fresh(
    command: Sequence[str], tries: int = 5, environment: dict[str, str] | None = None
) -> Process | None:
    """Runs a command several times; None when it fails."""
    variables = {k: v for k, v in os.environ.items() if k not in UNSET}
    variables |= ONE_THREAD | (environment or {})
    found: Process | None = None
    for _ in range(tries):
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
        )
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = (time.perf_counter() - start) * 1e3
        if process.returncode != 0:
            return None
        cpu = (usage.ru_utime + usage.ru_stime) * 1e3
        if found is None or cpu < found.cpu:
            found = Process(cpu, wall, usage.ru_maxrss / 1024, output)
    return found


def python(
    code: str, *arguments: str, tries: int = 5, executable: str = sys.executable
) -> Process | None:
    """Runs Python code in fresh processes that find the modules of this folder."""
    path = os.pathsep.join(filter(None, [str(BENCH), os.environ.get("PYTHONPATH", "")]))
    return fresh([executable, "-c", code, *arguments], tries, {"PYTHONPATH": path})


def load() -> str:
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (5 min: {five:.1f}) on {os.cpu_count()} CPUs"
