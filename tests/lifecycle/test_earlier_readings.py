"""Statements that an earlier version of memento compared are read again, a few at a time."""

import gzip
from math import inf
from pathlib import Path

import pytest

from memento import Config, MemoryManager
from memento import background as rules
from memento.background import _spaces_unread as spaces_unread
from memento.claims.config import Conflicts
from memento.errors import StoreError
from memento.ledger import claims
from memento.lifecycle import conflicts

STORES = Path(__file__).parents[1] / "ledger" / "stores"
STILL = Config(conflicts=Conflicts(pairs=0))
"""No background work on statements."""
BIKE = ("My bike is in the cellar", "I moved my bike from the cellar to the shed")


def told(root, *texts):
    """Add statements to a store, wait until they are compared, and return their row numbers."""
    with MemoryManager(root, embedder=None) as memory:
        ids = [memory.add(text).id for text in texts]
        memory.flush(wait=True)
        by_id = "SELECT docid FROM memories WHERE id = ?"
        return memory._engine.ledger.read(
            lambda c: [c.execute(by_id, (one,)).fetchone()[0] for one in ids]
        )


def forget_reading(root, *, noted=False):
    """Leave of a store what an earlier version had: it compared, and derived less."""

    def job(session):
        claims.drop_all(session)
        if not noted:
            session.execute("DELETE FROM meta WHERE name LIKE 'claims read %'")

    with MemoryManager(root, embedder=None, config=STILL) as memory:
        memory._engine.ledger.write(job)


def successions(root):
    """Open a store, wait for its background work, and return which memory succeeds which."""
    with MemoryManager(root, embedder=None) as memory:
        memory.flush(wait=True)
        assert all(found.ok for found in memory.store.doctor())
        found = "SELECT older, newer FROM successions"
        return memory._engine.ledger.read(lambda c: c.execute(found).fetchall())


@pytest.mark.parametrize("version", [6, 7, 10])
def test_an_old_store_gets_its_states_by_itself(tmp_path, version):
    """Without doctor: the later statement is placed first, as in a new store."""
    stored = (STORES / f"schema-{version}.db.gz").read_bytes()
    (tmp_path / "ledger.db").write_bytes(gzip.decompress(stored))
    older, newer = told(tmp_path, *BIKE)
    forget_reading(tmp_path)
    assert successions(tmp_path) == [(older, newer)]


def test_what_this_version_read_is_not_read_again(tmp_path):
    """The null control: the note in the ledger is what decides."""
    told(tmp_path, *BIKE)
    forget_reading(tmp_path, noted=True)
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.flush(wait=True)
        found = memory._engine.ledger.read(lambda c: c.execute("SELECT * FROM claims").fetchall())
    assert found == []


def test_reading_again_goes_on_where_it_stopped(tmp_path):
    """Each transaction reads a few memories, and notes how far it came."""
    older, newer, *_ = told(tmp_path, *BIKE, *(f"Gate {n} has the code {n * 7}" for n in range(20)))
    forget_reading(tmp_path)
    ns, left, more = older >> 40, [], True
    while more:  # the store is closed after each, as if the process had been killed
        with MemoryManager(tmp_path, embedder=None, config=STILL) as memory:
            ledger = memory._engine.ledger
            more = ledger.write(lambda c: conflicts.read_earlier(c, ns, Conflicts(), 8))
            left.append(ledger.read(lambda c: claims.unread(c, ns)))
    assert left == [14, 6, 0]
    assert successions(tmp_path) == [(older, newer)]


def test_a_stream_of_adds_does_not_hold_reading_back_for_ever(tmp_path, monkeypatch):
    """It waits for the stream, and then has a turn all the same."""
    told(tmp_path, *BIKE, *(f"Gate {n} has the code {n * 7}" for n in range(40)))
    forget_reading(tmp_path)
    with MemoryManager(tmp_path, embedder=None) as memory:
        background, ledger = memory._engine.background, memory._engine.ledger
        memory.flush(wait=True)

        def left():
            return ledger.read(lambda c: claims.unread(c, 1))

        with background._settling:  # the background thread has none of this
            ledger.write(claims.drop_all)
            ledger.write(lambda c: c.execute("DELETE FROM meta WHERE name LIKE 'claims read %'"))
            monkeypatch.setattr(background, "streaming", lambda: True)
            background._unread, before = [1], left()
            monkeypatch.setattr(rules, "HELD_SECONDS", 60.0)
            background._read_earlier(inf, gives_way=True)
            assert left() == before > 0
            monkeypatch.setattr(rules, "HELD_SECONDS", 0.0)
            background._read_earlier(inf, gives_way=True)
            assert left() == 0


def test_a_look_that_fails_is_made_again(tmp_path, monkeypatch):
    """A busy moment of the disk must not hide the work of an earlier process for good."""
    older, newer = told(tmp_path, *BIKE)
    forget_reading(tmp_path)
    with MemoryManager(tmp_path, embedder=None) as memory:
        background, ledger = memory._engine.background, memory._engine.ledger
        memory.flush(wait=True)
        read, failed = ledger.read, []

        def fails_once(job):
            if job is spaces_unread and not failed:
                failed.append(job)
                raise StoreError(tmp_path, "the disk did not answer")
            return read(job)

        monkeypatch.setattr(ledger, "read", fails_once)
        with background._settling:  # the background thread has none of this
            ledger.write(claims.drop_all)
            ledger.write(lambda c: c.execute("DELETE FROM meta WHERE name LIKE 'claims read %'"))
            background._asked_all = False
            with pytest.raises(StoreError):
                background._settle(inf, gives_way=False)
            background._settle(inf, gives_way=False)
        assert failed
        found = read(lambda c: c.execute("SELECT older, newer FROM successions").fetchall())
    assert found == [(older, newer)]


def test_what_was_taken_back_by_a_person_stays_so(tmp_path):
    """Reading again compares nothing."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        old = memory.add("I live in Ghent").id
        memory.add("I moved from Ghent to Turku")
        memory.flush(wait=True)
        memory.undo(memory.changes()[0].number)
        memory.flush(wait=True)
    forget_reading(tmp_path)
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.flush(wait=True)
        assert memory.get(old).status == "active"


def test_a_text_that_changes_meanwhile_is_compared(tmp_path):
    """Reading again stores nothing of it: what is stored tells whether a text is new."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        home, kettle = (memory.add(text).id for text in ("I live in Ghent", "The kettle is blue"))
        memory.flush(wait=True)
    with MemoryManager(tmp_path, embedder=None, config=STILL) as memory:
        ledger = memory._engine.ledger
        ledger.write(lambda c: c.execute("DELETE FROM meta WHERE name LIKE 'claims read %'"))
        memory.update(kettle, text="I moved from Ghent to Turku")
        (docid,) = ledger.read(lambda c: c.execute("SELECT docid FROM memories").fetchone())
        ledger.write(lambda c: conflicts.read_earlier(c, docid >> 40, Conflicts()))
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.flush(wait=True)
        assert memory.get(home).superseded_by == kettle


def test_a_flush_does_not_wait_for_a_large_store_to_be_read_again(tmp_path, monkeypatch):
    """It reads for a moment; the background goes on."""
    told(tmp_path, *(f"Gate {n} has the code {n * 7}" for n in range(300)))
    forget_reading(tmp_path)
    monkeypatch.setattr("memento.background.QUIET_SECONDS", 0.0)
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.flush(wait=True)
        ledger = memory._engine.ledger
        (docid,) = ledger.read(lambda c: c.execute("SELECT docid FROM memories").fetchone())
        assert ledger.read(lambda c: claims.unread(c, docid >> 40)) > 0
