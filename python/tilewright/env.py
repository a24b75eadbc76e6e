# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that apply to every kernel of a process. Read at each compile or run, never cached."""

from __future__ import annotations

import os
from dataclasses import dataclass

PREFIX = "TILEWRIGHT_"
TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}
ENGINES = ("simulator", "interpreter")
MODES = ("auto", "developer", "expert")


def _flag(name: str) -> bool:
    text = os.environ.get(PREFIX + name, "").strip().lower()
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise ValueError(f"{PREFIX}{name}={text!r} is neither on (1) nor off (0)")


def _integer(name: str, default: int | None) -> int | None:
    text = os.environ.get(PREFIX + name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{PREFIX}{name}={text!r} is not an integer") from None


def _choice(name: str, allowed: tuple[str, ...]) -> str:
    text = os.environ.get(PREFIX + name, "").strip().lower() or allowed[0]
    if text not in allowed:
        raise ValueError(f"{PREFIX}{name}={text!r} is not one of {', '.join(allowed)}")
    return text


def _refuse_expert_mode() -> None:
    """Every kernel is compiled in Developer mode, in which the Expert names that exist work too.

    TILELANG_ASCEND_MODE is not read: scripts set it, and their names say what they need.
    """
    if _choice("MODE", MODES) == "expert":
        raise ValueError(
            f"{PREFIX}MODE='expert': Expert mode is not there yet; leave {PREFIX}MODE out, the "
            "Expert names that exist work in every kernel (docs/expert-mode.md)"
        )


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


@dataclass(frozen=True)
class RunSettings:
    """What the environment says about running."""

    engine: str
    stage: str
    time: bool
    check: bool
    delay_seed: int | None
    trace_file: str
    num_threads: int
    max_instructions: int  #: of one core, before a run counts as endless; 0: the default


def compile_settings(strict: bool = False) -> CompileSettings:
    """The settings of now; `strict` is the kernel's own wish, which the environment may add to."""
    _refuse_expert_mode()
    disable = os.environ.get(PREFIX + "DISABLE", "")
    interpreter = _choice("ENGINE", ENGINES) == "interpreter"
    return CompileSettings(
        chip=os.environ.get(PREFIX + "CHIP", "").strip() or "910b3",
        opt_level=_integer("OPT_LEVEL", 2) or 0,
        strict=_flag("STRICT") or strict,
        verify_each=_flag("VERIFY_EACH"),
        dump_dir=os.environ.get(PREFIX + "DUMP_IR", ""),
        disable=tuple(s.strip() for s in disable.split(",") if s.strip()),
        interpret_only=interpreter and not os.environ.get(PREFIX + "STAGE"),
    )


def run_settings() -> RunSettings:
    return RunSettings(
        engine=_choice("ENGINE", ENGINES),
        stage=os.environ.get(PREFIX + "STAGE", ""),
        time=_flag("TIME"),
        check=_flag("CHECK"),
        delay_seed=_integer("DELAY", None),
        trace_file=os.environ.get(PREFIX + "TRACE", ""),
        num_threads=_integer("NUM_THREADS", 0) or 0,
        max_instructions=_integer("MAX_INSTRUCTIONS", 0) or 0,
    )
