# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel printed as Python of its program, compiled again, and held against itself."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path
from typing import Any

from harness import Program, same_bits


def module_of(source: str, name: str = "expert") -> Any:
    """The module of a source text; kernels are read from files."""
    folder = Path(tempfile.mkdtemp(prefix="tilewright-expert-"))
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(f"{name}_{folder.name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain(text: str) -> str:
    """Names as Python spells them: `sum.acc` and `sum_acc` are one, `tmp` and `tmp_0` too."""
    return re.sub(r"_\d+(?![^\W_])", "", re.sub(r"[.\s]+", "_", text))


def shape_of(kernel: Any) -> dict[str, Any]:
    """What a program is made of: places, instructions in order, orders between them."""
    core = kernel.core
    return {
        "tiles": sorted(
            (t["core"], t["space"], t["address"], t["bytes"], t["slots"], _plain(t["name"]))
            for t in core.buffers()
            if t["space"] != "REG"
        ),
        "instructions": [(core_, _plain(text)) for core_, text, *_ in core.statements()],
        "orders": [re.sub(r"id r\d+", "id r", text) for text, *_ in core.sync_points()],
    }


def round_trip(kernel: Any, inputs: Any, interpret: bool = True) -> Any:
    """Checks that a kernel's Expert source is the same program; gives the second kernel."""
    again = module_of(kernel.expert_source()).kernel
    assert shape_of(again) == shape_of(kernel)
    one, two = Program(kernel, inputs), Program(again, inputs)
    first, second = one.good(time=True), two.good(time=True)
    same_bits(first, second, "Expert source")
    # A scalar that trimmed boxes no longer use is computed in the first, but is not written down.
    for one_launch, other in zip(first.report["launches"], second.report["launches"], strict=True):
        assert 0 <= one_launch["cycles"] - other["cycles"] < 16
    two.good(check=True)
    if interpret:
        same_bits(first, two.good(engine="interpreter"), "Expert source, interpreted")
    return again
