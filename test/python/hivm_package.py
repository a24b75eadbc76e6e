# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of HIVM text share: the published compiler, where it is installed, and a script."""

from __future__ import annotations

import pytest

from tilewright.hivm import bisheng

INSTALLED = bisheng.find()
#: The compiler is no requirement of the tests: it is half a gigabyte.
needs_package = pytest.mark.skipif(
    INSTALLED is None,
    reason=f"the package {bisheng.PACKAGE}, half a gigabyte of programs, is not installed: "
    'pip install "tilewright[hivm]"',
)

#: Defines `double`; a test adds the calls.
SCRIPT = """
import numpy as np
import tilewright as tilelang
import tilewright.language as T

@tilelang.jit
def double(A):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, 256)) as block:
        for i in T.Parallel(256):
            B[block * 256 + i] = A[block * 256 + i] * 2
    return B

"""
