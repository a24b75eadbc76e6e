# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing misspelt is ignored: keywords that no TileLang has are errors, GPU hints are not."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from tilewright import autotuner, profiler
from tilewright.keywords import mistake

#: Functions that check their own keywords, and hints that take anything; arguments of Python's
#: `breakpoint` are its debugger's.
FREE = {"gemm", "npuir_dot", "attr", "Layout", "Fragment", "breakpoint", *T._hints.NAMES}
FUNCTIONS = sorted(
    name
    for name in dir(T)
    if not name.startswith("_") and inspect.isfunction(getattr(T, name)) and name not in FREE
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_takes_no_keyword_that_it_does_not_name(name: str) -> None:
    found = mistake(getattr(T, name), (), {"no_such_keyword": 1})
    assert found is not None
    assert "error[E0123]" in str(found) and "no argument `no_such_keyword`" in str(found), found


def built(statement: str, **names: Any) -> None:
    """Builds a kernel with one statement, over a tensor A and tiles a, b, c."""
    source = (
        "@T.prim_func\n"
        "def main(A: T.Tensor((64, 64), 'float16')):\n"
        "    with T.Kernel(1) as i:\n"
        "        a = T.alloc_shared((64, 64), 'float16')\n"
        "        b = T.alloc_shared((64, 64), 'float16')\n"
        "        c = T.alloc_fragment((64, 64), 'float32')\n"
        "        s = T.alloc_fragment((64,), 'float32')\n"
        f"        {statement}\n"
    )
    import linecache

    file = f"<keywords {abs(hash(statement))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), {"T": T, **names})


@pytest.mark.parametrize(
    "statement",
    [
        "T.copy(A, a, coalesced_width=8, disable_tma=True, eviction_policy='evict_first')",
        "T.copy(A, a, prefer_instruction='tma', annotations={}, loop_layout=None)",
        "T.gemm(a, b, c, policy=T.GemmWarpPolicy.Square, k_pack=1, mbar=None, annotations={})",
        "T.gemm(a, b, c, wg_wait=0, clear_accum=True)",
        "T.reduce_sum(c, s, dim=1, batch=1, annotations={})",
        "T.reduce_max(c, s, dim=1, nan_propagate=False)",
        "T.cumsum(c, c, dim=1, annotations={})",
        "T.atomic_max(A[0, 0], 1, memory_order='relaxed', annotations={})",
        "T.print(c, msg='c', warp_group_id=0, warp_id=0)",
        "T.annotate_layout(layout_map={})",
    ],
)
def test_hints_of_gpu_kernels_are_accepted(statement: str) -> None:
    built(statement)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("T.copy(A, a, sise=[64, 64])", "T.copy has no argument `sise`; did you mean `size`?"),
        ("T.gemm(a, b, c, transB=True)", "did you mean `transpose_B`?"),
        ("T.gemm(a, b, c, policy=0, polcy=1)", "no argument `polcy`; did you mean `policy`?"),
        ("T.reduce_max(c, s, axis=1)", "did you mean `dim`?"),
        ("T.cumsum(c, c, axis=1)", "did you mean `dim`?"),
        ("T.alloc_shared((64,), dtyp='float16')", "did you mean `dtype`?"),
        ("T.alloc_fragment((64,))", "T.alloc_fragment misses the argument `dtype`"),
        ("T.fill(c, 0, 1)", "T.fill takes at most 2 arguments by position, found 3"),
        ("T.fill(c, 0, buffer=c)", "T.fill got `buffer` twice"),
        ("T.vadd(c, c, c, sizes=1)", "T.vadd has no argument `sizes`"),
        ("T.alloc_var('int32', 1, 'local.var', 3)", "found 4 arguments"),
        ("T.atomic_add(A, a, memoryorder=1)", "did you mean `memory_order`?"),
    ],
)
def test_other_keywords_are_refused(statement: str, text: str) -> None:
    with pytest.raises(tilelang.errors.CompileError) as caught:
        built(statement)
    message = str(caught.value)
    assert text in message and message.startswith("error[E0123]: ") and "^" in message


@pytest.mark.parametrize(
    ("stages", "text"),
    [
        ("-1", "num_stages is -1; allowed are 0 to"),
        ("10**9", "num_stages is 1000000000; allowed are 0 to"),
        ("1.5", "num_stages is 1.5; it is a whole number"),
        ("'2'", "it is a whole number"),
        ("i", "it is a whole number known while the kernel is built"),
        ("A", "it is a whole number known while the kernel is built"),
        ("A[0, 0]", "it is a whole number known while the kernel is built"),
    ],
)
def test_stages_of_a_pipelined_loop(stages: str, text: str) -> None:
    with pytest.raises(tilelang.errors.CompileError) as caught:
        built(f"for k in T.Pipelined(4, num_stages={stages}): T.clear(c)")
    assert text in str(caught.value) and str(caught.value).startswith("error[E0124]")


@pytest.mark.parametrize("stages", ["0", "2", "True", "__import__('numpy').int64(3)"])
def test_stages_that_make_sense(stages: str) -> None:
    built(f"for k in T.Pipelined(4, num_stages={stages}): T.clear(c)")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tilelang.jit(outidx=[1]), "no argument `outidx`; did you mean `out_idx`?"),
        (lambda: tilelang.compile(None, passconfigs={}), "did you mean `pass_configs`?"),
        (lambda: autotuner.Settings(warm_up=1), "did you mean `warmup`?"),
        (lambda: profiler.do_bench(print, reps=1), "did you mean `rep`?"),
        (lambda: T.Tensor((64,), dtypes="float16"), "T.Tensor has no argument `dtypes`"),
    ],
)
def test_host_functions(call: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value) and "error[E" in str(caught.value)


def test_hints_of_host_functions() -> None:
    @tilelang.jit(target="cuda", execution_backend="cython", verbose=False, debug_root_path=None)
    def kernel(A):
        A: T.Tensor((64,), "float32", scope="global", align=64)
        with T.Kernel(1):
            T.fill(A, 1)

    a = np.zeros(64, "float32")
    kernel(a)
    assert (a == 1).all()
