# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short run of the fuzzer of diagnostics: broken kernels give errors of the user only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "fuzz" / "mutant_fuzz.py"


def test_mutants_run_or_are_refused_in_words() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--start", "5000", "--count", "25"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "25 mutants" in done.stdout
