# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every error has a code of the catalogue, and that every code is used.

In Python an exception whose text is written where it is raised begins with `error[E0411]: `; in C++
`fail`, `emitError` and `emitOpError` of the folders below begin with `E0411: `. Errors without a
text of their own (AttributeError of a name, an assertion) need none.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

from sources import ROOT, relative, report

PYTHON = ROOT / "python" / "tilewright"
CATALOGUE = PYTHON / "errors.toml"
FOLDERS = ("builder", "passes")
CALL = re.compile(r"\b(?:fail|emitError|emitOpError)\(\s*(?P<text>\"(?:[^\"\\]|\\.)*\")")
CODE = re.compile(r"\bE0\d{3}\b")
#: Protocols of Python, and tests' own comparisons.
PLAIN = ("AttributeError", "AssertionError", "KeyError")


def first_text(node: ast.expr) -> str | None:
    """The constant text that an expression begins with; None where it begins with a value."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.JoinedStr):
        node = node.values[0] if node.values else node
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def python_problems(path: Path) -> list[str]:
    problems = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise):
            call = node.exc
        elif isinstance(node, ast.Call):
            call = node if getattr(node.func, "id", "") == "compile_error" else None
        else:
            continue
        if not isinstance(call, ast.Call) or not call.args:
            continue
        kind = getattr(call.func, "id", getattr(call.func, "attr", ""))
        text = first_text(call.args[0])
        if kind in PLAIN or text is None or kind.startswith("Missing"):
            continue
        if not text.startswith("error[E"):
            problems.append(f"{relative(path)}:{call.lineno}: this {kind} has no code")
    return problems


def core_problems(path: Path) -> list[str]:
    text = path.read_text()
    return [
        f"{relative(path)}:{text.count(chr(10), 0, found.start()) + 1}: this error has no code"
        for found in CALL.finditer(text)
        if not CODE.match(found["text"][1:])
    ]


def main() -> int:
    problems: list[str] = []
    used: set[str] = set()
    for path in sorted(PYTHON.rglob("*.py")):
        problems += python_problems(path)
        used |= set(CODE.findall(path.read_text()))
    for path in sorted((ROOT / "tilewright").rglob("*")):
        if path.suffix in (".cpp", ".h"):
            used |= set(CODE.findall(path.read_text()))
            if path.parent.name in FOLDERS:
                problems += core_problems(path)
    known = set(tomllib.loads(CATALOGUE.read_text()))
    problems += [f"{code} is not in {relative(CATALOGUE)}" for code in sorted(used - known)]
    problems += [f"{code} is raised nowhere" for code in sorted(known - used)]
    return report("codes", len(known), problems)


if __name__ == "__main__":
    sys.exit(main())
