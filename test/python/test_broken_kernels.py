# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes of newcomers (broken_kernels.toml): the message tells the line, a caret and the fix."""

from __future__ import annotations

import linecache
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

CASES = tomllib.loads(Path(__file__).with_name("broken_kernels.toml").read_text())
HEAD = """\
import numpy as np
import tilewright as tilelang
import tilewright.language as T

@T.prim_func
def main(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(2) as i:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(C, c)
"""


def program(case: str) -> str:
    body = textwrap.indent(CASES[case]["body"].strip("\n"), " " * 8)
    return f"{HEAD}{body}\n\ntilelang.compile(main)\n"


def error_of(case: str, folder: Path) -> str:
    """The text of the error that a case raises."""
    path = folder / f"{case}.py"
    source = program(case)
    path.write_text(source)
    linecache.clearcache()
    with pytest.raises(Exception) as caught:
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    notes = getattr(caught.value, "__notes__", ())
    return "\n".join([str(caught.value), *notes])


@pytest.mark.parametrize("case", CASES)
def test_message_tells_the_line_and_the_fix(case: str, tmp_path: Path) -> None:
    text = error_of(case, tmp_path)
    assert re.match(r"error\[E\d{4}\]: ", text), text
    assert CASES[case]["says"] in text.replace("\n", " "), text
    lines = program(case).splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.endswith("# <-")]
    assert f"{case}.py:{marked[0] if marked else ''}" in text, text
    if marked:
        assert re.search(r"^ +\| +\^", text, re.MULTILINE), text
    assert re.search(r"\| +\^", text), text


def test_there_are_forty() -> None:
    assert len(CASES) >= 40
