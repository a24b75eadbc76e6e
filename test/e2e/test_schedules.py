# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted times: the committed baselines of bench/schedules.py, and times without data."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import randn, setting
from tilewright import _core
from tilewright.kernel import Timing

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import schedules
import workloads


@pytest.mark.parametrize("name", [n for n, e in schedules.KERNELS.items() if e.is_cheap])
def test_baseline(name):
    found, before = schedules.measure(name), schedules.baseline(name)
    assert found == before, (
        f"{name}: {found['cycles']} cycles, {before and before['cycles']} in bench/baselines/. If "
        f"that is meant: python bench/schedules.py {name} --update, and say why in the commit"
    )


def test_baselines_are_known():
    files = {path.stem for path in schedules.BASELINES.glob("*.json")}
    assert files == set(schedules.KERNELS)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "arguments", "shapes"),
    [
        (workloads.matmul, (256, 256, 128, 64, 64, 32), [(256, 128), (128, 256)]),
        (workloads.attention, (2, 256, 32, 32, 64), [(2, 256, 32)] * 3),
        (workloads.softmax, (100, 256, 8), [(100, 256)]),
    ],
)
def test_times_without_data(kernel, arguments, shapes, threads):
    """The same times whether data move or not, on any number of threads."""
    compiled = kernel(*arguments)
    inputs = [randn(s, np.dtype(compiled.parameters[0]["dtype"]), n) for n, s in enumerate(shapes)]
    with setting(num_threads=threads):
        with Timing() as whole:
            result = compiled(*inputs)
        launches = compiled.last_report["launches"]
        with Timing(with_data=False) as timed:
            nothing = compiled(*inputs)
    assert np.abs(result.astype(np.float32)).sum() > 0
    assert not nothing.any()  # outputs start as zeros and stay so
    assert timed.milliseconds == whole.milliseconds > 0
    assert compiled.last_report["launches"] == launches


def test_checks_need_data():
    """With the checker on, everything runs."""
    compiled = workloads.softmax(100, 256, 8)
    x = randn((100, 256), np.float32, 1)
    with setting(check=1), Timing(with_data=False):
        found = compiled(x)
    assert np.allclose(found.sum(1), 1, atol=1e-5)


@pytest.fixture
def levels():
    """The instruction set levels of this CPU; the best one is in use again afterwards."""
    names = _core.kernel_levels()
    yield names
    _core.use_kernel_level(names[0])


@pytest.mark.parametrize("name", workloads.SUITE)
def test_one_answer(name, levels):
    """Results, cycles and findings are the same bits on any number of threads and on every
    instruction set level."""
    kernel = workloads.SUITE[name]()
    inputs = workloads.inputs_of(kernel)

    def run(level, threads):
        _core.use_kernel_level(level)
        with setting(num_threads=threads):
            result = kernel.simulate(*inputs, check=True)
        return [output.tobytes() for output in result.outputs], result.cycles, result.findings

    first = run(levels[0], 1)
    assert first[1] > 0
    for level, threads in itertools.product(levels, (1, 2, 5)):
        assert run(level, threads) == first, f"{level}, {threads} threads"


def test_unknown_level(levels):
    with pytest.raises(ValueError, match="no level named 'v9': this CPU has " + ", ".join(levels)):
        _core.use_kernel_level("v9")
