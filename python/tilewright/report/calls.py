# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of a kernel's call, kept so that the call can be made again."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import pickle
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dtypes import dtype as as_dtype

#: Largest relative difference that rounding in another order explains, by element type.
TOLERANCE = {
    **{"float64": 1e-4, "float32": 2e-3, "float16": 1e-2, "bfloat16": 4e-2},
    **{"float8_e4m3fn": 0.15, "float8_e5m2": 0.3},
}
FIRST_NPU_STAGE = "convert-tile-to-npu"


def tensor_bytes(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a tensor; elements of four bits lie two in a byte."""
    return (math.prod(shape) * as_dtype(dtype).bits + 7) // 8


@dataclass(frozen=True)
class Copies:
    """Arguments as the core takes them, and the memory that they point to."""

    values: list[Any]
    memory: dict[int, Any]


@dataclass
class Saved:
    """The arguments of one call as the core takes them, with copies of their contents.

    Arguments that share an address share a copy. `results` has the contents after the call of the
    tensors that it changed, by position.
    """

    arguments: list[Any]
    contents: dict[int, bytes] = field(default_factory=dict)  #: by address
    results: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, arguments: Sequence[Any]) -> Saved:
        """Copies what the arguments hold now."""
        saved = cls(list(arguments))
        for _, pointer, count in saved.tensors():
            if len(saved.contents.get(pointer, b"")) < count:
                saved.contents[pointer] = ctypes.string_at(pointer, count)
        return saved

    def tensors(self) -> list[tuple[int, int, int]]:
        """(position, address, bytes) of the tensors that have memory."""
        return [
            (position, value[0], tensor_bytes(value[1], value[2]))
            for position, value in enumerate(self.arguments)
            if isinstance(value, tuple) and value[0] and 0 not in value[1]
        ]

    def finish(self) -> None:
        """Keeps what the call has changed; the tensors must still be there."""
        for position, pointer, count in self.tensors():
            now = ctypes.string_at(pointer, count)
            if now != self.contents[pointer][:count]:
                self.results[position] = now

    def copies(self) -> Copies:
        """Arguments of another call with the same contents."""
        made = {p: ctypes.create_string_buffer(c, len(c)) for p, c in self.contents.items()}
        values = [
            (ctypes.addressof(made[value[0]]), *value[1:])
            if isinstance(value, tuple) and value[0] in made
            else value
            for value in self.arguments
        ]
        return Copies(values, made)

    def shapes(self) -> Copies:
        """Arguments without memory, for a run without data."""
        return Copies([(0, *v[1:]) if isinstance(v, tuple) else v for v in self.arguments], {})

    def run(self, core: Any, **options: Any) -> tuple[dict[str, Any], dict[int, bytes]]:
        """Runs a kernel on copies of the arguments: (its report, all tensors after it)."""
        copies = self.copies()
        report = core.run(copies.values, **options)
        made = copies.memory
        return report, {at: made[pointer].raw[:count] for at, pointer, count in self.tensors()}

    def difference(self, after: dict[int, bytes]) -> tuple[float, bool]:
        """Largest difference of results, relative to the largest value of the tensor, and whether
        rounding explains it."""
        worst, fine = 0.0, True
        for position, have in after.items():
            want = self.results.get(position)
            if want is None:
                _, pointer, count = next(t for t in self.tensors() if t[0] == position)
                want = self.contents[pointer][:count]
            if want == have:
                continue
            dtype = self.arguments[position][2]
            found = relative_difference(want, have, dtype)
            worst = max(worst, found)
            fine = fine and found <= TOLERANCE.get(dtype, 0.0)
        return worst, fine


def relative_difference(want: bytes, have: bytes, dtype: str) -> float:
    """Largest |want - have| over the largest |want|; infinite where only one is a number."""
    import numpy as np

    if dtype not in TOLERANCE:
        return 0.0 if want == have else math.inf
    kind = np.dtype(dtype) if hasattr(np, dtype) else _narrow(dtype)
    left, right = (np.frombuffer(data, kind).astype(np.float64) for data in (want, have))
    with np.errstate(invalid="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        gap = np.where(same, 0.0, np.abs(left - right))
        scale = float(np.nanmax(np.where(np.isinf(left), 0.0, np.abs(left)), initial=0.0))
    worst = float(gap.max(initial=0.0))
    if worst == 0.0:
        return 0.0
    return worst / scale if scale and math.isfinite(worst) else math.inf


def _narrow(dtype: str) -> Any:
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, dtype))


def same_bits(want: bytes, have: bytes, dtype: str) -> bool:
    """Equal, with one pattern for all NaNs: which NaN an operation gives is left open."""
    return want == have or relative_difference(want, have, dtype) == 0.0


@dataclass
class Agreement:
    """How a call's results compare with the reference interpreter.

    `exact`: the same bits as the program after its last stage that the interpreter runs; None when
    that was not finished, `reason` says why. `source` is the largest relative difference from the
    source's own meaning, None likewise.
    """

    exact: bool | None = None
    source: float | None = None
    reason: str = ""


def agreement(core: Any, saved: Saved, seconds: float) -> Agreement:
    """Compares in a process of its own, which ends after `seconds`."""
    stages = list(core.stages())
    if FIRST_NPU_STAGE not in stages:
        return Agreement(reason="the kernel is only interpreted")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            for stage in (stages[stages.index(FIRST_NPU_STAGE) - 1], stages[0]):
                report, after = saved.run(core, engine="interpreter", stage=stage)
                found = _compared(saved, after) if report["ok"] else report["error"]
                os.write(write, pickle.dumps(found))
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    found = _read(read, child, seconds)
    if not found or isinstance(found[0], str):
        late = f"not finished in {seconds:g} s"
        return Agreement(reason=f"the interpreter stopped: {found[0]}" if found else late)
    exact, _ = found[0]
    source = found[1][1] if len(found) > 1 and not isinstance(found[1], str) else None
    return Agreement(exact, source)


def _compared(saved: Saved, after: dict[int, bytes]) -> tuple[bool, float]:
    exact = True
    for position, have in after.items():
        _, pointer, count = next(t for t in saved.tensors() if t[0] == position)
        want = saved.results.get(position, saved.contents[pointer][:count])
        exact = exact and same_bits(want, have, saved.arguments[position][2])
    return exact, saved.difference(after)[0]


def _read(descriptor: int, child: int, seconds: float) -> list[Any]:
    """What the child has sent; it is ended when its time is up."""
    end, found = time.monotonic() + seconds, []
    with os.fdopen(descriptor, "rb") as stream:
        while (left := end - time.monotonic()) > 0:
            if not select.select([stream], [], [], left)[0]:
                break
            try:
                found.append(pickle.load(stream))
            except (EOFError, pickle.UnpicklingError):
                break
            if len(found) == 2:
                break
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return found
