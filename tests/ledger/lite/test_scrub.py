"""Scrubbing overwrites what SQLite no longer uses of a file, and nothing that it uses."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.errors import StoreUnusable
from memento.ledger.lite import scrub
from memento.ledger.lite.file_pages import PAGE_BYTES
from memento.ledger.lite.sqlite import connect, create_private

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('stamp', 0);
CREATE TABLE things (thing INTEGER PRIMARY KEY, text TEXT NOT NULL, key TEXT);
CREATE INDEX things_by_key ON things (key);
CREATE TABLE past (key TEXT, thing INTEGER, text TEXT, PRIMARY KEY (key, thing)) WITHOUT ROWID;
"""
CANARY = re.compile(rb"zq(\d{5})x")


@pytest.fixture
def file(tmp_path):
    """An empty file with a few tables, and a connection that writes it."""
    return made(tmp_path / "ledger.db")


def made(path):
    """Make such a file."""
    create_private(path)
    connection = connect(path, busy_seconds=5, writable=True)
    connection.executescript(TABLES)
    return path, connection


def put(connection, number, length):
    """Put in a thing with a canary in a row, in an index and in a table without row ids."""
    canary = f"zq{number:05}x"
    words = (canary * (length // 8 + 1))[: max(length, 8)]
    connection.execute("INSERT OR REPLACE INTO things VALUES (?, ?, ?)", (number, words, canary))
    connection.execute("INSERT OR REPLACE INTO past VALUES (?, ?, ?)", (canary, number, words))


def remove(connection, number):
    """Delete one again."""
    connection.execute("DELETE FROM things WHERE thing = ?", (number,))
    connection.execute("DELETE FROM past WHERE thing = ?", (number,))


def scrubbed(connection, path):
    """Scrub to the end; returns how many bites that took."""
    first, bites = 1, 0
    while first is not None:
        following = scrub.bite(connection, path, first)
        assert following != first
        first, bites = following, bites + 1
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bites


def canaries(path):
    """Return the numbers of all things of which the file holds something."""
    return {int(number) for number in CANARY.findall(path.read_bytes())}


def contents(connection):
    """Read everything there is."""
    return [connection.execute(f"SELECT * FROM {t}").fetchall() for t in ("things", "past")]


changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "remove"]),
        st.integers(0, 99),
        st.one_of(st.integers(8, 300), st.integers(900, 1100), st.integers(4000, 20_000)),
    ),
    min_size=20,
    max_size=150,
)


@settings(max_examples=40, deadline=None)
@given(changes=changes, gone=st.sets(st.integers(0, 99)))
def test_whatever_was_deleted_is_gone_and_the_rest_is_as_it_was(tmp_path_factory, changes, gone):
    """Rows of any length in any order: no deleted one in the file, each other one unchanged."""
    path, connection = made(tmp_path_factory.mktemp("scrub") / "ledger.db")
    with contextlib.closing(connection):
        for what, number, length in changes:
            put(connection, number, length) if what == "put" else remove(connection, number)
        for number in gone:
            remove(connection, number)
        before = contents(connection)
        scrubbed(connection, path)
        assert canaries(path) == {row[0] for row in before[0]}
        assert contents(connection) == before
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_large_file_takes_several_bites_and_others_write_between(file, monkeypatch):
    """The end of a bite is by the clock; what comes between is kept, what was deleted is gone."""
    monkeypatch.setattr(scrub, "BITE_SECONDS", 1e-9)
    monkeypatch.setattr(scrub, "AT_ONCE", 4)
    path, connection = file
    for number in range(400):
        put(connection, number, 500)
    for number in range(0, 400, 2):
        remove(connection, number)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert 0 in canaries(path)  # null control: deleted, and still in the file
    first, bites = 1, 0
    while first is not None:
        first = scrub.bite(connection, path, first)
        if bites < 5:
            put(connection, 1000 + bites, 3_000)
        bites += 1
    assert bites > 5
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert canaries(path) == {*range(1, 400, 2), *range(1000, 1005)}
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_another_writer_does_not_bring_it_back(file):
    """A connection that remembers a page from before writes it as it is now."""
    path, connection = file
    other = connect(path, busy_seconds=5, writable=True)
    for number in range(20):
        put(connection, number, 100)
    for one in (connection, other):
        one.execute("PRAGMA mmap_size=0")  # so that each keeps pages of its own
    for number in range(10):
        remove(other, number)  # from here on it holds the pages with what was deleted
    scrubbed(connection, path)
    for one, number in ((other, 10), (connection, 11)):
        put(one, number, 90)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert canaries(path) == {*range(10, 20)}
    other.close()


def test_it_does_nothing_while_a_reader_uses_an_earlier_state(file, monkeypatch):
    """The log cannot be folded then, and a page in it would come back."""
    monkeypatch.setattr(scrub, "READERS_SECONDS", 0.0)
    path, connection = file
    put(connection, 1, 100)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    reader = connect(path, busy_seconds=5, writable=False)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM things").fetchone()
    remove(connection, 1)
    assert scrub.bite(connection, path, 1) == 1
    assert 1 in canaries(path)
    reader.close()
    scrubbed(connection, path)
    assert canaries(path) == set()


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_damaged_page_is_not_touched(file, at):
    """StoreUnusable: what cannot be understood might be in use."""
    path, connection = file
    for number in range(50):
        put(connection, number, 100)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'past'"
    (root,) = connection.execute(query).fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    place = (root - 1) * PAGE_BYTES + at
    data[place : place + 2] = b"\xff\xfe"
    path.write_bytes(data)
    connection = connect(path, busy_seconds=5, writable=True)
    with pytest.raises(StoreUnusable, match="damaged"):
        scrub.bite(connection, path, 1)
    connection.execute("ROLLBACK")
    connection.close()
    page = slice((root - 1) * PAGE_BYTES, root * PAGE_BYTES)
    assert path.read_bytes()[page] == data[page]


VISITOR = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("SELECT count(*) FROM things").fetchone()
file.close()
"""


def test_the_locks_of_sqlite_are_kept(file):
    """Another process that closes the file does not take itself for the last one."""
    path, connection = file
    for number in range(50):
        put(connection, number, 100)
    scrubbed(connection, path)
    put(connection, 60, 100)
    subprocess.run([sys.executable, "-c", VISITOR, path], check=True)
    assert path.with_name("ledger.db-wal").exists()
    put(connection, 61, 100)
    assert 61 in {row[0] for row in contents(connection)[0]}


def test_null_control_a_closed_descriptor_drops_the_locks(file):
    """The test above would notice that the log is removed under the open connection."""
    path, connection = file
    put(connection, 60, 100)
    path.open("rb").close()
    subprocess.run([sys.executable, "-c", VISITOR, path], check=True)
    assert not path.with_name("ledger.db-wal").exists()
