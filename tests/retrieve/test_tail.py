"""The tail of a list question: ordered by shared rare words, behind ten hits that stay."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve import order
from memento.retrieve.order import Candidate

LIST = "Which books did Ada read?"


def candidates(scores):
    """Make candidates with these scores, rows in order."""
    return [
        Candidate(row, score, 0.5, {}, 0, actor=-1, question=False)
        for row, score in enumerate(scores)
    ]


def rows(ordered):
    """Return the rows, in order."""
    return [one.row for one in ordered]


@given(
    st.lists(st.floats(0, 1), max_size=40).map(lambda found: sorted(found, reverse=True)),
    st.lists(st.text("abcde ", max_size=20), min_size=40, max_size=40),
)
def test_head_scores_and_members_stay(scores, texts):
    """Ten places and all scores are as before, and nothing is lost or made."""
    before = candidates(scores)
    after = order.reorder(before, dict(enumerate(texts)))
    assert rows(after)[: order.HEAD] == rows(before)[: order.HEAD]
    assert [one.score for one in after] == scores
    assert sorted(rows(after)) == rows(before)


def test_a_candidate_that_shares_a_rare_word_with_the_head_gains():
    """The last one has a word of the first one that no other has."""
    before = candidates([0.9] + [0.5] * 19)
    texts = {row: f"nothing in common {chr(97 + row) * 6}" for row in range(20)}
    texts[0] = "Ada bought the Heron novel"
    texts[19] = "the heron novel was long"
    after = rows(order.reorder(before, texts))
    assert after[order.HEAD] == 19
    assert after[order.HEAD + 1 :] == list(range(10, 19))


def test_without_shared_words_nothing_moves():
    """The control: other words, the same order."""
    before = candidates([0.9] + [0.5] * 19)
    texts = {row: chr(97 + row) * 6 for row in range(20)}
    assert order.reorder(before, texts) == before


def test_candidates_behind_the_pool_keep_their_places():
    """Only the first candidates are compared."""
    before = candidates([0.5] * (order.POOL + 5))
    texts = {row: "heron" if row in (0, order.POOL - 1) else "tea" for row in range(order.POOL)}
    after = rows(order.reorder(before, texts))
    assert after[order.HEAD] == order.POOL - 1
    assert after[-5:] == list(range(order.POOL, order.POOL + 5))


@pytest.fixture
def books(open_memory):
    """Sixty turns about books, some of which share rare words."""
    memory = open_memory()
    chance = Random(5)
    titles = ["heron", "walnut", "copper", "meadow", "lantern", "orchid", "saddle", "velvet"]
    for number in range(60):
        one, two = chance.sample(titles, 2)
        said = f"Ada read {one}" if number % 3 else f"the {one} and {two} were on the shelf"
        memory.add(f"{said}, {number} pages of books", actor="Ada", session=f"s{number % 4}")
    return memory


@pytest.mark.parametrize("smaller", [1, 10, 11, 25])
def test_a_larger_k_only_appends(books, smaller):
    """The order of the tail does not depend on the number of hits."""
    every = [hit.id for hit in books.retrieve(LIST, k=60)]
    assert [hit.id for hit in books.retrieve(LIST, k=smaller)] == every[:smaller]


def test_a_pointed_question_has_no_tail(books, monkeypatch):
    """Only a question that wants several memories is ordered by shared words."""
    asked = []
    monkeypatch.setattr(
        order, "reorder", lambda ranked, _: [asked.append(len(ranked)), *ranked][1:]
    )
    books.retrieve("When did Ada read heron?", k=50)
    books.retrieve(LIST, k=10)
    assert asked == []
    books.retrieve(LIST, k=11)
    assert len(asked) == 1


def test_limits_of_score_apply_before_the_tail(books):
    """A candidate below the limit does not come in by its words."""
    every = {hit.id: hit for hit in books.retrieve(LIST, k=60)}
    bar = sorted(hit.score for hit in every.values())[30]
    found = books.retrieve(LIST, k=60, min_score=bar)
    assert len(found) == sum(hit.score >= bar for hit in every.values())
    assert all(hit.score >= bar for hit in found)
