# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels: every engine, stage and way to compile them must agree.

    python test/fuzz/kernel_fuzz.py [--start 0] [--count 200] [--seconds 600] [--seeds 1]
    python test/fuzz/kernel_fuzz.py --seed 17 [--shrink]     # one seed, shown; made smaller

There are three families (`--family`), and `all` takes each in its turn. In `tiles` a kernel
multiplies, reduces and works element by element on a handful of tiles, in nested and consecutive
loops with fixed and run-time bounds, over tensors whose sizes need not divide; `parts` has more
of what moves inside a tile, and `attention` is described in attention_cases.py. A seed also says
how its kernel is compiled (`setups`): for which chip, with how many blocks a core, `strict` or
not, without which stages. Kernels have two judges: the interpreter's result as built, with which
all others are compared (quick_check.py; harness.py for one kernel in sixteen), and NumPy
(numpy_model.py). Kernels that the compiler refuses with a reason are counted and left out. Exit
status 1 if any seed fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import numpy_model
from attention_cases import AttentionGenerator
from kernel_cases import Case, Generator, PartGenerator, Statement
from quick_check import Settings, compiles_unverified, quick_check

from harness import Mismatch, Outcome, check, setting
from tilewright.errors import CompileError, InternalError

CHIP = Path(__file__).resolve().parents[2] / "tilewright" / "machine" / "chips" / "910b3.json"
FAMILIES: dict[str, Any] = {
    "tiles": Generator,
    "parts": PartGenerator,
    "attention": AttentionGenerator,
}
#: The families of consecutive seeds of `all`.
TURNS = ("tiles", "tiles", "parts", "tiles", "attention")
#: One kernel of so many is looked at stage by stage, at level 0 too, and through its text.
THOROUGH = 16
#: Stages that never change a result, whether they run or not.
SAME_WITHOUT = (
    *("vectorize", "join", "fit", "batch", "fuse-k", "order", "slice-rows", "split-rows"),
    *("halve-sums", "trim", "pipeline", "skew", "sync"),
)


def make(family: str, seed: int) -> Case:
    """The kernel of a seed."""
    return FAMILIES[TURNS[seed % len(TURNS)] if family == "all" else family](seed).make()


def traits(case: Case) -> set[str]:
    """What is in a kernel, of that which many must have."""
    text, sizes = case.text(), case.sizes
    tiles = {"M": "bm", "N": "bn", "K": "bk", "S": "bq", "L": "bk"}
    found = {
        "mixed": "T.gemm(" in text and "T.Parallel(" in text,
        "ragged": any(sizes[n] % sizes[tile] for n, tile in tiles.items() if n in sizes),
        "two loops": text.count("T.Pipelined(") + text.count("T.serial(") > 1,
        "run-time sizes": case.dynamic,
        "several blocks a core": case.waves > 1,
    }
    return {name for name, holds in found.items() if holds}


def setups(case: Case, folder: Path) -> tuple[Settings, list[Settings]]:
    """How the kernel of a seed is compiled, and another way that must give the same result."""
    choose = random.Random(f"setup {case.seed}")

    def without(most: int) -> Settings:
        names = choose.sample(SAME_WITHOUT, choose.randint(1, most))
        return {"disable": ",".join(names)}

    rounding = {"strict": int(choose.random() < 0.4)}
    chips = ["910b3", "910b3", "910b4", "910b2", "a3", "950pr"]
    first, other = {"chip": choose.choice(chips)}, {"chip": choose.choice(chips)}
    if case.waves:
        first, other = ({"chip": few_cores(case, folder, n)} for n in (case.waves, 1))
    if choose.random() < 0.3:
        first |= without(2)
    other |= {"opt_level": 0} if choose.random() < 0.2 else without(4)
    return first | rounding, [other | rounding]


def run(case: Case, folder: Path, seeds: int) -> Outcome:
    """Raises when the case fails; CompileError when the compiler refuses it."""
    path = folder / f"kernel_{case.seed}.py"
    path.write_text(case.text())
    spec = importlib.util.spec_from_file_location(f"kernel_{case.seed}_{time.monotonic_ns()}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings, others = setups(case, folder)
    inputs = case.inputs()
    is_thorough = case.seed % THOROUGH == 0
    # HIVM has no exp2; what stands for it there rounds otherwise.
    has_text = not (settings["strict"] and "exp2" in case.text())
    if is_thorough:
        others.append({**settings, "opt_level": 0})
    try:
        delays = [case.seed % 1000 + n for n in range(seeds)]
        through = is_thorough and has_text
        found = quick_check(module.kernel, inputs, settings, others, delays, through)
        if is_thorough:
            with setting(**settings, test_identities=1 << 40):
                found.append(check(module.kernel, inputs, None, seeds=seeds, opt_levels=[2]))
    except CompileError as error:
        if compiles_unverified(module.kernel, inputs, settings):
            raise Mismatch(f"a checker of stages objects: {error}") from error
        raise
    against_numpy(case, inputs, found)
    return found[0]


def few_cores(case: Case, folder: Path, waves: int) -> Path:
    """A chip file with so many cores that each has `waves` blocks; half have a small UB."""
    chip = json.loads(CHIP.read_text())
    cores = -(-case.blocks // waves)
    vector_bytes = (196608, 49152)[case.seed % 2]  # in less memory tiles have to share it
    changes = {"aic_count": cores, "aiv_count": 2 * cores, "ub_bytes": vector_bytes}
    for key, count in changes.items():
        chip[key] |= {"value": count, "range": [count, count]}
    path = folder / f"cores_{cores}_{vector_bytes}.json"
    path.write_text(json.dumps(chip))
    return path


def against_numpy(case: Case, inputs: list[Any], outcomes: list[Outcome]) -> None:
    """Raises Mismatch where a result is far from NumPy's."""

    def evaluated(exact: bool) -> dict[str, Any]:
        found = numpy_model.evaluate(case.text(), case.sizes, case.grid, inputs, exact)
        return dict(zip(case.names, found, strict=True))

    typed, exact = evaluated(exact=False), None
    for tensors in (outcome.tensors for outcome in outcomes):
        if all(numpy_model.is_near(tensors[name], typed[name]) for name in case.names):
            continue
        exact = exact or evaluated(exact=True)
        for name in case.names:
            if found := numpy_model.difference(tensors[name], typed[name], exact[name]):
                raise Mismatch(f"{name}: {found}")


def refusal(error: BaseException) -> str | None:
    """The reason when the compiler refuses a kernel as it may."""
    if isinstance(error, CompileError) and not isinstance(error, InternalError):
        text = str(error).splitlines()[0]
        return " ".join(
            word for word in text.split() if not any(c.isdigit() or c == "'" for c in word)
        )
    return None


def attempt(case: Case, folder: Path, seeds: int) -> str | None:
    """The kind of failure; None when the case passes or is refused."""
    try:
        run(case, folder, seeds)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if refusal(error) is None:
            return type(error).__name__
    return None


def shrink(case: Case, folder: Path, seeds: int) -> Case:
    """Leaves out statements, and takes loops apart, while the case still fails."""

    def places(body: list[Statement]) -> Iterator[tuple[list[Statement], int]]:
        for index, statement in enumerate(body):
            yield body, index
            if statement.body is not None:
                yield from places(statement.body)

    kind = attempt(case, folder, seeds)
    changed = kind is not None
    while changed:
        changed = False
        for body, index in list(places(case.body)):
            if index >= len(body):
                continue
            statement = body[index]
            for replacement in ([], statement.body or []):
                body[index : index + 1] = replacement
                if attempt(case, folder, seeds) == kind:
                    changed = True
                    break
                body[index : index + len(replacement)] = [statement]
    return case


def fuzz(
    start: int,
    count: int,
    seconds: float,
    seeds: int,
    folder: Path,
    stop: bool = False,
    family: str = "tiles",
) -> tuple[list[int], Counter[str], int]:
    """Seeds that fail, reasons of refusals, and how many cases ran."""
    failed: list[int] = []
    refused: Counter[str] = Counter()
    end = time.monotonic() + seconds
    done = 0
    for seed in range(start, start + count):
        if time.monotonic() > end:
            break
        done += 1
        try:
            run(make(family, seed), folder, seeds)
        except Exception as error:
            reason = refusal(error)
            if reason is not None:
                refused[reason] += 1
                continue
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            if stop:
                break
    return failed, refused, done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=[*FAMILIES, "all"], default="tiles")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    parser.add_argument("--seed", type=int, help="run and show this one only")
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.seed is not None:
            case = make(options.family, options.seed)
            if options.shrink:
                case = shrink(case, folder, options.seeds)
            print(case.text())
            print(f"# sizes {case.sizes}, count {case.count}, waves {case.waves}")
            print(f"# {setups(case, folder)}")
            try:
                run(case, folder, options.seeds)
            except Exception:
                traceback.print_exc()
                return 1
            return 0
        failed, refused, done = fuzz(
            options.start,
            options.count,
            options.seconds,
            options.seeds,
            folder,
            options.stop,
            options.family,
        )
        print(f"{done} kernels, {sum(refused.values())} refused, {len(failed)} failed: {failed}")
        seeds = range(options.start, options.start + done)
        found = Counter(t for seed in seeds for t in traits(make(options.family, seed)))
        print("  " + ", ".join(f"{100 * n // done} % {name}" for name, n in found.most_common()))
        for reason, number in refused.most_common(10):
            print(f"  refused {number} x: {reason}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
