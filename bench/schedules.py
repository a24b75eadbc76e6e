# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulated cycles of a list of kernels, compared with the ones in bench/baselines/.

    python bench/schedules.py [KERNEL ...] [--update] [--remarks]

Cycles do not depend on the machine that runs the simulator, so they are compared exactly. A change
of the compiler that moves them comes with `--update` and a word in its commit message that says
why. Kernels run without data, and what the compiler accepts is in test/e2e.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workloads

BASELINES = Path(__file__).resolve().parent / "baselines"
#: The sizes of examples/matmul_softmax.py.
M, N, K = 4000, 4096, 512


@dataclass
class Entry:
    """A kernel, or several that run one after the other."""

    make: Callable[[], list[Any]]
    chip: str = "910b3"
    is_cheap: bool = True  #: compared by the tests

    def kernels(self) -> list[Any]:
        before = os.environ.get("TILEWRIGHT_CHIP")
        os.environ["TILEWRIGHT_CHIP"] = self.chip
        try:
            return self.make()
        finally:
            if before is None:
                del os.environ["TILEWRIGHT_CHIP"]
            else:
                os.environ["TILEWRIGHT_CHIP"] = before


def one(make: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], list[Any]]:
    return lambda: [make(*arguments, **options)]


def fused(block_m: int, block_n: int, block_k: int) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        kernel = workloads.example("matmul_softmax").matmul_softmax
        sizes = {"M": M, "N": N, "K": K}
        blocks = {"block_M": block_m, "block_N": block_n, "block_K": block_k}
        return [kernel.compile(**sizes, **blocks)]

    return make


def apart(
    block: tuple[int, int, int], rows: int, half: bool, stages: int = 3
) -> Callable[[], list[Any]]:
    """The product in f32 or f16, then softmax over its rows."""

    def make() -> list[Any]:
        out = "float16" if half else "float32"
        soft = workloads.softmax_of_half if half else workloads.softmax_half
        product = workloads.matmul(M, N, K, *block, stages=stages, out_dtype=out)
        return [product, soft(M, N, rows)]

    return make


GEMM = workloads.matmul
KERNELS: dict[str, Entry] = {
    "matmul_softmax_fused_100_128_128": Entry(fused(100, 128, 128)),
    "matmul_softmax_fused_100_128_256": Entry(fused(100, 128, 256)),
    "matmul_softmax_fused_200_128_512": Entry(fused(200, 128, 512)),
    "matmul_softmax_fused_128_256_128": Entry(fused(128, 256, 128)),
    "matmul_softmax_apart_128_256_64_f16_4": Entry(apart((128, 256, 64), 4, True)),
    "matmul_softmax_apart_128_256_128_f16_4": Entry(apart((128, 256, 128), 4, True)),
    "matmul_softmax_apart_128_256_256_f16_4": Entry(apart((128, 256, 256), 4, True, 2)),
    "matmul_softmax_apart_128_256_256_f16_5": Entry(apart((128, 256, 256), 5, True, 2)),
    "matmul_softmax_apart_128_256_256_f32_2": Entry(apart((128, 256, 256), 2, False, 2)),
    "gemm_4096_128_256_64": Entry(one(GEMM, 4096, 4096, 4096, 128, 256, 64)),
    "gemm_4096_128_256_64_910b1": Entry(one(GEMM, 4096, 4096, 4096, 128, 256, 64), "910b1"),
    "gemm_4096_128_256_64_a3": Entry(one(GEMM, 4096, 4096, 4096, 128, 256, 64), "a3"),
    "gemm_4096_128_128_32": Entry(one(GEMM, 4096, 4096, 4096, 128, 128, 32)),
    "gemm_1024_128_128_64": Entry(one(GEMM, 1024, 1024, 1024, 128, 128, 64)),
    "gemm_1024_128_256_64": Entry(one(GEMM, 1024, 1024, 1024, 128, 256, 64)),
    "attention_4096_128": Entry(one(workloads.attention, 1, 4096, 128, 128, 128)),
    "attention_4096_128_256": Entry(one(workloads.attention, 1, 4096, 128, 128, 256)),
    "attention_2048_128_causal": Entry(
        one(workloads.attention, 1, 2048, 128, 128, 128, causal=True)
    ),
    "attention_10_4096_64": Entry(one(workloads.attention, 10, 4096, 64, 128, 128), is_cheap=False),
    "softmax_1024_1024_16": Entry(one(workloads.softmax, 1024, 1024, 16)),
    "softmax_4096_4096_4": Entry(one(workloads.softmax, 4096, 4096, 4)),
    "rms_norm_4096_4096_4": Entry(one(workloads.rms_norm, 4096, 4096, 4)),
    "rms_norm_4096_4096_1": Entry(one(workloads.rms_norm, 4096, 4096, 1)),
    "softmax_of_half_4096_4096_1_910b2": Entry(
        one(workloads.softmax_of_half, 4096, 4096, 1), "910b2"
    ),
    "gemm_4096_64_64_32": Entry(one(GEMM, 4096, 4096, 4096, 64, 64, 32)),
    "gemm_4096_128_128_32_910b2": Entry(one(GEMM, 4096, 4096, 4096, 128, 128, 32), "910b2"),
    "attention_32768_128": Entry(one(workloads.attention, 1, 32768, 128, 128, 128), is_cheap=False),
    "rms_norm_1024_8192_2": Entry(one(workloads.rms_norm, 1024, 8192, 2)),
}
#: Two ways to compute one thing: name -> prefixes of the kernels of either way.
COMPARED = {"matmul_softmax": ("matmul_softmax_fused_", "matmul_softmax_apart_")}


def measure(name: str) -> dict[str, Any]:
    """Times of one entry: core cycles, and what limits them."""
    import numpy as np

    from tilewright.kernel import Timing

    found: dict[str, Any] = {"cycles": 0.0, "microseconds": 0.0, "launches": []}
    for kernel in KERNELS[name].kernels():
        inputs = []
        for position in kernel.inputs:
            parameter = kernel.parameters[position]
            inputs.append(np.zeros(parameter["shape"], parameter["dtype"]))
        with Timing(with_data=False):
            kernel(*inputs)
        for launch in kernel.last_report["launches"]:
            found["cycles"] = round(found["cycles"] + launch["cycles"], 3)
            found["microseconds"] = round(found["microseconds"] + launch["microseconds"], 3)
            found["launches"].append(
                {
                    "cycles": round(launch["cycles"], 3),
                    "aic": busy(launch["aic_busy"]) if launch["aic_count"] else {},
                    "aiv": busy(launch["aiv_busy"]) if launch["aiv_count"] else {},
                    "gm_bytes": launch["gm_read_bytes"] + launch["gm_write_bytes"],
                    "exchange_bytes": launch["exchange_bytes"],
                }
            )
    return found


def busy(shares: dict[str, float]) -> dict[str, float]:
    """Per pipe, per cent of the core time."""
    return {pipe: round(100 * share, 2) for pipe, share in shares.items() if share}


def baseline(name: str) -> dict[str, Any] | None:
    path = BASELINES / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def update(name: str, found: dict[str, Any]) -> None:
    BASELINES.mkdir(exist_ok=True)
    path = BASELINES / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def line(name: str, found: dict[str, Any]) -> str:
    before = baseline(name)
    if before is None:
        change = "new"
    elif before == found:
        change = "same"
    elif before["cycles"] == found["cycles"]:
        change = "other shares"
    else:
        change = f"{100 * (found['cycles'] / before['cycles'] - 1):+.2f} %"
    parts = []
    for launch in found["launches"]:
        for kind in ("aic", "aiv"):
            top = sorted(launch[kind].items(), key=lambda item: -item[1])[:3]
            if top:
                parts.append(kind.upper() + " " + " ".join(f"{p} {s:.0f}%" for p, s in top))
    return (
        f"{name:40} {found['cycles']:12.0f} cycles {found['microseconds']:9.2f} us  "
        f"{change:>12}  {'; '.join(parts)}"
    )


def compare(results: dict[str, dict[str, Any]]) -> Iterable[str]:
    """Best against best."""
    for name, prefixes in COMPARED.items():
        best = []
        for prefix in prefixes:
            times = {n: r["microseconds"] for n, r in results.items() if n.startswith(prefix)}
            if times:
                best.append(min(times.items(), key=lambda item: item[1]))
        if len(best) == 2:
            (first, fast), (second, slow) = best
            yield (
                f"{name}: {first} {fast:.2f} us against {second} {slow:.2f} us: "
                f"{slow / fast:.2f} times as fast (launch apart on both sides)"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--update", action="store_true", help="write the baselines")
    parser.add_argument("--remarks", action="store_true", help="what the compiler decided")
    options = parser.parse_args()
    unknown = [k for k in options.kernels if k not in KERNELS]
    if unknown:
        parser.error(f"no kernel {unknown[0]!r}; there are {', '.join(KERNELS)}")
    results = {}
    is_changed = False
    for name in options.kernels or KERNELS:
        results[name] = measure(name)
        print(line(name, results[name]), flush=True)
        if options.remarks:
            for kernel in KERNELS[name].kernels():
                for remark in kernel.remarks:
                    print(f"    {remark['stage']}: {remark['message']}")
        is_changed |= baseline(name) != results[name]
        if options.update:
            update(name, results[name])
    for text in compare(results):
        print(text)
    return int(is_changed and not options.update)


if __name__ == "__main__":
    sys.exit(main())
