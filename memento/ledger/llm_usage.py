"""Count what language models are asked for: one row of ``meta`` for a namespace and a day."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta

from memento.clock import from_micros
from memento.ledger.contract import Session
from memento.ledger.dialect import or_replace

KEPT_DAYS = 400
"""Days of which the counts are kept."""
_NAME = "llm "
_NOTE = f"INSERT INTO meta VALUES (?, ?) {or_replace('name', 'value')}"
_RANGE = "name >= ?1 AND name < ?2"


@dataclass(frozen=True, slots=True)
class Spent:
    """Counts of requests to a model.

    Attributes:
        calls: Requests.
        tokens_in: Tokens sent.
        tokens_out: Tokens received.
        failures: Tasks without a usable reply.
        millis: Time spent waiting, milliseconds.
    """

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
"""Name of a model to what was spent on it."""


def day_of(moment: int) -> str:
    """Return the day (UTC) of a moment in microseconds.

    >>> day_of(0)
    '1970-01-01'
    """
    return from_micros(moment).astimezone(UTC).date().isoformat()


def on_day(session: Session, ns: int, day: str) -> Counts:
    """Read what a namespace spent on a day."""
    query = "SELECT value FROM meta WHERE name = ?"
    found = session.execute(query, (f"{_NAME}{ns} {day}",)).fetchone()
    return {} if found is None else _counts(found[0])


def since(session: Session, ns: int, first: str) -> dict[str, Counts]:
    """Read what a namespace spent from a day on, by day, the earliest first."""
    lead = f"{_NAME}{ns} "
    query = f"SELECT name, value FROM meta WHERE {_RANGE} ORDER BY name"
    rows = session.execute(query, (f"{lead}{first}", f"{lead}~")).fetchall()
    return {name.removeprefix(lead): _counts(value) for name, value in rows}


def add(session: Session, ns: int, day: str, model: str, spent: Spent) -> None:
    """Add to the counts of a day; the first of a day drops those that are too old."""
    counts = dict(on_day(session, ns, day))
    if not counts:
        lead = f"{_NAME}{ns} "
        first = datetime.fromisoformat(day).date() - timedelta(days=KEPT_DAYS)
        query = f"DELETE FROM meta WHERE {_RANGE}"
        session.execute(query, (lead, f"{lead}{first.isoformat()}"))
    counts[model] = counts.get(model, Spent()) + spent
    value = json.dumps({name: astuple(one) for name, one in counts.items()}, ensure_ascii=False)
    session.execute(_NOTE, (f"{_NAME}{ns} {day}", value))


def _counts(value: object) -> Counts:
    """Read the counts of a day; those that are damaged are left out."""
    try:
        read = json.loads(value) if isinstance(value, str) else {}
    except ValueError:
        return {}
    named = read.items() if isinstance(read, dict) else ()
    return {model: Spent(*numbers) for model, numbers in named if _is_sound(numbers)}


def _is_sound(numbers: object) -> bool:
    return (
        isinstance(numbers, list)
        and len(numbers) == len(Spent.__slots__)
        and all(type(one) is int for one in numbers)
    )
