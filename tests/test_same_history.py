"""The same history gives the same answers, however quick the background thread was."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from memento.testing import HashEmbedder

WORDS = ("tea", "plan", "door", "heron", "lamp", "fence", "violin", "budget")
QUESTIONS = ("tea plan", "who has the heron?", "budget of the lamp", "violin door")


def tell(memory, clock, seed, *, pausing):
    """Tell a conversation in which every third turn replaces another; return all answers."""
    dice = random.Random(seed)
    began = clock()
    for n in range(40):
        clock.advance(timedelta(seconds=1))
        text = f"{' '.join(dice.choices(WORDS, k=6))} {dice.randrange(50)}"
        key = dice.choice([None, "k1", "k2"])
        memory.add(text, "long", id=f"i{n}", session="s", key=key, importance=0.5)
        if pausing and n % 5 == 0:
            memory.flush(wait=True, timeout=60)
    assert memory.flush(wait=True, timeout=60)
    middle = began + timedelta(seconds=20)
    return [
        [(hit.id, hit.score) for hit in memory.retrieve(question, 5, record=False, **options)]
        for question in QUESTIONS
        for options in ({}, {"as_of": middle}, {"include_superseded": True})
    ]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_superseded_before_it_was_embedded_changes_nothing(
    open_memory, tmp_path, clock, seed
):
    """Order and scores are the same whether or not the indexer kept up, also of the past."""
    began = clock()
    slow = open_memory(tmp_path / "slow", embedder=HashEmbedder(64))
    answers = tell(slow, clock, seed, pausing=False)
    clock.advance(began - clock())
    quick = open_memory(tmp_path / "quick", embedder=HashEmbedder(64))
    assert tell(quick, clock, seed, pausing=True) == answers


def test_every_superseded_memory_gets_its_vector(open_memory):
    """Also one that was forgotten and restored, or reworded, before it could be embedded."""
    memory = open_memory(embedder=None)
    old = [memory.add(f"value {n}", "long", key="k") for n in range(4)]
    memory.forget(old[0].id)
    memory.restore(old[0].id)
    memory.update(old[1].id, text="another value")
    memory.close()
    memory = open_memory(embedder=HashEmbedder(16))
    assert memory.flush(wait=True, timeout=60)
    assert sum(memory.store.stats().embedders.values()) == len(old)
    found = memory.retrieve("another value", include_superseded=True)
    assert found[0].id == old[1].id
