"""A store that an earlier release wrote opens, is upgraded, and has all it had."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from memento import MemoryManager, Status
from memento.ledger import schema
from memento.ledger.lite import sqlite
from memento.testing import HashEmbedder
from memento.upkeep.backup import restore, salvage

STORES = Path(__file__).parent / "stores"


@pytest.fixture
def old(tmp_path):
    """The folder of a store that the first schema wrote."""
    root = tmp_path / "store"
    root.mkdir(mode=0o700)
    packed = (STORES / "schema-1.db.gz").read_bytes()
    (root / "ledger.db").write_bytes(gzip.decompress(packed))
    return root


@pytest.fixture
def next_schema(monkeypatch):
    """A release whose schema has a column more."""
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    step = "ALTER TABLE namespaces ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';\n"
    monkeypatch.setitem(sqlite._SCRIPTS, "m999_colour", step)


def asked(root, question):
    """Ask the file of a store."""
    with sqlite3.connect(root / "ledger.db") as file:
        found = file.execute(question).fetchall()
    file.close()
    return found


def has_all(root):
    """Look for what the old store has: texts, slots, history, namespaces, sessions and vectors."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        assert {one.id for one in memory.list(status=list(Status))} == {
            "tea", "coffee", "turn", "page", "gone",
        }  # fmt: skip
        assert memory.get("tea").superseded_by == "coffee"
        assert [state.text for state in memory.changes.history("coffee")] == [
            "Rami prefers black coffee", "Rami prefers espresso",
        ]  # fmt: skip
        assert [one.id for one in memory.quarantine.list()] == ["page"]
        assert "coffee" in {hit.id for hit in memory.retrieve("what does Rami prefer?")}
        assert memory.restore("gone").status is Status.ACTIVE
        lina = memory.of("acme", "lina")
        assert lina.get("cello").text == "Lina plays the cello"
        resumed = lina.sessions.resume("job").text
        assert "move the piano" in resumed
        assert "call Rami" in resumed
        assert memory.flush(wait=True)
        assert all(found.ok for found in memory.store.doctor())


def test_a_store_of_this_schema_is_read_as_it_was_written(old):
    """The tables are those of the release that wrote it: a change of them needs a migration."""
    before = asked(old, "SELECT type, name, sql FROM sqlite_master ORDER BY name")
    has_all(old)
    assert asked(old, "SELECT type, name, sql FROM sqlite_master ORDER BY name") == before


def test_a_new_store_has_the_tables_of_an_old_one(old, open_memory):
    """Statement for statement."""
    question = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    assert asked(open_memory().store.root, question) == asked(old, question)


@pytest.mark.usefixtures("next_schema")
def test_an_old_store_is_upgraded_with_all_it_has(old):
    """Once: the second opening finds the work done."""
    for _ in range(2):
        has_all(old)
        assert asked(old, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
        assert {colour for (colour,) in asked(old, "SELECT colour FROM namespaces")} == {"blue"}


@pytest.mark.usefixtures("next_schema")
def test_an_old_backup_becomes_a_store_of_today(old, tmp_path):
    """Brought up to date on the way, nothing missing."""
    assert restore(old / "ledger.db", tmp_path / "copy").memories == 6
    has_all(tmp_path / "copy")
    assert asked(old, "PRAGMA user_version") == [(schema.SCHEMA_VERSION - 1,)]


def test_an_old_store_can_be_salvaged(old):
    """Rows are told by their pages alone, and none is lost."""
    done = salvage(old)
    assert (done.lost, done.changed) == (0, ())
    has_all(old)
