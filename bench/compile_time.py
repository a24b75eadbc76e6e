# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How compile time grows with the size of a kernel.

    python bench/compile_time.py [--most 5000] [--kind vector]

Kernels of 100 to 5,000 statements: loads, element-wise work, reductions and stores (`vector`), the
same with products (`mixed`), and loops of a few statements (`loops`). Prints CPU milliseconds, and
those per statement: they must not grow."""

from __future__ import annotations

import argparse
import importlib.util
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import one_thread, setting

SIZES = (100, 200, 500, 1000, 2000, 5000)
HEAD = """import tilewright as tilelang
import tilewright.language as T


@T.prim_func
def main(A: T.Tensor((4096, 64), "float16"), B: T.Tensor((4096, 64), "float32")):
    with T.Kernel(16) as block:
"""


def vector(choose: random.Random, number: int) -> list[str]:
    """One statement on tiles of 16 x 64."""
    x, y, z = (f"t{choose.randrange(8)}" for _ in range(3))
    row = (number * 16) % 4096
    return choose.choice(
        [
            [f"T.copy(A[{row}, 0], {x})"],
            [f"T.copy({x}, B[block * 256 + {row % 256}, 0])"],
            ["for i, j in T.Parallel(16, 64):", f"    {x}[i, j] = {y}[i, j] * 0.5 + {z}[i, j]"],
            [f"T.reduce_max({x}, r0, dim=1)"],
            ["for i, j in T.Parallel(16, 64):", f"    {x}[i, j] = {y}[i, j] - r0[i]"],
        ]
    )


def mixed(choose: random.Random, number: int) -> list[str]:
    if number % 5:
        return vector(choose, number)
    row = (number * 16) % 4096
    return choose.choice(
        [
            [f"T.copy(A[{row}, 0], a)"],
            [f"T.copy(A[{row % 4032}, 0], b)"],
            ["T.gemm(a, b, q, transpose_B=True, clear_accum=True)"],
            ["for i, j in T.Parallel(16, 64):", "    t0[i, j] = t0[i, j] + q[i, j]"],
        ]
    )


def loops(choose: random.Random, number: int) -> list[str]:
    """A loop for each ten statements."""
    if number % 10:
        return ["    " + line for line in vector(choose, number)]
    return [f"for k{number} in T.serial(4):", f"    T.copy(A[k{number} * 16, 0], t0)"]


KINDS: dict[str, Callable[[random.Random, int], list[str]]] = {
    "vector": vector,
    "mixed": mixed,
    "loops": loops,
}


def source(kind: str, statements: int) -> str:
    choose = random.Random(0)
    lines = [f't{n} = T.alloc_shared((16, 64), "float32")' for n in range(8)]
    lines += ['q = T.alloc_fragment((16, 64), "float32")']
    lines += ['r0 = T.alloc_fragment((16,), "float32")']
    lines += ['a = T.alloc_shared((16, 64), "float16")', 'b = T.alloc_shared((64, 64), "float16")']
    for number in range(statements):
        lines += KINDS[kind](choose, number)
    return HEAD + "".join(f"        {line}\n" for line in lines)


def compiled(text: str, folder: Path) -> tuple[Any, float]:
    """The kernel and the CPU milliseconds that reading and compiling it took."""
    import tilewright as tilelang

    path = folder / f"kernel_{time.monotonic_ns()}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    start = time.process_time()
    kernel = tilelang.compile(module.main)
    return kernel, (time.process_time() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=5000)
    parser.add_argument("--kind", action="append", choices=KINDS)
    options = parser.parse_args()
    one_thread()
    with tempfile.TemporaryDirectory() as name, setting(disable=""):
        compiled(source("mixed", 20), Path(name))  # what a first one costs
        for kind in options.kind or KINDS:
            print(f"{kind}: statements, ms, ms a statement")
            for size in SIZES:
                if size > options.most:
                    break
                best = min(compiled(source(kind, size), Path(name))[1] for _ in range(2))
                print(f"  {size:6}{best:10.0f}{best / size:8.2f}", flush=True)


if __name__ == "__main__":
    main()
