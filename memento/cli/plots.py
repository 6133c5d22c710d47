"""Bars of what a store holds, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate

from memento import MemoryManager
from memento.cli.output import listed
from memento.types import Memory, Tier

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
        title: What is measured.
        bars: Name, length and label of each.
    """

    title: str
    bars: Sequence[tuple[str, float, str]]


def panels(memory: MemoryManager) -> list[Panel]:
    """Return the panels of a store: its growth, its tiers, and retention."""
    newest = listed(partial(memory.list, newest_first=True), MOST)
    tiers = Counter(one.tier for one in newest)
    return [
        Panel("Total memories", list(_growth([one.created_at for one in newest]))),
        Panel("Memories per tier", [_bar(tier, tiers[tier]) for tier in Tier]),
        Panel("Memories by retention", list(_left(memory, newest))),
    ]


def _growth(moments: Sequence[datetime]) -> Iterator[tuple[str, float, str]]:
    """Yield the total of memories after each of the last days (or months) on which some arrived."""
    long = moments and max(moments) - min(moments) > LONG
    came = Counter(at.strftime("%Y-%m" if long else "%Y-%m-%d") for at in moments)
    times = sorted(came)
    sums = accumulate(came[name] for name in times)
    yield from [_bar(name, total) for name, total in zip(times, sums, strict=True)][-BARS:]


def _left(memory: MemoryManager, newest: Sequence[Memory]) -> Iterator[tuple[str, float, str]]:
    """Yield the number of sampled memories for each fifth of retention."""
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
