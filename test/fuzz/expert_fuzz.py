# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels whose author orders pipes and cores by hand.

    python test/fuzz/expert_fuzz.py [--start 0] [--count 50]

Each has rings of slots with run-time events, loads that run some turns ahead, and vector work
between them; half of them also have a cube core that fills one ring through a global tensor. The
orders are complete, so the checker must find nothing and every engine must give the same bits.
With one order taken away either the checker finds something, or nothing changes.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from harness import Program, check_program, compile_kernel, randn, same_bits

ROWS, COLUMNS = 16, 32
HEAD = """\
import tilewright as tilelang
import tilewright.language as T


@tilelang.jit
def kernel(A, B, W, turns, blocks):
    A: T.Tensor((blocks * turns, 16, 32), T.float32)
    B: T.Tensor((32, 32), T.float16)
    W: T.Tensor((blocks, 16, 16, 32), T.float32)
    C = T.empty((blocks * turns, 16, 32), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, half):
"""


def flag(pipe: str, other: str, event: str, wait: bool = False) -> list[str]:
    word = "wait_flag" if wait else "set_flag"
    return [f'with T.rs("PIPE_{pipe}"):', f'    T.{word}("PIPE_{other}", {event})']


def cube(ahead: int) -> list[str]:
    """Fills one global slot per turn; the vector cores grant `ahead` of them first."""
    return [
        'with T.Scope("Cube"):',
        "    a = T.alloc_L1((32, 32), T.float16)",
        "    c = T.alloc_L0C((32, 32), T.float32)",
        "    T.copy(B, a)",
        "    for i in T.serial(turns):",
        "        T.gemm(a[0:16, :], a, c[0:16, :], initC=True)",
        '        with T.rs("PIPE_FIX"):',
        "            T.sync_block_wait(1)",
        f"            T.copy(c[0:16, :], W[block, i % {ahead}, :, :])",
        "            T.sync_block_set(0)",
        '    with T.rs("PIPE_FIX"):',
        f"        for _ in T.serial({ahead}):",
        "            T.sync_block_wait(1)",
    ]


def vector(rng: random.Random, mixed: bool, ahead: int) -> list[str]:
    rows = ROWS // 2
    slots, out, lead = rng.randint(1, 4), rng.randint(1, 4), rng.randint(0, 2)
    lead = min(lead, slots - 1)
    mine = f"half * {rows} : half * {rows} + {rows}"
    body = [
        f"x = T.alloc_ub(({slots}, {rows}, 32), T.float32)",
        f"y = T.alloc_ub(({out}, {rows}, 32), T.float32)",
    ]
    for ring, (pipe, other) in ((slots, ("V", "MTE2")), (out, ("MTE3", "V"))):
        body += [f"for s in T.serial({ring}):", *("    " + s for s in flag(pipe, other, "s"))]
    if mixed:
        body += ['with T.rs("PIPE_MTE2"):', f"    for _ in T.serial({ahead}):"]
        body += ["        T.sync_block_set(1)"]
    body += [f"for step in T.serial(turns + {lead}):", "    if step < turns:"]
    slot = f"step % {slots}"
    source = (
        f"W[block, step % {ahead}, {mine}, :]" if mixed else f"A[block * turns + step, {mine}, :]"
    )
    load = [*flag("MTE2", "V", slot, wait=True), 'with T.rs("PIPE_MTE2"):']
    load += ["    T.sync_block_wait(0)"] if mixed else []
    load += [f"    T.copy({source}, x[{slot}, :, :])"]
    load += ["    T.sync_block_set(1)"] if mixed else []
    load += flag("MTE2", "V", slot)
    body += ["        " + line for line in load]
    now = f"(step - {lead})"
    here, there = f"x[{now} % {slots}, :, :]", f"y[{now} % {out}, :, :]"
    work = [*flag("V", "MTE2", f"{now} % {slots}", wait=True)]
    work += flag("V", "MTE3", f"{now} % {out}", wait=True)
    work += [f"T.v{rng.choice(('add', 'mul', 'max'))}({here}, {rng.randint(1, 3)}.0, {there})"]
    for _ in range(rng.randint(0, 2)):
        work += ['T.pipe_barrier("PIPE_V")']
        other = rng.choice((here, there, "0.5"))
        work += [f"T.v{rng.choice(('add', 'sub', 'mul', 'min'))}({there}, {other}, {there})"]
    work += flag("V", "MTE2", f"{now} % {slots}") + flag("V", "MTE3", f"{now} % {out}")
    work += [*flag("MTE3", "V", f"{now} % {out}", wait=True)]
    work += [f"T.copy({there}, C[block * turns + {now}, {mine}, :])"]
    work += flag("MTE3", "V", f"{now} % {out}")
    body += [f"    if step >= {lead}:", *("        " + line for line in work)]
    for ring, (pipe, other) in ((slots, ("MTE2", "V")), (out, ("V", "MTE3"))):
        body += [f"for s in T.serial({ring}):"]
        body += ["    " + line for line in flag(pipe, other, "s", wait=True)]
    return ['with T.Scope("Vector"):', *("    " + line for line in body)]


def source(seed: int) -> tuple[str, dict[str, int]]:
    """A kernel and its fixed arguments."""
    rng = random.Random(seed)
    mixed, ahead = rng.random() < 0.5, rng.randint(1, 4)
    lines = [*(cube(ahead) if mixed else []), *vector(rng, mixed, ahead)]
    text = HEAD + "\n".join("        " + line for line in lines) + "\n    return C\n"
    return text, {"turns": rng.randint(1, 6), "blocks": rng.choice((1, 3, 45))}


def load(text: str, folder: Path, name: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def inputs(fixed: dict[str, int]) -> list[np.ndarray]:
    count = fixed["turns"] * fixed["blocks"]
    a = randn((count, ROWS, COLUMNS), np.float32, seed=1)
    b = randn((32, 32), np.float16, seed=2)
    return [a, b, np.zeros((fixed["blocks"], 16, 16, 32), np.float32)]


def run_whole(seed: int, folder: Path) -> Program:
    """The complete kernel through every engine and stage; the last program."""
    text, fixed = source(seed)
    kernel = load(text, folder, f"expert_{seed}")
    for level in (0, 2):
        program = Program(compile_kernel(kernel, inputs(fixed), fixed, level), inputs(fixed))
        check_program(program, None, 0, 0, 3, f"seed {seed}, level {level}")
    return program


def run_broken(seed: int, program: Program) -> bool:
    """One order taken away: true if the checker found it, an error if results suffer unseen."""
    points = len(program.kernel.core.sync_points())
    mutant = random.Random(seed).randrange(points)
    checked = program.run(check=True, mutant=mutant)
    if not checked.report["ok"] or checked.report["findings"]:
        return True
    whole = program.good()
    for order in range(6):
        same_bits(whole, program.run(delay_seed=order, mutant=mutant), f"mutant {mutant}")
    return False


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--count", type=int, default=50)
    given = options.parse_args()
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.start, given.start + given.count):
            found += run_broken(seed, run_whole(seed, Path(folder)))
    print(f"{given.count} kernels agree; {found} of {given.count} broken ones are reported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
