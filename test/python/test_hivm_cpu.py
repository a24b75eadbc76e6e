# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vector kernels against the published compiler's own lowering for the host (bench/hivm_cpu.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def witness():
    path = Path(__file__).resolve().parents[2] / "bench" / "hivm_cpu.py"
    spec = importlib.util.spec_from_file_location("hivm_cpu", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MODULE = witness()
WHAT = MODULE.missing()


@pytest.mark.skipif(bool(WHAT), reason=f"the witness does not run: {WHAT}")
@pytest.mark.parametrize("name", ["add", "mul", "exp", "row_sum", "softmax"])
def test_same_numbers_on_the_host(name):
    kernel = MODULE.KERNELS[name]
    assert MODULE.compare(kernel).apart <= kernel.ulp


@pytest.mark.skipif(bool(WHAT), reason=f"the witness does not run: {WHAT}")
def test_the_order_of_a_sum_is_what_is_apart():
    found = MODULE.compare(MODULE.KERNELS["softmax"], own_sums=True)
    simulator, witness = found.errors
    assert found.apart > MODULE.KERNELS["softmax"].ulp
    assert simulator < 3 < witness


def test_distance_in_ulp():
    one = MODULE.np.ones(3, MODULE.np.float32)
    next_one = MODULE.np.nextafter(one, MODULE.np.float32(2))
    assert MODULE.distance(one, next_one) == 1
    assert MODULE.distance(one * 0, -one * 0) == 0
