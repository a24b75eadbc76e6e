# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of bench/mutation.py and bench/expert_mutation.py: synchronisation that is taken away
is noticed, and their times do not depend on data."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from kernels import ROOT

#: Kernels with many mutants: a third of them is judged here.
LARGE = ("matmul_softmax", "attention", "attention_causal")


def bench(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def bench_mutation():
    return bench("mutation")


#: Expert sources -> every how many of their mutants are judged here.
EXPERT = {"ring": 1, "ping_pong": 2, "relay": 2, "matmul": 5, "attention": 29}


@pytest.mark.parametrize("kernel", EXPERT)
def test_mutants_of_expert_sources(kernel):
    """What an author deletes, moves or renumbers is reported, or changes nothing."""
    score = bench("expert_mutation").score(kernel, seeds=4, every=EXPERT[kernel])
    missed = [what for what, verdict in score.verdicts if verdict == "missed"]
    assert not missed and score.count("reported") >= 5


@pytest.mark.parametrize("kernel", bench_mutation().KERNELS)
def test_mutants(kernel):
    is_large = kernel in LARGE
    score = bench_mutation().score(kernel, seeds=20, every=3 if is_large else 1)
    assert len(score.mutants) >= 14
    assert score.known >= 0.98, score.text()
    assert score.visible >= 0.8, score.text()
    assert score.redundant <= (0.15 if is_large else 0.1), score.text()  # the bar of all is 0.1


@pytest.mark.parametrize("kernel", bench_mutation().KERNELS)
@pytest.mark.parametrize("chip", [None, "910b1"])
def test_times_without_data(kernel, chip):
    program = bench_mutation().compiled(kernel)
    full = program.kernel.simulate(*program.inputs, chip=chip)
    assert full.core_us > 0
    for arguments in (program.inputs, ()):
        alone = program.kernel.simulate(*arguments, chip=chip, timing_only=True)
        assert alone.launches == full.launches
