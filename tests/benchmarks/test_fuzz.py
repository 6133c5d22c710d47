"""The quick form of the fuzz run; ``python benchmarks/fuzz.py`` is the long one."""

from __future__ import annotations

import random

import pytest
from fuzz import PIECES, anything, run, stores

from memento.testing import HashEmbedder


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["text alone", "hybrid"])
def test_nothing_makes_it_stumble(embedder):
    """Hundreds of random texts and queries: no exception, one order, nothing changed by asking."""
    told = run(600, seed=7, embedder=embedder)
    assert told.total() == 600
    assert min(told[outcome] for outcome in ("kept", "refused", "answered", "empty")) > 0


def test_all_cases_are_run():
    """The stores' texts and queries add up to the cases asked for."""
    for cases in (1, 4, 5, 1499, 1500, 1501, 100_000):
        assert sum(texts + queries for _, texts, queries in stores(cases, 1)) == cases


def test_the_generator_uses_what_it_has():
    """Every piece turns up, and the same seed gives the same texts."""
    rng = random.Random(3)
    made = [anything(rng) for _ in range(4000)]
    assert all(any(piece in text for text in made) for piece in PIECES)
    again = random.Random(3)
    assert made[:50] == [anything(again) for _ in range(50)]
