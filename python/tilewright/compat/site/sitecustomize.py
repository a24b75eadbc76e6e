# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves child processes of `tilewright run` (pytest workers, multiprocessing) as their parent."""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if os.environ.get("TILEWRIGHT_RUN"):
    try:
        import tilewright.compat
    except ImportError:
        pass
    else:
        tilewright.compat.install()

_rest = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _rest)
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
