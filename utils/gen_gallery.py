# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of examples/gallery and writes docs/gallery.md and its picture.

    python utils/gen_gallery.py [--check]

`--check` writes nothing and fails when a page is out of date. A kernel that disagrees with its
reference ends the program.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys

from sources import ROOT

FOLDER = ROOT / "examples" / "gallery"
PAGE, PICTURE = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery.svg"
#: What the kernels share.
COMMON = "gallery"
HEAD = """# Gallery

Kernels in the GPU dialect of TileLang, each with a reference and sizes of its own.
`tilewright run examples/gallery/NAME.py` runs one, `tilewright port` says more about it. Times are
predicted for a 910b3, without the launch; `utils/gen_gallery.py` writes this page.

- *differs*: largest difference from the reference over the reference's largest value
- *roofline*: share of what the work alone allows, each byte of global memory moved once at the
  memory's rate; above 100 % where results stay in the L2 cache
- *bound*: share of what the compiled program allows, and the pipe, or the memory (HBM), that binds

![Shares of the roofline and of the bound](gallery.svg)

| kernel | what it is | differs | time | roofline | bound |
| --- | --- | --- | --- | --- | --- |
"""
BAR, STEP, LEFT, FULL = 7, 22, 190, 320


def names() -> list[str]:
    """The modules of the folder, each of which has a kernel and `main`."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != COMMON)


def rows() -> list[tuple[str, str, object]]:
    """(name, first sentence of the module, what its main returns) of each kernel."""
    os.environ["TILEWRIGHT_CHIP"] = "910b3"
    from tilewright import compat

    compat.install()
    sys.path.insert(0, str(FOLDER))
    found = []
    for name in names():
        text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or ""
        found.append(
            (name, " ".join(text.split("\n\n")[0].split()), importlib.import_module(name).main())
        )
    return found


def page(found: list) -> str:
    """The Markdown page."""
    lines = []
    for name, text, row in found:
        link = f"[{row.name}](../examples/gallery/{name}.py)"
        differs = f"{row.difference:.1e}" if row.difference else "0"
        shares = f"{row.roofline:.0%} | {row.bound:.0%} {row.pipe}"
        lines.append(f"| {link} | {text} | {differs} | {row.core_us:.1f} us | {shares} |\n")
    return HEAD + "".join(lines)


def picture(found: list) -> str:
    """The shares as bars, an SVG."""
    height = STEP * len(found) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + FULL + 60}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{LEFT + FULL + 60}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="16" fill="#1f5fa8">roofline</text>'
        f'<text x="{LEFT + 70}" y="16" fill="#b0b7bf">bound</text>',
    ]
    for number, (_, _, row) in enumerate(found):
        y = 26 + STEP * number
        parts.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{row.name}</text>')
        for at, (share, colour) in enumerate(((row.roofline, "#1f5fa8"), (row.bound, "#b0b7bf"))):
            width = round(min(share, 1.0) * FULL, 1)
            parts.append(
                f'<rect x="{LEFT}" y="{y + at * BAR}" width="{width}" height="{BAR}" '
                f'fill="{colour}"/>'
            )
    bottom = height - 4
    parts.append(f'<path d="M{LEFT + FULL} 22V{bottom}M{LEFT} 22V{bottom}" stroke="#888"/>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail when a page is out of date")
    options = parser.parse_args()
    found = rows()
    stale = 0
    for path, text in ((PAGE, page(found)), (PICTURE, picture(found))):
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if options.check:
            print(f"{path.relative_to(ROOT)} is out of date: run python utils/gen_gallery.py")
        else:
            path.write_text(text)
            print(f"{path.relative_to(ROOT)}: written")
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
