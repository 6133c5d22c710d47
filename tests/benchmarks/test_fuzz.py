"""The quick form of the fuzz run; ``python benchmarks/fuzz.py`` is the long one."""

from __future__ import annotations

import pytest
from fuzz import run, stores

from memento.testing import HashEmbedder


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["text alone", "hybrid"])
def test_nothing_makes_it_stumble(embedder):
    """Hundreds of random texts and queries: no exception, one order, nothing changed by asking."""
    told = run(300, seed=7, embedder=embedder)
    assert told.total() == 300
    assert min(told[outcome] for outcome in ("kept", "refused", "answered", "empty")) > 0


def test_all_cases_are_run():
    """The stores' texts and queries add up to the cases asked for."""
    for cases in (1, 4, 5, 1499, 1500, 1501, 100_000):
        assert sum(texts + queries for _, texts, queries in stores(cases, 1)) == cases
