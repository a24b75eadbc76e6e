# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that cannot be written, broken kernel text, kernels that do not end: errors, exit codes."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "bin" / "tilewright-sim"
SUITE = sorted((ROOT / "test" / "checker").glob("*.mlir"))
GOOD = ROOT / "test" / "to_sim" / "gemm.mlir"
FULL = "/dev/full"

SCRIPT = """
import numpy as np
import tilelang, tilelang.language as T

@T.prim_func
def main(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
    with T.Kernel(8) as block:
        a = T.alloc_shared((128,), "float32")
        T.copy(A[block * 128], a)
        T.copy(a, B[block * STEP])

kernel = tilelang.compile(main, out_idx=[1])
kernel(np.ones(1024, np.float32))
kernel(np.ones(1024, np.float32))
print("done")
"""


#: Every constant of a chip file, changed to what it cannot be and to what it hardly is.
CHIPS = """
import json, sys
import tilewright as tilelang, tilewright.language as T
from tilewright.errors import ArgumentError, RunError

@T.prim_func
def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(4) as block:
        a = T.alloc_shared((16, 64), "float16")
        c = T.alloc_fragment((16, 64), "float32")
        b = T.alloc_shared((64, 64), "float16")
        T.copy(A[block * 16, 0], a)
        T.copy(A, b)
        T.gemm(a, b, c, clear_accum=True)
        for i, j in T.Parallel(16, 64):
            c[i, j] = T.exp(c[i, j])
        T.copy(c, B[block * 16, 0])

kernel = tilelang.compile(main, out_idx=[1])
builtin = json.load(open(sys.argv[1]))
keys = [key for key, entry in builtin.items() if isinstance(entry, dict) and "vec_c" not in key]
refused = 0
for key in keys:
    for value in (None, "x", [], -1, 0, 1e-300, 0.1, 1, 3, 100, 4096, 1e6, 1e18, 1e308, 10**30):
        builtin[key], before = {**builtin[key], "value": value}, builtin[key]
        json.dump(builtin, open("mine.json", "w"))
        builtin[key] = before
        print(key, value, flush=True)
        try:
            kernel.simulate(timing_only=True, chip="mine.json")
        except ArgumentError as error:
            refused += 1
            assert key in str(error) or "plan does not fit" in str(error), error
        except RunError as error:  # such as fewer event ids than the program uses
            assert "outside" in str(error), error
print("refused", refused, "of", 15 * len(keys))
"""


def few_bytes() -> None:
    """For a child process: no file grows beyond 2 KiB, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


def run(folder: Path, *options: str, racy: bool = False, **more) -> subprocess.CompletedProcess:
    (folder / "script.py").write_text(
        textwrap.dedent(SCRIPT.replace("STEP", "0" if racy else "128"))
    )
    command = [sys.executable, "-m", "tilewright", "run", *options, "script.py"]
    more = {"stdout": subprocess.PIPE, **more}
    environment = {**os.environ, "TILEWRIGHT_CACHE": "0", "PYTHONUNBUFFERED": ""}
    return subprocess.run(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, timeout=60, env=environment, **more
    )


def tool(*words: str | Path, **more) -> subprocess.CompletedProcess:
    more = {"stdout": subprocess.PIPE, **more}
    command = [str(word) for word in (TOOL, *words, "--sim-threads", "1")]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **more)


@pytest.fixture
def kernel(tmp_path) -> Path:
    """A planned npu module."""
    path = tmp_path / "kernel.mlir"
    command = [TOOL.with_name("tilewright-opt"), GOOD, "--npu-plan-memory", "-o", path]
    subprocess.run(command, check=True)
    return path


def test_exit_codes(tmp_path):
    assert run(tmp_path).returncode == 0
    assert run(tmp_path, "--check").returncode == 0
    assert run(tmp_path, "--check", racy=True).returncode == 2
    assert run(tmp_path, "--no-such-option").returncode == 64
    (tmp_path / "script.py").write_text("raise SystemExit(7)")
    command = [sys.executable, "-m", "tilewright", "run", "--check", "script.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 7


def test_a_trace_goes_to_a_full_disk(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trace.json").write_text("from before")
    done = run(tmp_path, "--trace", "out/trace.json", preexec_fn=few_bytes)
    assert done.returncode == 1 and done.stdout == ""
    assert "out/trace.json cannot be written: File too large" in done.stderr
    assert os.listdir(tmp_path / "out") == ["trace.json"]
    assert (tmp_path / "out" / "trace.json").read_text() == "from before"


@pytest.mark.parametrize(
    ("path", "reason"),
    [(FULL, "No space left on device"), ("none/trace.json", "No such file or directory")],
)
def test_a_trace_that_cannot_be_written(tmp_path, path, reason, kernel):
    done = run(tmp_path, "--trace", path)
    assert done.returncode == 1 and f"{path} cannot be written: {reason}" in done.stderr
    done = tool(kernel, "--trace", path, cwd=tmp_path)
    assert done.returncode == 1 and f"{path} cannot be written: {reason}" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["kernel.mlir", "script.py"]


def test_a_trace_replaces_what_a_link_points_to(tmp_path, kernel):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "trace.json").write_text("old")
    (tmp_path / "trace.json").symlink_to(tmp_path / "real" / "trace.json")
    assert tool(kernel, "--trace", "trace.json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "trace.json").is_symlink()
    assert json.loads((tmp_path / "real" / "trace.json").read_text())["traceEvents"]


def test_sarif(tmp_path):
    done = run(tmp_path, "--sarif", "found.sarif", racy=True)
    assert done.returncode == 2 and done.stdout == "done\n"
    root = json.loads((tmp_path / "found.sarif").read_text())
    assert root["version"] == "2.1.0" and root["$schema"].endswith("sarif-schema-2.1.0.json")
    (part,) = root["runs"]
    rules = part["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == 12
    (result,) = part["results"]
    assert result["ruleId"] == "write-after-write" == rules[result["ruleIndex"]]["id"]
    assert rules[result["ruleIndex"]]["properties"]["tags"] == ["racecheck"]
    assert result["level"] == "error" and "race on tensor B" in result["message"]["text"]
    assert result["occurrenceCount"] == 2 * 28  # pairs of blocks, in two runs
    for places in (result["locations"], result["relatedLocations"]):
        (place,) = places
        physical = place["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "script.py"
        line = SCRIPT.splitlines().index("        T.copy(a, B[block * STEP])") + 1
        assert physical["region"]["startLine"] == line
    assert result["properties"]["edge"] == "an atomic, or parts that do not overlap"


def test_a_script_that_fails_was_not_checked(tmp_path):
    (tmp_path / "script.py").write_text("raise SystemExit(3)\n")
    command = [sys.executable, "-m", "tilewright", "run", "--check", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "nothing found" not in done.stderr


@pytest.mark.parametrize("words", [("--engine", "interpreter"), ("--compare",)])
def test_what_does_not_simulate_is_not_checked(tmp_path, words):
    done = run(tmp_path, "--check", *words)
    assert done.returncode == 0 and "check: nothing was checked" in done.stderr


def test_sarif_without_findings(tmp_path):
    done = run(tmp_path, "--sarif", "none.sarif")
    assert done.returncode == 0 and "check: nothing found" in done.stderr
    assert json.loads((tmp_path / "none.sarif").read_text())["runs"][0]["results"] == []


def test_sarif_goes_to_a_full_disk(tmp_path):
    done = run(tmp_path, "--sarif", FULL)
    assert done.returncode == 1
    assert f"tilewright: {FULL} cannot be written: No space left on device" in done.stderr
    done = run(tmp_path, "--sarif", "found.sarif", racy=True, preexec_fn=few_bytes)
    assert done.returncode == 1 and "found.sarif cannot be written: File too large" in done.stderr
    assert not list(tmp_path.glob("found*"))


def test_sarif_of_the_tool(tmp_path):
    bad = tmp_path / "a b%.mlir"
    text = (ROOT / "test" / "checker" / "wait-without-set.mlir").read_text()
    bad.write_text("\n".join(line for line in text.splitlines() if not line.endswith("// good")))
    done = tool(bad, "--check", "--sarif", tmp_path / "found.sarif")
    assert done.returncode == 1
    (result,) = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "deadlock"
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == bad.as_uri() and uri.endswith("a%20b%25.mlir")


def test_output_goes_to_a_full_disk(tmp_path, kernel):
    with open(FULL, "w") as full:
        done = run(tmp_path, stdout=full)
        assert done.returncode == 1
        assert "standard output cannot be written: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
        for option in ("--json", "--checksums"):
            done = tool(kernel, option, stdout=full)
            assert done.returncode == 1
            assert "standard output cannot be written: No space left" in done.stderr


def test_text_that_is_cut_short(tmp_path, kernel):
    """Wherever it ends, the tool says what is wrong, or runs what is there."""
    text = kernel.read_text()
    for end in range(0, len(text), len(text) // 25):
        kernel.write_text(text[:end])
        done = tool(kernel, "--check", "--checksums")
        assert done.returncode in (0, 1), (end, done.stderr)
        assert done.returncode == 0 or "error:" in done.stderr or "--function" in done.stderr


@pytest.mark.parametrize("path", SUITE[::7], ids=lambda path: path.stem)
def test_text_with_one_thing_changed(path, tmp_path):
    """Numbers, lines and pipes that are wrong end in an error or a finding, never in a crash."""
    choose = random.Random(path.stem)
    lines = path.read_text().splitlines()
    changed = tmp_path / "changed.mlir"
    for _ in range(12):
        copy = list(lines)
        at = choose.randrange(len(copy))
        number = choose.choice(["-1", "0", "7", "1000000", "4611686018427387904"])
        change = choose.choice(["drop", "double", "number", "pipe"])
        if change == "drop":
            del copy[at]
        elif change == "double":
            copy.insert(at, copy[at])
        elif change == "number":
            at = choose.choice([i for i, line in enumerate(copy) if "constant" in line])
            head, _, tail = copy[at].partition("constant ")
            copy[at] = f"{head}constant {number} {tail[tail.find(':') :]}"
        else:
            copy[at] = copy[at].replace("MTE2", "V").replace("MTE3", "S")
        changed.write_text("\n".join(copy))
        done = tool(changed, "--check", "--json", "--max-instructions", "100000")
        assert done.returncode in (0, 1, 2), (change, at, done.stderr)


def test_a_kernel_that_does_not_end(tmp_path):
    text = (ROOT / "test" / "checker" / "endless-loop.mlir").read_text()
    endless = tmp_path / "endless.mlir"
    endless.write_text("\n".join(x for x in text.splitlines() if not x.endswith("// good")))
    done = tool(endless, "--max-instructions", "1000", "--trace", tmp_path / "trace.json")
    assert done.returncode == 1
    assert "ran 1000 scalar instructions without an end" in done.stderr
    assert os.listdir(tmp_path) == ["endless.mlir"]


def test_chip_files_with_one_absurd_value(tmp_path):
    """An error that names the key, or times: no crash, no run without an end."""
    chip = ROOT / "tilewright" / "machine" / "chips" / "910b3.json"
    (tmp_path / "chips.py").write_text(CHIPS)
    command = [sys.executable, "chips.py", str(chip)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    _, refused, _, tried = done.stdout.splitlines()[-1].split()
    assert int(refused) > int(tried) / 2


def test_sizes_that_are_none(kernel):
    for option in ("--shape=0=-1x4", "--shape=0=4611686018427387904x4"):
        done = tool(kernel, option)
        assert done.returncode == 1 and "argument 0" in done.stderr


ENDLESS = """
import numpy as np
import tilewright as tilelang
import tilewright.language as T


@tilelang.jit
def many(A):
    A: T.Tensor((16,), T.float32)
    with T.Kernel(2**31 - 1) as b:
        a = T.alloc_shared((16,), T.float32)
        T.copy(A, a)
        T.atomic_add(A, a)


kernel = many.compile()
print("runs", flush=True)
kernel(np.zeros(16, np.float32))
"""


HALVES = (
    ENDLESS.replace("as b:", "as (b, half):")
    .replace("2**31 - 1", "2**31 - 1, is_npu=True")
    .replace("T.copy(A, a)", "T.copy(A, a)\n        N[half] = 1")
    .replace("(A):", "(A, N):\n    N: T.Tensor((2,), T.int32)")
    .replace("np.float32))", "np.float32), np.zeros(2, np.int32))")
)
ONE_BLOCK = (
    ENDLESS.replace("2**31 - 1", "1")
    .replace("T.copy(A, a)", "for _ in T.serial(2**31 - 1):\n            T.copy(A, a)")
    .replace("as b:", "as b:  # one")
)


@pytest.mark.parametrize(
    ("text", "engine", "threads"),
    [
        (ENDLESS, "simulator", 1),
        (ENDLESS, "simulator", 2),
        (ENDLESS, "interpreter", 1),
        (ONE_BLOCK, "interpreter", 1),
        (HALVES, "interpreter", 1),
    ],
)
def test_a_long_run_hears_an_interrupt(tmp_path, text, engine, threads):
    script = tmp_path / "endless.py"
    script.write_text(text)
    child = subprocess.Popen(
        [sys.executable, str(script)],
        env={
            **os.environ,
            "TILEWRIGHT_NUM_THREADS": str(threads),
            "TILEWRIGHT_ENGINE": engine,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Also where interrupts are ignored, as they are in the background of some shells.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "runs\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors
