# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A scatter plot of predicted against published times, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from score import Result, by_family

SIDE, MARGIN = 640, 70
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#008b8b", "#555555", "#d1477a")


def scatter(results: Sequence[Result]) -> str:
    """Both axes in microseconds, logarithmic; the band is 10 % either way."""
    values = [v for r in results for v in (r.row.value, r.predicted)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    inside = SIDE - 2 * MARGIN

    def place(value: float) -> float:
        return MARGIN + (math.log10(value) - low) / (high - low) * inside

    def x(value: float) -> str:
        return f"{place(value):.1f}"

    def y(value: float) -> str:
        return f"{SIDE - place(value):.1f}"

    first, last = 10.0**low, 10.0**high
    corners = ((first, 1.1), (last, 1.1), (last, 0.9), (first, 0.9))
    band = " ".join(f"{x(at)},{y(at * factor)}" for at, factor in corners)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{SIDE}" height="{SIDE}" fill="white"/>',
        f'<polygon points="{band}" fill="#eeeeee"/>',
        f'<line x1="{x(first)}" y1="{y(first)}" x2="{x(last)}" y2="{y(last)}" stroke="#999999"/>',
    ]
    for power in range(low, high + 1):
        at, text = 10.0**power, f"{10.0**power:g}"
        lines += [
            f'<line x1="{x(at)}" y1="{y(first)}" x2="{x(at)}" y2="{y(last)}" stroke="#dddddd"/>',
            f'<line x1="{x(first)}" y1="{y(at)}" x2="{x(last)}" y2="{y(at)}" stroke="#dddddd"/>',
            f'<text x="{x(at)}" y="{SIDE - MARGIN + 18}" text-anchor="middle">{text}</text>',
            f'<text x="{MARGIN - 8}" y="{y(at)}" text-anchor="end">{text}</text>',
        ]
    for index, (family, members) in enumerate(by_family(results).items()):
        colour = COLOURS[index % len(COLOURS)]
        top = MARGIN + 16 * index
        lines.append(f'<circle cx="{MARGIN + 12}" cy="{top + 8}" r="4" fill="{colour}"/>')
        lines.append(f'<text x="{MARGIN + 22}" y="{top + 12}">{escape(family)}</text>')
        for result in members:
            title = f"{result.row.id} {result.row.kernel}: {result.error:+.1f} %"
            lines.append(
                f'<circle cx="{x(result.row.value)}" cy="{y(result.predicted)}" r="3.5"'
                f' fill="{colour}" fill-opacity="0.7"><title>{escape(title)}</title></circle>'
            )
    lines += [
        f'<text x="{SIDE / 2}" y="{SIDE - 20}" text-anchor="middle">published, us</text>',
        f'<text x="20" y="{SIDE / 2}" text-anchor="middle"'
        f' transform="rotate(-90 20 {SIDE / 2})">predicted, us</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
