# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright doctor`: what is installed, what is missing, what to do."""

from __future__ import annotations

import importlib.util
import os
import platform

from .. import __version__, env


def doctor() -> int:
    """Prints one line per part; the exit code is 1 when kernels cannot be compiled."""
    print(f"tilewright {__version__}, Python {platform.python_version()}, {platform.machine()}")
    usable = _core()
    _torch()
    settings = env.compile_settings()
    print(f"chip {settings.chip}, level {settings.opt_level}{', strict' * settings.strict}")
    chosen = {k: v for k, v in os.environ.items() if k.startswith((env.PREFIX, "TILELANG_"))}
    for name, value in sorted(chosen.items()):
        print(f"{name}={value}")
    return 0 if usable else 1


def _core() -> bool:
    try:
        from .. import _core
    except ImportError as error:
        print(f"extension: missing ({error}); build it with `make build`")
        return False
    print(f"extension: {_core.version()}")
    return True


def _torch() -> None:
    if importlib.util.find_spec("torch") is None:
        print('PyTorch: missing; NumPy arrays work, scripts need: pip install "tilewright[torch]"')
        return
    from importlib.metadata import version

    print(f"PyTorch: {version('torch')}")
