# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many processes compile the same and different kernels into one cache folder and are killed.

    python bench/cache_stress.py [--seconds 60] [--processes 16] [--kills 4]

Compiling is deterministic, so every entry is known beforehand, byte for byte: each kernel is first
compiled alone. Then the processes compile them in a random order, hit what others have stored,
and now and then clear the folder; `--kills` of them a second get SIGKILL at a random moment
and are started again. All the while entries are compared with what they must be, and each worker
compares its kernels. Exit status 1 for a wrong or torn entry or a worker that fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from measure import BENCH, ONE_THREAD, python

SOURCE = str(BENCH / "workloads.py")
#: Calls of its factories.
KERNELS = [
    "matmul(256, 256, 256, 128, 128, 64)",
    "matmul(512, 256, 128, 128, 64, 64)",
    "softmax(64, 256, 8)",
    "softmax_of_half(64, 256, 8)",
    "rms_norm(64, 512, 4)",
    "rms_norm(64, 512, 8)",
    "column_sum(128, 256, 32, 64)",
    "add_gelu(128, 128, 32, 64)",
    "attention(1, 256, 64)",
    "attention(2, 512, 64, causal=True)",
]

#: A kernel's digest: all its stages, and what its run gives. Modules that are executed anew have
#: other functions, so that the memory of the process knows none of them.
COMMON = """
import hashlib, json, random, sys
import numpy as np
from tilewright import cache
source = open(sys.argv[1]).read()
def compiled(call):
    module = dict(__name__="workloads", __file__=sys.argv[1])
    exec(compile(source, sys.argv[1], "exec"), module)
    kernel = eval(call, module)
    result = kernel(*module["inputs_of"](kernel))
    found = hashlib.sha256(np.ascontiguousarray(result).tobytes())
    found.update(kernel.text("npu").encode())
    return kernel.core.cache_use, kernel.core.cache_problem, found.hexdigest()
"""
ALONE = (
    "import os; os.environ['TILEWRIGHT_CACHE'] = '1'"
    + COMMON
    + "print(json.dumps(compiled(sys.argv[2])))"
)
WORKER = (
    COMMON
    + """
random.seed(int(sys.argv[3]))
expected = json.loads(sys.argv[2])
while True:
    call = random.choice(list(expected))
    use, problem, digest = compiled(call)
    assert use in ("hit", "stored") and digest == expected[call], (call, use, problem)
    if random.random() < 0.01:
        cache.clear_cache()
        use = "cleared"
    print(use, flush=True)
"""
)


def alone(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of the kernels by their calls, and of the entries by their names."""
    os.environ["TILEWRIGHT_CACHE_DIR"] = str(folder)
    expected = {}
    for call in KERNELS:
        done = python(ALONE, SOURCE, call, tries=1)
        assert done, f"{call} does not compile"
        expected[call] = json.loads(done.output)[2]
    return expected, {p.name: digest(p.read_bytes()) for p in folder.glob("*.twk")}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Workers:
    """The processes, which write to one file."""

    def __init__(self, count: int, expected: dict[str, str], folder: Path, log: Path) -> None:
        self.log = log.open("ab")
        variables = ONE_THREAD | {"TILEWRIGHT_CACHE": "1", "TILEWRIGHT_CACHE_DIR": str(folder)}
        path = os.pathsep.join(filter(None, [str(BENCH), os.environ.get("PYTHONPATH", "")]))
        self.environment = {**os.environ, **variables, "PYTHONPATH": path}
        self.command = [sys.executable, "-c", WORKER, SOURCE, json.dumps(expected)]
        self.started = 0
        self.running = [self.start() for _ in range(count)]

    def start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        words = [*self.command, str(self.started)]
        return subprocess.Popen(words, env=self.environment, stdout=self.log, stderr=self.log)

    def kill(self, index: int) -> None:
        """Ends a worker at once; one that has ended by itself stays for `failures` to see."""
        if self.running[index].poll() is None:
            self.running[index].send_signal(signal.SIGKILL)
            self.running[index].wait()

    def failures(self) -> int:
        return sum(worker.poll() not in (None, -signal.SIGKILL) for worker in self.running)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--kills", type=float, default=4, help="a second")
    options = parser.parse_args()
    wrong = failed = kills = read = 0
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name) / "cache", Path(name) / "log"
        expected, entries = alone(Path(name) / "alone")
        workers = Workers(options.processes, expected, folder, log)
        end = time.monotonic() + options.seconds
        next_kill = time.monotonic()
        while time.monotonic() < end and not failed:
            for path in folder.glob("*.twk"):
                try:
                    found = digest(path.read_bytes())
                except FileNotFoundError:
                    continue
                read += 1
                if found != entries.get(path.name):
                    wrong += 1
                    print(f"{path.name} is wrong, {path.stat().st_size} bytes")
            failed = workers.failures()
            if time.monotonic() > next_kill and not failed:
                index = random.randrange(options.processes)
                workers.kill(index)
                workers.running[index] = workers.start()
                kills += 1
                next_kill += random.expovariate(options.kills)
            time.sleep(0.01)
        for index in range(options.processes):
            workers.kill(index)
        lines = log.read_text().splitlines()
        uses = Counter(line for line in lines if line in ("hit", "stored", "cleared"))
        if failed:
            print("\n".join(line for line in lines if line not in uses))
    print(f"{options.seconds:.0f} s: {kills} kills, {read} entries read, {dict(uses)}")
    print(f"{wrong} wrong or torn entries, {failed} failures")
    return int(wrong > 0 or failed > 0 or not uses["hit"])


if __name__ == "__main__":
    sys.exit(main())
