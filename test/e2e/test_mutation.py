# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of bench/mutation.py: synchronisation that is taken away is noticed."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from kernels import ROOT

#: Kernels with many mutants: a third of them is judged here.
LARGE = ("matmul_softmax", "attention", "attention_causal")


def bench_mutation():
    spec = importlib.util.spec_from_file_location("mutation", ROOT / "bench" / "mutation.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutation"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kernel", bench_mutation().KERNELS)
def test_mutants(kernel):
    is_large = kernel in LARGE
    score = bench_mutation().score(kernel, seeds=20, every=3 if is_large else 1)
    assert len(score.mutants) >= 14
    assert score.known >= 0.98, score.text()
    assert score.visible >= 0.8, score.text()
    assert score.redundant <= (0.15 if is_large else 0.1), score.text()  # the bar of all is 0.1
