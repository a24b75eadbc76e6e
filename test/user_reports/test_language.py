# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports about views, checks of shapes, Python in kernels, products and atomics: A075 to A099."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from results import refused, result

import tilewright as tilelang
import tilewright.language as T

rng = np.random.default_rng(0)


def small(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return rng.integers(-8, 8, shape).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


def test_a075_operand_of_a_product_viewed_as_scratch_of_another_width():
    with refused("E0709", "written under another name with another element type"):

        @tilelang.jit
        def kernel(A):
            A: T.Tensor((64, 64), T.bfloat16)
            C = T.empty((32, 64), T.float32)
            with T.Kernel(1):
                a = T.alloc_shared((64, 64), T.bfloat16)
                s = T.view(a, (32, 64), "float32")
                T.copy(A, a)
                T.copy(s, C)
            return C

        kernel.compile()


def test_a076_reshaped_view_as_an_operand_is_refused():
    with refused("E0311", "cannot be an operand of this operation; use its elements"):

        @T.prim_func
        def kernel(A: T.Tensor((1024,), "float16")):
            with T.Kernel(1):
                a = T.alloc_shared((1024,), "float16")
                c = T.alloc_fragment((32, 32), "float32")
                T.gemm(T.reshape(a, (32, 32)), T.reshape(a, (32, 32)), c)


def test_a076_reshaped_tile_as_an_operand():
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((1024,), T.float16)
        B: T.Tensor((32, 32), T.float16)
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1):
            flat = T.alloc_shared((1024,), T.float16)
            a = T.alloc_shared((32, 32), T.float16)
            b = T.alloc_shared((32, 32), T.float16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, flat)
            T.reshape(flat, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = small(1024, dtype=np.float16), small(32, 32, dtype=np.float16)
    assert np.array_equal(result(kernel, a, b), product(a.reshape(32, 32), b))


@pytest.mark.parametrize("name", ["vadd", "vmax", "vcmp"])
def test_a077_smaller_second_operand(name):
    with refused("E0431", "does not fit the destination"):

        @T.prim_func
        def kernel(A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                x = T.alloc_shared((64,), "float32")
                y = T.alloc_shared((32,), "float32")
                m = T.alloc_shared((64,), "bool")
                if name == "vcmp":
                    T.vcmp(x, y, m, "lt")
                else:
                    getattr(T, name)(x, y, x)


def test_a078_dimension_of_length_zero():
    K = T.dynamic("K")

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((128, K), T.float16)
        B: T.Tensor((K, 128), T.float16)
        C = T.empty((128, 128), T.float32)
        with T.Kernel(2, 2) as (x, y):
            a = T.alloc_shared((64, 32), T.float16)
            b = T.alloc_shared((32, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[y * 64, k * 32], a)
                T.copy(B[k * 32, x * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * 64, x * 64])
        return C

    got = result(kernel, np.zeros((128, 0), np.float16), np.zeros((0, 128), np.float16))
    assert got.shape == (128, 128) and (got == 0).all()


def test_a079_plain_name_assigned_under_a_condition_of_the_device():
    with refused("E0109", "alloc_var"):

        @tilelang.jit
        def kernel(X):
            X: T.Tensor((16,), T.int32)
            Y = T.empty((16,), T.int32)
            with T.Kernel(1):
                for i in T.serial(16):
                    v = X[i]
                    if v > 6:
                        v = 6
                    Y[i] = v
            return Y

        kernel.compile()


@pytest.mark.parametrize("constant", [True, False])
def test_a079_a_variable_works_as_written(constant):
    @tilelang.jit
    def kernel(X):
        X: T.Tensor((16,), T.int32)
        Y = T.empty((16,), T.int32)
        with T.Kernel(1):
            v = T.alloc_var("int32")
            for i in T.serial(16):
                v = X[i]
                if v > 6:
                    v = 6 if constant else X[i] - X[i] + 6
                Y[i] = v
        return Y

    x = rng.integers(0, 12, 16).astype(np.int32)
    assert np.array_equal(result(kernel, x), np.minimum(x, 6))


@pytest.mark.parametrize("n", [0, 1, 17, 64])
def test_a080_break_and_continue(n):
    @tilelang.jit
    def kernel(N, Y):
        N: T.Tensor((1,), T.int32)
        Y: T.Tensor((64,), T.float32)
        with T.Kernel(1):
            for i in T.serial(64):
                if i >= N[0]:
                    break
                if i % 2 == 1:
                    continue
                Y[i] = 1

    _, y = result(kernel, np.array([n], np.int32), np.zeros(64, np.float32))
    i = np.arange(64)
    assert np.array_equal(y, ((i < n) & (i % 2 == 0)).astype(np.float32))


@pytest.mark.parametrize("given", [True, False])
def test_a081_optional_tensor_is_a_compile_time_choice(given):
    @tilelang.jit
    def attention(Q, has_length: bool = False):
        Q: T.Tensor((8, 64), T.float32)
        Y = T.empty((8, 64), T.float32)
        with T.Kernel(8) as b:
            q = T.alloc_shared((1, 64), T.float32)
            T.copy(Q[b, 0], q)
            if has_length:
                for i, j in T.Parallel(1, 64):
                    q[i, j] = T.if_then_else(j < 32, q[i, j], 0)
            T.copy(q, Y[b, 0])
        return Y

    q = small(8, 64)
    want = q * (np.arange(64) < 32) if given else q
    assert np.array_equal(result(attention, q, has_length=given), want)


def test_a082_addresses_in_a_tensor_cannot_be_followed():
    with refused("E0312", "addresses computed or read in a kernel cannot be followed"):

        @T.prim_func
        def kernel(layers: T.Tensor((4,), "int64"), C: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                row = T.make_tensor(layers[2], (64,), "float32")
                T.copy(row, C)


@pytest.mark.parametrize("bf16", ["bfloat16", "T.bfloat16", "torch"])
def test_a083_names_of_element_types(bf16):
    torch = pytest.importorskip("torch", reason="one of the three names is PyTorch's")
    kind = {"bfloat16": "bfloat16", "T.bfloat16": T.bfloat16, "torch": torch.bfloat16}[bf16]

    @T.prim_func
    def kernel(A: T.Tensor((64,), kind), C: T.Tensor((64,), T.float32)):
        with T.Kernel(1):
            a = T.alloc_shared((64,), kind)
            T.copy(A, a)
            T.copy(a, C)

    assert str(tilelang.compile(kernel).parameters[0]["dtype"]) == "bfloat16"


def test_a084_every_exported_name_has_a_status():
    from tilewright.language import status

    for name in dir(T):
        if not name.startswith("_"):
            assert status.status(name) in (status.IMPLEMENTED, status.HINT, status.NOT_YET), name
    for name in status.LATER:
        if name.startswith("_"):
            continue
        with pytest.raises(AttributeError, match=r"error\[E0122\].*is not supported yet"):
            getattr(T, name)


@pytest.mark.parametrize("k", [64, 256])
@pytest.mark.parametrize("transpose", [(False, False), (True, False), (False, True)])
def test_a085_int8_products_are_exact(k, transpose):
    ta, tb = transpose

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((k, 64) if ta else (64, k), T.int8)
        B: T.Tensor((64, k) if tb else (k, 64), T.int8)
        C = T.empty((64, 64), T.int32)
        with T.Kernel(1):
            a = T.alloc_shared((k, 64) if ta else (64, k), T.int8)
            b = T.alloc_shared((64, k) if tb else (k, 64), T.int8)
            c = T.alloc_fragment((64, 64), T.int32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=ta, transpose_B=tb, clear_accum=True)
            T.copy(c, C)
        return C

    a = rng.integers(-128, 128, (k, 64) if ta else (64, k)).astype(np.int8)
    b = rng.integers(-128, 128, (64, k) if tb else (k, 64)).astype(np.int8)
    left, right = (m.T if t else m for m, t in ((a, ta), (b, tb)))
    assert np.array_equal(result(kernel, a, b), left.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize("mnk", [(16, 16, 16), (64, 64, 64), (128, 256, 96)])
@pytest.mark.parametrize("transposed", [False, True])
def test_a086_f32_products(mnk, transposed):
    m, n, k = mnk

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((m, k), T.float32)
        B: T.Tensor((n, k) if transposed else (k, n), T.float32)
        C = T.empty((m, n), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((m, k), T.float32)
            b = T.alloc_shared((n, k) if transposed else (k, n), T.float32)
            c = T.alloc_fragment((m, n), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=transposed, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = small(m, k), small(*((n, k) if transposed else (k, n)))
    assert np.array_equal(result(kernel, a, b), a @ (b.T if transposed else b))


def test_a087_tile_with_a_symbolic_dimension_is_refused():
    M = T.dynamic("M")
    with refused("E0302", "dimension 0 of the tile is M, known only at run time"):

        @T.prim_func
        def kernel(A: T.Tensor((M, 64), "float16")):
            with T.Kernel(1):
                T.alloc_shared((M, 64), "float16")


def test_a088_upstream_matmul_runs_unchanged():
    """The quick-start of GPU TileLang, with its threads, swizzle and layouts."""
    M, N, K, block = 128, 128, 128, 64

    @tilelang.jit
    def matmul(A, B):
        A: T.Tensor((M, K), T.float16)
        B: T.Tensor((K, N), T.float16)
        C = T.empty((M, N), T.float16)
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, 32), T.float16)
            B_shared = T.alloc_shared((32, block), T.float16)
            C_local = T.alloc_fragment((block, block), T.float32)
            T.use_swizzle(panel_size=10, enable=True)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, 32), num_stages=3):
                T.copy(A[by * block, ko * 32], A_shared, coalesced_width=8)
                T.copy(B[ko * 32, bx * block], B_shared, disable_tma=True)
                T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, block):
                C_local[i, j] = T.max(C_local[i, j], 0)
            T.copy(C_local, C[by * block, bx * block])
        return C

    a, b = small(M, K, dtype=np.float16), small(K, N, dtype=np.float16)
    want = np.maximum(product(a, b), 0).astype(np.float16)
    assert np.array_equal(result(matmul, a, b), want)


@pytest.mark.parametrize("n", [512, 1024])
def test_a089_products_wider_than_the_right_operands_memory(n):
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((64, 128), T.float16)
        B: T.Tensor((128, n), T.float16)
        C = T.empty((64, n), T.float16)
        with T.Kernel(1):
            a = T.alloc_shared((64, 128), T.float16)
            b = T.alloc_shared((128, n), T.float16)
            c = T.alloc_fragment((64, n), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = small(64, 128, dtype=np.float16), small(128, n, dtype=np.float16)
    if n == 1024:
        with refused("E0701", "do not fit"):
            kernel.compile()
    else:
        assert np.array_equal(result(kernel, a, b), product(a, b).astype(np.float16))


@pytest.mark.parametrize("where", ["shared", "mixed", "fragment"])
def test_a090_clear_accum_forgets_what_was_there(where):
    left = T.alloc_fragment if where != "shared" else T.alloc_shared
    right = T.alloc_fragment if where == "fragment" else T.alloc_shared

    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((32, 32), T.float16)
        B: T.Tensor((32, 32), T.float16)
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1):
            a = left((32, 32), T.float16)
            b = right((32, 32), T.float16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.gemm(b, a, c, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = small(32, 32, dtype=np.float16), small(32, 32, dtype=np.float16)
    assert np.array_equal(result(kernel, a, b), product(b, a))


def test_a091_atomics_on_slices_of_other_rank():
    @tilelang.jit
    def kernel(X, D):
        X: T.Tensor((4, 16, 64), T.float32)
        D: T.Tensor((2, 16, 3, 64), T.float32)
        with T.Kernel(4) as b:
            x = T.alloc_shared((16, 64), T.float32)
            T.copy(X[b, 0, 0], x)
            T.atomic_add(D[0, 0:16, 1, 0:64], x)
            for i in T.serial(16):
                T.atomic_add(D[1, i, 2, 0:64], x[i, :])

    x = small(4, 16, 64)
    _, d = result(kernel, x, np.zeros((2, 16, 3, 64), np.float32))
    want = np.zeros((2, 16, 3, 64), np.float32)
    want[0, :, 1] = want[1, :, 2] = x.sum(0)
    assert np.array_equal(d, want)


def test_a092_atomics_convert_to_the_type_of_the_tensor():
    import ml_dtypes

    @tilelang.jit
    def kernel(A, B, C):
        A: T.Tensor((32, 128), T.float16)
        B: T.Tensor((128, 32), T.float16)
        C: T.Tensor((32, 32), T.bfloat16)
        with T.Kernel(4) as k:
            a = T.alloc_shared((32, 32), T.float16)
            b = T.alloc_shared((32, 32), T.float16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A[0, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c, clear_accum=True)
            T.atomic_add(C, c)

    a = rng.integers(-1, 2, (32, 128)).astype(np.float16)
    b = rng.integers(-1, 2, (128, 32)).astype(np.float16)
    *_, c = result(kernel, a, b, np.zeros((32, 32), ml_dtypes.bfloat16))
    assert np.array_equal(c.astype(np.float32), product(a, b))


@pytest.mark.parametrize(("kind", "want"), [("add", 10), ("max", 4), ("min", 0)])
def test_a093_names_do_not_hide_pythons(kind, want):
    """T.max and its like are there beside Python's own in the modules that define them."""

    @tilelang.jit
    def kernel(C):
        C: T.Tensor((1, 64), T.float32)
        with T.Kernel(4) as b:
            x = T.alloc_shared((1, 64), T.float32)
            T.fill(x, b + 1)
            getattr(T, f"atomic_{kind}")(C[0, 0:64], x[0, :])

    assert (result(kernel, np.zeros((1, 64), np.float32)) == want).all()


@pytest.mark.parametrize("whole", [True, False])
def test_a094_each_point_adds_to_one_element(whole):
    @tilelang.jit
    def kernel(C):
        C: T.Tensor((1,), T.int32)
        with T.Kernel(1):
            for _ in T.Parallel(128):
                if whole:
                    T.atomic_add(C, 1)
                else:
                    T.atomic_add(C[0], 1)

    assert result(kernel, np.zeros(1, np.int32))[0] == 128


def test_a095_histogram():
    """4096 values into 16 bins; between the atomics of the loop there is no barrier."""

    @tilelang.jit
    def kernel(A, H):
        A: T.Tensor((4096,), T.int32)
        H: T.Tensor((16,), T.int32)
        with T.Kernel(4) as b:
            a = T.alloc_shared((1024,), T.int32)
            T.copy(A[b * 1024], a)
            for i in T.serial(1024):
                T.atomic_add(H[a[i]], 1)

    a = rng.integers(0, 16, 4096).astype(np.int32)
    _, h = result(kernel, a, np.zeros(16, np.int32))
    assert np.array_equal(h, np.bincount(a, minlength=16))
    remarks = [r["message"] for r in kernel.compile().remarks if "barriers" in r["message"]]
    assert remarks and all(" 0 barriers" in message for message in remarks)


@pytest.mark.parametrize("blocks", [18, 25])
def test_a096_grids_that_are_no_multiple_of_the_cores(blocks):
    @tilelang.jit
    def kernel(A, B):
        A: T.Tensor((blocks * 16, 32), T.float16)
        B: T.Tensor((32, 32), T.float16)
        C = T.empty((blocks * 16, 32), T.float32)
        with T.Kernel(blocks) as i:
            a = T.alloc_shared((16, 32), T.float16)
            b = T.alloc_shared((32, 32), T.float16)
            c = T.alloc_fragment((16, 32), T.float32)
            T.copy(A[i * 16, 0], a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[i * 16, 0])
        return C

    a, b = small(blocks * 16, 32, dtype=np.float16), small(32, 32, dtype=np.float16)
    assert np.array_equal(result(kernel, a, b), product(a, b))


@pytest.mark.parametrize("grid", [(8192, 8), (384, 196), (70000,)])
def test_a097_more_than_65535_blocks(grid):
    rows = int(np.prod(grid))

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((rows, 8), T.float32)
        C = T.empty((rows, 8), T.float32)
        with T.Kernel(*grid) as ids:
            row = ids if len(grid) == 1 else ids[1] * grid[0] + ids[0]
            x = T.alloc_shared((1, 8), T.float32)
            T.copy(A[row, 0], x)
            for i, j in T.Parallel(1, 8):
                x[i, j] = x[i, j] + 1
            T.copy(x, C[row, 0])
        return C

    a = small(rows, 8)
    assert np.array_equal(kernel(a), a + 1)


def test_a098_number_of_cores_for_persistent_kernels():
    from tilewright.utils.npu_utils import NPUUtils

    cores = NPUUtils().get_aicore_num()

    @tilelang.jit
    def kernel(A):
        A: T.Tensor((100, 64), T.float32)
        C = T.empty((100, 64), T.float32)
        with T.Kernel(cores) as core:
            x = T.alloc_shared((1, 64), T.float32)
            for t in T.serial(core, 100, cores):
                T.copy(A[t, 0], x)
                T.copy(x, C[t, 0])
        return C

    a = small(100, 64)
    assert cores > 1 and np.array_equal(result(kernel, a), a)


@pytest.mark.parametrize("k", [64, 128])
def test_a099_the_compiler_is_deterministic(k):
    @T.prim_func
    def main(
        A: T.Tensor((64, k), "float16"),
        B: T.Tensor((k, 64), "float16"),
        bias: T.Tensor((64,), "bfloat16"),
        C: T.Tensor((64, 64), "bfloat16"),
    ):
        with T.Kernel(1):
            a = T.alloc_shared((64, k), "float16")
            b = T.alloc_shared((k, 64), "float16")
            v = T.alloc_shared((64,), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(bias, v)
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                c[i, j] = c[i, j] * 0.5 + v[j]
            T.copy(c, C)

    kernels = [tilelang.compile(main) for _ in range(4)]
    texts = {hashlib.sha256(kernel.get_kernel_source().encode()).digest() for kernel in kernels}
    assert len(texts) == 1
    import ml_dtypes

    a, b = small(64, k, dtype=np.float16), small(k, 64, dtype=np.float16)
    v = small(64, dtype=ml_dtypes.bfloat16)
    *_, c = result(kernels[0], a, b, v, np.zeros((64, 64), ml_dtypes.bfloat16))
    want = (product(a, b) * 0.5 + v.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(c.astype(np.float32), want.astype(np.float32))
