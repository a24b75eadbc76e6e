# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that apply to every kernel of a process. Read at each compile or run, never cached."""

from __future__ import annotations

import os
from dataclasses import dataclass

PREFIX = "TILEWRIGHT_"
DEFAULT_CHIP = "910b3"
#: Everything that may stand behind the prefix. RUN: set by `tilewright run` for its children.
VARIABLES = (
    *("CHIP", "OPT_LEVEL", "STRICT", "VERIFY_EACH", "DUMP_IR", "DISABLE", "ENGINE", "STAGE"),
    *("MODE", "TIME", "SENSITIVITY", "CHECK", "DELAY", "TRACE", "NUM_THREADS", "RUN"),
    *("MAX_INSTRUCTIONS", "CACHE", "CACHE_DIR", "CACHE_MB", "COMPARE"),
)
TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}
ENGINES = ("simulator", "interpreter")
MODES = ("auto", "developer", "expert")


def _flag(name: str, default: bool = False) -> bool:
    text = os.environ.get(PREFIX + name, "").strip().lower()
    if text in TRUE or (default and not text):
        return True
    if text in FALSE:
        return False
    raise ValueError(f"error[E0907]: {PREFIX}{name}={text!r} is neither on (1) nor off (0)")


def _integer(name: str, default: int | None) -> int | None:
    text = os.environ.get(PREFIX + name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"error[E0907]: {PREFIX}{name}={text!r} is not an integer") from None


def _choice(name: str, allowed: tuple[str, ...]) -> str:
    text = os.environ.get(PREFIX + name, "").strip().lower() or allowed[0]
    if text not in allowed:
        raise ValueError(
            f"error[E0907]: {PREFIX}{name}={text!r} is not one of {', '.join(allowed)}"
        )
    return text


def mode() -> str:
    """TILEWRIGHT_MODE: with "developer" no kernel may decide about cores and order by itself.

    TILELANG_ASCEND_MODE is not read: every name means the same in both modes.
    """
    return _choice("MODE", MODES)


@dataclass(frozen=True)
class CompileSettings:
    """What the environment says about compiling; part of every cache key."""

    chip: str
    opt_level: int
    strict: bool
    verify_each: bool
    dump_dir: str
    disable: tuple[str, ...]
    interpret_only: bool  #: nothing is compiled: the kernel is only interpreted as it was built
    manual_sync: bool = False  #: the author orders the pipes; the compiler adds nothing
    chip_version: tuple[int, ...] = ()  #: changes with the contents of a chip file


@dataclass(frozen=True)
class CacheSettings:
    """What the environment says about the cache of compiled kernels on disk."""

    enabled: bool
    folder: str
    max_bytes: int  #: of all entries together


@dataclass(frozen=True)
class RunSettings:
    """What the environment says about running."""

    engine: str
    stage: str
    time: bool
    sensitivity: bool  #: printed times say how far they hang on the chip's uncertain constants
    check: bool
    delay_seed: int | None
    trace_file: str
    num_threads: int
    max_instructions: int  #: of one core, before a run counts as endless; 0: the default
    compare: float  #: ulp that a tile may be away from exact arithmetic; 0: it is not compared


def compile_settings(strict: bool = False) -> CompileSettings:
    """The settings of now; `strict` is the kernel's own wish, which the environment may add to."""
    disable = os.environ.get(PREFIX + "DISABLE", "")
    interpreter = _engine() == "interpreter"
    chip = os.environ.get(PREFIX + "CHIP", "").strip() or DEFAULT_CHIP
    return CompileSettings(
        chip=chip,
        opt_level=_integer("OPT_LEVEL", 2) or 0,
        strict=_flag("STRICT") or strict,
        verify_each=_flag("VERIFY_EACH"),
        dump_dir=os.environ.get(PREFIX + "DUMP_IR", ""),
        disable=tuple(s.strip() for s in disable.split(",") if s.strip()),
        interpret_only=interpreter and not os.environ.get(PREFIX + "STAGE"),
        chip_version=_version(chip) if chip.endswith(".json") else (),
    )


def _version(path: str) -> tuple[int, ...]:
    """What tells one content of a file from another without reading it."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def cache_settings() -> CacheSettings:
    """TILEWRIGHT_CACHE, _CACHE_DIR and _CACHE_MB, or TileLang's names for the first two."""
    folder = os.environ.get(PREFIX + "CACHE_DIR", "").strip()
    if not folder and os.environ.get("TILELANG_CACHE_DIR"):
        folder = os.path.join(os.environ["TILELANG_CACHE_DIR"], "tilewright")
    if not folder:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
        folder = os.path.join(os.path.expanduser(home), "tilewright")
    disabled = os.environ.get("TILELANG_DISABLE_CACHE", "").strip().lower() in TRUE
    megabytes = _integer("CACHE_MB", 512) or 0
    return CacheSettings(
        _flag("CACHE", default=True) and not disabled and megabytes > 0,
        os.path.abspath(folder),
        megabytes << 20,
    )


def _engine() -> str:
    """Comparing is the interpreter's."""
    return "interpreter" if _compare() else _choice("ENGINE", ENGINES)


def _compare() -> float:
    text = os.environ.get(PREFIX + "COMPARE", "").strip()
    try:
        limit = float(text or 0)
    except ValueError:
        limit = -1.0
    if limit < 0:
        raise ValueError(
            f"error[E0907]: {PREFIX}COMPARE={text!r} is not a number of ulp of 0 or more"
        )
    return limit


def run_settings() -> RunSettings:
    return RunSettings(
        engine=_engine(),
        stage=os.environ.get(PREFIX + "STAGE", ""),
        time=_flag("TIME"),
        sensitivity=_flag("SENSITIVITY", default=True),
        check=_flag("CHECK"),
        delay_seed=_integer("DELAY", None),
        trace_file=os.environ.get(PREFIX + "TRACE", ""),
        num_threads=_integer("NUM_THREADS", 0) or 0,
        max_instructions=_integer("MAX_INSTRUCTIONS", 0) or 0,
        compare=_compare(),
    )


def __getattr__(name: str) -> str:
    if name == "TILELANG_CACHE_DIR":
        return cache_settings().folder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
