"""Lay out the memories linked to one: direct links on a ring, others on a ring outside it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import cos, pi, sin

from memento.types import Memory, Related

MOST = 60
"""Maximum number of memories in a picture."""
WIDE, HIGH = 720, 420
"""Largest size of the picture of two rings; that of one ring is half as large."""
BESIDE, BELOW = 84, 44
"""Space for the label of a memory, on each side of it and above and below."""
FEW = 2
"""Up to this number, memories are placed left and right of the middle."""
LABELLED = 14
"""Up to this number, memories have text labels in the picture, not only numbers."""

WORDS = {
    "supersedes": ("replaces", "replaced by"),
    "proposes": ("would replace", "may be replaced by"),
    "contradicts": ("contradicts", "contradicted by"),
    "echoes": ("echoes", "echoed by"),
    "resolved": ("settled with", "settled with"),
    "quotes": ("quotes", "quoted by"),
    "related": ("related to", "related to"),
}
"""For each relation, the words from source to target, and from target to source."""


def relation(link: Related) -> str:
    """Return how the memory in the middle is related to the linked one, in words."""
    there, back = WORDS.get(link.relation, (link.relation, link.relation))
    return there if link.outgoing else back


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the picture, with its position, number and ring (0 is the middle)."""

    memory: Memory
    number: int
    ring: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: size, memories, lines with their relations, and number of memories left out."""

    wide: int
    high: int
    nodes: tuple[Node, ...]
    lines: tuple[tuple[Node, Node, str], ...]
    left_out: int
    labelled: bool


def around(middle: Memory, links: Iterable[tuple[str, Related]], *, most: int = MOST) -> Picture:
    """Lay out the memories that are linked to one.

    Args:
        middle: The memory in the middle.
        links: Links with the id of the memory at which each starts; those of the middle first.
        most: Maximum number of memories around it.
    """
    links = list(links)
    near = {one.memory.id: one.memory for at, one in links if at == middle.id}
    far = {one.memory.id: (at, one.memory) for at, one in links if one.memory.id not in near}
    far.pop(middle.id, None)
    shown = [*near.values()][:most]
    places = {one.id: at for at, one in enumerate(shown)}
    behind = sorted((p for p in far.values() if p[0] in places), key=lambda p: places[p[0]])
    rest = [one for _, one in behind][: most - len(shown)]
    wide, high = (WIDE, HIGH) if rest else (WIDE // 2, HIGH // 2)
    turns = [_turn(at, len(shown)) for at in range(len(shown))]
    made = [Node(middle, 0, 0, wide // 2, high // 2)]
    made += _ring(shown, turns, 1, wide, high, 0.27 if rest else 0.34, first=1)
    outer = _behind([places[at] for at, _ in behind[: len(rest)]], turns)
    made += _ring(rest, outer, 2, wide, high, 0.43, first=1 + len(shown))
    left, top = min(one.x for one in made) - BESIDE, min(one.y for one in made) - BELOW
    made = [replace(one, x=one.x - left, y=one.y - top) for one in made]
    wide, high = max(one.x for one in made) + BESIDE, max(one.y for one in made) + BELOW
    of = {node.memory.id: node for node in made}
    lines = {
        frozenset((at, one.memory.id)): (of[at], of[one.memory.id], relation(one))
        for at, one in reversed(links)
        if at in of and one.memory.id in of
    }
    gone = len(near) + len(far) - len(made) + 1
    return Picture(wide, high, tuple(made), tuple(lines.values()), gone, len(made) <= LABELLED)


def _turn(at: int, count: int) -> float:
    """Return the direction of memory ``at`` of ``count``, radians; two are right and left."""
    return 2 * pi * at / count if count <= FEW else 2 * pi * (at + 0.5) / count - pi / 2


def _behind(parents: list[int], turns: list[float]) -> list[float]:
    """Return directions for memories of the outer ring, near those of their parents."""
    sector = min(2 * pi / max(1, len(turns)), pi / 2)
    found = []
    for at, parent in enumerate(parents):
        count, first = parents.count(parent), parents.index(parent)
        found.append(turns[parent] + sector * ((at - first + 0.5) / count - 0.5))
    return found


def _ring(
    memories: list[Memory],
    turns: list[float],
    ring: int,
    wide: int,
    high: int,
    size: float,
    *,
    first: int,
) -> list[Node]:
    return [
        Node(
            one,
            first + at,
            ring,
            round(wide / 2 + wide * size * cos(turns[at])),
            round(high / 2 + high * size * sin(turns[at])),
        )
        for at, one in enumerate(memories)
    ]
