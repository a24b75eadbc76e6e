# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes that Expert authors make, each with its corrected twin, from Python source.

Lines marked `# bad` stand in the wrong kernel only, those marked `# good` in the right one only;
`# first` and `# second` mark the two lines that the report must name. The wrong kernel must give
that class of finding and no other, the right one none.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HEAD = """
import tilewright as tilelang
import tilewright.language as T


@tilelang.jit
def kernel(A, B, W):
    A: T.Tensor((64, 64), T.float16)
    B: T.Tensor((64, 64), T.float32)
    W: T.Tensor((64, 64), T.float32)
    C = T.empty((64, 64), T.float32)
"""
VECTOR = """
    with T.Kernel(1, is_npu=True) as (_, _):
        x = T.alloc_ub((64, 64), T.float32)
        y = T.alloc_ub((64, 64), T.float32)
"""
STORE_Y = """
        with T.rs("PIPE_V"):
            T.set_flag("PIPE_MTE3", 0)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_V", 0)
            T.copy(y, C)
    return C
"""
MIXED = """
    with T.Kernel(1, is_npu=True) as (_, half):
        with T.Scope("Cube"):
            a = T.alloc_L1((64, 64), T.float16)
            c = T.alloc_L0C((64, 64), T.float32)
            T.copy(A, a)
"""

CASES: dict[str, tuple[str, str]] = {
    "load without a wait behind it": (
        "read-after-write",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B, x)  # second
            T.set_flag("PIPE_V", 0)  # good
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)  # good
            T.vadd(x, 1.0, y)  # first
"""
        + STORE_Y,
    ),
    "load over a tile that is still read": (
        "write-after-read",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B, x)
            T.set_flag("PIPE_V", 0)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
            T.vadd(x, 1.0, y)  # second
            T.set_flag("PIPE_MTE2", 1)  # good
        with T.rs("PIPE_MTE2"):
            T.wait_flag("PIPE_V", 1)  # good
            T.copy(W, x)  # first
            T.set_flag("PIPE_V", 2)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 2)
"""
        + STORE_Y,
    ),
    "vector work without a barrier": (
        "read-after-write",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B, x)
            T.set_flag("PIPE_V", 0)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
        T.vmul(x, 2.0, x)  # second
        T.pipe_barrier("PIPE_V")  # good
        T.vadd(x, 1.0, y)  # first
"""
        + STORE_Y,
    ),
    "wrong run-time event": (
        "read-after-write",
        VECTOR
        + """
        for i in T.serial(2):
            with T.rs("PIPE_MTE2"):
                T.copy(B[i * 32 : i * 32 + 32, :], x[i * 32 : i * 32 + 32, :])  # second
                T.set_flag("PIPE_V", i)
        for i in T.serial(2):
            with T.rs("PIPE_V"):
                T.wait_flag("PIPE_MTE2", i)  # good
                T.vadd(x[i * 32 : i * 32 + 32, :], 1.0, y[i * 32 : i * 32 + 32, :])  # first
                T.wait_flag("PIPE_MTE2", i)  # bad
"""
        + STORE_Y,
    ),
    "event set twice": (
        "double-set",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B[0:32, :], x[0:32, :])
            T.set_flag("PIPE_V", 0)  # second
            T.copy(B[32:64, :], x[32:64, :])
            T.set_flag("PIPE_V", 0)  # first bad
            T.set_flag("PIPE_V", 1)  # good
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
            T.wait_flag("PIPE_MTE2", 0)  # bad
            T.wait_flag("PIPE_MTE2", 1)  # good
        T.vadd(x, 1.0, y)
"""
        + STORE_Y,
    ),
    "event used again too early": (
        "flag-reuse",
        VECTOR
        + """
        for i in T.serial(2):
            with T.rs("PIPE_MTE2"):
                T.copy(B[i * 32 : i * 32 + 32, :], x[i * 32 : i * 32 + 32, :])
                T.set_flag("PIPE_V", 0)  # first bad
                T.set_flag("PIPE_V", i)  # good
            with T.rs("PIPE_V"):
                T.wait_flag("PIPE_MTE2", 0)  # second bad
                T.wait_flag("PIPE_MTE2", i)  # good
                T.vadd(x[i * 32 : i * 32 + 32, :], 1.0, y[i * 32 : i * 32 + 32, :])
"""
        + STORE_Y,
    ),
    "flag that nobody waits for": (
        "unconsumed-flag",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B, x)
            T.set_flag("PIPE_V", 0)
            T.set_flag("PIPE_V", 3)  # first bad
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
        T.vadd(x, 1.0, y)
"""
        + STORE_Y,
    ),
    "wait that nothing sets": (
        "deadlock",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B, x)
            T.set_flag("PIPE_V", 1)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)  # first bad
            T.wait_flag("PIPE_MTE2", 1)  # good
        T.vadd(x, 1.0, y)
"""
        + STORE_Y,
    ),
    "tile that nothing wrote": (
        "uninitialised-read",
        VECTOR
        + """
        with T.rs("PIPE_MTE2"):
            T.copy(B[0:32, :], x[0:32, :])
            T.copy(B[32:64, :], x[32:64, :])  # good
            T.set_flag("PIPE_V", 0)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
        T.vadd(x, 1.0, y)  # first
"""
        + STORE_Y,
    ),
    "product before its operand": (
        "read-after-write",
        MIXED
        + """
            with T.rs("PIPE_MTE2"):  # good
                T.set_flag("PIPE_MTE1", 0)  # good
            with T.rs("PIPE_MTE1"):  # good
                T.wait_flag("PIPE_MTE2", 0)  # good
            T.gemm(a, a, c, initC=True)  # first
            with T.rs("PIPE_M"):
                T.set_flag("PIPE_FIX", 0)
            with T.rs("PIPE_FIX"):
                T.wait_flag("PIPE_M", 0)
                T.copy(c, C)
    return C
""",
    ),
    "vector core does not wait for the cube": (
        "read-after-write",
        MIXED
        + """
            T.gemm(a, a, c, initC=True)
            with T.rs("PIPE_FIX"):
                T.copy(c, W)  # second
                T.sync_block_set(0)
        with T.Scope("Vector"):
            x = T.alloc_ub((32, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.sync_block_wait(0)  # good
                T.copy(W[half * 32, 0], x)  # first
                T.sync_block_wait(0)  # bad
            T.copy(x, C[half * 32, 0])
    return C
""",
    ),
    "signal before the store is done": (
        "write-after-read",
        MIXED
        + """
            T.gemm(a, a, c, initC=True)
            with T.rs("PIPE_FIX"):
                T.sync_block_set(0)  # bad
                T.copy(c, W)  # first
                T.sync_block_set(0)  # good
        with T.Scope("Vector"):
            x = T.alloc_ub((32, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.sync_block_wait(0)
                T.copy(W[half * 32, 0], x)  # second
            T.copy(x, C[half * 32, 0])
    return C
""",
    ),
    "both vector cores write all rows": (
        "write-after-write",
        MIXED
        + """
            T.gemm(a, a, c, initC=True)
            with T.rs("PIPE_FIX"):
                T.copy(c, W)
                T.sync_block_set(0)
        with T.Scope("Vector"):
            x = T.alloc_ub((32, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.sync_block_wait(0)
                T.copy(W[half * 32, 0], x)
            T.copy(x, C[0, 0])  # first second bad
            T.copy(x, C[half * 32, 0])  # good
    return C
""",
    ),
    "sixteen signals on their way": (
        "counter-overflow",
        MIXED
        + """
            T.gemm(a, a, c, initC=True)
            with T.rs("PIPE_FIX"):
                T.copy(c, C)
                for _ in range(15):
                    T.sync_block_set(0)
                T.sync_block_set(0)  # first bad
                T.sync_block_set(1)  # good
        with T.Scope("Vector"):
            x = T.alloc_ub((32, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.copy(B[half * 32, 0], x)
                for _ in range(15):
                    T.sync_block_wait(0)
                T.sync_block_wait(0)  # bad
                T.sync_block_wait(1)  # good
            T.copy(x, W[half * 32, 0])
    return C
""",
    ),
    "cores that wait for each other": (
        "deadlock",
        MIXED
        + """
            T.gemm(a, a, c, initC=True)
            with T.rs("PIPE_FIX"):
                T.sync_block_wait(1)  # first bad
                T.copy(c, W)
                T.sync_block_set(0)
                T.sync_block_wait(1)  # good
        with T.Scope("Vector"):
            x = T.alloc_ub((32, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.sync_block_wait(0)
                T.copy(W[half * 32, 0], x)
                T.sync_block_set(1)
            T.copy(x, C[half * 32, 0])
    return C
""",
    ),
}


def source(text: str, kind: str) -> str:
    other = "good" if kind == "bad" else "bad"
    lines = (HEAD + text).splitlines()
    return "\n".join(line for line in lines if not re.search(rf"#.*\b{other}\b", line)) + "\n"


def checked(code: str, folder: Path) -> dict[str, Any]:
    """The report of a run under the checker."""
    path = folder / "mistake.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("mistake", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a = np.ones((64, 64), np.float16)
    b, w, c = (np.ones((64, 64), np.float32) for _ in range(3))
    kernel, _ = module.kernel._eager_call((a, b, w), {})
    arrays = [a, b, w, c]
    arguments = [(v.ctypes.data, v.shape, v.dtype.name) for v in arrays]
    return kernel.core.run(arguments, check=True)


def marked(code: str, mark: str) -> set[int]:
    return {n for n, line in enumerate(code.splitlines(), 1) if re.search(rf"#.*\b{mark}\b", line)}


@pytest.mark.parametrize("name", CASES)
def test_mistake_is_found(name, tmp_path):
    kind, text = CASES[name]
    code = source(text, "bad")
    report = checked(code, tmp_path)
    kinds = {found["kind"] for found in report["findings"]}
    assert kinds == {kind}, [found["message"] for found in report["findings"]]
    first = {found["location"][1] for found in report["findings"]}
    second = {found["other_location"][1] for found in report["findings"]} - {0}
    assert first == marked(code, "first")
    if marked(code, "second"):
        assert second == marked(code, "second")


@pytest.mark.parametrize("name", CASES)
def test_corrected_twin_is_silent(name, tmp_path):
    report = checked(source(CASES[name][1], "good"), tmp_path)
    assert report["ok"], report["error"]
    assert report["findings"] == []
