"""Find damage in the ledger file, row by row, and rebuild what is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memento.ledger import memories
from memento.ledger.contract import Transaction
from memento.ledger.dialect import listed, one_of_numbers
from memento.ledger.erasure import UNDER_WAY
from memento.ledger.rows import (
    NAMES,
    Row,
    State,
    columns_of,
    earlier_state,
    is_changed,
    is_changed_state,
    is_sound,
    select,
)
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import sql

_DERIVED = dict.fromkeys(("embeddings", "backlog", "awaited", "dynamics", "claims"), "docid") | {
    "successions": "newer",
    "associations": "src",
}
"""Maps each table made from the memories to its column with their row ids."""

_OF_MEMORIES = ", ".join(f"memories.{name}" for name in NAMES)
_OF_VERSIONS = ", ".join(f"v.{name}" for name in State._fields)
_STATE = len(State._fields)

Whose = tuple[int, str]
"""A memory for a report: the namespace number in its row id, and its id."""

Sees = Callable[[int], bool]
"""Tells whether the ids of a namespace may be named to the caller."""


def everyone(_ns: int) -> bool:
    """See the ids of every namespace."""
    return True


def split(changed: Sequence[Whose], sees: Sees) -> tuple[list[Whose], int]:
    """Return the memories that may be named, and the number of the others."""
    named = [one for one in changed if sees(one[0])]
    return named, len(changed) - len(named)


def changed_rows(db: Transaction) -> list[Whose]:
    """Return the memories that are not as they were written, or not in their namespace."""
    return [_whose(row) for row in rows(db) if not is_sound(row)]


def changed_versions(db: Transaction) -> list[Whose]:
    """Return the memories with a damaged earlier state, each once."""
    query = (
        f"SELECT {_OF_VERSIONS}, {_OF_MEMORIES} FROM versions AS v"
        " JOIN memories USING (docid) ORDER BY docid"
    )
    wrong = {
        _whose(row): None
        for found in db.execute(query)
        if is_changed_state(row := Row(*found[_STATE:]), State(*found[:_STATE]))
    }
    return list(wrong)


def _whose(row: Row) -> Whose:
    return row.docid >> SEQ_BITS, row.id


def changed_links(db: Transaction) -> int:
    """Count the links that are not as they were written."""
    query = "SELECT src, dst, relation, weight, seal FROM links"
    return sum(is_changed(*link) for link in db.execute(query))


def changed_events(db: Transaction) -> int:
    """Count the events that are not as they were written."""
    query = "SELECT ns, at, kind, docid, detail, seal FROM events"
    return sum(is_changed(*event) for event in db.execute(query))


def stale_rows(db: Transaction) -> list[Whose]:
    """Return the memories of which other tables hold a later state or an erasure.

    A write that the disk acknowledged and lost leaves an old page, whose checksums are right. Other
    pages reveal it: in a sound file every earlier state has a lower revision than its row, and the
    backlog has no higher one.
    """
    return [(docid >> SEQ_BITS, name) for docid, name in db.execute(_STALE)]


_STALE = (
    "SELECT docid, id FROM memories WHERE typeof(rev) = 'integer' AND ("
    "EXISTS (SELECT 1 FROM versions AS v WHERE v.docid = memories.docid"
    f" AND v.rev BETWEEN memories.rev AND {SEQ_MASK})"  # a larger revision is damaged itself
    " OR EXISTS (SELECT 1 FROM backlog AS b"
    f" WHERE b.docid = memories.docid AND b.rev > memories.rev AND b.rev <= {SEQ_MASK})"
    f" OR docid IN (SELECT docid FROM erased) AND NOT EXISTS ({UNDER_WAY})) ORDER BY docid"
)


def unindexed_rows(db: Transaction) -> tuple[int, list[Whose]]:
    """Count the rows whose full-text entry is missing though due, or from another text.

    Also return the sound rows whose entry matches no text that the row ever had: it may be from a
    later one, which the row has lost.
    """
    wrong = dict(db.words.misindexed())
    newer = [
        _whose(row)
        for row in (rows(db) if wrong else ())
        if (entry := wrong.get(row.docid)) is not None
        and is_sound(row)
        and not _was_so(db, row, entry)
    ]
    return len(wrong), newer


def _was_so(db: Transaction, row: Row, indexed: tuple[str, ...]) -> bool:
    """Return whether a full-text entry was made from an earlier state of a row."""
    past = (earlier_state(row, state) for state in memories.states(db, row.docid))
    return any(one is not None and tuple(columns_of(one)) == indexed for one in past)


def stray_rows(db: Transaction) -> dict[str, int]:
    """Count rows of derived tables whose memory is not there, by table."""
    return {"memories_fts": db.words.strays()} | {
        table: db.execute(
            f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT docid FROM memories)"
        ).fetchone()[0]
        for table, key in _DERIVED.items()
    }


def unowed_rows(db: Transaction) -> list[int]:
    """Return the row ids in full text that ``owe`` would queue for a vector, ascending."""
    found = db.execute(
        f"SELECT docid FROM memories JOIN namespaces USING (ns) WHERE {_UNOWED}"
        f" AND docid & {SEQ_MASK} <= fts_upto ORDER BY docid"
    )
    return [docid for (docid,) in found]


def drop_strays(db: Transaction) -> None:
    """Remove rows of derived tables whose memory is not there."""
    db.words.drop_strays()
    for table, key in _DERIVED.items():
        db.execute(f"DELETE FROM {table} WHERE {key} NOT IN (SELECT docid FROM memories)")


def owe_missing(db: Transaction) -> None:
    """Queue every active or superseded row that has no vector and is not queued for one."""
    db.execute(f"{_OWE} WHERE {_UNOWED}")


def owe(db: Transaction, docids: Sequence[int]) -> None:
    """Queue those of some rows that have no vector and are not queued for one."""
    db.execute(f"{_OWE} WHERE docid {one_of_numbers()} AND {_UNOWED}", (listed(docids),))


_OWE = "INSERT INTO backlog SELECT docid, rev, 'embed' FROM memories"
_UNOWED = (
    f"{sql('owed_vector')} AND docid NOT IN (SELECT docid FROM embeddings)"
    " AND docid NOT IN (SELECT docid FROM backlog)"
)
"""A row that needs a vector, has none and is not queued for one."""


def rows(db: Transaction) -> Iterator[Row]:
    """Read every memory of every namespace, in order of arrival."""
    return select(db, "true ORDER BY docid")
