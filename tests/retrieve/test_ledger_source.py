"""Parts kept between questions never answer for memories that have changed since."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import numpy as np

from memento.ledger.lite import fulltext
from memento.ledger.lite.sqlite import sqlite3
from memento.retrieve.ledger_source import Postings

HOUR = timedelta(hours=1)


def texts(memory, query):
    """Return what a query finds, best first."""
    return [hit.text for hit in memory.retrieve(query, record=False)]


def test_words_are_looked_up_once_until_something_is_written(memory, monkeypatch):
    """The index is asked again for the same words after a write, and only then."""
    asked = []
    look_up = fulltext.look_up
    monkeypatch.setattr(fulltext, "look_up", lambda *args: asked.extend(args[2]) or look_up(*args))
    memory.add("green tea", "medium")
    memory.flush()
    first = texts(memory, "green tea")
    before = len(asked)
    assert texts(memory, "green tea") == first
    assert texts(memory, "tea") == first
    assert len(asked) == before
    memory.add("black tea", "medium")
    assert set(texts(memory, "tea")) == {"green tea", "black tea"}
    assert len(asked) > before


def test_another_process_writes_and_it_shows(memory, open_memory):
    """A question after another process wrote does not use the parts that are kept."""
    memory.add("green tea", "medium")
    assert texts(memory, "tea") == ["green tea"]
    other = open_memory()
    added = other.add("black tea", "medium")
    assert set(texts(memory, "tea")) == {"green tea", "black tea"}
    other.update(added.id, text="white wine")
    assert texts(memory, "tea") == ["green tea"]
    assert texts(memory, "wine") == ["white wine"]


def test_an_index_made_anew_is_read_anew(memory, open_memory):
    """A word found nowhere, because the index had lost it, is found once another one mended it."""
    memory.add_many([{"text": f"note {n} on tea", "tier": "medium"} for n in range(80)])
    with closing(sqlite3.connect(memory.store.root / "ledger.db")) as file, file:
        file.execute("DELETE FROM memories_fts")
    assert texts(memory, "tea") == []
    assert any(finding.repaired for finding in open_memory().store.doctor(repair=True))
    assert len(texts(memory, "tea")) == 5


def test_what_expires_is_gone_at_that_moment_and_not_before(memory, clock):
    """Visibility follows the clock, forwards and backwards, with nothing written."""
    memory.add("tea is in the pot", "medium", expires_in=HOUR)
    memory.add("tea is in the tin", "medium")
    both = {"tea is in the pot", "tea is in the tin"}
    for step, expected in [
        (HOUR - timedelta(microseconds=1), both),
        (timedelta(microseconds=1), {"tea is in the tin"}),
        (HOUR, {"tea is in the tin"}),
        (-HOUR * 2, both),
    ]:
        clock.advance(step)
        assert set(texts(memory, "tea")) == expected


def test_only_so_many_expressions_are_kept():
    """Those asked for least recently go first; a very long one is never kept."""
    kept, state, some = Postings(2), (1, 1), np.arange(3)
    kept.put(1, state, "a", 9, some)
    kept.put(1, state, "b", 9, some)
    assert kept.find(1, state, "a", 9) is some
    kept.put(1, state, "c", 9, some)
    assert kept.find(1, state, "b", 9) is None
    assert kept.find(1, state, "a", 9) is some
    kept.put(1, state, "d", 9, np.arange(Postings.LONGEST + 1))
    assert kept.find(1, state, "d", 9) is None
    assert kept.find(2, state, "a", 9) is None
    assert kept.find(1, (2, 1), "a", 9) is None
    assert kept.find(1, state, "a", 8) is None
