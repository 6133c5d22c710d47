"""Asking for more: a longer answer begins with the shorter one, and none stops short."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shelves import Shelf

from memento.retrieve import answer
from memento.retrieve.by_meaning import Meaning

WORDS = ("tea", "coffee", "harbour", "invoice", "Ana", "Rex", "walk", "blue")
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
TURNS = st.tuples(SENTENCES, st.sampled_from([".", "?"]), st.sampled_from([None, "s1", "s2"]))


@pytest.fixture
def narrow(monkeypatch):
    """Each way of looking proposes five, so that a few dozen memories need several widenings."""
    monkeypatch.setattr(answer, "ARM", 5)


def shelf_of(turns):
    """Make a shelf of turns, each with a vector of its own."""
    shelf = Shelf()
    rng = np.random.default_rng(len(turns))
    docids = [shelf.add(text + mark, session=session) for text, mark, session in turns]
    rows = rng.normal(size=(len(docids), 4)).astype(np.float32)
    shelf.embed(dict(zip(docids, rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True)))
    return shelf


@pytest.mark.usefixtures("narrow")
@settings(max_examples=50)
@given(st.lists(TURNS, min_size=1, max_size=60), SENTENCES, st.booleans(), st.booleans())
def test_a_longer_answer_begins_with_the_shorter_one(turns, query, by_meaning, fold):
    """For every k, the first k hits of the longest answer are the answer to k."""
    shelf = shelf_of(turns)
    vector = np.array([1, 0, 0, 0], np.float32) if by_meaning else None
    every = shelf.find(query, vector, k=1000, fold=fold).found
    assert len({one.docid for one in every}) == len(every)
    scores = [one.score for one in every]
    assert scores == sorted(scores, reverse=True)
    for k in range(1, len(every) + 1):
        first = shelf.find(query, vector, k=k, fold=fold).found
        assert [one.docid for one in first[:k]] == [one.docid for one in every[:k]]
        assert [one.score for one in first[:k]] == scores[:k]


@pytest.mark.parametrize("by_meaning", [False, True])
def test_no_way_of_looking_stops_at_its_first_proposals(shelf, by_meaning):
    """All of 900 memories that hold the word are found when so many are asked for."""
    docids = [shelf.add(f"the harbour has berth {n}") for n in range(900)]
    vector = None
    if by_meaning:
        shelf.embed({docid: [0.6, 0.8] for docid in docids})
        vector = np.array([1, 0], np.float32)
    assert len(shelf.find("harbour", vector, k=900).found) == 900
    assert len(shelf.find("harbour", vector, k=350).found) == 350


@pytest.mark.usefixtures("narrow")
def test_an_echo_waits_for_better_ones_wherever_they_are(shelf):
    """A question asked before stands behind every memory that outscores what is left of it."""
    echo = shelf.add("Which tea does Ana drink?")
    for n in range(40):
        shelf.add(f"Ana drinks tea number {n}")
    found = shelf.find("Which tea does Ana drink?", k=41).found
    place = [one.docid for one in found].index(echo)
    assert place > 0
    assert all(one.score >= found[place].score for one in found[:place])
    assert all(one.score <= found[place].score for one in found[place:])


@pytest.mark.parametrize("talk", [True, False], ids=["sessions", "no sessions"])
def test_cosines_are_smoothed_over_short_neighbours(shelf, talk):
    """A turn is as near as its vector with half of each neighbour's; a note as its own."""
    rng = np.random.default_rng(5)
    docids = [
        shelf.add(f"turn {n}", session=f"s{n // 10}" if talk and n % 50 else None)
        for n in range(600)
    ]
    rows = rng.normal(size=(600, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    shelf.embed(dict(zip(docids, rows, strict=True)))
    snap = shelf.roster.view()
    padded = np.vstack([rows, np.zeros((1, 16), np.float32)])
    mixed = padded[:-1] + 0.5 * padded[snap.prev] + 0.5 * padded[snap.next]
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    for query in rows[::60]:
        found = Meaning(snap, shelf.search(), query)
        chosen = found.propose(np.ones(600, bool), 20)
        assert found.of(chosen).smooth == pytest.approx((mixed @ query)[chosen], abs=2e-5)
        assert found.of(chosen).own == pytest.approx((rows @ query)[chosen], abs=2e-5)
        assert chosen[0] == np.argmax(mixed @ query)
        beside = np.arange(0, 600, 7)
        assert found.of(beside).smooth == pytest.approx((mixed @ query)[beside], abs=2e-5)


def test_what_is_known_of_others_is_left_out(shelf):
    """Vectors of docids that are not in the view do not shift what is told of the rest."""
    docids = [shelf.add(f"note {n}") for n in range(5)]
    rows = np.eye(7, dtype=np.float32)
    shelf.embed(dict(zip([docids[0] - 1, *docids, docids[-1] + 1], rows, strict=True)))
    query = np.array([7, 6, 5, 4, 3, 2, 1], np.float32) / np.float32(np.sqrt(140))
    found = Meaning(shelf.roster.view(), shelf.search(), query)
    assert found.propose(np.ones(5, bool), 5).tolist() == [0, 1, 2, 3, 4]
    assert found.of(np.arange(5)).own == pytest.approx(query[1:6], abs=3e-5)
