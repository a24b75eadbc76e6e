# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about caches, tuning, printing, dumps and vectorised accesses: A100 to A123."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from results import result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)


def small(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return rng.integers(-8, 8, shape).astype(dtype)


def test_a100_a_kernel_sees_the_variables_around_it():
    def build(n):
        @tilelang.jit
        def kernel(A):
            A: T.Tensor((4, n), T.float32)
            C = T.empty((4, n), T.float32)
            with T.Kernel(1):
                a = T.alloc_shared((4, n), T.float32)
                T.copy(A, a)
                for i, j in T.Parallel(4, n):
                    a[i, j] = a[i, j] + n
                T.copy(a, C)
            return C

        return kernel

    for n in (128, 256):
        assert np.array_equal(build(n)(np.zeros((4, n), np.float32)), np.full((4, n), n))


def test_a101_options_are_part_of_the_key(monkeypatch):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A, a)
            T.vadd(a, 1.0, a)
            T.copy(a, C)

    texts = {tilelang.compile(main).get_kernel_source()}
    for name, value in (("OPT_LEVEL", "0"), ("DISABLE", "pipeline"), ("CHIP", "950pr")):
        with monkeypatch.context() as patch:
            patch.setenv(f"TILEWRIGHT_{name}", value)
            texts.add(tilelang.compile(main).get_kernel_source())
    manual = {"npuir.disable_hivm_auto_inject_sync": True}
    texts.add(tilelang.compile(main, pass_configs=manual).get_kernel_source())
    assert len(texts) == 5


def test_a102_the_key_is_that_of_the_kernel_alone(tmp_path):
    """Two kernels of one name, built in either order by two processes: two entries on disk."""
    script = tmp_path / "kernels.py"
    script.write_text(
        """
import sys
import tilewright as tilelang, tilewright.language as T
def make(n):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((n,), "float32")
            T.copy(A, a)
            T.vadd(a, 1.0, a)
            T.copy(a, A)
    return main
for n in map(int, sys.argv[1:]):
    tilelang.compile(make(n))
"""
    )
    folder = tmp_path / "cache"
    environment = {"TILEWRIGHT_CACHE": "1", "TILEWRIGHT_CACHE_DIR": str(folder)}
    import os

    counts = []
    for order in (("64", "128"), ("128", "64")):
        subprocess.run(
            [sys.executable, str(script), *order], check=True, env={**os.environ, **environment}
        )
        counts.append(len([p for p in folder.rglob("*") if p.is_file()]))
    assert counts[0] == counts[1] >= 2


def test_a108_candidates_that_fail_are_told_and_skipped(caplog):
    @tilelang.autotune(configs=[{"block": b} for b in (16, 32, 64, 128, 100000, 200000)])
    @tilelang.jit(out_idx=[1])
    def make(block=16):
        @T.prim_func
        def main(A: T.Tensor((256, 64), "float32"), C: T.Tensor((256, 64), "float32")):
            with T.Kernel(T.ceildiv(256, block), is_npu=True) as (b, half):
                a = T.alloc_ub((block, 64), "float32")
                T.copy(A[b * block, 0], a)
                if half == 0:
                    T.copy(a, C[b * block, 0])

        return main

    with caplog.at_level("INFO"):
        kernel = make()
    a = small(256, 64)
    assert np.array_equal(kernel(a), a)
    said = [r.getMessage() for r in caplog.records]
    assert sum("100000" in line for line in said) == sum("200000" in line for line in said) == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "int32"])
def test_a109_device_print_of_scalars_tiles_and_slices(dtype, capfd):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((4, 8), dtype)
        C = T.empty((4, 8), dtype)
        with T.Kernel(1):
            a = T.alloc_shared((4, 8), dtype)
            T.copy(A, a)
            T.print(a[1, 2], "one")
            T.print(a[0:2, 0:4], "part")
            if a[0, 0] == 3:
                T.print(a, "whole")
            T.copy(a, C)
        return C

    import ml_dtypes

    a = np.full((4, 8), 3, getattr(ml_dtypes, dtype, dtype))
    kernel(a)
    said = capfd.readouterr().out
    assert "one" in said and "part" in said and "whole" in said and "3" in said


def test_a110_every_stage_is_written_also_when_one_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DUMP_IR", str(tmp_path))

    @T.prim_func
    def fine(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.fill(A, 0)

    @T.prim_func
    def overflow(A: T.Tensor((1024, 1024), "float32")):
        with T.Kernel(1, is_npu=True) as (_, half):
            a = T.alloc_ub((1024, 1024), "float32")
            T.copy(A, a)
            if half == 0:
                T.copy(a, A)

    tilelang.compile(fine)
    with pytest.raises(tilelang.errors.CompileError, match="E0701"):
        tilelang.compile(overflow)
    for name in ("fine", "overflow"):
        files = sorted(p.name for p in (tmp_path / name).iterdir())
        assert files[0].startswith("00-tile") and len(files) > 10


def test_a111_debug_output_does_not_change_results(tmp_path, monkeypatch):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((1024,), T.float32)
        C = T.empty((1,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((1024,), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(A, a)
            T.reduce_sum(a, s, dim=0)
            T.copy(s, C)
        return C

    a = rng.standard_normal(1024).astype(np.float32)
    plain = result(kernel, a)
    for name, value in (("DUMP_IR", str(tmp_path)), ("VERIFY_EACH", "1"), ("CHECK", "1")):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    assert np.array_equal(result(kernel, a), plain)


def test_a112_every_instruction_has_a_line_of_the_kernel():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.exp(c[i, j])
            T.copy(c, C)

    found = tilelang.compile(main).simulate(timing_only=True)
    lines = json.loads(found.to_json())["launches"][0]["lines"]
    assert lines and all(line["location"]["line"] > 0 for line in lines)


def test_a113_import_and_run_without_any_device():
    script = (
        "import sys, numpy as np, tilewright as tilelang, tilewright.language as T\n"
        "assert not [m for m in sys.modules if m.startswith(('torch', 'acl', 'cuda'))]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("chip", ["910b1", "910b3", "910b4", "a3", "950pr"])
def test_a118_the_chip_is_recorded_in_what_is_made(chip, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CHIP", chip)

    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.fill(A, 0)

    found = tilelang.compile(main).simulate(timing_only=True)
    assert json.loads(found.to_json())["chip"] == chip


@pytest.mark.parametrize("contiguous", [True, False])
def test_a122_gather_on_the_last_axis_happens_on_the_chip(contiguous):
    """The row is loaded as a tile; no element is read from global memory by itself."""

    @tilelang.jit
    def kernel(X, index):
        X: T.Tensor((16, 256), T.float32)
        index: T.Tensor((256,), T.int32)
        Y = T.empty((16, 256), T.float32)
        with T.Kernel(16) as row:
            x = T.alloc_shared((256,), T.float32)
            at = T.alloc_shared((256,), T.int32)
            y = T.alloc_shared((256,), T.float32)
            T.copy(X[row, 0], x)
            T.copy(index, at)
            for j in T.Parallel(256):
                y[j] = x[at[j]]
            T.copy(y, Y[row, 0])
        return Y

    x = small(16, 256)
    index = (np.arange(256) if contiguous else rng.permutation(256)).astype(np.int32)
    assert np.array_equal(result(kernel, x, index), x[:, index])
    assert not [r for r in kernel.compile().remarks if r["kind"] == "fallback"]


def test_a123_permuted_dense_addresses_are_block_copies():
    """Layer norm over 2 x 2 x channels, unfolded: strided loads of whole boxes."""

    @tilelang.jit
    def kernel(X):
        X: T.Tensor((8, 36, 8, 8), T.float32)
        Y = T.empty((8, 4, 4, 36, 2, 2), T.float32)
        with T.Kernel(4, 4, 8) as (w, h, n):
            x = T.alloc_shared((36, 2, 2), T.float32)
            s = T.alloc_shared((1,), T.float32)
            flat = T.alloc_shared((144,), T.float32)
            T.copy(X[n, 0:36, h * 2 : h * 2 + 2, w * 2 : w * 2 + 2], x)
            T.reshape(x, flat)
            T.reduce_sum(flat, s, dim=0)
            for c, i, j in T.Parallel(36, 2, 2):
                x[c, i, j] = x[c, i, j] - s[0] / 144
            T.copy(x, Y[n, h, w, 0:36, 0:2, 0:2])
        return Y

    x = small(8, 36, 8, 8)
    unfolded = x.reshape(8, 36, 4, 2, 4, 2).transpose(0, 2, 4, 1, 3, 5)
    mean = unfolded.sum((3, 4, 5), keepdims=True) / np.float32(144)
    assert np.allclose(result(kernel, x), unfolded - mean, atol=1e-5)
