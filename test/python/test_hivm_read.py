# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HIVM text read back: the same program as the one that was exported; and what cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from hivm_package import INSTALLED, SCRIPT, needs_package
from tilewright.errors import CompileError
from tilewright.hivm import bisheng, launches, readback


@tilelang.jit
def add(A, B):
    A: T.Tensor((5000,), T.float32)
    B: T.Tensor((5000,), T.float32)
    C = T.empty((5000,), T.float32)
    with T.Kernel(T.ceildiv(5000, 1024)) as block:
        for i in T.Parallel(1024):
            C[block * 1024 + i] = A[block * 1024 + i] + B[block * 1024 + i]
    return C


@tilelang.jit
def product(A, B):
    A: T.Tensor((500, 256), T.float16)
    B: T.Tensor((256, 512), T.float16)
    C = T.empty((500, 512), T.float16)
    with T.Kernel(4, 4) as (bx, by):
        a = T.alloc_shared((128, 64), T.float16)
        b = T.alloc_shared((64, 128), T.float16)
        c = T.alloc_fragment((128, 128), T.float32)
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[by * 128, k * 64], a)
            T.copy(B[k * 64, bx * 128], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 128, bx * 128])
    return C


@tilelang.jit
def softmax_of_product(A, B):
    A: T.Tensor((256, 64), T.float16)
    B: T.Tensor((64, 120), T.float16)
    C = T.empty((256, 120), T.float32)
    with T.Kernel(4) as block:
        a = T.alloc_shared((64, 64), T.float16)
        b = T.alloc_shared((64, 120), T.float16)
        c = T.alloc_fragment((64, 120), T.float32)
        top = T.alloc_fragment((64,), T.float32)
        total = T.alloc_fragment((64,), T.float32)
        T.copy(A[block * 64, 0], a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        T.reduce_max(c, top, dim=1)
        for i, j in T.Parallel(64, 120):
            c[i, j] = T.exp(c[i, j] - top[i])
        T.reduce_sum(c, total, dim=1)
        for i, j in T.Parallel(64, 120):
            c[i, j] = T.if_then_else(j > i, 0.0, c[i, j] / total[i])
        T.copy(c, C[block * 64, 0])
    return C


@tilelang.jit
def rounded(A):
    """A rounding within f32 and a transposition: one instruction each, in text as in the plan."""
    A: T.Tensor((64, 48), T.float32)
    C = T.empty((48, 64), T.float32)
    with T.Kernel(1):
        a = T.alloc_shared((64, 48), T.float32)
        b = T.alloc_shared((48, 64), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(64, 48):
            a[i, j] = T.floor(a[i, j] * 4)
        for i, j in T.Parallel(48, 64):
            b[i, j] = a[j, i]
        T.copy(b, C)
    return C


KERNELS = {
    "add": add,
    "product": product,
    "softmax_of_product": softmax_of_product,
    "rounded": rounded,
}
NAMES = tuple(KERNELS)


def kernels():
    return {name: kernel.compile() for name, kernel in KERNELS.items()}


def arrays(kernel) -> list[np.ndarray]:
    """Reproducible inputs of a kernel, then its output."""
    random = np.random.default_rng(5)
    return [
        np.zeros(p["shape"], p["dtype"])
        if p["output"]
        else random.standard_normal(p["shape"]).astype(p["dtype"])
        for p in kernel.parameters
    ]


def run(core, given, arguments, **options):
    report = core.run(given(arguments), time=True, check=True, **options)
    assert report["ok"], report["error"]
    assert not report["findings"], report["findings"]
    return sum(launch["cycles"] for launch in report["launches"])


def as_arguments(values: list[np.ndarray]) -> list[tuple[int, tuple[int, ...], str]]:
    return [(v.ctypes.data, v.shape, v.dtype.name) for v in values]


def compare(name: str, source: str, text, kernel) -> None:
    """Runs a kernel and what was read of its text on equal arguments."""
    core = readback.read(source, f"{name}.mlir", "910b3")
    ours, theirs = arrays(kernel), arrays(kernel)
    cycles = run(kernel.core, as_arguments, ours)

    def given(values):
        return readback.launch_arguments(text, core, kernel.parameters, as_arguments(values))

    read = run(core, given, theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.tobytes() == other.tobytes()
    assert abs(read / cycles - 1) < 0.02


@pytest.mark.parametrize("name", NAMES)
def test_planned_text_is_the_program(name):
    kernel = kernels()[name]
    (text,) = launches(kernel.core, "planned")
    compare(name, text["text"], text, kernel)


@needs_package
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["flags", "planned"])
def test_last_open_stage_is_the_program(tmp_path, name, form):
    kernel = kernels()[name]
    (text,) = launches(kernel.core, form)
    path = tmp_path / f"{name}.mlir"
    path.write_text(text["text"])
    lowered = bisheng.lower(INSTALLED, path, form, kernel.core.hivm_target)
    assert lowered.ok, lowered.problem
    compare(name, readback.generic(INSTALLED, path, lowered.text), text, kernel)


def planned() -> str:
    (text,) = launches(kernels()["softmax_of_product"].core, "planned")
    return text["text"]


def refused(text: str) -> str:
    with pytest.raises(CompileError) as caught:
        readback.read(text, "given.mlir", "910b3")
    return str(caught.value)


def place(text: str, word: str) -> str:
    """FILE:LINE:COLUMN of the operation that `word` begins."""
    lines = text.splitlines()
    number = next(i for i, line in enumerate(lines) if word in line)
    return f"given.mlir:{number + 1}:{len(lines[number]) - len(lines[number].lstrip()) + 1}"


def test_an_operation_that_is_not_known():
    text = planned().replace("hivm.hir.vexp", "hivm.hir.vsecret")
    message = refused(text)
    assert "'hivm.hir.vsecret' is not known" in message
    assert place(text, '"hivm.hir.vsecret"') in message


def test_a_call_that_is_not_known():
    text = planned().replace(
        '"hivm.hir.set_ffts_base_addr"(%arg0) : (i64) -> ()',
        "func.call @vsecret_1d_half() : () -> ()",
    )
    text = text.replace("module attributes", "module attributes", 1)
    head, brace, rest = text.partition("{\n")
    text = head + brace + "  func.func private @vsecret_1d_half()\n" + rest
    message = refused(text)
    assert "library function 'vsecret_1d_half' is not known" in message
    assert place(text, "func.call @vsecret") in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "given.mlir:"),
        (lambda text: text.replace("DEVICE", "HOST"), "no function with a body"),
        (lambda text: text.replace("func_core_type<AIC>", "func_core_type<MIX>"), "has split it"),
        (lambda text: text.replace("PIPE_MTE1", "PIPE_X"), "a flag between pipes"),
        (lambda text: text.replace("16x16xf16", "8x16xf16"), "given.mlir:"),
        (lambda text: "(" * 1000 + text, "brackets within each other"),
        (lambda text: '"hivm.hir.pipe_barrier"[' * 2 + text, "given.mlir:1"),
        (lambda text: "hivm.hir.pipe_barrier[<PIPE_ALL>]\n" + text, "--mlir-print-op-generic"),
        (lambda text: "hivm." + " " * (65 << 20), "at most"),
        (lambda text: "module {}", "launches a program"),
    ],
)
def test_text_that_cannot_be_read(change, message):
    assert message in refused(change(planned()))


def test_every_prefix_of_a_text_is_refused():
    text = planned()
    for end in range(0, len(text) - 4, 1999):
        refused(text[:end])


def test_long_text_and_long_sums():
    text = planned()
    (line,) = {line for line in text.splitlines() if "PIPE_ALL" in line}
    longer = text.replace(line, "\n".join([line] * 50_000), 1)
    assert readback.read(longer, "given.mlir", "910b3").parameters
    # Where the workspace lies, a sum of very many parts.
    head, middle, rest = text.partition("    %view = memref.view %arg2[")
    name = rest.partition("]")[0]
    sums = [f"    %s0 = arith.addi {name}, {name} : index"]
    sums += [f"    %s{n} = arith.addi %s{n - 1}, {name} : index" for n in range(1, 20_000)]
    longer = head + "\n".join(sums) + "\n" + middle + rest.replace(name, "%s19999", 1)
    assert "a place of the workspace" in refused(longer)


def test_buffers_without_addresses_are_named():
    (text,) = launches(kernels()["add"].core, "flags")
    assert "without an address" in refused(text["text"])


def test_a_plan_for_another_memory():
    (given,) = launches(kernels()["add"].core, "planned")
    zero, far = ("c0_i64 = arith.constant " + number for number in ("0 :", "190000000 :"))
    assert zero in given["text"]
    text = given["text"].replace(zero, far)
    assert "does not fit" in refused(text)


CALLS = """\
double(np.ones(512, np.float32))
"""


def command(*words: str, folder: Path, code: int = 0):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )
    assert done.returncode == code, done.stderr
    return done


def exported(folder: Path, form: str) -> Path:
    (folder / "script.py").write_text(SCRIPT + CALLS)
    command("export", "--hivm", "out", "--form", form, "script.py", folder=folder)
    return folder / "out" / "double.mlir"


def test_simulate(tmp_path):
    exported(tmp_path, "b")
    a = np.arange(512, dtype=np.float32)
    np.savez(tmp_path / "in.npz", A=a)
    words = ("--args", "in.npz", "--output", "out.npz", "--time", "--check")
    done = command("simulate", *words, "out/double.mlir", folder=tmp_path)
    assert "time: double" in done.stderr and "check: nothing found" in done.stderr
    assert done.stdout.startswith("B: float32 512, checksum ")
    assert np.array_equal(np.load(tmp_path / "out.npz")["B"], a * 2)
    # The same numbers are made each time, the same text gives the same results.
    first = command("simulate", "out/double.mlir", folder=tmp_path).stdout
    assert first == command("simulate", "out/double.mlir", folder=tmp_path).stdout
    assert first != command("simulate", "--seed", "1", "out/double.mlir", folder=tmp_path).stdout


SQUARE = """\
import numpy as np
import tilewright as tilelang
import tilewright.language as T

@tilelang.jit
def square(A):
    N = T.const("N")
    A: T.Tensor((N, 64), T.float32)
    B = T.empty((N, 64), T.float32)
    with T.Kernel(T.ceildiv(N, 16)) as block:
        for i, j in T.Parallel(16, 64):
            B[block * 16 + i, j] = A[block * 16 + i, j] * A[block * 16 + i, j]
    return B

square(np.ones((32, 64), np.float32))
"""


def test_simulate_keeps_shapes(tmp_path):
    """Shapes of generated tensors are those of the plan, also of those that are written."""
    (tmp_path / "script.py").write_text(SQUARE)
    command("export", "--hivm", "out", "--form", "b", "script.py", folder=tmp_path)
    done = command("simulate", "--output", "out.npz", "out/square.mlir", folder=tmp_path)
    assert done.stdout.startswith("B: float32 32x64, checksum ")
    found = np.load(tmp_path / "out.npz")
    assert found["A"].shape == found["B"].shape == (32, 64)
    assert np.array_equal(found["B"], found["A"] ** 2)


DYNAMIC = """
@tilelang.jit
def half(A):
    M, N = T.dynamic("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, 16), T.ceildiv(N, 32)) as (i, j):
        a = T.alloc_shared((16, 32), "float32")
        T.copy(A[i * 16, j * 32], a)
        for x, y in T.Parallel(16, 32):
            a[x, y] = a[x, y] * 0.5
        T.copy(a, B[i * 16, j * 32])
    return B

half(np.ones((20, 33), np.float32))
"""


def test_simulate_shapes_that_are_open(tmp_path):
    """Sizes come from --size or from the arrays that are given."""
    head = "import numpy as np\nimport tilelang\nimport tilelang.language as T\n"
    (tmp_path / "script.py").write_text(head + DYNAMIC)
    command("export", "--hivm", "out", "--form", "b", "script.py", folder=tmp_path)
    text = "out/half.mlir"
    done = command("simulate", "--size", "M=7", "--size", "N=40", text, folder=tmp_path)
    assert done.stdout.startswith("B: float32 7x40, checksum ")
    a = np.arange(5 * 9, dtype=np.float32).reshape(5, 9)
    np.savez(tmp_path / "in.npz", A=a)
    command("simulate", "--args", "in.npz", "--output", "o.npz", text, folder=tmp_path)
    assert np.array_equal(np.load(tmp_path / "o.npz")["B"], a / 2)
    for words, message in [
        (("--args", "in.npz", "--size", "M=6"), "'A' has shape (5, 9); M is 6"),
        (("--size", "M=-7", "--size", "N=3"), "has the size M, which is not known or below 0"),
        (("--size", "M=7"), "has the size N, which is not known"),
    ]:
        assert message in command("simulate", *words, text, folder=tmp_path, code=1).stderr
    np.savez(tmp_path / "flat.npz", A=a.ravel())
    done = command("simulate", "--args", "flat.npz", text, folder=tmp_path, code=1)
    assert "'A' has 1 dimensions; the plan says (M, N)" in done.stderr


def test_simulate_finds_what_is_missing(tmp_path):
    path = exported(tmp_path, "b")
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not ("_flag" in line and "PIPE_V" in line)]
    assert len(kept) < len(lines)
    path.write_text("\n".join(kept))
    done = command("simulate", "--check", "out/double.mlir", folder=tmp_path, code=2)
    assert "check: double" in done.stderr and "double.mlir:" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.mlir",), "missing.mlir"),
        (("alone.mlir",), "the size of 'arg0' is not in the text; --size arg0=NUMBER"),
        (("--size", "arg0", "alone.mlir"), "expected NAME=NUMBER, found 'arg0'"),
        (
            ("--size", "arg0=256", "--size", "N=4", "alone.mlir"),
            "--size: the text has no parameter 'N'; it has arg0, arg1",
        ),
        (("--args", "other.npz", "alone.mlir"), "--args: the text has no parameter 'x'"),
        (("--args", "bytes.npz", "alone.mlir"), "has element type int8; the text has float32"),
    ],
)
def test_simulate_without_what_it_needs(tmp_path, words, message):
    path = exported(tmp_path, "b")
    path.rename(tmp_path / "alone.mlir")
    np.savez(tmp_path / "bytes.npz", arg0=np.zeros(4, np.int8))
    np.savez(tmp_path / "other.npz", x=np.zeros(4, np.float32))
    assert message in command("simulate", *words, folder=tmp_path, code=1).stderr


@needs_package
def test_simulate_text_that_another_compiler_plans(tmp_path):
    exported(tmp_path, "c")
    done = command("simulate", "--time", "out/double.mlir", folder=tmp_path)
    assert f"plan: addresses, slots and flags are those of {bisheng.PACKAGE}" in done.stderr


def test_options_behind_the_script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT + CALLS)
    done = command("export", "script.py", "--hivm", "out", folder=tmp_path, code=64)
    assert (
        "options stand in front of the script, as in 'tilewright export --hivm DIR" in done.stderr
    )


CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "hivm"


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.iterdir()))
def test_seeds_of_the_fuzzer_are_read(name):
    assert readback.read((CORPUS / name).read_text(), name, "910b3").parameters


def test_text_of_very_many_operations(tmp_path):
    """Read in bounded memory, an error at its last line with its place."""
    head = (CORPUS / "planned.mlir").read_text()
    start = head.index('"hivm.hir.set_ffts_base_addr"')
    many = "%x = arith.constant 1 : i32\n"
    lines = "".join(many.replace("x", f"x{i}") for i in range(100_000))
    script = tmp_path / "read.py"
    script.write_text(
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        "from tilewright.errors import CompileError\n"
        "from tilewright.hivm import readback\n"
        "try:\n    readback.read(open(sys.argv[1]).read(), 'many.mlir', '910b3')\n"
        "except CompileError as error:\n    print(error)\n"
    )
    text = tmp_path / "many.mlir"
    text.write_text(head[:start] + lines + '"hivm.hir.vnothing"() : () -> ()\n' + head[start:])
    line = head[:start].count("\n") + 100_001
    done = subprocess.run(
        [sys.executable, str(script), str(text)], capture_output=True, text=True, check=False
    )
    assert f"many.mlir:{line}:" in done.stdout and "vnothing" in done.stdout, done.stderr[-500:]
