"""Erasing on a server: no byte is left in its tables, or the receipt says so."""

from __future__ import annotations

import postgres
import pytest

from memento import MemoryManager
from memento.errors import StoreBusy
from memento.ledger.pg import store

psycopg = pytest.importorskip("psycopg")

CANARY = "xylophone88123"
HOLDS = {
    "a snapshot": "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1",
    "a lock": "BEGIN; LOCK TABLE memento.memories IN ACCESS SHARE MODE",
}


@pytest.fixture
def connection(address):
    """Somebody else's connection to the database."""
    with psycopg.connect(address.split("&")[0], autocommit=True) as made:
        yield made


@pytest.fixture
def memory(address):
    """A manager with a memory to erase: among others, in an index, in the words and in versions."""
    with MemoryManager(address, embedder=None) as made:
        for n in range(20):
            made.add(f"a plain note {n}")
        made.add(f"the passport is {CANARY}", id=f"id-{CANARY}", key=f"key-{CANARY}")
        made.update(f"id-{CANARY}", text=f"the passport is {CANARY}, " + f"{CANARY} " * 2_000)
        made.flush(wait=True)
        yield made


def found(connection):
    """Return the files of tables and indexes that hold the canary, in whatever case."""
    connection.execute("CHECKPOINT")
    files = [one for one in (postgres.server().data / "base").rglob("*") if one.is_file()]
    return [one.name for one in files if CANARY.encode() in one.read_bytes().lower()]


def test_nothing_is_left_in_the_pages(memory, connection):
    """Of the row, its versions, its words and the indexes of all three."""
    connection.execute("ANALYZE memento.memories")
    assert len(found(connection)) > 3
    receipt = memory.store.erase(f"id-{CANARY}")
    assert receipt.complete
    assert any("statistics" in one for one in receipt.not_reached)
    connection.execute("VACUUM FULL pg_statistic")
    assert found(connection) == []


def test_a_vacuum_alone_would_not_do(memory, connection, monkeypatch):
    """The control: a table that is not rewritten keeps bytes in its free space."""
    monkeypatch.setattr(store, "WHOLE_BYTES", 0)
    receipt = memory.store.erase(f"id-{CANARY}")
    assert receipt.complete
    assert found(connection)
    assert any("free space" in one for one in receipt.not_reached)


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_a_reader_in_the_way_is_named_and_waited_for(memory, connection, address, hold):
    """It is pending, and done by the background thread once the reader has ended."""
    with psycopg.connect(address.split("&")[0], autocommit=True) as reader:
        reader.execute(hold)
        receipt = memory.store.erase(f"id-{CANARY}", timeout=0)
        assert list(receipt.pending) == ["ledger"]
        assert "a reader is using" in receipt.pending["ledger"]
        assert [one.check for one in memory.store.doctor() if not one.ok] == ["erasure"]
        assert found(connection)
        assert memory.retrieve("plain note", k=3)
    assert memory._engine._eraser.wait(60) == {}
    assert found(connection) == []


def test_one_process_at_a_time_clears(memory):
    """Others leave it to that one, since each holds up the readers for a moment."""
    ledger = memory._engine.ledger
    with ledger.claimed(["clear the tables"]) as mine:
        assert mine
        with pytest.raises(StoreBusy, match="another process is clearing"):
            ledger.compact()
    ledger.compact()
