"""Confidence: a chance, never less for more evidence, and comparable across stores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.config.retrieve import Sure, Weights
from memento.retrieve import confidence
from memento.retrieve.evidence import Evidence

PARTS = st.floats(0, 1, width=32)


def signs_of(window, cover, cosine):
    """Read the signs of candidates with these values."""
    values = np.array(window, np.float32)
    found = Evidence(
        np.arange(len(window)),
        {"window": values, "cover": np.array(cover, np.float32)},
        None if cosine is None else np.array(cosine, np.float32),
        np.array(cover, np.float32),
        alone=np.zeros(len(window), np.bool_),
    )
    sums = values * np.float32(Weights().window) + found.cover * np.float32(Weights().cover)
    return confidence.signs(found, sums, Weights(), Weights())


@given(st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=1, max_size=8), st.booleans())
def test_signs_and_chances_stay_in_bounds(candidates, with_vectors):
    """Every chance is one, the shares sum to one, with vectors and without."""
    window, cover, cosine = zip(*candidates, strict=True)
    found = signs_of(window, cover, cosine if with_vectors else None)
    chances = confidence.of_hits(found, Sure())
    assert ((chances >= 0) & (chances <= 1)).all()
    assert found.share.sum() == pytest.approx(1, abs=1e-5)
    assert ((found.fit >= 0) & (found.fit <= 1)).all()
    names = {"cover", "share", "fit"} | ({"cosine"} if with_vectors else set())
    assert [set(signs) for signs in found.of(np.arange(len(window)))] == [names] * len(window)


@given(PARTS, PARTS, PARTS, PARTS)
def test_more_of_a_sign_is_never_less_sure(cover, fit, cosine, more):
    """An answer's chance does not fall when a sign grows."""
    sure = Sure()
    for vector in (None, cosine):
        chance = confidence.of_answer(vector, cover, fit, sure)
        assert 0 <= chance <= 1
        assert confidence.of_answer(vector, max(cover, more), fit, sure) >= chance
        assert confidence.of_answer(vector, cover, max(fit, more), sure) >= chance
    assert confidence.of_answer(max(cosine, more), cover, fit, sure) >= confidence.of_answer(
        cosine, cover, fit, sure
    )


def test_one_of_many_alike_is_less_sure_than_one_alone():
    """Ten memories with the same evidence share the chance that one alone has."""
    alone = confidence.of_hits(signs_of([1], [1], [0.5]), Sure())[0]
    among = confidence.of_hits(signs_of([1] * 10, [1] * 10, [0.5] * 10), Sure())[0]
    assert among < alone / 2


def test_an_answer_is_at_least_as_sure_as_its_best_hit(open_memory):
    """The chance that an answer is among the hits is no less than that of any of them."""
    memory = open_memory()
    memory.add_many([{"text": f"the printer on floor {n} is broken"} for n in range(6)])
    memory.add("the boiler is on the roof", key="boiler")
    for question in ("where is the boiler?", "boiler", "which printer is broken?", "floor 3"):
        found = memory.retrieve(question, 10)
        assert found.confidence >= max(hit.confidence for hit in found)
        assert all(hit.signs.keys() == {"cover", "share", "fit"} for hit in found)
