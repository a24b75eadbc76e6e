# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the check_*.py scripts share: the project's files and a common closing line."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def project_files(*suffixes: str) -> list[Path]:
    """Files known to git or about to be (not ignored), with one of the suffixes; all if none."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = (ROOT / name for name in sorted(set(listing.split("\0"))) if name)
    return [f for f in files if f.is_file() and (not suffixes or f.suffix in suffixes)]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def report(name: str, checked: int, problems: Iterable[str]) -> int:
    """Prints the problems and the closing line; the exit status of the script."""
    problems = list(problems)
    for problem in problems:
        print(problem)
    print(f"{name}: {checked} checked, {len(problems)} problems")
    return 1 if problems else 0
