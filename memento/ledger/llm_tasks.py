"""Messages that wait for a language model: one row of ``meta`` for each, without any text.

The row is written with the turn, so that a process that dies loses none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, or_replace
from memento.ledger.schema import SEQ_BITS

MOST = 1000
"""Most messages of a namespace that wait; later ones are not shown to a model."""
_NAME = "llm task "
_NOTE = f"INSERT INTO meta VALUES (?, ?) {SKIP_IF_THERE}"
_CHANGE = f"INSERT INTO meta VALUES (?, ?) {or_replace('name', 'value')}"
_RANGE = "name >= ?1 AND name < ?2"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for a language model.

    Attributes:
        docid: Row id of its turn.
        mode: ``assist`` or ``full``.
        at: When it was said, microseconds.
        given: Whether the caller said when.
        since: When its turn was written, microseconds.
        due: From when it may be shown, microseconds.
        answered: Row id of the assistant's turn before it, or None.
        unplaced: Starts of corrections of something that was not found, as text, with the row ids
            of their memories.
        run: Number of the change that its call made, or None.
        attempts: Number of attempts to show it.
        hurried: Whether it is shown without others: its session is over.
    """

    docid: int
    mode: str
    at: int
    given: bool
    since: int
    due: int
    answered: int | None = None
    unplaced: Mapping[str, int] = field(default_factory=dict)
    run: int | None = None
    attempts: int = 0
    hurried: bool = False

    @property
    def ns(self) -> int:
        """Number of its namespace."""
        return self.docid >> SEQ_BITS


_FIELDS = frozenset(one.name for one in fields(Waiting))


def put(session: Session, one: Waiting) -> bool:
    """Let a message wait; tell whether it does. One that waits already is left as it is."""
    if count(session, one.ns) >= MOST:
        return False
    session.execute(_NOTE, (_name(one.docid), _value(one)))
    return True


def change(session: Session, one: Waiting) -> None:
    """Write another state of a message that waits."""
    session.execute(_CHANGE, (_name(one.docid), _value(one)))


def drop(session: Session, docids: Iterable[int]) -> None:
    """Let messages wait no longer."""
    for docid in docids:
        session.execute("DELETE FROM meta WHERE name = ?", (_name(docid),))


def count(session: Session, ns: int) -> int:
    """Count the messages of a namespace that wait."""
    found = session.execute(f"SELECT count(*) FROM meta WHERE {_RANGE}", _span(ns)).fetchone()
    return int(found[0])


def every(session: Session, ns: int | None = None) -> list[Waiting]:
    """Read the messages that wait, the earliest first; those that are damaged are left out.

    Args:
        session: Of any job.
        ns: A namespace, or None for all.
    """
    span = (_NAME, f"{_NAME}~") if ns is None else _span(ns)
    rows = session.execute(f"SELECT name, value FROM meta WHERE {_RANGE}", span).fetchall()
    found = [one for name, value in rows if (one := _read(name, value)) is not None]
    return sorted(found, key=lambda one: (one.since, one.docid))


def hurry(session: Session, ns: int, name: str) -> None:
    """Let the messages of a session wait for no others, because it is over."""
    waiting = every(session, ns)
    turns = memories.by_docids(session, ns, [one.docid for one in waiting])
    for one in waiting:
        turn = turns.get(one.docid)
        if turn is not None and turn.session == name and not one.hurried:
            change(session, Waiting(**{**asdict(one), "hurried": True}))


def _name(docid: int) -> str:
    return f"{_NAME}{docid >> SEQ_BITS} {docid}"


def _span(ns: int) -> tuple[str, str]:
    return f"{_NAME}{ns} ", f"{_NAME}{ns} ~"


def _value(one: Waiting) -> str:
    return json.dumps(asdict(one), sort_keys=True)


def _read(name: object, value: object) -> Waiting | None:
    """Read a row; None if it is damaged."""
    try:
        read = json.loads(value) if isinstance(value, str) else None
        one = Waiting(**read) if isinstance(read, dict) and read.keys() == _FIELDS else None
    except ValueError:
        return None
    return one if one is not None and _is_sound(one) and name == _name(one.docid) else None


def _is_sound(one: Waiting) -> bool:
    numbers = (one.docid, one.at, one.since, one.due, one.attempts)
    perhaps = (one.answered, one.run)
    return (
        all(type(number) is int for number in numbers)
        and all(number is None or type(number) is int for number in perhaps)
        and isinstance(one.unplaced, dict)
        and all(start.isdecimal() for start in one.unplaced)
        and all(type(docid) is int for docid in one.unplaced.values())
        and one.mode in ("assist", "full")
    )
