# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel through every engine and stage, and compares the results bit for bit.

`check(kernel, inputs, reference)` is what the end-to-end tests call. It holds when
- the interpreter's result of the kernel as built agrees with the NumPy reference,
- a stage that may not change rounding leaves the interpreter's result as it was,
- the simulator gives the same bits as the interpreter after the last tile stage,
- the checker of the simulator finds nothing,
- programs of a sample are the same when they are read from their text and from HIVM text, and
- nothing changes when instructions take effect out of program order, for several seeds,
each with all stages on and in the plain form of every stage (level 0).

TILEWRIGHT_TEST_SEEDS says how many seeds (3 by default, 20 in the full run).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import identities
from tilewright.arguments import scalar_argument

#: The stages that may change rounding.
ROUNDING_STAGES = (
    "tile-fold-exponents",
    "tile-expand-functions",
    "tile-fold-fills",
    "tile-place-accumulators",
    "tile-fold-masks",
    "tile-fuse-turns",
)
#: The first stage whose result the interpreter cannot run.
FIRST_NPU_STAGE = "convert-tile-to-npu"
bfloat16 = ml_dtypes.bfloat16


def seed_count() -> int:
    return int(os.environ.get("TILEWRIGHT_TEST_SEEDS", "3"))


def levels() -> tuple[int, ...]:
    """Optimisation levels to test, the full one first."""
    text = os.environ.get("TILEWRIGHT_TEST_LEVELS", "2,0")
    return tuple(int(part) for part in text.split(","))


@contextmanager
def setting(**variables: Any) -> Iterator[None]:
    """Sets TILEWRIGHT_<NAME> inside the block."""
    names = {f"TILEWRIGHT_{name.upper()}": str(value) for name, value in variables.items()}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Mismatch(AssertionError):
    """Two results that should be equal are not."""


@dataclass
class Outcome:
    """What one run left: every tensor parameter, and the report."""

    tensors: dict[str, np.ndarray]
    report: dict[str, Any]

    @property
    def printed(self) -> str:
        return self.report["printed"]


@dataclass
class Program:
    """A compiled kernel with the inputs of one call."""

    kernel: Any
    inputs: Sequence[Any]
    parameters: list[Any] = field(init=False)
    _shapes: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.parameters = self.kernel.parameters
        arguments, _ = self._arguments(outputs=False)
        self._shapes, error = self.kernel.core.output_shapes(arguments)
        assert not error, error

    def _arguments(self, outputs: bool = True) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Fresh copies of the inputs, and zeroed outputs, in the order of the parameters."""
        given = dict(zip(self.kernel.inputs, self.inputs, strict=True))
        shapes = iter(self._shapes) if outputs else iter(())
        arguments: list[Any] = []
        tensors: dict[str, np.ndarray] = {}
        for position, parameter in enumerate(self.parameters):
            name, dtype = parameter["name"], parameter["dtype"]
            if parameter["output"]:
                if not outputs:
                    continue
                shape = next(shapes)
                if parameter["alias"] >= 0:  # a view of an earlier tensor's memory
                    base = tensors[self.parameters[parameter["alias"]]["name"]]
                    array = base.reshape(-1).view(numpy_dtype(dtype)).reshape(shape)
                else:
                    array = np.zeros(shape, dtype=numpy_dtype(dtype))
            elif parameter["kind"] != "tensor":
                arguments.append(scalar_argument(name, position, given[position], dtype))
                continue
            else:
                array = np.array(given[position], order="C", copy=True)
                assert array.dtype.name == dtype, f"{name} is {array.dtype.name}, not {dtype}"
            tensors[name] = array
            arguments.append((array.ctypes.data, array.shape, dtype))
        return arguments, tensors

    def run(self, **options: Any) -> Outcome:
        arguments, tensors = self._arguments()
        report = self.kernel.core.run(arguments, **options)
        return Outcome(tensors, report)

    def good(self, **options: Any) -> Outcome:
        """A run that must succeed without findings."""
        outcome = self.run(**options)
        report = outcome.report
        if not report["ok"]:
            raise Mismatch(f"run {options} failed: {report['error']} ({report['error_location']})")
        if report["findings"]:
            raise Mismatch(f"run {options}: {findings_text(report)}")
        return outcome

    @property
    def tile_stages(self) -> list[str]:
        """Stages after which the interpreter can run the kernel, but for those that only check."""
        stages = self.kernel.stages
        until = stages.index(FIRST_NPU_STAGE)
        return [stage for stage in stages[1:until] if "-verify-" not in stage]

    def results(self, outcome: Outcome) -> list[np.ndarray]:
        return [outcome.tensors[self.parameters[i]["name"]] for i in self.kernel.results]


def findings_text(report: dict[str, Any]) -> str:
    lines = [f"{len(report['findings'])} findings"]
    for found in report["findings"][:5]:
        lines.append(f"  {found['kind']}: {found['message']} ({found['location']})")
    return "\n".join(lines)


def numpy_dtype(name: str) -> Any:
    return np.dtype(name) if hasattr(np, name) else np.dtype(getattr(ml_dtypes, name))


def bits(array: np.ndarray) -> np.ndarray:
    """The array's bits, with one pattern for all NaNs."""
    plain = np.ascontiguousarray(array)
    if plain.dtype == bool:
        return plain.view(np.uint8)
    found = plain.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[plain.itemsize])
    if plain.dtype.kind not in "fV" and plain.dtype != bfloat16:
        return found
    with np.errstate(invalid="ignore"):
        nan = np.isnan(plain.astype(np.float64))
    return np.where(nan, np.iinfo(found.dtype).max, found)


def same_bits(want: Outcome, have: Outcome, what: str) -> None:
    for name, expected in want.tensors.items():
        found = have.tensors[name]
        different = bits(expected) != bits(found)
        if not different.any():
            continue
        at = tuple(int(i) for i in np.argwhere(different)[0])
        raise Mismatch(
            f"{what}: {int(different.sum())} of {different.size} elements of '{name}' differ, "
            f"first at {at}: {expected[at]!r} became {found[at]!r}"
        )
    if want.printed != have.printed:
        raise Mismatch(f"{what}: printed {have.printed!r}, not {want.printed!r}")


def close(found: np.ndarray, expected: Any, rtol: float, atol: float, what: str) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    wide = np.float64 if found.dtype.kind in "fV" or found.dtype == bfloat16 else found.dtype
    np.testing.assert_allclose(
        found.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, err_msg=what
    )


def compile_kernel(function: Any, inputs: Sequence[Any], fixed: dict[str, Any], level: int) -> Any:
    """The kernel of a `@tilelang.jit` function for these inputs, with the plan checkers on."""
    with setting(opt_level=level, verify_each=1):
        if function.initialize_jit_mode(**fixed) == "lazy":
            return function.compile(**fixed)
        _, tensors = ((), inputs)
        kernel, _ = function._eager_call(tuple(tensors), dict(fixed))
        return kernel


def check(
    function: Any,
    inputs: Sequence[Any],
    reference: Callable[..., Any] | None,
    *,
    rtol: float = 1e-3,
    atol: float = 1e-3,
    seeds: int | None = None,
    opt_levels: Sequence[int] | None = None,
    **fixed: Any,
) -> Outcome:
    """Everything of the module's text. `reference(*inputs)` gives the results in call order.

    A kernel that writes its arguments in place has all its tensors as results. Returns the outcome
    of the simulator with all stages on.
    """
    first: Outcome | None = None
    for level in opt_levels or levels():
        program = Program(compile_kernel(function, inputs, fixed, level), inputs)
        outcome = check_program(program, reference, rtol, atol, seeds, f"level {level}")
        first = first or outcome
    assert first is not None
    return first


def check_program(
    program: Program,
    reference: Callable[..., Any] | None,
    rtol: float,
    atol: float,
    seeds: int | None,
    what: str,
) -> Outcome:
    built = program.good(engine="interpreter")
    if reference is not None:
        expected = reference(*program.inputs)
        results = program.results(built) or list(built.tensors.values())
        if not isinstance(expected, (tuple, list)):
            expected = [expected]
        for number, (found, want) in enumerate(zip(results, expected, strict=True)):
            close(found, want, rtol, atol, f"{what}: result {number} against the reference")
    before, last = built, built
    for stage in program.tile_stages:
        last = program.good(engine="interpreter", stage=stage)
        if stage not in ROUNDING_STAGES:
            same_bits(before, last, f"{what}: stage {stage}")
        elif reference is not None:
            for number, (found, want) in enumerate(
                zip(program.results(last) or list(last.tensors.values()), expected, strict=True)
            ):
                close(found, want, rtol, atol, f"{what}: result {number} after {stage}")
        before = last
    simulated = program.good(check=True)
    same_bits(last, simulated, f"{what}: simulator against interpreter")
    if identities.is_chosen(program.kernel.core.text("npu")):
        through_text(program, simulated, what)
    for seed in range(seed_count() if seeds is None else seeds):
        delayed = program.good(delay_seed=seed)
        same_bits(simulated, delayed, f"{what}: delay seed {seed}")
    return simulated


def through_text(program: Program, simulated: Outcome, what: str) -> None:
    """The program that is read from its text, and from HIVM text, gives the same bits."""
    kernel, arguments = program.kernel, program._arguments
    tensors, cycles, found = identities.through_npu(kernel, arguments)
    same_bits(simulated, Outcome(tensors, simulated.report), f"{what}: read from its text")
    if cycles != found:
        raise Mismatch(f"{what}: read from its text it takes {found} cycles, not {cycles}")
    read = identities.through_hivm(kernel, arguments)
    if read is not None:
        same_bits(simulated, Outcome(read, simulated.report), f"{what}: read from HIVM text")


def randn(shape: Sequence[int] | int, dtype: Any = np.float16, seed: int = 0) -> np.ndarray:
    """Reproducible normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def integers(
    shape: Sequence[int] | int, low: int, high: int, dtype: Any = np.int32, seed: int = 0
) -> np.ndarray:
    """Reproducible integers in [low, high)."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def wide(*arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays in float64."""
    return [a.astype(np.float64) for a in arrays]
