# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fenced blocks of a page, and how they run.

    ```python               runs as a script
    ```python file=NAME     is saved as NAME for the blocks that follow; any language
    ```sh                   runs in bash
    ```text output          what the blocks since the last output have printed; any language
    ```sh skip="reason"     is not run

Blocks in other languages are only shown. A page runs from top to bottom in a folder of its own that
looks like the root of a checkout, with `tilewright`, `python` and the tools of the build tree on
the path.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from sources import ROOT

FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=ticks)[ \t]*$", re.M | re.S
)
RUNNABLE = ("python", "sh")
#: Folders of the project that blocks may read.
LINKED = ("tilewright", "examples", "test", "utils", "docs")
#: Where the pages are. Dated notes of docs/design are history: they need not run any more.
FOLDERS = ("README.md", "README.zh.md", "CONTRIBUTING.md", "docs", "docs/guides")


@dataclass
class Block:
    language: str
    words: list[str]
    body: str
    start: int  #: of the body in the page's text
    line: int
    skip: str | None = None
    file: str | None = None
    is_output: bool = field(default=False)


class BlockError(Exception):
    """A block that could not be read or failed."""


def pages() -> list[Path]:
    """Every page with blocks that run."""
    found: list[Path] = []
    for name in FOLDERS:
        place = ROOT / name
        found.extend(sorted(place.glob("*.md")) if place.is_dir() else [place])
    return [page for page in found if page.is_file()]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page in order; a fence without a language is an error."""
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        words = shlex.split(match["info"])
        if not words:
            raise BlockError(f"line {line}: this fence names no language")
        block = Block(words[0], words[1:], match["body"], match.start("body"), line)
        for word in block.words:
            key, _, value = word.partition("=")
            if key == "skip" and len(value.split()) < 2:
                raise BlockError(f"line {line}: skip needs a reason in words")
            if key == "skip":
                block.skip = value
            elif key == "file":
                block.file = value
            elif word == "output":
                block.is_output = True
            else:
                raise BlockError(f"line {line}: {word!r} means nothing here")
        found.append(block)
    return found


def environment(folder: Path, build: Path) -> dict[str, str]:
    """Variables for a block: the build tree first, nothing of ours left over from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TILEWRIGHT_", "TILELANG_"))}
    binaries = folder / ".bin"
    binaries.mkdir(exist_ok=True)
    command = binaries / "tilewright"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tilewright "$@"\n')
    command.chmod(0o755)
    python = binaries / "python"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    kept["PATH"] = os.pathsep.join([str(binaries), str(build / "bin"), kept.get("PATH", "")])
    kept["PYTHONPATH"] = os.pathsep.join([str(build / "python"), kept.get("PYTHONPATH", "")])
    kept |= {"PYTHONHASHSEED": "0", "COLUMNS": "80", "XDG_CACHE_HOME": str(folder / ".cache")}
    return kept


def run_page(page: Path, build: Path) -> str:
    """Runs a page's blocks; the text of the page with what they print now."""
    text = page.read_text()
    pieces: list[str] = []
    at = 0
    with tempfile.TemporaryDirectory(prefix="tilewright-docs-") as name:
        folder = Path(name)
        variables = environment(folder, build)
        for linked in LINKED:
            (folder / linked).symlink_to(ROOT / linked)
        printed = ""
        for block in blocks(text):
            if block.is_output:
                pieces += [text[at : block.start], printed.rstrip("\n") + "\n"]
                at = block.start + len(block.body)
                printed = ""
            elif block.file:
                (folder / block.file).write_text(block.body)
            elif block.language in RUNNABLE and block.skip is None:
                printed += run_block(page, block, folder, variables)
    return "".join([*pieces, text[at:]])


def run_block(page: Path, block: Block, folder: Path, variables: dict[str, str]) -> str:
    """What a block prints. A command that should fail says so: `command || true`."""
    name = "example"
    if block.language == "python":
        (folder / f"{name}.py").write_text(block.body)
        command = [sys.executable, f"{name}.py"]
    else:
        (folder / f"{name}.sh").write_text(f"set -euo pipefail\n{block.body}")
        command = ["bash", f"{name}.sh"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=120,
    )
    output = done.stdout.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    if done.returncode:
        raise BlockError(
            f"{page.relative_to(ROOT)}:{block.line}: the block failed with exit code "
            f"{done.returncode}\n{block.body}\n{output}"
        )
    return output
