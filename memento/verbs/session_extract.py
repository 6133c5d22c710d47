"""Make the extract of a session, which quotes its own words. Pure.

It has what was decided and learned, the plans, the next step that was noted last, and the turns
of the user that are nearest to all the others, one of each topic.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from memento.base.blocks import framed
from memento.base.display import cut, one_line
from memento.prompt.rendering import escape
from memento.text.words import content, estimate, terms
from memento.types import Kind, Memory

TOKENS = 150
"""Maximum number of tokens in an extract."""
CENTRAL = 3
"""Maximum number of turns of the user that it quotes."""
NEAR = 0.8
"""Cosine from which two turns are of one topic."""
ALIKE = 0.5
"""The same as a share of common words, if there are no vectors."""

LEARNT = (Kind.DECISION, Kind.RULE, Kind.PREFERENCE, Kind.PLAN)
"""Kinds of memories that say what came of a session."""
_LABELS = {"decision": "Decided", "rule": "Rule", "preference": "Preferred", "plan": "Planned"}

LONGEST = 240
"""Maximum number of characters in one item."""
SHORTEST = 40
"""Minimum number of characters in an item that is cut to fit; a shorter one tells nothing."""
log = logging.getLogger("memento.verbs.sessions")


def compose(
    goal: str | None,
    outcome: str | None,
    learnt: Sequence[Memory],
    steps: Sequence[str],
    turns: Sequence[Memory],
) -> tuple[str, tuple[str, ...]]:
    """Write an extract.

    Args:
        goal: The task of the session.
        outcome: How it ended.
        learnt: Memories of the kinds ``LEARNT``, the newest last.
        steps: The next steps that were noted last.
        turns: The most central turns of the user, best first.

    Returns:
        The text, at most ``TOKENS`` long, and the ids of the memories that it quotes; ``""`` if
        there is nothing to quote.
    """
    lines: list[tuple[str, str | None]] = []
    if goal:
        lines.append((f"Task: {goal}", None))
    if outcome:
        lines.append((f"Outcome: {outcome}", None))
    lines += [(f"{_LABELS[str(one.kind)]}: {one.text}", one.id) for one in reversed(learnt)]
    lines += [(f"Next: {step}", None) for step in steps[:1]]
    lines += [(f"The user said: {one.text}", one.id) for one in turns]
    kept: list[str] = []
    quoted: list[str] = []
    left = TOKENS
    for line, memory_id in lines:
        said = one_line(line)
        if (price := estimate(f"{said}\n")) > left:
            continue
        left -= price
        kept.append(said)
        quoted += [] if memory_id is None else [memory_id]
    telling = quoted or steps
    return ("\n".join(kept), tuple(dict.fromkeys(quoted))) if telling else ("", ())


def central(turns: Sequence[Memory], vectors: Mapping[str, bytes]) -> list[Memory]:
    """Choose the turns that are nearest to all of them, one of each topic, best first.

    Args:
        turns: Turns of the user.
        vectors: Ids to vectors, float32 of unit length; used if every turn has one.
    """
    if all(one.id in vectors for one in turns):
        points = [array("f", vectors[one.id]) for one in turns]
        return _chosen(turns, _cosines(points), _cosine_of(points), NEAR)
    words = [frozenset(content(terms(one.text))) for one in turns]
    sums = [sum(_common(mine, other) for other in words) for mine in words]
    return _chosen(turns, sums, lambda a, b: _common(words[a], words[b]), ALIKE)


def _chosen(
    turns: Sequence[Memory],
    scores: Sequence[float],
    likeness: Callable[[int, int], float],
    same: float,
) -> list[Memory]:
    chosen: list[int] = []
    for at in sorted(range(len(turns)), key=lambda at: (-scores[at], at)):
        if len(chosen) < CENTRAL and all(likeness(at, other) < same for other in chosen):
            chosen.append(at)
    return [turns[at] for at in chosen]


def _cosines(points: Sequence[Sequence[float]]) -> list[float]:
    """Return the cosine of each point to the mean of all."""
    mean = [sum(column) for column in zip(*points, strict=True)]
    length = sqrt(sum(x * x for x in mean)) or 1.0
    return [sum(x * y for x, y in zip(point, mean, strict=True)) / length for point in points]


def _cosine_of(points: Sequence[Sequence[float]]) -> Callable[[int, int], float]:
    return lambda a, b: sum(x * y for x, y in zip(points[a], points[b], strict=True))


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


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
        tokens: Maximum number of tokens in the block.
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
        log.warning("no part of an unfinished session fits in %d tokens", tokens)
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
