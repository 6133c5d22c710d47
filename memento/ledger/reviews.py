"""Recognise the id of a memory that was erased after somebody may have read it in quarantine.

A person approves a memory by its id and the version that they read. If it is erased in the meantime
and another one gets its id, that version must not be one that the person read. So a digest of the
id remains, as of turns (see ``replays``), and the versions of the other one begin at its revision,
which is higher than that of any earlier state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memento.ledger import replays
from memento.ledger.contract import Transaction
from memento.ledger.dialect import listed, one_of_numbers
from memento.ledger.schema import SEQ_BITS
from memento.types import Status

_REVIEW = "review"
"""First word of the digests made here."""


def note(db: Transaction, docids: Iterable[int]) -> None:
    """Store digests of the ids of those rows, about to be deleted, that were ever quarantined."""
    waited = f"docid {one_of_numbers('?1')} AND {{}}.status = '{Status.QUARANTINED}'"
    query = (
        f"SELECT docid, id FROM memories WHERE {waited.format('memories')} UNION"
        " SELECT docid, id FROM versions JOIN memories USING (docid)"
        f" WHERE {waited.format('versions')}"
    )
    found = db.execute(query, (listed(docids),)).fetchall()
    replays.put(db, [(docid >> SEQ_BITS, (_REVIEW, name)) for docid, name in found])


def known(db: Transaction, ns: int, ids: Collection[str]) -> set[str]:
    """Return those of some ids that a person may have read in a review of what is gone."""
    return {name for _, name in replays.noted(db, ns, [(_REVIEW, name) for name in ids])}
