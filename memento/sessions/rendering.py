"""The block that says where the work of a session stands. Pure.

Each text is one escaped string, so that none of it can close the block or pose as a part of the
prompt. The same content always gives the same block.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memento.blocks import framed
from memento.display import cut
from memento.policy.prompt import escape

LONGEST = 240
"""Most characters of one item."""
SHORTEST = 40
"""Fewest characters of an item that is cut to fit; a shorter one tells nothing."""

log = logging.getLogger("memento.sessions")


@dataclass(frozen=True, slots=True)
class Section:
    """One line of the block.

    Attributes:
        label: What its items are.
        items: The items, in the order in which they are shown.
        newest_first: Whether the last items are the most important ones.
    """

    label: str
    items: Sequence[str]
    newest_first: bool = False


def render(
    sections: Sequence[Section], tag: str, tokens: int, count: Callable[[str], int]
) -> tuple[str, int]:
    """Compose the block, as far as it fits.

    Every section gets one item before any gets a second one, and the first sections come first.

    Args:
        sections: What is to be said, the most important first.
        tag: Digits for the name of the tag, see ``blocks.tag``.
        tokens: Most tokens of the block.
        count: Counts the tokens of a text.

    Returns:
        The block and its tokens; ``""`` and 0 if not even the first item fits.
    """
    chosen: dict[str, dict[int, str]] = {section.label: {} for section in sections}
    left = tokens - count(framed("unfinished", tag, ()))
    for section, at in _in_turn(sections):
        shown = chosen[section.label]
        price_of_label = 0 if shown else count(f"{section.label}: \n")
        said = _fitting(section.items[at], left - price_of_label, count)
        if said is None:
            continue
        shown[at] = said
        left -= price_of_label + count(f"{said}; ")
    lines = [
        f"{section.label}: {'; '.join(said for _, said in sorted(shown.items()))}"
        for section in sections
        if (shown := chosen[section.label])
    ]
    text = framed("unfinished", tag, lines) if lines else ""
    if not text and any(section.items for section in sections):
        log.warning("nothing of an unfinished session fits into %d tokens", tokens)
    return (text, count(text)) if text else ("", 0)


def _in_turn(sections: Sequence[Section]) -> list[tuple[Section, int]]:
    """List the items in the order in which they are given room."""
    orders = [
        (section, sorted(range(len(section.items)), reverse=section.newest_first))
        for section in sections
    ]
    first = [(section, order[0]) for section, order in orders if order]
    return first + [(section, at) for section, order in orders for at in order[1:]]


def _fitting(item: str, left: int, count: Callable[[str], int]) -> str | None:
    """Return an item as it is shown; None if not even a part of it fits."""
    room = min(len(item), LONGEST)
    while room:
        said = escape(cut(item, room))
        if count(f"{said}; ") <= left:
            return said
        if room <= SHORTEST:
            return None
        room = max(SHORTEST, room * 2 // 3)
    return None
