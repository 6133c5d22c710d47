"""Confidence: a chance, never less for more evidence, and comparable across stores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve import judging, question
from memento.retrieve.evidence import TURNS, Evidence

PARTS = st.floats(0, 1, width=32)


def signs_of(window, cover, cosine, *, unknown=0.0, among=300):
    """Read the signs of candidates with these values."""
    values = np.array(window, np.float32)
    found = Evidence(
        np.arange(len(window)),
        {"window": values, "cover": np.array(cover, np.float32)},
        None if cosine is None else np.array(cosine, np.float32),
        np.array(cover, np.float32),
        alone=np.zeros(len(window), np.bool_),
        unknown=unknown,
        among=among,
    )
    sums = values * np.float32(TURNS.window) + found.cover * np.float32(TURNS.cover)
    return judging.signs(found, sums)


def chances_of(found):
    """Estimate the chance of each candidate; all of them bound each other."""
    return judging.of_hits(found, np.arange(len(found.share)))


@given(st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=1, max_size=8), st.booleans())
def test_signs_and_chances_stay_in_bounds(candidates, with_vectors):
    """Every chance is one, the shares sum to one, with vectors and without."""
    window, cover, cosine = zip(*candidates, strict=True)
    found = signs_of(window, cover, cosine if with_vectors else None)
    chances = chances_of(found)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert found.share.sum() == pytest.approx(1, abs=1e-5)
    assert ((found.fit >= 0) & (found.fit <= 1)).all()
    names = {"cover", "share", "fit", "unknown", "lacks"} | (
        {"cosine", "noise"} if with_vectors else set()
    )
    assert [set(signs) for signs in found.of(np.arange(len(window)))] == [names] * len(window)


@given(PARTS, PARTS, PARTS, PARTS)
def test_more_of_a_sign_is_never_less_sure(cover, fit, cosine, more):
    """An answer's chance does not fall when a sign grows."""
    by_words = {"cover": cover, "fit": fit, "unknown": 0.5, "lacks": 0.0}
    for known in (by_words, by_words | {"cosine": cosine, "noise": 0.3}):
        chance = judging.of_answer([known])
        assert 0 <= chance <= 1
        for name in known.keys() & {"cover", "fit", "cosine"}:
            raised = known | {name: max(known[name], more)}
            assert judging.of_answer([raised]) >= chance
        for name in known.keys() & {"unknown", "noise", "lacks"}:
            raised = known | {name: max(known[name], more)}
            assert judging.of_answer([raised]) <= chance


def test_one_of_many_alike_is_less_sure_than_one_alone():
    """Ten memories with the same evidence share the chance that one alone has."""
    alone = chances_of(signs_of([1], [1], [0.5]))[0]
    among = chances_of(signs_of([1] * 10, [1] * 10, [0.5] * 10))[0]
    assert among < alone / 2


def test_an_answer_is_at_least_as_sure_as_its_best_hit(open_memory):
    """The chance that an answer is among the hits is no less than that of any of them."""
    memory = open_memory()
    memory.add_many([{"text": f"the printer on floor {n} is broken"} for n in range(6)])
    memory.add("the boiler is on the roof", key="boiler")
    for asked in ("where is the boiler?", "boiler", "which printer is broken?", "floor 3"):
        found = memory.retrieve(asked, 10)
        assert found.confidence >= max(hit.confidence for hit in found)
        names = {"cover", "share", "fit", "unknown", "lacks"}
        assert all(hit.signs.keys() == names for hit in found)


@pytest.mark.parametrize("cosine", [None, [0.4]])
def test_a_word_that_no_memory_has_lowers_the_chance(cosine):
    """The rest of the evidence is the same; in a store of one memory it is no sign."""
    known, unknown = (signs_of([1], [0.5], cosine, unknown=share) for share in (0.0, 0.6))
    assert chances_of(unknown)[0] < 0.6 * chances_of(known)[0]
    single = [signs_of([1], [0.5], cosine, unknown=share, among=1) for share in (0.0, 0.6)]
    assert chances_of(single[0])[0] == chances_of(single[1])[0]


def test_a_cosine_is_worth_less_among_more_memories():
    """The nearest of many unrelated memories is nearer than that of a few."""
    few, many = (chances_of(signs_of([1], [0], [0.4], among=n))[0] for n in (20, 20_000))
    assert many < 0.7 * few


def test_the_only_memory_is_not_doubted_for_want_of_evidence():
    """In a store of two turns, half of the possible evidence is no sign against an answer."""
    few, many = (
        judging.of_answer(signs_of([0.2], [0.3], [0.3], among=n).of(np.arange(1)))
        for n in (2, 2_000)
    )
    assert few > 0.16 > many


@given(PARTS, PARTS, PARTS)
def test_an_answer_whose_best_hit_is_surer_is_not_less_sure(answer, best, more):
    """The joined chance is one, and grows with both."""
    chance = judging.of_both(answer, best)
    assert 0 <= chance <= 1
    assert judging.of_both(answer, max(best, more)) >= chance
    assert judging.of_both(max(answer, more), best) >= chance


def test_signs_spread_over_several_memories_are_worth_less_than_in_one():
    """One memory with the best vector and another with all words are no answer together."""
    together = signs_of([1, 0.1], [0.9, 0], [0.5, 0])
    apart = signs_of([1, 0.9], [0.9, 0], [0, 0.5])
    chances = []
    for found in (together, apart):
        best = float(chances_of(found).max())
        answer = judging.of_answer(found.of(np.arange(2)))
        chances.append(judging.of_both(answer, best))
    assert chances[1] < chances[0] - 0.05


@pytest.mark.parametrize(
    ("told", "question", "lacks"),
    [
        ("My cousin Ruth teaches chemistry", "how old is Ruth", 1),
        ("My cousin Ruth turned forty", "how old is Ruth", 0),
        ("Beryl has plot 60", "how old is Beryl", 1),
        ("Beryl was born in Leeds", "how old is Beryl", 0),
        ("I traded the van for a Berlingo", "how much was the Berlingo", 1),
        ("The Berlingo was 4,300 euros", "how much was the Berlingo", 0),
        ("Mags has the use of the van", "what colour is the van", 1),
        ("Mags painted the van green", "what colour is the van", 0),
        ("Lorcan teaches maths", "where does Lorcan work", 1),
        ("Lorcan teaches maths at the college", "where does Lorcan work", 0),
        ("Otis plays the drums", "what can't Otis eat", 1),
        ("Otis is allergic to nuts", "what can't Otis eat", 0),
        ("Ruth teaches chemistry", "what does Ruth teach", 0),
        ("Ruth teaches chemistry", "when does Ruth teach", 0),
    ],
)
def test_the_kind_of_answer_that_is_asked_for_may_be_missing(
    open_memory, tmp_path, told, question, lacks
):
    """A number, an age, a colour, a place or what is not: then the note is hardly an answer.

    By words alone there are too few other signs to say so.
    """
    memory, by_words = open_memory(embedder="default"), open_memory(tmp_path / "words")
    for text in (told, "Rent: 910 a month", "A red door in the cellar", "Never lift it"):
        memory.add(text, "long")
        by_words.add(text, "long")
    (hit,) = [hit for hit in memory.retrieve(question, 4, wait=60) if hit.text == told]
    assert hit.signs["lacks"] == lacks
    assert {hit.signs["lacks"] for hit in by_words.retrieve(question, 4)} == {0}


def test_a_turn_of_a_conversation_may_answer_without_the_kind(open_memory):
    """The turn beside it often holds the number."""
    memory = open_memory()
    memory.add("how old is Ruth now?", "short", session="a", role="user")
    memory.add("Ruth teaches chemistry", "short", session="a", role="assistant")
    assert all(hit.signs["lacks"] == 0 for hit in memory.retrieve("how old is Ruth", 4))


@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_missing_kind_lowers_every_chance(with_vectors):
    """The rest of the evidence is the same."""
    found = signs_of([1, 0.2], [0.6, 0.1], [0.4, 0.2] if with_vectors else None)
    missing = replace(found, lacks=1.0)
    assert (chances_of(missing) < 0.5 * chances_of(found)).all()


def test_no_hit_is_surer_than_the_answer():
    """A candidate that has all of the evidence, by itself, does not make up for weak signs."""
    found = signs_of([1, 0], [0.1, 0], [0.1, 0], unknown=0.9)
    answer = judging.of_answer(found.of(np.arange(2)))
    assert chances_of(found).max() <= answer + 1e-6


def test_words_that_name_nothing_are_no_sign(shelf):
    """A memory with all the words of "are you sure" does not answer it."""
    shelf.add("Mr Hale is sure about the boiler")
    shelf.add("The boiler is in the cellar")
    empty = shelf.find("are you sure").found[0].signs
    assert (empty["cover"], empty["unknown"]) == (0, 0)
    assert shelf.find("are you sure about the boiler").found[0].signs["cover"] > 0.5


def test_an_unknown_word_is_one_in_no_spelling_and_without_another_word(shelf):
    """A typing error and a synonym are not unknown; a thing never told is."""
    for text in ("The accountant is Mr Hale", "Our dog is Rex", "The boiler is in the cellar"):
        shelf.add(text)
    unknown = {
        text: shelf.find(text).found[0].signs["unknown"]
        for text in ("the acountant and the boiler", "our pet and the boiler", "Mr Hale's yacht")
    }
    assert unknown["the acountant and the boiler"] == unknown["our pet and the boiler"] == 0
    assert unknown["Mr Hale's yacht"] > 0


def test_a_question_about_the_person_who_asks_is_surer_of_notes(open_memory, tmp_path, monkeypatch):
    """The answer is surer, its hits are not; what was said in a conversation is as sure as ever."""
    memory, asked = open_memory(tmp_path, embedder="default"), "who treats my aching arm"
    for text in ("The physio on Mill Road treats the sore shoulder", "The tap drips"):
        memory.add(text, "long")
    talk = memory.of("talk")
    talk.add("The physio on Mill Road treats the sore shoulder", session="a", role="user")
    memory.flush(wait=True)
    note, turn = memory.retrieve(asked), talk.retrieve(asked)
    monkeypatch.setattr(question, "asks_of_oneself", lambda _: False)
    plain = memory.retrieve(asked)
    assert [hit.confidence for hit in note] == [hit.confidence for hit in plain]
    assert note.confidence == pytest.approx(judging.surer(plain.confidence, judging.ONESELF))
    assert turn.confidence == talk.retrieve(asked).confidence
