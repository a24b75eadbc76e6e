# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export as HIVM text, and what the published compiler makes of it where it is installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from hivm_package import INSTALLED, SCRIPT, needs_package
from tilewright import errors
from tilewright.hivm import bisheng, launch_plan, launches
from tilewright.hivm.export import Exporter, write_file
from tilewright.hivm.order import difference, foreign_address

_core = pytest.importorskip("tilewright._core")

FORMS = ("flags", "planned", "plain")


@tilelang.jit
def add(A, B):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B: T.Tensor((N,), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, 1024)) as block:
        for i in T.Parallel(1024):
            C[block * 1024 + i] = A[block * 1024 + i] + B[block * 1024 + i]
    return C


@tilelang.jit
def product(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128)) as (bx, by):
        a = T.alloc_shared((128, 64), T.float16)
        b = T.alloc_shared((64, 128), T.float16)
        c = T.alloc_fragment((128, 128), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
            T.copy(A[by * 128, k * 64], a)
            T.copy(B[k * 64, bx * 128], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 128, bx * 128])
    return C


@tilelang.jit
def softmax_of_product(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, 64)) as block:
        a = T.alloc_shared((64, K), T.float16)
        b = T.alloc_shared((K, N), T.float16)
        c = T.alloc_fragment((64, N), T.float32)
        top = T.alloc_fragment((64,), T.float32)
        total = T.alloc_fragment((64,), T.float32)
        T.copy(A[block * 64, 0], a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        T.reduce_max(c, top, dim=1)
        for i, j in T.Parallel(64, N):
            c[i, j] = T.exp2(c[i, j] - top[i])
        T.reduce_sum(c, total, dim=1)
        for i, j in T.Parallel(64, N):
            c[i, j] = c[i, j] / total[i]
        T.copy(c, C[block * 64, 0])
    return C


@tilelang.jit
def mixture(A, B):
    """Types and functions that HIVM has not: they are made of others."""
    A: T.Tensor((40, 64), T.bfloat16)
    B: T.Tensor((40, 64), T.int8)
    C = T.empty((40, 64), T.int8)
    D = T.empty((40,), T.float16)
    with T.Kernel(5) as block:
        a = T.alloc_shared((8, 64), T.bfloat16)
        b = T.alloc_shared((8, 64), T.int8)
        h = T.alloc_fragment((8, 64), T.float16)
        sums = T.alloc_fragment((8,), T.float16)
        T.copy(A[block * 8, 0], a)
        T.copy(B[block * 8, 0], b)
        for i, j in T.Parallel(8, 64):
            h[i, j] = T.if_then_else(a[i, j] > 0, T.tanh(a[i, j]), T.sin(a[i, j]))
        for i, j in T.Parallel(8, 64):
            b[i, j] = b[i, j] * 3 + b[i, j] // 7
        T.reduce_sum(h, sums, dim=1)
        T.copy(b, C[block * 8, 0])
        T.copy(sums, D[block * 8])
    return C, D


def kernels():
    return {
        "add": add.compile(N=5000),
        "product": product.compile(M=500, N=512, K=256),
        "softmax_of_product": softmax_of_product.compile(M=256, N=128, K=64),
        "mixture": mixture.compile(),
    }


def test_plan_of_a_mixed_kernel():
    kernel = kernels()["softmax_of_product"]
    plan, files = launch_plan(kernel, "flags", "910b3")
    (launch,) = plan["launches"]
    assert list(files) == [launch["file"]] == ["softmax_of_product.mlir"]
    assert launch["core"] == "mix" and launch["grid"] == [20, 1, 1]
    assert launch["functions"] == ["softmax_of_product_mix_aic", "softmax_of_product_mix_aiv"]
    assert launch["workspace_bytes"] >= 20 * 64 * 128 * 4
    kinds = [argument["kind"] for argument in launch["arguments"]]
    assert kinds[:3] == ["ffts_base_address", "sync_block_lock", "workspace"]
    tensors = [(a["of"], a["type"]) for a in launch["arguments"] if a["kind"] == "tensor"]
    assert tensors == [("A", "f16"), ("B", "f16"), ("C", "f32")]
    text = files[launch["file"]]
    # The plan lists the arguments that the functions take, one for one.
    head = text[text.index("@softmax_of_product_mix_aic(") :].split(") attributes", 1)[0]
    assert head.count("%arg") == len(kinds)


def test_run_time_sizes_are_arguments():
    n = T.dynamic("n")

    @tilelang.jit
    def double():
        @T.prim_func
        def kernel(A: T.Tensor((n, 64), "float32"), C: T.Tensor((n, 64), "float32")):
            with T.Kernel(T.ceildiv(n, 16)) as block:
                a = T.alloc_shared((16, 64), "float32")
                T.copy(A[block * 16, 0], a)
                for i, j in T.Parallel(16, 64):
                    a[i, j] = a[i, j] * 2
                T.copy(a, C[block * 16, 0])

        return kernel

    plan, _ = launch_plan(double(), "plain", "910b3")
    sizes = [a for a in plan["launches"][0]["arguments"] if a["kind"] == "size"]
    assert {"kind": "size", "type": "i64", "of": "A", "dim": 0} in sizes


def scaled():
    """A kernel whose scalars are no 32 or 64 bits, or have no sign."""

    @tilelang.jit
    def make():
        @T.prim_func
        def scaled(
            A: T.Tensor((256,), "float16"),
            B: T.Tensor((256,), "float16"),
            factor: T.float16,
            shifts: T.bool,
            least: T.uint32,
        ):
            with T.Kernel(1):
                a = T.alloc_shared((256,), T.float16)
                T.copy(A, a)
                for i in T.Parallel(256):
                    a[i] = a[i] * factor
                if shifts:
                    for i in T.Parallel(256):
                        a[i] = a[i] + 1
                if least > T.uint32(2):
                    T.copy(a, B)

        return scaled

    return make()


def test_scalars_of_any_type_are_arguments():
    plan, files = launch_plan(scaled(), "planned", "910b3")
    scalars = [a for a in plan["launches"][0]["arguments"] if a["kind"] == "scalar"]
    assert [(a["of"], a["type"]) for a in scalars] == [
        ("factor", "f16"),
        ("shifts", "i1"),
        ("least", "i32"),
    ]
    assert "ui32" not in files[plan["launches"][0]["file"]]


def test_source_of_a_kernel_is_hivm_text():
    text = kernels()["add"].get_kernel_source()
    assert "hivm.hir.vadd" in text and "hivm.hir.set_flag" in text


def test_source_for_a_chip_without_hivm_text(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CHIP", "950pr")
    kernel = add.compile(N=6000)
    assert kernel.get_kernel_source() == kernel.text()
    with pytest.raises(errors.CompileError, match="compiled for 950pr"):
        launch_plan(kernel, "flags", "950pr")


def test_refused_statement_names_its_line():
    @tilelang.jit
    def power(A):
        A: T.Tensor((64,), T.float32)
        B = T.empty((64,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(64):
                B[i] = T.pow(A[i], 2.5)
        return B

    with pytest.raises(errors.CompileError, match="no operation for pow") as caught:
        launches(power.compile().core, "flags")
    assert caught.value.location.file == __file__
    assert "T.pow" in str(caught.value)
    assert (
        "no HIVM text: error[E0909]: HIVM has no operation for pow"
        in power.compile().get_kernel_source()
    )


def test_planned_text_has_the_addresses_of_the_plan():
    kernel = kernels()["softmax_of_product"]
    _, files = launch_plan(kernel, "planned", "910b3")
    (text,) = files.values()
    places = re.findall(r"constant (\d+) : i64\n.*pointer_cast.*address_space<(\w+)>", text)
    spaces = {"cbuf": "L1", "cc": "L0C", "ub": "UB"}
    found = sorted((spaces[space], int(address)) for address, space in places)
    wanted = sorted((b["space"], b["address"]) for b in kernel.core.buffers() if b["space"] != "GM")
    assert found == wanted and "memref.alloc" not in text


def test_rows_that_are_taken_one_by_one_begin_at_blocks():
    @tilelang.jit
    def sums(A):
        A: T.Tensor((20, 13), T.float32)
        B = T.empty((20,), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((20, 13), T.float32)
            b = T.alloc_fragment((20,), T.float32)
            T.copy(A, a)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, B)
        return B

    kernel = sums.compile()
    data = np.arange(260, dtype=np.float32).reshape(20, 13)
    assert np.array_equal(kernel(data), data.sum(axis=1))
    for form, shape in {"flags": "2x20x16", "planned": "2x20x16", "plain": "20x13"}.items():
        (text,) = launch_plan(kernel, form, "910b3")[1].values()
        assert f"memref<{shape}xf32, #hivm.address_space<ub>>" in text
    assert {b["name"]: b["bytes"] for b in kernel.core.buffers()} == {"a": 20 * 64, "b": 96}


CALLS = """\
for n in (512, 512, 1000):
    double(np.ones(n, np.float32))
"""


def export(tmp_path: Path, *words: str, text: str = SCRIPT + CALLS, code: int = 0):
    path = tmp_path / "script.py"
    path.write_text(text)
    command = [sys.executable, "-m", "tilewright", "export", *words, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("form", ["a", "b", "flags", "c"])
def test_export_writes_each_kernel_once(tmp_path, form):
    out = tmp_path / "out"
    done = export(tmp_path, "--hivm", str(out), "--form", form)
    names = sorted(path.name for path in out.iterdir())
    assert names == ["double-2.json", "double-2.mlir", "double.json", "double.mlir"]
    assert "double.mlir: aiv, grid 40" in done.stderr and "untested on hardware" in done.stderr
    for name in ("double", "double-2"):
        plan = json.loads((out / f"{name}.json").read_text())
        assert plan["schema"] == "tilewright.hivm" and plan["version"] == 1
        assert plan["form"] == {"b": "planned", "c": "plain"}.get(form, "flags")
        assert (out / plan["launches"][0]["file"]).read_text().startswith("module")
    assert ("set_flag" in (out / "double.mlir").read_text()) == (form != "c")


@tilelang.jit
def far_index(A, step):
    A: T.Tensor((64,), "int64")
    B = T.empty((64,), "int64")
    with T.Kernel(1):
        a = T.alloc_shared((64,), "int64")
        T.copy(A, a)
        for i in T.Parallel(64):
            a[i] = i * step
        T.copy(a, B)
    return B


@pytest.mark.parametrize(("step", "fits"), [(3, True), (100_000_000, False)])
def test_index_beyond_32_bits(step, fits):
    text = far_index.compile(step=step).get_kernel_source()
    assert ("HIVM has no operation for an index beyond 32 bits" in text) != fits


def test_export_of_what_cannot_be(tmp_path):
    text = (SCRIPT + CALLS).replace("] * 2\n", "] ** 2.5\n")
    done = export(tmp_path, "--hivm", str(tmp_path / "out"), text=text, code=1)
    assert "double: not exported: error[E0909]: HIVM has no operation for pow" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_export_into_what_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("a file")
    done = export(tmp_path, "--hivm", str(tmp_path / "out"), code=1)
    assert "cannot be written: File exists" in done.stderr


def test_a_file_is_written_whole_or_not(tmp_path):
    path = tmp_path / "x.mlir"
    write_file(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_file(path, "new" * 10000 + "\udc80")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_dropped_attributes_are_noticed():
    ours = '"hivm.hir.vcast"(%a, %b) <{round_mode = #hivm.round_mode<rint>, axis = [1, 2]}> : ()'
    assert bisheng.dropped_attributes(ours, ours) == ""
    theirs = ours.replace(", axis = [1, 2]", "")
    assert bisheng.dropped_attributes(ours, theirs) == "hivm.hir.vcast loses axis = [1, 2]"
    assert "other operations" in bisheng.dropped_attributes(ours, "")


OURS = """
func.func @f(%a: i64) {
  "hivm.hir.load"(%g, %t) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : ()
  "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE2>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_V>}> : () -> ()
  "hivm.hir.wait_flag"(%i) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}> : (i64) -> ()
  "hivm.hir.vadd"(%t, %t, %t) : ()
  "hivm.hir.sync_block_set"() <{pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 3 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>}> : ()
}
"""  # noqa: E501
THEIRS = """
func.func private @load_gm_to_ubuf_1d_float(memref<?xf32>)
func.func @f(%a: i64) {
  func.call @load_gm_to_ubuf_1d_float(%g) : ()
  hivm.hir.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID1>]
  hivm.hir.wait_flag[<PIPE_MTE2>, <PIPE_V>, %9]
  func.call @vadd_1d_float(%t) : ()
  hivm.hir.pipe_barrier[<PIPE_V>]
  hivm.hir.sync_block_set[<VECTOR>, <PIPE_MTE3>, <PIPE_MTE2>] flag = 3 ffts_base_addr = %arg0
}
"""


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("", ""), ""),
        (("EVENT_ID1", "EVENT_ID2"), "set_flag MTE2 V EVENT_ID2 stands where"),
        (("[<PIPE_MTE2>, <PIPE_V>, %9]", "[<PIPE_V>, <PIPE_MTE2>, %9]"), "wait_flag V MTE2"),
        (("call @load_gm_to_ubuf_1d_float(%g)", "call @vadd(%g)"), "where move MTE2 was"),
        (("flag = 3", "flag = 4"), "sync_block_set VECTOR MTE3 MTE2 4 stands where"),
        (("pipe_barrier[<PIPE_V>]", "pipe_barrier[<PIPE_ALL>]"), "pipe_barrier ALL stands where"),
    ],
)
def test_another_order_is_noticed(change, place):
    found = difference(OURS, THEIRS.replace(*change) if change[0] else THEIRS)
    assert found.startswith("in @f, ") and place in found if place else not found


def test_an_address_inside_the_plan_is_noticed():
    ours = """
  func.func @f(%arg0: i64) attributes {tilewright.free_ub = array<i64: 512, 1024>} {
    %c256_i64 = arith.constant 256 : i64
    %0 = "hivm.hir.pointer_cast"(%c256_i64) <{}> : (i64) -> memref<64xf32, #hivm.space<ub>>
"""
    theirs = """
  func.func @f(%arg0: i64) {
    %c0 = arith.constant 0 : i64
    %c256 = arith.constant 256 : i64
    %c512 = arith.constant 512 : i64
    %0 = hivm.hir.pointer_cast(%c256) : memref<64xf32, #hivm.space<ub>>
    %1 = hivm.hir.pointer_cast(%c512) : memref<8xf32, #hivm.space<ub>>
    %2 = hivm.hir.pointer_cast(%c0) : memref<0xf32, #hivm.space<ub>>
"""
    assert foreign_address(ours, theirs) == ""
    assert foreign_address(ours, theirs.replace("512 :", "384 :")) == (
        "in @f, memref<8xf32> lies at 384, inside the plan"
    )


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(bisheng, "find", lambda: None)
    exporter = Exporter(tmp_path, "flags", use_bisheng=True)
    exporter(kernels()["add"])
    assert "the package ascendnpu-ir is not installed" in exporter.text()
    assert (
        not exporter.failed
        and "compiled" not in json.loads((tmp_path / "add.json").read_text())["launches"][0]
    )


@needs_package
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["add", "product", "softmax_of_product", "mixture", "scaled"])
def test_the_published_compiler_lowers_it(tmp_path, name, form):
    exporter = Exporter(tmp_path, form, use_bisheng=True)
    exporter(scaled() if name == "scaled" else kernels()[name])
    (launch,) = json.loads((tmp_path / f"{name}.json").read_text())["launches"]
    assert launch["compiled"]["ok"], launch["compiled"]["problem"]
    lowered = (tmp_path / launch["compiled"]["file"]).read_text()
    # With our flags, none is added; without them, the compiler makes its own.
    own = (tmp_path / launch["file"]).read_text().count("hivm.hir.set_flag")
    assert own == 0 if form == "plain" else lowered.count("hivm.hir.set_flag") == own
    assert "hivm.hir.set_flag" in lowered and "memref.alloc" not in lowered


@needs_package
def test_what_the_published_compiler_refuses(tmp_path):
    path = tmp_path / "bad.mlir"
    path.write_text('module { func.func @f() { "hivm.hir.vnothing"() : () -> () return } }')
    lowered = bisheng.lower(INSTALLED, path, "flags", "Ascend910B3")
    assert lowered.stage == "verify" and "vnothing" in lowered.problem
