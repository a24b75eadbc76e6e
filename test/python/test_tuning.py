# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search of `@tilelang.autotune`: samples, equal programs, checks, and what is left out."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T
from tilewright import tuning
from tilewright.autotuner import AutoTuner
from tilewright.errors import MissingTorchError
from tilewright.profiler import modelled_milliseconds

pytest.importorskip("tilewright._core")
torch = pytest.importorskip("torch")

CONFIGS = [
    {"block_M": m, "block_N": n, "threads": t}
    for m, n, t in itertools.product((32, 128), (64, 256), (128, 256))
]


def factory(block_M=128, block_N=128, threads=128, M=1024):
    @T.prim_func
    def product(
        A: T.Tensor((M, 256), "float16"),
        B: T.Tensor((256, 1024), "float16"),
        C: T.Tensor((M, 1024), "float16"),
    ):
        with T.Kernel(1024 // block_N, M // block_M, threads=threads) as (x, y):
            a = T.alloc_shared((block_M, 64), "float16")
            b = T.alloc_shared((64, block_N), "float16")
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[y * block_M, k * 64], a)
                T.copy(B[k * 64, x * block_N], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * block_M, x * block_N])

    return product


def tuned(configs, **profile):
    tuner = AutoTuner.from_kernel(factory, configs).set_compile_args(out_idx=[-1])
    return tuner.set_profile_args(**profile).run()


def test_the_choice_is_that_of_an_exhaustive_search():
    best = tuned(CONFIGS)
    times = {}
    for config in CONFIGS:
        kernel = tilelang.compile(factory(**config), out_idx=[-1])
        times[tuple(config.values())] = modelled_milliseconds(
            kernel, kernel.get_profiler()._get_inputs()
        )
    assert best.latency == times[tuple(best.config.values())] <= 1.05 * min(times.values())
    assert all("times as slow as the best" in reason for _, reason in best.tuner_skipped)


def test_equal_programs_are_timed_once(monkeypatch):
    timed = []
    plain = tuning.sampled_milliseconds
    monkeypatch.setattr(tuning, "sampled_milliseconds", lambda k, i: timed.append(k) or plain(k, i))
    tuned([{"threads": t} for t in (64, 128, 256, 512)])
    assert len(timed) == 1


def test_a_sample_is_an_estimate_of_the_whole():
    kernel = tilelang.compile(factory(M=16384), out_idx=[-1])
    inputs = kernel.get_profiler()._get_inputs()
    sample = tuning.sampled_milliseconds(kernel, inputs)
    assert sample == pytest.approx(modelled_milliseconds(kernel, inputs), rel=0.1)
    few = tilelang.compile(factory(M=256), out_idx=[-1])
    assert tuning.sampled_milliseconds(few, few.get_profiler()._get_inputs()) is None


def test_configurations_are_left_out_with_a_reason():
    configs = [{"block_M": 1}, {"block_N": 48}, {"unknown": 3}, {"block_M": 4096}, {"block_M": 64}]
    best = tuned(configs)
    assert best.config in configs
    reasons = {next(iter(config)): reason for config, reason in best.tuner_skipped}
    assert "unexpected keyword" in reasons["unknown"]
    assert len(best.tuner_skipped) >= 2


def test_the_fastest_right_kernel_is_chosen():
    """A wrong reference leaves nothing; a check decides between those that are timed."""
    calls = []

    def check(found, expected):
        calls.append(found)
        assert len(calls) > 1, "the fastest one is refused"

    best = tuned(CONFIGS[:4], ref_prog=lambda a, b: a @ b, manual_check_prog=check)
    assert len(calls) == 2
    assert "the fastest one is refused" in [reason for _, reason in best.tuner_skipped]
    with pytest.raises(RuntimeError, match=r"no configuration of 1 worked; .*shape"):
        tuned(CONFIGS[:1], ref_prog=lambda a, b: torch.zeros(3, dtype=torch.float16))


def test_a_choice_is_kept():
    @tilelang.autotune(configs=[{"block": b} for b in (16, 64)])
    @tilelang.jit(out_idx=-1)
    def double(n, block=16):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(n // block) as x:
                a = T.alloc_shared((block,), "float32")
                b = T.alloc_shared((block,), "float32")
                T.copy(A[x * block], a)
                for i in T.Parallel(block):  # backwards: no part of a larger block
                    b[i] = a[block - 1 - i] * 2
                T.copy(b, B[x * block])

        return main

    first = double(4096)
    assert double(4096) is first
    assert first.config == {"block": 64} and first.latency > 0
    assert (first(np.ones(4096, np.float32)) == 2).all()


@pytest.mark.parametrize("factor", [0.5, float("nan")])
def test_a_factor_below_one_is_refused(factor):
    with pytest.raises(ValueError, match="early_stop_factor"):
        AutoTuner.from_kernel(factory, CONFIGS[:1]).run(early_stop=True, early_stop_factor=factor)


def test_a_missing_pytorch_is_told_once(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingTorchError, match="making input tensors"):
        tuned(CONFIGS)
    assert "skipped" not in capsys.readouterr().err
