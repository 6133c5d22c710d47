"""Unapproved text changes nothing of the user's: no order, no score, no field of an answer."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import THEIRS, UNNAMED, USERS, Script, answers, differing, look_at, scripted

from memento import Config
from memento.testing import HashEmbedder


def drawn(table):
    """Draw one value for each field."""
    return st.fixed_dictionaries({name: st.sampled_from(told) for name, told in table.items()})


def scripts(mine):
    """Draw a script."""
    theirs = st.tuples(st.integers(0, 8), drawn(THEIRS))
    return st.builds(
        Script,
        st.lists(drawn(mine), min_size=1, max_size=8),
        st.lists(theirs, min_size=1, max_size=8),
    )


@pytest.fixture
def disagreeing(tmp_path):
    """Name what the stores with and without the stranger do not agree on."""
    numbers = count()

    def looked_at(script, **options):
        folder = tmp_path / str(next(numbers))
        return differing(
            *(
                look_at(folder / str(poisoned), script, answers, poisoned=poisoned, **options)
                for poisoned in (False, True)
            )
        )

    return looked_at


@settings(max_examples=20, report_multiple_bugs=False)
@given(scripts(USERS))
def test_by_words_alone(disagreeing, script):
    """Every answer is the same to the last field with and without a stranger's words beside."""
    assert not disagreeing(script, embedder=None)


@settings(max_examples=8, report_multiple_bugs=False)
@given(scripts(UNNAMED))
def test_with_vectors(disagreeing, script):
    """The same where everything has a vector, found by exact search."""
    assert not disagreeing(script, embedder=HashEmbedder(32))


def test_with_the_default_model(disagreeing):
    """The same with the vectors of the model in the package."""
    assert not disagreeing(scripted(1, 30, 60, mine_from=UNNAMED))


def test_the_comparison_can_fail(disagreeing):
    """A stranger who is trusted changes answers of every sort: the same looks tell."""
    found = disagreeing(
        scripted(1, 30, 60, mine_from=UNNAMED),
        embedder=HashEmbedder(32),
        config=Config(untrusted=()),
    )
    assert {"list", "nearest", "tiers", "counts session", "recent s1"} <= set(found)
    assert sum("{" in name for name in found) > 10  # nearly all questions
