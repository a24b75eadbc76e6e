# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: transposes, ragged sizes, element types, epilogues, accumulation."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, bfloat16, check, compile_kernel, integers, randn, wide


@tilelang.jit
def matmul(A, B, M, N, K, bm, bn, bk, ta, tb, dtype, acc, out, stages):
    A: T.Tensor((K, M) if ta else (M, K), dtype)
    B: T.Tensor((N, K) if tb else (K, N), dtype)
    C = T.empty((M, N), out)
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        As = T.alloc_shared((bk, bm) if ta else (bm, bk), dtype)
        Bs = T.alloc_shared((bn, bk) if tb else (bk, bn), dtype)
        Cl = T.alloc_fragment((bm, bn), acc)
        T.clear(Cl)
        for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
            if ta:
                T.copy(A[k * bk, by * bm], As)
            else:
                T.copy(A[by * bm, k * bk], As)
            if tb:
                T.copy(B[bx * bn, k * bk], Bs)
            else:
                T.copy(B[k * bk, bx * bn], Bs)
            T.gemm(As, Bs, Cl, transpose_A=ta, transpose_B=tb)
        T.copy(Cl, C[by * bm, bx * bn])
    return C


def product(ta=False, tb=False):
    def reference(a, b):
        a, b = (a, b) if a.dtype == np.int8 else wide(a, b)
        if a.dtype == np.int8:
            a, b = a.astype(np.int32), b.astype(np.int32)
        return (a.T if ta else a) @ (b.T if tb else b)

    return reference


def run(
    M,
    N,
    K,
    bm,
    bn,
    bk,
    ta=False,
    tb=False,
    dtype="float16",
    acc="float32",
    out="float32",
    stages=2,
    tol=2e-3,
):
    np_type = bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a_shape, b_shape = ((K, M) if ta else (M, K)), ((N, K) if tb else (K, N))
    if dtype == "int8":
        a, b = integers(a_shape, -128, 128, np.int8, 1), integers(b_shape, -128, 128, np.int8, 2)
    else:
        a, b = randn(a_shape, np_type, 1), randn(b_shape, np_type, 2)
    check(
        matmul,
        [a, b],
        product(ta, tb),
        rtol=tol,
        atol=tol * np.sqrt(K),
        M=M,
        N=N,
        K=K,
        bm=bm,
        bn=bn,
        bk=bk,
        ta=ta,
        tb=tb,
        dtype=dtype,
        acc=acc,
        out=out,
        stages=stages,
    )


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_transposes(ta, tb):
    run(128, 96, 160, 64, 48, 32, ta, tb)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_ragged(ta, tb):
    run(77, 51, 45, 32, 32, 16, ta, tb)


@pytest.mark.parametrize(
    "shape", [(64, 64, 1), (1, 64, 64), (64, 1, 64), (17, 19, 23), (128, 256, 64)]
)
def test_shapes(shape):
    run(*shape, 32, 64, 32)


@pytest.mark.parametrize("blocks", [(20, 24, 12), (16, 16, 16), (48, 80, 40), (33, 17, 9)])
def test_odd_blocks(blocks):
    run(50, 60, 70, *blocks)


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_stages(stages):
    run(64, 64, 192, 64, 64, 32, stages=stages)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4])
def test_trips(trips):
    run(32, 32, 32 * trips, 32, 32, 32, stages=3)


def compiled(shape, blocks, ta, tb):
    """The program of a product in f16, with its remarks."""
    sizes = dict(zip("MNK", shape, strict=True)) | dict(
        zip(("bm", "bn", "bk"), blocks, strict=True)
    )
    types = {"dtype": "float16", "acc": "float32", "out": "float32"}
    m, n, k = shape
    inputs = [randn((k, m) if ta else (m, k)), randn((n, k) if tb else (k, n))]
    return compile_kernel(matmul, inputs, sizes | types | {"stages": 2, "ta": ta, "tb": tb}, 2)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("shape", [(640, 32, 256), (633, 29, 256), (30, 630, 500)])
def test_larger_tiles(shape, ta, tb):
    """Neighbours read one operand, so that one block takes their work; the last is cut off."""
    kernel = compiled(shape, (16, 16, 16), ta, tb)
    assert any("in larger tiles" in remark["message"] for remark in kernel.remarks)
    run(*shape, 16, 16, 16, ta, tb)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("shape", [(393, 600, 100), (1, 1000, 64), (700, 17, 130)])
def test_fitted_extents(shape, ta, tb):
    """Blocks of extents that divide neither the tensors nor the author's tiles."""
    kernel = compiled(shape, (32, 48, 16), ta, tb)
    if shape[1] > 17:  # of narrow tensors some are as fast in the author's tiles
        assert any(remark["stage"] == "tile-fit-blocks" for remark in kernel.remarks)
    run(*shape, 32, 48, 16, ta, tb)


@tilelang.jit
def stored_twice(A, B, gap):
    """Each block also writes what its neighbour writes, or what nobody does."""
    A: T.Tensor((1280, 128), T.float16)
    B: T.Tensor((128, 64), T.float16)
    C = T.empty((1280, 192), T.float32)
    with T.Kernel(2, 40, threads=128) as (x, y):
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[y * 32, k * 32], a)
            T.copy(B[k * 32, x * 32], b)
            T.gemm(a, b, c)
        T.copy(c, C[y * 32, x * 32])
        T.copy(c, C[y * 32, x * 32 + gap])
    return C


@pytest.mark.parametrize(("gap", "races"), [(32, True), (128, False)])
def test_joined_blocks_hide_no_race(gap, races):
    inputs = [randn((1280, 128), seed=1), randn((128, 64), seed=2)]
    program = Program(compile_kernel(stored_twice, inputs, {"gap": gap}, 2), inputs)
    assert bool(program.run(check=True).report["findings"]) == races


def test_bfloat16():
    run(64, 64, 96, 32, 64, 32, dtype="bfloat16", out="bfloat16", tol=1e-2)


def test_float32():
    run(64, 48, 96, 32, 48, 32, dtype="float32", tol=1e-5)


@pytest.mark.parametrize("tb", [False, True])
def test_int8(tb):
    run(64, 48, 100, 32, 48, 32, tb=tb, dtype="int8", acc="int32", out="int32", tol=0)


def test_half_accumulator():
    run(64, 64, 128, 32, 32, 32, acc="float16", out="float16", tol=5e-3)


@tilelang.jit
def batched(A, B, batch, M, N, K, bm, bn, bk):
    A: T.Tensor((batch, M, K), "float16")
    B: T.Tensor((batch, K, N), "float16")
    C = T.empty((batch, M, N), "float16")
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), batch, threads=128) as (bx, by, bz):
        As = T.alloc_shared((bm, bk), "float16")
        Bs = T.alloc_shared((bk, bn), "float16")
        Cl = T.alloc_fragment((bm, bn), "float32")
        T.clear(Cl)
        for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
            T.copy(A[bz, by * bm, k * bk], As)
            T.copy(B[bz, k * bk, bx * bn], Bs)
            T.gemm(As, Bs, Cl)
        T.copy(Cl, C[bz, by * bm, bx * bn])
    return C


def test_batched():
    check(
        batched,
        [randn((3, 40, 48), seed=1), randn((3, 48, 36), seed=2)],
        product(),
        rtol=2e-3,
        atol=2e-2,
        batch=3,
        M=40,
        N=36,
        K=48,
        bm=32,
        bn=16,
        bk=16,
    )


@tilelang.jit
def bias_relu(A, B, bias, M, N, K, bm, bn, bk):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    bias: T.Tensor((N,), "float32")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        As = T.alloc_shared((bm, bk), "float16")
        Bs = T.alloc_shared((bk, bn), "float16")
        bs = T.alloc_shared((bn,), "float32")
        Cl = T.alloc_fragment((bm, bn), "float32")
        T.clear(Cl)
        T.copy(bias[bx * bn], bs)
        for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
            T.copy(A[by * bm, k * bk], As)
            T.copy(B[k * bk, bx * bn], Bs)
            T.gemm(As, Bs, Cl)
        for i, j in T.Parallel(bm, bn):
            Cl[i, j] = T.max(Cl[i, j] + bs[j], 0.0)
        T.copy(Cl, C[by * bm, bx * bn])
    return C


@pytest.mark.parametrize("size", [(64, 64, 64), (45, 70, 33)])
def test_bias_relu(size):
    M, N, K = size
    check(
        bias_relu,
        [randn((M, K), seed=1), randn((K, N), seed=2), randn(N, np.float32, 3)],
        lambda a, b, c: np.maximum(product()(a, b) + c, 0),
        rtol=2e-3,
        atol=1e-2,
        M=M,
        N=N,
        K=K,
        bm=32,
        bn=32,
        bk=16,
    )


@tilelang.jit
def two_products(A, B, D, E, M, N, K):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    D: T.Tensor((M, K), "float16")
    E: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, K), "float16")
        Bs = T.alloc_shared((K, N), "float16")
        Cl = T.alloc_fragment((M, N), "float32")
        T.copy(A, As)
        T.copy(B, Bs)
        T.gemm(As, Bs, Cl, clear_accum=True)
        T.copy(D, As)
        T.copy(E, Bs)
        T.gemm(As, Bs, Cl)
        T.copy(Cl, C)
    return C


def test_two_products_into_one_accumulator():
    inputs = [
        randn((32, 48), seed=1),
        randn((48, 64), seed=2),
        randn((32, 48), seed=3),
        randn((48, 64), seed=4),
    ]
    check(
        two_products,
        inputs,
        lambda a, b, d, e: product()(a, b) + product()(d, e),
        rtol=1e-3,
        atol=1e-3,
        M=32,
        N=64,
        K=48,
    )


@tilelang.jit
def scaled_turns(A, B, S, M, N, K, bk):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    S: T.Tensor((K // bk,), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, bk), "float16")
        Bs = T.alloc_shared((bk, N), "float16")
        part = T.alloc_fragment((M, N), "float32")
        total = T.alloc_fragment((M, N), "float32")
        T.clear(total)
        for k in T.Pipelined(K // bk, num_stages=2):
            T.copy(A[0, k * bk], As)
            T.copy(B[k * bk, 0], Bs)
            T.clear(part)
            T.gemm(As, Bs, part)
            for i, j in T.Parallel(M, N):
                total[i, j] += part[i, j] * S[k]
        T.copy(total, C)
    return C


def test_product_scaled_each_turn():
    def reference(a, b, s):
        a, b = wide(a, b)
        return sum(s[k] * (a[:, 16 * k : 16 * k + 16] @ b[16 * k : 16 * k + 16]) for k in range(4))

    inputs = [randn((32, 64), seed=1), randn((64, 32), seed=2), randn(4, np.float32, 3)]
    check(scaled_turns, inputs, reference, M=32, N=32, K=64, bk=16)


@tilelang.jit
def prefilled(A, B, C, M, N, K, bk):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C: T.Tensor((M, N), "float32")
    O = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, bk), "float16")
        Bs = T.alloc_shared((bk, N), "float16")
        acc = T.alloc_fragment((M, N), "float32")
        T.copy(C, acc)
        for k in T.Pipelined(K // bk, num_stages=2):
            T.copy(A[0, k * bk], As)
            T.copy(B[k * bk, 0], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, O)
    return O


def test_accumulator_with_a_first_value():
    inputs = [randn((32, 64), seed=1), randn((64, 48), seed=2), randn((32, 48), np.float32, 3)]
    check(prefilled, inputs, lambda a, b, c: product()(a, b) + c, M=32, N=48, K=64, bk=16)


@tilelang.jit
def chained(A, B, C, M, N, K, L):
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C: T.Tensor((N, L), "float16")
    O = T.empty((M, L), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((M, K), "float16")
        Bs = T.alloc_shared((K, N), "float16")
        Cs = T.alloc_shared((N, L), "float16")
        P = T.alloc_fragment((M, N), "float32")
        Ph = T.alloc_shared((M, N), "float16")
        R = T.alloc_fragment((M, L), "float32")
        T.copy(A, As)
        T.copy(B, Bs)
        T.copy(C, Cs)
        T.gemm(As, Bs, P, clear_accum=True)
        T.copy(P, Ph)
        T.gemm(Ph, Cs, R, clear_accum=True)
        T.copy(R, O)
    return O


def test_product_of_product():
    inputs = [randn((32, 16), seed=1), randn((16, 48), seed=2), randn((48, 32), seed=3)]
    check(
        chained,
        inputs,
        lambda a, b, c: (product()(a, b)).astype(np.float16).astype(float) @ c.astype(float),
        rtol=1e-2,
        atol=5e-2,
        M=32,
        N=48,
        K=16,
        L=32,
    )


@tilelang.jit
def partial_size(A, B, C, m, n, k):
    A: T.Tensor((64, 64), "float16")
    B: T.Tensor((64, 64), "float16")
    C: T.Tensor((64, 64), "float32")
    O = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128) as _:
        As = T.alloc_shared((64, 64), "float16")
        Bs = T.alloc_shared((64, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.copy(A, As)
        T.copy(B, Bs)
        T.copy(C, acc)
        T.gemm(As, Bs, acc, [m, k, n], True)
        T.copy(acc, O)
    return O


@pytest.mark.parametrize("size", [(32, 48, 16), (30, 20, 10)])
def test_size_limits_the_product(size):
    m, n, k = size

    def reference(a, b, c):
        out = c.copy()
        out[:m, :n] = product()(a[:m, :k], b[:k, :n])
        return out

    check(
        partial_size,
        [randn((64, 64), seed=1), randn((64, 64), seed=2), randn((64, 64), np.float32, 3)],
        reference,
        m=m,
        n=n,
        k=k,
    )


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 8, 13, 17])
@pytest.mark.parametrize("transposed", [False, True])
def test_fused_turns_of_the_k_loop(turns, transposed):
    """Any number of narrow K steps, the last of them ragged."""
    K = turns * 32 - 5
    shapes = [(K, 64), (48, K)] if transposed else [(64, K), (K, 48)]
    check(
        matmul,
        [randn(shape, seed=s) for s, shape in enumerate(shapes)],
        product(transposed, transposed),
        rtol=2e-3,
        atol=2e-2,
        seeds=2,
        M=64,
        N=48,
        K=K,
        bm=32,
        bn=48,
        bk=32,
        ta=transposed,
        tb=transposed,
        dtype=T.float16,
        acc=T.float32,
        out=T.float32,
        stages=3,
    )


@pytest.mark.parametrize("out", [T.float16, T.float32])
@pytest.mark.parametrize("size", [(256, 320, 160), (250, 300, 100)])
def test_joined_blocks(size, out):
    """Many small tiles: neighbours share what they load; the last rows and columns are ragged."""
    M, N, K = size
    outcome = check(
        matmul,
        [randn((M, K), seed=1), randn((K, N), seed=2)],
        product(),
        rtol=2e-3,
        atol=2e-2,
        seeds=2,
        M=M,
        N=N,
        K=K,
        bm=32,
        bn=32,
        bk=32,
        ta=False,
        tb=False,
        dtype=T.float16,
        acc=T.float32,
        out=out,
        stages=2,
    )
    assert outcome.report["ok"]
