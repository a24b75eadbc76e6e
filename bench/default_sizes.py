# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU examples at the sizes that they have by themselves: times, shares, compile time, memory.

    python bench/default_sizes.py SOURCE [--keyword RE] [--timeout S] [--numeric] [--json FILE]

SOURCE is a checkout of TileLang. Each example runs in a process of its own, as its file stands and
without arguments. In the first run kernels are only timed, and matrix products and convolutions of
the script's own reference are not computed (their results are zeros, and so are large random
inputs), so that sizes made for GPUs do not matter; what the script then says of its results does
not count. `--numeric` runs each example once more with everything computed, for at most the
timeout and within `--memory`; the script's own comparisons are counted, and a script that ends well
without any, and without an assert, says nothing of its results. For examples of `default_checks.py`
that run is a check from there. Kernels are told from each other by
name and shapes of arguments; of those that a tuner has timed, the fastest is shown. Times are
predicted core times.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import multiprocessing
import os
import re
import resource
import runpy
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from default_checks import CHECKS, imported

#: Folder -> files of the examples that need nothing but TileLang and PyTorch.
EXAMPLES = {
    ".": "quickstart",
    "elementwise": "example_elementwise_add",
    "norm": "rms_norm layernorm",
    "online_softmax": "online_softmax",
    "dynamic_shape": "example_dynamic",
    "topk": "example_topk",
    "gemm": "example_gemm example_gemm_persistent example_gemm_autotune_early_stop "
    "example_gemm_autotune_pass_configs example_gemm_autotune example_gemm_advanced_autotune",
    "gemm_splitk": "example_tilelang_gemm_splitk example_tilelang_gemm_splitk_vectorize_atomicadd",
    "gemm_streamk": "example_tilelang_gemm_streamk",
    "gemm_int4": "example_tilelang_gemm_int4",
    "gemm_fp8": "example_tilelang_gemm_fp8 example_tilelang_gemm_fp8_2xAcc "
    "example_tilelang_gemm_amd",
    "grouped_gemm": "example_grouped_gemm_fwd example_grouped_gemm_bwd",
    "blocksparse_gemm": "example_blocksparse_gemm",
    "fusedmoe": "example_fusedmoe_tilelang",
    "dequantize_gemm": "example_dequant_gemm_w4a8",
    "convolution": "example_convolution example_convolution_autotune",
    "cast": "example_per_token_cast_to_fp8 example_group_per_split_token_cast_to_fp8",
    "deepseek_v4": "act_quant",
    "flash_attention": "example_mha_fwd_bshd example_mha_fwd_bhsd example_gqa_fwd_bshd "
    "example_mha_bwd_bshd example_mha_bwd_bhsd example_gqa_bwd_tma_reduce example_gqa_bwd "
    "example_gqa_bwd_tma_reduce_varlen",
    "flash_decoding": "example_mha_inference example_gqa_decode_varlen_logits example_gqa_decode",
    "attention_sink": "example_mha_sink_fwd_bhsd example_gqa_sink_fwd_varlen "
    "example_mha_sink_bwd_bhsd example_gqa_sink_bwd_bhsd example_gqa_sink_bwd_varlen",
    "block_causal_attention": "block_causal_attention block_causal_attention_varlen",
    "blocksparse_attention": "example_tilelang_block_sparse_attn",
    "seer_attention": "block_sparse_attn_tilelang",
    "deepseek_mla": "example_mla_decode example_mla_decode_paged",
    "deepseek_nsa": "example_tilelang_nsa_decode example_tilelang_nsa_fwd",
    "deepseek_v32": "sparse_mla_fwd sparse_mla_bwd",
    "dsa_hisa": "fp8_block_mean_pooling pool_mqa_fp8 block_sparse_mqa_fp8",
    "dsa_sparse_finetune": "sparse_mla_topk_reducesum indexer_bwd sparse_mla_fwd sparse_mla_bwd",
    "linear_attention": "example_retention_fwd example_mamba_chunk_state",
    "kda": "chunk_bwd_gla_dA chunk_bwd_dv chunk_o chunk_bwd_dqkwg chunk_delta_h_fwd "
    "chunk_delta_bwd wy_fast_bwd chunk_inter_solve_fused",
    "deepseek_mhc": "example_mhc_post example_mhc_bwd",
}
#: Kernels below this core time are launch-bound and left out of the shares.
SHORT_US = 20.0
#: Elements from which on random inputs of a run without data are not worth their time.
LARGE = 1 << 22
BARS = {"median bound": 0.85, "worst bound": 0.5, "scalar": 0.03, "compile ms": (200.0, 2000.0)}


# -- one example, in a process of its own ---------------------------------------------------------


class Watcher:
    """Notes each kernel that runs (see `tilewright.report.session`) as a line of a file."""

    wants_limits = True

    def __init__(self, path: Path) -> None:
        self.file = path.open("a")
        self.seen: dict[Any, float] = {}

    def note(self, **entry: Any) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()

    def before(self, kernel: Any, arguments: list[Any], computes: bool) -> None:
        pass

    def after(self, kernel: Any, arguments: list[Any], report: dict[str, Any], chip: str) -> None:
        """A line for a kernel that is new, or faster than its like was before."""
        launches = report["launches"]
        if not launches or not all("limits" in x for x in launches):
            return
        core_us = sum(x["microseconds"] for x in launches)
        shapes = [[*a[1]] if isinstance(a, tuple) else a for a in arguments]
        key = kernel.name, json.dumps(shapes)
        if core_us >= self.seen.get(key, float("inf")):
            return
        self.seen[key] = core_us
        limits = [x["limits"] for x in launches]
        busy = [
            sum(x[f"{kind}_busy"].get("S", 0.0) * x["microseconds"] for x in launches)
            for kind in ("aic", "aiv")
        ]
        self.note(
            kernel=kernel.name,
            shapes=shapes,
            core_us=core_us,
            bound=sum(x["pipe_us"] for x in limits) / core_us,
            roofline=sum(max(x["cube_us"], x["memory_us"]) for x in limits) / core_us,
            scalar=max(busy) / core_us,
            pipe=max(limits, key=lambda x: x["pipe_us"])["pipe"],
        )


def timed_compiles(watcher: Watcher) -> None:
    """Notes the CPU time of each compilation, tracing apart."""
    from tilewright import jit

    plain = jit.compile_built

    def compile_built(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        found = plain(*args, **kwargs)
        watcher.note(compile_s=time.process_time() - start)
        return found

    jit.compile_built = compile_built


def without_products(torch: Any) -> Any:
    """A mode of PyTorch in which products and convolutions have shapes but no values, and large
    random tensors are zeros."""
    names = ("matmul", "mm", "bmm", "einsum", "baddbmm", "addmm", "conv2d")
    functional = torch.nn.functional
    heavy = {getattr(torch, name) for name in names}
    heavy |= {torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm}
    heavy |= {functional.linear, functional.scaled_dot_product_attention, functional.conv2d}

    random = {torch.randn: torch.zeros, torch.rand: torch.zeros}
    random |= {torch.randn_like: torch.zeros_like, torch.rand_like: torch.zeros_like}

    def count(args: Any) -> int:
        if isinstance(args[0], torch.Tensor):
            return args[0].numel()
        sizes = args[0] if isinstance(args[0], (tuple, list)) else args
        return math.prod(s for s in sizes if isinstance(s, int))

    def meta(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(map(meta, value))
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    def first(value: Any) -> Any:
        return value if isinstance(value, torch.Tensor) else first(value[-1])

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func in random and args and count(args) > LARGE:
                func = random[func]
                kwargs = {k: v for k, v in (kwargs or {}).items() if k != "generator"}
            if func not in heavy:
                return func(*args, **(kwargs or {}))
            with torch._C.DisableTorchFunction():
                shape = func(*map(meta, args), **{k: meta(v) for k, v in (kwargs or {}).items()})
            return first(args).new_zeros(shape.shape)

    return Mode()


def run_one(script: str, notes: Path, options: argparse.Namespace, numeric: bool) -> int:
    """Runs one example within the limits; 1 when it raised an error."""
    import torch

    from tilewright.kernel import Timing
    from tilewright.report import session
    from tilewright.report.comparisons import Comparisons

    resource.setrlimit(resource.RLIMIT_DATA, (int(options.memory * 2**30),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(options.timeout),) * 2)

    watcher = Watcher(notes)
    session.observers.append(watcher)
    timed_compiles(watcher)
    sys.argv = [script]
    os.chdir(Path(script).parent)
    sys.path.insert(0, str(Path(script).parent))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1), os.dup2(quiet, 2)
    try:
        if numeric:
            seen = Comparisons(script)
            check = CHECKS.get(f"{Path(script).parent.name}/{Path(script).stem}")
            try:
                with seen.watched():
                    if check:
                        check(imported(Path(script)))
                    else:
                        runpy.run_path(script, run_name="__main__")
            finally:
                watcher.note(agree=seen.passed.total(), differ=seen.failed.total())
        else:
            with Timing(with_data=False), without_products(torch):
                runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        return int(bool(stop.code))
    except Exception as error:
        watcher.note(error=f"{type(error).__name__}: {str(error).splitlines()[:1]}")
        return 1
    finally:
        watcher.note(memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    return 0


# -- all of them ----------------------------------------------------------------------------------


def prepare() -> None:
    """What all examples need, before processes of their own are forked."""
    os.environ |= {"TILEWRIGHT_CACHE": "0", "TILEWRIGHT_RUN": "1", "TILEWRIGHT_NUM_THREADS": "1"}
    from tilewright import compat

    compat.install()
    import torch

    torch.set_num_threads(1)


def child(script: Path, notes: Path, options: argparse.Namespace, numeric: bool) -> str:
    """Runs an example in a process of its own: "passed", "failed", or "time was up"."""
    notes.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(
        target=lambda: sys.exit(run_one(str(script), notes, options, numeric))
    )
    process.start()
    process.join(20 * options.timeout)  # of a process that waits
    if process.exitcode is None:
        process.kill()
        process.join()
    if process.exitcode in (-signal.SIGKILL, -signal.SIGXCPU):
        return "time was up"
    return "failed" if process.exitcode else "passed"


def measured(script: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Kernels, compile times and memory of one example."""
    notes = options.scratch / f"{script.stem}.jsonl"
    state = child(script, notes, options, False)
    lines = read(notes)
    kernels = {(x["kernel"], json.dumps(x["shapes"])): x for x in lines if "kernel" in x}
    found = {
        "timed": state,
        "kernels": list(kernels.values()),
        "compile_s": [x["compile_s"] for x in lines if "compile_s" in x],
        "memory": max((x["memory"] for x in lines if "memory" in x), default=None),
        "error": next((x["error"] for x in lines if "error" in x), None),
        "numeric": None,
    }
    if options.numeric:
        state = child(script, notes, options, True)
        lines = read(notes)
        found["numeric"] = agreement(script, state, lines)
        # Scripts that cannot go on without their results have more kernels here.
        kernels |= {(x["kernel"], json.dumps(x["shapes"])): x for x in lines if "kernel" in x}
        found["kernels"] = list(kernels.values())
        found["compile_s"] += [x["compile_s"] for x in lines if "compile_s" in x]
        found["memory"] = max(
            (x["memory"] for x in (*lines, found) if x.get("memory")), default=None
        )
    return found


def read(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in notes.read_text().splitlines()] if notes.exists() else []


def agreement(script: Path, state: str, lines: list[dict[str, Any]]) -> str:
    """What the run with data says of the results."""
    agree = sum(x.get("agree", 0) for x in lines)
    differ = sum(x.get("differ", 0) for x in lines)
    if differ:
        return f"{differ} of {agree + differ} differ"
    error = next((x["error"] for x in lines if "error" in x), "no error")
    if agree:
        return f"{agree} agree" + ("" if state == "passed" else f", then {state} ({error})")
    if state != "passed":
        return f"{state} ({error})"
    asserts = any(isinstance(x, ast.Assert) for x in ast.walk(ast.parse(script.read_text())))
    return "its asserts hold" if asserts else "nothing compared"


def table(name: str, found: dict[str, Any]) -> None:
    """The rows of one example."""
    compile_ms = 1000 * max(found["compile_s"], default=0.0)
    memory = f"{found['memory'] / 2**30:.1f} GiB" if found["memory"] else "-"
    numeric = found["numeric"] or "-"
    if not found["kernels"]:
        print(f"{name:52} no kernel ({found['timed']}; {found['error']}) {numeric}", flush=True)
    for kernel in found["kernels"]:
        print(
            f"{name:52} {kernel['kernel'][:24]:24} {kernel['core_us']:11.1f} us  "
            f"bound {kernel['bound']:4.0%} {kernel['pipe']:9} roofline {kernel['roofline']:4.0%} "
            f"scalar {kernel['scalar']:4.0%}  compile {compile_ms:5.0f} ms  {memory}  {numeric}",
            flush=True,
        )


def summary(rows: dict[str, dict[str, Any]]) -> str:
    """The figures that the bars are about."""
    kernels = [(name, k) for name, r in rows.items() for k in r["kernels"]]
    long = [(name, k) for name, k in kernels if k["core_us"] >= SHORT_US]
    compiles = [s for r in rows.values() for s in r["compile_s"]]
    if not long:
        return f"{len(rows)} examples, no kernel of {SHORT_US:.0f} us"
    worst = min(long, key=lambda pair: pair[1]["bound"])
    low = [name for name, k in long if k["bound"] < BARS["worst bound"]]
    scalar = [name for name, k in long if k["scalar"] >= BARS["scalar"]]
    memory = max((r["memory"] or 0 for r in rows.values()), default=0)
    timed = sum(bool(r["kernels"]) for r in rows.values())
    return "\n".join(
        [
            f"{timed} of {len(rows)} examples timed, {len(kernels)} kernels, {len(long)} of "
            f"{SHORT_US:.0f} us or more",
            f"share of the bound: median {statistics.median(k['bound'] for _, k in long):.1%}, "
            f"worst {worst[1]['bound']:.1%} ({worst[0]}, {worst[1]['kernel']}); below "
            f"{BARS['worst bound']:.0%}: {len(low)}",
            f"scalar unit busy {BARS['scalar']:.0%} or more: {len(scalar)} {sorted(set(scalar))}",
            f"compile, CPU: median {1000 * statistics.median(compiles):.0f} ms, worst "
            f"{1000 * max(compiles):.0f} ms of {len(compiles)}",
            f"memory: {memory / 2**30:.1f} GiB at most",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="a checkout of TileLang")
    parser.add_argument("--keyword", default="", help="regular expression on folder/file")
    parser.add_argument("--timeout", type=float, default=300.0, help="CPU seconds of each run")
    parser.add_argument("--numeric", action="store_true", help="compute everything as well")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB of data for each run")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--scratch", type=Path, default=Path("build"), help="for notes of runs")
    options = parser.parse_args()
    prepare()
    options.scratch = options.scratch.resolve()
    rows: dict[str, dict[str, Any]] = {}
    for folder, files in EXAMPLES.items():
        for file in files.split():
            script = (options.source / "examples" / folder / f"{file}.py").resolve()
            name = file if folder == "." else f"{folder}/{file}"
            if re.search(options.keyword, name):
                rows[name] = measured(script, options)
                table(name, rows[name])
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1))
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
