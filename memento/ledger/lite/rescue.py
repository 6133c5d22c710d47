"""Find what is whole in a damaged ledger, page by page, and make a new ledger from it.

A memory is taken over only if its checksum is right. Links and events are taken over if they and
the memories that they name are whole; sessions, their checkpoints and the names of scopes if they
are whole themselves. Merges and shares are not: a page may still hold one that was undone, and
people must decide who sees what.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import MISSING, dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from memento.errors import StoreBusy, StoreFromTheFuture
from memento.ledger import checks, namespaces, replays, rows, schema, scope_rows, session_rows
from memento.ledger.links import note_all
from memento.ledger.lite import presence, upgrade
from memento.ledger.lite.file_pages import Pages, real
from memento.ledger.lite.sqlite import connect, translated
from memento.ledger.rows import COLUMNS, HOLES, NAMES, STATE, Row, State, checksum, columns_of
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.ledger.scope_rows import Place
from memento.ledger.session_rows import Begun, Noted
from memento.ledger.usage_events import Happening
from memento.text.words import cues
from memento.types import Tier

BUSY_SECONDS = 30.0


@dataclass(slots=True)
class Rescued:
    """The rows that were rescued from a damaged ledger, by their keys or as in their tables.

    ``turns`` are digests of erased turns, made with ``key``, see ``replays``; ``changed`` the ids
    of damaged rows. ``known`` counts how often indexes name a row id (each memory is in two at
    least), ``known_links`` are the links that they name. ``missing_pages`` is the number of pages
    by which the file is too short.
    """

    memories: dict[int, Row] = field(default_factory=dict)
    namespaces: dict[int, str] = field(default_factory=dict)
    versions: list[tuple[Any, ...]] = field(default_factory=list)
    links: list[tuple[Any, ...]] = field(default_factory=list)
    events: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    erased: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    turns: list[tuple[int, str]] = field(default_factory=list)
    key: bytes | None = None
    changed: dict[int, str] = field(default_factory=dict)
    known: Counter[int] = field(default_factory=Counter)
    known_links: set[tuple[frozenset[int], str]] = field(default_factory=set)
    seals: dict[int, bytes] = field(default_factory=dict)
    sessions: dict[tuple[int, str], Begun] = field(default_factory=dict)
    checkpoints: dict[tuple[int, str, int], Noted] = field(default_factory=dict)
    scopes: dict[tuple[int, str], Place] = field(default_factory=dict)
    missing_pages: int = 0

    @property
    def lost(self) -> set[int]:
        """Row ids of memories that existed and of which nothing whole is left."""
        believed = {docid for docid, times in self.known.items() if times > 1}  # else it is corrupt
        return (believed | self.changed.keys()) - self.memories.keys() - self.erased.keys()

    @property
    def lost_links(self) -> int:
        """Number of links between rescued memories that existed and are not whole."""
        kept = {_link_between(src, dst, relation) for src, dst, relation, *_ in self.links}
        return sum(ends <= self.memories.keys() for ends, _ in self.known_links - kept)


def find(path: Path) -> Rescued:
    """Read a damaged ledger and its log, which are not changed."""
    if presence.is_open(path):  # reading and closing it here would drop the locks on it
        raise StoreBusy(path, "is open in this process; close it first")
    found, pages = Rescued(), Pages(path)
    ours = pages.application_id == schema.APPLICATION_ID
    if ours and pages.user_version > schema.SCHEMA_VERSION:
        raise StoreFromTheFuture(path, found=pages.user_version, known=schema.SCHEMA_VERSION)
    found.missing_pages = pages.missing
    for record in pages.records():
        if record.rowid is None:
            _take_indexed(found, record.values)
        else:
            _take_row(found, record.rowid, record.values)
    found.versions = [version for version in found.versions if _is_whole(found, version)]
    # Rows that were erased, or that are outdated according to their history, are dropped.
    ended = {docid for docid, rev, *_ in found.versions if rev >= found.memories[docid].rev}
    for docid in (ended | found.erased.keys()) & found.memories.keys():
        found.changed[docid] = found.memories.pop(docid).id
    for ns, text in list(found.namespaces.items()):
        if found.seals.get(ns, right := namespaces.checksum(ns, text)) != right:
            del found.namespaces[ns]  # else a memory might be given to another namespace
    kept = found.memories.keys()
    found.versions = [version for version in found.versions if version[0] in kept]
    found.links = [link for link in found.links if {link[0], link[1]} <= kept]
    found.events = _of_kept(found)
    return found


def write(found: Rescued, target: Path) -> None:
    """Make a ledger from what was found, in an empty file."""
    opened = connect(target, busy_seconds=BUSY_SECONDS, writable=True, wal=False)
    with closing(opened) as connection, translated(target):
        upgrade.migrate(connection, target)
        connection.execute("BEGIN IMMEDIATE")
        numbers = {docid >> SEQ_BITS for docid in (*found.memories, *found.erased)}
        numbers |= {ns for ns, _ in (*found.sessions, *found.scopes)}
        labels = {ns: json.dumps(["salvaged", str(ns)]) for ns in numbers} | found.namespaces
        for ns, text in sorted(labels.items()):
            namespaces.take_over(connection, ns, text)
        for row in sorted(found.memories.values(), key=lambda row: row.docid):
            connection.execute(f"INSERT INTO memories ({COLUMNS}) VALUES ({HOLES})", row.values())
        connection.words.rebuild()
        for table, lines in (
            (f"versions (docid, rev, {STATE})", found.versions),
            ("links (src, dst, relation, weight, seal)", found.links),
            ("events (ns, at, kind, docid, detail, seal)", list(found.events.values())),
            ("erased (docid, ns, rev)", list(found.erased.values())),
            ("erased_turns (ns, turn)", found.turns),
            ("meta (name, value)", [(namespaces.NAME, found.key)] if found.key else []),
        ):  # fmt: skip
            marks = ", ".join("?" * (table.count(",") + 1))
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", lines)
        for begun in found.sessions.values():
            session_rows.put(connection, replace(begun, owner=""))  # nobody works on it any more
        for noted in found.checkpoints.values():
            if (noted.ns, noted.session) in found.sessions:
                session_rows.insert_checkpoint(connection, noted)
        for place in found.scopes.values():
            apart = replace(place, merged_at=None, merged_into=None, merges="[]")
            scope_rows.put(connection, apart)
        note_all(connection)
        checks.owe_missing(connection)
        connection.execute("COMMIT")


_LENGTHS = range(sum(one.default is MISSING for one in fields(Row)), len(NAMES) + 1)
"""Numbers of columns that a row of ``memories`` may have: SQLite adds none to rows that are there.
"""


def _take_row(found: Rescued, rowid: int, values: tuple[Any, ...]) -> None:
    """Keep a row from a page of a table, if it is useful and whole."""
    match values:
        case (None, int(), int(), str(), int() | None, str() | None, bytes()):
            event = values[1:]
            if not rows.is_changed(*event):
                found.events[rowid] = event
        case (None, str(labels), int()) if namespaces.are_labels(labels):
            found.namespaces[rowid] = labels
        case (None, int(ns), int(rev)) if rowid >> SEQ_BITS == ns:
            found.erased[rowid] = (rowid, ns, rev)
        case (None, int(ns), *_) if len(values) in _LENGTHS and rowid >> SEQ_BITS == ns:
            row = Row(rowid, *values[1:])
            row.importance = real(row.importance)
            _take_memory(found, row)


def _take_memory(found: Rescued, row: Row) -> None:
    """Keep the newest whole state of a memory, and count its words again."""
    sane = row.tier in tuple(Tier) and isinstance(row.rev, int) and isinstance(row.updated_at, int)
    if checksum(row) != row.checksum or not sane or not row.docid & SEQ_MASK <= row.rev <= SEQ_MASK:
        found.changed[row.docid] = str(row.id)
    elif row.docid not in found.memories or found.memories[row.docid].rev < row.rev:
        columns = columns_of(row)
        row.words, row.head_words = columns.words, columns.head_words
        row.cues = cues(row.text, row.role)
        found.memories[row.docid] = row


def _take_indexed(found: Rescued, values: tuple[Any, ...]) -> None:
    """Keep a record from a page of an index, or of a table without row ids."""
    match values:
        case (int(ns), str() | bytes(), int(docid)) if docid >> SEQ_BITS == ns:
            found.known[docid] += 1
        case (str(name), bytes(seal)) if (owner := namespaces.sealed_by(name)) is not None:
            found.seals[owner] = seal
        case (int(ns), str(turn)) if replays.is_digest(turn):
            found.turns.append((ns, turn))
        case (namespaces.NAME, bytes(key)):
            found.key = key
        case (int(dst), int(src), str(relation)):
            found.known_links.add(_link_between(src, dst, relation))
        case (int(src), str(relation), int(dst), int() | float() as weight, bytes(seal)):
            link = (src, dst, relation, real(weight), seal)
            if not rows.is_changed(*link):
                found.links.append(link)
        case (int(), int(), int(), str(), str(), str(), int(), str(), str(), *change) if (
            len(change) <= 1
        ):
            found.versions.append(values[:9])
        case _:
            _take_named(found, values)


def _take_named(found: Rescued, values: tuple[Any, ...]) -> None:
    """Keep a session, a checkpoint or a scope; of two states the later one."""
    match values:
        case (int(), str(), str(), _, int(), int(), _, _, str(), int(), _, bytes()):
            if (begun := session_rows.whole(values)) is not None:
                known = found.sessions.get((begun.ns, begun.id), begun)
                found.sessions[begun.ns, begun.id] = max(known, begun, key=attrgetter("touched"))
        case (int(), str(), int(), int(), int(), str(), bytes()):
            if (noted := session_rows.whole_checkpoint(values)) is not None:
                found.checkpoints[noted.ns, noted.session, noted.number] = noted
        case (int(), str(), str(), str(), int(), _, _, str(), bytes()):
            if (place := scope_rows.whole(values)) is not None:
                other = found.scopes.get((place.ns, place.path), place)
                found.scopes[place.ns, place.path] = max(
                    other, place, key=lambda each: len(each.aliases)
                )


def _link_between(src: int, dst: int, relation: str) -> tuple[frozenset[int], str]:
    """Return a key for a link whose ends may be swapped, as they are in one of the indexes."""
    return frozenset((src, dst)), relation


def _of_kept(found: Rescued) -> dict[int, tuple[Any, ...]]:
    """Return the events that name only memories that are kept, in order."""
    ids: dict[int, set[str]] = {}
    for row in found.memories.values():
        ids.setdefault(row.ns, {""}).add(row.id)  # "" stands for an erased one

    def names_kept(event: tuple[Any, ...]) -> bool:
        ns, at, kind, docid, detail, _ = event
        if docid is not None:
            return docid in found.memories
        named = Happening(0, ns, at, kind, None, rows.mapping_in(detail)).ids
        return ns in ids and ids[ns].issuperset(named)

    return {number: event for number, event in sorted(found.events.items()) if names_kept(event)}


def _is_whole(found: Rescued, version: tuple[Any, ...]) -> bool:
    """Return whether an earlier state is as it was written."""
    row = found.memories.get(version[0])
    return row is not None and not rows.is_changed_state(row, State(*version[2:]))
