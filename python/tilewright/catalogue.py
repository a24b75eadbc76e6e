# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of errors (errors.toml): what a code means and what to do."""

from __future__ import annotations

import functools
import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .errors import ArgumentError

SOURCE = Path(__file__).with_name("errors.toml")

#: What stands around an example, by its `frame`; `{}` is the example.
FRAMES = {
    "script": "{}",
    "kernel": """\
@T.prim_func
def main(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1) as i:
{}
""",
}
_COMPILED = FRAMES["kernel"] + "\nkernel = tilelang.compile(main)\n"
_RUN = """
a, b = np.zeros((2, 64, 64), "float16")
c = np.zeros((64, 64), "float32")
"""
FRAMES["kernel"] = _COMPILED
FRAMES["run"] = FRAMES["check"] = _COMPILED + _RUN + "kernel(a, b, c)\n"
FRAMES["call"] = _COMPILED.replace("{}", "        T.fill(C, 0)") + _RUN + "{}"
HEAD = "import numpy as np\nimport tilewright as tilelang\nimport tilewright.language as T\n\n"


@dataclass(frozen=True)
class Entry:
    """One kind of error. `example` is a part of a program, `unraised` says why there is none."""

    code: str
    title: str
    cause: str
    remedy: str
    example: str = ""
    frame: str = "kernel"
    unraised: str = ""

    @property
    def program(self) -> str:
        """The example as a whole script."""
        indented = textwrap.indent(self.example.strip("\n"), " " * 8)
        body = indented if self.frame in ("kernel", "run", "check") else self.example
        return HEAD + FRAMES[self.frame].replace("{}", body)


@functools.cache
def entries() -> dict[str, Entry]:
    """All entries by code, in the order of the codes."""
    table = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    return {code: Entry(code, **table[code]) for code in sorted(table)}


def is_code(word: str) -> bool:
    """Whether a word of a command line means a code; `e411` and `0411` do too."""
    return re.fullmatch(r"[Ee]?\d{1,4}", word) is not None


def text(word: str) -> str:
    """An entry as the command prints it. ArgumentError for a code that is not there."""
    code = f"E{int(word.lstrip('eE')):04}"
    known = entries()
    if code not in known:
        near = sorted(known, key=lambda k: (abs(int(k[1:]) - int(code[1:])), k))[:3]
        raise ArgumentError(
            f"error[E0910]: there is no error {code}; near it are {', '.join(sorted(near))}, and "
            "`tilewright explain` lists all"
        )
    found = known[code]
    parts = [f"{code}: {found.title}", _filled(found.cause), "What to do: " + _filled(found.remedy)]
    if found.example:
        parts.insert(2, "For example:\n\n" + textwrap.indent(found.example.strip("\n"), "    "))
    parts[-1] = _filled("What to do: " + found.remedy)
    return "\n\n".join(parts)


def listing() -> str:
    """Code and title of all entries."""
    return "\n".join(f"{code}  {entry.title}" for code, entry in entries().items())


def _filled(paragraph: str) -> str:
    return textwrap.fill(paragraph, 100, break_on_hyphens=False, break_long_words=False)
