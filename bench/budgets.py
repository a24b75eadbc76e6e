# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what compiling and simulating cost on this machine, against budgets and peers.

    python bench/budgets.py [--peers PYTHON] [--quick] [--only WORD] [--json FILE]

Every figure is the smallest CPU time of several tries on one thread. Where a peer runs here, the
budget is a ratio to it, measured in the same run: the figures of the budget were found on a faster
or slower machine. PYTHON may be the interpreter of an environment with tilelang. run_peers.py
runs more of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from measure import BENCH, best, fresh, load, one_thread, python, setting

PARTS = (
    "import tilewright as tilelang, tilewright.language as T; tilelang.jit; import tilewright._core"
)
COLD = {
    "GEMM": "import workloads; workloads.matmul(1024, 1024, 1024, 128, 128, 64)",
    "flash attention": "import workloads; workloads.attention(8, 1024, 64)",
}


@dataclass
class Row:
    """One line of the table; times in milliseconds, or what `unit` says."""

    name: str
    budget: float | None
    measured: float | None
    peer_name: str = ""
    peer: float | None = None
    ratio_budget: float | None = None  #: of measured to peer; decides when there is a peer
    unit: str = "ms"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.measured / self.peer if self.measured is not None and self.peer else None

    @property
    def share(self) -> float | None:
        """Measured as a multiple of what is allowed."""
        if self.ratio is not None and self.ratio_budget is not None:
            return self.ratio / self.ratio_budget
        if self.measured is not None and self.budget:
            return self.measured / self.budget
        return None

    @property
    def verdict(self) -> str:
        if self.share is None:
            return "-"
        return "met" if self.share <= 1 else "within 2x" if self.share <= 2 else "MISSED"

    def text(self) -> list[str]:
        limit = "-" if self.budget is None else f"< {self.budget:g} {self.unit}"
        if self.ratio_budget is not None and self.peer:
            limit += f" ({self.ratio_budget:.1f} x peer)"
        measured = "-" if self.measured is None else f"{self.measured:.3g} {self.unit}"
        peer = f"{self.peer_name} {self.peer:.3g}" if self.peer else self.peer_name or "-"
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else "-"
        return [self.name, limit, measured, peer, ratio, self.verdict, self.note]


@dataclass
class Options:
    peers: str | None
    quick: bool

    @property
    def tries(self) -> int:
        return 3 if self.quick else 7


def peer_import(options: Options) -> float | None:
    if options.peers is None:
        return None
    code = "import tilelang, tilelang.language"
    found = python(code, tries=options.tries, executable=options.peers)
    return found.cpu if found else None


def imports(options: Options) -> list[Row]:
    bare = python("", tries=options.tries)
    light = python("import tilewright", tries=options.tries)
    whole = python(PARTS, tries=options.tries)
    torch_free = python(PARTS + "; import sys; print('torch' in sys.modules)", tries=1)
    assert bare and light and whole and torch_free
    note = f"{whole.wall - bare.wall:.0f} ms wall; the package alone {light.cpu - bare.cpu:.0f} ms"
    if "True" in torch_free.output:
        note += "; TORCH IS IMPORTED"
    peer = peer_import(options)
    return [
        Row(
            "import with language, jit and compiler",
            200,
            whole.cpu - bare.cpu,
            "tilelang" if peer else "tilelang 1500 (published)",
            peer and peer - bare.cpu,
            note=note,
        )
    ]


def cold(options: Options) -> list[Row]:
    rows = []
    for name, budget, published in (
        ("GEMM", 500, "Triton 640, tilelang 1700 (published)"),
        ("flash attention", 700, "tilelang 2000 (published)"),
    ):
        found = python(COLD[name], tries=options.tries)
        cpu = found.cpu if found else None
        note = f"{found.wall:.0f} ms wall, interpreter's start included" if found else "failed"
        rows.append(
            Row(f"cold process, source to runnable: {name}", budget, cpu, published, note=note)
        )
    return rows


def compile_again(options: Options) -> list[Row]:
    import workloads

    from tilewright import cache

    def gemm() -> None:
        cache.clear_cache()
        workloads.matmul(1024, 1024, 1024, 128, 128, 64)

    def attention() -> None:
        cache.clear_cache()
        workloads.attention(8, 1024, 64)

    return [
        Row("compile again: GEMM", 60, best(gemm, options.tries), "Triton 60-220 (published)"),
        Row(
            "compile again: flash attention",
            60,
            best(attention, options.tries),
            "tilelang 390 (published)",
        ),
    ]


def repeat(options: Options) -> list[Row]:
    import numpy as np
    import workloads

    x = np.zeros((2, 16), np.float32)
    kernel = workloads.rms_norm(2, 16, 2)

    def calls() -> None:
        for _ in range(100):
            workloads.rms_norm(2, 16, 2)

    def runs() -> None:
        for _ in range(100):
            kernel(x)

    def both() -> None:
        for _ in range(100):
            workloads.rms_norm(2, 16, 2)(x)

    memo, run = best(calls, options.tries) / 100, best(runs, options.tries) / 100
    return [
        Row(
            "repeat call in process, a kernel of one block",
            1,
            best(both, options.tries) / 100,
            "Triton 0.7 (published)",
            note=f"finding the kernel {memo:.3f} ms, running it {run:.3f} ms",
        ),
    ]


DISK = """
import os, time
os.environ["TILEWRIGHT_CACHE"] = "1"
import tilewright as tilelang, tilewright.language as T; tilelang.jit; import tilewright._core
import workloads
start = time.process_time()
kernel = workloads.{call}
print((time.process_time() - start) * 1e3, kernel.core.cache_use)
"""


def disk(options: Options) -> list[Row]:
    """The front end runs, since the key is the IR that it builds; no stage does."""
    rows = []
    for name, call in (
        ("GEMM", "matmul(1024, 1024, 1024, 128, 128, 64)"),
        ("flash attention", "attention(8, 1024, 64)"),
    ):
        with tempfile.TemporaryDirectory() as folder, setting(cache_dir=folder):
            tries = [python(DISK.format(call=call), tries=1) for _ in range(options.tries + 1)]
        words = [found.output.split() for found in tries if found]
        assert [w[1] for w in words] == ["stored"] + ["hit"] * options.tries
        note = f"when it is compiled and stored {float(words[0][0]):.1f} ms"
        hit = min(float(w[0]) for w in words[1:])
        rows.append(Row(f"disk hit after import: {name}", 40, hit, note=note))
    return rows


EDIT = """
import torch, time
start = time.process_time()
import numpy as np, workloads
kernel = workloads.matmul(1024, 1024, 1024, 128, 128, 64)
a = torch.ones(1024, 1024, dtype=torch.float16)
kernel(a, a)
print((time.process_time() - start) * 1e3)
"""


def edit_and_run(options: Options) -> list[Row]:
    name = "edit a line, run GEMM 1024^3 with time and check"
    with setting(time=1, check=1):
        found = python(EDIT, tries=3)
    if found is None:
        return [Row(name, 1500, None, note="no PyTorch here")]
    cpu = float(found.output.split()[-1])
    return [Row(name, 1500, cpu, note="in a fresh process, beyond importing torch")]


def modes(run: Callable[[], Any], tries: int) -> tuple[float, float, float, float]:
    """Functional, with clock, with check, with both; in turns, so that all meet the same load."""
    found = [float("inf")] * 4
    time, check = {"time": 1, "sensitivity": 0}, {"check": 1}
    settings: tuple[dict[str, int], ...] = ({}, time, check, time | check)
    with quiet():
        for _ in range(tries):
            for mode, variables in enumerate(settings):
                with setting(**variables):
                    found[mode] = min(found[mode], best(run, 2))
    return found[0], found[1], found[2], found[3]


class quiet:
    """Keeps the predicted times, which each run reports, off the terminal."""

    def __enter__(self) -> None:
        self.err = sys.stderr
        self.sink = open(os.devnull, "w")
        sys.stderr = self.sink

    def __exit__(self, *_: object) -> None:
        sys.stderr = self.err
        self.sink.close()


def torch_time(make: Callable[[Any], Callable[[], Any]], tries: int) -> float | None:
    """Of what `make` builds with PyTorch on one thread; None without it."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return best(make(torch), tries)


def functional(options: Options) -> list[Row]:
    import numpy as np
    import workloads

    tries = options.tries + 2
    random = np.random.default_rng(0)
    rows = []
    for size, limit, share in ((512, 3, 2.7), (2048, None, 1 / 0.7)):
        a, b = (random.standard_normal((size, size)).astype(np.float16) for _ in range(2))
        wide = a.astype(np.float32), b.astype(np.float32)
        kernel = workloads.matmul(size, size, size, 128, 256, 64)
        plain = best(lambda k=kernel, a=a, b=b: k(a, b), 2 * tries)
        numpy = best(lambda w=wide: w[0] @ w[1], 2 * tries)
        name = f"GEMM {size}^3 f16 -> f16, functional"
        rows.append(Row(name, limit, plain, "OpenBLAS f32", numpy, share))

    x = random.standard_normal((1024, 1024)).astype(np.float32)
    kernel = workloads.softmax(1024, 1024, 16)
    plain = best(lambda: kernel(x), 4 * tries)

    def row_softmax(torch: Any) -> Callable[[], Any]:
        wide = torch.from_numpy(x)
        return lambda: wide.softmax(1)

    peer = torch_time(row_softmax, 4 * tries)
    rows.append(Row("softmax 1024^2 f32, functional", 1.5, plain, "torch", peer, 3.6))

    shape = (2 if options.quick else 8, 4096, 128)
    q, k, v = (random.standard_normal(shape).astype(np.float16) for _ in range(3))
    attention = workloads.attention(*shape, 128, 256)
    plain = best(lambda: attention(q, k, v), 3)

    def sdpa(torch: Any) -> Callable[[], Any]:
        wide = [torch.from_numpy(each.astype(np.float32))[None] for each in (q, k, v)]
        return lambda: torch.nn.functional.scaled_dot_product_attention(*wide)

    name = "attention {} x {} x {}, functional".format(*shape)
    rows.append(Row(name, None, plain, "torch f32", torch_time(sdpa, 3), 2))
    return rows


#: Seconds of functional runs in `overhead`: the least of a few dozen runs of less than a
#: millisecond moves by a tenth with what else the host's memory does, that of hundreds does not.
OVERHEAD_SECONDS = 0.5


def overhead(options: Options) -> list[Row]:
    """What clock and checker add to a functional run."""
    import workloads

    rows = []
    for name, make in workloads.SUITE.items():
        kernel = make()
        inputs = workloads.inputs_of(kernel)
        run = lambda k=kernel, i=inputs: k(*i)  # noqa: E731
        tries = 3 * options.tries
        if not options.quick:
            tries = max(tries, int(OVERHEAD_SECONDS * 1000 / best(run, 3)))
        plain, timed, checked, both = modes(run, tries)
        note = f"with clock {timed / plain:.2f} x, with check {checked / plain:.2f} x"
        name = f"{name}, clock and check"
        rows.append(Row(name, None, both, "functional", plain, 1.5, note=note))
    return rows


def threads(options: Options) -> list[Row]:
    """Wall-clock time of one thread against two; means little on a machine that does other work."""
    import time

    import workloads

    rows = []
    for name, kernel in (
        ("GEMM 2048^3", workloads.matmul(2048, 2048, 2048, 128, 256, 64)),
        ("attention 2 x 2048 x 128", workloads.attention(2, 2048, 128, 128, 256)),
    ):
        inputs = workloads.inputs_of(kernel)
        found = [float("inf")] * 2
        for _ in range(options.tries):
            for count in (1, 2):
                with setting(num_threads=count):
                    start = time.perf_counter()
                    kernel(*inputs)
                    found[count - 1] = min(found[count - 1], (time.perf_counter() - start) * 1e3)
        row = Row(f"two threads: {name}", None, found[1], "one thread", found[0], 1 / 1.8)
        row.note = f"{found[0] / found[1]:.2f} times as fast; wall-clock time"
        rows.append(row)
    return rows


SIMULATOR = BENCH.parent / os.environ.get("TILEWRIGHT_BUILD", "build") / "bin" / "tilewright-sim"


def clock_alone(kernel: Any, turns: int) -> float | None:
    """Milliseconds of the clock: of timing stored records once more, the mean over `turns`."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(kernel.text("npu"))
        file.flush()
        command = [str(SIMULATOR), file.name, "--timing-only", "--json"]
        more = ["--alternative=scalar_issue=2"] * turns
        once, again = fresh(command), fresh([*command, *more])
    return (again.cpu - once.cpu) / turns if once and again else None


def timing_only(options: Options) -> list[Row]:
    import numpy as np
    import workloads

    from tilewright.kernel import Timing

    def timed(kernel: Any, *inputs: Any, with_data: bool = False) -> float:
        def run() -> None:
            with Timing(with_data):
                kernel(*inputs)

        return best(run, 1 if with_data else 3)

    def event(name: str, kernel: Any, whole: float, budget: float, turns: int) -> Row:
        """Nanoseconds per event of the clock alone; as a note those of engine and clock."""
        events = sum(launch["events"] for launch in kernel.last_report["launches"])
        clock = clock_alone(kernel, turns)
        each = None if clock is None else clock * 1e6 / events
        note = f"clock alone; with the engine {whole * 1e6 / events:.0f} ns; {events} events"
        return Row(f"an event of the {name}", budget, each, unit="ns", note=note)

    a = np.zeros((4096, 4096), np.float16)
    q = np.zeros((1, 32768, 128), np.float16)
    with quiet():
        matmul = workloads.matmul(4096, 4096, 4096, 128, 256, 64)
        attention = workloads.attention(1, 32768, 128, 128, 256)
        gemm, whole = timed(matmul, a, a), timed(matmul, a, a, with_data=True)
        flash = timed(attention, q, q, q)
    return [
        Row("timing only: GEMM 4096^3", 100, gemm, note=f"with its data {whole:.0f} ms"),
        Row("timing only: attention 32768 x 128, one head", 1000, flash),
        event("GEMM", matmul, gemm, 60, 50),
        event("attention", attention, flash, 150, 5),
    ]


MEMORY = """
import re, sys
import numpy as np
import workloads
from tilewright.kernel import Timing
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
name, with_data = sys.argv[1], sys.argv[2] == "data"
if name == "attention":
    kernel = workloads.attention(1, 65536, 128, 128, 256)
else:
    size = int(name)
    kernel = workloads.matmul(size, size, size, 128, 256, 64, out_dtype="float32")
inputs = [np.ones(kernel.parameters[i]["shape"], np.float16) for i in kernel.inputs]
before = peak()
if with_data:
    result = kernel(*inputs)
    print(peak() - before - result.nbytes / 2**20)
else:
    with Timing(with_data=False):
        kernel(*inputs)
    print(peak() - before)
"""


def memory(options: Options) -> list[Row]:
    """Largest resident set beyond the process with its compiled kernel and its tensors."""

    def over(name: str, kind: str, **variables: int) -> float | None:
        with setting(**variables):
            found = python(MEMORY, name, kind, tries=1)
        return float(found.output.split()[-1]) if found else None

    def row(what: str, budget: float, found: float | None, note: str = "") -> Row:
        return Row(f"memory over tensors: {what}", budget, found, unit="MiB", note=note)

    plain, both = over("4096", "data"), over("4096", "data", time=1, check=1)
    note = f"without them {plain:.0f} MiB" if plain is not None else "failed"
    rows = [
        row("GEMM 4096^3, clock and check", 1536, both, note),
        row("GEMM 8192^3, timing only", 2048, over("8192", "times")),
        row("attention 65536 x 128, timing only", 2048, over("attention", "times")),
    ]
    if not options.quick:
        whole = over("8192", "data", time=1, check=1)
        rows.append(row("GEMM 8192^3, clock and check", 2048, whole))
    return rows


SECTIONS: dict[str, Callable[[Options], list[Row]]] = {
    "import": imports,
    "cold": cold,
    "again": compile_again,
    "repeat": repeat,
    "disk": disk,
    "edit": edit_and_run,
    "functional": functional,
    "overhead": overhead,
    "threads": threads,
    "memory": memory,
    "timing": timing_only,
}


def table(rows: list[Row]) -> str:
    lines = [["what", "budget", "measured", "peer", "ratio", "verdict", "note"]]
    lines += [row.text() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[6]]
        ).rstrip()
        for line in lines
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers", metavar="PYTHON", help="interpreter of an environment with peers"
    )
    parser.add_argument("--quick", action="store_true", help="fewer tries, smaller problems")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="only this part")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    options = parser.parse_args()
    one_thread()
    print(f"one thread, CPU time, best of several; {load()}", flush=True)
    rows: list[Row] = []
    for name in options.only or SECTIONS:
        rows += SECTIONS[name](Options(options.peers, options.quick))
    print(table(rows))
    print(load())
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            found = [asdict(r) | {"ratio": r.ratio, "verdict": r.verdict} for r in rows]
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
