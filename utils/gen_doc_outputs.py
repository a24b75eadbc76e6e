# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands and snippets of the documentation and writes what they print into the pages.

    python utils/gen_doc_outputs.py [--check] [docs/tutorial.md ...]

The form of the blocks is described in utils/doc_blocks.py.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from doc_blocks import BlockError, pages, run_page
from sources import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path, help="all pages if none is named")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--check", action="store_true", help="fail when a page is out of date")
    options = parser.parse_args()
    failed = 0
    for page in options.pages or pages():
        page = page.resolve()
        name = str(page.relative_to(ROOT))
        old = page.read_text()
        try:
            new = run_page(page, options.build.resolve())
        except BlockError as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        if new == old:
            continue
        if options.check:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, "now", lineterm=""
            )
            print("\n".join(lines), file=sys.stderr)
            failed = 1
        else:
            page.write_text(new)
            print(f"wrote {name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
