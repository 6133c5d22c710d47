"""The pairs of statements and how they are counted."""

import json

import observe_pairs
import pytest


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("I prefer vim.", "I prefer emacs now.", "replaces"),
        ("The launch is on 3 May.", "The launch is on 10 May.", "newer"),
        ("I'm allergic to nuts.", "My sister plays the cello.", "both"),
    ],
)
def test_an_outcome_is_seen(first, second, outcome):
    """With the class of each sentence told, so that only the rules are measured."""
    assert observe_pairs.outcome_of(first, second, told=True) == outcome


def test_the_set_is_well_formed():
    """Each outcome has its pairs, and each pair an id of its own."""
    pairs = [json.loads(line) for line in observe_pairs.SET.read_text().splitlines()]
    assert {pair["outcome"] for pair in pairs} == set(observe_pairs.FLOORS)
    assert len({pair["id"] for pair in pairs}) == len(pairs) >= 30
