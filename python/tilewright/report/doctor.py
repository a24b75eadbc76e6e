# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright doctor`: what works, what is missing, what to do about it."""

from __future__ import annotations

import difflib
import importlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import cache, env

LEAST_PYTHON = (3, 11)
#: Where the toolkit is when its own script has not been sourced.
CANN_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_INSTALL_PATH")
_ASCEND = os.path.join(os.sep, "usr", "local", "Ascend")
CANN_FOLDERS = (
    os.path.join(_ASCEND, "ascend-toolkit", "latest"),
    os.path.join(_ASCEND, "cann"),
)


@dataclass(frozen=True)
class Line:
    """One finding. `state`: "ok"; "absent", which only some uses need; "problem"."""

    state: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        text = f"{self.state:<8} {self.what}"
        return f"{text}\n{'':9}{self.advice}" if self.advice else text


def doctor() -> int:
    """Prints a line for each part; the exit code is 1 when there is a problem."""
    bad = False
    for check in CHECKS:
        for line in check():
            print(line, flush=True)
            bad |= line.state == "problem"
    return int(bad)


def _python() -> Iterator[Line]:
    what = f"Python {platform.python_version()}, {platform.system()} on {platform.machine()}"
    if sys.version_info < LEAST_PYTHON:
        wanted = ".".join(map(str, LEAST_PYTHON))
        yield Line("problem", what, f"Python {wanted} or newer is needed")
    else:
        yield Line("ok", what)


def _compiler() -> Iterator[Line]:
    try:
        from .. import _core
    except ImportError as error:
        advice = "install a wheel for this Python and machine, or run `make build` in a checkout"
        yield Line("problem", f"compiler: cannot be loaded ({error})", advice)
        return
    build = _core.build_id()[:8]
    yield Line("ok", f"compiler: {_core.version()}, build {build or 'unknown'}")


def _packages() -> Iterator[Line]:
    for module, package in (("numpy", "numpy"), ("ml_dtypes", "ml_dtypes")):
        yield _import(module, package, "problem", f"pip install {package}")
    advice = 'NumPy arrays work; scripts that use it need: pip install "tilewright[torch]"'
    yield _import("torch", "PyTorch", "absent", advice)


def _import(module: str, name: str, state: str, advice: str) -> Line:
    """Loads a package, since one that is installed may be broken all the same."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            return Line(state, f"{name}: not installed", advice)
        return Line("problem", f"{name}: cannot be loaded ({error})", advice)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Line("problem", f"{name}: cannot be loaded ({reason})", f"reinstall it: {advice}")
    return Line("ok", f"{name} {getattr(found, '__version__', 'of unknown version')}")


def _cann() -> Iterator[Line]:
    """The vendor's toolkit, which nothing that is simulated needs."""
    named = {name: os.environ[name] for name in CANN_HOMES if os.environ.get(name)}
    for name, folder in named.items():
        if not Path(folder).is_dir():
            advice = "source the set_env.sh of the toolkit again, or unset the variable"
            yield Line("problem", f"CANN: {name}={folder} is no folder", advice)
            return
    home = next(iter(named.values()), None) or next(filter(os.path.isdir, CANN_FOLDERS), None)
    tool = shutil.which("bishengir-compile")
    if home is None and tool is None:
        advice = "the simulator needs none; a device does: install CANN and source its set_env.sh"
        yield Line("absent", "CANN: not found", advice)
    elif tool is None:
        advice = f"source {home}/set_env.sh, or put its folder on PATH"
        yield Line("absent", f"CANN in {home}, without bishengir-compile on PATH", advice)
    else:
        yield Line("ok", f"CANN in {home or 'an unnamed folder'}, {tool}")
    try:
        yield Line("ok", f"ascendnpu-ir {version('ascendnpu-ir')}")
    except PackageNotFoundError:
        advice = 'the compiler that export is checked against: pip install "tilewright[hivm]"'
        yield Line("absent", "ascendnpu-ir: not installed", advice)


def _settings() -> Iterator[Line]:
    unknown = False
    for name, value in sorted(os.environ.items()):
        rest = name.removeprefix(env.PREFIX)
        if rest != name and rest not in env.VARIABLES:
            unknown = True
            near = difflib.get_close_matches(rest, env.VARIABLES, 1)
            advice = f"is {env.PREFIX}{near[0]} meant?" if near else "docs/cli.md lists them"
            yield Line("problem", f"{name}={value} has no effect: there is no such setting", advice)
    try:
        settings = env.compile_settings()
        env.run_settings()
        env.cache_settings()
    except ValueError as error:
        yield Line("problem", f"settings: {error}")
        return
    if unknown:
        return
    given = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith((env.PREFIX, "TILELANG_"))
    ]
    level = f"level {settings.opt_level}{', strict' * settings.strict}"
    yield Line("ok", f"settings: {', '.join([level, *given])}")


def _chip() -> Iterator[Line]:
    name = os.environ.get(env.PREFIX + "CHIP", "").strip() or env.DEFAULT_CHIP
    try:
        from .. import _core

        info = _core.chip_info(name)
    except ImportError:
        return
    except ValueError as error:
        yield Line("problem", f"chip: {error}", f"set {env.PREFIX}CHIP, or leave it out")
        return
    yield Line(
        "ok",
        f"chip {name}: {info['aic_count']:.0f} cube and {info['aiv_count']:.0f} vector cores, "
        f"{info['clock_mhz']:.0f} MHz",
    )


def _cache() -> Iterator[Line]:
    try:
        settings = env.cache_settings()
    except ValueError:
        return  # reported with the settings
    if not settings.enabled:
        yield Line("absent", "cache: switched off; kernels are compiled anew in each process")
        return
    folder = Path(settings.folder)
    reason = _not_writable(folder)
    if reason:
        advice = f"name another folder with {env.PREFIX}CACHE_DIR, or set {env.PREFIX}CACHE=0"
        yield Line("problem", f"cache: {folder} cannot be written ({reason})", advice)
        return
    found = cache.entries()
    size = 0
    for path in found:
        try:
            size += path.stat().st_size
        except OSError:
            continue  # removed meanwhile
    kernels = "1 kernel" if len(found) == 1 else f"{len(found)} kernels"
    limit = settings.max_bytes >> 20
    yield Line("ok", f"cache: {folder}, {kernels}, {size / 2**20:.1f} of {limit} MiB")


def _not_writable(folder: Path) -> str:
    """Why no file can be made in a folder, or in the one that it would be made in; else empty."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _kernel() -> Iterator[Line]:
    """Compiles and runs a kernel, past the cache."""
    try:
        import numpy as np

        from .. import _core  # noqa: F401
    except ImportError:
        return
    try:
        a = np.arange(64, dtype=np.float32)
        with _past_the_cache():
            found = _build()(a)
        right = bool((found == a + 1).all())
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield Line("problem", f"a kernel: {reason}", "tilewright bug-report makes a report of it")
        return
    if right:
        yield Line("ok", "a kernel compiles, runs and gives the right result")
    else:
        yield Line("problem", "a kernel gives a wrong result", "please report it")


class _past_the_cache:
    def __enter__(self) -> None:
        self.enabled = cache.is_cache_enabled()
        cache.disable_cache()

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            cache.enable_cache()


def _build() -> Any:
    from .. import language as T
    from ..jit import compile as compile_kernel

    @T.prim_func
    def increment(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):  # type: ignore
        with T.Kernel(1):
            for i in T.Parallel(64):
                B[i] = A[i] + 1.0

    return compile_kernel(increment, out_idx=[1])


CHECKS: tuple[Callable[[], Iterator[Line]], ...] = (
    _python,
    _compiler,
    _packages,
    _settings,
    _chip,
    _cache,
    _kernel,
    _cann,
)
