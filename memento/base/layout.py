"""The names of the files of a store, and how to recognise them.

A store is a folder. Only the ledger in it is authoritative; everything else is derived from it, or
says who is using it.
"""

from __future__ import annotations

import re
from pathlib import Path

LEDGER = "ledger.db"
LOG = f"{LEDGER}-wal"
JOURNAL = f"{LEDGER}-journal"
"""The rollback journal, which exists only while a store is being created."""
BESIDE = ("-journal", "-wal", "-shm")
"""Endings that SQLite adds to the name of a database file for its own files beside it."""
SNAPSHOT = "short.json"
"""Snapshot of the ring buffers."""
CHROMA = "chroma"
"""Folder of the long tier's index."""
DERIVED = "derived"
"""Folder of the files by which large namespaces are searched."""
SETTINGS = "memento.toml"
"""Settings of the store, which a person may put there; see ``memento.settings``."""
TOKENS = "tokens.json"
"""Who may use the store over HTTP; see ``memento.resident.tokens``."""
RESERVE = "reserve"
"""The reserve: disk space kept for when the disk is full."""
TURN = "writer.lock"
"""Lock file at which the writers of several processes take turns."""

ASIDE = re.compile(r"\.?(ledger\.db|short\.json|chroma|chroma\.json)\..+")
"""Names of copies that were set aside, among others that `IN_USE` has."""
IN_USE = re.compile(
    r"ledger\.db-(wal|shm|journal)|chroma\.(json|lock)|short\.json\.[0-9a-f]{8}\.tmp"
)
"""Names that look like a copy and belong to a file in use."""
UNFINISHED = re.compile(r"\.ledger\.db\.[a-z0-9_]{8}\.tmp(-journal|-wal|-shm)?|chroma\.json\.tmp")
"""Names that only a writer of the store gives, to what it has not finished."""
OURS = re.compile(
    r"ledger\.db(-wal|-shm|-journal)?|short\.json|chroma(\.json|\.lock)?|derived|\w+\.lock|reserve|memento\.toml|tokens\.json"
)
"""Names of the store's own files."""
OF_A_NEW_STORE = re.compile(
    r"ledger\.db-(journal|shm)|(writer|chroma)\.lock|probe\.[0-9a-f]{8}\.tmp|reserve"
    rf"|memento\.toml|{UNFINISHED.pattern}"
)
"""Names of files that may exist without a ledger, if the creation of a store was interrupted."""
OF_A_STORE = re.compile(
    r"\.?(ledger\.db|short\.json|chroma\.json|chroma)([-.].+)?|derived"
    r"|(writer|chroma|derived)\.lock|probe\.[0-9a-f]{8}\.tmp|reserve|memento\.toml"
)
"""Names that the store, SQLite, and what they set aside or leave unfinished have."""
OF_DERIVED = re.compile(r"[0-9]+\.(vectors|outline)(\.[0-9a-f]{8}\.tmp)?")
"""Names of the files in the folder of derived files: each begins with its namespace's number."""
MOVING = ".moving-"
"""What follows the name of the folder in that of a move's file, beside it: all memories as text."""
DRAFT = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp(-journal|-wal|-shm)?")
"""Names of files and folders that are not finished, and of SQLite's own beside them."""


def stamp_of(folder: Path) -> Path:
    """Return the file ``chroma.json`` that says what the folder ``chroma`` holds."""
    return folder.with_name(f"{folder.name}.json")


def lock_of(folder: Path) -> Path:
    """Return the file ``chroma.lock`` that says who has the folder ``chroma`` open."""
    return folder.with_name(f"{folder.name}.lock")


REMAINS = (LEDGER, LOG, SNAPSHOT, CHROMA, stamp_of(Path(CHROMA)).name, DERIVED)
"""Names in a folder that show that it holds a store, or remains of one."""


def is_own(path: Path) -> bool:
    """Return whether a file or folder belongs to a store, rather than only lying in its folder."""
    known = any(names.fullmatch(path.name) for names in (OURS, OF_A_STORE))
    return known and (path.parent / LEDGER).is_file()
