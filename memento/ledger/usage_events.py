"""The events of the log that uses and verdicts are, as ``dynamics`` reads them. SQL only.

Of an event that is not as it was written, nothing is read. One that comes from a file may say
anything in its detail: what is not of the right kind is taken for not said.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from memento.dynamics.fold import SAID
from memento.ledger.contract import Session
from memento.ledger.dialect import contains, or_replace
from memento.ledger.rows import Row, docid_range, is_changed_event, mapping_in
from memento.ledger.schema import SEQ_BITS
from memento.types import Event

OWN = (
    *sorted(SAID), Event.REINFORCED, Event.FOLDED, Event.REPLAYED, Event.RETRACTED, Event.DOUBTED,
    Event.APPROVED, Event.REPLACED,
)  # fmt: skip
"""Events of one memory that matter here; what was shown is in events of the namespace."""

_ASLEEP = (Event.REPLAYED, Event.WEAKENED)
_TAKEN_BACK = frozenset({*SAID, Event.FOLDED, *_ASLEEP})
"""Events that a retraction can take back; it can take back another retraction as well."""

CHANGE = "change"
"""Key in the detail of an event: the number of the change that wrote it, and that undo goes by."""
TAKEN = "taken"
"""Key in the detail of a retraction of a retraction: the number of the change that wrote that."""

_EVENT = "event, ns, at, kind, docid, detail, seal"
_KINDS = ", ".join(f"'{kind}'" for kind in OWN)
_TOLD = (
    f"SELECT {_EVENT} FROM events WHERE docid = ? AND event > ? AND event <= ?"
    f" AND kind IN ({_KINDS})"
)
_SHOWN = (
    f"SELECT {_EVENT} FROM events WHERE event > ? AND event <= ? AND ns = ?"
    f" AND kind = '{Event.RETRIEVED}' AND {contains('detail')}"
)
_LAST = (1 << 63) - 1
"""A number that no event has."""


Name: TypeAlias = tuple[Any, ...]
"""Kind, moment, source, and the memory that was folded in; of a retraction also its change."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of the log, as the fold reads it.

    Attributes:
        event: Its number.
        ns: Namespace number.
        at: When, microseconds.
        kind: A word of ``Event``, or one of a later memento.
        docid: The memory it is about; None if it is about several.
        detail: What it says besides.
    """

    event: int
    ns: int
    at: int
    kind: str
    docid: int | None
    detail: Mapping[str, Any]

    @property
    def source(self) -> str | None:
        """Class of who said it; None if it does not say."""
        found = self.detail.get("source")
        return found if isinstance(found, str) else None

    @property
    def name(self) -> Name:
        """Its name in a retraction: numbers of events change when they are imported."""
        own = (self.kind, self.at, self.source, self.member)
        return (*own, self.change) if self.kind == Event.RETRACTED else own

    @property
    def retracts(self) -> Name | None:
        """The name of the event that this retraction takes back; None if it does not say."""
        kind, at = self.detail.get("verdict"), self.detail.get("at")
        if not isinstance(kind, str) or type(at) is not int:
            return None
        own = (kind, at, self.source, self.member)
        return (*own, _number_in(self.detail, TAKEN)) if kind == Event.RETRACTED else own

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
        """Whether it takes back a retraction: something counts again that did not."""
        return self.kind == Event.RETRACTED and self.detail.get("verdict") == Event.RETRACTED

    @property
    def change(self) -> int | None:
        """Number of the change that wrote it; None if it does not say."""
        return _number_in(self.detail, CHANGE)

    @property
    def member(self) -> str | None:
        """The memory that was folded into the one that it is about."""
        found = self.detail.get("member")
        return found if isinstance(found, str) else None

    @property
    def since(self) -> int:
        """When it has its effect: a memory that was folded into another one was said before."""
        found = self.detail.get("since")
        return found if self.kind == Event.FOLDED and type(found) is int else self.at

    @property
    def rank(self) -> int:
        """Place of the memory in the answer that the event is about, >= 1."""
        found = self.detail.get("rank")
        return found if type(found) is int and found > 0 else 1

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
        """Whether what happened before is of no account: another text, or not approved yet."""
        return self.kind == Event.APPROVED or (self.kind == Event.REPLACED and bool(self.detail))


def _number_in(detail: Mapping[str, Any], key: str) -> int | None:
    found = detail.get(key)
    return found if type(found) is int else None


def standing_ones(found: Sequence[Happening]) -> Iterator[Happening]:
    """Yield the events that were not retracted later, and no retractions, in the same order.

    A retraction that was taken back itself takes nothing back.
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


def written_by(session: Session, ns: int, changes: Mapping[int, int]) -> list[Happening]:
    """Read the events that changes wrote and that undo takes back, in order.

    Args:
        session: Of any job.
        ns: Namespace number.
        changes: Number of each change, to its moment. An event that was imported may name a change
            of another store, but not one of the same moment.
    """
    if not changes:
        return []
    kinds = ", ".join(f"'{kind}'" for kind in (*_ASLEEP, Event.RETRACTED))
    query = (  # by row id, so that answers, which are most of the log, are not read
        f"SELECT {_EVENT} FROM events WHERE docid BETWEEN ? AND ? AND at BETWEEN ? AND ?"
        f" AND kind IN ({kinds}) ORDER BY +event"
    )
    span = min(changes.values()), max(changes.values())
    found = session.execute(query, (*docid_range(ns), *span)).fetchall()
    return [one for one in sound_ones(found) if one.change and changes.get(one.change) == one.at]


def told_of(session: Session, docid: int) -> list[Happening]:
    """Read the verdicts on a memory, its repeats and what else matters here, in order."""
    query = f"{_TOLD} ORDER BY event"
    return list(sound_ones(session.execute(query, (docid, 0, _LAST)).fetchall()))


def told_lately(session: Session, docid: int, since: float) -> list[Happening]:
    """Read what ``told_of`` does from after a moment on, and every retraction, in order."""
    query = f"{_TOLD} AND (at > ? OR kind = '{Event.RETRACTED}') ORDER BY event"
    return list(sound_ones(session.execute(query, (docid, 0, _LAST, since)).fetchall()))


def last_of(session: Session, docid: int, kind: str) -> int:
    """Return the number of the last event of a kind of one memory; 0 if there is none."""
    query = "SELECT coalesce(max(event), 0) FROM events WHERE docid = ? AND kind = ?"
    return int(session.execute(query, (docid, kind)).fetchone()[0])


def happening(session: Session, ns: int, event: int) -> Happening | None:
    """Read one event of a namespace; None if it has none of that number, or it is damaged."""
    query = f"SELECT {_EVENT} FROM events WHERE event = ? AND ns = ?"
    return next(sound_ones(session.execute(query, (event, ns)).fetchall()), None)


def outcomes_after(session: Session, one: Happening, most: int) -> list[Happening]:
    """Read the outcomes of the moment and source of an event, among the events right after it."""
    query = (
        f"SELECT {_EVENT} FROM events WHERE event > ?1 AND event <= ?1 + ?2 AND ns = ?3 AND at = ?4"
        f" AND kind = '{Event.OUTCOME}' ORDER BY event"
    )
    found = session.execute(query, (one.event, most, one.ns, one.at)).fetchall()
    return [other for other in sound_ones(found) if other.source == one.source]


def verdicts(session: Session, ns: int, source: str) -> list[Happening]:
    """Read all verdicts of a source in a namespace, in order, the retracted ones included."""
    kinds = ", ".join(f"'{kind}'" for kind in sorted(SAID))
    query = f"SELECT {_EVENT} FROM events WHERE ns = ? AND docid IS NOT NULL AND kind IN ({kinds})"
    found = sound_ones(session.execute(f"{query} ORDER BY event", (ns,)).fetchall())
    return [one for one in found if one.source == source]


def of_memory(session: Session, row: Row, since: int, upto: int | None) -> list[Happening]:
    """Read the events of one memory that came after one and up to another, in order.

    Args:
        session: Of any job.
        row: The memory.
        since: Number of the event after which they came.
        upto: Number of the last one; None for no limit.
    """
    last = _LAST if upto is None else upto
    found = session.execute(_TOLD, (row.docid, since, last)).fetchall()
    found += session.execute(_SHOWN, (since, last, row.ns, json.dumps(row.id))).fetchall()
    happened = sound_ones(sorted(found, key=lambda one: one[0]))
    return [one for one in happened if one.kind != Event.RETRIEVED or row.id in one.ids]


def sound_ones(found: Iterable[Sequence[Any]]) -> Iterator[Happening]:
    """Yield the events that are as they were written."""
    for event, ns, at, kind, docid, detail, seal in found:
        if not is_changed_event(ns, at, kind, docid, detail, seal):
            yield Happening(event, ns, at, kind, docid, mapping_in(detail))


def after(session: Session, event: int, most: int) -> tuple[list[Happening], int, int]:
    """Read the next events of the log, of all namespaces, in order.

    Args:
        session: Of any job.
        event: Number of the event after which they came.
        most: Most events, >= 1.

    Returns:
        Those that are sound; how many there are; and the number of the last one.
    """
    query = f"SELECT {_EVENT} FROM events WHERE event > ? ORDER BY event LIMIT ?"
    found = session.execute(query, (event, most)).fetchall()
    return list(sound_ones(found)), len(found), found[-1][0] if found else event


def next_from(
    session: Session, ns: int, event: int, at: int, but: Collection[str]
) -> Happening | None:
    """Read the first sound event of a namespace after one that happened at a moment or later.

    Args:
        session: Of any job.
        ns: Namespace number.
        event: Number of the event after which it came.
        at: The moment, microseconds.
        but: Kinds that are passed over.
    """
    marks = ", ".join("?" * len(but))
    query = (
        f"SELECT {_EVENT} FROM events WHERE event > ? AND ns = ? AND at >= ?"
        f" AND kind NOT IN ({marks}) ORDER BY event LIMIT 1"
    )
    while found := session.execute(query, (event, ns, at, *but)).fetchall():
        if sound := next(sound_ones(found), None):
            return sound
        event = found[0][0]
    return None


def is_doubted(session: Session, docid: int, by: object, since: int) -> bool:
    """Tell whether a memory was doubted because of another one, from a moment on.

    Args:
        session: Of any job.
        docid: Row id of the memory.
        by: Id of the other one.
        since: The moment, microseconds.
    """
    query = "SELECT detail FROM events WHERE docid = ? AND kind = ? AND at >= ?"
    found = session.execute(query, (docid, Event.DOUBTED, since))
    return any(mapping_in(detail).get("by") == by for (detail,) in found)


_STAMP, _DROPPED = "dynamics stamp", "dynamics dropped"
_NEXT = (
    f"INSERT INTO meta VALUES ('{_STAMP}', 1)"
    " ON CONFLICT (name) DO UPDATE SET value = meta.value + 1 RETURNING value"
)
_NOTE = f"INSERT INTO meta VALUES (?, ?) {or_replace('name', 'value')}"
_SINCE = (
    "SELECT d.docid, d.at, d.used_at, d.stability, d.day, d.supporting, d.opposing, d.worth,"
    " d.sums, m.trust FROM dynamics AS d JOIN memories AS m ON m.docid = d.docid"
    f" WHERE d.docid >> {SEQ_BITS} = ? AND d.stamp > ? AND d.stale = 0"
)


def next_stamp(session: Session) -> int:
    """Return the stamp of what is written now."""
    return int(session.execute(_NEXT).fetchone()[0])


def dropped(session: Session) -> None:
    """Note that rows were dropped, so that readers load all of them again."""
    session.execute(_NOTE, (_DROPPED, next_stamp(session)))


def latest(session: Session) -> int:
    """Return the newest stamp; 0 if nothing was ever written."""
    return _number(session, _STAMP)


def last_drop(session: Session) -> int:
    """Return the stamp at which rows were last dropped; 0 if none ever were."""
    return _number(session, _DROPPED)


def since(session: Session, ns: int, stamp: int) -> Iterator[Sequence[Any]]:
    """Yield the rows of a namespace that were written after a stamp.

    Args:
        session: Of any job.
        ns: Number of the namespace.
        stamp: -1 for all of them: rows from before there were stamps have 0.

    Yields:
        Row id, moment, moment of the last use or None, stability, day, evidence for and against,
        worth, leaky sums, and the trust of the memory.
    """
    yield from session.execute(_SINCE, (ns, stamp)).fetchall()


def _number(session: Session, name: str) -> int:
    found = session.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found is not None and isinstance(found[0], int) else 0
