# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation test of Expert sources: what an author gets wrong about an order is reported.

    python bench/expert_mutation.py [KERNEL ...] [--seeds 8] [--every 1] [--verbose]

Correct kernels, written by hand or printed by `--emit expert`. Each statement that orders
pipes or cores is deleted, moved before its predecessor, moved behind its successor, and given
another number. A mutant is *reported* when it does not compile or a checked run finds something;
else it runs out of program order for some seeds, and is *missed* when one of them deadlocks or
gives another result, and *harmless* when none does.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutation
import workloads

import kernels
import test_emit_expert
from expert_source import module_of
from harness import Mismatch, Program, compile_kernel, randn, same_bits
from tilewright.errors import CompileError

SYNC = {
    "set_flag",
    "wait_flag",
    "pipe_barrier",
    "sync_block_set",
    "sync_block_wait",
    "block_barrier",
    "subblock_barrier",
}
#: Position of the number among the arguments.
NUMBER = {"set_flag": 1, "wait_flag": 1, "pipe_barrier": None}
HEADER = """import tilewright as tilelang
import tilewright.language as T
"""


@dataclass
class Case:
    """A kernel as text, its inputs, and how a module with that text becomes a kernel."""

    source: str
    inputs: list[np.ndarray]
    build: Callable[[Any, list[np.ndarray]], Any]


def by_hand(name: str, fixed: dict[str, Any], *inputs: np.ndarray) -> Callable[[], Case]:
    """A kernel of test/e2e/test_expert.py or test_meetings.py."""

    def case() -> Case:
        wanted = []
        files = ("test_expert.py", "test_meetings.py")
        text = "".join((kernels.ROOT / "test" / "e2e" / f).read_text("utf-8") for f in files)
        text = text.replace("from __future__ import annotations", "")
        for node in ast.parse(text).body:
            is_setting = isinstance(node, ast.Assign) and node.targets[0].id == "MANUAL"
            if is_setting or (isinstance(node, ast.FunctionDef) and node.name == name):
                wanted.append(ast.unparse(node))
        source = HEADER + "\n\n".join(wanted) + "\n"
        return Case(
            source, list(inputs), lambda m, i: compile_kernel(getattr(m, name), i, fixed, 2)
        )

    return case


def printed(make: Callable[[], Any], *inputs: np.ndarray) -> Callable[[], Case]:
    """The compiler's answer to a kernel."""
    return lambda: Case(make().expert_source(), list(inputs), lambda module, _: module.kernel)


def planned(name: str) -> Callable[[], Case]:
    """The compiler's answer to a kernel of bench/mutation.py."""

    def case() -> Case:
        program = mutation.compiled(name)
        return Case(program.kernel.expert_source(), program.inputs, lambda m, _: m.kernel)

    return case


def compiled(function: Any, *inputs: np.ndarray, **fixed: Any) -> Callable[[], Any]:
    return lambda: compile_kernel(function, list(inputs), fixed, 2)


def f32(*shape: int) -> np.ndarray:
    return randn(shape, np.float32)


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


_QKV = [randn((2, 200, 64), seed=i) for i in range(3)]
_FUSED = [randn((200, 256)), randn((256, 192), seed=1)]
_ATTENTION = {"heads": 2, "block_q": 64, "block_k": 64, "causal": False, "stages": 2}
KERNELS: dict[str, Callable[[], Case]] = {
    "ring": by_hand("ring", {"rows": 23, "cols": 64, "runners": 4, "slots": 3}, f32(23, 64)),
    "product": by_hand(
        "product", {"m": 96, "n": 48, "k": 192, "bk": 32}, randn((96, 192)), randn((192, 48))
    ),
    "ping_pong": by_hand(
        "ping_pong",
        {"blocks": 2, "turns": 3},
        randn((64, 32)),
        randn((32, 32), seed=2),
        zeros(64, 32),
        zeros(64, 32, dtype=np.float16),
    ),
    "charged": by_hand(
        "charged",
        {"blocks": 25, "ahead": 3},
        randn((400, 16)),
        zeros(25, 4, 16, 16),
        zeros(25, 4, 16, 16),
    ),
    "through_l0": by_hand(
        "through_l0",
        {"m": 32, "n": 32, "k": 64, "bk": 16, "tb": False},
        randn((32, 64)),
        randn((64, 32), seed=2),
    ),
    "braked": by_hand("braked", {"n": 6}, f32(6, 64)),
    "relay": by_hand("relay", {"n": 64, "blocks": 4, "turns": 3}, f32(4, 64), zeros(2, 4, 64)),
    "swapped_halves": by_hand("swapped_halves", {"blocks": 3}, f32(3, 2, 64), zeros(3, 2, 64)),
    "matmul": printed(
        lambda: workloads.matmul(512, 256, 256, 64, 64, 64),
        randn((512, 256)),
        randn((256, 256), seed=1),
    ),
    "batched_matmul": printed(
        lambda: workloads.batched_matmul(3, 96, 64, 64, 32, 64, 32),
        randn((3, 96, 64)),
        randn((3, 64, 64), seed=1),
    ),
    "transposed": printed(
        lambda: test_emit_expert.transposed(70, 90, 50),
        randn((50, 70)),
        randn((90, 50), seed=1),
    ),
    "softmax": printed(lambda: workloads.softmax(1024, 100, 4), f32(1024, 100)),
    "softmax_half": printed(lambda: workloads.softmax_half(1024, 256, 4), f32(1024, 256)),
    "rms_norm": printed(lambda: workloads.rms_norm(1024, 100, 4), f32(1024, 100)),
    "add_gelu": printed(
        lambda: workloads.add_gelu(1024, 128, 16, 64),
        randn((1024, 128)),
        randn((1024, 128), seed=1),
    ),
    "column_sum": printed(lambda: workloads.column_sum(1024, 128, 16, 64), f32(1024, 128)),
    "attention": printed(compiled(kernels.attention, *_QKV, **_ATTENTION), *_QKV),
    "product_and_softmax": printed(
        lambda: compile_kernel(
            kernels.example("matmul_softmax").matmul_softmax,
            _FUSED,
            {"block_M": 64, "block_N": 64, "block_K": 64},
            2,
        ),
        *_FUSED,
    ),
    "gemm_bias_relu": planned("gemm_bias_relu"),
    "online_softmax": planned("online_softmax"),
    "add": planned("add"),
    "pieces": printed(compiled(test_emit_expert.pieces, f32(70, 64), count=3), f32(70, 64)),
}


def call_of(statement: ast.stmt) -> ast.Call | None:
    """The call of a statement that orders something; None for others."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    function = statement.value.func
    is_sync = isinstance(function, ast.Attribute) and function.attr in SYNC
    return statement.value if is_sync else None


def places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Lists of statements and positions in them that order something."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from ((body, i) for i, s in enumerate(body) if call_of(s))


def renumber(call: ast.Call) -> bool:
    position = NUMBER.get(call.func.attr, 0)
    if position is None:
        return False
    while len(call.args) <= position:
        call.args.append(ast.Constant(0))
    number = call.args[position]
    call.args[position] = (
        ast.Constant(number.value + 1)
        if isinstance(number, ast.Constant)
        else ast.BinOp(number, ast.Add(), ast.Constant(1))
    )
    return True


def mutants(source: str, every: int = 1) -> Iterator[tuple[str, str]]:
    """Every `every`-th mutant: what was done, and the source after it."""
    count = sum(1 for _ in places(ast.parse(source)))
    ways = ("delete", "move up", "move down", "renumber")
    for number, how in itertools.islice(itertools.product(range(count), ways), 0, None, every):
        changed = ast.parse(source)
        body, at = next(itertools.islice(places(changed), number, None))
        statement = body[at]
        what = f"{how} line {statement.lineno}: {ast.unparse(statement)}"
        if how == "delete":
            body[at] = ast.Pass()
        elif how == "renumber":
            if not renumber(call_of(statement)):
                continue
        else:
            other = at - 1 if how == "move up" else at + 1
            if not 0 <= other < len(body):
                continue
            body[at], body[other] = body[other], body[at]
        yield what, ast.unparse(ast.fix_missing_locations(changed)) + "\n"


def program_of(case: Case, source: str) -> Program:
    return Program(case.build(module_of(source), case.inputs), case.inputs)


def judge(case: Case, good: Any, source: str, seeds: int) -> str:
    try:
        program = program_of(case, source)
    except (CompileError, ValueError, TypeError):
        return "reported"
    checked = program.run(check=True)
    if checked.report["findings"] or not checked.report["ok"]:
        return "reported"
    for seed in (None, *range(seeds)):
        outcome = program.run() if seed is None else program.run(delay_seed=seed)
        try:
            assert outcome.report["ok"]
            same_bits(good, outcome, "mutant")
        except (AssertionError, Mismatch):
            return "missed"
    return "harmless"


@dataclass
class Score:
    """Verdicts of a kernel's mutants."""

    kernel: str
    verdicts: list[tuple[str, str]]

    def count(self, verdict: str) -> int:
        return sum(found == verdict for _, found in self.verdicts)


def score(name: str, seeds: int = 8, every: int = 1) -> Score:
    """Judges every `every`-th mutant; raises when the kernel itself is not clean."""
    case = KERNELS[name]()
    # Sources are compared as `ast.unparse` writes them, so that lines are the mutants'.
    plain = ast.unparse(ast.parse(case.source)) + "\n"
    program = program_of(case, plain)
    good = program.good()
    program.good(check=True)
    verdicts = []
    for what, source in mutants(plain, every):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            verdicts.append((what, judge(case, good, source, seeds)))
    return Score(name, verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="show every mutant")
    options = parser.parse_args()
    tempfile.tempdir = tempfile.mkdtemp(prefix="tilewright-mutants-")
    total = {"reported": 0, "missed": 0, "harmless": 0}
    for name in options.kernels or KERNELS:
        start = time.process_time()
        found = score(name, options.seeds, options.every)
        for verdict in total:
            total[verdict] += found.count(verdict)
        counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in total)
        print(
            f"{name}: {len(found.verdicts)} mutants, {counts}  "
            f"[{time.process_time() - start:.1f} s]",
            flush=True,
        )
        for what, verdict in found.verdicts:
            if options.verbose or verdict == "missed":
                print(f"  {verdict}: {what}")
    harmful = total["reported"] + total["missed"]
    share = total["reported"] / harmful if harmful else 1.0
    print(f"{total}; of the harmful ones {100 * share:.1f} % are reported (>= 98)")
    return int(share < 0.98)


if __name__ == "__main__":
    sys.exit(main())
