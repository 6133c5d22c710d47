"""The memories still without a vector, read a few at a time: nothing here scans the backlog.

With 300,000 lines in the backlog each of these reads takes some milliseconds at most: every one
seeks to a row id and stops after a given number of lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memento.ledger.contract import Session
from memento.ledger.dialect import one_of
from memento.ledger.rows import docid_range
from memento.ledger.schema import SEQ_BITS
from memento.ledger.vectors import LINES, WAITING, Owed
from memento.status import sql

LOOK = 1_024
"""Most lines, or rows of a session, that a search for the newest owed ones looks at."""

_OWED = sql("owed_vector")


class Lacking(NamedTuple):
    """A memory without a vector, and the characters of its text."""

    docid: int
    chars: int


class Place(NamedTuple):
    """A line of the backlog of the embedder, and the session of its memory."""

    docid: int
    rev: int
    session: str | None


def lines_of(db: Session, docids: Iterable[int], ops: Sequence[str]) -> list[Owed]:
    """Read the lines of some rows with these operations, in the order of the given row ids."""
    wanted = list(docids)
    query = f"{LINES} WHERE docid {one_of()} AND op {one_of()}"
    lines = db.execute(query, (json.dumps(wanted), json.dumps([*ops])))
    found = {line[0]: Owed(*line) for line in lines}
    return [found[docid] for docid in wanted if docid in found]


def spaces(db: Session, after: int, most: int) -> list[int]:
    """Return the namespaces that need vectors, in order from the one after a number round to it."""
    found = list(_spaces(db, after, None, most))
    return [*found, *_spaces(db, 0, after, most - len(found))]


def _spaces(db: Session, after: int, last: int | None, most: int) -> Iterator[int]:
    query = "SELECT docid FROM backlog WHERE docid > ? AND op = 'embed' ORDER BY docid LIMIT 1"
    for _ in range(most):
        line = db.execute(query, (docid_range(after)[1],)).fetchone()
        if line is None or (last is not None and line[0] >> SEQ_BITS > last):
            return
        after = line[0] >> SEQ_BITS
        yield after


def window(db: Session, low: int, high: int, most: int, *, newest: bool = False) -> list[Place]:
    """Read the first lines between two row ids, or the last ones."""
    order = "DESC" if newest else "ASC"
    query = (
        "SELECT docid, backlog.rev, session FROM backlog JOIN memories USING (docid)"
        f" WHERE docid BETWEEN ? AND ? AND op = 'embed' ORDER BY docid {order} LIMIT ?"
    )
    return [Place(*found) for found in db.execute(query, (low, high, most))]


def newest(db: Session, ns: int, sessions: Sequence[str], rows: int, chars: int) -> list[Lacking]:
    """Find the newest memories of a namespace that an answer could need and that lack a vector.

    Active and superseded ones, newest first: of some sessions, or of all if none are given; at most
    so many rows, and characters together (but one is returned in any case).
    """
    found = set(_not_taken_up(db, ns, sessions, rows))
    if sessions:
        for session in sessions:
            found.update(_newest_of(db, ns, session, rows))
    else:
        found.update(_newest_in(db, ns, rows))
    chosen: list[Lacking] = []
    for one in sorted(found, reverse=True)[:rows]:
        chars -= one.chars
        if chosen and chars < 0:
            break
        chosen.append(one)
    return chosen


def _newest_in(db: Session, ns: int, rows: int) -> list[Lacking]:
    query = (
        "SELECT docid, length(text) FROM (SELECT docid, op FROM backlog"
        " WHERE docid BETWEEN ? AND ? ORDER BY docid DESC LIMIT ?) AS lines JOIN memories"
        f" USING (docid) WHERE op = 'embed' AND {_OWED} ORDER BY docid DESC LIMIT ?"
    )
    return [Lacking(*one) for one in db.execute(query, (*docid_range(ns), LOOK, rows))]


def _newest_of(db: Session, ns: int, session: str, rows: int) -> list[Lacking]:
    query = (
        "SELECT docid, length(text) FROM (SELECT docid, text, status FROM memories"
        " WHERE ns = ? AND session = ? ORDER BY docid DESC LIMIT ?) AS said"
        " WHERE EXISTS (SELECT 1 FROM backlog WHERE backlog.docid = said.docid AND op = 'embed')"
        f" AND {_OWED} ORDER BY docid DESC LIMIT ?"
    )
    return [Lacking(*one) for one in db.execute(query, (ns, session, LOOK, rows))]


def _not_taken_up(db: Session, ns: int, sessions: Sequence[str], rows: int) -> list[Lacking]:
    """Find the newest rows that have no line yet, because full text lacks them too."""
    chosen = f" AND session {one_of()}" if sessions else ""
    query = (
        f"SELECT docid, length(text) FROM namespaces JOIN memories ON {WAITING}"
        f" WHERE namespaces.ns = ? AND {_OWED}{chosen} ORDER BY docid DESC LIMIT ?"
    )
    values = (ns, json.dumps(list(sessions)), rows) if sessions else (ns, rows)
    return [Lacking(*one) for one in db.execute(query, values)]


def still_lacking(db: Session, ns: int, docids: Iterable[int]) -> set[int]:
    """Return those of some rows of a namespace that an answer could need and that lack a vector."""
    wanted = json.dumps(list(docids))
    query = (
        "SELECT docid FROM backlog JOIN memories USING (docid)"
        f" WHERE docid {one_of('?1')} AND op = 'embed' AND {_OWED}"
        f" UNION ALL SELECT docid FROM namespaces JOIN memories ON {WAITING}"
        f" WHERE namespaces.ns = ?2 AND docid {one_of('?1')} AND {_OWED}"
    )
    return {docid for (docid,) in db.execute(query, (wanted, ns))}
