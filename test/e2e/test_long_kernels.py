# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of hundreds of statements: the same results, and barriers that keep compiling short."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn

HEAD = """# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import tilewright as tilelang
import tilewright.language as T


@tilelang.jit
def kernel(A):
    A: T.Tensor((64, 64), "float32")
    B = T.empty((64, 64), "float32")
    with T.Kernel(4) as block:
"""


def long_kernel(statements: int, looped: bool, folder: Any) -> Any:
    """Loads, sums, reductions and stores on tiles of 8 x 64, all in one block or all in a loop."""
    choose = random.Random(statements)
    tiles = [f"t{n}" for n in range(6)]
    lines = [f'{t} = T.alloc_shared((8, 64), "float32")' for t in tiles]
    lines += ['r = T.alloc_fragment((8,), "float32")', "T.clear(r)"]
    lines += [f"T.copy(A[block * 16, 0], {t})" for t in tiles]
    body: list[str] = []
    for number in range(statements):
        x, y, z = (choose.choice(tiles) for _ in range(3))
        body += [
            [f"T.copy(A[block * 16 + {number % 8}, 0], {x})"],
            ["for i, j in T.Parallel(8, 64):", f"    {x}[i, j] = {y}[i, j] * 0.5 + {z}[i, j]"],
            ["for i, j in T.Parallel(8, 64):", f"    {x}[i, j] = {y}[i, j] - r[i]"],
            [f"T.reduce_max({x}, r, dim=1)"],
            [f"T.copy({x}, B[block * 16, 0])"],
        ][choose.randrange(5)]
    if looped:
        body = ["for k in T.serial(2):", *("    " + line for line in body)]
    path = folder / f"long_{statements}_{looped}.py"
    path.write_text(HEAD + "".join(f"        {line}\n" for line in lines + body) + "    return B\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.parametrize("looped", [False, True])
def test_long_blocks_get_barriers(looped, tmp_path):
    kernel, a = long_kernel(450, looped, tmp_path), randn((64, 64), np.float32)
    compiled = compile_kernel(kernel, [a], {}, 2)
    told = [r["message"] for r in compiled.remarks if r["stage"] == "npu-insert-sync"]
    assert any("a barrier for all pipes after each 200 statements" in text for text in told)
    check(kernel, [a], None, seeds=2, opt_levels=[2])


def test_other_blocks_get_none(tmp_path):
    compiled = compile_kernel(
        long_kernel(150, False, tmp_path), [randn((64, 64), np.float32)], {}, 2
    )
    assert not [r for r in compiled.remarks if "a barrier for all pipes after each" in r["message"]]


@T.macro
def one_pass(X, Y, block, step):
    x = T.alloc_shared((8, 64), "float32")
    y = T.alloc_fragment((8, 64), "float32")
    for k in T.Pipelined(8, num_stages=2):
        T.copy(X[block * 8, k * 64], x)
        for i, j in T.Parallel(8, 64):
            y[i, j] = x[i, j] * (step + 1) + 1.0
        T.copy(y, Y[step, block * 8, k * 64])


@tilelang.jit
def passes_over_rows(X):
    """Loops that follow each other, each with loads and stores in two slots."""
    X: T.Tensor((64, 512), "float32")
    Y = T.empty((6, 64, 512), "float32")
    with T.Kernel(8, threads=128) as block:
        one_pass(X, Y, block, 0)
        one_pass(X, Y, block, 1)
        one_pass(X, Y, block, 2)
        one_pass(X, Y, block, 3)
        one_pass(X, Y, block, 4)
        one_pass(X, Y, block, 5)
    return Y


def test_loops_that_follow_each_other_share_event_ids() -> None:
    inputs = [randn((64, 512), dtype="float32", seed=3)]
    compiled = compile_kernel(passes_over_rows, inputs, {}, level=2)
    told = [r["message"] for r in compiled.remarks if r["stage"] == "npu-insert-sync"]
    assert sum("it uses event ids of other loops" in text for text in told) == 6
    assert not [text for text in told if "every pipe drains here" in text or "no longer" in text]
    check(
        passes_over_rows,
        inputs,
        lambda X: np.stack([X * np.float32(n + 1) + np.float32(1) for n in range(6)]),
    )
