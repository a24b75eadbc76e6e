# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A third witness: vector kernels through the published compiler's own lowering for the host.

    python bench/hivm_cpu.py [-k NAME] [--own-sums]

Each kernel is compiled, simulated, and exported as `plain` text. A copy of the text without address
spaces, flags and launch attributes goes through the pass of `bishengir-opt` that turns HIVM into
upstream's dialects, then through mlir-opt, mlir-translate and clang into a library, which runs on
the same arguments. Printed is how far both results are apart, in units in the last place (ulp) of
the element type. Additions, differences and products have to be the same bits, the rest within the
kernel's bound. HIVM leaves the order of a sum open: sums of 64 columns are written as the additions
that the simulator makes; with `--own-sums` the witness has its own order, one element after
another. For softmax both errors against f64 are printed, in which the differences from the maximum
are taken in f32.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tilelang
import tilewright.language as T
from tilewright.hivm import bisheng, launches

#: mlir-opt's way from linalg, memref and scf to LLVM's dialect.
PASSES = (
    "one-shot-bufferize=allow-unknown-ops",
    "convert-linalg-to-loops",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)
TOOLS = ("mlir-opt-19", "mlir-translate-19", "clang-19")


class Descriptor(ctypes.Structure):
    """A one-dimensional memref, as LLVM's lowering passes it."""

    _fields_ = (
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    )


@dataclass(frozen=True)
class Kernel:
    """What is computed of two tensors, and how many ulp the witness may be away."""

    make: Callable[[], Any]
    ulp: int
    positive: bool = False
    exact: bool = False  #: multiples of 1/8, whose sums have one value in any order
    dtype: type = np.float32
    judge: Callable[[np.ndarray], np.ndarray] | None = None  #: of A, the exact result


@dataclass(frozen=True)
class Found:
    """Ulp between the simulator and the witness; of each one's own error where it has a judge."""

    apart: int
    errors: tuple[float, ...] = ()


def softmax_in_f64(rows: np.ndarray) -> np.ndarray:
    """Softmax over rows. The differences from the maximum are the kernel's, in f32."""
    powers = np.exp((rows - rows.max(1, keepdims=True)).astype(np.float64))
    return powers / powers.sum(1, keepdims=True)


def binary(fn: Callable[[Any, Any], Any], dtype: str = "float32") -> Callable[[], Any]:
    """A kernel of C = fn(A, B), element by element."""

    def make() -> Any:
        @tilelang.jit
        def pointwise(A, B):
            N = T.const("N")
            A: T.Tensor((N, 64), dtype)
            B: T.Tensor((N, 64), dtype)
            C = T.empty((N, 64), dtype)
            with T.Kernel(T.ceildiv(N, 16)) as block:
                a = T.alloc_shared((16, 64), dtype)
                b = T.alloc_shared((16, 64), dtype)
                T.copy(A[block * 16, 0], a)
                T.copy(B[block * 16, 0], b)
                for i, j in T.Parallel(16, 64):
                    a[i, j] = fn(a[i, j], b[i, j])
                T.copy(a, C[block * 16, 0])
            return C

        return pointwise

    return make


def rows(kind: str) -> Callable[[], Any]:
    """A kernel of softmax, or of a reduction, over rows of A; B is not read."""

    def make() -> Any:
        @tilelang.jit
        def by_rows(A, B):
            N = T.const("N")
            A: T.Tensor((N, 64), T.float32)
            B: T.Tensor((N, 64), T.float32)
            C = T.empty((N, 64), T.float32)
            with T.Kernel(T.ceildiv(N, 16)) as block:
                a = T.alloc_shared((16, 64), T.float32)
                m = T.alloc_fragment((16,), T.float32)
                T.copy(A[block * 16, 0], a)
                if kind == "max":
                    T.reduce_max(a, m, dim=1)
                    for i, j in T.Parallel(16, 64):
                        a[i, j] = m[i]
                elif kind == "sum":
                    T.reduce_sum(a, m, dim=1)
                    for i, j in T.Parallel(16, 64):
                        a[i, j] = m[i]
                else:
                    T.reduce_max(a, m, dim=1)
                    for i, j in T.Parallel(16, 64):
                        a[i, j] = T.exp(a[i, j] - m[i])
                    T.reduce_sum(a, m, dim=1)
                    for i, j in T.Parallel(16, 64):
                        a[i, j] = a[i, j] / m[i]
                T.copy(a, C[block * 16, 0])
            return C

        return by_rows

    return make


KERNELS = {
    "add": Kernel(binary(lambda a, b: a + b), 0),
    "sub": Kernel(binary(lambda a, b: a - b), 0),
    "mul": Kernel(binary(lambda a, b: a * b), 0),
    "div": Kernel(binary(lambda a, b: a / b), 2, positive=True),
    "max": Kernel(binary(T.max), 0),
    "min": Kernel(binary(T.min), 0),
    "abs": Kernel(binary(lambda a, b: T.abs(a) + b), 0),
    "exp": Kernel(binary(lambda a, b: T.exp(a) + b * 0.0), 2),
    "log": Kernel(binary(lambda a, b: T.log(a) + b * 0.0), 2, positive=True),
    "sqrt": Kernel(binary(lambda a, b: T.sqrt(a) + b * 0.0), 2, positive=True),
    "rsqrt": Kernel(binary(lambda a, b: T.rsqrt(a) + b * 0.0), 2, positive=True),
    "add_f16": Kernel(binary(lambda a, b: a + b, "float16"), 0, dtype=np.float16),
    "mul_f16": Kernel(binary(lambda a, b: a * b, "float16"), 0, dtype=np.float16),
    "row_max": Kernel(rows("max"), 0),
    "row_sum": Kernel(rows("sum"), 0, exact=True),
    "softmax": Kernel(rows("softmax"), 2, judge=softmax_in_f64),
}


def missing() -> str:
    """What is not installed; empty if nothing is."""
    if bisheng.find() is None:
        return f"the package {bisheng.PACKAGE} is not installed"
    tools = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"{', '.join(tools)} not found" if tools else ""


#: What a reduction starts from, by its name in HIVM.
NEUTRAL = {"sum": "0.0", "prod": "1.0", "max": "0xFF800000", "min": "0x7F800000"}
REDUCTION = re.compile(
    r'^( *)"hivm\.hir\.vreduce"\((%\w+), (%\w+)\) <\{arith = #hivm\.reduce_op<(\w+)>.*'
    r": \((memref<.*>), (memref<.*>)\) -> \(\)$",
    re.M,
)


#: Rows whose sum is one tree of neighbours in the simulator (support/Reduce.h).
TREE = re.compile(r"memref<(\d+)x64xf32>")


def host_text(text: str, own_sums: bool = False) -> str:
    """HIVM text for one core, without what only a device has. Sums become additions in the
    simulator's order, but with `own_sums`. Other reductions, which overwrite their destination
    there, go on with what it holds here: the neutral element."""
    text = REDUCTION.sub(_started if own_sums else _ordered, text)
    text = re.sub(r", #hivm\.address_space<\w+>", "", text)
    text = re.sub(r" \{hacc\.arg_type = #hacc\.arg_type<\w+>\}", "", text)
    text = re.sub(r"^module attributes \{.*\} \{$", "module {", text, flags=re.M)
    text = re.sub(
        r"\) attributes \{.*\} \{$", ") attributes {llvm.emit_c_interface} {", text, flags=re.M
    )
    for name in ("set_ffts_base_addr", "annotation.mark", "pipe_barrier"):
        text = re.sub(rf"^.*{name}.*\n", "", text, flags=re.M)
    for name, value in (("get_block_idx", 0), ("get_block_num", 1)):
        text = re.sub(rf'"hivm\.hir\.{name}"\(\)', f"arith.constant {value}", text)
        text = re.sub(r"(arith\.constant \d+) : \(\) -> i64", r"\1 : i64", text)
    return text


def _started(reduction: re.Match[str]) -> str:
    indent, _, place, kind, _, memref = reduction.groups()
    first = place.replace("%", "%neutral_")
    return (
        f"{indent}{first} = arith.constant {NEUTRAL[kind]} : f32\n"
        f'{indent}"hivm.hir.vbrc"({first}, {place}) : (f32, {memref}) -> ()\n' + reduction.group(0)
    )


def _ordered(reduction: re.Match[str]) -> str:
    """A sum of 64 columns as additions of neighbours, 64 to 32 to 16 and so on."""
    indent, source, place, kind, memref, last = reduction.groups()
    found = TREE.fullmatch(re.sub(r", #hivm\.address_space<\w+>", "", memref))
    if kind != "sum" or not found:
        return _started(reduction)
    count, lines, name = found.group(1), [], place[1:]
    space = ", #hivm.address_space<ub>"
    for width in (32, 16, 8, 4, 2, 1):
        whole = f"memref<{count}x{2 * width}xf32{space}>"
        types = []
        for side in (0, 1):
            layout = f"strided<[{2 * width}, 2], offset: {side}>".replace(", offset: 0", "")
            types.append(f"memref<{count}x{width}xf32, {layout}{space}>")
            lines.append(
                f"%{name}_{width}_{side} = memref.subview {source}[0, {side}] [{count}, {width}] "
                f"[1, 2] : {whole} to {types[-1]}"
            )
        if width > 1:
            target, kept = f"%{name}_{width}", f"memref<{count}x{width}xf32{space}>"
            lines.append(f"{target} = memref.alloc() : {kept}")
        else:
            target, kept = place, last
        lines.append(
            f'"hivm.hir.vadd"(%{name}_{width}_0, %{name}_{width}_1, {target}) '
            f"<{{operandSegmentSizes = array<i32: 2, 1, 0>}}> : ({', '.join(types)}, {kept}) -> ()"
        )
        source = target
    return "\n".join(indent + line for line in lines)


def library(text: str, folder: Path, own_sums: bool = False) -> ctypes.CDLL:
    """The text as a library of the host."""

    def step(words: list[str], given: str) -> str:
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {bisheng.reason(done)}")
        return done.stdout

    opt = bisheng.find().program("bishengir-opt")
    upstream = step(
        [opt, "--execution-engine-convert-hivm-to-upstream", "-"], host_text(text, own_sums)
    )
    lowered = step(["mlir-opt-19", *(f"--{name}" for name in PASSES), "-"], upstream)
    ir = step(["mlir-translate-19", "--mlir-to-llvmir", "-"], lowered)
    out = folder / "kernel.so"
    words = ["clang-19", "-x", "ir", "-", "-O1", "-ffp-contract=off", "-shared", "-lm", "-o"]
    step([*words, str(out)], ir)
    return ctypes.CDLL(str(out))


def call(lib: ctypes.CDLL, name: str, arrays: list[np.ndarray], sizes: list[int]) -> None:
    """Runs a kernel on arrays, in place; `sizes` are its run-time sizes."""

    def pointer(array: np.ndarray) -> Any:
        data = array.ctypes.data
        return ctypes.byref(Descriptor(data, data, 0, array.size, 1))

    nothing = np.zeros(8, np.int8)
    words = [ctypes.c_int64(0), pointer(nothing), pointer(nothing)]
    words += [pointer(array) for array in arrays]
    words += [ctypes.c_int64(size) for size in sizes]
    getattr(lib, f"_mlir_ciface_{name}")(*words, *(ctypes.c_int32(1) for _ in range(6)))


def distance(a: np.ndarray, b: np.ndarray) -> int:
    """The largest distance in units in the last place; numbers only."""
    kind = {2: np.int16, 4: np.int32}[a.itemsize]

    def order(array: np.ndarray) -> np.ndarray:
        bits = array.view(kind).astype(np.int64)
        return np.where(bits < 0, -(bits & (2 ** (8 * array.itemsize - 1) - 1)), bits)

    return int(np.max(np.abs(order(a) - order(b)), initial=0))


def compare(kernel: Kernel, count: int = 64, own_sums: bool = False) -> Found:
    """How far the simulator and the witness are apart, over `count` rows."""
    random = np.random.default_rng(1)
    wrapped = kernel.make()
    given = [random.standard_normal((count, 64)).astype(kernel.dtype) for _ in range(2)]
    if kernel.exact:
        given = [np.round(8 * array) / kernel.dtype(8) for array in given]
    if kernel.positive:
        given = [np.abs(array) + kernel.dtype(0.5) for array in given]
    simulated = np.asarray(wrapped(*given))
    core = wrapped.compile(*given).core
    (text,) = launches(core, "plain")
    result = np.zeros_like(simulated)
    arrays = {"A": given[0], "B": given[1], "C": result}
    with tempfile.TemporaryDirectory() as folder:
        lib = library(text["text"], Path(folder), own_sums)
        names = [p["name"] for p in text["parameters"] if p["kind"] == "tensor"]
        sizes = [count for p in text["parameters"] if p["kind"] != "tensor"]
        call(lib, text["name"], [arrays[name] for name in names], sizes)
    errors: tuple[float, ...] = ()
    if kernel.judge:
        exact = kernel.judge(given[0])
        unit = np.spacing(exact.astype(kernel.dtype)).astype(np.float64)
        errors = tuple(float(np.max(np.abs(r - exact) / unit)) for r in (simulated, result))
    return Found(distance(simulated, result), errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="a part of the kernels' names")
    parser.add_argument("--own-sums", action="store_true", help="sums in the witness's own order")
    options = parser.parse_args()
    if what := missing():
        print(what)
        return 1
    worst = 0
    for name, kernel in KERNELS.items():
        if options.k not in name:
            continue
        found = compare(kernel, own_sums=options.own_sums)
        worst |= found.apart > kernel.ulp
        fails = "" if found.apart <= kernel.ulp else "  FAILS"
        print(f"{name:10} {found.apart} ulp, at most {kernel.ulp}{fails}")
        for who, error in zip(("simulator", "witness"), found.errors, strict=False):
            print(f"           {who} {error:.2f} ulp from f64")
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
