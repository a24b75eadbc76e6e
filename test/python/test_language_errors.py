# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes in kernels: each message says what was found, what is allowed, what to do."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import tilewright.language as T
from tilewright import _core
from tilewright.language import status
from tilewright.language.buffer import TensorType
from tilewright.language.builder import Builder, NoBuilderError


def build(body):
    with Builder("kernel") as builder:
        builder.set_location("kernel.py", 1)
        a = builder.add_tensor_param("A", TensorType((64, 32), "float16"))
        b = builder.add_tensor_param("B", TensorType((T.dynamic("M"), 32), "float32"))
        body(a, b)
        builder.finish()


def tile(shape=(64, 32), kind="float16", name="tile"):
    found = T.alloc_shared(shape, kind)
    found.rename(name)
    return found


def in_kernel(body):
    def wrapped(a, b):
        with T.Kernel(1) as bx:
            body(a, b, bx)

    return wrapped


CASES = {
    "gemm_k": (
        lambda a, b, bx: T.gemm(
            tile(name="left"), tile((64, 8), name="right"), tile((64, 8), "float32")
        ),
        r"K mismatch: A is 64 x 32 \(left\), B is 64 x 8 \(right\).*transpose_B",
    ),
    "gemm_c": (
        lambda a, b, bx: T.gemm(tile(), tile((32, 8)), tile((64, 16), "float32")),
        r"C is 64 x 16 .*A \. B is 64 x 8; give C that shape",
    ),
    "gemm_types": (
        lambda a, b, bx: T.gemm(tile(), tile((32, 8), "float32"), tile((64, 8), "float32")),
        r"A is float16 and B is float32; both need one element type",
    ),
    "gemm_accumulator": (
        lambda a, b, bx: T.gemm(
            tile((64, 32), "int8"), tile((32, 8), "int8"), tile((64, 8), "float32")
        ),
        r"accumulates in int32, found float32",
    ),
    "gemm_global": (
        lambda a, b, bx: T.gemm(a, tile((32, 8)), tile((64, 8), "float32")),
        r"A is the tensor A \(64, 32\) float16 in global memory; copy it into a tile first",
    ),
    "gemm_option": (
        lambda a, b, bx: T.gemm(tile(), tile((32, 8)), tile((64, 8), "float32"), transposeB=True),
        r"no argument `transposeB`; did you mean `transpose_B`\?",
    ),
    "copy_sizes": (
        lambda a, b, bx: T.copy(tile((8, 8)), tile((8, 16))),
        r"sizes \(8, 16\) of tile \(8, 16\) float16 differ from \(8, 8\).*dimensions of size 1",
    ),
    "copy_size_and_slice": (
        lambda a, b, bx: T.copy(a[0:8, 0:8], tile((8, 8)), size=[8, 8]),
        r"both size=\(8, 8\) and a slice of A",
    ),
    "copy_outside_tile": (
        lambda a, b, bx: T.copy(a[0:8, :], tile((16, 32))[12, 0]),
        r"starts at 12 in dimension 0 and has 8 elements, but the tile ends at 16",
    ),
    "slice_too_long": (
        lambda a, b, bx: T.copy(tile((8, 8))[0:9, :], a),
        r"slice of dimension 0 of tile \(8, 8\) float16 has 9 elements, the tile has 8",
    ),
    "slice_backwards": (
        lambda a, b, bx: T.copy(a[8:4, :], tile()),
        r"ends 4 before it starts; write start:stop",
    ),
    "element_outside": (
        lambda a, b, bx: tile((8,))[8] + 1,
        r"index 8 is outside dimension 0 of tile \(8\) float16; allowed are 0 to 7",
    ),
    "float_index": (
        lambda a, b, bx: a[bx / 2, 0] + 1,
        r"index 0 of A is a float32; an integer is needed: use `//`",
    ),
    "reduce_shape": (
        lambda a, b, bx: T.reduce_sum(tile(), tile((32,), "float32"), dim=1),
        r"must have sizes \(64\) or \(64, 1\)",
    ),
    "reduce_dim": (
        lambda a, b, bx: T.reduce_sum(tile(), tile((64,)), dim=2),
        r"dimension 2 of tile .*allowed are -2 to 1",
    ),
    "cumsum_dim": (lambda a, b, bx: T.cumsum(tile(), dim=5), r"T.cumsum: dimension 5"),
    "vector_shape": (
        lambda a, b, bx: T.vadd(tile((8, 8)), tile((4, 8)), tile((8, 8))),
        r"operand 1, tile \(4, 8\) float16 with sizes \(4, 8\), does not fit",
    ),
    "vector_global": (
        lambda a, b, bx: T.vadd(a, 1, tile()),
        r"A \(64, 32\) float16 is in global memory; copy it into a tile first",
    ),
    "compare_type": (
        lambda a, b, bx: T.vcmp(tile(), tile(), tile(), "lt"),
        r"must be a bool tile",
    ),
    "bitwise_float": (lambda a, b, bx: a[0, 0] & 1, r"bitwise and of a float16"),
    "divide_by_zero": (lambda a, b, bx: bx // 0, r"division by the constant 0"),
    "loop_step": (lambda a, b, bx: T.serial(0, 4, 0).__enter__(), r"step 0 would not end"),
    "alloc_in_parallel": (
        lambda a, b, bx: (T.Parallel(4).__enter__(), tile()),
        r"inside T.Parallel; allocate before the loop",
    ),
    "nested_launch": (
        lambda a, b, bx: T.Kernel(1).__enter__(),
        r"T.Kernel inside another T.Kernel",
    ),
    "tile_size": (lambda a, b, bx: tile((0, 4)), r"sizes of tiles are 1 or more"),
    "reinterpret": (lambda a, b, bx: T.reinterpret("int32", a[0, 0]), r"same number of bits"),
}


@pytest.mark.parametrize("case", CASES)
def test_mistake_is_explained(case):
    body, message = CASES[case]
    with pytest.raises((_core.BuildError, TypeError, ValueError), match=message):
        build(in_kernel(body))


def test_value_of_a_branch_does_not_leave_it():
    def body(a, b, bx):
        builder = T.current()
        builder.begin_if(bx > 0)
        inside = a[0, 0] * 2
        builder.end_if()
        a[0, 0] = inside

    with pytest.raises(
        _core.BuildError, match=r"used after its end, where it does not exist.*T.alloc_var"
    ):
        build(in_kernel(body))


def test_open_block():
    with pytest.raises(_core.BuildError, match="ends inside an open block"):
        build(lambda a, b: T.Kernel(1).__enter__())


def test_dynamic_tile():
    with pytest.raises(ValueError, match="known only at run time; on-chip tiles need sizes known"):
        build(in_kernel(lambda a, b, bx: tile((T.dynamic("M"), 4))))


def test_outside_a_launch():
    with pytest.raises(_core.BuildError, match=r"outside `with T\.Kernel"):
        build(lambda a, b: tile())
    with pytest.raises(_core.BuildError, match=r"outside `with T\.Kernel"):
        build(lambda a, b: T.copy(a, a))


def test_outside_a_kernel():
    with pytest.raises(NoBuilderError, match="works only inside a kernel"):
        T.alloc_shared((4,), "float32")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("get_lane_idx", "GPU-only: .*use T.Parallel"),
        ("tma_copy", "GPU-only: .*use T.copy"),
        ("tcgen05_gemm", "GPU-only: .*use T.gemm"),
        ("rng_rand", "not supported yet; pass random numbers in a tensor"),
        ("call_extern", "foreign code cannot run"),
        ("alloc_sharde", "did you mean T.alloc_shared"),
    ],
)
def test_missing_name(name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(T, name)


def test_status_of_names():
    assert status.status("copy") == status.IMPLEMENTED
    assert status.status("use_swizzle") == status.HINT
    assert status.status("block_barrier") == status.IMPLEMENTED
    assert status.status("float8_e4m3fnuz") == status.NOT_YET
    assert status.status("shfl_xor") == status.GPU_ONLY


def test_module_is_compiled_once():
    with Builder("kernel") as builder, T.Kernel(1):
        pass
    module = builder.finish()
    _core.compile(module, interpret_only=True)
    with pytest.raises(_core.BuildError, match="compiled already"):
        _core.compile(module, interpret_only=True)
    with pytest.raises(_core.BuildError, match="finished already"):
        builder.finish()


def test_tiles_of_another_kernel_are_refused():
    kept = []
    build(in_kernel(lambda a, b, bx: kept.extend([tile(), bx + a[0, 0]])))
    with pytest.raises(_core.BuildError, match="of another kernel is used here"):
        build(in_kernel(lambda a, b, bx: T.copy(a, kept[0])))
    with pytest.raises(_core.BuildError, match="of another kernel is used here"):
        build(in_kernel(lambda a, b, bx: bx + kept[1]))


def test_table_of_names_is_current():
    """docs/language.md is what utils/gen_api_table.py writes."""
    path = Path(__file__).parents[2] / "utils" / "gen_api_table.py"
    spec = importlib.util.spec_from_file_location("gen_api_table", path)
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.PAGE.read_text() == generator.table(), "run utils/gen_api_table.py"


def test_pythons_extremes_point_at_those_of_kernels():
    def kernel(function):
        @T.prim_func
        def main(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                A[0] = function(A[1], 0.0)

        return main

    for function, name in ((max, "max"), (min, "min")):
        with pytest.raises(TypeError, match=rf"Python's {name} .* use T.{name}\(a, b\)"):
            kernel(function)


def test_sizes_that_two_arguments_give_differently_are_named():
    import numpy as np

    import tilewright as tilelang

    @tilelang.jit
    def product(A, B):
        M, N, K = T.const("M, N, K")
        A: T.Tensor((M, K), T.float16)
        B: T.Tensor((K, N), T.float16)
        with T.Kernel(1):
            T.alloc_shared((M, N), T.float16)

    a, b = np.zeros((16, 32), np.float16), np.zeros((48, 16), np.float16)
    with pytest.raises(
        tilelang.errors.ArgumentError,
        match=r"'B' has shape \(48, 16\); .* \(K, N\) with K = 32, as 'A' says, found 48",
    ):
        product(a, b)
