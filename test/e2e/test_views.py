# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views, tensors of a launch's own, patches of images, threads, and scalars for both cores."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import check, compile_kernel, randn


@tilelang.jit
def grouped_sums(A, B):
    A: T.Tensor((16, 32), T.float16)
    B: T.Tensor((32, 24), T.float16)
    C = T.empty((16, 3), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((16, 32), T.float16)
        b = T.alloc_shared((32, 24), T.float16)
        s = T.alloc_fragment((16, 24), T.float32)
        groups = T.reshape(s, (16, 3, 8))
        sums = T.alloc_fragment((16, 3), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, s, clear_accum=True)
        for i, g, j in T.Parallel(16, 3, 8):
            groups[i, g, j] = T.max(groups[i, g, j], 0) * (g + 1)
        T.reduce_sum(groups, sums, dim=-1)
        T.copy(sums, C)
    return C


def test_a_view_of_a_product_is_changed_and_reduced_in_groups():
    def reference(a, b):
        s = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0).reshape(16, 3, 8)
        return (s * np.arange(1, 4)[:, None]).sum(-1)

    inputs = [randn((16, 32)), randn((32, 24), seed=1)]
    kernel = compile_kernel(grouped_sums, inputs, {}, 2)
    assert not [r["message"] for r in kernel.remarks if "fallback" in r["kind"]]
    check(grouped_sums, inputs, reference)


@tilelang.jit
def shapes(A):
    A: T.Tensor((6, 32), T.float32)
    B = T.empty((6, 32), T.float32)
    C = T.empty((192,), T.float32)
    D = T.empty((6, 32), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((6, 32), T.float32)
        c = T.alloc_shared((192,), T.float32)
        T.copy(A, a)
        flat = T.view(a, (192,))
        blocks = T.view(a, (2, 3, 32))
        T.copy(blocks[1], B[0:3, :])
        T.copy(blocks[0, 1, :], B[4, :])
        for i in T.Parallel(192):
            c[i] = flat[191 - i]
        T.copy(c, C)
        T.cumsum(T.view(a, (6, 1, 32)), dim=2)
        T.copy(a, D)
    return B, C, D


def test_views_name_elements_and_slices_of_their_tile():
    def reference(a):
        b = np.zeros_like(a)
        b[0:3], b[4] = a[3:6], a[1]
        return b, a.reshape(-1)[::-1], a.cumsum(1)

    check(shapes, [randn((6, 32), np.float32)], reference, rtol=1e-5, atol=1e-5)


@tilelang.jit
def flattened(A):
    M = T.dynamic("M")
    A: T.Tensor((M, 4, 16), T.float32)
    B = T.empty((M, 4, 16), T.float32)
    with T.Kernel(M) as i:
        rows = T.Tensor((M * 4, 16), T.float32, A.data)
        out = T.view(B, (M, 64))
        t = T.alloc_shared((64,), T.float32)
        for r in T.serial(4):
            T.copy(rows[i * 4 + r, 0:16], t[r * 16 : r * 16 + 16])
        T.copy(t, out[i, :])
    return B


def test_views_of_tensors_share_their_memory():
    check(flattened, [randn((5, 4, 16), np.float32)], lambda a: a, rtol=0, atol=0)


def refused(body, message):
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((4, 32), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((4, 32), T.float32)
            body(A, a)

    with pytest.raises((ValueError, TypeError), match=message):
        kernel(np.zeros((4, 32), np.float32))


def test_what_views_cannot_be():
    def other_size(A, a):
        T.view(a, (100,))

    def packed(A, a):
        T.view(T.alloc_shared((4, 32), T.int4), (32, 4))

    def pieces(A, a):
        T.copy(T.view(a, (128,))[16:48], a[0, :])

    def operand(A, a):
        T.copy(A, T.view(a, (128,)))

    refused(other_size, "another number of bits")
    refused(packed, "elements of 8 bits or more")
    refused(pieces, "does not lie in one piece")
    refused(operand, "cannot be an operand of this operation")


def test_two_views_of_a_tensor_that_is_written_are_refused():
    @tilelang.jit
    def both(A):
        A: T.Tensor((4, 32), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((4, 32), T.float32)
            rows = T.view(A, (8, 16))
            T.copy(A, a)
            T.copy(a[0, 0:16], rows[1, :])

    with pytest.raises(ValueError, match="views of one tensor, and this launch writes it"):
        both(np.zeros((4, 32), np.float32))


@tilelang.jit
def convolution(image, weights, S, D, P, size, channels):
    H, W = size
    image: T.Tensor((2, H, W, channels), T.float16)
    weights: T.Tensor((9 * channels, 32), T.float16)
    OH, OW = ((n + 2 * P - D * 2 - 1) // S + 1 for n in (H, W))
    out = T.empty((2 * OH * OW, 32), T.float32)
    with T.Kernel(T.ceildiv(2 * OH * OW, 32)) as by:
        patch = T.alloc_shared((32, 16), T.float16)
        w = T.alloc_shared((16, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(9 * channels, 16), num_stages=2):
            T.im2col(image, patch, by, k, 3, S, D, P)
            T.copy(weights[k * 16, 0], w)
            T.gemm(patch, w, c)
        T.copy(c, out[by * 32, 0])
    return out


# Rows of outputs of which a tile holds a part, some, or pieces of several; a row of one output.
@pytest.mark.parametrize(
    "size, S, D, P",
    [
        ((9, 7), 1, 1, 1),
        ((9, 7), 2, 1, 0),
        ((9, 7), 1, 2, 2),
        ((3, 64), 1, 1, 1),
        ((5, 18), 1, 1, 0),
        ((4, 40), 1, 1, 1),
        ((7, 1), 1, 1, 1),
        ((3, 34), 2, 2, 2),
    ],
)
@pytest.mark.parametrize("channels", [16, 64, 5])
def test_im2col(size, S, D, P, channels):
    def reference(image, weights, *_):
        padded = np.pad(image.astype(np.float64), ((0, 0), (P, P), (P, P), (0, 0)))
        OH, OW = ((n + 2 * P - D * 2 - 1) // S + 1 for n in size)
        taps = [
            padded[:, y * D : y * D + S * (OH - 1) + 1 : S, x * D : x * D + S * (OW - 1) + 1 : S]
            for y in range(3)
            for x in range(3)
        ]
        return np.concatenate(taps, -1).reshape(2 * OH * OW, -1) @ weights.astype(np.float64)

    inputs = [randn((2, *size, channels)), randn((9 * channels, 32), seed=1)]
    sizes = {"size": size, "channels": channels}
    check(convolution, inputs, reference, rtol=1e-2, atol=1e-2, S=S, D=D, P=P, **sizes)


@tilelang.jit
def in_two_launches(A):
    A: T.Tensor((4, 64), T.float32)
    B = T.empty((64,), T.float32)
    parts = T.alloc_global((4, 64), T.float32)
    with T.Kernel(4) as i:
        a = T.alloc_shared((64,), T.float32)
        T.copy(A[i, :], a)
        for j in T.Parallel(64):
            a[j] = a[j] * 2
        T.copy(a, parts[i, :])
    with T.Kernel(1):
        p = T.alloc_shared((4, 64), T.float32)
        s = T.alloc_shared((64,), T.float32)
        T.copy(parts, p)
        T.reduce_sum(p, s, dim=0)
        T.copy(s, B)
    return B


def test_alloc_global_hands_over_between_launches():
    a = randn((4, 64), np.float32)
    check(in_two_launches, [a], lambda a: (2 * a).sum(0), rtol=1e-5, atol=1e-5)
    assert in_two_launches(a).shape == (64,)  # the scratch tensor is not returned


@tilelang.jit
def per_thread(A):
    A: T.Tensor((3, 96), T.float32)
    B = T.empty((3, 96), T.float32)
    with T.Kernel(3, threads=32) as b:
        shared = T.alloc_shared((96,), T.float32)
        T.copy(A[b, :], shared)
        t = T.get_thread_binding()
        for k in T.serial(3):
            if shared[k * 32 + t] > 0:
                B[b, k * 32 + t] = shared[95 - (k * 32 + t)]
        T.sync_threads()
        for k in T.serial(3):
            shared[k * 32 + t] = B[b, k * 32 + (t + 1) % 32]
        for k in T.serial(3):
            B[b, k * 32 + t] = shared[k * 32 + t]
    return B


def test_code_for_one_thread_runs_statement_by_statement():
    def reference(a):
        once = np.where(a > 0, a[:, ::-1], 0)
        return np.roll(once.reshape(3, 3, 32), -1, axis=-1).reshape(3, 96)

    check(per_thread, [randn((3, 96), np.float32)], reference, rtol=0, atol=0)


def test_tile_operations_in_code_for_one_thread_are_refused():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((32,), T.float32)
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32,), T.float32)
            T.thread_binding(0, 32, thread="threadIdx.x")
            T.copy(A, a)

    with pytest.raises(ValueError, match="what follows is code for one thread"):
        kernel(np.zeros(32, np.float32))


@tilelang.jit
def chosen_blocks(A, B, mask):
    A: T.Tensor((32, 32), T.float16)
    B: T.Tensor((4, 32, 32), T.float16)
    mask: T.Tensor((2, 4), T.int32)
    C = T.empty((2, 32, 32), T.float32)
    with T.Kernel(2) as bx:
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        wanted = T.alloc_fragment((4,), T.int32)
        at = T.alloc_fragment((1,), T.int32)
        T.copy(A, a)
        T.copy(mask[bx, :], wanted)
        T.clear(c)
        at[0] = 0
        while at[0] < 4:
            if wanted[at[0]] != 0:
                T.copy(B[at[0], :, :], b)
                T.gemm(a, b, c)
            at[0] = at[0] + 1
        T.copy(c, C[bx, :, :])
    return C


def test_scalars_of_tiles_steer_the_cube():
    """A copied row of the mask, and a counter in a tile, decide which products are made."""

    def reference(a, b, mask):
        products = a.astype(np.float64) @ b.astype(np.float64)
        return np.stack([products[row != 0].sum(0) for row in mask])

    mask = np.array([[1, 0, 0, 1], [0, 1, 1, 1]], np.int32)
    check(
        chosen_blocks,
        [randn((32, 32)), randn((4, 32, 32), seed=1), mask],
        reference,
        rtol=1e-2,
        atol=1e-2,
    )


@tilelang.jit
def gathered_rows(A, B, rows):
    A: T.Tensor((16, 32), T.float16)
    B: T.Tensor((64, 32), T.float16)
    rows: T.Tensor((2, 16), T.int32)
    C = T.empty((2, 16, 16), T.float32)
    with T.Kernel(2) as bx:
        a = T.alloc_shared((16, 32), T.float16)
        b = T.alloc_shared((16, 32), T.float16)
        c = T.alloc_fragment((16, 16), T.float32)
        wanted = T.alloc_shared((1, 16), T.int32)
        kept = T.alloc_shared((16,), T.int32)
        T.copy(A, a)
        T.copy(rows[bx, 0], wanted)
        for i in T.serial(16):
            kept[i] = wanted[0, i]
        for i in T.serial(16):
            at = kept[i]
            T.copy(B[at, 0:32], b[i, :])
        T.gemm(a, b, c, transpose_B=True, clear_accum=True)
        T.copy(c, C[bx, :, :])
    return C


def test_rows_that_scalars_of_tiles_choose_reach_the_cube():
    """The vector core loads what only it can address, and hands it over."""

    def reference(a, b, rows):
        return np.stack([a.astype(np.float64) @ b.astype(np.float64)[r].T for r in rows])

    rows = np.random.default_rng(2).integers(0, 64, (2, 16)).astype(np.int32)
    inputs = [randn((16, 32)), randn((64, 32), seed=1), rows]
    check(gathered_rows, inputs, reference, rtol=1e-2, atol=1e-2)


@tilelang.jit
def transposed_sum(A):
    n, s = T.dynamic("n, s")
    A: T.StridedTensor((n, 16), (1, s), T.float32)
    with T.Kernel(n) as i:
        a = T.alloc_shared((16,), T.float32)
        T.copy(A[i, :], a)
        for j in T.Parallel(16):
            a[j] = a[j] + j
        T.copy(a, A[i, :])


def test_strides_of_the_callers_tensor_are_sizes_too():
    @tilelang.jit
    def kernel(A):
        n, s, t = T.const("n, s, t")
        A: T.StridedTensor((n, 16), (s, t), T.float32)
        B = T.empty((2,), T.float32)
        with T.Kernel(1):
            B[0] = s
            B[1] = t
        return B

    assert kernel(np.zeros((16, 24), np.float32).T[:8]).tolist() == [1, 24]


def test_a_strided_tensor_is_read_and_written_where_it_lies():
    memory = randn((16, 8), np.float32)
    want = memory.T + np.arange(16, dtype=np.float32)
    transposed_sum(memory.T)
    assert np.array_equal(memory.T, want)


@tilelang.jit
def fill_of_any_size(A, low, high):
    n = T.dynamic("n")
    A: T.Tensor((n,), T.int64)
    low: T.Tensor((1,), T.int32)
    high: T.Tensor((1,), T.int32)
    with T.Kernel(1):
        T.fill(A[low[0] : high[0]], 7)


def test_a_fill_without_a_bound():
    a = np.zeros(3000, np.int64)
    check(
        fill_of_any_size,
        [a, np.array([5], np.int32), np.array([2500], np.int32)],
        lambda a, *_: [np.where((np.arange(3000) >= 5) & (np.arange(3000) < 2500), 7, 0), *_],
    )


@tilelang.jit
def reduced(A, op):
    A: T.Tensor((8, 64), T.float32)
    B = T.empty((8,), T.float32)
    C = T.empty((1,), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((8, 32), T.float32)
        rows = T.alloc_reducer(8, T.float32, op=op, replication="all")
        every = T.alloc_reducer((1,), T.float32, op=op)
        for k in T.serial(2):
            T.copy(A[0, k * 32], a)
            for i, j in T.Parallel(8, 32):
                if op == "sum":
                    rows[i] += a[i, j]
                else:
                    rows[i] = T.max(rows[i], a[i, j])
                T.reducer_update(every[0], a[i, j])
        T.finalize_reducer(rows)
        T.copy(rows, B)
        T.finalize_reducer(every, C)
    return B, C


@pytest.mark.parametrize("op", ["sum", "max"])
def test_reducers_combine_every_lane(op):
    def reference(a):
        return getattr(a.astype(np.float64), op)(1), getattr(a.astype(np.float64), op)()[None]

    check(reduced, [randn((8, 64), np.float32)], reference, rtol=1e-4, atol=1e-4, op=op)


def test_reducers_only():
    @tilelang.jit
    def plain(A):
        A: T.Tensor((8,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((8,), T.float32)
            T.finalize_reducer(a)

    @tilelang.jit
    def unknown(A):
        A: T.Tensor((8,), T.float32)
        with T.Kernel(1):
            T.alloc_reducer(8, T.float32, op="mean")

    for kernel, message in (
        (plain, "takes a reducer made by T.alloc_reducer"),
        (unknown, "'mean'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            kernel(np.zeros(8, np.float32))


@tilelang.jit
def one_for_all_rows(A, where, rows, place):
    A: T.Tensor((2, 16), T.float32)
    where: T.Tensor((2,), T.float32)
    B = T.empty((2, 16), T.float32)
    with T.Kernel(2) as bx:
        a = T.alloc_fragment((16,), T.float32)
        own = T.alloc_fragment((rows,), T.float32, place)
        T.copy(A[bx, 0], a)
        for i in T.Parallel(16):
            own[i] = where[bx]
        for i in T.Parallel(16):
            a[i] = a[i] * own[i]
        T.copy(a, B[bx, 0])
    return B


def test_a_fragment_has_what_loops_index():
    """Fragments of GPU kernels are declared smaller than the loops that spread them."""
    a, where = randn((2, 16), np.float32), randn((2,), np.float32, seed=1)
    check(one_for_all_rows, [a, where], lambda a, w: a * w[:, None], rows=2, place="local.fragment")
    kernel = compile_kernel(
        one_for_all_rows, [a, where], {"rows": 2, "place": "local.fragment"}, level=2
    )
    assert any("'own' is declared with shape (2)" in r["message"] for r in kernel.remarks)
    with pytest.raises(tilelang.errors.CompileError, match=r"reaches outside own: .* extent 2"):
        one_for_all_rows(a, where, 2, "shared")


@tilelang.jit
def scratch(A, turns, keeps):
    A: T.Tensor((turns, 16, 32), T.float16)
    B = T.empty((turns, 8, 32), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((16, 32), T.float16)
        sums = T.alloc_fragment((16, 32), T.float32)
        half = T.view(a, (8, 32), dtype=T.float32)
        for k in T.serial(turns):
            T.copy(A[k, 0, 0], a)
            for i, j in T.Parallel(16, 32):
                sums[i, j] = a[i, j] * 2
            for i, j in T.Parallel(16, 32):
                if i < keeps:
                    half[i, j] = sums[i + 8, j]
            T.copy(half, B[k, 0, 0])
    return B


def test_a_tile_seen_as_another_element_type():
    """GPU kernels do so to save shared memory; nothing may pass from one type to the other."""
    a = randn((3, 16, 32), np.float16)
    check(scratch, [a], lambda a: a[:, 8:].astype(np.float32) * 2, turns=3, keeps=8)
    with pytest.raises(tilelang.errors.CompileError, match="'half' is read after its memory was"):
        scratch(a, 3, 7)


def test_views_of_other_sizes_are_refused():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((8,), T.float16)
        with T.Kernel(1):
            T.view(T.alloc_shared((8,), T.float16), (8,), dtype=T.float32)

    with pytest.raises(ValueError, match="has another number of bits"):
        kernel(np.zeros(8, np.float16))


def test_a_view_of_a_view_is_one_of_the_memory():
    @tilelang.jit
    def kernel(G):
        M, N = T.const("M, N")
        G: T.Tensor((M, N), T.float32)
        O = T.empty((M, N), T.int32)
        with T.Kernel(1, threads=128):
            bits = T.alloc_shared((M, N), T.float32)
            halves = T.view(bits, (M, 2 * N), T.float16)
            words = T.view(halves, (M, N), T.int32)
            T.copy(G, bits)
            T.copy(words, O)
        return O

    with pytest.raises(tilelang.errors.CompileError, match="bits of a tile stay within one type"):
        kernel(np.zeros((8, 16), np.float32))
