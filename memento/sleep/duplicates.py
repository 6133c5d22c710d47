"""Fold statements that say the same in nearly the same words: one stays, the others lead to it.

Nothing is lost: a folded memory is superseded by the one that stands for it, keeps its text, and
comes back by ``restore`` or ``undo``. Turns of a conversation are left alone, and so is what has a
key, an end, a parent or a lock.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from memento.base.clock import DAY
from memento.ledger import memories, past, sleep_rows, vectors
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row, is_sound
from memento.sleep.night import Night, Plan, Step
from memento.text.alike import alike, prefix, read
from memento.types import Kind, Reason, Trust
from memento.write import merge
from memento.write.steps import FOUND

FOLD_JACCARD, FOLD_COSINE = 0.8, 0.9
"""Minimum share of common words of statements that say the same, and minimum cosine of their
vectors."""
WINDOW = 5_000
"""Maximum number of new memories that one plan compares; the rest wait for the next plan."""
_SHORTEST = 3
"""Minimum number of content words in a statement that is compared."""
_DATED = frozenset({Kind.EPISODE, Kind.EMOTION, Kind.QUESTION, Kind.CONTEXT})
"""Kinds in which the same words on another day are another memory."""

Group: TypeAlias = tuple[int, tuple[int, ...]]
"""Row id of the memory that stays, and of those that are folded into it."""


def plan(session: Transaction, night: Night) -> Plan:
    """Find groups of alike memories of which at least one is new."""
    found = past.next_rows(session, night.ns, night.since, WINDOW + 1)
    more = found[WINDOW - 1][0] if len(found) > WINDOW else None
    fresh = [row for _, row in found[:WINDOW] if _may_fold(row)]
    fresh.sort(key=lambda row: row.docid)
    if not fresh:
        return Plan(looked=len(found[:WINDOW]), more=more)
    every = sleep_rows.active(session, night.ns)
    pairs, rows = _alike(fresh, every, FOLD_JACCARD)
    skipped = Counter[str]()
    groups = list(_groups(session, night, rows, pairs, skipped))
    return Plan(groups, len(fresh), +skipped, more)


def _may_fold(row: Row) -> bool:
    """Return whether a memory may be folded, or stand for others."""
    free = row.key is None and row.valid_until is None and row.expires_at is None
    alone = row.source_parents == "[]" and not (row.session is not None and row.role is not None)
    return row.status in FOUND and not row.pinned and free and alone and is_sound(row)


def _place(row: Row) -> tuple[object, ...]:
    """Return the fields in which memories must agree to be folded, besides their words.

    Rules with different conditions, or plans for different moments, are not the same; nor are two
    statements of which only one is of the user's identity, which every policy includes.
    """
    day = row.occurred_at // DAY if row.kind in _DATED else None
    said_by = row.actor, row.role, row.session, row.metadata
    applies = row.condition, row.due_at, row.signal == "identity"
    return row.scope, row.kind, *said_by, day, *applies


def _alike(
    fresh: Sequence[Row], every: Iterable[Row], least: float
) -> tuple[list[tuple[int, int]], dict[int, Row]]:
    """Return the pairs of alike memories, of which one at least is new, and all rows by row id."""
    rows = {row.docid: row for row in (*fresh, *every) if _may_fold(row)}
    said = {docid: read(row.text) for docid, row in rows.items()}

    def names(row: Row) -> list[tuple[object, ...]]:
        """Return the join keys of a memory: each rare word with the fields that must agree."""
        one = said[row.docid]
        if len(one.content) < _SHORTEST:
            return []
        return [(*_place(row), one.marks, word) for word in prefix(one.content, least)]

    wanted = {name for row in fresh for name in names(row)}
    by_name: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in rows.values():
        for name in names(row):
            if name in wanted:
                by_name[name].append(row.docid)
    new = {row.docid for row in fresh}
    found: set[tuple[int, int]] = set()
    for together in by_name.values():
        for one in new.intersection(together):
            alike_ones = (
                two for two in together if two != one and alike(said[one], said[two], least)
            )
            found.update((min(one, two), max(one, two)) for two in alike_ones)
    return sorted(found), rows


def _groups(
    session: Transaction,
    night: Night,
    known: Mapping[int, Row],
    pairs: Sequence[tuple[int, int]],
    skipped: Counter[str],
) -> Iterator[Group]:
    """Yield the groups to fold, in the order of their first row ids."""
    docids = {docid for pair in pairs for docid in pair}  # was one folded, and taken out again?
    again = {docid for docid in docids if memories.count_states(session, docid, Reason.FOLDED)}
    skipped["taken out before"] = len(again)
    pairs = [pair for pair in pairs if again.isdisjoint(pair)]
    near = _near(session, night, pairs, skipped)
    for members in sorted(_connected(near)):
        rows = sorted((known[docid] for docid in members), key=_standing)
        yield rows[0].docid, tuple(sorted(row.docid for row in rows[1:]))


def _standing(row: Row) -> tuple[int, int, int]:
    """Return the sort key: the most trusted first, then the most words, then the oldest."""
    return Trust.rank_of(row.trust), -row.words, row.docid


def _connected(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of some pairs, each ascending."""
    head: dict[int, int] = {}

    def top(one: int) -> int:
        while head.setdefault(one, one) != one:
            one = head[one]
        return one

    for one, other in pairs:
        first, second = sorted((top(one), top(other)))
        head[second] = first
    groups: dict[int, list[int]] = defaultdict(list)
    for one in sorted(head):
        groups[top(one)].append(one)
    return list(groups.values())


def _near(
    session: Transaction, night: Night, pairs: Sequence[tuple[int, int]], skipped: Counter[str]
) -> list[tuple[int, int]]:
    """Keep the pairs whose vectors are near; count those without a vector in ``skipped``."""
    current = vectors.current_model(session) if night.embeds else None
    if current is None:
        return list(pairs)
    docids = sorted({docid for pair in pairs for docid in pair})
    blobs = vectors.read(session, docids, current[0])
    kept: list[tuple[int, int]] = []
    for one, other in pairs:
        if one not in blobs or other not in blobs:
            skipped["without a vector"] += 1
        elif cosine(blobs[one], blobs[other]) >= FOLD_COSINE:
            kept.append((one, other))
    return kept


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors of unit length."""
    return math.fsum(a * b for a, b in zip(array("f", one), array("f", other), strict=True))


def carry_out(work: Work, _night: Night, group: Group) -> Sequence[Row]:
    """Fold one group, unless one of its memories changed in the meantime."""
    survivor, members = group
    rows = memories.by_docids(work.db, work.ns, [survivor, *members])
    if len(rows) <= len(members) or not all(_may_fold(row) for row in rows.values()):
        return []
    return merge.fold(work, rows[survivor], [rows[docid] for docid in members])


STEP = Step("duplicates", plan, carry_out)
