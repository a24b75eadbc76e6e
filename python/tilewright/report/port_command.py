# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright port`: runs the script under its observers and prints the report."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from .. import compat
from . import session
from .comparisons import Comparisons
from .port import Porter, report_json, report_text


def port(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], int],
    set_environment: Callable[[argparse.Namespace], None],
) -> int:
    """Runs the script and prints the report. The exit code is the script's."""
    set_environment(options)
    compat.install()
    if _needs_torch(options):  # before the script does, so that its comparisons are seen
        with contextlib.suppress(ImportError):
            importlib.import_module("torch")
    porter = Porter()
    comparisons = Comparisons(options.target)
    session.observers.append(porter)
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, comparisons.watched():
        code = run(options)
    session.observers.remove(porter)
    with aside:
        porter.study(options.budget, not options.no_advice)
    report = report_json if options.json else report_text
    print(report(porter, comparisons, code))
    return code


def _needs_torch(options: argparse.Namespace) -> bool:
    """Whether the script names PyTorch; a module may."""
    if options.module:
        return True
    path = Path(options.target)
    return path.is_file() and b"torch" in path.read_bytes()
