# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled program through its text: npu -> text -> npu, and npu -> HIVM -> npu.

TILEWRIGHT_TEST_IDENTITIES says of how many programs one is taken: 8 by default, 1 for all.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any

from tilewright import env
from tilewright.errors import CompileError
from tilewright.hivm import launches, readback

Arguments = Callable[[], tuple[list[Any], dict[str, Any]]]


def is_chosen(text: str) -> bool:
    """Whether a program is one of the sample, which does not change from run to run."""
    return zlib.crc32(text.encode()) % int(os.environ.get("TILEWRIGHT_TEST_IDENTITIES", "8")) == 0


def results(core: Any, arguments: list[Any]) -> float:
    """Runs a program; its cycles. It must end well and without findings."""
    report = core.run(arguments, time=True, check=True)
    assert report["ok"], report["error"]
    assert not report["findings"], report["findings"][0]["message"]
    return sum(launch["cycles"] for launch in report["launches"])


def through_npu(kernel: Any, arguments: Arguments) -> tuple[dict[str, Any], float, float]:
    """The tensors that the program has left that was read from its own text, and the cycles of the
    program and of that one."""
    values, _ = arguments()
    cycles = results(kernel.core, values)
    text = kernel.core.text("npu")
    values, tensors = arguments()
    core = readback.read(text, f"{kernel.name}.mlir", env.compile_settings().chip)
    return tensors, cycles, results(core, values)


def through_hivm(kernel: Any, arguments: Arguments) -> dict[str, Any] | None:
    """The tensors that the program has left that was read from planned HIVM text; None where a
    statement has none, and with `strict`, where functions that HIVM lacks stay as they are until
    they are exported."""
    if not kernel.core.hivm_target or env.compile_settings().strict:
        return None
    try:
        texts = launches(kernel.core, "planned")
    except CompileError:
        return None
    if any('"hivm.hir.debug"' in text["text"] for text in texts):
        return None  # prints and assertions are not read
    values, tensors = arguments()
    for text in texts:
        core = readback.read(text["text"], text["name"], env.compile_settings().chip)
        results(core, readback.launch_arguments(text, core, kernel.parameters, values))
    return tensors
