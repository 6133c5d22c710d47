"""A reranker orders the best candidates; without it, or when it fails, nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from memento.errors import InvalidInput
from memento.retrieve import evidence
from memento.retrieve.evidence import Weights
from memento.testing import HashEmbedder


class Longest:
    """Likes long texts; remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def score(self, query, texts):
        """Score by length."""
        self.asked.append((query, list(texts)))
        return np.array([len(text) for text in texts], np.float32)


class Broken:
    """Answers as it was told to."""

    def __init__(self, answer):
        self.answer = answer

    def score(self, *_):
        """Raise or return what it was told to."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


NOTES = ["tea", "tea in the garden", "the tea that Ada drinks in the garden on Sundays"]


@pytest.mark.parametrize("embedder", [None, HashEmbedder(64)], ids=["text alone", "hybrid"])
def test_the_one_it_likes_best_comes_first(open_memory, monkeypatch, embedder):
    """Its score is evidence beside the other, with a weight, and one of the reasons."""
    monkeypatch.setattr(evidence, "TURNS", Weights(reranked=9))
    memory = open_memory(embedder=embedder, reranker=Longest())
    memory.add_many(NOTES)
    memory.flush(wait=True, timeout=60)
    found = memory.retrieve("tea")
    assert found[0].text == NOTES[2]
    assert found[0].terms["reranked"] == max(hit.terms.get("reranked", 0) for hit in found)
    assert "rated as an answer by the reranker" in found[0].explain()
    assert not found.missing


def test_only_the_best_are_put_to_it(open_memory):
    """Of many candidates it reads thirty, once a question, however many hits are wanted."""
    judge = Longest()
    memory = open_memory(embedder=None, reranker=judge)
    memory.add_many([f"tea number {n}" for n in range(100)])
    every = [hit.id for hit in memory.retrieve("tea", 100)]
    assert [hit.id for hit in memory.retrieve("tea", 5)] == every[:5]
    assert len(every) == 100
    assert [len(texts) for _, texts in judge.asked] == [30, 30]
    assert {query for query, _ in judge.asked} == {"tea"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RuntimeError("out of memory"), "Broken failed: RuntimeError: out of memory"),
        (np.zeros(2), "expected 3 finite numbers"),
        (np.full(3, np.nan), "expected 3 finite numbers"),
        ("no numbers", "Broken failed: ValueError"),
    ],
)
def test_one_that_fails_is_named_and_done_without(open_memory, answer, why):
    """The answer is what it would be without the reranker, and ``missing`` says why."""
    plain = open_memory(embedder=None)
    plain.add_many(NOTES)
    expected = [hit.text for hit in plain.retrieve("tea garden")]
    plain.close()
    memory = open_memory(embedder=None, reranker=Broken(answer))
    found = memory.retrieve("tea garden")
    assert [hit.text for hit in found] == expected
    assert why in found.missing["reranker"]


class Meddling(Longest):
    """Changes memories while it reads their texts."""

    def score(self, query, texts):
        """Score by length, after a change."""
        self.change()
        return super().score(query, texts)


def test_what_changes_while_it_reads_is_shown_as_it_is_afterwards(open_memory):
    """A memory that is forgotten or erased meanwhile is not shown, one that is updated is new."""
    judge = Meddling()
    memory = open_memory(embedder=None, reranker=judge)
    ids = [memory.add(f"tea number {n}").id for n in range(4)]

    def change():
        memory.forget(ids[0])
        memory.store.erase([ids[1]])
        memory.update(ids[2], text="tea, and coffee")

    judge.change = change
    assert {hit.text for hit in memory.retrieve("tea")} == {"tea, and coffee", "tea number 3"}


def test_what_is_no_reranker_is_refused_at_once(open_memory):
    """An object without ``score`` is a typed error when the manager is made."""
    with pytest.raises(InvalidInput, match="reranker"):
        open_memory(embedder=None, reranker="late-interaction")
