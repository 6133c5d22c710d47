"""Bars of what a store holds, for a terminal and as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from itertools import accumulate

from memento import MemoryManager
from memento.types import Memories, Tier

MOST = 100_000
"""Newest memories whose times are counted."""
SAMPLE = 500
"""Newest memories whose strength is looked up, a read for each."""
BARS, LONG = 12, timedelta(days=45)
"""Maximum number of bars of growth, and the time from which each of them is a month."""
COLUMNS, NAMED = 40, 12
"""Characters of the longest bar in a terminal, and of a name."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars of one measure.

    Attributes:
        title: What is measured, with its unit and which way is better.
        bars: Name, length and label of each.
    """

    title: str
    bars: Sequence[tuple[str, float, str]]


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


def panels(memory: MemoryManager) -> list[Panel]:
    """Describe a store: how it grew, where its memories are, how much of them is left."""
    newest = memory.list(newest_first=True, limit=MOST)
    tiers = Counter(one.tier for one in newest)
    return [
        Panel("Memories in all", list(_growth([one.created_at for one in newest]))),
        Panel("Memories in each tier", [_bar(tier, tiers[tier]) for tier in Tier]),
        Panel("Memories by how much of them is left", list(_left(memory, newest))),
    ]


def _growth(moments: Sequence[datetime]) -> Iterator[tuple[str, float, str]]:
    """Yield the number of memories after each of the last days, or months, on which some came."""
    long = moments and max(moments) - min(moments) > LONG
    came = Counter(at.strftime("%Y-%m" if long else "%Y-%m-%d") for at in moments)
    times = sorted(came)
    sums = accumulate(came[name] for name in times)
    yield from [_bar(name, total) for name, total in zip(times, sums, strict=True)][-BARS:]


def _left(memory: MemoryManager, newest: Memories) -> Iterator[tuple[str, float, str]]:
    """Yield the number of memories of which so much is left, in fifths."""
    sample = newest[:SAMPLE]
    fifths = Counter(min(4, int(5 * memory.feedback.strength(one.id).retention)) for one in sample)
    for fifth in reversed(range(5)):
        yield _bar(f"{20 * fifth}-{20 * fifth + 20} %", fifths[fifth])


def _bar(name: str, count: int) -> tuple[str, float, str]:
    return name, count, f"{count:,}"


def lines(shown: Iterable[Panel]) -> Iterator[str]:
    """Draw panels in characters, below each other."""
    for panel in shown:
        longest = max((length for _, length, _ in panel.bars), default=0) or 1
        yield panel.title
        for name, length, label in panel.bars:
            yield f"  {name:<{NAMED}}{'█' * round(COLUMNS * length / longest)} {label}"
        yield ""


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
