"""The rows of ``dynamics`` as the read path follows them: only what changed since it last looked.

Every row that is written gets the next stamp. When rows are dropped, a reader that is older than
that loads all of them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memento.ledger.contract import Session
from memento.ledger.dialect import or_replace
from memento.ledger.schema import SEQ_BITS

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
