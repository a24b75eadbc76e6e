# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of examples that compare nothing by themselves, or more than a CPU can hold.

Kernels run whole, at the sizes that the example has by itself; references are computed in float32
for a sample of rows, heads or sequences. `CHECKS` has a function for each example that takes the
imported file; it raises an error when results differ.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

#: Share of the largest value of the reference that an element may be off by.
TOLERANCE = 2e-2


def imported(script: Path) -> ModuleType:
    """The example as a module; its folder must be on the path."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(found: Any, reference: Any) -> None:
    """Compares two tensors of one shape; the reference must hold more than zeros."""
    import torch

    found, reference = found.float().cpu(), reference.float().cpu()
    largest = reference.abs().max().item()
    assert largest > 0
    torch.testing.assert_close(found, reference, rtol=0.0, atol=TOLERANCE * largest)


def product(kernel: Callable[[Any, Any], Any], m_size: int, n_size: int, k_size: int) -> None:
    """96 rows of A B^T, of random float16 A and B."""
    import torch

    a = torch.randn(m_size, k_size, device="cuda", dtype=torch.float16)
    b = torch.randn(n_size, k_size, device="cuda", dtype=torch.float16)
    rows = [*range(32), *range(m_size // 2, m_size // 2 + 32), *range(m_size - 32, m_size)]
    close(kernel(a, b)[rows], a[rows].float() @ b.float().T)


def persistent(m: ModuleType) -> None:
    """Both kernels of `main`, which differ in how blocks are dealt out."""
    size = 8192
    tiles = {"block_M": 128, "block_N": 256, "block_K": 64, "threads": 256, "num_stages": 3}
    for kernel in (m.matmul_non_persistent, m.matmul_persistent):
        product(lambda a, b, run=kernel: run(a, b.T.contiguous(), **tiles), size, size, size)


def early_stop(m: ModuleType) -> None:
    """The kernel that the decorator chooses."""
    product(m.matmul_early_stop(m.M, m.N, m.K), m.M, m.N, m.K)


def retention(m: ModuleType) -> None:
    """Three of 256 sequences, with decays of different heads."""
    import torch

    b_size, s_size, h_size, dim = 8, 4096, 32, 128
    torch.manual_seed(0)
    shape = (b_size, s_size, h_size, dim)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(3))
    found = m.postprocess(m.chunk_retention_fwd_kernel(b_size, s_size, h_size, dim, dim)(q, k, v))
    row = torch.arange(s_size)
    past = (row[:, None] - row[None, :]).clamp(min=0).float()
    for b, h in ((0, 0), (3, 7), (7, 31)):
        decay = math.log2(1 - 2.0 ** (-5 - h))
        weights = torch.exp2(past * decay).tril() * dim**-0.5
        scores = q[b, :, h].cpu().float() @ k[b, :, h].cpu().float().T
        close(found[b, :, h], (scores * weights) @ v[b, :, h].cpu().float())


def sinks(m: ModuleType) -> None:
    """Three of 256 heads against the example's own reference."""
    import torch

    b_size, h_size, s_size, dim = 8, 32, 4096, 128
    kernel = m.flashattn(
        b_size,
        h_size,
        s_size,
        s_size,
        dim,
        None,
        block_M=128,
        block_N=128,
        num_stages=2,
        threads=256,
        dtype=m.T.dtype("float16"),
    )
    q, k, v, sink = m.gen_inputs(b_size, h_size, s_size, s_size, dim, dtype=torch.float16)
    found = kernel(q, k, v, sink)
    for b, h in ((0, 0), (3, 7), (7, 31)):
        part = [x[b : b + 1, h : h + 1] for x in (q, k, v)]
        reference = m.ref_program(*part, sink[h : h + 1], None, dtype=torch.float16)
        torch.testing.assert_close(found[b : b + 1, h : h + 1], reference, rtol=1e-2, atol=1e-2)


def decode(m: ModuleType) -> None:
    """The example's own comparisons, which only print that results differ."""
    import torch

    batch, heads, groups, keys, dim = 1, 32, 8, 8192, 128
    config, _ = m.get_heuristic_config()
    kernel = m.flashattn(batch, heads, groups, keys, dim, **config)
    q = torch.randn(batch, heads, dim, device="cuda", dtype=torch.float16)
    k, v = (torch.randn(batch, keys, groups, dim, device="cuda", dtype=torch.float16) for _ in "kv")
    mask = torch.randint(0, 2, (batch, keys, groups), device="cuda", dtype=torch.uint8)
    found = kernel(q, k, v, mask)
    for reference in (m.ref_program, m.ref_split_program):
        close(found, reference(q, k, v, mask))


def decode_lengths(m: ModuleType) -> None:
    """The example's own test, of which its main program runs the benchmark only."""
    m.test_varlen_decode_main(
        argparse.Namespace(
            batch_size=1,
            q_heads=32,
            kv_heads=8,
            k_seqlen=8192,
            head_size=128,
            block_size=128,
            dtype=m.T.float16,
            test_sink=True,
            test_varlen=True,
            num_split=1,
        )
    )


def top_scores(m: ModuleType) -> None:
    """The example's own measure of the error, which it prints."""
    import torch

    plain = m.get_err_ratio

    def bounded(found: Any, reference: Any) -> float:
        ratio = plain(found, reference)
        torch.testing.assert_close(ratio, 0.0, rtol=0.0, atol=1e-2)
        return ratio

    m.get_err_ratio = bounded
    m.test_kernel()


def chosen_blocks(m: ModuleType) -> None:
    """The first of the example's configurations; the references of the others take 8 to 64 GiB."""
    m.test_fp8_block_sparse_mqa(1024, 64, 128, 128, 64, 1)


#: Example -> its check.
CHECKS: dict[str, Callable[[ModuleType], None]] = {
    "gemm/example_gemm_persistent": persistent,
    "gemm/example_gemm_autotune_early_stop": early_stop,
    "linear_attention/example_retention_fwd": retention,
    "attention_sink/example_mha_sink_fwd_bhsd": sinks,
    "flash_decoding/example_gqa_decode": decode,
    "flash_decoding/example_gqa_decode_varlen_logits": decode_lengths,
    "dsa_sparse_finetune/sparse_mla_topk_reducesum": top_scores,
    "dsa_hisa/block_sparse_mqa_fp8": chosen_blocks,
}
