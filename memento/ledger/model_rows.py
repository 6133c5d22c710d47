"""Messages that wait for a language model: one row of ``meta`` for each, without any text.

The row is written with the turn, so that a process that dies loses none of them. A process that
shows a message writes a token into its row first. Later it changes the row, or learns from the
reply, only if the row is still exactly as it wrote it (`swap`): not if the message was erased, nor
if another process took it because the time was up.

The name ends with the number of the turn, so that the rows of a namespace are side by side. The
value begins with the moment from which the message may be shown, so that a search finds the one
that is due for longest without reading the others, whatever their number.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memento.base.clock import from_micros
from memento.ledger import memories, meta
from memento.ledger.contract import Transaction
from memento.ledger.dialect import listed, one_of
from memento.ledger.rows import column, mapping_in, seal_of, single
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import sql_lacking

MOST = 1000
"""Maximum number of messages in a namespace that wait; later ones are not shown to a model."""
FARTHEST = 2 * 86_400_000_000
"""Maximum time by which a row is put off, microseconds: one put off further is damaged."""
_PREFIX = "llm task "
_EVERY = (_PREFIX, f"{_PREFIX}~")
_RANGE = "name >= ?1 AND name < ?2"
_READY = f"{_RANGE} AND coalesce(value NOT BETWEEN ?3 AND ?4, true)"
_HIDDEN = (
    "SELECT key, text FROM memories WHERE ns = ?1 AND rev > ?2"
    f" AND rev <> (docid & {SEQ_MASK}) AND {sql_lacking('in_statistics')}"
)
_ERASED = "SELECT 1 FROM erased WHERE ns = ? AND rev > ? LIMIT 1"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for a language model.

    Attributes:
        docid: Row id of its turn.
        at: When it was said, microseconds.
        since: When its turn was written, microseconds.
        rev: Newest revision of the namespace then.
        due: From when it may be shown, microseconds; 0 if its session is over.
        text: Check sum of the text of its turn, by which a later change of it is noticed.
        answered: Row id of the assistant's turn before it, or None.
        unplaced: Starts of corrections of something that was not found, as text, with the row ids
            of their memories.
        run: Number of the first change that its call made, or None.
        attempts: Number of requests that showed it and failed.
        token: Number that a process chose when it took the message, 0 if none has it.
        offset: Offset from UTC of the moment as the caller gave it, seconds; 0 for none.
    """

    docid: int
    at: int
    since: int
    rev: int
    due: int
    text: int
    answered: int | None = None
    unplaced: Mapping[str, int] = field(default_factory=dict)
    run: int | None = None
    attempts: int = 0
    token: int = 0
    offset: int = 0

    @property
    def ns(self) -> int:
        """Number of its namespace."""
        return self.docid >> SEQ_BITS


def put(db: Transaction, one: Waiting) -> bool:
    """Queue a message; return whether it waits. One that waits with this text is unchanged."""
    name = _name(one.docid)
    found = meta.get(db, name)
    known = _read(name, found)
    if known is not None and known.text == one.text:
        return True
    if found is None and count(db, one.ns) >= MOST:
        return False
    meta.put(db, name, _value(one))
    return True


def swap(db: Transaction, one: Waiting, other: Waiting | None) -> bool:
    """Swap a message's state for another or none if it is still ``one``; return whether it was."""
    mine = (_name(one.docid), _value(one))
    if other is None:
        query = "DELETE FROM meta WHERE name = ?1 AND value = ?2"
        return db.execute(query, mine).rowcount == 1
    query = "UPDATE meta SET value = ?3 WHERE name = ?1 AND value = ?2"
    return db.execute(query, (*mine, _value(other))).rowcount == 1


def drop(db: Transaction, docids: Iterable[int]) -> None:
    """Remove messages from the queue, even if a process shows them now."""
    drop_named(db, [_name(docid) for docid in docids])


def drop_those(db: Transaction, ns: int, docids: Collection[int]) -> None:
    """Remove from the queue the queued ones among very many rows of a namespace."""
    query = f"SELECT name FROM meta WHERE {_RANGE}"
    waiting = set(column(db, query, _span(ns)))
    if waiting:
        drop_named(db, sorted(waiting.intersection(map(_name, docids))))


def drop_named(db: Transaction, names: list[str]) -> None:
    """Delete rows by their names."""
    db.execute(f"DELETE FROM meta WHERE name {one_of()}", (listed(names),))


def drop_all(db: Transaction, ns: int) -> None:
    """Remove all messages of a namespace from the queue."""
    db.execute(f"DELETE FROM meta WHERE {_RANGE}", _span(ns))


def count(db: Transaction, ns: int) -> int:
    """Count the messages of a namespace that wait."""
    return int(single(db, f"SELECT count(*) FROM meta WHERE {_RANGE}", _span(ns)))


def any_waits(db: Transaction) -> bool:
    """Return whether any message waits in any namespace."""
    query = f"SELECT 1 FROM meta WHERE {_RANGE} LIMIT 1"
    return single(db, query, _EVERY) is not None


def first(db: Transaction, upto: int, now: int) -> tuple[str, Waiting | None] | None:
    """Read the message due for longest and the name of its row; None for a damaged one."""
    query = f"SELECT name, value FROM meta WHERE {_READY} ORDER BY value, name LIMIT 1"
    found = db.execute(query, (*_EVERY, *_later(upto, now))).fetchone()
    return None if found is None else (found[0], _read(*found))


def put_off(db: Transaction, ns: int, now: int, until: int) -> None:
    """Put off until a moment the messages of a namespace that may be shown now and nobody has."""
    for one in _waiting(db, _READY, (*_span(ns), *_later(now, now))):
        if not one.token:
            swap(db, one, replace(one, due=until))


def hurry(db: Transaction, ns: int, name: str) -> None:
    """Make the messages of a session that no model saw yet due, because it is over."""
    waiting = [one for one in _waiting(db, _RANGE, _span(ns)) if not (one.token or one.attempts)]
    turns = memories.by_docids(db, ns, [one.docid for one in waiting])
    for one in waiting:
        turn = turns.get(one.docid)
        if turn is not None and turn.session == name:
            swap(db, one, replace(one, due=0))


def join(db: Transaction, one: Waiting, run: int) -> None:
    """Assign the other messages of a call, unless being shown, to the change of the first."""
    for other in _waiting(db, _RANGE, _span(one.ns)):
        same_call = (other.since, other.rev, other.run) == (one.since, one.rev, None)
        if same_call and not other.token:
            swap(db, other, replace(other, run=run))


def _waiting(db: Transaction, condition: str, values: Sequence[str]) -> list[Waiting]:
    """Read the messages that wait and fit, without damaged ones."""
    found = db.execute(f"SELECT name, value FROM meta WHERE {condition}", values).fetchall()
    return [one for row in found if (one := _read(*row)) is not None]


def erased_since(db: Transaction, one: Waiting) -> bool:
    """Return whether anything of the namespace was erased after a message came."""
    return single(db, _ERASED, (one.ns, one.rev)) is not None


def hidden_since(db: Transaction, one: Waiting) -> list[tuple[str | None, str]]:
    """Return slot and text of the memories that were taken back after a message came."""
    return db.execute(_HIDDEN, (one.ns, one.rev)).fetchall()


def _later(upto: int, now: int) -> tuple[str, str]:
    """Return the lowest and highest value of messages that may not be shown yet."""
    return f"{max(0, upto) + 1:019d}", f"{max(0, now) + FARTHEST:019d} ~"


def _name(docid: int) -> str:
    return f"{_PREFIX}{docid:019d}"


def _span(ns: int) -> tuple[str, str]:
    first = ns << SEQ_BITS
    return _name(first), f"{_name(first | SEQ_MASK)}~"


def _value(one: Waiting) -> str:
    said = asdict(one)
    seal = seal_of(json.dumps(said, sort_keys=True)).hex()
    return f"{one.due:019d} {json.dumps(said | {'seal': seal}, sort_keys=True)}"


def _read(name: str, value: object) -> Waiting | None:
    """Read a row; None if it is damaged."""
    try:
        read: dict[str, Any] = json.loads(value[19:]) if isinstance(value, str) else {}
        one = Waiting(**{key: said for key, said in read.items() if key != "seal"})
        return one if (name, value) == (_name(one.docid), _value(one)) else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


KEPT_DAYS = 400
"""Number of days for which counts are kept."""
_NAME = "llm "


@dataclass(frozen=True, slots=True)
class Spent:
    """Counts of requests to a model; a failure is a task without a usable reply."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    failures: int = 0
    millis: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Spent) -> Spent:
        return Spent(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


Counts = Mapping[str, Spent]
"""Maps the name of a model to what was spent on it."""


def day_of(moment: int) -> str:
    """Return the day (UTC) of a moment in microseconds.

    >>> day_of(0)
    '1970-01-01'
    """
    return from_micros(moment).astimezone(UTC).date().isoformat()


def on_day(db: Transaction, ns: int, day: str) -> Counts:
    """Read what a namespace spent on a day."""
    return _counts(meta.get(db, f"{_NAME}{ns} {day}"))


def since(db: Transaction, ns: int, first: str) -> dict[str, Counts]:
    """Read what a namespace spent from a day on, by day, the earliest first."""
    lead = f"{_NAME}{ns} "
    query = f"SELECT name, value FROM meta WHERE {_RANGE} ORDER BY name"
    rows = db.execute(query, (f"{lead}{first}", f"{lead}~")).fetchall()
    return {name.removeprefix(lead): _counts(value) for name, value in rows}


def add(db: Transaction, ns: int, day: str, model: str, spent: Spent) -> None:
    """Add to the counts of a day; the first of a day drops those that are too old."""
    counts = dict(on_day(db, ns, day))
    if not counts:
        lead = f"{_NAME}{ns} "
        first = datetime.fromisoformat(day).date() - timedelta(days=KEPT_DAYS)
        past = (lead, f"{lead}{first.isoformat()}")
        db.execute(f"DELETE FROM meta WHERE {_RANGE}", past)
    counts[model] = counts.get(model, Spent()) + spent
    value = json.dumps({name: astuple(one) for name, one in counts.items()}, ensure_ascii=False)
    meta.put(db, f"{_NAME}{ns} {day}", value)


def _counts(value: object) -> Counts:
    """Read the counts of a day; those that are damaged are left out."""
    return {
        model: Spent(*numbers)
        for model, numbers in mapping_in(value).items()
        if isinstance(numbers, list)
        and len(numbers) == len(Spent.__slots__)
        and all(type(one) is int for one in numbers)
    }
