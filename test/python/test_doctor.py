# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright doctor`: each line says ok, or what is missing and what to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tilewright import env
from tilewright.report import doctor as module

pytest.importorskip("tilewright._core")
STATES = ("ok", "absent", "problem")


def doctor(tmp_path, code: int = 0, **variables: str) -> list[str]:
    """Lines of the command, advice included, in a clean environment."""
    ours = (env.PREFIX, "TILELANG_", "ASCEND_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    environment |= {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), **variables}
    command = [sys.executable, "-m", "tilewright", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def line(lines: list[str], word: str) -> str:
    """The line about something, with its advice."""
    at = next(i for i, text in enumerate(lines) if word in text)
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return lines[at] + (following if following.startswith(" ") else "")


def test_a_sound_installation(tmp_path):
    lines = doctor(tmp_path)
    assert all(text.split()[0] in STATES for text in lines if not text.startswith(" "))
    for word in ("Python 3.", "compiler: tilewright", "numpy", "ml_dtypes", "chip 910b3: 20 cube"):
        assert line(lines, word).startswith("ok"), word
    assert line(lines, "cache:").startswith(f"ok       cache: {tmp_path / 'cache'}, 0 kernels")
    assert line(lines, "a kernel").startswith("ok") and line(lines, "settings: level 2")
    assert not (tmp_path / "cache").exists()  # looking does not make it


def test_settings_are_listed(tmp_path):
    lines = doctor(tmp_path, TILEWRIGHT_STRICT="1", TILEWRIGHT_CHIP="910b1")
    assert "level 2, strict" in line(lines, "settings:")
    assert "TILEWRIGHT_CHIP=910b1" in line(lines, "settings:")
    assert line(lines, "chip ").startswith("ok       chip 910b1: 24 cube and 48 vector cores")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TILEWRIGHT_CHEK", "1", "is TILEWRIGHT_CHECK meant?"),
        ("TILEWRIGHT_ZZZZZZ", "1", "has no effect"),
        ("TILEWRIGHT_CHECK", "maybe", "is neither on (1) nor off (0)"),
        ("TILEWRIGHT_CHIP", "h100", "unknown chip 'h100'; known are 910b1"),
        ("TILEWRIGHT_CHIP", "/none/mine.json", "cannot be read"),
        ("TILEWRIGHT_DISABLE", "pipelines", "there is no stage 'pipelines'"),
        ("TILEWRIGHT_CACHE_MB", "x", "TILEWRIGHT_CACHE_MB='x' is not an integer"),
        ("ASCEND_HOME_PATH", "/none", "ASCEND_HOME_PATH=/none is no folder"),
    ],
)
def test_a_bad_setting(tmp_path, name, value, expected):
    lines = doctor(tmp_path, 1, **{name: value})
    found = line(lines, expected.partition(" meant")[0])
    assert expected in found and any(text.startswith("problem") for text in lines)


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("")
    found = line(doctor(tmp_path, 1), "cache:")
    assert found.startswith("problem") and "TILEWRIGHT_CACHE=0" in found


def test_a_cache_that_is_switched_off(tmp_path):
    assert line(doctor(tmp_path, TILEWRIGHT_CACHE="0"), "cache:").startswith("absent")


def test_cann(tmp_path):
    assert line(doctor(tmp_path), "CANN").startswith("absent   CANN: not found")
    (tmp_path / "toolkit").mkdir()
    tool = tmp_path / "bishengir-compile"
    found = line(doctor(tmp_path, ASCEND_HOME_PATH=str(tmp_path / "toolkit")), "CANN")
    assert found.startswith("absent") and "toolkit/set_env.sh" in found
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    found = line(doctor(tmp_path, ASCEND_HOME_PATH=str(tmp_path / "toolkit"), PATH=path), "CANN")
    assert found.startswith("ok") and str(tool) in found


@pytest.mark.parametrize(("package", "code"), [("torch", 0), ("ml_dtypes", 1)])
def test_a_package_that_is_missing(tmp_path, monkeypatch, capsys, package, code):
    monkeypatch.setitem(sys.modules, package, None)
    assert module.doctor() == code
    found = line(capsys.readouterr().out.splitlines(), "not installed")
    assert found.startswith("problem" if code else "absent") and "pip install" in found


def test_a_package_that_is_broken(tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('undefined symbol: xyz')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = line(doctor(tmp_path, 1, PYTHONPATH=path), "PyTorch")
    assert found.startswith("problem") and "undefined symbol: xyz" in found and "reinstall" in found


def test_every_setting_is_known():
    """The list behind the spelling check is the list of what is read."""
    import re
    from pathlib import Path

    package = Path(env.__file__).parent
    text = (package / "env.py").read_text().split("def _flag", 1)[1]
    read = set(re.findall(r'_(?:flag|integer|choice)\("(\w+)"', text))
    read |= set(re.findall(r'PREFIX \+ "(\w+)"', text))
    assert read | {"RUN"} == set(env.VARIABLES)
