# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about copies, slices, tails, strides and sizes of the call: A020 to A037."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from results import refused, result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)


def small(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return rng.integers(-8, 8, shape).astype(dtype)


@pytest.mark.parametrize("m", [1, 2, 16])
def test_a020_column_that_is_repeated_along_rows(m):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((m, 1), T.float32)
        B = T.empty((m, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((m, 1), T.float32)
            b = T.alloc_shared((m, 64), T.float32)
            T.copy(A, a)
            for i, j in T.Parallel(m, 64):
                b[i, j] = a[i, 0]
            T.copy(b, B)
        return B

    a = small(m, 1)
    assert np.array_equal(result(kernel, a), np.repeat(a, 64, 1))


def test_a021_tensor_of_one_element_scales():
    @tilelang.jit
    def kernel(X, scale):
        X: T.Tensor((16, 256), T.float32)
        scale: T.Tensor((1,), T.float32)
        Y = T.empty((16, 256), T.float32)
        with T.Kernel(4) as b:
            x = T.alloc_shared((4, 256), T.float32)
            s = T.alloc_shared((1,), T.float32)
            T.copy(X[b * 4, 0], x)
            T.copy(scale, s)
            for i, j in T.Parallel(4, 256):
                x[i, j] = x[i, j] * s[0]
            T.copy(x, Y[b * 4, 0])
        return Y

    x = small(16, 256)
    assert np.array_equal(result(kernel, x, np.array([3], np.float32)), x * 3)


def test_a021_tensor_without_dimensions_is_refused_with_the_way_out():
    with refused("E0301", "has 0 dimensions; allowed are 1 to 8"):

        @T.prim_func
        def kernel(scale: T.Tensor((), "float32"), A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                T.fill(A, 0)


def test_a022_tokens_and_heads_become_rows_of_a_tile():
    """Two dimensions collapse by loading each token into its rows."""

    @tilelang.jit
    def kernel(X):
        X: T.Tensor((13, 4, 128), T.float16)
        Y = T.empty((64, 128), T.float16)
        with T.Kernel(1):
            x = T.alloc_shared((64, 128), T.float16)
            T.clear(x)
            for t in T.serial(13):
                T.copy(X[t, 0:4, 0:128], x[t * 4 : t * 4 + 4, 0:128])
            T.copy(x, Y)
        return Y

    x = small(13, 4, 128, dtype=np.float16)
    want = np.zeros((64, 128), np.float16)
    want[:52] = x.reshape(52, 128)
    assert np.array_equal(result(kernel, x), want)


def test_a023_one_slot_of_an_accumulator_is_stored():
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((4, 64, 64), T.float16)
        B: T.Tensor((64, 64), T.float16)
        C = T.empty((4, 64, 64), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((64, 64), T.float16)
            b = T.alloc_shared((64, 64), T.float16)
            acc = T.alloc_fragment((2, 64, 64), T.float32)
            T.copy(B, b)
            for k in T.serial(4):
                T.copy(A[k, 0, 0], a)
                T.gemm(a, b, acc[k % 2, :, :], clear_accum=True)
                T.copy(acc[k % 2, :, :], C[k, 0, 0])
        return C

    a, b = small(4, 64, 64, dtype=np.float16), small(64, 64, dtype=np.float16)
    assert np.array_equal(result(kernel, a, b), a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("columns", [1, 100, 128, 200, 300])
def test_a024_operations_on_a_slice_of_run_time_length(columns):
    N = T.dynamic("N")

    @tilelang.jit
    def kernel(X):
        X: T.Tensor((4, N), T.float32)
        S = T.empty((4, T.ceildiv(N, 128)), T.float32)
        with T.Kernel(T.ceildiv(N, 128), 4) as (b, row):
            x = T.alloc_shared((128,), T.float32)
            q = T.alloc_shared((128,), T.float32)
            s = T.alloc_shared((1,), T.float32)
            valid = T.min(128, N - b * 128)
            T.clear(q)
            T.copy(X[row, b * 128 : b * 128 + valid], x[0:valid])
            T.vmul(x[0:valid], x[0:valid], q[0:valid])
            T.reduce_sum(q, s, dim=0)
            T.copy(s, S[row, b])
        return S

    x = small(4, columns)
    blocks = -(-columns // 128)
    padded = np.zeros((4, blocks * 128), np.float32)
    padded[:, :columns] = x * x
    assert np.array_equal(result(kernel, x), padded.reshape(4, blocks, 128).sum(2))


def test_a024_maximum_of_a_middle_slice():
    @tilelang.jit
    def kernel(X):
        X: T.Tensor((3, 16, 64), T.float32)
        Y = T.empty((16,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((3, 16, 64), T.float32)
            y = T.alloc_shared((16,), T.float32)
            T.copy(X, x)
            T.reduce_max(x[1, :, 16:48], y, dim=-1)
            T.copy(y, Y)
        return Y

    x = small(3, 16, 64)
    assert np.array_equal(result(kernel, x), x[1, :, 16:48].max(1))


@pytest.mark.parametrize("n", [1, 7, 1024, 13243])
def test_a025_vector_sum_with_a_tail_of_run_time_length(n):
    N = T.dynamic("N")

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((N,), T.float32)
        B: T.Tensor((N,), T.float32)
        C = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 1024)) as b:
            x = T.alloc_shared((1024,), T.float32)
            y = T.alloc_shared((1024,), T.float32)
            base = b * 1024
            length = T.if_then_else(base + 1024 > N, N - base, 1024)
            T.copy(A[base : base + length], x[0:length])
            T.copy(B[base : base + length], y[0:length])
            T.vadd(x, y, x)
            T.copy(x[0:length], C[base : base + length])
        return C

    a, b = small(n), small(n)
    assert np.array_equal(result(kernel, a, b), a + b)


def test_a026_padding_has_the_annotated_value():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((60, 60), T.int32)
        B = T.empty((64, 64), T.int32)
        with T.Kernel(1):
            T.annotate_safe_value({A: -99})
            a = T.alloc_shared((64, 64), T.int32)
            T.copy(A[0, 0], a)
            T.copy(a, B)
        return B

    a = small(60, 60, dtype=np.int32)
    want = np.full((64, 64), -99, np.int32)
    want[:60, :60] = a
    assert np.array_equal(result(kernel, a), want)


@pytest.mark.parametrize(("n", "block", "kind"), [(63, 64, "float32"), (1000, 256, "float16")])
def test_a027_partial_last_block_is_stored_whole_and_no_further(n, block, kind):
    @tilelang.jit
    def kernel(A, C):
        A: T.Tensor((n,), kind)
        C: T.Tensor((n,), kind)
        with T.Kernel(T.ceildiv(n, block)) as b:
            a = T.alloc_shared((block,), kind)
            T.copy(A[b * block], a)
            for i in T.Parallel(block):
                a[i] = a[i] + 1
            T.copy(a, C[b * block])

    memory = np.full(n + 64, 7, kind)
    a = small(n, dtype=kind)
    kernel(a, memory[:n])
    assert np.array_equal(memory[:n], a + 1)
    assert (memory[n:] == 7).all()


def test_a028_lanes_outside_a_tensor_are_zero():
    """Tails of K in a product, and of a row in a softmax."""

    @tilelang.jit
    def product(A, B):
        A: T.Tensor((32, 34), T.float16)
        B: T.Tensor((34, 32), T.float16)
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((32, 32), T.float16)
            b = T.alloc_shared((32, 32), T.float16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
        return C

    a, b = small(32, 34, dtype=np.float16), small(34, 32, dtype=np.float16)
    assert np.array_equal(result(product, a, b), a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("view", ["transposed", "rows"])
def test_a029_strides_are_honoured_or_the_tensor_is_packed(view):
    @tilelang.jit
    def kernel(Q):
        Q: T.Tensor((4, 6, 128), T.float16)
        Y = T.empty((4, 6, 128), T.float16)
        with T.Kernel(4) as h:
            q = T.alloc_shared((6, 128), T.float16)
            T.copy(Q[h, 0:6, 0:128], q)
            T.copy(q, Y[h, 0:6, 0:128])
        return Y

    base = small(6, 4, 128, dtype=np.float16) if view == "transposed" else small(4, 6, 200)
    q = base.transpose(1, 0, 2) if view == "transposed" else base.astype(np.float16)[:, :, :128]
    assert not q.flags.c_contiguous
    assert np.array_equal(kernel(q), q)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_a030_mask_of_a_run_time_length(length):
    @tilelang.jit
    def kernel(A, lengths):
        A: T.Tensor((16, 256), T.float32)
        lengths: T.Tensor((1,), T.int32)
        C = T.empty((16, 256), T.float32)
        with T.Kernel(4) as b:
            acc = T.alloc_shared((16, 64), T.float32)
            T.copy(A[0, b * 64], acc)
            for i, j in T.Parallel(16, 64):
                acc[i, j] = T.if_then_else(
                    b * 64 + j >= lengths[0], -T.infinity("float32"), acc[i, j]
                )
            T.copy(acc, C[0, b * 64])
        return C

    a = small(16, 256)
    want = np.where(np.arange(256) >= length, -np.inf, a).astype(np.float32)
    assert np.array_equal(result(kernel, a, np.array([length], np.int32)), want)


@pytest.mark.parametrize("m", [1, 64, 100])
def test_a031_symbolic_rows_and_two_outputs(m):
    M = T.dynamic("M")

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((M, 64), T.float16)
        B: T.Tensor((64, 64), T.float16)
        C = T.empty((M, 64), T.float32)
        R = T.empty((M, 64), T.float32)
        with T.Kernel(T.ceildiv(M, 64)) as y:
            a = T.alloc_shared((64, 64), T.float16)
            b = T.alloc_shared((64, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.copy(A[y * 64, 0], a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[y * 64, 0])
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, R[y * 64, 0])
        return C, R

    a, b = small(m, 64, dtype=np.float16), small(64, 64, dtype=np.float16)
    want = a.astype(np.float32) @ b.astype(np.float32)
    c, r = result(kernel, a, b)
    assert np.array_equal(c, want) and np.array_equal(r, np.maximum(want, 0))


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_a032_paged_gather_with_a_symbolic_batch(batch):
    """The options of GPU tails are hints: the right answer does not depend on them."""
    B = T.dynamic("B")

    @tilelang.jit(pass_configs={"tl.disable_dynamic_tail_split": True, "tl.dynamic_alignment": 8})
    def kernel(Q, K, table):
        Q: T.Tensor((B, 16, 64), T.float16)
        K: T.Tensor((10, 16, 64), T.float16)
        table: T.Tensor((B, 2), T.int32)
        S = T.empty((B, 16, 32), T.float32)
        with T.Kernel(B) as b:
            q = T.alloc_shared((16, 64), T.float16)
            k = T.alloc_shared((16, 64), T.float16)
            s = T.alloc_fragment((16, 16), T.float32)
            T.copy(Q[b, 0, 0], q)
            for p in T.serial(2):
                T.copy(K[table[b, p], 0, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, S[b, 0, p * 16])
        return S

    q, k = small(batch, 16, 64, dtype=np.float16), small(10, 16, 64, dtype=np.float16)
    table = rng.integers(0, 10, (batch, 2)).astype(np.int32)
    pages = k.astype(np.float32)[table].reshape(batch, 32, 64)
    want = q.astype(np.float32) @ pages.transpose(0, 2, 1)
    assert np.array_equal(result(kernel, q, k, table), want)


@pytest.mark.parametrize("n", [1, 5])
def test_a033_loop_bounds_from_the_block_under_a_symbolic_grid(n):
    N = T.dynamic("N")

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((N, 64), T.float32)
        C = T.empty((N, 64), T.float32)
        with T.Kernel(N) as b:
            x = T.alloc_shared((1, 64), T.float32)
            for t in T.serial(b, b + 1):
                T.copy(A[t, 0], x)
                for i, j in T.Parallel(1, 64):
                    x[i, j] = x[i, j] + t
                T.copy(x, C[t, 0])
        return C

    a = small(n, 64)
    assert np.array_equal(result(kernel, a), a + np.arange(n, dtype=np.float32)[:, None])


@pytest.mark.parametrize("rounds", [1, 4])
def test_a034_small_kernel_of_many_reductions(rounds):
    """A softmax and Sinkhorn rounds on (4, 8): nine reductions and more."""

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((4, 8), T.float32)
        C = T.empty((4, 8), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((4, 8), T.float32)
            r = T.alloc_shared((4,), T.float32)
            c = T.alloc_shared((8,), T.float32)
            T.copy(A, x)
            T.reduce_max(x, r, dim=1)
            for i, j in T.Parallel(4, 8):
                x[i, j] = T.exp(x[i, j] - r[i])
            for _ in range(rounds):
                T.reduce_sum(x, r, dim=1)
                for i, j in T.Parallel(4, 8):
                    x[i, j] = x[i, j] / (r[i] + 1e-6)
                T.reduce_sum(x, c, dim=0)
                for i, j in T.Parallel(4, 8):
                    x[i, j] = x[i, j] / (c[j] + 1e-6)
            T.copy(x, C)
        return C

    a = rng.standard_normal((4, 8)).astype(np.float32)
    x = np.exp(a - a.max(1, keepdims=True))
    for _ in range(rounds):
        x = x / (x.sum(1, keepdims=True) + 1e-6)
        x = x / (x.sum(0) + 1e-6)
    assert np.allclose(result(kernel, a), x, rtol=1e-5)


def test_a035_changed_sizes_do_not_compile_again(monkeypatch):
    from tilewright import jit

    compiled = []
    monkeypatch.setattr(
        jit, "compile_built", lambda *a, built=jit.compile_built: compiled.append(1) or built(*a)
    )
    M, N = T.dynamic("M, N")

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((M, N), T.float32)
        C = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(M, 16), T.ceildiv(N, 64)) as (y, x):
            a = T.alloc_shared((16, 64), T.float32)
            T.copy(A[y * 16, x * 64], a)
            T.copy(a, C[y * 16, x * 64])
        return C

    for m, n in ((1, 1), (16, 64), (17, 65), (5, 200), (40, 3)):
        a = small(m, n)
        assert np.array_equal(kernel(a), a)
    assert len(compiled) == 1


def test_a036_output_in_front_of_the_input_that_gives_its_size():
    N = T.dynamic("N")

    @T.prim_func
    def kernel(B: T.Tensor((N,), "float32"), A: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 64)) as b:
            x = T.alloc_shared((64,), "float32")
            T.copy(A[b * 64], x)
            T.copy(x, B[b * 64])

    a = small(100)
    assert np.array_equal(result(tilelang.compile(kernel, out_idx=[0]), a), a)


@pytest.mark.parametrize("n", [1, 77, 1024])
def test_a037_tile_of_fixed_capacity_with_a_run_time_length(n):
    N = T.dynamic("N")

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((N,), T.float16)
        C = T.empty((N,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((1024,), T.float16)
            y = T.alloc_shared((1024,), T.float32)
            T.copy(A[0:N], x[0:N])
            T.vcast(x[0:N], y[0:N], round_mode="rint")
            T.vmul(y[0:N], 3.0, y[0:N])
            T.vadd(y[0:N], 1.0, y[0:N])
            T.copy(y[0:N], C[0:N])
        return C

    a = small(n, dtype=np.float16)
    assert np.array_equal(result(kernel, a), a.astype(np.float32) * 3 + 1)


@pytest.mark.parametrize("n", [64, 100])
def test_a067_copies_convert_between_the_types_of_tensor_and_tile(n):
    @tilelang.jit
    def kernel(X):
        X: T.Tensor((n,), T.bfloat16)
        Y = T.empty((n,), T.bfloat16)
        with T.Kernel(T.ceildiv(n, 64)) as b:
            x = T.alloc_shared((64,), T.float32)
            T.copy(X[b * 64], x)
            for i in T.Parallel(64):
                x[i] = x[i] * 2
            T.copy(x, Y[b * 64])
        return Y

    x = small(n, dtype=ml_dtypes.bfloat16)
    assert np.array_equal(result(kernel, x).astype(np.float32), x.astype(np.float32) * 2)
