"""Importance: a number in [0, 1] that orders everyday notes as people do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Kind
from memento.admit.importance import BASE, KEEP, importance, tier_for
from memento.text.words import words

texts = st.text(max_size=200)
shares = st.floats(0, 1)
kinds = st.sampled_from(Kind)


def score(text, kind=Kind.FACT, novelty=0.5):
    """Score a text as ``add`` does."""
    return importance(text, words(text), kind, novelty)


def test_every_kind_has_a_base():
    """A new kind without a base would make add fail."""
    assert set(BASE) == set(Kind)


@given(texts, kinds, shares)
def test_it_is_a_share(text, kind, novelty):
    """The score of any text is in [0, 1]."""
    assert 0 <= score(text, kind, novelty) <= 1


@given(texts, kinds, shares, shares)
def test_it_grows_with_novelty(text, kind, one, other):
    """The newer the words, the higher the score; never the other way round."""
    low, high = sorted((one, other))
    assert score(text, kind, low) <= score(text, kind, high)


@given(kinds, st.integers(1, 80), st.integers(0, 80))
def test_it_grows_with_length(kind, size, more):
    """A longer text of the same sort never scores lower."""
    assert score("word " * size, kind) <= score("word " * (size + more), kind)


@given(st.sampled_from(sorted(KEEP)))
def test_a_word_that_asks_to_be_kept_raises_it(word):
    """Each cue lifts a note, unless the note is hedged."""
    assert score(f"blue door {word}") > score("blue door plain")
    assert score(f"somewhat {word} blue door") < score(f"quite {word} blue door")


def test_the_three_notes_of_the_first_page_go_where_they_say():
    """Temporary is short, somewhat important medium, critical long: without being told."""
    tiers = [
        tier_for(score(text, novelty=1.0), pinned=False)
        for text in (
            "This is a temporary note",
            "This is somewhat important",
            "This is a critical fact to remember",
        )
    ]
    assert tiers == ["short", "medium", "long"]


def test_small_talk_is_worth_less_than_a_rule():
    """Kinds and cues order everyday notes."""
    assert (
        score("ok thanks") < score("Lisbon has trams") < score("Never deploy on Friday", Kind.RULE)
    )


@pytest.mark.parametrize(("weight", "tier"), [(0.0, "short"), (0.3, "medium"), (0.6, "long")])
def test_the_borders_belong_to_the_higher_tier(weight, tier):
    """Exactly at a border the better tier is taken."""
    assert tier_for(weight, pinned=False) == tier


def test_what_is_pinned_goes_to_the_long_tier():
    """However small its importance."""
    assert tier_for(0.0, pinned=True) == "long"
