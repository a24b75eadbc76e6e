# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright export --kit` and `import-result`, with stand-ins for hivmc, msprof and AscendCL."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright
from hivm_package import SCRIPT

STAND_IN = Path(__file__).resolve().parents[1] / "ascendcl"
COMPILER = next(filter(None, map(shutil.which, ("clang++-19", "clang++", "g++"))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler for the launcher")

NAME = "the kit"  #: with a blank
CALLS = """
double(np.arange(600, dtype=np.float32))
double(np.arange(600, dtype=np.float32))
double(np.arange(100, dtype=np.float32))
"""
#: Takes a text as it is.
COMPILE = """#!/bin/sh
[ "$1" = --version ] && { echo "compiler $VERSION"; exit 0; }
from="$1"
while [ "$1" != -o ]; do shift; done
cp "$from" "$2"
"""
#: Runs the application and finds that it was busy.
PROFILE = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --application=*) ${word#--application=} || exit 1 ;;
    --output=*) mkdir -p "${word#--output=}" && out="${word#--output=}" ;;
  esac
done
cat > "$out/op_summary_0.csv" <<'END'
Op Name,Task Duration(us),aiv_vec_ratio,aiv_mte2_ratio,aic_mac_ratio
double,9.5,0.1,0.4,N/A
double,2.5,0.25,0.5,N/A
END
"""


def command(*words: str, folder: Path, code: int = 0):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )
    assert done.returncode == code, done.stderr
    return done


def kit(folder: Path) -> Path:
    (folder / "script.py").write_text(SCRIPT + CALLS)
    done = command("export", "--kit", NAME, "script.py", folder=folder)
    assert "double: double.mlir: aiv, grid" in done.stderr
    assert "untested on hardware" in done.stderr
    return folder / NAME


def cann(folder: Path, version: str = "1.2.0") -> dict[str, str]:
    """An environment with the stand-ins."""
    programs, home = folder / "bin", folder / "cann"
    programs.mkdir()
    for name, text in (
        ("hivmc", COMPILE.replace("$VERSION", version)),
        ("bishengir-compile", COMPILE.replace("$VERSION", "1.2.0")),
        ("msprof", PROFILE),
    ):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (home / "lib64").mkdir(parents=True)
    shutil.copytree(STAND_IN / "include", home / "include")
    words = [COMPILER, "-std=c++17", "-shared", "-fPIC", f"-I{home / 'include'}"]
    library = home / "lib64" / "libascendcl.so"
    subprocess.run([*words, str(STAND_IN / "ascendcl.cc"), "-o", str(library)], check=True)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    extra = {"ASCEND_TOOLKIT_HOME": str(home), "CXX": str(COMPILER), "PYTHON": sys.executable}
    return os.environ | extra | {"PATH": path}


def run_on_npu(folder: Path, environment: dict[str, str], code: int = 0) -> str:
    done = subprocess.run(
        ["sh", str(folder / "run_on_npu.sh")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_compiler
def test_kit_runs_and_comes_back(tmp_path):
    folder = kit(tmp_path)
    assert json.loads((folder / "kit.json").read_text())["kernels"] == ["double", "double-2"]
    given = np.load(folder / "double" / "inputs.npz")
    assert np.array_equal(given["A"], np.arange(600)) and not given["B"].any()
    said = run_on_npu(folder, cann(tmp_path))
    assert "largest differences {'A': 0.0, 'B': 0.0}" in said
    result = json.loads((folder / "result.json").read_text())
    assert [k["microseconds"] for k in result["kernels"]] == [2.5, 2.5]
    table = command("import-result", NAME, folder=tmp_path).stdout
    assert "hivmc 1.2.0\n" in table and "cann not found" in table
    assert "double: largest difference 0" in table
    assert "measured 2.50 us" in table
    assert "AIV V" in table and "measured 25%" in table and "AIV MTE2" in table


@needs_compiler
def test_kit_finds_a_wrong_result_and_names_an_unknown_version(tmp_path):
    folder = kit(tmp_path)
    expected = dict(np.load(folder / "double" / "expected.npz"))
    expected["B"][7] += 0.5
    np.savez(folder / "double" / "expected.npz", **expected)
    said = run_on_npu(folder, cann(tmp_path, "9.9.0"))
    assert "hivmc 9.9.0 is not known (known: 1.2.0)" in said
    table = command("import-result", f"{NAME}/result.json", folder=tmp_path).stdout
    assert "hivmc 9.9.0, not known" in table
    assert "double: largest difference 0.5" in table


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("f16", 1.5, "2 15872"),
        ("bf16", 1.00390625, "2 16256"),  # between two, to the even one
        ("f32", -2.0, "4 3221225472"),
        ("i1", True, "1 1"),
        ("i8", -1, "1 255"),
        ("ui32", 4294967295, "4 4294967295"),
        ("index", 3, "8 3"),
    ],
)
def test_bits_of_scalar_arguments(kind, value, bits):
    path = Path(tilewright.__file__).parent / "hivm" / "device" / "run_on_npu.py"
    spec = importlib.util.spec_from_file_location("run_on_npu", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.scalar_bits(kind, value) == bits


def test_kit_without_cann(tmp_path):
    folder = kit(tmp_path)
    empty = os.environ | {"PATH": "/nowhere", "CXX": "/nowhere/c++", "PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(folder / "run_on_npu.py")],
        capture_output=True,
        text=True,
        check=False,
        env=empty,
    )
    assert done.returncode == 1
    assert "no C++ compiler" in done.stderr and "the environment of CANN" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file or directory"),
        ("{", "Expecting property name"),
        ('{"schema": "other"}', "expected schema tilewright.result of version 1"),
    ],
)
def test_import_of_no_result(tmp_path, text, message):
    if text is not None:
        (tmp_path / "result.json").write_text(text)
    assert message in command("import-result", ".", folder=tmp_path, code=1).stderr
