# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T.block_barrier and T.subblock_barrier, and what the checker says where they do not order
enough."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from harness import Program, check, compile_kernel, findings_text, randn

BLOCKS = 4


@tilelang.jit
def neighbours(A, W, n, blocks):
    """Each vector core doubles its part, then reads that of the next block."""
    A: T.Tensor((blocks, n), T.float32)
    W: T.Tensor((blocks, n), T.float32)
    C = T.empty((blocks, n), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, _):
        x = T.alloc_ub((n,), T.float32)
        y = T.alloc_ub((n,), T.float32)
        T.copy(A[block, :], x)
        T.vmul(x, 2.0, x)
        T.copy(x, W[block, :])
        with T.rs("PIPE_MTE3"):
            T.block_barrier(0)
        T.copy(W[(block + 1) % blocks, :], y)
        T.vadd(y, 1.0, y)
        T.copy(y, C[block, :])
    return C


@pytest.mark.parametrize("blocks", [1, 2, 5, 40])
def test_all_blocks_meet(blocks):
    a, w = randn((blocks, 64), np.float32), np.zeros((blocks, 64), np.float32)
    expected = np.roll(a, -1, axis=0) * 2 + 1
    check(neighbours, [a, w], lambda a, w: expected, n=64, blocks=blocks)


@tilelang.jit
def relay(A, W, n, blocks, turns):
    """Blocks pass their parts round, with the order of pipes by hand."""
    A: T.Tensor((blocks, n), T.float32)
    W: T.Tensor((2, blocks, n), T.float32)
    C = T.empty((blocks, n), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, _), T.Scope("Vector"):
        x = T.alloc_ub((n,), T.float32)
        with T.rs("PIPE_MTE2"):
            T.copy(A[block, :], x)
            T.set_flag("PIPE_V", 0)
        for turn in T.serial(turns):
            with T.rs("PIPE_V"):
                T.wait_flag("PIPE_MTE2", 0)
                T.vadd(x, 1.0, x)
                T.set_flag("PIPE_MTE3", 0)
            with T.rs("PIPE_MTE3"):
                T.wait_flag("PIPE_V", 0)
                T.copy(x, W[turn % 2, block, :])
                T.block_barrier(3)
                T.set_flag("PIPE_MTE2", 0)
            with T.rs("PIPE_MTE2"):
                T.wait_flag("PIPE_MTE3", 0)
                T.copy(W[turn % 2, (block + 1) % blocks, :], x)
                T.set_flag("PIPE_V", 0)
        with T.rs("PIPE_V"):
            T.wait_flag("PIPE_MTE2", 0)
            T.vmul(x, 2.0, x)
            T.set_flag("PIPE_MTE3", 0)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_V", 0)
            T.copy(x, C[block, :])
    return C


@pytest.mark.parametrize(("blocks", "turns"), [(3, 1), (4, 5), (40, 2)])
def test_all_blocks_meet_in_turns(blocks, turns):
    a, w = randn((blocks, 64), np.float32), np.zeros((2, blocks, 64), np.float32)

    def reference(a, w):
        return (np.roll(a, -turns, axis=0) + np.float32(turns)) * 2

    check(relay, [a, w], reference, rtol=1e-6, n=64, blocks=blocks, turns=turns)


@tilelang.jit
def swapped_halves(A, W, blocks):
    """The vector cores of a block read each other's rows; more blocks than cores."""
    A: T.Tensor((blocks, 2, 64), T.float32)
    W: T.Tensor((blocks, 2, 64), T.float32)
    C = T.empty((blocks, 2, 64), T.float32)
    with T.Kernel(blocks, is_npu=True) as (block, half), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        T.copy(A[block, half, :], x)
        T.vadd(x, 1.0, x)
        T.copy(x, W[block, half, :])
        with T.rs("PIPE_MTE3"):
            T.subblock_barrier(1)
        T.copy(W[block, 1 - half, :], x)
        T.vmul(x, 2.0, x)
        T.copy(x, C[block, half, :])
    return C


@pytest.mark.parametrize("blocks", [1, 3, 45])
def test_vector_cores_of_a_block_meet(blocks):
    a, w = randn((blocks, 2, 64), np.float32), np.zeros((blocks, 2, 64), np.float32)
    check(swapped_halves, [a, w], lambda a, w: (a[:, ::-1] + 1) * 2, rtol=1e-6, blocks=blocks)


@tilelang.jit
def exchange(A, W, C, turns, slots, where):
    """Each block hands its part to the one before; `where` says how the barrier stands."""
    A: T.Tensor((BLOCKS, 64), T.float32)
    W: T.Tensor((slots, BLOCKS, 64), T.float32)
    C: T.Tensor((BLOCKS, 64), T.float32)
    with T.Kernel(BLOCKS, is_npu=True) as (block, _), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        with T.rs("PIPE_MTE2"):
            T.copy(A[block, :], x)
        for turn in T.serial(turns):
            with T.rs("PIPE_MTE2"):
                T.set_flag("PIPE_MTE3", 0)
            with T.rs("PIPE_MTE3"):
                T.wait_flag("PIPE_MTE2", 0)
                if where == "before the store":
                    T.block_barrier(0)
                T.copy(x, W[turn % slots, block, :])
                if where in ("right", "not awaited"):
                    T.block_barrier(0)
                T.set_flag("PIPE_MTE2", 1)
            if where == "on another pipe":
                with T.rs("PIPE_V"):
                    T.block_barrier(0)
            if where == "in one block" and block == 1:
                with T.rs("PIPE_MTE3"):
                    T.block_barrier(0)
            with T.rs("PIPE_MTE2"):
                if where == "not awaited":
                    T.copy(W[turn % slots, (block + 1) % BLOCKS, :], x)
                T.wait_flag("PIPE_MTE3", 1)
                if where != "not awaited":
                    T.copy(W[turn % slots, (block + 1) % BLOCKS, :], x)
        with T.rs("PIPE_MTE2"):
            T.set_flag("PIPE_MTE3", 0)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_MTE2", 0)
            T.copy(x, C[block, :])


def run(where: str, turns: int = 1, slots: int = 2, **options):
    a = randn((BLOCKS, 64), np.float32)
    inputs = [a, np.zeros((slots, BLOCKS, 64), np.float32), np.zeros_like(a)]
    fixed = {"turns": turns, "slots": slots, "where": where}
    program = Program(compile_kernel(exchange, inputs, fixed, 2), inputs)
    return program.run(check=True, **options)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_right_one_is_silent(turns):
    outcome = run("right", turns=turns)
    assert outcome.report["ok"] and not outcome.report["findings"], findings_text(outcome.report)


@pytest.mark.parametrize("where", ["nowhere", "before the store", "on another pipe", "not awaited"])
def test_one_that_does_not_order_is_found(where):
    assert "between different blocks" in findings_text(run(where).report)


def test_a_slot_that_is_used_again_too_early():
    """The barrier of the next turn comes behind the store that may overtake another's load."""
    assert "between different blocks" in findings_text(run("right", turns=2, slots=1).report)


def test_a_block_that_does_not_come():
    outcome = run("in one block")
    assert "waits in block_barrier id 0 on MTE3" in outcome.report["error"]


@tilelang.jit
def half_way(A, C, both):
    A: T.Tensor((2, 64), T.float32)
    C: T.Tensor((2, 64), T.float32)
    with T.Kernel(1, is_npu=True) as (_, half), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        T.copy(A[half, :], x)
        T.copy(x, C[half, :])
        if both or half == 0:
            with T.rs("PIPE_MTE3"):
                T.subblock_barrier(2)
        T.copy(C[1 - half, :], x)
        T.vadd(x, 1.0, x)


def test_a_vector_core_that_does_not_come():
    inputs = [randn((2, 64), np.float32), np.zeros((2, 64), np.float32)]
    program = Program(compile_kernel(half_way, inputs, {"both": False}, 2), inputs)
    assert "waits in subblock_barrier id 2" in program.run(check=True).report["error"]


@pytest.mark.parametrize("blocks", [41, 1000])
def test_more_blocks_than_cores(blocks):
    @tilelang.jit
    def many(A):
        A: T.Tensor((64,), T.float32)
        with T.Kernel(blocks, is_npu=True), T.rs("PIPE_MTE3"):
            x = T.alloc_ub((64,), T.float32)
            T.copy(A, x)
            T.block_barrier(0)

    with pytest.raises(RuntimeError, match="this launch has more blocks than the chip has cores"):
        many(np.zeros(64, np.float32))


@tilelang.jit
def both_halves(A, shared):
    """Both vector cores of a block write a row; with `shared`, the same one."""
    A: T.Tensor((3, 64), T.float32)
    C = T.empty((6, 64), T.float32)
    with T.Kernel(3, is_npu=True) as (block, half), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        T.copy(A[block, :], x)
        T.vmul(x, half + 1, x)
        T.copy(x, C[2 * block + (0 if shared else half), :])
    return C


def test_a_race_within_a_block_is_told_as_one():
    inputs = [randn((3, 64), np.float32)]
    Program(compile_kernel(both_halves, inputs, {"shared": False}, 2), inputs).good(check=True)
    program = Program(compile_kernel(both_halves, inputs, {"shared": True}, 2), inputs)
    findings = program.run(check=True).report["findings"]
    assert "between the vector cores of one block" in findings[0]["message"]
    assert "T.subblock_barrier" in findings[0]["edge"]
    assert {f["block"] for f in findings} <= {0, 1, 2}


@tilelang.jit
def read_then_written(A, W, first):
    """All reads of W are over in all blocks before the first write, also where another pipe has met
    before."""
    A: T.Tensor((BLOCKS, 64), T.float32)
    W: T.Tensor((BLOCKS, 64), T.float32)
    with T.Kernel(BLOCKS, is_npu=True) as (block, _), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        if first:
            with T.rs("PIPE_MTE3"):
                T.block_barrier(0)
        with T.rs("PIPE_MTE2"):
            T.copy(W[(block + 1) % BLOCKS, :], x)
            T.block_barrier(1)
            T.set_flag("PIPE_MTE3", 0)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_MTE2", 0)
            T.copy(x, W[block, :])


@tilelang.jit
def written_then_read(A, W, C, second, wait):
    """MTE2 reads what MTE3 of other blocks has written: right if it waits for MTE3's meeting, not
    if it only met with the other MTE2."""
    A: T.Tensor((BLOCKS, 64), T.float32)
    W: T.Tensor((BLOCKS, 64), T.float32)
    C: T.Tensor((BLOCKS, 64), T.float32)
    with T.Kernel(BLOCKS, is_npu=True) as (block, _), T.Scope("Vector"):
        x = T.alloc_ub((64,), T.float32)
        y = T.alloc_ub((64,), T.float32)
        with T.rs("PIPE_MTE2"):
            T.copy(A[block, :], x)
            T.set_flag("PIPE_MTE3", 0)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_MTE2", 0)
            T.copy(x, W[block, :])
            T.block_barrier(0)
            if wait:
                T.set_flag("PIPE_MTE2", 1)
        with T.rs("PIPE_MTE2"):
            if second:
                T.block_barrier(1)
            if wait:
                T.wait_flag("PIPE_MTE3", 1)
            T.copy(W[(block + 1) % BLOCKS, :], y)
            T.set_flag("PIPE_MTE3", 2)
        with T.rs("PIPE_MTE3"):
            T.wait_flag("PIPE_MTE2", 2)
            T.copy(y, C[block, :])


@pytest.mark.parametrize("first", [0, 1])
def test_meetings_of_one_pipe_are_not_those_of_another(first):
    tensors = [randn((BLOCKS, 64), np.float32), randn((BLOCKS, 64), np.float32, seed=1)]
    program = Program(compile_kernel(read_then_written, tensors, {"first": first}, 2), tensors)
    assert not program.run(check=True).report["findings"]


@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("wait", [0, 1])
def test_a_meeting_on_another_pipe_does_not_help(second, wait):
    tensors = [randn((BLOCKS, 64), np.float32), *np.zeros((2, BLOCKS, 64), np.float32)]
    fixed = {"second": second, "wait": wait}
    program = Program(compile_kernel(written_then_read, tensors, fixed, 2), tensors)
    report = program.run(check=True).report
    if wait:
        assert not report["findings"]
    else:
        assert "race on tensor W between different blocks" in findings_text(report)
