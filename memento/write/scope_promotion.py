"""Find what several sibling scopes say alike, so that it may hold for all of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from memento.base.scopes import contains
from memento.ledger.rows import Row
from memento.observe.signals import Signal
from memento.observe.slots import slot_of
from memento.text.alike import read
from memento.text.gist import gist
from memento.text.opposed import opposed
from memento.types import Kind

ALIKE = 0.9
"""Cosine from which memories of several scopes say the same."""
SIBLINGS = 3
"""Sibling scopes that must say the same before it may be promoted."""
SIGNALS = {Kind.RULE: Signal.RULE, Kind.PREFERENCE: Signal.PREFERENCE}
"""Kinds that may be promoted, each to the signal by which its slot is read."""


def parent_of(scope: str) -> str:
    """Return the scope that contains a scope directly.

    >>> parent_of("project/alpha"), parent_of("alpha")
    ('project', '')
    """
    return scope.rpartition("/")[0]


def promotable(
    rows: Sequence[Row], near: Mapping[tuple[int, int], float], contradicting: Collection[int]
) -> Iterator[tuple[str, list[Row]]]:
    """Yield for each group its parent scope and its memories, one of each scope.

    Args:
        rows: Active rules and preferences, in order of arrival.
        near: Two row ids, the smaller first, to the cosine of their texts.
        contradicting: Row ids of memories that something contradicts.
    """
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.scope and row.docid not in contradicting:
            family = (parent_of(row.scope), row.kind, row.condition or "", row.trust)
            families.setdefault(family, []).append(row)
    for (parent, *_), members in sorted(families.items(), key=lambda one: one[0][0]):
        for group in _groups(members, near):
            if len(group) >= SIBLINGS and not _is_opposed(group, parent, rows):
                yield parent, group


def _groups(members: Sequence[Row], near: Mapping[tuple[int, int], float]) -> Iterator[list[Row]]:
    """Yield groups of memories that say the same, each of another scope."""
    left = list(members)
    while left:
        group: list[Row] = []
        for row in left:
            other_scope = all(row.scope != one.scope for one in group)
            if other_scope and all(_same(one, row, near) for one in group):
                group.append(row)
        left = [row for row in left if row not in group]
        yield group


def _same(one: Row, other: Row, near: Mapping[tuple[int, int], float]) -> bool:
    if gist(one.text) == gist(other.text):
        return True
    if one.key is not None and one.key == other.key:
        return _value(one) is not None and _value(one) == _value(other)
    cosine = near.get((min(one.docid, other.docid), max(one.docid, other.docid)), 0.0)
    if cosine < ALIKE or read(one.text).marks != read(other.text).marks:
        return False
    return not opposed(one.text, other.text)


def _value(row: Row) -> str | None:
    """Return the value that a memory gives its slot; None if that cannot be read."""
    slot = slot_of(row.text, SIGNALS[Kind(row.kind)])
    return slot.value if slot is not None and slot.key == row.key else None


def _is_opposed(group: Sequence[Row], parent: str, rows: Sequence[Row]) -> bool:
    """Return whether another memory forbids to promote a group to its parent scope.

    One inside it with another value of their slot, or one at or above it with their slot or text.
    """
    keys = {row.key for row in group if row.key is not None}
    texts = {gist(row.text) for row in group}
    for row in rows:
        if row in group:
            continue
        above = contains(row.scope, parent)
        if above and (row.key in keys or gist(row.text) in texts):
            return True
        beside = contains(parent, row.scope) and row.key in keys
        if beside and not any(_same(one, row, {}) for one in group):
            return True
    return False
