"""What is owed is what the backlog says: no order of work lets the indexer sleep before its end."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from memento.errors import EmbedderError, TierUnavailable
from memento.ledger import vectors
from memento.tiers import indexer
from memento.tiers.queue import Turns
from tests.tiers.test_indexer import FAST, Bench

SOON = 20.0
"""Seconds after which a call that should return is taken for one that never does."""


def returned(call):
    """Tell what a call returns, in a thread of its own; None if it does not return."""
    found = []
    thread = threading.Thread(target=lambda: found.append(call()), daemon=True)
    thread.start()
    thread.join(SOON)
    return found[0] if found else None


@pytest.fixture
def make_bench(memory, monkeypatch):
    """Make benches whose threads are stopped at the end."""
    made = []

    def make(behind_rows=512, index_rows=64, **pauses):
        monkeypatch.setattr(indexer, "BEHIND_ROWS", behind_rows)
        monkeypatch.setattr(indexer, "INDEX_ROWS", index_rows)
        bench = Bench(memory, config=replace(FAST, **pauses))
        number = bench.embedding.model()
        bench.embedding.model = lambda: number  # as the store's own, which is written once
        made.append(bench)
        return bench

    yield make
    for bench in made:
        bench.indexer.stop(10)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_bulk_load_of_two_namespaces_is_worked_off(make_bench, memory, rows):
    """However many of the lines are for Chroma, and wherever they are among the others."""
    bench = make_bench(behind_rows=2, index_rows=rows, poll_seconds=0.2)
    for place, other in ((memory, "a"), (memory.of("other"), "b")):
        place.add_many({"text": f"{other} {n}", "tier": "long"} for n in range(rows * 200))
    assert returned(lambda: bench.indexer.wait(None)) is True
    assert bench.owed() == {}
    assert len(bench.index.rows) == rows * 400


def test_lines_for_an_index_that_failed_are_worked_off(make_bench, memory):
    """All that was embedded meanwhile waits for the index; nothing is left to be embedded."""
    bench = make_bench(behind_rows=8)
    bench.index.refusal = TierUnavailable("long", "not now")
    for place in (memory, memory.of("other")):
        place.add_many({"text": f"note {n}", "tier": "long"} for n in range(700))
    assert returned(lambda: bench.indexer.wait(None)) is False  # nothing else can be done
    assert bench.owed() == {"index": 1400}
    bench.index.refusal = None
    bench.indexer.retry()
    assert returned(lambda: bench.indexer.wait(None)) is True
    assert len(bench.index.rows) == 1400


def test_what_another_process_indexed_meanwhile_ends_no_work(make_bench, memory):
    """Lines that vanish under the indexer are no sign that there are no others."""
    bench = make_bench(behind_rows=8)
    memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(1_000))

    def another(namespace, ids, vectors_, metadatas, own=bench.index.upsert):
        own(namespace, ids, vectors_, metadatas)
        lines = bench.ledger.read(lambda c: vectors.owed(c, ("index",), 200))
        bench.ledger.write(lambda c: vectors.settle(c, lines))

    bench.index.upsert = another
    assert returned(lambda: bench.indexer.wait(None)) is True
    assert bench.owed() == {}


def test_texts_that_are_refused_end_no_work(make_bench, memory):
    """A round whose texts are all refused writes nothing, and others wait behind them."""
    bench = make_bench(behind_rows=8, index_rows=4)
    take = bench.embedding.embed

    def choosy(texts):
        if any("bad" in text for text in texts):
            raise EmbedderError("no")
        return take(texts)

    bench.embedding.embed = choosy
    memory.add_many({"text": f"bad {n}", "tier": "long"} for n in range(40))
    memory.add_many({"text": f"good {n}", "tier": "long"} for n in range(100))
    assert returned(lambda: bench.indexer.wait(None)) is False  # the bad ones are left
    assert bench.owed() == {"embed": 40}
    assert len(bench.index.rows) == 100


def test_a_round_that_writes_nothing_does_not_end_the_work(make_bench, memory, monkeypatch):
    """Its lines may be done by another thread; the backlog is asked again before a rest."""
    bench = make_bench(poll_seconds=10_000)
    memory.add_many(f"note {n}" for n in range(100))
    monkeypatch.setattr(
        bench.indexer._work, "still", lambda ids, real=[bench.indexer._work.still]: _once(real, ids)
    )
    assert returned(lambda: bench.indexer.wait(None)) is True


def _once(real, bite):
    """Find a whole plan done already, the first times."""
    real.append(None)
    return [] if len(real) < 8 else real[0](bite)


def test_lines_for_the_index_hide_none_for_the_embedder(make_bench, memory):
    """The choice of texts to embed reads past them."""
    bench = make_bench()
    bench.index.refusal = TierUnavailable("long", "not now")
    memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(500))
    assert returned(lambda: bench.indexer.wait(None)) is False
    bench.indexer.stop(10)  # or it may have embedded the new text before it is looked for
    memory.of("other").add("new", "long")
    bench.memory._engine.background.words.take_up()
    assert [line.text for line in Turns(bench.ledger).take(64, 10_000)] == ["new"]


def test_a_backlog_that_cannot_be_worked_on_is_left_alone(make_bench, memory):
    """Until the pause of the part that failed is over; a million lines are not read for nothing."""
    bench = make_bench(retry_seconds=10_000)
    bench.index.refusal = TierUnavailable("long", "another process owns it")
    memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(10))
    assert returned(lambda: bench.indexer.wait(None)) is False
    assert not bench.indexer._tries_again()
    bench.index.refusal = None
    bench.indexer.retry()
    assert returned(lambda: bench.indexer.wait(None)) is True


def test_nobody_looks_at_a_server_as_often_as_at_a_file(make_bench, monkeypatch):
    """Where nothing is to be done: what many processes write, each of them does itself."""

    def looks(seconds):
        bench, seen = make_bench(poll_seconds=0.01), []
        moment = bench.ledger.moment
        monkeypatch.setattr(bench.ledger, "moment", lambda: seen.append(1) or moment())
        bench.indexer.start()
        threading.Event().wait(seconds)
        bench.indexer.stop(10)
        monkeypatch.undo()
        return len(seen)

    at_file = looks(1.0)
    monkeypatch.setattr(type(make_bench().ledger), "in_file", False)
    assert looks(1.0) < at_file / 2
