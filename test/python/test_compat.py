# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names and devices that unmodified scripts use, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch")


def run(tmp_path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "tilewright", "run", *options, str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def check(tmp_path, text: str) -> str:
    done = run(tmp_path, text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_served_modules(tmp_path):
    check(
        tmp_path,
        """
        import tilelang, tilelang.language as T, tilelang.testing, tilelang.layout
        import tilelang.jit.kernel
        from tilelang import language
        from tilelang.autotuner import *
        from tilelang.cache import clear_cache
        from tilelang.profiler import do_bench
        from tilelang.transform import PassConfigKey
        from tilelang.utils.tensor import map_torch_type, torch_assert_close
        import tilewright
        assert tilelang is tilewright and callable(tilelang.jit) and callable(autotune)
        assert language is T is tilewright.language
        assert PassConfigKey.TL_DISABLE_TMA_LOWER == "tl.disable_tma_lower"
        tilelang.testing.set_random_seed(0)
        tilelang.cache.clear_cache()
        """,
    )


def test_modules_that_are_not_served(tmp_path):
    done = run(tmp_path, "import tilelang.cuda.intrinsics")
    assert done.returncode == 1 and "is not served by tilewright" in done.stderr


def test_npu_device(tmp_path):
    check(
        tmp_path,
        """
        import torch, torch_npu
        torch.npu.set_device(15)
        torch.manual_seed(0)
        assert torch.npu.is_available() and torch.npu.device_count() > 0
        a = torch.randn(8, 8).npu().half()
        b = torch.zeros(8, 8, device="npu:0", dtype=torch.float16)
        for x in (a, b, a + 1, a[0], a @ b, a.float(), torch.zeros_like(a), torch.cat([a, b]),
                  torch.ones(2, device=a.device), a.cpu().to("npu"),
                  torch.nn.Linear(8, 8).npu().weight):
            assert x.device.type == "npu" and x.is_npu and not x.is_cuda, x
        for x in (a.cpu(), a.to("cpu"), torch.zeros(2), torch.from_numpy(a.cpu().numpy())):
            assert x.device.type == "cpu", x
        moved = a.cpu()
        a.zero_()
        assert moved.abs().sum() > 0
        torch.npu.synchronize()
        """,
    )


def test_cuda_device(tmp_path):
    check(
        tmp_path,
        """
        import torch
        assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
        a = torch.randn(4, 4, device="cuda", requires_grad=True)
        (a * 2).sum().backward()
        assert a.grad.device.type == "cuda" and a.is_cuda
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(); end.record(); torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0
        with torch.device("cuda"):
            assert torch.ones(2).device.type == "cuda"
        try:
            torch.testing.assert_close(a.detach(), a.detach().cpu())
        except AssertionError as error:
            assert "device" in str(error)
        else:
            raise SystemExit("devices were not compared")
        print(a)
        """,
    )


def test_each_function_of_the_device_is_one_of_its_own(tmp_path):
    """torch.compile keeps a rule for each function object and refuses one under two names."""
    check(
        tmp_path,
        """
        import torch
        names = ("synchronize", "empty_cache", "set_device", "manual_seed", "init", "seed_all")
        found = [getattr(torch.cuda, name) for name in (*names, "device", "stream")]
        assert len(set(map(id, found))) == len(found)
        assert torch.cuda.synchronize() is None
        with torch.cuda.device(0), torch.cuda.stream(None):
            pass
        """,
    )


def test_graphs_are_refused(tmp_path):
    done = run(tmp_path, "import torch\ntorch.cuda.CUDAGraph()")
    assert done.returncode == 1
    assert "torch.cuda.CUDAGraph is not available" in done.stderr
    assert "call the function itself" in done.stderr


def test_cuda_divides_by_a_reciprocal(tmp_path):
    """As PyTorch does on that device, so that references round alike."""
    check(
        tmp_path,
        """
        import torch
        a = torch.linspace(0.1, 9, 1000, device="cuda")
        want = a.cpu() * torch.tensor(1 / 448.0, dtype=torch.float32)
        assert torch.equal((a / 448.0).cpu(), want)
        assert torch.equal(a.cpu() / 448.0, torch.div(a.cpu(), torch.tensor(448.0)))
        third = (a.half().float().cpu() * (1 / torch.tensor(3.0))).half()
        assert torch.equal((a.half() / 3).cpu(), third)
        torch.cuda.cudart().cudaProfilerStart()
        torch.cuda.profiler.start()
        """,
    )


def test_device_memory_starts_as_zeros_and_files_load_onto_devices(tmp_path):
    check(
        tmp_path,
        f"""
        import torch
        torch.npu.set_device(0)
        for made in (torch.empty(4096, device="npu"), torch.ones(4096).npu().new_empty(4096)):
            assert made.device.type == "npu" and not made.any()
        torch.save({{"a": [torch.ones(3)]}}, {str(tmp_path / "t.pt")!r})
        loaded = torch.load({str(tmp_path / "t.pt")!r}, map_location="npu:0")
        assert loaded["a"][0].device.type == "npu" and loaded["a"][0].sum() == 3
        assert torch.load({str(tmp_path / "t.pt")!r})["a"][0].device.type == "cpu"
        from tilelang.utils import NPUUtils
        assert NPUUtils.get().get_aicore_num() > 0
        """,
    )


def test_half_products_round_once(tmp_path):
    check(
        tmp_path,
        """
        import torch
        import torch.nn.functional as F
        a = torch.randn(2, 33, 65, device="cuda").half()
        b = torch.randn(2, 65, 17, device="cuda").half()
        ref = (a.float() @ b.float()).half()
        einsum = torch.einsum("bij,bjk->bik", a, b)
        for found in (a @ b, torch.bmm(a, b), torch.matmul(a, b), einsum):
            assert found.dtype == torch.float16 and torch.equal(found, ref)
        assert (a.bfloat16() @ b.bfloat16()).dtype == torch.bfloat16
        image, weight = torch.randn(1, 3, 8, 8).half(), torch.randn(4, 3, 3, 3).half()
        assert F.conv2d(image, weight).dtype == torch.float16
        """,
    )


def test_large_half_products_are_cut_into_pieces(tmp_path):
    done = run(
        tmp_path,
        """
        import torch
        from tilewright.compat import halves

        a = torch.randn(6, 33, 65, device="cuda").half()
        b = torch.randn(6, 65, 17, device="cuda").bfloat16()
        flat = torch.randn(65, 17, device="cuda").half()
        products = [
            lambda: a @ a.transpose(1, 2), lambda: torch.bmm(a, b), lambda: a @ flat,
            lambda: torch.matmul(a.float(), b), lambda: a[:0] @ flat,
            lambda: torch.einsum("bik,bjk->bij", a, a), lambda: torch.einsum("bik,bkj->jib", a, b),
            lambda: torch.einsum("bik,kj->ij", a, flat),
            lambda: torch.einsum("bii->bi", a[:, :, :33]),
        ]
        whole = [p() for p in products]
        halves.PIECE = 3000
        cut = []
        plain = halves._by_pieces
        halves._by_pieces = lambda *given: cut.append(given[0]) or plain(*given)
        for product, reference in zip(products, whole):
            found = product()
            assert found.dtype == reference.dtype and found.device == reference.device
            assert torch.allclose(found.float(), reference.float(), rtol=2e-3, atol=2e-3)
        assert len(cut) == 7, len(cut)
        w = a.clone().requires_grad_()
        (w @ flat).sum().backward()
        assert w.grad is not None and len(cut) == 7
        """,
    )
    assert done.returncode == 0, done.stderr


def test_missing_torch(tmp_path):
    done = run(
        tmp_path,
        """
        from importlib.machinery import PathFinder
        find = PathFinder.find_spec
        PathFinder.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
        import torch
        """,
    )
    assert done.returncode == 1
    assert "needs PyTorch, which is not installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_kernel_on_mixed_devices(tmp_path):
    done = run(
        tmp_path,
        """
        import tilelang, tilelang.language as T, torch
        @tilelang.jit
        def add(A, B):
            A: T.Tensor((8,), "float32")
            B: T.Tensor((8,), "float32")
            C = T.empty((8,), "float32")
            with T.Kernel(1, threads=128):
                for i in T.Parallel(8):
                    C[i] = A[i] + B[i]
            return C
        a = torch.ones(8).cuda()
        c = add(a, a)
        assert c.device.type == "cuda" and c[0] == 2
        add(a, torch.ones(8))
        """,
        "--engine",
        "interpreter",
    )
    assert done.returncode == 1
    assert "argument 'B' is on the CPU while others are on cuda:0" in done.stderr


def test_child_processes_are_served(tmp_path):
    check(
        tmp_path,
        """
        import subprocess, sys
        code = "import tilelang, torch; assert torch.cuda.is_available()"
        subprocess.run([sys.executable, "-c", code], check=True)
        """,
    )


def test_expressions_of_a_kernel_can_be_visited():
    import tilewright.language as T
    from tilewright.compat import tvm

    @T.prim_func
    def kernel(A: T.Tensor((4,), "uint16"), B: T.Tensor((4,), "float64")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[i] = T.max(T.min(A[i], T.uint16(200)), T.uint16(3))
                B[i] = B[i] * T.float64(1e300) + T.infinity("float64")

    found = []
    tvm.tir.stmt_functor.post_order_visit(kernel.body, found.append)
    assert [n.dtype for n in found if isinstance(n, tvm.tir.Min)] == ["uint16"]
    assert [n.dtype for n in found if isinstance(n, tvm.tir.Max)] == ["uint16"]
    numbers = [n for n in found if isinstance(n, tvm.tir.FloatImm)]
    assert [(n.value, n.dtype) for n in numbers] == [(1e300, "float64")]


def test_indices_past_the_end_are_told_on_the_npu(tmp_path):
    done = run(
        tmp_path,
        """
        import torch
        import torch_npu
        rows = torch.arange(8.0).reshape(4, 2).npu()
        rows.requires_grad_(True)
        at = torch.tensor([0, 4, 1]).npu()
        found = rows[at, 1:]
        found.sum().backward()
        print(found.flatten().tolist(), rows.grad[:, 1].tolist())
        for here, index in ((rows.cpu(), at.cpu()), (rows, (at[0], ..., at, at))):
            try:
                here[index]
            except IndexError:
                print("refused")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "[1.0, 7.0, 3.0] [1.0, 1.0, 0.0, 1.0]"
    assert done.stdout.count("refused") == 2
    assert "index 4 is out of bounds" in done.stderr


def test_products_of_two_types_have_the_first_ones(tmp_path):
    text = """
        import torch
        half = torch.ones((2, 3), dtype=torch.float16, device="npu")
        single = torch.ones((3, 2), device="npu")
        print((half @ single).dtype, (single @ half).dtype, (half @ half.t()).dtype)
    """
    assert run(tmp_path, text).stdout.split() == ["torch.float16", "torch.float32", "torch.float16"]
