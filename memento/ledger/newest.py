"""How far a namespace has come: what a search compares with what it knows. SQL only."""

from __future__ import annotations

from typing import NamedTuple

from memento.ledger import links, rows, usage_events
from memento.ledger.contract import Transaction
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.ledger.vectors import Facts


class Newest(NamedTuple):
    """The newest of all that a search follows.

    Attributes:
        rev: Revision of the namespace; 0 if nothing is in it.
        used: Stamp of the sums of events written last, of any namespace; 0 if there are none.
        facts: What a derived file of the namespace must agree with.
        flagged: Whether any pair is flagged, see `links.CONFLICTS`.
        succeeded: Whether a later statement changes any earlier one.
    """

    rev: int
    used: int
    facts: Facts
    flagged: bool
    succeeded: bool


def newest(db: Transaction, kind: str, ns: int) -> Newest:
    """Read it, for a derived file of this kind; one statement, since every query asks."""
    low, asked = ns << SEQ_BITS, f"{kind}:{ns}"
    *rev, used, stamp, erased, marks, flagged, succeeded = db.execute(
        _NEWEST, (low, low | SEQ_MASK, ns, asked)
    ).fetchone()
    return Newest(
        rows.rev_of(low, *rev),
        used if isinstance(used, int) else 0,
        Facts(int(stamp), int(erased or 0), tuple(str(marks or "").split())),
        bool(flagged),
        bool(succeeded),
    )


_META = "(SELECT value FROM meta WHERE name = {})"
_USED, _STAMP, _MARKS = (_META.format(one) for one in (f"'{usage_events.STAMP}'", "'stamp'", "?4"))
_NEWEST = (
    f"SELECT {rows.LATEST}, {_USED}, {_STAMP}, (SELECT max(rev) FROM erased WHERE ns = ?3),"
    f" {_MARKS}, EXISTS ({links.FLAGGED}), EXISTS ({links.SUCCEEDED})"
)
