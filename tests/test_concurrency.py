"""The whole manager under threads: adding, changing, searching and closing at once."""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from memento import Config, MemoryManager
from memento.config import IndexConfig, ShortConfig
from memento.errors import InvalidInput, StoreError, TierUnavailable
from memento.testing import HashEmbedder

FAST = Config(
    short=ShortConfig(capacity=5, snapshot_seconds=0.001),
    index=IndexConfig(start_seconds=0.0, poll_seconds=0.005),
)


def at_once(count, work):
    """Run work(n) in so many threads that start together; returns the results."""
    together = threading.Barrier(count)

    def one(n):
        together.wait(30)
        return work(n)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_verdicts_at_once_are_all_counted(open_memory):
    """Eight threads rate, search and take back while the log is folded; none is lost."""
    memory = open_memory(config=FAST)
    kept = [memory.add(f"note number {n}", "medium").id for n in range(4)]
    sources = ("user", "agent", "tool", "web")

    def work(n):
        for one in kept[n // 4 :: 2]:
            memory.feedback.rate(one, verdict="wrong", source=sources[n % 4])
            memory.retrieve("note number")
            memory.flush()
            memory.feedback.strength(one)

    at_once(8, work)
    assert memory.feedback.retract(source="agent") == 4
    for one in kept:
        found = memory.feedback.belief(one)
        assert [len(found.evidence), found.opposing] == [4, pytest.approx(3.0)]
    memory._engine.background.fold_events()
    (check,) = [one for one in memory.store.doctor(repair=False) if one.check == "dynamics"]
    assert check.ok


def test_everything_at_once_stays_consistent(open_memory):
    """Eight threads add, update, move, forget and search; afterwards nothing is damaged."""
    memory = open_memory(embedder=HashEmbedder(16), config=FAST)
    shared = memory.add("shared note", "short").id

    def work(n):
        view = memory.of("other") if n % 4 == 0 else memory
        mine = [view.add(f"thread {n} note {i}", "short", session=f"s{n % 2}").id for i in range(8)]
        view.update(mine[0], text=f"thread {n} changed")
        view.update(mine[1], tier="long")
        view.forget(mine[2])
        view.restore(mine[2])
        view.forget(mine[3])
        for query in ("note", "changed", f"thread {n}"):
            found = view.retrieve(query, k=50)
            assert mine[3] not in {hit.id for hit in found}
        view.sessions.recent(session=f"s{n % 2}")
        view.flush()
        try:
            memory.update(shared, tags=[f"t{n}"])
            memory.forget(shared)
            memory.restore(shared)
        except InvalidInput:
            pass  # another thread had it forgotten just then
        return mine

    ids = at_once(8, work)
    memory.restore(shared)
    assert memory.flush(wait=True, timeout=60)
    assert all(finding.ok for finding in memory.store.doctor())
    seen = {m.id for v in (memory, memory.of("other")) for m in v.list(limit=1000)}
    assert seen == {i for mine in ids for i in mine if i != mine[3]} | {shared}
    assert all(len(memory.sessions.recent(session=s)) <= 5 for s in ("s0", "s1"))


def test_one_value_wins_a_slot_whoever_comes_first(memory):
    """Sixteen values for one key at once: one is active, all are in the chain behind it."""
    at_once(16, lambda n: memory.add(f"value {n}", key="slot"))
    (winner,) = memory.list()
    hidden = memory.list(status="superseded")
    assert len(hidden) == 15
    assert max(m.seq for m in (winner, *hidden)) == winner.seq


def test_the_same_text_at_once_is_kept_once(memory):
    """Every one of them counts."""
    ids = {m.id for m in at_once(16, lambda _n: memory.add("the same"))}
    assert len(ids) == 1
    assert memory.get(ids.pop()).reinforced == 15


def test_the_same_id_at_once_is_one_memory(memory):
    """A retry that overtakes its first try is harmless."""
    assert len({m.seq for m in at_once(8, lambda _n: memory.add("same", id="call"))}) == 1


def test_new_namespaces_made_at_once_are_one(memory):
    """The first adds of a namespace agree on its number."""
    at_once(8, lambda n: memory.of("new").add(f"note {n}"))
    assert len(memory.of("new").list()) == 8


def test_forgetting_and_reading_at_once_never_half_shows(memory):
    """A memory is found whole or not at all."""
    kept = [memory.add(f"note {n}", "long").id for n in range(12)]

    def work(n):
        if n % 2:
            for memory_id in kept[n::2]:
                memory.forget(memory_id)
            return True
        return all(hit.memory.status == "active" for hit in memory.retrieve("note", k=50))

    assert all(at_once(6, work))


def test_two_managers_of_one_store_in_one_process(open_memory):
    """They share the file as two processes would: each sees the other's changes at once."""
    one, other = open_memory(), open_memory()
    kept = one.add("said here", "short")
    assert other.sessions.recent() == [kept]
    other.forget(kept.id)
    assert one.sessions.recent() == one.list() == []
    assert len(one.retrieve("said")) == 0
    other.close()
    assert one.restore(kept.id).status == "active"
    assert one.list() == [one.get(kept.id)]


def test_reindexing_while_the_index_is_open(open_memory):
    """With the same embedder the backlog is empty, and the index is opened again when needed."""
    memory = open_memory(embedder=HashEmbedder(16), config=FAST)
    memory.add("green tea", "long")
    assert memory.flush(wait=True, timeout=60)
    assert memory.store.reindex(wait=True, timeout=60) == 0
    memory.add("black tea", "long")
    assert memory.flush(wait=True, timeout=60)
    assert {hit.text for hit in memory.retrieve("tea")} == {"green tea", "black tea"}
    assert memory.store.stats().long == "ready"


def test_a_tier_that_was_on_its_way_when_the_memory_closed_is_not_kept(open_memory, monkeypatch):
    """Closing between making the long tier and keeping it leaves no open Chroma folder behind."""
    memory = open_memory(embedder=HashEmbedder(16))
    engine = memory._engine
    model = engine.embedding.model
    monkeypatch.setattr(engine.embedding, "model", lambda: (model(), memory.close())[0])
    with pytest.raises(TierUnavailable, match="the store is closed"):
        engine.open_long()
    assert engine._long is None


def test_a_damaged_long_tier_is_mended_by_the_next_search(open_memory):
    """It does not take an add: a search that finds the tier damaged has it opened again."""
    memory = open_memory(embedder=HashEmbedder(16), config=FAST)
    memory.add("a note about tea", "long")
    assert memory.flush(wait=True, timeout=60)
    tier = memory._engine.open_long()
    tier._note_damage(tier._chroma, "a test says so")
    assert tier.state == "aside"
    memory._engine.long_tier(wanted=True)
    assert memory.flush(wait=True, timeout=60)
    assert tier.state == "ready"
    assert tier.count(memory.store.namespace) == 1


def test_a_manager_that_nobody_has_any_more_gives_its_descriptors_back(tmp_path):
    """One that was never closed leaves nothing open, once it is collected."""

    def use():
        for _ in range(10):
            MemoryManager(tmp_path / "store", embedder=None).retrieve("anything")
        gc.collect()
        held = []
        for one in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # of this listing, or of another thread
                held.append(os.readlink(one))  # noqa: PTH115 - it may be gone
        return len([one for one in held if one.startswith(str(tmp_path))])

    assert use() == use()


def test_flush_waits_for_uses_that_another_thread_is_writing(open_memory, monkeypatch):
    """The background thread may have taken them already; they are in the log all the same."""
    memory = open_memory(config=FAST)
    memory.add("tea", "medium")
    ledger, write = memory._engine.ledger, memory._engine.ledger.write
    begun, go_on, flushed = threading.Event(), threading.Event(), threading.Event()

    def slowly(*given, **how):
        begun.set()
        assert go_on.wait(60)
        return write(*given, **how)

    def flush():
        memory.flush()
        flushed.set()

    memory.flush()
    monkeypatch.setattr(ledger, "write", slowly)
    memory._engine.background.accesses.note(1, [memory.list()[0].id])
    threads = [threading.Thread(target=memory._engine.background.accesses.log)]
    threads[0].start()
    assert begun.wait(60)
    threads.append(threading.Thread(target=flush))
    threads[1].start()
    assert not flushed.wait(0.2)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert flushed.is_set()
    query = "SELECT count(*) FROM events WHERE kind = 'retrieved'"
    assert ledger.read(lambda c: c.execute(query).fetchone()) == (1,)


def test_retrievals_whose_write_failed_are_logged_by_the_next(tmp_path, monkeypatch):
    """A full disk loses no retrieval, and their order stays."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        ledger, accesses = memory._engine.ledger, memory._engine.background.accesses
        first, second = (memory.add(text).id for text in ("Tea is green", "Salt is white"))

        def full(*_given, **_how):
            raise StoreError(tmp_path, "disk full")

        with monkeypatch.context() as broken:
            broken.setattr(ledger, "write", full)
            accesses.note(1, [first])
            with pytest.raises(StoreError):
                accesses.log()
        accesses.note(1, [second])
        accesses.log()
        query = "SELECT count(*) FROM events WHERE kind = 'retrieved'"
        assert ledger.read(lambda c: c.execute(query).fetchone()) == (2,)
