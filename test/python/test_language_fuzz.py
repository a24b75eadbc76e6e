# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random index arithmetic: the builder's simplifications against Python's integers."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.language as T
from tilewright import _core
from tilewright.language.buffer import TensorType
from tilewright.language.builder import Builder

LANES, BLOCKS, START, STEP, TRIPS = 7, 3, 5, -2, 4

#: Names of run-time values with different ranges: lane, block, downward loop, loaded and scalar.
LEAVES = ("lane", "block", "down", "loaded", "scalar")
BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "min": T.min,
    "max": T.max,
}
BY_NUMBER = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "ceildiv": lambda a, b: T.ceildiv(a, b),
}


def trees():
    leaf = st.one_of(st.sampled_from(LEAVES), st.integers(-9, 9))
    divisor = st.integers(-7, 7).filter(bool)

    def grow(children):
        choice = st.tuples(st.just("?"), children, children, children)
        divided = st.tuples(st.sampled_from(["//", "%"]), children, divisor)
        rounded = st.tuples(st.just("ceildiv"), children, st.integers(1, 7))
        joined = st.tuples(st.sampled_from(sorted(BINARY)), children, children)
        return st.one_of(joined, divided, rounded, choice)

    return st.recursive(leaf, grow, max_leaves=10)


class Overflow(Exception):
    """A number left 32 bits, where the kernel's integers wrap."""


def evaluate(tree, values, number):
    """The tree over kernel values, or over Python numbers when `number`."""
    found = apply(tree, values, number)
    if number and abs(found) >= 2**31:
        raise Overflow
    return found


def apply(tree, values, number):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    function, *operands = tree
    operands = [evaluate(o, values, number) for o in operands]
    if function == "?":
        condition = operands[0] < operands[1]
        if number:
            return operands[1] if condition else operands[2]
        return T.if_then_else(condition, operands[1], operands[2])
    if number and function == "ceildiv":
        return (operands[0] + operands[1] - 1) // operands[1]
    if number and function in ("min", "max"):
        return {"min": min, "max": max}[function](*operands)
    return {**BINARY, **BY_NUMBER}[function](*operands)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tree=trees(), table=st.lists(st.integers(-5, 5), min_size=LANES, max_size=LANES))
def test_index_arithmetic(tree, table):
    loaded = np.array(table, np.int32)
    with Builder("kernel") as builder:
        builder.set_location("kernel.py", 1)
        source = builder.add_tensor_param("source", TensorType((LANES,), "int32"))
        scalar = builder.add_scalar_param("scalar", "int32")
        out = builder.add_output("out", (BLOCKS, TRIPS, LANES), "int64")
        downward = T.serial(START, START + STEP * TRIPS, STEP)
        with T.Kernel(BLOCKS) as block, downward as down, T.Parallel(LANES) as lane:
            values = {
                "lane": lane,
                "block": block,
                "down": down,
                "loaded": source[lane],
                "scalar": scalar,
            }
            out[block, (START - down) // -STEP, lane] = evaluate(tree, values, False)
        module = builder.finish()
    kernel, _ = _core.compile(module, interpret_only=True)
    found = np.zeros((BLOCKS, TRIPS, LANES), np.int64)
    arguments = [
        (loaded.ctypes.data, loaded.shape, "int32"),
        -4,
        (found.ctypes.data, found.shape, "int64"),
    ]
    report = kernel.run(arguments, engine="interpreter")
    assert report["ok"], report["error"]
    for block, trip, lane in np.ndindex(found.shape):
        values = {
            "lane": lane,
            "block": block,
            "down": START + STEP * trip,
            "loaded": table[lane],
            "scalar": -4,
        }
        with contextlib.suppress(Overflow):
            assert found[block, trip, lane] == evaluate(tree, values, True)
