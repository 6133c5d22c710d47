"""The ledger as one file to keep, and the ledger as it was at a moment. SQL only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from memento.errors import ArchiveDamaged, StoreUnusable
from memento.ledger import (
    chains,
    changes,
    checks,
    links,
    loop_rows,
    memories,
    namespaces,
    past,
    schema,
    scope_rows,
    session_rows,
    strength_fold,
)
from memento.ledger.contract import Contents
from memento.ledger.earlier_states import past as past_state
from memento.ledger.lite import sqlite
from memento.ledger.lite.sqlite import Connection, connect, translated, uri_of
from memento.ledger.rows import COLUMNS, STATE, Row, State, columns_of
from memento.types import Event

BUSY_SECONDS = 30.0
TAKEN_AT = "backup_at"
"""Name in ``meta`` of the moment a backup was made, microseconds."""


def copy(source: Path, target: Path, now: int, *, immutable: bool = False) -> None:
    """Write all that is committed into one file, as of one moment, while others go on.

    Deleted data is not copied. Nobody waits for it, but the write-ahead log grows meanwhile.
    """
    reading = connect(source, busy_seconds=BUSY_SECONDS, writable=False, immutable=immutable)
    with closing(reading) as connection, translated(source):
        connection.execute("PRAGMA query_only=OFF")  # would refuse to write any file
        connection.execute("VACUUM INTO ?", (uri_of(target),))
    with _alone(target) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (TAKEN_AT, now))


def fetch(source: Path, target: Path) -> None:
    """Copy a ledger that nobody writes, together with its write-ahead log if it has one.

    Raises:
        ArchiveDamaged: If it cannot be read as one.
    """
    logged = source.with_name(f"{source.name}-wal").exists()
    try:
        reading = connect(source, busy_seconds=BUSY_SECONDS, writable=False, immutable=not logged)
        with closing(reading), _alone(target) as writing, translated(source):
            reading.backup(writing)
    except StoreUnusable as error:
        raise ArchiveDamaged(source, f"cannot be read as a backup: {error}") from error


def inspect(path: Path, sees: checks.Sees = checks.everyone) -> Contents:
    """Look at every page, every checksum and the full-text index of a backup.

    Raises:
        ArchiveDamaged: If anything is wrong; it names only ids of namespaces that ``sees`` allows.
        StoreFromTheFuture: If a newer memento wrote it.
    """
    with _alone(path) as connection:
        try:
            version = sqlite.check_version(connection, path)
            if not version:
                raise ArchiveDamaged(path, "is empty; it holds no store")
            problems = sqlite.quick_check(connection)
            problems += _named(checks.changed_rows(connection), sees, "")
            problems += namespaces.wrong(connection)
            problems += _named(checks.changed_versions(connection), sees, "an earlier state of ")
            problems += [*_changed_rows(connection)]
            if not connection.words.intact():
                problems.append("its full text is damaged")
        except StoreUnusable as error:
            raise ArchiveDamaged(path, f"is no backup of memento: {error}") from error
        if problems:
            raise ArchiveDamaged(path, f"is damaged: {'; '.join(problems[:5])}")
        (count,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        query = "SELECT max(value) FROM meta WHERE name = ?"  # NULL for a plain copy of a ledger
        (taken_at,) = connection.execute(query, (TAKEN_AT,)).fetchone()
        return Contents(version, count, taken_at)


def _changed_rows(connection: Connection) -> Iterator[str]:
    """Name the tables with rows that are not as they were written."""
    for what, changed in (
        ("links", checks.changed_links),
        ("events", checks.changed_events),
        ("changes", checks.changed_changes),
        ("sessions or checkpoints", lambda c: sum(session_rows.changed(c))),
        ("scopes or shares", lambda c: sum(scope_rows.changed(c))),
    ):
        if changed(connection):
            yield f"{what} were changed"


def _named(changed: Sequence[checks.Whose], sees: checks.Sees, part: str) -> list[str]:
    named, others = checks.split(changed, sees)
    problems = [f"{part}memory {memory_id!r} was changed" for _, memory_id in named]
    if others:
        problems.insert(0, f"{part}{others} memories of other namespaces were changed")
    return problems


def settle(path: Path) -> None:
    """Make a copied ledger usable: bring it to the present schema, and queue what it lacks."""
    with _alone(path) as connection:
        sqlite.migrate(connection, path)
        connection.execute("DELETE FROM meta WHERE name = ?", (TAKEN_AT,))
        checks.owe_missing(connection)


def set_back_to(
    path: Path,
    moment: int,
    taken_at: int | None = None,
    *,
    reread: Callable[[Connection, Row], None],
) -> int:
    """Undo all that happened in a ledger after a moment; returns how many memories are left.

    Args:
        path: A ledger of the present schema that nobody else has open.
        moment: Microseconds since 1970 UTC; what happened at it counts as done.
        taken_at: When the ledger was copied, if that is known: up to then it knew more.
        reread: Told each row that was set back, to derive again what depends on its text.
    """
    with _alone(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        _note_line(connection, moment if taken_at is None else max(moment, taken_at))
        _drop_later(connection, moment)
        for (docid,) in connection.execute(_CHANGED_SINCE, (moment,)).fetchall():
            row = memories.by_docid(connection, docid)
            reread(connection, _set_back_row(connection, row, moment))
        _drop_later_links(connection, moment)
        _set_links_back(connection, moment)
        chains.note_all(connection)
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
        (count,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        return int(count)


def _note_line(connection: Connection, moment: int) -> None:
    """Note from when on the recording is whole: after all that is to be undone."""
    (latest,) = connection.execute(
        "SELECT max(ifnull((SELECT max(updated_at) FROM memories), ?1),"
        " ifnull((SELECT max(until) FROM versions), ?1),"
        " ifnull((SELECT max(at) FROM events), ?1), ?1)",
        (moment,),
    ).fetchone()
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (past.LINE, latest))


_CAME_SINCE = (
    "SELECT docid FROM memories WHERE created_at > ?1 AND coalesce((SELECT"
    " json_extract(earlier, '$.created_at') FROM versions WHERE versions.docid = memories.docid"
    " ORDER BY rev LIMIT 1), created_at) > ?1"
)
"""A memory that was hidden and added again was created then, though its history began earlier."""
_CHANGED_SINCE = (
    "SELECT docid FROM memories WHERE updated_at > ?1"
    " OR docid IN (SELECT docid FROM versions WHERE until > ?1)"
)


def _drop_later(connection: Connection, moment: int) -> None:
    """Remove the memories that came after a moment, and what is theirs."""
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
    """Give a row the state it had at a moment; returns it as it was then."""
    row, until = replace(present), None
    query = f"SELECT rev, {STATE} FROM versions WHERE docid = ? AND until > ? ORDER BY rev LIMIT 1"
    kept = connection.execute(query, (row.docid, moment)).fetchone()
    if kept is not None:
        rev, *state = kept
        until = State(*state).until
        row = past_state(row, State(*state))
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
    return row


def _undo_overflow(connection: Connection, row: Row, moment: int, until: int | None) -> None:
    """Put a turn back into the ring if it left it after the moment.

    The ring keeps no version of what it pushes out; only ``updated_at`` tells, as long as nothing
    else is known to have happened then.
    """
    if row.tier != "medium" or row.updated_at <= moment:
        return
    (known,) = connection.execute(
        "SELECT count(*) FROM versions WHERE docid = ?1 AND until = ?2 UNION ALL"
        " SELECT count(*) FROM events WHERE docid = ?1 AND at = ?2"
        " ORDER BY 1 DESC LIMIT 1",
        (row.docid, row.updated_at),
    ).fetchone()
    if not known and (until is None or row.updated_at <= until):
        row.tier = "short"


def _undo_reinforcements(connection: Connection, row: Row, moment: int, until: int | None) -> None:
    """Take back what arrived again after the moment, and find when the row last changed before."""
    (undone,) = connection.execute(
        f"SELECT count(*) FROM events WHERE docid = ? AND kind = '{Event.REINFORCED}' AND at > ?"
        " AND at <= coalesce(?, at)",
        (row.docid, moment, until),
    ).fetchone()
    row.reinforced = max(0, row.reinforced - undone)
    if row.updated_at > moment:
        (row.updated_at,) = connection.execute(
            "SELECT max(?3, coalesce((SELECT max(until) FROM versions WHERE docid = ?1"
            " AND until <= ?2), 0), coalesce((SELECT max(at) FROM events WHERE docid = ?1"
            f" AND kind = '{Event.REINFORCED}' AND at <= ?2), 0))",
            (row.docid, moment, row.created_at),
        ).fetchone()


def _drop_later_links(connection: Connection, moment: int) -> None:
    """Remove the links to what was superseded after a moment; others carry no time."""
    connection.execute(
        "DELETE FROM links WHERE relation = 'supersedes' AND NOT EXISTS ("
        "SELECT 1 FROM events JOIN memories ON memories.docid = links.src"
        " WHERE events.docid = links.dst AND events.kind = 'superseded' AND events.at <= ?"
        " AND json_extract(events.detail, '$.by') = memories.id)",
        (moment,),
    )


def _set_links_back(connection: Connection, moment: int) -> None:
    """Make again the links of supersession that an undo removed after the moment.

    One that an undo had removed before it, and a redo made again, is removed.
    """
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
    """Lend a connection to a file that nobody else has open, without a log beside it."""
    opened = connect(path, busy_seconds=BUSY_SECONDS, writable=True, wal=False)
    with closing(opened) as connection, translated(path):
        connection.execute("PRAGMA mmap_size=0")
        yield connection
