import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shelves import NOW, Shelf

from memento.ledger.match import All, Word
from memento.retrieve import by_words
from memento.retrieve.question import parse

turns = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["red", "green", "blue", "cat", "dog"]), min_size=1, max_size=5),
        st.sampled_from([None, "a", "b"]),
    ),
    min_size=1,
    max_size=20,
)


def score(shelf, text, cap=2_000):
    """Score a namespace; returns the query, the view and the scores."""
    query = parse(text, now=NOW.date(), years=range(2020, 2027), people={}, max_terms=32)
    snap = shelf.roster.view()
    reader = by_words.Reader.of(snap, shelf, np.ones(snap.n, bool), cap, min(200, cap))
    postings = by_words.look_up(query, reader)
    return query, snap, by_words.bm25(query, postings, snap)


@settings(deadline=None)
@given(turns, st.sets(st.sampled_from(["red", "green", "cat", "zebra"]), min_size=1))
def test_scores_are_those_of_the_formula(said, asked):
    """Every score equals the formula worked out by hand, turn by turn."""
    shelf = Shelf()
    shelf.roster.apply([shelf.row(" ".join(words), session=session) for words, session in said])
    query, _, found = score(shelf, " ".join(sorted(asked)))
    expected = [_by_hand(said, at, query.terms) for at in range(len(said))]
    assert found.score.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def _by_hand(said, at, terms):
    windows = [_window(said, i) for i in range(len(said))]
    lengths = [
        len(said[i][0]) + sum(len(said[j][0]) for j, _ in windows[i]) for i in range(len(said))
    ]
    mean = max(1.0, sum(lengths) / len(lengths))
    total = 0.0
    for term in terms:
        df = sum(term in words for words, _ in said)
        idf = math.log(1 + (len(said) - df + 0.5) / (df + 0.5))
        tf = (term in said[at][0]) + sum(share * (term in said[j][0]) for j, share in windows[at])
        norm = by_words.K1 * (1 - by_words.B + by_words.B * lengths[at] / mean)
        total += idf * tf * (by_words.K1 + 1) / (tf + norm)
    return total


def _window(said, at):
    mates = [i for i, (_, session) in enumerate(said) if session and session == said[at][1]]
    if at not in mates:
        return []
    place = mates.index(at)
    shares = {-1: by_words.NEAR, 1: by_words.NEAR, -2: by_words.FAR, 2: by_words.FAR}
    return [(mates[place + d], share) for d, share in shares.items() if 0 <= place + d < len(mates)]


def test_another_namespace_changes_nothing():
    """Scores are the same to the bit whatever else is in the same index."""
    texts = ["the cat sat", "a dog ran", "the red cat"]
    alone = Shelf()
    shared = Shelf(first=9 << 40)
    other = Shelf(first=8 << 40, database=shared.database)
    for text in texts:
        alone.add(text)
        shared.add(text)
    for _ in range(50):
        other.add("cat cat cat")
    assert score(alone, "red cat")[2].score.tolist() == score(shared, "red cat")[2].score.tolist()


def test_frequent_words_are_read_beside_rare_ones(shelf):
    """Of a word above the cap only the rows that a rarer word found are read."""
    for i in range(40):
        shelf.add(f"common words number {i}")
    rare = shelf.add("common zebra")
    _, snap, found = score(shelf, "common zebra", cap=10)
    matched = np.flatnonzero(found.matched == 0b11)
    assert snap.docid[matched].tolist() == [rare]
    assert any(isinstance(match, All) for match in shelf.asked)


def test_only_frequent_words(shelf):
    """When every word is frequent, rows with all of them are found, by the same look for each."""
    both = shelf.add("alpha beta together")
    for i in range(40):
        shelf.add(f"alpha {i}")
        shelf.add(f"beta {i}")
    _, snap, found = score(shelf, "alpha beta", cap=10)
    assert snap.docid[int(np.argmax(found.score))] == both
    joined = {match for match in shelf.asked if isinstance(match, All)}
    assert joined == {All((Word("alpha"), Word("beta")))}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("versammlungstag", 1),
        ("verschwinden", 2),  # nothing starts with "versc"
        ("vers", 0),  # short words stand as they are
        ("who is at the versammlungstag", 0),  # a question in English
        ("versammlung", 1),
    ],
)
def test_a_word_nobody_wrote_is_looked_for_by_its_start(shelf, text, found):
    """Words that start with the same five letters count, else four; not in English questions."""
    shelf.add("die Versammlung")
    shelf.add("der Versuch")
    assert np.count_nonzero(score(shelf, text)[2].score) == found


def test_a_word_somebody_wrote_is_not_widened(shelf):
    """A word that is found as it stands finds nothing else."""
    shelf.add("Versammlung")
    shelf.add("Versammlungstag")
    assert np.count_nonzero(score(shelf, "versammlung")[2].score) == 1


def test_the_start_of_a_word_counts_in_neighbours_too(shelf):
    """A turn next to one that has the start of a word is given its share."""
    said = [shelf.row(text, session="s") for text in ("die Versammlung", "ja gern")]
    shelf.roster.apply(said)
    assert np.all(score(shelf, "versammlungstag")[2].score > 0)


def test_forgotten_neighbours_lend_nothing(shelf):
    """A forgotten turn gives no context to the turns around it."""
    row = shelf.row("the zebra", session="s")
    shelf.roster.apply([row, shelf.row("yes, it did", session="s")])
    assert score(shelf, "zebra")[2].score[1] > 0
    shelf.roster.apply([row._replace(status="forgotten")])
    assert score(shelf, "zebra")[2].score[1] == 0
