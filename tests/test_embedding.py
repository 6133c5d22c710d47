"""The embedder of a store is known by its vectors, not by its name alone."""

from __future__ import annotations

import threading

import pytest
from beside import write_sql

from memento import Config
from memento.config import IndexConfig
from memento.errors import EmbeddingMismatch
from memento.ledger import vectors
from memento.testing import HashEmbedder

FAST = Config(index=IndexConfig(start_seconds=0.0, poll_seconds=0.01, retry_seconds=0.01))


class Counting(HashEmbedder):
    """An embedder that notes what it is asked."""

    def __init__(self, dim=64):
        super().__init__(dim)
        self.asked = []

    def embed(self, texts):
        """Note the texts and embed them."""
        self.asked += texts
        return super().embed(texts)


class Updated(Counting):
    """Other weights under the same name."""

    def embed(self, texts):
        """Give the opposite of every vector."""
        return -super().embed(texts)


@pytest.fixture(params=["exact", "chroma"])
def changed(request, open_memory):
    """A store whose embedder was exchanged for another of the same name."""
    config = Config(index=FAST.index, long_index=request.param)
    first = open_memory(embedder=Counting(), config=config)
    first.add_many([{"text": f"memory about topic{n}", "tier": "long"} for n in range(30)])
    assert first.flush(wait=True, timeout=60)
    first.close()
    return open_memory(embedder=Updated(), config=config)


def test_other_weights_under_one_name_are_a_mismatch(changed):
    """Search goes on by words and says why; doctor, an exact search and the indexer name it."""
    found = changed.retrieve("topic3")
    assert found[0].text == "memory about topic3"
    assert "hash-64 (64) with different weights" in found.missing["long"]
    assert "meaning" not in found[0].ranks
    vector = changed.store.embed(["topic3"])[0]
    with pytest.raises(EmbeddingMismatch, match="different weights"):
        changed.store.nearest(vector)
    wrong = {found.check: found.detail for found in changed.store.doctor() if not found.ok}
    assert "different weights" in wrong["embedder"]
    changed.add("one more", "long")
    assert not changed.flush(wait=True, timeout=60)
    assert "reindex" in changed.store.stats().trouble["embedder"]
    assert changed.store.stats().embedders == {"hash-64 (64)": 30}


def test_reindex_heals_it(changed):
    """Every vector is made again, none of the earlier weights is left, and all are found."""
    assert changed.store.reindex(wait=True, timeout=60) == 30
    assert changed.store.stats().embedders == {"hash-64 (64)": 30}
    assert changed.store.stats().trouble == {}
    assert all(found.ok for found in changed.store.doctor())
    found = changed.retrieve("memory about topic3")
    assert found.missing == {}
    assert found[0].ranks["meaning"] == 1
    near = changed.store.nearest(changed.store.embed(["memory about topic3"])[0], 1)
    assert (near[0].text, round(near[0].score, 3)) == ("memory about topic3", 1)


def test_a_process_with_the_earlier_weights_notices(open_memory):
    """One that was open when another reindexed stores nothing and finds by words from then on."""
    old = open_memory(embedder=Counting(), config=FAST)
    old.add("green tea", "long")
    assert old.flush(wait=True, timeout=60)
    assert old.retrieve("tea").missing == {}
    new = open_memory(embedder=Updated(), config=FAST)
    assert new.store.reindex() == 1
    assert "different weights" in old.retrieve("tea").missing["long"]
    with pytest.raises(EmbeddingMismatch):
        old._engine.embedding.warm()
    new._engine.indexer.wait(30)
    assert new.store.stats().embedders == {"hash-64 (64)": 1}


def test_it_costs_one_text_for_each_process(open_memory):
    """The same text in every process, once, however many threads ask first."""
    first = open_memory(embedder=Counting(), config=FAST)
    first.add("green tea", "long")
    assert first.flush(wait=True, timeout=60)
    first.retrieve("tea")
    canary = [text for text in first._engine.embedding.loaded().asked if "heron" in text]
    assert len(canary) == 1
    first.close()
    again = open_memory(embedder=Counting(), config=FAST)
    threads = [threading.Thread(target=again.retrieve, args=(f"tea {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again.add("black tea", "long")
    assert again.flush(wait=True, timeout=60)
    assert again.store.doctor()
    assert again._engine.embedding.loaded().asked.count(canary[0]) == 1


def test_a_store_from_before_takes_the_weights_it_meets(open_memory):
    """Without a vector to compare nothing is said; it is kept with the next that is embedded."""
    first = open_memory(embedder=Counting(), config=FAST)
    first.add("green tea", "long")
    assert first.flush(wait=True, timeout=60)
    write_sql(first, "DELETE FROM meta WHERE name LIKE 'canary:%'")
    first.close()
    again = open_memory(embedder=Counting(), config=FAST)
    assert again.retrieve("tea").missing == {}
    assert again._engine.embedding.loaded().asked == ["tea"]
    again.add("black tea", "long")
    assert again.flush(wait=True, timeout=60)
    assert again._engine.ledger.read(lambda c: vectors.canary(c, 1)) is not None


def test_an_embedder_that_fails_then_is_named_and_tried_again(open_memory):
    """A failure while the weights are looked at is the embedder's, and passes with it."""
    first = open_memory(embedder=Counting(), config=FAST)
    first.add("green tea", "long")
    assert first.flush(wait=True, timeout=60)
    first.close()
    embedder = Counting()
    again = open_memory(embedder=embedder, config=FAST)
    embedder.asked = None
    assert "failed" in again.retrieve("tea").missing["long"]
    assert "embedder" in {found.check for found in again.store.doctor() if not found.ok}
    embedder.asked = []
    assert again.retrieve("tea").missing == {}
