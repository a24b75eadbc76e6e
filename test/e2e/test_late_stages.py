# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops in which the cube core waits for the vector core: what runs a turn late, what cannot."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn

#: Run-time trip counts: none, fewer than there are stages, as many, more.
TURNS = [0, 1, 2, 3, 5]


def remarks(kernel, inputs, **fixed):
    """What tile-skew-stages says: (kind, message)."""
    found = compile_kernel(kernel, inputs, fixed, 2).remarks
    return [(r["kind"], r["message"]) for r in found if r["stage"] == "tile-skew-stages"]


def inputs_for(turns):
    return [randn((32, 32), seed=1), randn((256, 32), seed=2), turns]


@tilelang.jit
def counted_place(Q, K, turns):
    """Both products of a turn use a tile whose place a variable of the kernel says."""
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        place = T.alloc_var("int32", init=0)
        T.copy(Q, q)
        T.clear(o)
        for _ in T.Pipelined(turns, num_stages=2):
            T.copy(K[place * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w[i, j] = s[i, j] * 0.1
            T.gemm(w, k, o)
            place = place + 1
        T.copy(o, O)
    return O


@pytest.mark.parametrize("turns", TURNS)
def test_place_that_only_its_turn_knows(turns):
    def reference(q, k, n):
        q, k = q.astype(np.float64), k.astype(np.float64)
        parts = [k[t * 32 : t * 32 + 32] for t in range(n)]
        return sum((0.1 * q @ part.T @ part for part in parts), np.zeros((32, 32)))

    check(counted_place, inputs_for(turns), reference, rtol=1e-2, atol=0.1)


@tilelang.jit
def printing(Q, K, turns):
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        z = T.alloc_fragment((32, 32), T.float32)
        T.copy(Q, q)
        T.clear(z)
        for t in T.Pipelined(turns, num_stages=2):
            T.copy(K[t * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w[i, j] = s[i, j] * 0.1
            T.print(t, msg="early")
            T.gemm(w, k, o, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                z[i, j] = z[i, j] * 0.5 + o[i, j]
            T.print(t, msg="late")
        T.copy(z, O)
    return O


def test_prints_keep_their_order():
    printed = check(printing, inputs_for(3), None).printed
    assert printed == "".join(f"early: {t}\nlate: {t}\n" for t in range(3))


@tilelang.jit
def many_channels(Q, K, turns):
    """Nine tiles go from one kind of core to the other, for the next turn and the one after."""
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        s1 = T.alloc_fragment((32, 32), T.float32)
        s2 = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        w1 = T.alloc_shared((32, 32), T.float16)
        w2 = T.alloc_shared((32, 32), T.float16)
        w3 = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        o1 = T.alloc_fragment((32, 32), T.float32)
        z = T.alloc_fragment((32, 32), T.float32)
        T.copy(Q, q)
        T.clear(z)
        for t in T.Pipelined(turns, num_stages=2):
            T.copy(K[t * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.gemm(q, k, s1, clear_accum=True)
            T.gemm(k, q, s2, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w[i, j] = s[i, j] * 0.1
            for i, j in T.Parallel(32, 32):
                w3[i, j] = s[i, j] * 0.1 + 1
            for i, j in T.Parallel(32, 32):
                w1[i, j] = s1[i, j] * 0.1
            T.gemm(w, k, o, clear_accum=True)
            T.gemm(w1, w, o1, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w2[i, j] = o[i, j] * 0.1 + o1[i, j] * 0.1
            T.gemm(w2, w3, o, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                z[i, j] = z[i, j] * 0.5 + o[i, j] * 0.1 + s2[i, j]
        T.copy(z, O)
    return O


@pytest.mark.parametrize("turns", TURNS)
def test_shared_semaphores_keep_one_order(turns):
    check(many_channels, inputs_for(turns), None)


def test_channels_of_one_pace_share():
    [(kind, message)] = remarks(many_channels, inputs_for(1))
    assert kind == "applied"
    assert "turns late" in message


@tilelang.jit
def decaying_state(Q, K, turns):
    """A state that each turn scales, hands to the cube and adds to; nine tiles cross."""
    Q: T.Tensor((256, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((256, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        v = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        state = T.alloc_fragment((32, 32), T.float32)
        handed = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        T.clear(state)
        for t in T.Pipelined(turns, num_stages=2):
            for i, j in T.Parallel(32, 32):
                q[i, j] = Q[t * 32 + i, j] * 0.25
            T.copy(K[t * 32, 0], k)
            T.copy(K[t * 32, 0], v)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w[i, j] = T.if_then_else(i >= j, s[i, j], 0)
            T.copy(state, handed)
            T.gemm(q, handed, o, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                o[i, j] = o[i, j] * 0.5
            T.gemm(w, v, o)
            for i, j in T.Parallel(32, 32):
                v[i, j] = v[i, j] * 0.5
            for i, j in T.Parallel(32, 32):
                state[i, j] = state[i, j] * 0.75
            T.gemm(k, v, state, transpose_A=True)
            T.copy(o, O[t * 32, 0])
    return O


@pytest.mark.parametrize("turns", [*TURNS, 8])
def test_state_and_products_of_different_pace(turns):
    def reference(q, k, n):
        out, state = np.zeros((256, 32)), np.zeros((32, 32))
        for t in range(n):
            rows = slice(t * 32, t * 32 + 32)
            part, keys = 0.25 * q[rows].astype(np.float64), k[rows].astype(np.float64)
            out[rows] = 0.5 * part @ state + np.tril(part @ keys.T) @ keys
            state = 0.75 * state + keys.T @ (0.5 * keys)
        return out

    inputs = [randn((256, 32), seed=1), randn((256, 32), seed=2), turns]
    check(decaying_state, inputs, reference, rtol=1e-2, atol=0.1)
    [(kind, _)] = remarks(decaying_state, inputs)
    assert kind == "applied"


@tilelang.jit
def channels_in_branches(Q, K, turns):
    """Three tiles cross in each turn and six in some of them, which share no order."""
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        s1 = T.alloc_fragment((32, 32), T.float32)
        s2 = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        w1 = T.alloc_shared((32, 32), T.float16)
        w2 = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        o1 = T.alloc_fragment((32, 32), T.float32)
        o2 = T.alloc_fragment((32, 32), T.float32)
        z = T.alloc_fragment((32, 32), T.float32)
        T.copy(Q, q)
        T.clear(z)
        for t in T.Pipelined(turns, num_stages=2):
            T.copy(K[t * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w[i, j] = s[i, j] * 0.1
            T.gemm(w, k, o, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                z[i, j] = z[i, j] * 0.5 + o[i, j]
            if t > 0:
                T.gemm(q, k, s1, clear_accum=True)
                for i, j in T.Parallel(32, 32):
                    w1[i, j] = s1[i, j] * 0.2
                T.gemm(w1, k, o1, clear_accum=True)
                for i, j in T.Parallel(32, 32):
                    z[i, j] = z[i, j] + o1[i, j]
            if t > 1:
                T.gemm(k, q, s2, clear_accum=True)
                for i, j in T.Parallel(32, 32):
                    w2[i, j] = s2[i, j] * 0.3
                T.gemm(w2, k, o2, clear_accum=True)
                for i, j in T.Parallel(32, 32):
                    z[i, j] = z[i, j] - o2[i, j]
        T.copy(z, O)
    return O


@pytest.mark.parametrize("turns", TURNS)
def test_channels_in_branches(turns):
    check(channels_in_branches, inputs_for(turns), None)


def test_why_all_stages_run_in_one_turn():
    [(kind, message)] = remarks(channels_in_branches, inputs_for(1))
    assert kind == "missed"
    assert "9 tiles, of which 7 can, go from one kind of core to the other" in message


@tilelang.jit
def wide_keys(Q, K):
    """A tile of half of L1 in both products: there is no room to load it again for a late one."""
    Q: T.Tensor((16, 1024), T.float16)
    K: T.Tensor((256, 1024), T.float16)
    O = T.empty((16, 1024), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((16, 1024), T.float16)
        k = T.alloc_shared((128, 1024), T.float16)
        s = T.alloc_fragment((16, 128), T.float32)
        w = T.alloc_shared((16, 128), T.float16)
        o = T.alloc_fragment((16, 1024), T.float32)
        T.copy(Q, q)
        T.clear(o)
        for t in T.Pipelined(2, num_stages=2):
            T.copy(K[t * 128, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(16, 128):
                w[i, j] = s[i, j] * 0.1
            T.gemm(w, k, o)
        T.copy(o, O)
    return O


def test_no_late_stage_where_it_does_not_fit():
    inputs = [randn((16, 1024), seed=1), randn((256, 1024), seed=2)]
    check(wide_keys, inputs, None)
    assert not remarks(wide_keys, inputs)


@tilelang.jit
def two_answers(Q, K, turns):
    """Each turn asks the vector core twice; a tile that a branch writes is read two turns late."""
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    turns: T.int32
    O = T.empty((32, 32), T.float32)
    P = T.empty((8, 32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((32, 32), T.float16)
        s = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        w2 = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        o2 = T.alloc_fragment((32, 32), T.float32)
        z = T.alloc_fragment((32, 32), T.float32)
        m = T.alloc_fragment((32,), T.float32)
        flag = T.alloc_fragment((32,), T.bool)
        T.copy(Q, q)
        T.clear(z)
        T.fill(m, 1.5)
        for t in T.Pipelined(turns, num_stages=2):
            T.copy(K[t * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            if t % 2 == 1:
                T.reduce_max(s, m, dim=1)
            for i in T.Parallel(32):
                flag[i] = m[i] > t
            for i, j in T.Parallel(32, 32):
                w[i, j] = s[i, j] * 0.1
            T.gemm(w, k, o, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                w2[i, j] = o[i, j] * 0.1 + m[i]
            T.gemm(w2, k, o2, clear_accum=True)
            for u in T.serial(t):
                for i, j in T.Parallel(32, 32):
                    z[i, j] = T.if_then_else(flag[i], z[i, j] * 0.5 + o2[i, j] * m[i], u + 1.0)
            T.copy(z, P[t, 0, 0])
        T.copy(z, O)
    return O, P


@pytest.mark.parametrize("turns", TURNS)
def test_two_answers(turns):
    check(two_answers, inputs_for(turns), None)


def test_how_late():
    [(kind, message)] = remarks(two_answers, inputs_for(1))
    assert kind == "applied" and "4 turns late" in message


@tilelang.jit
def dequantised(Q, K, V, scales):
    """The vector cores make a tile for the cube, and use a row of scales on what comes back."""
    L, D = T.const("L, D")
    Q: T.Tensor((32, D), T.float16)
    K: T.Tensor((L, D), T.int8)
    V: T.Tensor((L, D), T.float16)
    scales: T.Tensor((L,), T.float32)
    O = T.empty((32, D), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, D), T.float16)
        raw = T.alloc_shared((32, D), T.int8)
        k = T.alloc_shared((32, D), T.float16)
        v = T.alloc_shared((32, D), T.float16)
        scale = T.alloc_shared((32,), T.float32)
        s = T.alloc_fragment((32, 32), T.float32)
        w = T.alloc_shared((32, 32), T.float16)
        o = T.alloc_fragment((32, D), T.float32)
        T.copy(Q, q)
        T.clear(o)
        for n in T.Pipelined(L // 32, num_stages=2):
            T.copy(K[n * 32, 0], raw)
            for i, j in T.Parallel(32, D):
                k[i, j] = T.cast(raw[i, j], T.float16) * 0.05
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.copy(scales[n * 32], scale)
            for i, j in T.Parallel(32, 32):
                s[i, j] = s[i, j] * scale[j]
            T.copy(s, w)
            T.copy(V[n * 32, 0], v)
            T.gemm(w, v, o)
        T.copy(o, O)
    return O


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_stage_past_the_last_copy(turns):
    """A late stage that does not read a kept tile may be later than any copy of it."""
    random = np.random.default_rng(turns)
    length = 32 * turns
    inputs = [
        randn((32, 64), seed=1),
        random.integers(-40, 40, (length, 64)).astype(np.int8),
        randn((length, 64), seed=2),
        random.random(length).astype(np.float32),
    ]

    def reference(q, k, v, scales):
        scores = q.astype(np.float32) @ (k * np.float32(0.05)).T * scales
        return scores @ v.astype(np.float32)

    check(dequantised, inputs, reference, rtol=1e-2, atol=0.5)


@tilelang.jit
def chosen_blocks(Q, K, order, turns):
    """Two turns for each block of keys that an index chooses."""
    Q: T.Tensor((32, 32), T.float16)
    K: T.Tensor((256, 32), T.float16)
    order: T.Tensor((8,), T.int32)
    turns: T.int32
    O = T.empty((8, 2, 32, 32), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((32, 32), T.float16)
        k = T.alloc_shared((16, 32), T.float16)
        s = T.alloc_fragment((32, 16), T.float32)
        w = T.alloc_shared((32, 16), T.float16)
        o = T.alloc_fragment((32, 32), T.float32)
        T.copy(Q, q)
        for n in T.serial(turns):
            first = order[n] * 32
            for t in T.Pipelined(2, num_stages=2):
                T.copy(K[first + t * 16, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(32, 16):
                    w[i, j] = s[i, j] * 0.1
                T.gemm(w, k, o, clear_accum=True)
                T.copy(o, O[n, t, 0, 0])
    return O


@pytest.mark.parametrize("turns", TURNS)
def test_short_loops_are_flattened(turns):
    def reference(q, k, order, n):
        q, k = q.astype(np.float64), k.astype(np.float64)
        out = np.zeros((8, 2, 32, 32))
        for block in range(n):
            for t in range(2):
                part = k[order[block] * 32 + t * 16 :][:16]
                out[block, t] = 0.1 * q @ part.T @ part
        return out

    order = np.array([3, 0, 7, 3, 5, 1, 2, 6], np.int32)
    inputs = [randn((32, 32), seed=1), randn((256, 32), seed=2), order, turns]
    check(chosen_blocks, inputs, reference, rtol=1e-2, atol=0.1)
    kernel = compile_kernel(chosen_blocks, inputs, {}, 2)
    assert kernel.text("tile-skew-stages").count("scf.for") == 1


@tilelang.jit
def kept_in_part(X, B, S, R):
    """A row of which each turn writes a part is kept for a stage that runs late."""
    X: T.Tensor((16, 8), "float16")
    B: T.Tensor((16, 8), "float16")
    S: T.Tensor((2, 16, 8), "float32")
    R: T.Tensor((16,), "float32")
    Q = T.empty((16, 16), "float32")
    with T.Kernel(1, threads=128) as _:
        s = T.alloc_shared((16, 8), "float32")
        h = T.alloc_shared((16, 8), "float16")
        q = T.alloc_fragment((16, 16), "float32")
        r = T.alloc_fragment((16,), "float32")
        b = T.alloc_shared((16, 8), "float16")
        T.copy(X, h)
        T.copy(B, b)
        T.copy(R, r)
        T.clear(q)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(S[k, 0, 0], s)
            T.gemm(h, b, q, transpose_B=True)
            T.copy(s, h)
            for i, j in T.Parallel(16, 16):
                if i >= 2:
                    q[i, j] = k + r[i]
        T.copy(q, Q)
    return Q


def test_a_row_of_which_a_part_is_written_is_kept_for_late_stages() -> None:
    inputs = [randn((16, 8), seed=1), randn((16, 8), seed=2)]
    inputs += [randn((2, 16, 8), np.float32, seed=3), randn((16,), np.float32, seed=4)]

    def reference(X: np.ndarray, B: np.ndarray, S: np.ndarray, R: np.ndarray) -> np.ndarray:
        q, h = np.zeros((16, 16), np.float32), X.astype(np.float32)
        for k in range(2):
            q += h @ B.astype(np.float32).T
            h = S[k].astype(np.float16).astype(np.float32)
            q[2:] = (k + R)[2:, None]
        return q

    check(kept_in_part, inputs, reference, rtol=1e-2, atol=1e-2)
