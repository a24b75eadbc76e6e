# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel of a report computes, on both engines and in the plain form of every stage."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T

MODES = (
    {"TILEWRIGHT_ENGINE": "interpreter"},
    {"TILEWRIGHT_ENGINE": "simulator", "TILEWRIGHT_DELAY": "3"},
    {"TILEWRIGHT_ENGINE": "simulator", "TILEWRIGHT_OPT_LEVEL": "0"},
)


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)


def modes(kernel: Any, *inputs: Any, **sizes: Any) -> list[tuple[Any, ...]]:
    """Outputs of a call in each mode; the tensors of the call where nothing is returned."""
    found: list[tuple[Any, ...]] = []
    for mode in MODES:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in mode.items():
                patch.setenv(name, value)
            given = [i.copy() if isinstance(i, np.ndarray) else i for i in inputs]
            out = kernel(*given, **sizes)
            outputs = out if isinstance(out, (tuple, list)) else (out,)
            arrays = [i for i in given if isinstance(i, np.ndarray)]
            found.append(tuple(outputs) if out is not None else tuple(arrays))
    return found


def result(kernel: Any, *inputs: Any, **sizes: Any) -> Any:
    """Outputs of a call, equal bit for bit in all modes; NaN may have any payload."""
    found = modes(kernel, *inputs, **sizes)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            same = (bits(one).reshape(-1) == bits(two).reshape(-1)).all()
            assert same or np.array_equal(one, two, equal_nan=True), "the modes differ"
    return found[0][0] if len(found[0]) == 1 else found[0]


@contextmanager
def refused(code: str, text: str) -> Any:
    """The block raises an error of that code whose message matches `text`."""
    with pytest.raises(Exception, match=text) as caught:
        yield caught
    message = str(caught.value)
    assert re.search(rf"error\[({code})\]", message), message
    assert re.search(r"\.py:\d+|argument|kernel", message), message


def pointwise(
    body: Callable[..., Any], n: int, dtype: Any, out: Any = None, threads: int = 128
) -> Any:
    """A kernel that sets y[i] = body(x[i]) for n elements."""

    @T.macro
    def apply(x, y, i):
        y[i] = body(x[i])

    @tilelang.jit
    def kernel(X):
        X: T.Tensor((n,), dtype)
        Y = T.empty((n,), out or dtype)
        with T.Kernel(1, threads=threads):
            x = T.alloc_shared((n,), dtype)
            y = T.alloc_shared((n,), out or dtype)
            T.copy(X, x)
            for i in T.Parallel(n):
                apply(x, y, i)
            T.copy(y, Y)
        return Y

    return kernel
