# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks file sizes and forbidden text, and prints the lines of each folder.

Limits: 800 lines for .cpp and .h, 600 for .td and .py. Forbidden: LLVM's way of stopping the whole
process, absolute paths, and a note of open work without owner and number, as in `(owner, #12)`.
"""

import re
import sys
from collections import Counter

from sources import project_files, relative, report

LIMITS = {".cpp": 800, ".h": 800, ".td": 600, ".py": 600}
SOURCES = (".cpp", ".h", ".td", ".py", ".mlir", ".cmake", ".txt", ".json", ".toml", ".md")

# Spelt in two halves, so that this file passes its own check.
FORBIDDEN = [
    (
        re.compile(r"\breport_" r"fatal_error\b"),
        "emit a diagnostic instead of stopping the process",
    ),
    (
        re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b(?!\(\w[\w-]*, #\d+\))"),
        "name owner and issue",
    ),
    (
        re.compile(r"(?<![\w.:/<*~-])/(?:work|home|root|tmp|opt|Users|usr|mnt)/[\w.]"),
        "no absolute path",
    ),
]
LICENSED = (".cpp", ".h", ".td", ".py", ".cmake")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# Licence texts quote what they quote.
QUOTED = {"LICENSE.txt", "NOTICE"}


def main() -> int:
    problems: list[str] = []
    totals: Counter[str] = Counter()
    files = [f for f in project_files(*SOURCES) if relative(f) not in QUOTED]
    for path in files:
        name = relative(path)
        lines = path.read_text().splitlines()
        if path.suffix in LIMITS:
            folder = "/".join(name.split("/")[:-1][:2]) or "."
            totals[folder] += len(lines)
            limit = LIMITS[path.suffix]
            if len(lines) > limit:
                problems.append(f"{name}: {len(lines)} lines, the limit is {limit}")
        if path.suffix in LICENSED and lines and LICENCE not in " ".join(lines[:2]):
            problems.append(f"{name}:1: the first line is the licence ({LICENCE})")
        for number, line in enumerate(lines, 1):
            if line.startswith("#!"):
                continue
            for pattern, advice in FORBIDDEN:
                match = pattern.search(line)
                if match:
                    problems.append(f"{name}:{number}: {match.group().strip()}: {advice}")

    width = max(map(len, totals), default=0)
    for folder, count in sorted(totals.items()):
        print(f"  {folder:<{width}}  {count:>6}")
    print(f"  {'in all':<{width}}  {sum(totals.values()):>6}")
    return report("sizes", len(files), problems)


if __name__ == "__main__":
    sys.exit(main())
