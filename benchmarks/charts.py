"""Bars as SVG, for the pages that publish figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from memento.cli.plots import Panel

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, MARGIN, GAP = 960, 24, 32
NAMES, LABELS = 176, 44
ROW, BAR, HEAD = 22, 14, 34
DWARFS, OVER, BREAK = 3, 1.3, (180, 186)
"""A bar over three times as long as the next is broken off at 1.3 of that, and has two strokes."""
STYLE = """\
  .back { fill: #ffffff } text { fill: #1f2328; font: 12px system-ui, sans-serif }
  .title { font-weight: 600 } .name { text-anchor: end }
  .ours { fill: #0969da } .theirs { fill: #afb8c1 }
  .axis { stroke: #d1d9e0 } .break { stroke: #ffffff; stroke-width: 3 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } text { fill: #e6edf3 }
    .ours { fill: #4493f8 } .theirs { fill: #57606a } .axis { stroke: #3d444d }
    .break { stroke: #0d1117 }
  }"""


def chart(shown: Sequence[Panel], title: str, ours: str = "") -> str:
    """Draw panels as SVG, two a line; its colours follow the reader's light or dark theme.

    Bars whose names begin with ``ours`` have a colour of their own.
    """
    column = (WIDTH - 2 * MARGIN - GAP) / 2
    y, body = MARGIN, []
    for first in range(0, len(shown), 2):
        line = shown[first : first + 2]
        for n, panel in enumerate(line):
            body += _drawn(panel, MARGIN + n * (column + GAP), y, column, ours)
        y += HEAD + ROW * max(len(panel.bars) for panel in line) + GAP
    height = y - GAP + MARGIN
    size = f'width="{WIDTH}" height="{height}"'
    words = "; ".join(panel.title for panel in shown)
    return "\n".join(
        [
            f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {height}" {size} role="img">',
            f"<title>{escape(title)}: {escape(words)}</title>",
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="back" {size}/>',
            *body,
            "</svg>\n",
        ]
    )


def _drawn(panel: Panel, x: float, y: float, width: float, ours: str) -> list[str]:
    """Draw one panel with its upper left corner at (x, y)."""
    longest = _reach([length for _, length, _ in panel.bars])
    left, room = x + NAMES, width - NAMES - LABELS
    top, end = y + HEAD, y + HEAD + ROW * len(panel.bars)
    lines = [
        f'<text class="title" x="{x:.0f}" y="{y + 14:.0f}">{escape(panel.title)}</text>',
        f'<path class="axis" d="M{left:.0f} {top - 6:.0f}V{end:.0f}"/>',
    ]
    for n, (name, length, label) in enumerate(panel.bars):
        line, long = top + n * ROW, room * min(1.0, length / longest)
        kind = "ours" if name.startswith(ours) else "theirs"
        place = f'y="{line + 11:.0f}"'
        lines += [
            f'<text class="name" x="{left - 8:.0f}" {place}>{escape(name)}</text>',
            f'<path class="{kind}" d="M{left:.0f} {line:.0f}h{long:.1f}v{BAR}h-{long:.1f}z"/>',
            f'<text x="{left + long + 6:.1f}" {place}>{escape(label)}</text>',
        ]
        if length > longest:  # broken off: two strokes of the ground through the bar
            strokes = "".join(f"M{left + at:.0f} {line + BAR + 1:.0f}l6 -{BAR + 2}" for at in BREAK)
            lines.append(f'<path class="break" d="{strokes}"/>')
    return lines


def _reach(lengths: Sequence[float]) -> float:
    """Return the length that fills a panel: the longest, unless it dwarfs all the others.

    >>> _reach([1.0, 2.0, 4.0]), _reach([1.0, 2.0, 100.0])
    (4.0, 2.6)
    """
    *_, second, longest = sorted([0.0, 0.0, *lengths])
    return second * OVER if 0 < second * DWARFS < longest else longest or 1.0
