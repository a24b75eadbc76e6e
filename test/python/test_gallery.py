# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gallery: every kernel agrees with its reference, and the page shows what they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tilewright._core")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "gallery"


def test_the_page_is_what_the_kernels_do():
    command = [sys.executable, str(ROOT / "utils" / "gen_gallery.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("differs by") == len(list(FOLDER.glob("*.py"))) - 1 >= 20


def test_a_wrong_result_stops_the_program():
    sys.path.insert(0, str(FOLDER))
    try:
        from gallery import show
    finally:
        sys.path.remove(str(FOLDER))
    with pytest.raises(SystemExit, match=r"differs from its reference by 5\.0e-01"):
        show("half", lambda: [1.0], [2.0], 1e-3)
    with pytest.raises(SystemExit, match="has shape"):
        show("short", lambda: [1.0], [2.0, 3.0], 1e-3)


def test_a_kernel_runs_as_a_script():
    command = [sys.executable, "-m", "tilewright", "run", str(FOLDER / "prefix_sum.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("running sums: differs by")
