"""The uses and verdicts in the log of events, and how far they have been folded.

An event that is not as it was written is not read. An imported one may have anything in its detail:
a value of the wrong type counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar

from memento.dynamics.fold import SAID, VERDICTS
from memento.ledger import meta, namespaces
from memento.ledger.changes import CHANGE
from memento.ledger.contract import Transaction
from memento.ledger.dialect import EVERY, contains
from memento.ledger.links import RESOLVED, between
from memento.ledger.rows import Row, docid_range, is_changed, mapping_in, single
from memento.ledger.schema import SEQ_BITS
from memento.types import Event, Trust

OWN = (
    *sorted(SAID), Event.REINFORCED, Event.FOLDED, Event.REPLAYED, Event.RETRACTED, Event.DOUBTED,
    Event.APPROVED, Event.REPLACED,
)  # fmt: skip
"""Events of one memory that matter here; what was shown is in events without a memory."""

_TAKEN_BACK = frozenset({*SAID, Event.FOLDED, Event.REPLAYED})
"""Events that a retraction can take back; it can take back another retraction as well."""

TAKEN = "taken"
"""Key in the detail of a retraction of a retraction: the number of the change that wrote that."""

_TURNS, _HALF_BITS = 4, 24
_HALF = (1 << _HALF_BITS) - 1
_EVENT = "event, ns, at, kind, docid, detail, seal"


def _is_one_of(kinds: Iterable[str]) -> str:
    """Return the condition that an event is of some kinds: constants, so they are not bound."""
    names = ", ".join(f"'{kind}'" for kind in kinds)
    return f"kind IN ({names})"


_SETTLED = (
    f"SELECT EXISTS ({between([RESOLVED])}),"
    f" EXISTS (SELECT 1 FROM events WHERE docid IN (?1, ?2) AND {_is_one_of(VERDICTS)})"
)
_TOLD = f"docid = ? AND event > ? AND event <= ? AND {_is_one_of(OWN)}"
_SHOWN = (
    f"ns = ? AND event > ? AND event <= ? AND kind = '{Event.RETRIEVED}' AND {contains('detail')}"
)
LAST = (1 << 63) - 1
"""The largest number, which no event has."""


T = TypeVar("T")
Name: TypeAlias = tuple[Any, ...]
"""Kind, moment, source, and the memory that was folded in; of a retraction also its change."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of the log, as the folds read it; ``detail`` holds what has no column."""

    event: int
    ns: int
    at: int
    kind: str
    docid: int | None
    detail: Mapping[str, Any]

    def _said(self, key: str, kind: type[T]) -> T | None:
        """Return a value of the detail; None if it is absent or of another type."""
        found = self.detail.get(key)
        return found if type(found) is kind else None

    @property
    def source(self) -> str | None:
        """Trust class of who said it; None if unknown."""
        return self._said("source", str)

    @property
    def name(self) -> Name:
        """Its name in a retraction, since the numbers of events change when they are imported."""
        own = (self.kind, self.at, self.source, self.member)
        return (*own, self.change) if self.kind == Event.RETRACTED else own

    @property
    def retracts(self) -> Name | None:
        """The name of the event that this retraction takes back; None if it does not say."""
        kind, at = self._said("verdict", str), self._said("at", int)
        if kind is None or at is None:
            return None
        own = (kind, at, self.source, self.member)
        return (*own, self._said(TAKEN, int)) if kind == Event.RETRACTED else own

    @property
    def retraction(self) -> dict[str, object]:
        """The detail of an event that takes this one back."""
        detail = {"verdict": self.kind, "at": self.at, "source": self.source}
        if self.member is not None:
            detail["member"] = self.member
        if self.kind == Event.RETRACTED:
            detail[TAKEN] = self.change
        return detail

    @property
    def counts_again(self) -> bool:
        """Whether it takes back a retraction, so that something counts again."""
        return self.kind == Event.RETRACTED and self.detail.get("verdict") == Event.RETRACTED

    @property
    def change(self) -> int | None:
        """Number of the change that wrote it; None if it does not say."""
        return self._said(CHANGE, int)

    @property
    def member(self) -> str | None:
        """The memory that was folded into the one that it is about."""
        return self._said("member", str)

    @property
    def since(self) -> int:
        """When it takes effect; for ``folded``, when the folded memory was said."""
        said = self._said("since", int) if self.kind == Event.FOLDED else None
        return self.at if said is None else said

    @property
    def rank(self) -> int:
        """Rank of the memory in the answer that the event is about, >= 1."""
        said = self._said("rank", int)
        return said if said is not None and said > 0 else 1

    @property
    def outcome(self) -> float:
        """The outcome of a loop, [-1, 1]; 0 if it does not say."""
        found = self.detail.get("outcome")
        if not isinstance(found, int | float) or isinstance(found, bool):
            return 0.0
        return float(found) if -1 <= found <= 1 else 0.0

    @property
    def ids(self) -> list[str]:
        """Ids of the memories it is about, best first; ``""`` for one that was erased."""
        found = self.detail.get("ids")
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    @property
    def begins_anew(self) -> bool:
        """Whether earlier events no longer count: the text changed, or it was approved only now."""
        return self.kind == Event.APPROVED or (self.kind == Event.REPLACED and bool(self.detail))

    def weight(self, agent: float) -> float:
        """Return its weight by its source: 1 for the user, ``agent`` for the agent, else 0."""
        return {Trust.USER.value: 1.0, Trust.AGENT.value: agent}.get(self.source or "", 0.0)


def standing_ones(found: Sequence[Happening]) -> Iterator[Happening]:
    """Yield the events that were not retracted later, without retractions, in the same order.

    A retraction that was itself taken back has no effect.
    """
    gone: set[tuple[int | None, Name | None]] = set()
    standing: list[Happening] = []
    for one in reversed(found):
        name = one.docid, one.name
        if one.kind == Event.RETRACTED and name in gone:
            gone.remove(name)
        elif one.kind == Event.RETRACTED:
            gone.add((one.docid, one.retracts))
        elif one.kind not in _TAKEN_BACK or name not in gone:
            standing.append(one)
    yield from reversed(standing)


def written_by(db: Transaction, ns: int, changes: Mapping[int, int]) -> list[Happening]:
    """Read the events that changes wrote and that undo takes back, in order.

    ``changes`` maps numbers to moments: an imported event may name a change of another store, but
    not one with the same moment.
    """
    if not changes:
        return []
    span = min(changes.values()), max(changes.values())
    found = _read(  # by row id, so as not to read answers, which are most of the log
        db,
        f"docid BETWEEN ? AND ? AND at BETWEEN ? AND ?"
        f" AND {_is_one_of((Event.REPLAYED, Event.RETRACTED))}",
        (*docid_range(ns), *span),
        order="+event",
    )
    return [one for one in found if one.change and changes.get(one.change) == one.at]


def _read(
    db: Transaction, where: str, values: Sequence[Any], order: str = "event"
) -> list[Happening]:
    """Read the sound events that fit, in order."""
    query = f"SELECT {_EVENT} FROM events WHERE {where} ORDER BY {order}"
    return list(sound_ones(db.execute(query, values).fetchall()))


def told_of(db: Transaction, docid: int) -> list[Happening]:
    """Read the verdicts on a memory, its repeats and what else matters here, in order."""
    return _read(db, _TOLD, (docid, 0, LAST))


def were_settled(db: Transaction, one: int, other: int) -> tuple[bool, bool]:
    """Return whether a person settled a pair, and whether one of them ever got a verdict.

    A verdict counts even if it was taken back.
    """
    settled, judged = db.execute(_SETTLED, (one, other)).fetchone()
    return bool(settled), bool(judged)


def told_lately(db: Transaction, docid: int, since: float) -> list[Happening]:
    """Read what ``told_of`` reads, if later than a moment or a retraction, in order."""
    where = f"{_TOLD} AND (at > ? OR kind = '{Event.RETRACTED}')"
    return _read(db, where, (docid, 0, LAST, since))


def of_kinds(db: Transaction, docid: int, kinds: Iterable[Event]) -> list[Happening]:
    """Read the events of one memory that are of some kinds, in order."""
    return _read(db, f"docid = ? AND {_is_one_of(kinds)}", (docid,))


def last_of(db: Transaction, docid: int, kind: str) -> int:
    """Return the number of the last event of a kind of one memory; 0 if there is none."""
    query = "SELECT coalesce(max(event), 0) FROM events WHERE docid = ? AND kind = ?"
    return int(single(db, query, (docid, kind)))


def happening(db: Transaction, ns: int, event: int) -> Happening | None:
    """Read one event of a namespace; None if it has none of that number, or it is damaged."""
    return next(iter(_read(db, "event = ? AND ns = ?", (event, ns))), None)


def alias(db: Transaction, one: Happening) -> int:
    """Return the number by which a namespace knows an event.

    The numbers themselves count the events of all namespaces, and would tell how many others have.
    """
    return _turned(db, one.ns, one.event, range(_TURNS))


def by_alias(db: Transaction, ns: int, number: int) -> Happening | None:
    """Read the event that a namespace knows by a number; None if it is none, or damaged."""
    low, high = number & _HALF, number >> _HALF_BITS
    if high > _HALF:
        return None
    event = _turned(db, ns, low << _HALF_BITS | high, reversed(range(_TURNS)))
    return happening(db, ns, (event & _HALF) << _HALF_BITS | event >> _HALF_BITS)


def _turned(db: Transaction, ns: int, number: int, turns: Iterable[int]) -> int:
    """Encipher a number of 48 bits with the secret of the store: a Feistel network."""
    key = namespaces.read(db) or b""
    high, low = number >> _HALF_BITS, number & _HALF
    for turn in turns:
        mixed = blake2b(repr((ns, turn, low)).encode(), key=key, digest_size=_HALF_BITS // 8)
        high, low = low, high ^ int.from_bytes(mixed.digest())
    return high << _HALF_BITS | low


def outcomes_after(db: Transaction, one: Happening, most: int) -> list[Happening]:
    """Read the outcomes with the moment and source of an event, among the next ``most`` events."""
    where = f"event > ? AND event <= ? AND ns = ? AND at = ? AND kind = '{Event.OUTCOME}'"
    found = _read(db, where, (one.event, one.event + most, one.ns, one.at))
    return [other for other in found if other.source == one.source]


def verdicts(db: Transaction, ns: int, source: str) -> list[Happening]:
    """Read all verdicts of a source in a namespace, in order, the retracted ones included."""
    found = _read(db, f"ns = ? AND docid IS NOT NULL AND {_is_one_of(sorted(SAID))}", (ns,))
    return [one for one in found if one.source == source]


def of_memory(db: Transaction, row: Row, since: int, upto: int | None) -> list[Happening]:
    """Read the events of one memory after one event and up to another (None: all), in order."""
    last = LAST if upto is None else upto
    found = _read(db, _TOLD, (row.docid, since, last))
    shown = _read(db, _SHOWN, (row.ns, since, last, json.dumps(row.id)))
    found += [one for one in shown if row.id in one.ids]
    return sorted(found, key=lambda one: one.event)


def sound_ones(found: Iterable[Sequence[Any]]) -> Iterator[Happening]:
    """Yield the events that are as they were written."""
    for event, ns, at, kind, docid, detail, seal in found:
        if not is_changed(ns, at, kind, docid, detail, seal):
            yield Happening(event, ns, at, kind, docid, mapping_in(detail))


def after(db: Transaction, event: int, most: int) -> tuple[list[Happening], int, int]:
    """Read the next events of the log: the sound ones, how many were read, the last number."""
    query = f"SELECT {_EVENT} FROM events WHERE event > ? ORDER BY event LIMIT ?"
    found = db.execute(query, (event, most)).fetchall()
    return list(sound_ones(found)), len(found), found[-1][0] if found else event


def next_from(
    db: Transaction, ns: int, event: int, at: int, but: Collection[str]
) -> Happening | None:
    """Read the first sound event of a namespace from a moment on, after the event of a number.

    Events of the kinds in ``but`` are skipped.
    """
    query = (
        f"SELECT {_EVENT} FROM events WHERE event > ? AND ns = ? AND at >= ?"
        f" AND NOT {_is_one_of(sorted(but))} ORDER BY event LIMIT 1"
    )
    while found := db.execute(query, (event, ns, at)).fetchall():
        if sound := next(sound_ones(found), None):
            return sound
        event = found[0][0]
    return None


def is_doubted(db: Transaction, docid: int, by: object, since: int) -> bool:
    """Return whether a memory was doubted since a moment because of the memory ``by``, an id."""
    query = "SELECT detail FROM events WHERE docid = ? AND kind = ? AND at >= ?"
    found = db.execute(query, (docid, Event.DOUBTED, since))
    return any(mapping_in(detail).get("by") == by for (detail,) in found)


class Fold(NamedTuple):
    """How far one of the folds has read the log: a row of ``meta``.

    The row has the number of the last folded event, and the rules of the fold. ``kinds`` are the
    kinds of events that are folded, if each is about one memory.
    """

    name: str
    kinds: tuple[Event, ...] = ()

    def place(self, db: Transaction) -> tuple[int, str]:
        """Return the last event and the rules; ``0, ""`` if nothing was folded."""
        match meta.get_json(db, self.name):
            case [int(event), str(rules)]:
                return event, rules
        return 0, ""

    def move(self, db: Transaction, event: int, rules: str) -> None:
        """Note up to which event the log is folded."""
        meta.put(db, self.name, json.dumps([event, rules]))

    def is_behind(self, db: Transaction, rules: str, *, takes_over: bool) -> bool:
        """Return whether there is anything to fold.

        What was folded by other rules counts only if this process ``takes_over``: two processes
        that both did so would never come to rest.
        """
        event, known = self.place(db)
        return takes_over if known not in ("", rules) else newest(db) > event

    def step_back(self, db: Transaction, last: int) -> None:
        """Note that no event after one is left: new ones may get the numbers of deleted ones."""
        event, rules = self.place(db)
        if last < event:
            self.move(db, last, rules)

    def told(
        self,
        db: Transaction,
        since: int,
        upto: int,
        only: str = "",
        of: Sequence[int] = (),
        most: int = EVERY,
    ) -> list[Any]:
        """Read the rows of the events after one and up to another, under the condition ``only``."""
        query = (
            f"SELECT {_EVENT} FROM events WHERE event > ? AND event <= ?"
            f" AND {_is_one_of(self.kinds)} AND docid IS NOT NULL {only} ORDER BY event LIMIT ?"
        )
        return db.execute(query, (since, upto, *of, most)).fetchall()

    def next_bite(
        self, db: Transaction, rules: str, most: int, forget: Callable[[Transaction], None]
    ) -> tuple[list[Happening], int, bool] | None:
        """Read the next events, first dropping what other rules folded; None at the end.

        Returns the sound events, the last event that was read, and whether there may be more.
        """
        event, known = self.place(db)
        if known not in ("", rules):
            forget(db)
            event = 0
        if (last := newest(db)) <= event:
            return None
        found = self.told(db, event, last, most=most)
        more = len(found) == most
        return list(sound_ones(found)), found[-1][0] if more else last, more

    def standing(self, db: Transaction, ns: int, upto: int) -> list[Happening]:
        """Return the events of a namespace that were not taken back, in order."""
        return list(standing_ones(list(sound_ones(self.told(db, 0, upto, "AND ns = ?", [ns])))))


def newest(db: Transaction) -> int:
    """Return the number of the newest event of the log; 0 if there is none."""
    return int(single(db, "SELECT coalesce(max(event), 0) FROM events"))


STAMP, _DROPPED = "dynamics stamp", "dynamics dropped"
"""Names in ``meta`` of the stamp of what was written last, and of the last drop."""
_NEXT = (
    f"INSERT INTO meta VALUES ('{STAMP}', 1)"
    " ON CONFLICT (name) DO UPDATE SET value = meta.value + 1 RETURNING value"
)
_SINCE = (
    "SELECT d.docid, d.at, d.used_at, d.stability, d.day, d.supporting, d.opposing, d.worth,"
    " d.sums, m.trust FROM dynamics AS d JOIN memories AS m ON m.docid = d.docid"
    f" WHERE d.docid >> {SEQ_BITS} = ? AND d.stamp > ? AND d.stale = 0"
)


def next_stamp(db: Transaction) -> int:
    """Return the next stamp, for what is written now."""
    return int(single(db, _NEXT))


def dropped(db: Transaction) -> None:
    """Note that rows were dropped, so that readers load all of them again."""
    meta.put(db, _DROPPED, next_stamp(db))


def last_drop(db: Transaction) -> int:
    """Return the stamp at which rows were last dropped; 0 if none ever were."""
    return meta.get_number(db, _DROPPED)


def since(db: Transaction, ns: int, stamp: int) -> Iterator[Sequence[Any]]:
    """Yield the rows of a namespace that were written after a stamp; -1 for all of them.

    Each is: row id, moment, moment of the last use or None, stability, day, evidence for and
    against, worth, leaky sums, and the trust of the memory.
    """
    yield from db.execute(_SINCE, (ns, stamp)).fetchall()
