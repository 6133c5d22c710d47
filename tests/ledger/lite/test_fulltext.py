"""Full text catches up later; rows that are not indexed yet are found all the same."""

from __future__ import annotations

import gc
import threading
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import MemoryManager, background
from memento.ledger import erasure
from memento.ledger.lite import fulltext, sqlite
from memento.ledger.rows import docid_of
from memento.upkeep.backup import restore

TEXTS = ["a red kite over the barn", "the barn is red", "kites need wind", "wind from the north"]
QUESTIONS = ["red barn", "kite", '"the barn"', "wind", "norther", "nothing of it"]


@pytest.fixture
def still(memory):
    """A store whose background thread does nothing, so that no row is indexed meanwhile."""
    memory._engine.indexer.stop(10)
    return memory


def waiting(memory):
    """Count the memories of the first namespace that the index does not know."""
    return memory._engine.ledger.read(
        lambda c: (
            c.execute("SELECT count(*) FROM memories").fetchone()[0]
            - c.execute("SELECT count(*) FROM memories_fts_content").fetchone()[0]
        )
    )


def answers(memory):
    """Return what every question finds, and how well."""
    found = [memory.retrieve(question, k=10, record=False) for question in QUESTIONS]
    return [[(hit.id, hit.score, dict(hit.terms)) for hit in hits] for hits in found]


def test_one_memory_waits_and_is_found(still):
    """A single add leaves its text to the background, and the next question finds it."""
    kept = still.add("a zebra crossing")
    assert waiting(still) == 1
    assert [hit.id for hit in still.retrieve("zebras")] == [kept.id]


@pytest.mark.parametrize(("seconds", "fewest", "most"), [(60.0, 1, 9), (0.0, 60, 99)])
def test_many_namespaces_share_a_transaction(still, monkeypatch, seconds, fewest, most):
    """As many as its time allows, and all of them in the end."""
    monkeypatch.setattr(background, "BITE_SECONDS", seconds)
    for n in range(60):
        still.of(f"n{n}").add("a lion")
    ledger, written = still._engine.ledger, []
    write = ledger.write
    monkeypatch.setattr(ledger, "write", lambda *a, **k: written.append(1) or write(*a, **k))
    still.flush()
    assert fewest <= len(written) <= most
    assert not ledger.read(lambda c: c.words.behind())


def test_flush_leaves_nothing_waiting(still):
    """After flush the index in the file knows every memory of every namespace."""
    still.add("a zebra crossing")
    still.of("other").add("a lion")
    still.flush()
    assert waiting(still) == 0
    assert still._engine.ledger.read(lambda c: c.words.behind()) == []


@given(split=st.lists(st.booleans(), min_size=len(TEXTS), max_size=len(TEXTS)))
def test_waiting_or_not_makes_no_difference(tmp_path_factory, split):
    """Every question finds the same with the same scores, however many texts are indexed."""
    root = tmp_path_factory.mktemp("store")
    with MemoryManager(root, embedder=None) as memory:
        memory._engine.indexer.stop(10)
        for text, index in zip(TEXTS, split, strict=True):
            memory.add(text, "medium", session="one", importance=0.5)
            memory.of("other").add(text)  # must move no score
            if index:
                memory.flush()
        before = answers(memory)
        memory.flush()
        assert answers(memory) == before


def test_a_search_follows_what_waits_and_what_does_not_any_more(still):
    """Adding, catching up and adding again between questions loses nothing and repeats nothing."""
    for round_ in range(3):
        still.add(f"zebra number {round_}")
        assert len(still.retrieve("zebra", k=10)) == round_ + 1
        if round_ == 1:
            still.flush()
    assert len(still.retrieve("zebra", k=10)) == len({hit.id for hit in still.retrieve("zebra")})


def test_what_was_erased_is_let_go_of_in_ram_too(still):
    """A search after an erasure holds none of its words any more, though they still waited."""
    gone, stays = still.add("a zebra crossing"), still.add("a pelican crossing")
    assert still.retrieve("zebra")
    still.store.erase(gone.id)
    assert [hit.id for hit in still.retrieve("zebra crossing")] == [stays.id]
    tail = still._engine.searcher._tail
    held = tail._index.execute("SELECT head FROM memories_fts").fetchall()
    assert ("a zebra crossing",) not in held


def test_erasing_does_not_index_what_waits(still):
    """It writes no more than it takes away: a full disk has no room for the texts of others."""
    ids = [still.add(f"zebra {n} {'x' * 3000}").id for n in range(100)]
    ledger = still._engine.ledger
    assert ledger.fold_log(1.0)
    doomed = erasure.Chosen(ids=(ids[50],))
    ledger.write(lambda c: erasure.erase(c, 1, erasure.chosen(c, 1, doomed), 0))
    assert waiting(still) == 99
    assert ledger.wal_bytes() < 100 * 1024
    assert len(still.retrieve("zebra", k=200)) == 99


def test_erasing_merges_nothing(still):
    """FTS5 would merge all segments with the sixteenth, which is as large as the index."""
    words = [" ".join(f"w{n}x{i}" for i in range(200)) for n in range(fulltext.SEGMENTS * 8)]
    ids = [still.add(text).id for text in words]
    ledger = still._engine.ledger
    for _ in range(fulltext.SEGMENTS - 1):
        ledger.write(lambda c: c.words.catch_up(1, 8))
    for one in ids[:3]:
        assert ledger.fold_log(1.0)
        doomed = erasure.Chosen(ids=(one,))
        ledger.write(lambda c, d=doomed: erasure.erase(c, 1, erasure.chosen(c, 1, d), 0))
        assert ledger.wal_bytes() < 150 * 1024
    ledger.write(lambda c: c.words.catch_up(1, 8))
    assert ledger.wal_bytes() > 300 * 1024, "and later writes merge as before"
    assert [len(still.retrieve(f"w{n}x7")) for n in (0, 1, 2, 3, 20)] == [0, 0, 0, 1, 1]


def test_what_was_erased_while_a_namespace_was_let_go_of_is_let_go_of_too(still):
    """Its outline was dropped for want of room, its waiting words were not: they are read again."""
    gone, stays = still.add("a zebra crossing"), still.add("a pelican crossing")
    assert still.retrieve("zebra")
    searcher = still._engine.searcher
    searcher._kept._held.clear()
    ledger = still._engine.ledger
    doomed = erasure.Chosen(ids=(gone.id,))
    ledger.write(lambda c: erasure.erase(c, 1, erasure.chosen(c, 1, doomed), 0))
    assert [hit.id for hit in still.retrieve("zebra crossing")] == [stays.id]
    held = searcher._tail._index.execute("SELECT head FROM memories_fts").fetchall()
    assert held == [("a pelican crossing",)]


def test_no_more_than_a_bounded_number_waits(still):
    """Without a background thread an add lets the index catch up now and then."""
    counts = []
    for n in range(fulltext.MOST_WAITING + 10):
        still.add(f"note {n}")
        counts.append(waiting(still))
    assert max(counts) < fulltext.MOST_WAITING
    assert counts[-1] <= 10 + fulltext.LOOKED_EVERY < max(counts)


def test_changes_between_adds_do_not_let_more_wait(still):
    """They take numbers too: here all rows have odd ones."""
    counts = []
    for n in range(fulltext.MOST_WAITING // 2 + 10):
        still.update(still.add(f"note {n}").id, pinned=True)
        counts.append(waiting(still))
    assert counts[-1] <= 10 + fulltext.LOOKED_EVERY < max(counts)


def test_each_of_many_namespaces_looks(still, monkeypatch):
    """Also if nothing is known any more about when it looked last."""
    monkeypatch.setattr(fulltext, "MOST_LOOKED", 3)
    places = [docid_of(ns, 2 * fulltext.MOST_WAITING) for ns in range(1, 9)]
    looked = {}
    due = still._engine.ledger.read(
        lambda c: [fulltext.LiteWords(c, looked).is_due(docid, 1) for docid in places]
    )
    assert all(due)
    assert len(looked) <= fulltext.MOST_LOOKED


def test_the_background_thread_lets_the_index_catch_up(memory):
    """In a quiet moment nobody waits any more, without flush."""
    memory.add("a zebra crossing")
    done = threading.Event()

    def look():
        while waiting(memory):
            done.wait(0.01)
        done.set()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(30)
    assert done.is_set()


def test_a_reader_of_a_read_only_store_finds_what_waits(still, open_memory):
    """A read-only store is searched whole, rows that are not indexed included."""
    kept = still.add("a zebra crossing")
    root = still.store.root
    still._engine.ledger.close()
    for file in root.glob("ledger.db*"):
        file.chmod(0o400)
    reader = open_memory(root)
    reader._engine.ledger.read_only = True
    assert [hit.id for hit in reader.retrieve("zebra", record=False)] == [kept.id]
    assert reader.flush()


def test_a_store_set_back_indexes_what_comes_anew(memory, open_memory, clock, tmp_path):
    """A row id that is given again after going back to a moment is indexed as any other."""
    memory.add("a zebra crossing")
    before = clock()
    clock.advance(timedelta(minutes=1))
    memory.add("a pelican crossing")
    memory.flush()
    memory.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "copy", at=before)
    copy = open_memory(tmp_path / "copy")
    copy.add("a puffin crossing")
    copy.flush()
    assert len(copy.retrieve("puffin crossing", k=10)) == 2
    assert all(finding.ok for finding in copy.store.doctor())


def test_the_index_of_what_waits_is_closed_with_it(memory):
    """Nothing is left open for the garbage collector to complain about."""
    memory.add("a green kettle")
    assert memory.retrieve("kettle").hits
    tail = memory._engine.searcher._tail
    index = tail._index
    index.execute("SELECT 1")
    memory._engine._let_go()
    del tail
    gc.collect()
    with pytest.raises(sqlite.Error, match="closed"):
        index.execute("SELECT 1")
