# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright bug-report`: one zip from which the fault can be seen again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tilewright._core")

KERNEL = """
import sys
import numpy as np
import tilewright as tilelang
import tilewright.language as T
from parts.amount import AMOUNT

@tilelang.jit(out_idx=-1)
def make(n):
    @T.prim_func
    def shift(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((n,), "float32")
            T.copy(A, a)
            for i in T.Parallel(n):
                a[i] = a[i] + AMOUNT
            T.copy(a, B)

    return shift

print("shifted", make(64)(np.arange(64, dtype=np.float32))[:3], sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    """A script with a package of its own."""
    folder = tmp_path / "work"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "__init__.py").write_text("")
    (folder / "parts" / "amount.py").write_text("AMOUNT = 5\n")
    (folder / "other.py").write_text("unused = 1\n")
    path = folder / "script.py"
    path.write_text(KERNEL)
    return path


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "tilewright", "bug-report", *map(str, words)]


def report(path: Path, *words: str | Path, code: int = 0, **options):
    done = subprocess.run(
        command(*words), capture_output=True, text=True, timeout=200, cwd=path, **options
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def contents(path: Path) -> tuple[zipfile.ZipFile, dict]:
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    return archive, json.loads(archive.read("report.json"))


def rerun(archive: zipfile.ZipFile, folder: Path) -> subprocess.CompletedProcess[str]:
    """Does what README.txt says."""
    archive.extractall(folder)
    lines = (folder / "README.txt").read_text().splitlines()
    (line,) = [text.strip() for text in lines if "tilewright run" in text]
    tool = folder / "tilewright"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tilewright "$@"\n')
    tool.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_")}
    options = {"capture_output": True, "text": True, "env": {**kept, "PATH": path}}
    return subprocess.run(["sh", "-c", line], cwd=folder, timeout=120, **options)


def test_a_report_runs_again(script, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DISABLE", "pipeline")
    done = report(tmp_path, "--chip", "910b1", script, "--x", "y z")
    assert done.stdout.endswith(
        f"the script ended with exit code 0; wrote {tmp_path}/tilewright-report-script.zip\n"
    )
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    names = archive.namelist()
    for name in ("script.py", "parts/__init__.py", "parts/amount.py"):
        assert f"files/{name}" in names
    assert not any("other.py" in name or name.startswith(("data/", "/")) for name in names)
    stages = [name for name in names if name.startswith("ir/shift/")]
    assert any("-tile.mlir" in s for s in stages) and any("insert-sync" in s for s in stages)
    assert facts["command"][:4] == ["tilewright", "run", "--chip", "910b1"]
    assert facts["environment"]["TILEWRIGHT_DISABLE"] == "pipeline"
    assert "tilewright" in facts["versions"]["compiler"] and facts["versions"]["build"]
    assert facts["kernels"] == [
        {
            "kernel": "shift",
            "arguments": [
                {"name": "A", "output": False, "dtype": "float32", "shape": [64]},
                {"name": "B", "output": True, "dtype": "float32", "shape": [64]},
            ],
        }
    ]
    printed = archive.read("output.txt").decode()
    assert printed == "shifted [5. 6. 7.] ['--x', 'y z']\n"
    again = rerun(archive, tmp_path / "there")
    assert again.stdout == printed and again.returncode == 0, again.stderr


def test_an_error_in_a_kernel(script, tmp_path):
    script.write_text(KERNEL.replace("T.copy(a, B)", "T.gemm(a)"))
    done = report(tmp_path, "-o", "mine.zip", script)
    assert "ended with exit code 1; wrote" in done.stdout
    archive, facts = contents(tmp_path / "mine.zip")
    assert facts["exit_code"] == 1 and facts["ended"] == "ended with exit code 1"
    printed = archive.read("output.txt").decode()
    assert "CompileError" in printed and "T.gemm(a)" in printed
    again = rerun(archive, tmp_path / "there")
    assert again.returncode == 1 and "CompileError" in again.stderr


def test_stages_of_a_kernel_that_fails_on_its_way(script, tmp_path):
    """The tiles are larger than the memory, which is found when it is planned."""
    script.write_text(KERNEL.replace("make(64)(np.arange(64", "make(10**7)(np.arange(10**7"))
    report(tmp_path, script)
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    names = [n for n in archive.namelist() if n.startswith("ir/shift/")]
    assert names and not any("insert-sync" in n for n in names)
    assert facts["exit_code"] == 1


def test_a_crash(script, tmp_path):
    """What was noted before stays; the place of the crash is in the output."""
    script.write_text(KERNEL + "\nimport os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    report(tmp_path, script)
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    assert facts["ended"] == "was killed by SIGSEGV" and len(facts["kernels"]) == 1
    assert "Segmentation fault" in archive.read("output.txt").decode()
    assert "files/parts/amount.py" in archive.namelist()


def test_data_only_when_asked_for(script, tmp_path):
    report(tmp_path, "--data", script)
    archive, _ = contents(tmp_path / "tilewright-report-script.zip")
    (name,) = [n for n in archive.namelist() if n.startswith("data/")]
    assert name == "data/1-shift/A.npy"
    with archive.open(name) as file:
        found = np.lib.format.read_array(file)
    np.testing.assert_array_equal(found, np.arange(64, dtype=np.float32))


def test_data_of_a_run_without_data(script, tmp_path):
    script.write_text(KERNEL.partition("print(")[0] + "make(64).simulate(timing_only=True)\n")
    report(tmp_path, "--data", script)
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    assert facts["exit_code"] == 0 and len(facts["kernels"]) == 1
    assert not any(name.startswith("data/") for name in archive.namelist())


def test_modules_from_another_folder(script, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (script.parent / "parts").rename(other / "parts")
    path = os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])
    report(tmp_path, script, env={**os.environ, "PYTHONPATH": path})
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    assert "path0/parts/amount.py" in facts["files"]
    again = rerun(archive, tmp_path / "there")
    assert "shifted [5. 6. 7.]" in again.stdout, again.stderr


def test_a_module(script, tmp_path):
    report(script.parent, "-o", tmp_path / "mine.zip", "-m", "script", "z")
    archive, facts = contents(tmp_path / "mine.zip")
    assert facts["command"] == ["tilewright", "run", "-m", "script", "z"]
    again = rerun(archive, tmp_path / "there")
    assert again.stdout == archive.read("output.txt").decode() != "", again.stderr


def test_findings_of_the_checker_are_in_the_report(script, tmp_path):
    report(tmp_path, "--check", script)
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    assert "check: nothing found" in archive.read("output.txt").decode()
    assert "--check" in facts["command"]


def test_nothing_is_left_when_the_zip_cannot_be_written(script, tmp_path):
    done = report(tmp_path, "-o", tmp_path / "none" / "x.zip", script, code=1)
    assert (
        done.stderr == f"tilewright: error[E0914]: cannot write {tmp_path}/none/x.zip: "
        "No such file or directory\n"
    )
    assert "shifted" not in done.stdout  # known before the script runs


def test_a_full_disk_leaves_no_half_of_a_zip(script, tmp_path):
    code = f"""
    import resource, signal, sys
    from tilewright.report import bug_report
    from tilewright.cli import main
    run = bug_report._run
    def full(options, folder):
        found = run(options, folder)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        return found
    bug_report._run = full
    sys.exit(main(["bug-report", {str(script)!r}]))
    """
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=out
    )
    assert done.returncode == 1 and "File too large" in done.stderr, done.stderr
    assert list(out.iterdir()) == []


def test_an_endless_script_is_reported_when_it_is_interrupted(script, tmp_path):
    script.write_text(KERNEL + "\nopen('started', 'w').close()\nwhile True: pass\n")
    child = subprocess.Popen(
        command(script),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A run of the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 100
    while not (tmp_path / "started").exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and "the script was interrupted; wrote" in out
    archive, facts = contents(tmp_path / "tilewright-report-script.zip")
    assert facts["ended"] == "was interrupted" and len(facts["kernels"]) == 1
    assert "KeyboardInterrupt" in archive.read("output.txt").decode()


def test_no_script(tmp_path):
    assert (
        report(tmp_path, "none.py", code=1).stderr == "tilewright: error[E0910]: no file none.py\n"
    )
    assert list(tmp_path.iterdir()) == []
