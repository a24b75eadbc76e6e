# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of a random kernel, in the order that tells most for the least time.

Most kernels come out the same from the interpreter as built and after the last tile stage; then
every stage between is taken to be right. Where they differ, halving the stages finds which of
them changed bits: each must be one that may round. The simulator, with its checker on, must give
the bits of the last stage, in program order and out of it, and so must the same kernel compiled
in another way.
"""

from __future__ import annotations

from typing import Any

from harness import (
    ROUNDING_STAGES,
    Mismatch,
    Outcome,
    Program,
    bits,
    same_bits,
    setting,
    through_text,
)
from tilewright.errors import CompileError, InternalError

Settings = dict[str, Any]


def compiled(function: Any, inputs: list[Any], settings: Settings) -> Program:
    """The kernel for these inputs and settings, with the checkers of the stages on."""
    with setting(**{"opt_level": 2, "verify_each": 1, **settings}):
        kernel, _ = function._eager_call(tuple(inputs), {})
    return Program(kernel, inputs)


def is_same(one: Outcome, other: Outcome) -> bool:
    """True when all tensors have equal bits."""
    return all((bits(one.tensors[n]) == bits(other.tensors[n])).all() for n in one.tensors)


class Stages:
    """What the interpreter makes of a kernel after each of its tile stages; 0 is as built."""

    def __init__(self, program: Program, what: str) -> None:
        self.program, self.what = program, what
        self.names = ["tile", *program.tile_stages]
        self.known: dict[int, Outcome] = {}

    def after(self, number: int) -> Outcome:
        if number not in self.known:
            options = {"stage": self.names[number]} if number else {}
            self.known[number] = self.program.good(engine="interpreter", **options)
        return self.known[number]

    @property
    def last(self) -> Outcome:
        return self.after(len(self.names) - 1)

    def check(self, first: int = 0, end: int | None = None) -> None:
        """Raises Mismatch when a stage of (first, end] that may not round has changed bits."""
        end = len(self.names) - 1 if end is None else end
        if first == end or is_same(self.after(first), self.after(end)):
            return
        if not any(name in ROUNDING_STAGES for name in self.names[first + 1 : end + 1]):
            names = ", ".join(self.names[first + 1 : end + 1])
            same_bits(self.after(first), self.after(end), f"{self.what}: {names}")
        if end - first == 1:
            return
        middle = (first + end) // 2
        self.check(first, middle)
        self.check(middle, end)


def examine(program: Program, what: str) -> Outcome:
    """The simulator's outcome, which agrees with the interpreter's after every stage."""
    stages = Stages(program, what)
    stages.check()
    simulated = program.good(check=True)
    same_bits(stages.last, simulated, f"{what}: simulator against interpreter")
    return simulated


def quick_check(
    function: Any,
    inputs: list[Any],
    settings: Settings,
    others: list[Settings],
    seeds: list[int],
    through: bool = False,
) -> list[Outcome]:
    """The outcomes of a kernel; one, unless compiling it as in `others` rounds otherwise.

    `seeds` are those of runs out of program order; with `through` the program is read from its
    text too. CompileError when the kernel is refused with `settings`; that it is refused with one
    of `others` is no failure.
    """
    program = compiled(function, inputs, settings)
    first = examine(program, f"{settings}")
    for seed in seeds:
        same_bits(first, program.good(delay_seed=seed), f"{settings}: delay seed {seed}")
    if through:
        with setting(**settings):
            through_text(program, first, f"{settings}")
    outcomes = [first]
    for other in others:
        try:
            again = compiled(function, inputs, other)
        except CompileError as error:
            if isinstance(error, InternalError) or compiles_unverified(function, inputs, other):
                raise Mismatch(f"{other}: {error}") from error
            continue
        found = again.good(check=True)
        if not is_same(first, found):
            outcomes.append(examine(again, f"{other}"))
    return outcomes


def compiles_unverified(function: Any, inputs: list[Any], settings: Settings) -> bool:
    """True when nothing but the stages that check the others' work refuses a kernel."""
    try:
        compiled(function, inputs, {**settings, "verify_each": 0})
    except CompileError:
        return False
    return True
