"""Memories outside any session are weighed by weights of their own."""

from __future__ import annotations

import numpy as np
import pytest

from memento import MemoryManager
from memento.retrieve import evidence as weighing
from memento.retrieve.evidence import NOTES, TURNS, Evidence, Weights, total


def evidence(alone):
    """Two candidates with the same evidence."""
    ones = np.ones(2, np.float32)
    signals = {"window": ones, "meaning": ones, "own_meaning": ones}
    return Evidence(np.arange(2), signals, None, ones, np.array(alone))


@pytest.mark.parametrize("alone", [[False, False], [True, True], [True, False]])
def test_each_candidate_is_weighed_as_what_it_is(monkeypatch, alone):
    """A note by the weights of notes, a turn by those of turns, side by side."""
    monkeypatch.setattr(weighing, "TURNS", Weights(1, meaning=2, own_meaning=0))
    monkeypatch.setattr(weighing, "NOTES", Weights(5, meaning=7, own_meaning=9))
    sums, parts = total(evidence(alone))
    assert sums.tolist() == [21.0 if one else 3.0 for one in alone]
    assert parts["own_meaning"].tolist() == [9.0 if one else 0.0 for one in alone]


def test_meaning_counts_more_and_a_shared_word_less_for_a_note():
    """It has no neighbours whose words and meaning it could borrow."""
    assert NOTES.window < TURNS.window
    assert NOTES.meaning + NOTES.own_meaning > TURNS.meaning + TURNS.own_meaning


def test_one_weak_word_does_not_outvote_the_meaning(manager):
    """The best match of a poor field is not the answer."""
    for text in ("Mr Hale fixes the boiler, 07700 900 141", "The last train leaves at 23:40"):
        manager.add(text)
    manager.flush(wait=True)
    assert manager.retrieve("who repaired our heating last", 1)[0].text.startswith("Mr Hale")


@pytest.fixture
def manager(tmp_path):
    """A store with the default embedder."""
    with MemoryManager(tmp_path / "store") as memory:
        yield memory
