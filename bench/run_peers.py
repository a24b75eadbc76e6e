# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the scripts that measure peers, and our own figures beside them.

    python bench/run_peers.py --baselines DIR [--python PYTHON ...] [--only WORD ...]

DIR holds the peers' scripts (cpu_ref.py, tri_compile.py, ...). Every PYTHON is an interpreter in
whose environment some peers are installed; each script runs in the first that has what it needs,
and is left out with a word when none has. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import budgets
from measure import ONE_THREAD, UNSET, load, one_thread


@dataclass
class Figure:
    """One figure in a script's output, and the line of our table that it stands beside."""

    ours: str
    peer: str
    pattern: str
    scale: float = 1.0  #: to milliseconds


@dataclass
class Script:
    """One way to call one script."""

    name: str
    module: str  #: what must be importable
    package: str  #: what to install
    command: Sequence[str]
    figures: list[Figure] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    program: str = ""  #: run by this program of the environment instead of its python
    seconds: int = 300


GEMM = "GEMM 512^3 f16 -> f16, functional"
SOFTMAX = "softmax 1024^2 f32, functional"
IMPORT = "import with language, jit and compiler"
COLD_GEMM = "cold process, source to runnable: GEMM"
COLD_FLASH = "cold process, source to runnable: flash attention"
AGAIN_GEMM, AGAIN_FLASH = "compile again: GEMM", "compile again: flash attention"
REPEAT = "repeat call in process, a kernel of one block"
CHECKED = "the same with clock and check"
CPU_MS = r".*?\[cpu ([\d.]+) ms\]"  #: what a busy machine disturbs least
MEDIAN_S = r".*?median ([\d.]+)"


def triton(kernel: str, key: str) -> str:
    """The median of a figure of tri_compile.py, for the target that is first there."""
    return rf"^{kernel} 90 .*?'{key}': \(([\d.]+)"


SCRIPTS = [
    Script(
        "numpy",
        "numpy",
        "numpy",
        ["cpu_ref.py", "numpy", "1"],
        [
            Figure(GEMM, "NumPy f32", "gemm f32 512.3" + CPU_MS),
            Figure(SOFTMAX, "NumPy", "softmax f32 1024x1024" + CPU_MS),
        ],
    ),
    Script(
        "torch",
        "torch",
        "torch",
        ["cpu_ref.py", "torch", "1"],
        [
            Figure(GEMM, "PyTorch f32", "gemm float32 512.3" + CPU_MS),
            Figure(SOFTMAX, "PyTorch", "softmax float32 1024x1024" + CPU_MS),
        ],
    ),
    Script(
        "triton",
        "triton",
        "triton",
        ["tri_compile.py", "compile", "3"],
        [
            Figure(COLD_GEMM, "Triton, to a binary (wall)", triton("matmul", "total_cold_s"), 1e3),
            Figure(AGAIN_GEMM, "Triton (wall)", triton("matmul", "compile_warm_s"), 1e3),
            Figure(REPEAT, "Triton, cache hit (wall)", triton("matmul", "cache_hit_s"), 1e3),
        ],
    ),
    Script(
        "triton-interpreter",
        "triton",
        "triton torch",
        ["tri_compile.py", "interp"],
        [
            Figure(GEMM, "Triton's interpreter", "interp gemm 512" + MEDIAN_S, 1e3),
            Figure(SOFTMAX, "Triton's interpreter", "interp softmax" + MEDIAN_S, 1e3),
        ],
        {"TRITON_INTERPRET": "1", "CPUT": "1"},
    ),
    Script(
        "tilelang",
        "tilelang",
        "tilelang",
        ["tl_compile.py", "one", "gemm", "cuda"],
        [
            Figure(IMPORT, "tilelang (wall)", r'"import_s": ([\d.]+)', 1e3),
            Figure(COLD_GEMM, "tilelang, to CUDA source", r'"cold_cpu_s": ([\d.]+)', 1e3),
            Figure(AGAIN_GEMM, "tilelang", r'"warm_cpu_s": ([\d.]+)', 1e3),
        ],
    ),
    Script(
        "tilelang-attention",
        "tilelang",
        "tilelang",
        ["tl_compile.py", "one", "fa", "cuda"],
        [
            Figure(COLD_FLASH, "tilelang, to CUDA source", r'"cold_cpu_s": ([\d.]+)', 1e3),
            Figure(AGAIN_FLASH, "tilelang", r'"warm_cpu_s": ([\d.]+)', 1e3),
        ],
    ),
    Script(
        "pallas",
        "jax",
        "jax",
        ["cpu_ref.py", "jax", "1"],
        [
            Figure(GEMM, "Pallas, interpret", "pallas interpret=True gemm" + CPU_MS),
            Figure(GEMM, "Pallas, TPU interpreter", "TPU-interp races=False" + CPU_MS),
            Figure(CHECKED, "Pallas, TPU, races", "TPU-interp races=True" + CPU_MS),
        ],
    ),
    Script(
        "pallas-softmax",
        "jax",
        "jax",
        ["interp_softmax_pallas.py"],
        [
            Figure(SOFTMAX, "Pallas, interpret", "interpret=True softmax" + MEDIAN_S, 1e3),
            Figure(SOFTMAX, "Pallas, TPU interpreter", "TPU-interp softmax" + MEDIAN_S, 1e3),
        ],
    ),
    Script(
        "tt-lang-sim",
        "ttl",
        "tt-lang-sim packaging",
        ["ttl_sim_bench.py"],
        [Figure(GEMM, "tt-lang-sim, 128 x 128", "tt-lang-sim matmul 512" + MEDIAN_S, 1e3)],
        {"GRAN": "4", "N_MM": "512", "N_EW": "1024", "REP": "5"},
        program="tt-lang-sim",
    ),
    Script("tilelang-cpu", "tilelang", "tilelang", ["tl_cpu.py", "512"]),
    Script("iree", "iree.compiler", "iree-base-compiler iree-base-runtime", ["iree_ref.py"]),
    Script("halide", "halide", "halide", ["halide_ref.py", "1024"], [], {"HL_NUM_THREADS": "1"}),
]


def has_module(python: str, module: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    done = subprocess.run([python, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def run(script: Script, folder: Path, pythons: Sequence[str]) -> str | None:
    """Output of a script; None, after a word, when it cannot run here."""
    path = folder / script.command[0]
    if not path.exists():
        print(f"{script.name}: left out, {path.name} is not in {folder}")
        return None
    python = next((p for p in pythons if has_module(p, script.module)), None)
    if python is None:
        print(f"{script.name}: left out, not installed (pip install {script.package})")
        return None
    program = str(Path(python).with_name(script.program)) if script.program else python
    if not Path(program).exists():
        print(f"{script.name}: left out, {program} is missing")
        return None
    variables = {k: v for k, v in os.environ.items() if k not in UNSET}
    variables |= ONE_THREAD | script.environment
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(
                [program, str(path), *script.command[1:]],
                cwd=scratch,
                env=variables,
                capture_output=True,
                text=True,
                timeout=script.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{script.name}: left out, no end after {script.seconds} s")
            return None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        print(f"{script.name}: failed: {words[:160]}")
        return None
    return done.stdout


def beside(ours: dict[str, float], found: list[tuple[Figure, float]]) -> str:
    lines = []
    for name in dict.fromkeys(figure.ours for figure, _ in found):
        mine = ours.get(name)
        lines.append(f"{name}: ours {mine:.3g} ms" if mine is not None else f"{name}: not measured")
        for figure, theirs in found:
            if figure.ours == name:
                ratio = f"{theirs / mine:8.2f} times ours" if mine else ""
                lines.append(f"    {figure.peer:28} {theirs:10.3f} ms {ratio}")
    return "\n".join(lines)


def our_figures(tries: budgets.Options) -> dict[str, float]:
    sections: list[Callable[[budgets.Options], list[budgets.Row]]] = [
        budgets.imports,
        budgets.cold,
        budgets.compile_again,
        budgets.repeat,
        budgets.functional,
    ]
    found: dict[str, float] = {}
    for section in sections:
        for row in section(tries):
            if row.measured is not None:
                found.setdefault(row.name, row.measured)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baselines", type=Path, metavar="DIR", help="folder of the scripts")
    parser.add_argument("--python", action="append", default=[], help="interpreter with peers")
    parser.add_argument("--only", action="append", help="scripts whose name has this word")
    parser.add_argument("--verbose", action="store_true", help="print what the scripts print")
    options = parser.parse_args()
    one_thread()
    print(
        f"one thread, CPU time where not said, best of ours, median of the peers; {load()}",
        flush=True,
    )
    found: list[tuple[Figure, float]] = []
    if options.baselines is None:
        print("no --baselines DIR: our own figures only")
    pythons = [*options.python, sys.executable]
    for script in SCRIPTS if options.baselines else []:
        if options.only and not any(word in script.name for word in options.only):
            continue
        output = run(script, options.baselines.resolve(), pythons)
        if output is None:
            continue
        if options.verbose or not script.figures:
            print(f"-- {script.name}\n{output.rstrip()}")
        for figure in script.figures:
            match = re.search(figure.pattern, output, re.MULTILINE)
            if match:
                found.append((figure, float(match[1]) * figure.scale))
            else:
                print(f"{script.name}: no figure for {figure.peer} in its output")
        sys.stdout.flush()
    ours = our_figures(budgets.Options(None, quick=False))
    if found:
        print(beside(ours, found))
    else:
        print("\n".join(f"{name}: {value:.3g} ms" for name, value in ours.items()))
    print(load())
    return 0


if __name__ == "__main__":
    sys.exit(main())
