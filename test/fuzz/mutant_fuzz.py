# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broken kernels: sources of the project with one mutation each. Each runs, or is refused in words.

Tokens are deleted, doubled, swapped and misspelt, numbers, shapes and element types changed. A
mutant may compile and run, or raise an error of the user: one with a code and, if it is the
compiler's, a line of the mutant's file; or what Python itself raises from that file. Anything else
is a fault of ours: an abort, a hang, a traceback that ends inside the package, an InternalError.

Usage: python test/fuzz/mutant_fuzz.py [--start SEED] [--count N] [--keep DIR]
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import signal
import sys
import tempfile
import tokenize
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
TYPES = ("float16", "float32", "bfloat16", "int8", "int32", "int64", "uint8", "bool", "float8_e5m2")
NUMBERS = ("0", "1", "-1", "2", "3", "7", "16", "17", "64", "1000", "2.5", "10**9")
OPERATORS = ("+", "-", "*", "/", "//", "%", "<", ">", "==", "&", "|", "and", "or", ",")


def outcome_of(path: str, source: str) -> str:
    """Runs a mutant in this process and says what became of it."""
    import tilewright
    from tilewright.errors import CompileError, InternalError

    package = os.path.dirname(tilewright.__file__)
    try:
        exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})
    except (SystemExit, KeyboardInterrupt):
        return "fine"
    except InternalError as error:
        return f"internal: {error}"
    except BaseException as error:
        text = str(error)
        frames = traceback.extract_tb(error.__traceback__)
        deepest = frames[-1].filename if frames else path
        if "error[E" in text:
            located = path in text or not isinstance(error, CompileError)
            return "refused" if located else f"fault: no line: {text!r}"
        noted = any(path in note for note in getattr(error, "__notes__", ()))
        if noted or not deepest.startswith(package):
            return "python"  # raised by the mutant's own lines, or by numpy on their behalf
        where = f"{os.path.basename(deepest)}:{frames[-1].lineno}"
        return f"fault: {type(error).__name__} at {where}: {text[:300]!r}"
    return "fine"


def corpus() -> list[str]:
    """Scripts whose kernels run in a moment: the examples, and the blocks of the documentation."""
    texts = [p.read_text() for p in sorted((ROOT / "examples").rglob("*.py"))]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text(), re.M | re.S)
    return [text for text in texts if "T.Kernel" in text and "torch" not in text]


def mutated(source: str, random_: random.Random) -> str:
    """The source with one to three mutations inside its kernels' tokens."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    lines = source.splitlines(keepends=True)
    spots = [
        t
        for t in tokens
        if t.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)
        and t.start[0] == t.end[0]
        and "import" not in t.line
        and not t.string.startswith(('"""', "'''"))
    ]
    for token in sorted(random_.sample(spots, random_.choice((1, 1, 1, 2, 3))), key=_end)[::-1]:
        row, start, end = token.start[0] - 1, token.start[1], token.end[1]
        lines[row] = lines[row][:start] + _changed(token, spots, random_) + lines[row][end:]
    return "".join(lines)


def _end(token: tokenize.TokenInfo) -> tuple[int, int]:
    return token.end


def _changed(
    token: tokenize.TokenInfo, spots: list[tokenize.TokenInfo], random_: random.Random
) -> str:
    text, kind = token.string, random_.randrange(6)
    if kind == 0:
        return ""
    if kind == 1:
        return f"{text} {text}"
    if kind == 2:
        return random_.choice(spots).string
    if token.type == tokenize.NUMBER:
        return random_.choice(NUMBERS)
    if token.type == tokenize.STRING:
        return f'"{random_.choice(TYPES)}"'
    if token.type == tokenize.OP:
        return random_.choice(OPERATORS)
    if kind == 3 and text in TYPES:
        return random_.choice(TYPES)
    if len(text) > 2 and kind in (3, 4):  # misspelt
        at = random_.randrange(1, len(text))
        return random_.choice((text[:at] + text[at:][1:], text[:at] + "_" + text[at:]))
    same = [t.string for t in spots if t.type == tokenize.NAME]
    return random_.choice(same)


def run(source: str, folder: Path, seed: int) -> str:
    """What became of a mutant, in a process of its own."""
    path = folder / f"mutant_{seed}.py"
    path.write_text(source)
    try:
        compile(source, str(path), "exec")
    except (SyntaxError, ValueError):
        return "syntax"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(sink, stream)
        os.chdir(folder)
        signal.alarm(SECONDS)
        os.write(writing, outcome_of(str(path), source).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    path.unlink()
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"hang: no end after {SECONDS} s" if name == "SIGALRM" else f"abort: {name}"
    return said or f"abort: exit {os.WEXITSTATUS(status)}"


def fuzz(start: int, count: int, keep: Path | None = None) -> tuple[Counter[str], list[str]]:
    """Outcomes of `count` mutants that are Python, and what is our fault."""
    import tilewright  # once, before the processes of the mutants

    os.environ.update(TILEWRIGHT_MAX_INSTRUCTIONS="2000000", TILEWRIGHT_CACHE="0")
    os.environ.setdefault("TILEWRIGHT_THREADS", "1")
    assert tilewright.language is not None
    files = corpus()
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        seed = start
        while outcomes.total() < count:
            random_ = random.Random(seed)
            source = mutated(random_.choice(files), random_)
            outcome = run(source, Path(folder), seed)
            if outcome != "syntax":
                outcomes[outcome.partition(":")[0]] += 1
                if outcome not in ("fine", "refused", "python"):
                    faults.append(f"seed {seed}: {outcome}")
                    if keep is not None:
                        keep.mkdir(parents=True, exist_ok=True)
                        (keep / f"mutant_{seed}.py").write_text(source)
            seed += 1
    return outcomes, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="folder for the mutants that are our fault")
    options = parser.parse_args()
    outcomes, faults = fuzz(options.start, options.count, options.keep)
    print("\n".join(faults))
    print(f"{outcomes.total()} mutants: {dict(outcomes)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
