# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far times that are estimated from a few waves of blocks are off, and what they save.

    python bench/waves.py [--waves 3]

Prints, for kernels of many waves, the time of the whole run without data, the error of the estimate
from the first waves, and the CPU time of both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "e2e"))

from measure import best, one_thread, setting


def kernels() -> dict[str, Callable[[], Any]]:
    import workloads

    from kernels import attention

    def heads(count: int, length: int, causal: bool) -> Any:
        shape = {"heads": count, "S": length, "L": length, "D": 128}
        tiles = {"block_q": 128, "block_k": 128, "causal": causal, "stages": 2}
        return attention.compile(**shape, **tiles)

    return {
        "GEMM 4096^3": lambda: workloads.matmul(4096, 4096, 4096, 128, 256, 64),
        "GEMM 8192 x 8192 x 512": lambda: workloads.matmul(8192, 8192, 512, 128, 256, 64),
        "GEMM 5000 x 4000 x 1000": lambda: workloads.matmul(5000, 4000, 1000, 128, 128, 64),
        "attention 8 x 4096 x 128": lambda: heads(8, 4096, False),
        "attention 8 x 4096 x 128, causal": lambda: heads(8, 4096, True),
        "attention 1 x 16384 x 128, causal": lambda: heads(1, 16384, True),
        "softmax rows 65536 x 1024": lambda: workloads.softmax(65536, 1024, 16),
        "rms_norm rows 65536 x 1024": lambda: workloads.rms_norm(65536, 1024, 8),
        "column sum 1024 x 65536": lambda: workloads.column_sum(1024, 65536, 64, 64),
        "add + gelu 8192^2": lambda: workloads.add_gelu(8192, 8192, 64, 128),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--waves", type=int, default=3)
    options = parser.parse_args()
    one_thread()
    print(f"{'kernel':34}{'waves':>6}{'us':>10}{'error':>9}{'ms':>9}{'sample ms':>11}")
    with setting(sensitivity=0):
        for name, make in kernels().items():
            kernel = make()

            def whole(kernel: Any = kernel) -> Any:
                return kernel.simulate(timing_only=True)

            def sample(kernel: Any = kernel) -> Any:
                return kernel.simulate(timing_only=True, sample_waves=options.waves)

            exact, guess = whole(), sample()
            error = guess.core_us / exact.core_us - 1
            waves = guess.launches[0].waves["all"]
            print(
                f"{name:34}{waves:6}{exact.core_us:10.1f}{error:+9.1%}"
                f"{best(whole, 2):9.1f}{best(sample, 2):11.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
