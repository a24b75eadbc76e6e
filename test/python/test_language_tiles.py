# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tile operations: copies and their extents, products, reductions, vectors, control flow."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T
from tilewright import _core, jit
from tilewright.language.buffer import TensorType
from tilewright.language.builder import Builder

RNG = np.random.default_rng(7)


def build(body, *params):
    """A module for annotated parameters (shape, type); a third entry marks outputs."""
    with Builder("kernel") as builder:
        builder.set_location("kernel.py", 1)
        buffers = []
        for i, (shape, kind, *output) in enumerate(params):
            if output:
                buffers.append(builder.add_output(f"P{i}", shape, kind))
            else:
                buffers.append(builder.add_tensor_param(f"P{i}", TensorType(shape, kind)))
        body(*buffers)
        return builder.finish()


def execute(module, *arrays):
    kernel, diagnostics = _core.compile(module, interpret_only=True)
    assert kernel is not None, diagnostics
    report = kernel.run(
        [(a.ctypes.data, a.shape, str(a.dtype)) for a in arrays], engine="interpreter"
    )
    assert report["ok"], report["error"]
    return report


def run(body, *arrays):
    """Builds for the shapes of `arrays` and runs in place; the last array is given back."""
    execute(build(body, *[(a.shape, str(a.dtype)) for a in arrays]), *arrays)
    return arrays[-1]


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_matmul_of_any_size():
    def body(a, b, c):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            left = T.alloc_shared((64, 16), "float16")
            right = T.alloc_shared((16, 32), "float16")
            acc = T.alloc_fragment((64, 32), "float32")
            T.clear(acc)
            with T.Pipelined(T.ceildiv(50, 16), num_stages=2) as k:
                T.copy(a[by * 64, k * 16], left)
                T.copy(b[k * 16, bx * 32], right)
                T.gemm(left, right, acc)
            T.copy(acc, c[by * 64, bx * 32])

    a, b = floats(100, 50).astype(np.float16), floats(50, 70).astype(np.float16)
    c = run(body, a, b, np.zeros((100, 70), np.float32))
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", ["gpu", "peer", "positional", "size"])
def test_gemm_signatures(form):
    def body(a, b, c):
        with T.Kernel(1, is_npu=True) as (cid, _):
            left = T.alloc_shared((8, 16), "float32")
            right = T.alloc_shared((24, 16), "float32")
            acc = T.alloc_fragment((8, 24), "float32")
            T.copy(a, left)
            T.copy(b, right)
            T.fill(acc, 5)
            if form == "gpu":
                T.gemm(
                    left,
                    right,
                    acc,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    clear_accum=True,
                )
            elif form == "peer":
                T.gemm(left, right, acc, initC=(cid == 0), b_transpose=True)
            elif form == "positional":
                T.gemm(left, right, acc, False, True, clear_accum=True)
            else:
                T.gemm(left, right, acc, [8, 16, 24], True, False, True)
            T.copy(acc, c)

    a, b = floats(8, 16), floats(24, 16)
    c = run(body, a, b, np.zeros((8, 24), np.float32))
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-5, atol=1e-5)


def test_gemm_on_regions_and_planes():
    def body(a, b, c):
        with T.Kernel(1):
            left = T.alloc_shared((2, 8, 32), "float32")
            right = T.alloc_shared((16, 8), "float32")
            acc = T.alloc_fragment((8, 8), "float32")
            T.copy(a, left)
            T.copy(b, right)
            T.gemm(left[1, :, 0:16], right, acc, clear_accum=True)
            T.gemm(left[0, :, 16:], right, acc)
            T.copy(acc, c)

    a, b = floats(2, 8, 32), floats(16, 8)
    c = run(body, a, b, np.zeros((8, 8), np.float32))
    np.testing.assert_allclose(c, a[1, :, :16] @ b + a[0, :, 16:] @ b, rtol=1e-5, atol=1e-5)


def copy_case(move, shape, tile, out):
    """Copies in by `move`, and the whole tile out."""

    def body(a, c):
        with T.Kernel(1):
            t = T.alloc_shared(tile, "float32")
            T.fill(t, -1)
            move(a, t)
            T.copy(t, c)

    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return a, run(body, a, np.zeros(out, np.float32))


def test_copy_corner_takes_the_tile():
    a, c = copy_case(lambda a, t: T.copy(a[3, 2], t), (8, 8), (4, 4), (4, 4))
    assert (c == a[3:7, 2:6]).all()


def test_copy_outside_reads_zero():
    a, c = copy_case(lambda a, t: T.copy(a[6, 6], t), (8, 8), (4, 4), (4, 4))
    expected = np.zeros((4, 4), np.float32)
    expected[:2, :2] = a[6:, 6:]
    assert (c == expected).all()


def test_copy_safe_value():
    def move(a, t):
        T.annotate_safe_value({a: 7.0})
        T.copy(a[6, 6], t)

    a, c = copy_case(move, (8, 8), (4, 4), (4, 4))
    assert c[3, 3] == 7 and c[0, 0] == a[6, 6]


def test_copy_region_into_part_of_a_tile():
    a, c = copy_case(lambda a, t: T.copy(a[2:4, 1:4], t), (8, 8), (4, 4), (4, 4))
    assert (c[:2, :3] == a[2:4, 1:4]).all() and (c[2:] == -1).all() and (c[:, 3] == -1).all()


def test_copy_drops_ones():
    a, c = copy_case(lambda a, t: T.copy(a[1, 2:6, 3, :], t), (2, 8, 4, 8), (4, 8), (4, 8))
    assert (c == a[1, 2:6, 3, :]).all()


def test_copy_size():
    a, c = copy_case(lambda a, t: T.copy(a[1, 1], t[1, 0], size=[2, 3]), (8, 8), (4, 4), (4, 4))
    assert (c[1:3, :3] == a[1:3, 1:4]).all() and (c[0] == -1).all()


def test_copy_single_elements_convert():
    def body(a, c):
        with T.Kernel(1):
            T.copy(a[2], c[0])

    assert run(body, np.array([1.5, 2.5, 3.5], np.float32), np.zeros(1, np.int32)).tolist() == [3]


def test_copy_negative_and_open_slices():
    a, c = copy_case(lambda a, t: T.copy(a[-4:, :4], t), (8, 8), (4, 4), (4, 4))
    assert (c == a[-4:, :4]).all()


def test_copy_with_run_time_tail():
    m = T.dynamic("m")

    def body(a, c):
        with T.Kernel(T.ceildiv(m, 16)) as bx:
            tile = T.alloc_shared((16, 4), "float32")
            tail = T.min(16, m - bx * 16)
            T.copy(a[bx * 16 : bx * 16 + tail, :], tile[:tail, :])
            with T.Parallel(tail, 4) as (i, j):
                tile[i, j] += 1
            T.copy(tile[:tail, :], c[bx * 16 : bx * 16 + tail, :])

    module = build(body, ((m, 4), "float32"), ((m, 4), "float32"))
    a, c = floats(37, 4), np.zeros((37, 4), np.float32)
    execute(module, a, c)
    assert (c == a + 1).all()


def test_affine_sizes_are_bound():
    n = T.dynamic("n")

    def body(a, c):
        with T.Kernel(1), T.Parallel(n) as i:
            c[i] = a[2 * i + 1]

    kernel, _ = _core.compile(
        build(body, ((2 * n + 1,), "float32"), ((n,), "float32", True)), interpret_only=True
    )
    a = np.arange(9, dtype=np.float32)
    argument = (a.ctypes.data, a.shape, "float32")
    shapes, error = kernel.output_shapes([argument])
    assert (shapes, error) == ([[4]], "")
    c = np.zeros(4, np.float32)
    report = kernel.run([argument, (c.ctypes.data, c.shape, "float32")], engine="interpreter")
    assert report["ok"] and c.tolist() == [1, 3, 5, 7]
    assert "takes 1 arguments" in kernel.output_shapes([])[1]
    assert "dtype int32" in kernel.output_shapes([(0, (9,), "int32")])[1]


@pytest.mark.parametrize("shape", [(8,), (8, 1)])
@pytest.mark.parametrize(
    ("reduce", "reference"),
    [
        (T.reduce_sum, lambda a: a.sum(1)),
        (T.reduce_max, lambda a: a.max(1)),
        (T.reduce_min, lambda a: a.min(1)),
        (T.reduce_abssum, lambda a: abs(a).sum(1)),
        (T.reduce_absmax, lambda a: abs(a).max(1)),
        (lambda s, d, dim: T.reduce(s, d, dims=[dim], reduce_mode="sum"), lambda a: a.sum(1)),
        (lambda s, d, dim: T.reduce(s, d, "max", dim), lambda a: a.max(1)),
        (lambda s, d, dim: T.reduce(s, d, -1, "prod"), lambda a: a.prod(1)),
    ],
)
def test_reductions(reduce, reference, shape):
    def body(a, c):
        with T.Kernel(1):
            tile, out = T.alloc_fragment((8, 40), "float32"), T.alloc_fragment(shape, "float32")
            T.copy(a, tile)
            reduce(tile, out, dim=1)
            T.copy(out, c)

    a = floats(8, 40)
    c = run(body, a, np.zeros(8, np.float32))
    np.testing.assert_allclose(c, reference(a), rtol=1e-5, atol=1e-5)


def test_reduction_keeps_old_values():
    def body(a, c):
        with T.Kernel(1):
            tile, out = T.alloc_fragment((4, 8), "float32"), T.alloc_fragment((8,), "float32")
            T.copy(a, tile)
            T.fill(out, 1)
            T.reduce_max(tile, out, dim=0, clear=False)
            T.copy(out, c)

    a = floats(4, 8)
    assert (run(body, a, np.zeros(8, np.float32)) == np.maximum(a.max(0), 1)).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(reverse):
    def body(a, c):
        with T.Kernel(1):
            tile = T.alloc_shared((4, 8), "float32")
            T.copy(a, tile)
            T.cumsum(tile, dim=1, reverse=reverse)
            T.copy(tile, c)

    a = floats(4, 8)
    expected = a[:, ::-1].cumsum(1)[:, ::-1] if reverse else a.cumsum(1)
    np.testing.assert_allclose(
        run(body, a, np.zeros((4, 8), np.float32)), expected, rtol=1e-5, atol=1e-5
    )


def vector_case(apply, *arrays, to=None):
    def body(*buffers):
        with T.Kernel(1):
            tiles = [T.alloc_ub(b.shape, b.dtype) for b in buffers]
            for b, t in zip(buffers[:-1], tiles[:-1], strict=True):
                T.copy(b, t)
            apply(*tiles)
            T.copy(tiles[-1], buffers[-1])

    return run(body, *arrays, to if to is not None else np.zeros_like(arrays[0]))


def test_vector_ops():
    a, b = floats(4, 8), floats(4, 8)
    row, column = floats(1, 8), floats(4, 1)
    assert (vector_case(T.vadd, a, b) == a + b).all()
    assert (vector_case(T.npuir_sub, a, row) == a - row).all()
    assert (vector_case(T.vmul, a, column) == a * column).all()
    assert (vector_case(T.vmax, a, b) == np.maximum(a, b)).all()
    assert (vector_case(lambda x, o: T.vdiv(x, 2, o), a) == a / 2).all()
    assert (vector_case(lambda x, o: T.vsub(1.0, x, o), a) == 1 - a).all()
    assert (vector_case(lambda x, o: T.vadd(x, x[0, 1], o), a) == a + a[0, 1]).all()
    assert (vector_case(lambda x, o: T.vclamp(x, o, -0.5, 0.5), a) == np.clip(a, -0.5, 0.5)).all()
    np.testing.assert_allclose(vector_case(T.vexp, a), np.exp(a), rtol=1e-6)
    np.testing.assert_allclose(vector_case(T.vsigmoid, a), 1 / (1 + np.exp(-a)), rtol=1e-6)
    assert (vector_case(T.vrelu, a) == np.maximum(a, 0)).all()
    assert (vector_case(T.vnot, a).view(np.int32) == ~a.view(np.int32)).all()
    mask = RNG.integers(0, 2, (4, 8)).astype(bool)
    assert (vector_case(T.vnot, mask) == ~mask).all()


def test_vector_ops_on_rows_of_a_tile():
    def apply(x, y, out):
        T.fill(out, 0)
        T.vmax(x, y, out[2, :])
        T.vadd(out[2, 0:4], 1, out[0, 4:8])

    a, b = floats(8), floats(8)
    c = vector_case(apply, a, b, to=np.zeros((3, 8), np.float32))
    assert (
        (c[2] == np.maximum(a, b)).all()
        and (c[0, 4:] == np.maximum(a, b)[:4] + 1).all()
        and (c[1] == 0).all()
    )


def test_vector_compare_select_cast():
    a, b = floats(4, 8), floats(4, 8)

    def apply(x, y, out):
        mask = T.alloc_ub((4, 8), "bool")
        T.vcmp(x, y, mask, "lt")
        T.vselect(mask, x, y, out)

    assert (vector_case(apply, a, b) == np.minimum(a, b)).all()
    values = np.array([[0.5, 1.5, -2.5, 2.7]], np.float32)
    for mode, expected in {
        "rint": [0, 2, -2, 3],
        "round": [1, 2, -3, 3],
        "floor": [0, 1, -3, 2],
        "ceil": [1, 2, -2, 3],
        "trunc": [0, 1, -2, 2],
    }.items():
        found = vector_case(
            lambda x, o, m=mode: T.vcast(x, o, round_mode=m), values, to=np.zeros((1, 4), np.int32)
        )
        assert found.tolist() == [expected], mode


def test_shape_movers():
    a = floats(4, 8)
    transposed = vector_case(
        lambda x, o: T.transpose(x, o, [1, 0]), a, to=np.zeros((8, 4), np.float32)
    )
    assert (transposed == a.T).all()
    assert (vector_case(T.reshape, a, to=np.zeros((2, 16), np.float32)) == a.reshape(2, 16)).all()
    assert (vector_case(lambda x, o: T.flip(x, o, 1), a) == a[:, ::-1]).all()
    both = vector_case(
        lambda x, y, o: T.concat(x, y, o, 0), a, a + 1, to=np.zeros((8, 8), np.float32)
    )
    assert (both == np.concatenate([a, a + 1])).all()
    index = RNG.integers(0, 8, (4, 8)).astype(np.int32)
    gathered = vector_case(lambda x, i, o: T.gather(x, o, i), a, index)
    assert (gathered == np.take_along_axis(a, index, 1)).all()
    steps = vector_case(lambda o: T.arange(o, [8, 1], 3), to=np.zeros((4, 8), np.int32))
    assert (steps == np.arange(32).reshape(4, 8) + 3).all()
    column = floats(4, 1)
    assert (vector_case(T.vbrc, column, to=np.zeros((4, 8), np.float32)) == column).all()


def test_interleave_and_pad():
    a, b = floats(4, 8), floats(4, 8)
    both = vector_case(T.npuir_interleave, a, b, to=np.zeros((4, 16), np.float32))
    assert (both == np.stack([a, b], -1).reshape(4, 16)).all()
    odd = vector_case(
        lambda x, o: T.npuir_deinterleave(x, o, index_mode="CHANNEL_1"),
        both,
        to=np.zeros((4, 8), np.float32),
    )
    assert (odd == b).all()
    padded = vector_case(
        lambda x, o: T.npuir_pad(x, o, 7, [0, 2], [0, 1.0]), a, to=np.zeros((4, 11), np.float32)
    )
    assert (padded == np.pad(a, [(0, 0), (2, 1)], constant_values=7)).all()


def test_atomics():
    def body(a, c):
        with T.Kernel(4) as bx:
            tile = T.alloc_shared((8,), "float32")
            T.copy(a[bx, :], tile)
            T.atomic_add(c[0:8], tile)
            with T.Parallel(8) as i:
                T.atomic_max(c[8 + i // 4], tile[i])

    a = floats(4, 8)
    c = run(body, a, np.full(10, -10, np.float32))
    np.testing.assert_allclose(c[:8], a.sum(0) - 10, rtol=1e-5)
    assert c[8] == a[:, :4].max() and c[9] == a[:, 4:].max()


def test_packed_atomics_add_neighbours():
    def body(a, c):
        with T.Kernel(2), T.Parallel(4) as i:
            tile = a
            T.atomic_addx4(c[i * 4], tile[i * 4])
            T.atomic_addx2(c[16 + i * 2], tile[i * 2])

    a = np.arange(16, dtype=np.float32)
    c = run(body, a, np.zeros(24, np.float32))
    assert (c[:16] == 2 * a).all() and (c[16:] == 2 * a[:8]).all()


def test_variables_inside_parallel_belong_to_lanes():
    def body(a, c):
        with T.Kernel(1), T.Parallel(4, 8) as (i, j):
            total = T.alloc_var("float32", init=1)
            with T.serial(3) as k:
                total.store(total + a[i, j] * k)
            c[i, j] = total

    a = floats(4, 8)
    np.testing.assert_allclose(
        run(body, a, np.zeros((4, 8), np.float32)), 1 + 3 * a, rtol=1e-5, atol=1e-6
    )


def test_control_flow():
    def body(a, c):
        with T.Kernel(3) as bx:
            count = T.alloc_var("int32", init=0)
            with T.serial(10, 0, -3) as i:
                count.store(count + i)
            with T.If(bx == 1), T.Then:
                count.store(count * 2)
            builder = T.current()
            builder.begin_while()
            builder.while_condition(count > 100)
            count.store(count - 100)
            builder.end_while()
            builder.begin_if(bx == 2)
            c[bx] = a[0]
            builder.begin_else()
            c[bx] = count
            builder.end_if()

    assert run(body, np.array([7], np.int32), np.zeros(3, np.int32)).tolist() == [22, 44, 7]


def test_grids_and_persistent_loops():
    def body(c):
        with T.Kernel(2, 3, 2) as (bx, by, bz), T.grid(2, 2) as (i, j):
            c[bz, by, bx] += i * 2 + j + bx + 10 * by + 100 * bz

    c = run(body, np.zeros((2, 3, 2), np.int32))
    z, y, x = np.indices((2, 3, 2))
    assert (c == 6 + 4 * (x + 10 * y + 100 * z)).all()

    def share(c):
        with T.Kernel(3) as bx, T.Persistent([4, 5], 3, bx) as (i, j):
            c[i, j] += 1 + bx

    assert (run(share, np.zeros((4, 5), np.int32)).ravel() == 1 + np.arange(20) % 3).all()


def test_tile_operations_inside_parallel():
    def body(a, c):
        with T.Kernel(1):
            tile = T.alloc_shared((4, 8), "float32")
            with T.Parallel(4) as i:
                T.copy(a[3 - i, :], tile[i, :])
            T.copy(tile, c)

    a = floats(4, 8)
    assert (run(body, a, np.zeros((4, 8), np.float32)) == a[::-1]).all()


def test_quantifiers_and_prints():
    def body(a, c):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((8,), "int32")
            T.copy(a, tile)
            c[0] = T.any_of(tile)
            c[1] = T.all_of(tile)
            T.print(tile, msg="tile")
            T.print(bx + 41, "answer")
            T.assert_(bx == 0, "one block")

    arrays = np.array([0, 0, 3, 0, 0, 0, 0, 0], np.int32), np.zeros(2, np.int32)
    report = execute(build(body, *[(a.shape, str(a.dtype)) for a in arrays]), *arrays)
    assert arrays[1].tolist() == [1, 0]
    assert "tile" in report["printed"] and "41" in report["printed"]


def test_every_op_has_a_location():
    def body(a, c):
        with T.Kernel(1), T.Parallel(4) as i:
            c[i] = a[i]

    kernel, _ = _core.compile(build(body, ((4,), "int32"), ((4,), "int32")), interpret_only=True)
    assert "unknown" not in kernel.text("tile")


def test_int8_outputs_stay_signed():
    @jit
    def kernel(A):
        A: T.Tensor((16,), T.int8)
        B = T.empty((16,), T.int8)
        with T.Kernel(1):
            a = T.alloc_shared((16,), T.int8)
            T.copy(A, a)
            T.copy(a, B)
        return B

    given = np.arange(-8, 8, dtype=np.int8)
    found = kernel(given)
    assert found.dtype == np.int8 and (found == given).all()


def test_arguments_that_would_be_lost_are_refused():
    def build(body):
        @jit
        def kernel(A):
            A: T.Tensor((16, 16), T.float32)
            B = T.empty((16,), T.float32)
            with T.Kernel(1):
                a = T.alloc_fragment((16, 16), T.float32)
                s = T.alloc_fragment((16,), T.float32)
                T.copy(A, a)
                body(a, s)
                T.copy(s, B)
            return B

        return lambda: kernel(np.ones((16, 16), np.float32))

    with pytest.raises(Exception, match=r"no argument `axis`; did you mean `dim`\?"):
        build(lambda a, s: T.reduce_sum(a, s, axis=0))()
    with pytest.raises(Exception, match=r"one T\.copy for each pair"):
        build(lambda a, s: T.copy(s, s, a))()


def test_a_while_that_python_cannot_end():
    @jit
    def kernel(A):
        A: T.Tensor((16,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((16,), T.float32)
            while True:
                T.clear(a)

    with pytest.raises(Exception, match="after 10000 turns it has not ended"):
        kernel(np.ones(16, np.float32))
