# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels through the end-to-end harness: every engine, stage, level and order must agree.

    python test/fuzz/kernel_fuzz.py [--start 0] [--count 200] [--seconds 600] [--seeds 3]
    python test/fuzz/kernel_fuzz.py --seed 17 [--shrink]     # one seed, shown; made smaller

There are three families (`--family`). In `tiles` a kernel multiplies, reduces and works element by
element on a handful of tiles, in nested and consecutive loops with fixed and run-time bounds, over
tensors whose sizes need not divide; `parts` has more of what moves inside a tile, and `attention`
is described in attention_cases.py. Kernels have
two judges: the interpreter's result as built, with which all others are compared, and NumPy
(numpy_model.py). Kernels that the compiler refuses with a reason are counted and left out. Half
of the kernels run on a chip with so few cores that each has up to four blocks. Exit status 1 if
any seed fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
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

from harness import Mismatch, Outcome, check, levels, setting
from tilewright.errors import CompileError, InternalError

CHIP = Path(__file__).resolve().parents[2] / "tilewright" / "machine" / "chips" / "910b3.json"
FAMILIES: dict[str, Any] = {
    "tiles": Generator,
    "parts": PartGenerator,
    "attention": AttentionGenerator,
}
#: What else is switched for a kernel: stages that are left out, or no change of rounding.
SETTINGS: list[dict[str, Any]] = [
    {},
    {"disable": "split-rows"},
    {"disable": "pipeline"},
    {"disable": "skew,join,fuse-k"},
    {"disable": "sync"},
    {"disable": "vectorize,split-rows"},
    {"strict": 1},
    {"chip": "910b4"},
]


def run(case: Case, folder: Path, seeds: int) -> None:
    """Raises when the case fails; CompileError when the compiler refuses it."""
    path = folder / f"kernel_{case.seed}.py"
    path.write_text(case.text())
    spec = importlib.util.spec_from_file_location(f"kernel_{case.seed}_{time.monotonic_ns()}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = SETTINGS[case.seed % len(SETTINGS)]
    if case.waves:
        settings = {**settings, "chip": few_cores(case, folder)}
    inputs = case.inputs()
    with setting(**settings):
        try:
            outcome = check(module.kernel, inputs, None, seeds=seeds)
        except CompileError as error:
            if compiles_unverified(module.kernel, inputs):
                raise Mismatch(f"npu-verify-plan or npu-verify-sync objects: {error}") from error
            raise
    against_numpy(case, inputs, outcome)


def compiles_unverified(function: Any, inputs: list[Any]) -> bool:
    """True when nothing but the stages that check the others' work refuses a kernel."""
    try:
        for level in levels():
            with setting(opt_level=level, verify_each=0):
                function._eager_call(tuple(inputs), {})
    except CompileError:
        return False
    return True


def few_cores(case: Case, folder: Path) -> Path:
    """A chip file with so many cores that each has `case.waves` blocks; half have a small UB."""
    chip = json.loads(CHIP.read_text())
    cores = -(-case.blocks // case.waves)
    vector_bytes = (196608, 49152)[case.seed % 2]  # in less memory tiles have to share it
    changes = {"aic_count": cores, "aiv_count": 2 * cores, "ub_bytes": vector_bytes}
    for key, count in changes.items():
        chip[key] |= {"value": count, "range": [count, count]}
    path = folder / f"cores_{cores}_{vector_bytes}.json"
    path.write_text(json.dumps(chip))
    return path


def against_numpy(case: Case, inputs: list[Any], outcome: Outcome) -> None:
    """Raises Mismatch where a result is far from NumPy's."""
    results = numpy_model.evaluate(case.text(), case.sizes, case.grid, inputs)
    for name, (typed, exact) in zip(case.names, results, strict=True):
        if found := numpy_model.difference(outcome.tensors[name], typed, exact):
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
            run(FAMILIES[family](seed).make(), folder, seeds)
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
    parser.add_argument("--family", choices=FAMILIES, default="tiles")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    parser.add_argument("--seed", type=int, help="run and show this one only")
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.seed is not None:
            case = FAMILIES[options.family](options.seed).make()
            if options.shrink:
                case = shrink(case, folder, options.seeds)
            print(case.text())
            settings = SETTINGS[case.seed % len(SETTINGS)]
            print(f"# sizes {case.sizes}, count {case.count}, waves {case.waves}, {settings}")
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
        for reason, number in refused.most_common(10):
            print(f"  refused {number} x: {reason}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
