"""Answer a request from what was recorded by an earlier moment: ``retrieve(known_at=...)``.

The outlines of the namespace are restored as they were, and the usual ranking runs over them. The
indexes know only the present texts, so a memory whose words were different then is matched by a
separate index in RAM, and by no vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memento.ledger import memories, past
from memento.ledger.contract import Tail, Transaction
from memento.ledger.match import Match
from memento.ledger.past import Past
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, damaged, docid_of, is_sound, strings_in
from memento.retrieve.by_meaning import WIDER, Nearest
from memento.retrieve.columns import Floats, Mask, Roster, RosterRow, RosterView, Rows, distinct
from memento.retrieve.ledger_source import Docids, LedgerSource
from memento.retrieve.request import Request
from memento.retrieve.searcher import LEDGER, Searcher
from memento.retrieve.spellings import Vocabulary
from memento.retrieve.visible import allow, needs_ledger
from memento.status import HEARD
from memento.text.words import Columns, words
from memento.tiers.mapped import Links
from memento.types import Retrieval

MOST_REWORDED = 5_000
"""Maximum number of changed memories whose old words are indexed for one query: about 0.1 s."""
HISTORY = "history"
"""Key in ``missing`` if the words of more memories have changed since."""
_EMBEDDED = ("text", "actor", "role")
"""Columns that a vector is made of."""


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A namespace as it was recorded at a moment.

    Attributes:
        past: Its differences from now.
        outlines: The outlines of its memories, in order of arrival.
        reworded: Row ids of memories whose words were different, to their words then.
        revoiced: Row ids of memories without a vector of their text then, ascending.
    """

    past: Past
    outlines: Sequence[RosterRow]
    reworded: Mapping[int, Columns]
    revoiced: Docids

    @classmethod
    def read(cls, session: Transaction, ns: int, moment: int) -> World:
        """Read a namespace as it was recorded at a moment, microseconds."""
        then = past.read(session, ns, moment)
        present = memories.by_docids(session, ns, list(then.changed))
        revoiced = [
            docid
            for docid, row in then.changed.items()
            if docid in present and _voice(present[docid]) != _voice(row)
        ]
        return cls(
            past=then,
            outlines=_outlines(session, ns, then),
            reworded=past.reworded(session, ns, then),
            revoiced=np.array(sorted(revoiced), np.int64),
        )


def _voice(row: Row) -> list[object]:
    return [getattr(row, name) for name in _EMBEDDED]


def _outlines(session: Transaction, ns: int, then: Past) -> list[RosterRow]:
    """Return the outlines of the memories that were there."""
    gone = then.absent | then.changed.keys()
    now = past.outlines_since(session, ns, 0)
    rows = [RosterRow._make((*one[:-1], strings_in(one[-1]))) for one in now if one[0] not in gone]
    names = [row.superseded_by for row in then.changed.values() if row.superseded_by is not None]
    heirs = memories.docids_of(session, ns, names)
    for row in then.changed.values():
        own = {name: getattr(row, name) for name in RosterRow._fields if hasattr(row, name)}
        heir = None if row.superseded_by is None else heirs.get(row.superseded_by, -1)
        rows.append(RosterRow(**own | {"successor": heir, "aliases": strings_in(row.aliases)}))
    return sorted(rows, key=lambda row: row.docid)


class PastSource(LedgerSource):
    """The texts and postings of a namespace as they were; see ``ledger_source.TextSource``.

    The tail is an empty index, to be filled with the words of that time.
    """

    def __init__(self, now: LedgerSource, world: World, tail: Tail) -> None:
        self.__dict__.update(now.__dict__)
        self.world = world
        self._then = tail
        newest = sorted(world.reworded)[-MOST_REWORDED:]
        tail.hold(self.ns, [(docid, world.reworded[docid]) for docid in newest])
        self._other = np.array(sorted(world.reworded), np.int64)
        self._there = np.array([row.docid for row in world.outlines], np.int64)
        self._words: Vocabulary | None = None

    def postings(self, matches: Sequence[Match], limit: int) -> list[Docids]:
        """Return the docids that expressions match by the words of that time."""
        then = self._then.postings(self.ns, matches, limit)
        first = docid_of(self.ns, 0)
        found = [self._still(match, limit) for match in matches]
        return [
            distinct(np.concatenate([now, first + other]))[-limit:]
            for now, other in zip(found, then, strict=True)
        ]

    def _still(self, match: Match, limit: int) -> Docids:
        """Return the newest docids that match, of memories whose words have not changed since."""
        size = limit
        while True:
            (read,) = super().postings([match], size)
            kept = read[np.isin(read, self._there) & ~np.isin(read, self._other)]
            if len(read) < size or len(kept) >= limit:
                return kept[-limit:]
            size *= WIDER  # rows added after the moment are newer and use up the limit

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the texts of that time, ``""`` for an erased memory."""
        changed = self.world.past.changed
        found = zip(docids, super().texts(docids), strict=True)
        self.rows.clear()  # they are as they are now
        return [changed[docid].text if docid in changed else text for docid, text in found]

    def vocabulary(self, first: int) -> Vocabulary:
        """Return the words of the memories that were heard then."""
        if self._words is None:
            self._words = Vocabulary()
            with self._words.following():
                self._ledger.read(lambda c: self._learn(c, first), space=self.ns)
        return self._words

    def _learn(self, session: Transaction, first: int) -> None:
        assert self._words is not None  # noqa: S101 - made by the only caller
        then = self.world.past
        for docid, status, text, names in past.said_since(session, self.ns, 0, first):
            if status in HEARD and docid not in then.absent and docid not in then.changed:
                said = [part for part in (text, *names) if part]
                self._words.put(docid, words("\n".join(said)))
        for docid, row in then.changed.items():
            if row.status in HEARD and docid >= first:
                names = [row.actor or row.role, row.key, *strings_in(row.aliases)]
                said = [part for part in (row.text, *names, *strings_in(row.tags)) if part]
                self._words.put(docid, words("\n".join(said)))

    def matching(self, filters: Filters) -> Docids:
        """Return the docids that passed filters which only the ledger can decide."""
        found = self._ledger.read(
            lambda c: past.matching(c, self.ns, filters, self.world.past), space=self.ns
        )
        return np.array(found, np.int64)


class PastNearest:
    """A search of the present vectors, for memories whose text was the same then.

    Rows of that time are found by the vectors of the present rows, except ``revoiced`` docids.
    """

    def __init__(
        self, nearest: Nearest, present: RosterView, then: RosterView, revoiced: Docids
    ) -> None:
        self._nearest, self._present, self._then = nearest, present, then
        self._same = ~np.isin(then.docid, revoiced)
        self._rows = np.full(then.n, -1, np.intp)
        self._rows[self._same] = present.rows_of(then.docid[self._same])

    def nearest(self, vector: Floats, n: int, allowed: Mask) -> tuple[Rows, Floats]:
        """Return the n nearest, nearest first."""
        open_to = np.zeros(self._present.n, np.bool_)
        open_to[self._rows[allowed & self._same]] = True
        rows, cosines = self._nearest.nearest(vector, n, open_to)
        return self._then.rows_of(self._present.docid[rows]), cosines

    def cosines(self, vector: Floats, rows: Rows) -> tuple[Floats, Mask]:
        """Return the cosine of each row, and which rows have a vector of that time."""
        return self._nearest.cosines(vector, self._now(rows))

    def lengths(self, rows: Rows, before: Links, after: Links, share: np.float32) -> Floats:
        """Return the lengths of vectors with shares of those that were before and after."""
        return self._nearest.lengths(self._now(rows), self._now(before), self._now(after), share)

    def vectors_of(self, rows: Rows) -> Floats:
        """Return vectors, zeros for a memory whose text was different then."""
        return self._nearest.vectors_of(self._now(rows))

    def _now(self, rows: Links) -> Rows:
        """Return the present row of each, -1 for -1 and for one whose text was different then."""
        return np.where(rows >= 0, self._rows[rows], -1)


class PastSearcher(Searcher):
    """Answers one request from what was recorded by a moment, with the caches of a searcher."""

    _sees_present = False

    def __init__(self, present: Searcher, moment: int) -> None:
        self.__dict__.update(present.__dict__)
        self._moment = moment
        self._world: World | None = None

    def search(
        self, ns: int, labels: tuple[str, ...], request: Request, shown: tuple[str, ...] = ()
    ) -> Retrieval:
        """Find memories of one namespace as they were."""
        found = super().search(ns, labels, request, shown)
        if self._world is None:
            return found
        missing = dict(found.missing)
        if self._world.past.damaged:
            missing.setdefault(LEDGER, damaged(self._world.past.damaged))
        if (more := len(self._world.reworded) - MOST_REWORDED) > 0:
            missing[HISTORY] = (
                f"{len(self._world.reworded):,} memories had a different text then; the oldest "
                f"{more:,} of them cannot be found by keyword or semantic search"
            )
        return replace(found, missing=missing)

    def _source(
        self, labels: tuple[str, ...], ns: int, shown: tuple[str, ...] = ()
    ) -> LedgerSource:
        now = super()._source(labels, ns, shown)
        self._world = self._ledger.read(lambda c: World.read(c, ns, self._moment), space=ns)
        return PastSource(now, self._world, self._ledger.make_tail())

    def _follow(
        self, source: LedgerSource, filters: Filters, model: int | None, *, exact: bool
    ) -> tuple[RosterView, Mask, Nearest | None]:
        """Put the namespace together as it was; see ``Searcher._follow``."""
        assert isinstance(source, PastSource)  # noqa: S101 - `_source` makes no other
        every = Filters(now=filters.now, statuses=())
        present, _, nearest = super()._follow(source, every, model, exact=exact)
        world, roster = source.world, Roster()
        roster.apply(world.outlines)
        snap = roster.view()
        docids = source.matching(filters) if needs_ledger(filters) else None
        allowed = allow(snap, filters, docids, source.hidden(filters))
        if nearest is None:
            return snap, allowed, None
        return snap, allowed, PastNearest(nearest, present, snap, world.revoiced)

    def _life(self, source: LedgerSource, now: int) -> None:
        """Return None: later uses and verdicts would change the order of that time."""

    def _name_most_owed(
        self, ns: int, snap: RosterView, nearest: Nearest | None, missing: dict[str, str]
    ) -> None:
        """Report nothing: a memory without a vector of that time will not get one."""

    def _rows(
        self, connection: Transaction, ns: int, docids: Sequence[int], filters: Filters
    ) -> tuple[dict[int, Row], set[int]]:
        """Read rows as they were; also the row ids of those that are damaged."""
        then = past.read(connection, ns, self._moment, docids)
        rows = then.rows(connection, ns, docids)
        garbled = {docid for docid, row in rows.items() if not is_sound(row)}
        if filters.as_of is not None:
            sound = [row for docid, row in rows.items() if docid not in garbled]
            garbled |= memories.reword_as_of(
                connection, sound, filters.as_of, known_at=self._moment
            )
        return rows, garbled
