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


def ascend_mode() -> str:
    """Auto, unless TILELANG_ASCEND_MODE asks for one of the two modes.

    Unset means auto: the kernel's own names decide. "expert", "exp" and "e" mean Expert, any other
    value means Developer.
    """
    text = os.environ.get("TILELANG_ASCEND_MODE")
    if text is None:
        return "auto"
    return "expert" if text.strip().lower() in ("expert", "exp", "e") else "developer"


@dataclass(frozen=True)
class CompileSettings:
    """What the environment says about compiling; part of every cache key."""

    chip: str
    mode: str
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


def compile_settings() -> CompileSettings:
    mode = _choice("MODE", MODES)
    disable = os.environ.get(PREFIX + "DISABLE", "")
    interpreter = _choice("ENGINE", ENGINES) == "interpreter"
    return CompileSettings(
        chip=os.environ.get(PREFIX + "CHIP", "").strip() or "910b3",
        mode=mode if mode != "auto" else ascend_mode(),
        opt_level=_integer("OPT_LEVEL", 2) or 0,
        strict=_flag("STRICT"),
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
