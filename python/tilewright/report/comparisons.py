# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the comparisons of a script with its own reference, while it runs."""

from __future__ import annotations

import functools
import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: (module, attributes that lead to the function) of what compares and raises.
RAISING = (
    ("torch.testing", "assert_close"),
    ("torch.testing", "assert_allclose"),
    ("numpy.testing", "assert_allclose"),
    ("numpy.testing", "assert_array_equal"),
    ("numpy.testing", "assert_array_almost_equal"),
    ("tilewright.profiler", "Profiler.assert_allclose"),
    ("tilewright.profiler", "Profiler.manual_assert_close"),
    ("tilewright.utils.tensor", "torch_assert_close"),
    ("tilewright.testing", "torch_assert_close"),
)
#: What says yes or no.
ANSWERING = (("torch", "allclose"), ("torch", "equal"), ("numpy", "allclose"))


class Comparisons:
    """What a script has compared: passed and failed ones by (name, line of the script)."""

    def __init__(self, script: str) -> None:
        self.names = {script, str(Path(script).absolute()), str(Path(script).resolve())}
        self.passed: Counter[tuple[str, int]] = Counter()
        self.failed: Counter[tuple[str, int]] = Counter()
        self._depth = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Inside, the functions are counted. Those of PyTorch need it to be imported already."""
        undo = []
        for module, path in (*RAISING, *ANSWERING):
            if module.startswith("torch") and "torch" not in sys.modules:
                continue
            holder: Any = importlib.import_module(module)
            *owners, name = path.split(".")
            for owner in owners:
                holder = getattr(holder, owner)
            plain = getattr(holder, name, None)
            if plain is not None:
                setattr(holder, name, self._counted(plain, path, (module, path) in ANSWERING))
                undo.append((holder, name, plain))
        try:
            yield
        finally:
            for holder, name, plain in undo:
                setattr(holder, name, plain)

    def _counted(self, plain: Any, name: str, answers: bool) -> Any:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            good = False
            try:
                found = plain(*args, **kwargs)
                good = bool(found) or not answers
                return found
            finally:
                self._depth -= 1
                if not self._depth:
                    (self.passed if good else self.failed)[name, self._line()] += 1

        return call

    def _line(self) -> int:
        """The line of the script that led here; 0 when none did."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename in self.names:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def text(self) -> str:
        """One line for the report."""
        if not self.passed and not self.failed:
            return "the script has compared nothing by a function known here"
        parts = []
        for what, found in (("passed", self.passed), ("failed", self.failed)):
            if found:
                names = ", ".join(
                    f"{name} in line {line}" if line else name for name, line in sorted(found)
                )
                parts.append(f"{sum(found.values())} {what} ({names})")
        return "comparisons of the script: " + "; ".join(parts)
