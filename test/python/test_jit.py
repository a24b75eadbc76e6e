# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling and calling kernels, on the interpreter."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from tilewright.errors import ArgumentError, ArgumentTypeError, CompileError, RunError

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "interpreter")


@tilelang.jit(out_idx=[-1])
def lazy_add(M, N, dtype="float32", block=16):
    @T.prim_func
    def add(
        A: T.Tensor((M, N), dtype),
        B: T.Tensor((M, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
            a = T.alloc_shared((block, N), dtype)
            b = T.alloc_shared((block, N), dtype)
            T.copy(A[bx * block, 0], a)
            T.copy(B[bx * block, 0], b)
            for i, j in T.Parallel(block, N):
                a[i, j] += b[i, j]
            T.copy(a, C[bx * block, 0])

    return add


@tilelang.jit
def eager_scale(A, factor: float, block=16):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
        a = T.alloc_shared((block, N), "float32")
        T.copy(A[bx * block, 0], a)
        for i, j in T.Parallel(block, N):
            a[i, j] = a[i, j] * factor
        T.copy(a, C[bx * block, 0])
    return C


@T.prim_func
def increment(A: T.Tensor((8, 8), "float32"), n: T.int32):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((8, 8), "float32")
        T.copy(A, a)
        for i, j in T.Parallel(8, 8):
            a[i, j] += n
        T.copy(a, A)


@pytest.fixture(scope="module")
def add():
    return lazy_add(32, 8)


@pytest.fixture(scope="module")
def plus():
    return tilelang.compile(increment, target="npuir")


# -- calls --------------------------------------------------------------------------------------


def test_lazy_with_torch(add):
    a, b = torch.randn(32, 8), torch.randn(32, 8)
    torch.testing.assert_close(add(a, b), a + b)


def test_lazy_with_numpy(add):
    a = np.random.rand(32, 8).astype(np.float32)
    found = add(a, a)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, a + a)


def test_eager_runs_at_the_call():
    a = torch.randn(24, 8)
    torch.testing.assert_close(eager_scale(a, 2.0), a * 2)
    torch.testing.assert_close(eager_scale(a, factor=3.0), a * 3)


def test_eager_compile_with_sizes():
    kernel = eager_scale.compile(M=16, N=4, factor=2.0)
    a = torch.randn(16, 4)
    torch.testing.assert_close(kernel(a), a * 2)
    with pytest.raises(
        ArgumentError, match=r"shape \(8, 4\); kernel eager_scale expects \(16, 4\)"
    ):
        kernel(torch.randn(8, 4))


def test_writes_in_place_with_a_scalar(plus):
    a = torch.zeros(8, 8)
    assert plus(a, 3) is None
    assert bool((a == 3).all())


def test_tensor_that_is_not_contiguous_is_copied_back(plus):
    base = torch.zeros(8, 16)
    plus(base[:, ::2], 1)
    assert bool((base[:, ::2] == 1).all()) and bool((base[:, 1::2] == 0).all())
    array = np.zeros((8, 8), np.float32).T
    plus(array, 2)
    assert (array == 2).all()


def test_keywords(plus):
    a = torch.zeros(8, 8)
    plus(a, n=2)
    assert a[0, 0] == 2


def test_dynamic_sizes():
    @tilelang.jit(out_idx=-1)
    def make():
        m = T.dynamic("m")

        @T.prim_func
        def double(A: T.Tensor((m, 8), "float32"), B: T.Tensor((m, 8), "float32")):
            with T.Kernel(T.ceildiv(m, 4), threads=128) as bx:
                a = T.alloc_shared((4, 8), "float32")
                T.copy(A[bx * 4, 0], a)
                for i, j in T.Parallel(4, 8):
                    a[i, j] *= 2
                T.copy(a, B[bx * 4, 0])

        return double

    kernel = make()
    for size in (4, 7, 1):
        a = torch.randn(size, 8)
        torch.testing.assert_close(kernel(a), a * 2)
    assert make() is kernel


def test_several_outputs():
    @tilelang.jit
    def both(A):
        N = T.const("N")
        A: T.Tensor((N,), "float32")
        low = T.empty((N,), "float32")
        high = T.empty((N,), "float32")
        with T.Kernel(1, threads=128):
            for i in T.Parallel(N):
                low[i] = A[i] - 1
                high[i] = A[i] + 1
        return high, low

    a = torch.randn(16)
    high, low = both(a)
    torch.testing.assert_close(high, a + 1)
    torch.testing.assert_close(low, a - 1)


def test_tensors_in_the_signature_of_an_eager_kernel():
    @tilelang.jit
    def copy(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32")):
        with T.Kernel(1, threads=128):
            T.copy(A, B)

    a, b = torch.randn(8, 4), torch.zeros(8, 4)
    copy(a, b)
    assert torch.equal(a, b)


# -- memory of kernels --------------------------------------------------------------------------

offset = 1


@tilelang.jit(out_idx=-1)
def uses_global(n):
    @T.prim_func
    def shift(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                B[i] = A[i] + offset

    return shift


def test_memo_sees_globals(monkeypatch):
    first = uses_global(8)
    assert uses_global(8) is first and uses_global(n=8) is not None
    monkeypatch.setitem(globals(), "offset", 5)
    assert uses_global(8)(torch.zeros(8))[0] == 5
    monkeypatch.setitem(globals(), "offset", 1)
    assert uses_global(8) is first


def test_memo_sees_options(monkeypatch):
    first = uses_global(4)
    monkeypatch.setenv("TILEWRIGHT_STRICT", "1")
    assert uses_global(4) is not first


def test_clear_cache():
    first = uses_global(4)
    tilelang.cache.clear_cache()
    assert uses_global(4) is not first


def test_repeated_call_is_fast(plus):
    a = torch.zeros(8, 8)
    best = min(_time(lambda: eager_scale(a, 2.0)) for _ in range(50))
    assert best < 1e-3


def _time(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def test_par_compile():
    kernels = eager_scale.par_compile([{"M": 16, "N": 4, "factor": f} for f in (2.0, 3.0)])
    a = torch.ones(16, 4)
    assert [k(a)[0, 0].item() for k in kernels] == [2, 3]


# -- bad arguments ------------------------------------------------------------------------------


def test_wrong_count(add):
    with pytest.raises(ValueError, match="Expected 2 inputs, got 1"):
        add(torch.zeros(32, 8))


def test_wrong_dtype(add):
    with pytest.raises(
        ArgumentTypeError, match="'B' has element type float16; kernel add expects float32"
    ):
        add(torch.zeros(32, 8), torch.zeros(32, 8).half())


def test_wrong_rank_and_shape(add):
    with pytest.raises(ArgumentError, match=r"'A' has shape \(8,\)"):
        add(torch.zeros(8), torch.zeros(32, 8))
    with pytest.raises(ArgumentError, match=r"'B' has shape \(32, 9\)"):
        add(torch.zeros(32, 8), torch.zeros(32, 9))


def test_wrong_device(add):
    with pytest.raises(ArgumentError, match="'A' is on device meta"):
        add(torch.zeros(32, 8, device="meta"), torch.zeros(32, 8))


def test_wrong_kind(add, plus):
    with pytest.raises(ArgumentTypeError, match="'A' is a list"):
        add([1], torch.zeros(32, 8))
    with pytest.raises(ArgumentTypeError, match="expects a number of type int32"):
        plus(torch.zeros(8, 8), torch.zeros(8, 8))
    with pytest.raises(ArgumentTypeError, match="expects an integer"):
        plus(torch.zeros(8, 8), 1.5)
    with pytest.raises(ArgumentError, match="out of range for int32"):
        plus(torch.zeros(8, 8), 2**31)


def test_read_only_array(plus):
    a = np.zeros((8, 8), np.float32)
    a.flags.writeable = False
    with pytest.raises(RunError, match="read-only"):
        plus(a, 1)
    plus(a, 0)


@pytest.mark.parametrize("index", [3, -4, "x"])
def test_out_idx_out_of_range(index):
    with pytest.raises(ValueError, match="out_idx"):
        tilelang.compile(increment, out_idx=index)


def test_out_idx_of_a_scalar():
    with pytest.raises(ValueError, match="scalar"):
        tilelang.compile(increment, out_idx=-1)


def test_out_idx_with_an_eager_kernel():
    @tilelang.jit(out_idx=-1)
    def kernel(A):
        A: T.Tensor((8,), "float32")
        B = T.empty((8,), "float32")
        with T.Kernel(1):
            T.copy(A, B)
        return B

    with pytest.raises(CompileError, match="out_idx is only for functions"):
        kernel(torch.zeros(8))


def test_size_that_nothing_determines():
    with pytest.raises(
        CompileError, match="no tensor argument of kernel 'eager_scale' determines M, N"
    ):
        eager_scale.compile(factor=1.0)
    with pytest.raises(TypeError, match="unexpected keyword 'L'"):
        eager_scale.compile(M=1, N=1, L=2, factor=1.0)


def test_tensor_of_another_rank_than_declared():
    with pytest.raises(
        ArgumentError,
        match=r"'A' has shape \(2, 3, 4\); kernel eager_scale expects 2 dimensions, \(M, N\)",
    ):
        eager_scale(torch.zeros(2, 3, 4), 1.0)


def test_output_that_is_not_returned():
    @tilelang.jit
    def kernel(A):
        A: T.Tensor((8,), "float32")
        B = T.empty((8,), "float32")
        with T.Kernel(1):
            T.copy(A, B)

    with pytest.raises(CompileError, match="all of them must be returned"):
        kernel(torch.zeros(8))


def test_lazy_function_must_return_a_kernel():
    @tilelang.jit
    def nothing(n):
        return n

    with pytest.raises(TypeError, match=r"must return a @T\.prim_func"):
        nothing(3)


def test_unknown_pass_option_is_refused():
    with pytest.raises(ValueError, match="'mystery' is not known"):
        tilelang.compile(increment, pass_configs={"mystery": 1})
    with pytest.raises(ValueError, match=r"did you mean `tl\.enable_fast_math`"):
        tilelang.compile(increment, pass_configs={"tl.enable_fastmath": True})
    with pytest.raises(AttributeError, match="did you mean `TL_ENABLE_FAST_MATH`"):
        tilelang.PassConfigKey.TL_ENABLE_FASTMATH  # noqa: B018
    tilelang.compile(increment, pass_configs={"tir.disable_vectorize": True})
    tilelang.compile(increment, pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True})


# -- book-keeping -------------------------------------------------------------------------------


def test_kernel_source_and_params(add):
    assert "add" in add.get_kernel_source()
    assert [p.name for p in add.params] == ["A", "B", "C"] and add.out_idx == [2]


def test_profiler_checks(add):
    profiler = add.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(lambda a, b: a + b)
    with pytest.raises(AssertionError, match="elements differ"):
        profiler.assert_allclose(lambda a, b: a - b)


def test_do_bench_of_plain_code():
    assert 0 <= tilelang.do_bench(lambda: None) < 100


def test_jit_is_a_decorator_and_a_module():
    import tilewright.jit as module

    assert module is tilelang.jit and callable(module) and module.compile is tilelang.compile


def test_autotune_passes_through_when_the_call_chooses():
    tuned = tilelang.autotune(configs=[{"block": 8}, {"block": 16}])(lazy_add)
    kernel = tuned(32, 8, block=16)
    assert kernel is lazy_add(32, 8, block=16)


def test_carver_proposes_tilings_that_fit():
    from tilewright import carver

    arch = carver.Arch()
    hints = carver.MatmulTemplate(512, 512, 256).with_arch(arch).recommend_hints(topk=5)
    assert len(hints) == 5
    for hint in hints:
        (m, n), (k,) = hint.block, hint.rstep
        assert m * n * 4 <= arch.l0c_bytes and 2 * (m + n) * k * 2 <= arch.l1_bytes
    rows = carver.GeneralReductionTemplate("SR", [64, 300], "float32").recommend_hints(3)
    assert all(len(h.block) == 1 and len(h.rstep) == 1 for h in rows)
    assert carver.ElementwiseTemplate([64, 300], "float32").recommend_hints()[0].block[1] >= 64
    assert carver.driver.get_num_sms() == arch.core_count
    for template in (carver.GEMVTemplate(256, 512), carver.FlashAttentionTemplate()):
        assert template.recommend_hints(1)
    with pytest.raises(ValueError, match="one letter S or R for each of the 2 dimensions"):
        carver.GeneralReductionTemplate("S", [4, 4]).recommend_hints()
    with pytest.raises(NotImplementedError, match="autotune"):
        carver.ConvTemplate  # noqa: B018


def test_tuned_choices_are_shared_and_may_set_passes():
    tuned = tilelang.autotune(
        configs=[
            {"block": 8, "pass_configs": {"tl.disable_warp_specialized": True}},
            {"block": 16},
        ],
        do_not_specialize=["M"],
    )(lazy_add)
    assert tuned(64, 8).latency == tuned(32, 8).latency  # one choice for every M
    assert len(tuned._tuner_cache) == 1 and tuned(64, 8) is not tuned(32, 8)
    tuned(64, 16)
    assert len(tuned._tuner_cache) == 2


def test_an_import_is_light():
    """The compiler is there without NumPy and PyTorch, which take longer than all the rest."""
    code = (
        "import sys, tilewright as tilelang, tilewright.language as T, tilewright._core; "
        "tilelang.jit; sys.exit(bool({'numpy', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
