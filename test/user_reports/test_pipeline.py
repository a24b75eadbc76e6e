# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about pipelined loops, the division of cores, order, and memory: A001 to A019."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from results import refused, result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
def test_a001_tile_used_and_then_loaded_again(stages):
    """Each turn uses the tile of the turn before, and loads the next at its end."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((5, 64, 64), T.float32)
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1):
            s = T.alloc_shared((64, 64), T.float32)
            c = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            T.copy(A[0, 0, 0], s)
            for k in T.Pipelined(4, num_stages=stages):
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] * 2 + s[i, j]
                T.copy(A[k + 1, 0, 0], s)
            for i, j in T.Parallel(64, 64):
                c[i, j] = c[i, j] - s[i, j]
            T.copy(c, C)
        return C

    a = rng.integers(-8, 8, (5, 64, 64)).astype(np.float32)
    assert np.array_equal(result(kernel, a), a[0] * 8 + a[1] * 4 + a[2] * 2 + a[3] - a[4])


@pytest.mark.parametrize("stages", [(2, 4), (4, 2), (3, 1)])
def test_a002_two_pipelined_loops_over_the_same_tiles(stages):
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((64, 256), T.float16)
        B: T.Tensor((256, 64), T.float16)
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), T.float16)
            b = T.alloc_shared((64, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages[0]):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            for k in T.Pipelined(4, num_stages=stages[1]):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
        return C

    a = rng.integers(-4, 4, (64, 256)).astype(np.float16)
    b = rng.integers(-4, 4, (256, 64)).astype(np.float16)
    assert np.array_equal(result(kernel, a, b), 2 * (a.astype(np.float32) @ b.astype(np.float32)))


@pytest.mark.parametrize("stages", [1, 3])
def test_a003_tile_of_a_pipelined_loop_read_behind_it(stages):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((256, 32), T.float32)
        C = T.empty((64, 32), T.float32)
        S = T.empty((64, 32), T.float32)
        with T.Kernel(1):
            s = T.alloc_shared((64, 32), T.float32)
            c = T.alloc_fragment((64, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k * 64, 0], s)
                for i, j in T.Parallel(64, 32):
                    c[i, j] += s[i, j]
            T.copy(s, S)
            T.copy(c, C)
        return C, S

    a = rng.integers(-8, 8, (256, 32)).astype(np.float32)
    total, last = result(kernel, a)
    assert np.array_equal(total, a.reshape(4, 64, 32).sum(0))
    assert np.array_equal(last, a[192:])


@pytest.mark.parametrize("stages", [1, 3])
def test_a004_pipelined_loop_of_one_turn(stages):
    import ml_dtypes

    @tilelang.jit
    def kernel(A, x):
        A: T.Tensor((64, 64), T.bfloat16)
        x: T.Tensor((64, 16), T.bfloat16)
        Y = T.empty((64, 16), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), T.bfloat16)
            b = T.alloc_shared((64, 16), T.bfloat16)
            y = T.alloc_fragment((64, 16), T.float32)
            T.clear(y)
            for k in T.Pipelined(1, num_stages=stages):
                T.copy(A[0, k * 64], a)
                T.copy(x[k * 64, 0], b)
                T.gemm(a, b, y)
            T.copy(y, Y)
        return Y

    a = rng.integers(-4, 4, (64, 64)).astype(ml_dtypes.bfloat16)
    x = rng.integers(-4, 4, (64, 16)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(result(kernel, a, x), a.astype(np.float32) @ x.astype(np.float32))


STAGES = ("pipeline", "join", "fit", "batch", "fuse-k", "split-rows", "skew", "sync", "slice-rows")


@pytest.mark.parametrize("off", [(), *[(s,) for s in STAGES], STAGES[:4], STAGES])
def test_a005_every_subset_of_stages_composes(off, monkeypatch):
    """A product with an element-wise sum behind it, with stages switched off in turn."""
    monkeypatch.setenv("TILEWRIGHT_DISABLE", ",".join(off))

    @tilelang.jit
    def kernel(A, B, D):
        A: T.Tensor((128, 256), T.float16)
        B: T.Tensor((256, 128), T.float16)
        D: T.Tensor((128, 128), T.float32)
        C = T.empty((128, 128), T.float32)
        with T.Kernel(2, 2) as (x, y):
            a = T.alloc_shared((64, 64), T.float16)
            b = T.alloc_shared((64, 64), T.float16)
            d = T.alloc_shared((64, 64), T.float32)
            c = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[y * 64, k * 64], a)
                T.copy(B[k * 64, x * 64], b)
                T.gemm(a, b, c)
            T.copy(D[y * 64, x * 64], d)
            for i, j in T.Parallel(64, 64):
                c[i, j] += d[i, j]
            T.copy(c, C[y * 64, x * 64])
        return C

    a = rng.integers(-4, 4, (128, 256)).astype(np.float16)
    b = rng.integers(-4, 4, (256, 128)).astype(np.float16)
    d = rng.integers(-4, 4, (128, 128)).astype(np.float32)
    want = a.astype(np.float32) @ b.astype(np.float32) + d
    assert np.array_equal(kernel(a, b, d), want)


def test_a006_one_writer_and_several_readers_on_the_other_core():
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((64, 64), T.float16)
        B: T.Tensor((3, 64, 64), T.float16)
        C = T.empty((3, 64, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), T.float16)
            b = T.alloc_shared((64, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] + 1
            for k in T.serial(3):
                T.copy(B[k, 0, 0], b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C[k, 0, 0])
        return C

    a = rng.integers(-4, 4, (64, 64)).astype(np.float16)
    b = rng.integers(-4, 4, (3, 64, 64)).astype(np.float16)
    want = (a.astype(np.float32) + 1) @ b.astype(np.float32)
    assert np.array_equal(result(kernel, a, b), want)


def test_a006_a_workspace_that_both_kinds_of_core_touch_is_refused():
    with refused("E0703", "write the result to another tensor or split the kernel in two launches"):

        @T.prim_func
        def kernel(
            A: T.Tensor((64, 64), "float16"),
            W: T.Tensor((64, 64), "float16"),
            C: T.Tensor((64, 64), "float32"),
        ):
            with T.Kernel(1):
                a = T.alloc_shared((64, 64), "float16")
                s = T.alloc_shared((64, 64), "float16")
                c = T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                for i, j in T.Parallel(64, 64):
                    a[i, j] = a[i, j] + 1
                T.copy(a, W)
                T.copy(W, s)
                T.gemm(s, s, c, clear_accum=True)
                T.copy(c, C)

        tilelang.compile(kernel)


def test_a007_a_barrier_of_all_blocks_is_refused_with_its_remedy():
    with refused("E0122", "one launch per step: launches wait for each other"):

        @T.prim_func
        def kernel(A: T.Tensor((48,), "float32")):
            with T.Kernel(48):
                T.sync_grid()


def test_a007_sums_of_blocks_in_two_launches():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((4800,), T.float32)
        W = T.alloc_global((48,), T.float32)
        C = T.empty((1,), T.float32)
        with T.Kernel(48) as b:
            a = T.alloc_shared((100,), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(A[b * 100], a)
            T.reduce_sum(a, s, dim=0)
            T.copy(s, W[b])
        with T.Kernel(1):
            w = T.alloc_shared((48,), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(W, w)
            T.reduce_sum(w, s, dim=0)
            T.copy(s, C)
        return C

    a = rng.integers(-8, 8, 4800).astype(np.float32)
    assert result(kernel, a)[0] == a.sum()


def test_a008_what_a_block_has_stored_it_reads_back():
    @tilelang.jit
    def kernel(A, out):
        A: T.Tensor((16, 8), T.float32)
        out: T.Tensor((16, 8), T.float32)
        with T.Kernel(16) as row:
            x = T.alloc_shared((1, 8), T.float32)
            y = T.alloc_shared((1, 8), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(A[row, 0], x)
            for i, j in T.Parallel(1, 8):
                x[i, j] = x[i, j] * 2
            T.copy(x, out[row, 0])
            T.copy(out[row, 0], y)
            T.reduce_sum(y, s, dim=1)
            for i, j in T.Parallel(1, 8):
                y[i, j] = y[i, j] / s[i]
            T.copy(y, out[row, 0])

    a = rng.integers(1, 8, (16, 8)).astype(np.float32)
    for _ in range(3):
        _, got = result(kernel, a, np.zeros((16, 8), np.float32))
        assert np.allclose(got, a / a.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8])
def test_a009_masked_stores_write_each_element(columns):
    @tilelang.jit
    def kernel(A, C):
        A: T.Tensor((64, columns), T.float32)
        C: T.Tensor((64, columns), T.float32)
        with T.Kernel(4) as b:
            a = T.alloc_shared((16, columns), T.float32)
            T.copy(A[b * 16, 0], a)
            for i, j in T.Parallel(16, columns):
                if a[i, j] > 0:
                    C[b * 16 + i, j] = a[i, j]

    a = rng.integers(-8, 8, (64, columns)).astype(np.float32)
    before = np.full((64, columns), np.nan, np.float32)
    _, got = result(kernel, a, before)
    assert np.array_equal(got, np.where(a > 0, a, before), equal_nan=True)


def test_a010_tile_that_is_copied_out_and_then_computed_with():
    import ml_dtypes

    @tilelang.jit
    def kernel(X):
        X: T.Tensor((64, 128), T.bfloat16)
        Y = T.empty((64, 128), T.bfloat16)
        Z = T.empty((64, 128), T.float32)
        with T.Kernel(4) as b:
            x = T.alloc_shared((16, 128), T.bfloat16)
            z = T.alloc_shared((16, 128), T.float32)
            T.copy(X[b * 16, 0], x)
            T.copy(x, Y[b * 16, 0])
            for i, j in T.Parallel(16, 128):
                z[i, j] = T.exp(T.cast(x[i, j], "float32"))
            T.copy(z, Z[b * 16, 0])
        return Y, Z

    x = rng.standard_normal((64, 128)).astype(ml_dtypes.bfloat16)
    y, z = result(kernel, x)
    assert np.array_equal(y.view(np.uint16), x.view(np.uint16))
    assert np.allclose(z, np.exp(x.astype(np.float32)), rtol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_a011_the_compilers_own_order_can_be_switched_off(missing, capsys, monkeypatch):
    """With the author's flags complete nothing is found, without one the check names the edge."""
    monkeypatch.setenv("TILEWRIGHT_CHECK", "1")

    @tilelang.jit(pass_configs={"npuir.disable_hivm_auto_inject_sync": True})
    def kernel(A):
        A: T.Tensor((64, 64), T.float32)
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, is_npu=True), T.Scope("Vector"):
            x = T.alloc_ub((64, 64), T.float32)
            with T.rs("PIPE_MTE2"):
                T.copy(A, x)
                if not missing:
                    T.set_flag("PIPE_V", 0)
            with T.rs("PIPE_V"):
                if not missing:
                    T.wait_flag("PIPE_MTE2", 0)
                T.vadd(x, 1.0, x)
                T.set_flag("PIPE_MTE3", 1)
            with T.rs("PIPE_MTE3"):
                T.wait_flag("PIPE_V", 1)
                T.copy(x, C)
        return C

    from tilewright.report import session

    session.findings.clear()
    kernel(np.ones((64, 64), np.float32))
    said = capsys.readouterr().err
    session.findings.clear()
    assert ("read-after-write [E0921]" in said) == missing
    assert ("MTE2" in said) == missing


@pytest.mark.parametrize(
    ("dtype", "size"), [("float16", (320, 320)), ("float32", (256, 256)), ("float32", (48000,))]
)
def test_a012_tiles_that_do_not_fit_are_listed(dtype, size):
    """Tiles that no stage can cut: their rows are mixed."""

    @T.prim_func
    def kernel(A: T.Tensor(size, dtype), C: T.Tensor(size, dtype)):
        with T.Kernel(1, is_npu=True) as (_, half):
            x = T.alloc_ub(size, dtype)
            y = T.alloc_ub(size, dtype)
            T.copy(A, x)
            T.vexp(x, y)
            if half == 0:
                T.copy(y, C)

    with refused(
        "E0701", r"do not fit the unified buffer(.|\n)*line \d+(.|\n)*(KiB|bytes)"
    ) as caught:
        tilelang.compile(kernel)
    text = str(caught.value)
    assert "x  line" in text and "y  line" in text and "it would fit if" in text


@pytest.mark.parametrize("factor", [16, 32])
def test_a013_tile_written_before_a_loop_and_read_in_it(factor):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((4, factor * 256), T.float32)
        C = T.empty((4, factor * 256), T.float32)
        with T.Kernel(1):
            index = T.alloc_shared((factor * 256,), T.float32)
            for i in T.Parallel(factor * 256):
                index[i] = i
            for k in T.serial(4):
                x = T.alloc_shared((factor * 256,), T.float32)
                y = T.alloc_shared((factor * 256,), T.float32)
                T.copy(A[k, 0], x)
                for i in T.Parallel(factor * 256):
                    y[i] = x[i] * 2
                for i in T.Parallel(factor * 256):
                    x[i] = y[i] + index[i]
                T.copy(x, C[k, 0])
        return C

    a = rng.integers(-8, 8, (4, factor * 256)).astype(np.float32)
    assert np.array_equal(result(kernel, a), a * 2 + np.arange(factor * 256, dtype=np.float32))


def test_a014_tile_read_last_inside_a_nested_block():
    @tilelang.jit
    def kernel(A, n):
        A: T.Tensor((16384,), T.float32)
        n: T.Tensor((1,), T.int32)
        C = T.empty((16384,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((16384,), T.float32)
            T.copy(A, a)
            for _ in T.serial(2):
                if n[0] > 0:
                    b = T.alloc_shared((16384,), T.float32)
                    for i in T.Parallel(16384):
                        b[i] = a[i] * 3
                    for i in T.Parallel(16384):
                        b[i] = b[i] + a[i]
                    T.copy(b, C)
        return C

    a = rng.integers(-8, 8, 16384).astype(np.float32)
    assert np.array_equal(result(kernel, a, np.ones(1, np.int32)), a * 4)


@pytest.mark.parametrize("n", [64, 1024, 8192])
def test_a015_workspace_of_a_sum_is_part_of_the_plan(n):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((n,), T.float32)
        C = T.empty((1,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((n,), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(A, a)
            T.reduce_sum(a, s, dim=0)
            T.copy(s, C)
        return C

    a = rng.integers(-8, 8, n).astype(np.float32)
    assert result(kernel, a)[0] == a.sum()


def test_a016_tiles_with_disjoint_lives_share_memory():
    """Together 384 KiB, at most 128 KiB at once: more than the memory has without sharing."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((1, 16384), T.float32)
        C = T.empty((1, 16384), T.float32)
        with T.Kernel(1):
            tiles = [T.alloc_shared((1, 16384), T.float32) for _ in range(6)]
            T.copy(A, tiles[0])
            for one, two in itertools.pairwise(tiles):
                for i, j in T.Parallel(1, 16384):
                    two[i, j] = one[i, j] + 1
            T.copy(tiles[5], C)
        return C

    a = rng.integers(-8, 8, (1, 16384)).astype(np.float32)
    assert np.array_equal(result(kernel, a), a + 5)


@pytest.mark.parametrize("use", ["slice", "branch", "whole"])
def test_a017_a_tile_stays_where_its_author_put_it(use):
    import ml_dtypes

    @tilelang.jit
    def kernel(A, n):
        A: T.Tensor((64, 128), T.bfloat16)
        n: T.Tensor((1,), T.int32)
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, is_npu=True):
            k = T.alloc_L1((64, 128), T.bfloat16)
            c = T.alloc_L0C((64, 64), T.float32)
            T.copy(A, k)
            if use == "slice":
                T.gemm(k[:, 0:64], k[:, 0:64], c, transpose_B=True, clear_accum=True)
            elif use == "branch":
                if n[0] > 0:
                    T.gemm(k, k, c, transpose_B=True, clear_accum=True)
            else:
                T.gemm(k, k, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)
        return C

    text = kernel.compile().text("npu-plan-memory")
    placed = next(line for line in text.splitlines() if '"k"' in line and "alloc" in line)
    assert "l1" in placed.lower()
    a = rng.integers(-4, 4, (64, 128)).astype(ml_dtypes.bfloat16)
    f = a.astype(np.float32)[:, : 64 if use == "slice" else 128]
    assert np.array_equal(result(kernel, a, np.ones(1, np.int32)), f @ f.T)


@pytest.mark.parametrize("n", [4096, 65536])
def test_a018_a_row_that_overflows_says_what_would_fit(n):
    """Layer norm of whole rows: it runs while its tiles fit, else the message has a size."""

    @T.prim_func
    def kernel(X: T.Tensor((8, n), "float16"), Y: T.Tensor((8, n), "float16")):
        with T.Kernel(8) as row:
            x = T.alloc_shared((1, n), "float16")
            f = T.alloc_shared((1, n), "float32")
            g = T.alloc_shared((1, n), "float32")
            s = T.alloc_shared((1,), "float32")
            T.copy(X[row, 0], x)
            T.copy(x, f)
            T.reduce_sum(f, s, dim=1)
            for i, j in T.Parallel(1, n):
                f[i, j] = f[i, j] - s[i] / n
            for i, j in T.Parallel(1, n):
                g[i, j] = f[i, j] * f[i, j]
            T.reduce_sum(g, s, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = f[i, j] * T.rsqrt(s[i] / n + 1e-5)
            T.copy(x, Y[row, 0])

    if n == 65536:
        with refused("E0701", r"it would fit if all tiles were about \d+ %"):
            tilelang.compile(kernel)
        return
    x = rng.standard_normal((8, n)).astype(np.float16)
    _, y = result(tilelang.compile(kernel), x, np.empty_like(x))
    f = x.astype(np.float32)
    want = (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5)
    assert np.allclose(y.astype(np.float32), want, atol=4e-3)


def test_a019_shared_tiles_of_a_vector_kernel_with_element_stores():
    """Rotary embedding in place on half of the columns."""

    @tilelang.jit
    def kernel(X, cos, sin):
        X: T.Tensor((32, 64), T.float32)
        cos: T.Tensor((32, 16), T.float32)
        sin: T.Tensor((32, 16), T.float32)
        Y = T.empty((32, 64), T.float32)
        with T.Kernel(4) as b:
            x = T.alloc_shared((8, 64), T.float32)
            c = T.alloc_shared((8, 16), T.float32)
            s = T.alloc_shared((8, 16), T.float32)
            even = T.alloc_shared((8, 16), T.float32)
            T.copy(X[b * 8, 0], x)
            T.copy(cos[b * 8, 0], c)
            T.copy(sin[b * 8, 0], s)
            for i, j in T.Parallel(8, 16):
                even[i, j] = x[i, j]
            for i, j in T.Parallel(8, 16):
                x[i, j] = even[i, j] * c[i, j] - x[i, j + 16] * s[i, j]
            for i, j in T.Parallel(8, 16):
                x[i, j + 16] = x[i, j + 16] * c[i, j] + even[i, j] * s[i, j]
            T.copy(x, Y[b * 8, 0])
        return Y

    x, c, s = (rng.integers(-4, 4, (32, w)).astype(np.float32) for w in (64, 16, 16))
    want = x.copy()
    want[:, :16] = x[:, :16] * c - x[:, 16:32] * s
    want[:, 16:32] = x[:, 16:32] * c + x[:, :16] * s
    assert np.array_equal(result(kernel, x, c, s), want)
