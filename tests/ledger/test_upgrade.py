"""Stores that earlier versions wrote open, are upgraded, and have all they had."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from memento import MemoryManager, Status
from memento.ledger import schema
from memento.testing import HashEmbedder

FOLDER = Path(__file__).parent / "stores"
STORES = sorted(FOLDER.glob("schema-*.db.gz"))
"""A store of each earlier schema, written by the code of that time."""


def put(root, schema_version):
    """Put the store of one schema into a folder."""
    stored = (FOLDER / f"schema-{schema_version}.db.gz").read_bytes()
    (root / "ledger.db").write_bytes(gzip.decompress(stored))


@pytest.fixture(params=STORES, ids=lambda path: path.name.split(".")[0])
def old(request, tmp_path):
    """The folder of an old store."""
    root = tmp_path / "store"
    root.mkdir(mode=0o700)
    (root / "ledger.db").write_bytes(gzip.decompress(request.param.read_bytes()))
    return root


def version(root):
    """Read the schema version from the file."""
    with sqlite3.connect(root / "ledger.db") as file:
        (found,) = file.execute("PRAGMA user_version").fetchone()
    file.close()
    return found


def test_there_is_a_store_of_every_earlier_schema():
    """None was forgotten when the schema changed."""
    named = {f"schema-{number}.db.gz" for number in range(1, schema.SCHEMA_VERSION)}
    assert {path.name for path in STORES} == named


def test_an_old_store_is_upgraded_with_all_it_has(old):
    """Texts, slots, history, namespaces and vectors; doctor finds nothing wrong."""
    before = version(old)
    assert before < schema.SCHEMA_VERSION
    with MemoryManager(old, embedder=HashEmbedder(8)) as memory:
        assert {one.id for one in memory.list(status=list(Status))} == {
            "tea", "coffee", "turn", "page", "gone",
        }  # fmt: skip
        assert memory.get("tea").superseded_by == "coffee"
        assert [state.text for state in memory.history("coffee")] == [
            "Rami prefers black coffee", "Rami prefers espresso",
        ]  # fmt: skip
        assert memory.of("acme", "lina").get("cello").text == "Lina plays the cello"
        assert "coffee" in {hit.id for hit in memory.retrieve("what does Rami prefer?")}
        assert memory.restore("gone").status is Status.ACTIVE
        assert memory.flush(wait=True)
        assert all(found.ok for found in memory.store.doctor())
    assert version(old) == schema.SCHEMA_VERSION


def test_what_an_old_store_shows_stays_in_view(old):
    """Memories of untrusted sources from before the quarantine existed count as approved."""
    with MemoryManager(old, embedder=HashEmbedder(8)) as memory:
        assert memory.get("page").status is Status.ACTIVE
        assert memory.quarantine.list() == []
        later = memory.add("Another page", source="web")
        assert [one.id for one in memory.quarantine.list()] == [later.id]


def test_upgrading_twice_changes_nothing(old):
    """The second opening finds the work done."""
    for _ in range(2):
        with MemoryManager(old, embedder=None) as memory:
            assert len(memory.list()) == 3
    assert version(old) == schema.SCHEMA_VERSION


def test_an_old_store_knows_which_parents_are_not_there(tmp_path):
    """A memory of schema 4 whose parent comes only now is judged again."""
    put(tmp_path, 4)
    with MemoryManager(tmp_path, embedder=None, namespace=("acme", "lina")) as lina:
        assert lina.get("cello").source.parents == ("notes",)
        lina.add("A page about Lina", id="notes", source="web")
        assert lina.get("cello").status is Status.QUARANTINED


def test_an_old_store_resumes_its_sessions(tmp_path):
    """A session of schema 10 has its goal and its checkpoint."""
    put(tmp_path, 10)
    with MemoryManager(tmp_path, embedder=None, namespace=("acme", "lina")) as lina:
        resumed = lina.resume("job")
        assert resumed is not None
        assert "move the piano" in resumed.text
        assert "call Rami" in resumed.text
