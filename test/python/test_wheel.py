# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a wheel needs of the machine it is installed on; `make wheel` checks a real one."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_core = pytest.importorskip("tilewright._core")
ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "utils" / "wheel_needs.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("wheel_needs", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["wheel_needs"] = module
    spec.loader.exec_module(module)
    return module


def own(problems: list[str]) -> list[str]:
    """Without MLIR and LLVM, which are shared in a build for development."""
    return [p for p in problems if "libMLIR" not in p and "libLLVM" not in p]


def test_this_extension(tool):
    found = tool.needs(Path(_core.__file__).read_bytes())
    assert "libc.so.6" in found.libraries and found.newest("GLIBC") > (2, 0)
    assert own(tool.problems(found, (2, 34))) == []
    assert any("GLIBC_2" in p for p in own(tool.problems(found, (2, 3))))


def test_versions_compare_as_numbers(tool):
    found = tool.Needs(["libc.so.6", "libfoo.so.1"], {"libc.so.6": ["GLIBC_2.9", "GLIBC_2.36"]})
    assert found.newest("GLIBC") == (2, 36) and found.newest("GLIBCXX") == ()
    assert tool.problems(found, (2, 34)) == [
        "needs libfoo.so.1",
        "needs GLIBC_2.36 of libc.so.6",
    ]


def test_the_command(tmp_path):
    def call(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, TOOL, *words]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("x/__init__.py", "")
    done = call(wheel)
    assert done.returncode == 1 and "holds no extension" in done.stderr
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(_core.__file__, "x/_core.so")
    done = call(wheel, "--glibc", "2.3")
    assert done.returncode == 1 and "x/_core.so: needs GLIBC_2" in done.stderr
    assert done.stdout.startswith("x/_core.so: ") and "GLIBC 2." in done.stdout


def test_what_is_no_extension(tool):
    with pytest.raises(ValueError, match="not a little-endian ELF file"):
        tool.needs(b"MZ\0\0\0\0\0")


def test_the_function_that_old_libraries_lack(tool, tmp_path):
    """LLVM calls arc4random; with our definition beside it the call stays inside."""
    compiler = shutil.which("clang++-19") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    caller = tmp_path / "caller.cpp"
    caller.write_text(
        'extern "C" unsigned arc4random() noexcept;\n'
        'extern "C" __attribute__((visibility("default"))) unsigned draw()'
        " { return arc4random(); }\n"
    )
    build = [compiler, "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden"]
    built = {}
    for name, sources in (("plain", []), ("ours", [ROOT / "python" / "binding" / "Libc.cpp"])):
        built[name] = tmp_path / f"{name}.so"
        subprocess.run([*build, caller, *sources, "-o", built[name]], check=True)
    versions = {name: tool.needs(path.read_bytes()).newest("GLIBC") for name, path in built.items()}
    assert versions["plain"] >= (2, 36) or versions["plain"] == ()  # older libraries have none
    assert versions["ours"] < (2, 34)
    draw = ctypes.CDLL(str(built["ours"])).draw
    assert len({draw() for _ in range(20)}) > 15
