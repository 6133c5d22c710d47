"""Back up the ledger into one file, and set a ledger back to a moment. SQL only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from memento.errors import ArchiveDamaged, StoreUnusable
from memento.ledger import (
    changes,
    checks,
    links,
    loop_rows,
    memories,
    meta,
    namespaces,
    past,
    schema,
    scope_rows,
    session_rows,
    strength_fold,
    succession_rows,
)
from memento.ledger.contract import Contents
from memento.ledger.lite import sqlite, upgrade
from memento.ledger.lite.sqlite import Connection, connect, translated, uri_of
from memento.ledger.past import in_state
from memento.ledger.rows import COLUMNS, STATE, Row, State, columns_of, single
from memento.types import Event

BUSY_SECONDS = 30.0
SEALED = {
    "changes": (changes.CHANGES,),
    "sessions or checkpoints": (session_rows.SESSIONS, session_rows.CHECKPOINTS),
    "scopes or shares": (scope_rows.SCOPES, scope_rows.SHARES),
}
TAKEN_AT = "backup_at"
"""Name in ``meta`` of the moment a backup was made, microseconds."""


def copy(source: Path, target: Path, now: int, *, immutable: bool = False) -> None:
    """Write what is committed into one file, without deleted data, while others read and write."""
    reading = connect(source, busy_seconds=BUSY_SECONDS, writable=False, immutable=immutable)
    with closing(reading) as connection, translated(source):
        connection.execute("PRAGMA query_only=OFF")  # would refuse to write any file
        connection.execute("VACUUM INTO ?", (uri_of(target),))
    with _alone(target) as connection:
        meta.put(connection, TAKEN_AT, now)


def fetch(source: Path, target: Path) -> None:
    """Copy a ledger that nobody writes, with its log if it has one, or raise ``ArchiveDamaged``."""
    logged = source.with_name(f"{source.name}-wal").exists()
    try:
        reading = connect(source, busy_seconds=BUSY_SECONDS, writable=False, immutable=not logged)
        with closing(reading), _alone(target) as writing, translated(source):
            reading.backup(writing)
    except StoreUnusable as error:
        raise ArchiveDamaged(source, f"cannot be read as a backup: {error}") from error


def inspect(path: Path, sees: checks.Sees = checks.everyone) -> Contents:
    """Check every page, every checksum and the full text; see ``contract.BackupTool.inspect``."""
    with _alone(path) as connection:
        try:
            version = upgrade.check_version(connection, path)
            if not version:
                raise ArchiveDamaged(path, "is empty and contains no store")
            problems = sqlite.quick_check(connection)
            upgrade.migrate(connection, path)  # what follows reads the tables of today
            problems += _named(checks.changed_rows(connection), sees, "")
            problems += namespaces.wrong(connection)
            problems += _named(checks.changed_versions(connection), sees, "an earlier state of ")
            damaged = {
                "links": checks.changed_links(connection),
                "events": checks.changed_events(connection),
            } | {what: sum(one.damaged(connection) for one in SEALED[what]) for what in SEALED}
            problems += [f"{what} were changed" for what, count in damaged.items() if count]
            if not connection.words.intact():
                problems.append("its full text is damaged")
        except StoreUnusable as error:
            raise ArchiveDamaged(path, f"is not a memento backup: {error}") from error
        if problems:
            raise ArchiveDamaged(path, f"is damaged: {'; '.join(problems[:5])}")
        count = single(connection, "SELECT count(*) FROM memories")
        return Contents(version, count, meta.get(connection, TAKEN_AT))


def _named(changed: Sequence[checks.Whose], sees: checks.Sees, part: str) -> list[str]:
    named, others = checks.split(changed, sees)
    problems = [f"{part}memory {memory_id!r} was changed" for _, memory_id in named]
    if others:
        problems.insert(0, f"{part}{others} memories of other namespaces were changed")
    return problems


def settle(path: Path) -> None:
    """Make a copied ledger usable: queue what it lacks."""
    with _alone(path) as connection:
        meta.drop(connection, TAKEN_AT)
        checks.owe_missing(connection)


def set_back_to(
    path: Path,
    moment: int,
    taken_at: int | None = None,
    *,
    reread: Callable[[Connection, Row], None],
) -> int:
    """Undo all that happened in a ledger that nobody else has open; see ``contract.BackupTool``."""
    with _alone(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        begins = single(connection, _LATEST, (max(moment, taken_at or moment),))
        meta.put(connection, past.LINE, begins)
        _drop_later(connection, moment)
        for (docid,) in connection.execute(_CHANGED_SINCE, (moment,)).fetchall():
            row = memories.by_docid(connection, docid)
            reread(connection, _set_back_row(connection, row, moment))
        _drop_later_links(connection, moment)
        _set_links_back(connection, moment)
        links.note_all(connection)
        connection.execute("DELETE FROM versions WHERE until > ?", (moment,))
        connection.execute("DELETE FROM events WHERE at > ?", (moment,))
        changes.set_back_to(connection, moment)
        session_rows.set_back_to(connection, moment)
        scope_rows.set_back_to(connection, moment)
        loop_rows.set_back_to(connection, moment)
        strength_fold.forget_all(connection)
        connection.execute("DELETE FROM sleeps")
        connection.execute("DELETE FROM backlog")
        checks.owe_missing(connection)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        return int(single(connection, "SELECT count(*) FROM memories"))


_LATEST = (
    "SELECT max(ifnull((SELECT max(updated_at) FROM memories), ?1),"
    " ifnull((SELECT max(until) FROM versions), ?1),"
    " ifnull((SELECT max(at) FROM events), ?1), ?1)"
)
"""The latest moment in the ledger, later than all that is undone: see ``past.LINE``."""
_CAME_SINCE = (
    "SELECT docid FROM memories WHERE created_at > ?1 AND coalesce((SELECT"
    " json_extract(earlier, '$.created_at') FROM versions WHERE versions.docid = memories.docid"
    " ORDER BY rev LIMIT 1), created_at) > ?1"
)
"""The memories that were added after a moment. One that was hidden and added again has a later
``created_at`` than its history, so the earliest counts."""
_CHANGED_SINCE = (
    "SELECT docid FROM memories WHERE updated_at > ?1"
    " OR docid IN (SELECT docid FROM versions WHERE until > ?1)"
)


def _drop_later(connection: Connection, moment: int) -> None:
    """Remove the memories that were added after a moment, and their rows in other tables."""
    for table, key in (
        ("memories_fts", "rowid"),
        ("versions", "docid"),
        ("embeddings", "docid"),
        ("events", "docid"),
        ("links", "src"),
        ("links", "dst"),
        ("changed_links", "src"),
        ("changed_links", "dst"),
        ("claims", "docid"),
        ("successions", "older"),
        ("successions", "newer"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {key} IN ({_CAME_SINCE})", (moment,))
    connection.execute(f"DELETE FROM memories WHERE docid IN ({_CAME_SINCE})", (moment,))
    connection.words.lose_later()


def _set_back_row(connection: Connection, present: Row, moment: int) -> Row:
    """Give a row the state it had at a moment, and return it."""
    row, until = replace(present), None
    query = f"SELECT rev, {STATE} FROM versions WHERE docid = ? AND until > ? ORDER BY rev LIMIT 1"
    kept = connection.execute(query, (row.docid, moment)).fetchone()
    if kept is not None:
        rev, *state = kept
        until = State(*state).until
        row = in_state(row, State(*state))
        row.rev = max(rev, row.docid & schema.SEQ_MASK)  # imported states came before
    _undo_overflow(connection, row, moment, until)
    _undo_reinforcements(connection, row, moment, until)
    if row.values() == present.values():
        return row
    row.seal()
    marks = ", ".join(f"{name} = ?" for name in COLUMNS.split(", "))
    connection.execute(f"UPDATE memories SET {marks} WHERE docid = ?", (*row.values(), row.docid))
    if kept is not None:
        connection.words.replace(row.docid, columns_of(row))
    if (row.text, row.actor, row.role) != (present.text, present.actor, present.role):
        connection.execute("DELETE FROM embeddings WHERE docid = ?", (row.docid,))
        succession_rows.drop(connection, row.docid)
    return row


def _undo_overflow(connection: Connection, row: Row, moment: int, until: int | None) -> None:
    """Put a turn back into the ring if it left it later, which only ``updated_at`` shows."""
    if row.tier != "medium" or row.updated_at <= moment:
        return
    query = (
        "SELECT EXISTS (SELECT 1 FROM versions WHERE docid = ?1 AND until = ?2)"
        " OR EXISTS (SELECT 1 FROM events WHERE docid = ?1 AND at = ?2)"
    )
    known = single(connection, query, (row.docid, row.updated_at))
    if not known and (until is None or row.updated_at <= until):
        row.tier = "short"


def _undo_reinforcements(connection: Connection, row: Row, moment: int, until: int | None) -> None:
    """Undo the repeats that arrived after a moment, and find when the row last changed before."""
    repeats = f"FROM events WHERE docid = ?1 AND kind = '{Event.REINFORCED}'"
    query = f"SELECT count(*) {repeats} AND at > ?2 AND at <= coalesce(?3, at)"
    undone = single(connection, query, (row.docid, moment, until))
    row.reinforced = max(0, row.reinforced - undone)
    if row.updated_at > moment:
        query = (
            "SELECT max(?3, coalesce((SELECT max(until) FROM versions WHERE docid = ?1"
            f" AND until <= ?2), 0), coalesce((SELECT max(at) {repeats} AND at <= ?2), 0))"
        )
        row.updated_at = single(connection, query, (row.docid, moment, row.created_at))


def _drop_later_links(connection: Connection, moment: int) -> None:
    """Remove the links to what was superseded after a moment; other links have no time."""
    connection.execute(
        "DELETE FROM links WHERE relation = 'supersedes' AND NOT EXISTS ("
        "SELECT 1 FROM events JOIN memories ON memories.docid = links.src"
        " WHERE events.docid = links.dst AND events.kind = 'superseded' AND events.at <= ?"
        " AND json_extract(events.detail, '$.by') = memories.id)",
        (moment,),
    )


def _set_links_back(connection: Connection, moment: int) -> None:
    """Restore the links of supersession that were undone later; drop those that were redone."""
    connection.execute(
        "DELETE FROM links WHERE relation = 'supersedes' AND 0 = ("
        "SELECT noted.made FROM changed_links AS noted JOIN changes USING (change)"
        " WHERE noted.src = links.src AND noted.dst = links.dst"
        " AND noted.relation = 'supersedes' AND changes.at <= ?"
        " ORDER BY noted.change DESC LIMIT 1)",
        (moment,),
    )
    found = connection.execute(
        "SELECT heir.docid, old.docid FROM memories AS old JOIN memories AS heir"
        " ON heir.ns = old.ns AND heir.id = old.superseded_by WHERE old.superseded_by IS NOT NULL"
    ).fetchall()
    for src, dst in found:
        links.link(connection, src, dst, "supersedes")


@contextmanager
def _alone(path: Path) -> Iterator[Connection]:
    """Yield a connection to a file that nobody else has open, without a log beside it."""
    opened = connect(path, busy_seconds=BUSY_SECONDS, writable=True, wal=False)
    with closing(opened) as connection, translated(path):
        connection.execute("PRAGMA mmap_size=0")
        yield connection
