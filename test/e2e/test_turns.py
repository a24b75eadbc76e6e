# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns of an online softmax that become one, slices of rows, and loops that only look like one."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn, setting
from kernels import attention, attention_reference, example


def applied(kernel, inputs, stage, **fixed):
    """Messages of an automatic stage: (applied, missed)."""
    found = compile_kernel(kernel, inputs, fixed, level=2)
    remarks = [r for r in found.remarks if r["stage"] == stage]
    return (
        [r["message"] for r in remarks if r["kind"] == "applied"],
        [r["message"] for r in remarks if r["kind"] == "missed"],
    )


# 16 turns fuse evenly; 17 and 19 leave some for the loop as it was; causal loops have a run-time
# length.
@pytest.mark.parametrize("keys", [512, 544, 608])
@pytest.mark.parametrize("causal", [False, True])
def test_fused_turns(keys, causal):
    inputs = [
        randn((1, keys, 32), seed=1),
        randn((1, keys, 32), seed=2),
        randn((1, keys, 32), seed=3),
    ]
    fixed = {"heads": 1, "block_q": 32, "block_k": 32, "causal": causal, "stages": 2}
    done, _ = applied(attention, inputs, "tile-fuse-turns", **fixed)
    assert done and "turns of the online softmax are one" in done[0]
    check(attention, inputs, attention_reference(causal), rtol=1e-2, atol=4e-3, **fixed)


@tilelang.jit
def almost(Q, K, V, variant, size):
    """An online softmax with one thing changed, as `variant` says."""
    S, L, D = T.const("S, L, D")
    Q: T.Tensor((S, D), T.float16)
    K: T.Tensor((L, D), T.float16)
    V: T.Tensor((L, D), T.float16)
    O = T.empty((S, D), T.float16)
    with T.Kernel(T.ceildiv(S, size), threads=128) as b:
        q = T.alloc_shared((size, D), T.float16)
        k = T.alloc_shared((size, D), T.float16)
        v = T.alloc_shared((size, D), T.float16)
        score = T.alloc_fragment((size, size), T.float32)
        weight = T.alloc_shared((size, size), T.float16)
        out = T.alloc_fragment((size, D), T.float32)
        top = T.alloc_fragment((size,), T.float32)
        before = T.alloc_fragment((size,), T.float32)
        shrink = T.alloc_fragment((size,), T.float32)
        part = T.alloc_fragment((size,), T.float32)
        total = T.alloc_fragment((size,), T.float32)
        bias = T.alloc_shared((1, size), T.float16)
        T.copy(Q[b * size, 0], q)
        T.clear(out)
        T.clear(total)
        T.fill(top, -1e30)
        for n in T.serial(T.ceildiv(L, size)):
            T.copy(K[n * size, 0], k)
            T.clear(score)
            T.gemm(q, k, score, transpose_B=True)
            if variant == "column":
                for i, j in T.Parallel(size, size):
                    score[i, j] = score[i, j] + T.cast(j, T.float32) * 0.5
            if variant == "bias":
                T.copy(K[0, 0], bias)
                for i, j in T.Parallel(size, size):
                    score[i, j] = score[i, j] + bias[0, j]
            T.copy(top, before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(size):
                shrink[i] = T.exp((before[i] - top[i]) * (0.5 if variant == "rate" else 0.25))
            for i, j in T.Parallel(size, size):
                score[i, j] = T.exp((score[i, j] - top[i]) * 0.25)
            if variant == "product":
                for i, j in T.Parallel(size, size):
                    score[i, j] = score[i, j] * score[i, j]
            if variant == "integer":
                for i, j in T.Parallel(size, size):
                    score[i, j] = T.cast(T.cast(score[i, j], T.int32), T.float32)
            T.reduce_sum(score, part, dim=1)
            T.copy(score, weight)
            for i in T.Parallel(size):
                if variant == "unscaled":
                    total[i] = total[i] + part[i]
                else:
                    total[i] = total[i] * shrink[i] + part[i]
            for i, j in T.Parallel(size, D):
                if variant == "axis":
                    out[i, j] *= shrink[j]
                else:
                    out[i, j] *= shrink[i]
            if variant == "turn":
                for i in T.Parallel(size):
                    total[i] = total[i] + n
            T.copy(V[n * size, 0], v)
            T.gemm(weight, v, out)
        for i, j in T.Parallel(size, D):
            out[i, j] /= total[i]
        T.copy(out, O[b * size, 0])
    return O


def almost_reference(variant):
    """Turn by turn, in f32."""

    def run(Q, K, V):
        q, k, v = (x.astype(np.float32) for x in (Q, K, V))
        out, total = np.zeros((len(q), q.shape[1])), np.zeros(len(q))
        top = np.full(len(q), -1e30)
        for n in range(len(k) // 32):
            part = slice(32 * n, 32 * n + 32)
            score = q @ k[part].T
            if variant == "column":
                score = score + np.arange(32) * 0.5
            if variant == "bias":
                score = score + k[0]
            before, top = top, np.maximum(top, score.max(1))
            shrink = np.exp((before - top) * (0.5 if variant == "rate" else 0.25))
            weight = np.exp((score - top[:, None]) * 0.25)
            if variant == "product":
                weight = weight * weight
            if variant == "integer":
                weight = np.trunc(weight)
            total = total * (1 if variant == "unscaled" else shrink) + weight.sum(1)
            if variant == "axis":
                out = (out.reshape(-1, 32, q.shape[1]) * shrink.reshape(-1, 1, 32)).reshape(
                    out.shape
                )
            else:
                out = out * shrink[:, None]
            if variant == "turn":
                total = total + n
            out = out + weight.astype(np.float16).astype(np.float32) @ v[part]
        return out / total[:, None]

    return run


#: Variants that are the recurrence still: what counts the columns of a turn starts anew in each.
FUSED = ("", "column", "bias")


@pytest.mark.parametrize(
    "variant", [*FUSED, "rate", "product", "unscaled", "axis", "turn", "integer"]
)
def test_what_only_looks_like_it(variant):
    """Only the true recurrence is fused; the others stay as written and come out right."""
    inputs = [randn((64, 32), seed=1), randn((512, 32), seed=2), randn((512, 32), seed=3)]
    done, missed = applied(almost, inputs, "tile-fuse-turns", variant=variant, size=32)
    assert bool(done) == (variant in FUSED), (done, missed)
    assert bool(missed) == (variant not in FUSED), (done, missed)
    check(almost, inputs, almost_reference(variant), rtol=2e-2, atol=4e-3, variant=variant, size=32)


def test_fused_and_sliced():
    """256 columns of 128 rows: scores and weights fit UB in two slots only slice by slice."""
    inputs = [randn((128, 128), seed=1), randn((4096, 128), seed=2), randn((4096, 128), seed=3)]
    fixed = {"variant": "", "size": 128}
    fused, _ = applied(almost, inputs, "tile-fuse-turns", **fixed)
    sliced, _ = applied(almost, inputs, "tile-slice-rows", **fixed)
    assert fused and sliced

    def reference(q, k, v):
        scores = q.astype(np.float32) @ k.astype(np.float32).T * 0.25
        weights = np.exp(scores - scores.max(1, keepdims=True))
        return weights @ v.astype(np.float32) / weights.sum(1, keepdims=True)

    check(almost, inputs, reference, rtol=2e-2, atol=4e-3, seeds=1, opt_levels=(2,), **fixed)


def test_slices_of_a_tensor():
    """Both loops over slices touch rows of one tensor: each vector core its own."""
    module = example("matmul_softmax")
    inputs = [randn((256, 64), seed=1), randn((64, 512), seed=2)]
    fixed = {"block_M": 128, "block_N": 256, "block_K": 64}
    sliced, _ = applied(module.matmul_softmax, inputs, "tile-slice-rows", **fixed)
    assert sliced
    kernel = compile_kernel(module.matmul_softmax, inputs, fixed, level=2)
    assert not [r for r in kernel.remarks if "one of the two vector cores" in r["message"]]
    check(module.matmul_softmax, inputs, module.reference, rtol=1e-2, atol=2e-3, seeds=1, **fixed)


def test_strict_keeps_turns():
    inputs = [randn((1, 512, 32), seed=s) for s in (1, 2, 3)]
    fixed = {"heads": 1, "block_q": 32, "block_k": 32, "causal": False, "stages": 2}
    with setting(strict=1):
        done, _ = applied(attention, inputs, "tile-fuse-turns", **fixed)
    assert not done


@tilelang.jit
def taken_after_handing_over(A, B, count):
    """The first product is read late, behind what the second one is given."""
    A: T.Tensor((6, 20, 32), "float16")
    B: T.Tensor((32, 8), "float16")
    count: T.int32
    O = T.empty((6, 20, 8), "float32")
    Q = T.empty((6, 20, 32), "float32")
    with T.Kernel(1, threads=128) as _:
        first = T.alloc_shared((20, 8), "float32")
        half = T.alloc_fragment((20, 8), "float16")
        second = T.alloc_fragment((20, 32), "float32")
        a = T.alloc_shared((20, 32), "float16")
        b = T.alloc_shared((32, 8), "float16")
        T.copy(B, b)
        for k in T.serial(6):
            T.copy(A[k, 0, 0], a)
            for i, j in T.Parallel(20, 8):
                half[i, j] = a[i, j]
            T.clear(first)
            T.gemm(a, b, first)
            T.gemm(half, b, second, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(20, 8):
                if i != count:
                    first[i, j] = T.exp(half[i, j])
            T.copy(first, O[k, 0, 0])
            T.copy(second, Q[k, 0, 0])
    return O, Q


def test_a_channel_is_read_before_it_is_given_back() -> None:
    A, B = randn((6, 20, 32), seed=1), randn((32, 8), seed=2)

    def reference(A: np.ndarray, B: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        A, B = A.astype(np.float32), B.astype(np.float32)
        first = np.exp(A[:, :, :8])
        first[:, count] = (A @ B)[:, count]
        return first, A[:, :, :8] @ B.T

    check(taken_after_handing_over, [A, B, 3], reference, rtol=1e-2, atol=1e-2)


@tilelang.jit
def attention_with_tiles_of_numbers(Q, K, V, keys):
    """As written for the Ascend: the scale is a tile, and maxima move by a sum with zeros."""
    Q: T.Tensor((64, 32), "float16")
    K: T.Tensor((keys, 32), "float16")
    V: T.Tensor((keys, 32), "float16")
    O = T.empty((64, 32), "float32")
    with T.Kernel(1, threads=128) as _:
        q = T.alloc_shared((64, 32), "float16")
        k = T.alloc_shared((32, 32), "float16")
        v = T.alloc_shared((32, 32), "float16")
        scores = T.alloc_fragment((64, 32), "float32")
        weights = T.alloc_fragment((64, 32), "float16")
        scales = T.alloc_fragment((64, 32), "float32")
        top = T.alloc_fragment((64, 1), "float32")
        new_top = T.alloc_fragment((64, 1), "float32")
        total = T.alloc_fragment((64, 1), "float32")
        some = T.alloc_fragment((64, 1), "float32")
        shrink = T.alloc_fragment((64, 1), "float32")
        out = T.alloc_fragment((64, 32), "float32")
        T.copy(Q, q)
        T.vbrc(0, out)
        T.vbrc(0, total)
        T.vbrc(-T.infinity("float32"), top)
        T.vbrc(32**-0.5, scales)
        for turn in T.Pipelined(T.ceildiv(keys, 32), num_stages=2):
            T.copy(K[turn * 32, 0], k)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            T.vmul(scores, scales, scores)
            T.reduce_max(scores, some, dim=1)
            T.vmax(top, some, new_top)
            T.vsub(top, new_top, some)
            T.vexp(some, shrink)
            T.vsub(scores, new_top, scores)
            T.vexp(scores, scores)
            T.reduce_sum(scores, some, dim=1)
            T.vmul(total, shrink, total)
            T.vadd(total, some, total)
            T.vmul(out, shrink, out)
            T.vcast(scores, weights, round_mode="rint")
            T.vbrc(0, some)
            T.vadd(some, new_top, top)
            T.copy(V[turn * 32, 0], v)
            T.gemm(weights, v, out)
        T.vdiv(out, total, out)
        T.copy(out, O)
    return O


def test_numbers_in_tiles_do_not_hide_an_online_softmax() -> None:
    inputs = [randn((64, 32), seed=1), randn((256, 32), seed=2), randn((256, 32), seed=3)]

    def reference(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
        scores = Q.astype(np.float32) @ K.astype(np.float32).T * 32**-0.5
        weights = np.exp(scores - scores.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True) @ V.astype(np.float32)

    fixed = {"keys": 256}
    done, _ = applied(attention_with_tiles_of_numbers, inputs, "tile-fuse-turns", **fixed)
    assert done and "turns of the online softmax are one" in done[0]
    check(attention_with_tiles_of_numbers, inputs, reference, rtol=1e-2, atol=4e-3, **fixed)
