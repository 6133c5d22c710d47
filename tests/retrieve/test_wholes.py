"""Where frequent words stand together: the same as the index says, and without asking it again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memento import Config
from memento.config import RetrieveConfig
from memento.ledger.lite import fulltext
from memento.ledger.match import All, Any, Word
from memento.retrieve.wholes import Together, Wholes, any_of, newest_common

STATE = (400, 1)
ROWS = {
    "often": np.arange(1, 400),
    "twice": np.arange(2, 400, 2),
    "third": np.arange(3, 400, 3),
    "rare": np.array([5, 6, 300]),
    "seldom": np.array([7, 8, 390]),
}
LIMIT = 20


class Index:
    """Answers like an index, and notes what was read whole."""

    def __init__(self):
        self.wholes, self.read = Wholes(), []

    def find(self, *joined, state=STATE):
        """Look several expressions up, as one query does."""
        together = Together(self.wholes, 0, state, LIMIT, self.newest, self.whole)
        found = together.find(joined)
        return [found[one].tolist() if one in found else None for one in joined]

    def newest(self, match):
        """Return the newest rows of a word."""
        return ROWS[match.text][-LIMIT:] if isinstance(match, Word) else None

    def whole(self, matches):
        """Return all rows of words."""
        self.read += [match.text for match in matches]
        return [ROWS[match.text].copy() for match in matches]


def beside(word, *others):
    """Return what finds a word beside any of others."""
    return All((Word(word), Any(tuple(map(Word, others)))))


lists = st.lists(
    st.sets(st.integers(0, 300), max_size=120).map(lambda found: np.array(sorted(found), np.int64)),
    min_size=1,
    max_size=4,
)


@given(lists, st.integers(1, 20))
def test_common_rows_are_those_of_sets(found, limit):
    """Lists of every length give what sets give."""
    common = sorted(set.intersection(*(set(one.tolist()) for one in found)))
    assert newest_common(found, limit).tolist() == common[-limit:]
    assert any_of(found).tolist() == sorted(set().union(*(one.tolist() for one in found)))


def test_a_word_is_read_whole_once_the_walks_cost_as_much():
    """And not again for another question; rare words are known already."""
    index = Index()
    question = beside("often", "rare", "seldom")
    assert index.find(question) == [None]
    assert index.find(question) == [[5, 6, 7, 8, 300, 390]]
    assert index.find(beside("often", "rare")) == [[5, 6, 300]]
    assert index.read == ["often"]


def test_frequent_words_all_together():
    """All parts are read if all are due, and each once."""
    index = Index()
    every = All((Word("twice"), Word("third")))
    joined = [All((Word("twice"), every)), All((Word("third"), every))]
    assert index.find(*joined) == [None, None]
    assert index.find(*joined) == [list(range(282, 400, 6))] * 2
    assert sorted(index.read) == ["third", "twice"]


def test_what_changed_is_read_again():
    """Rows of another state of the namespace answer nothing."""
    index = Index()
    question = beside("often", "rare")
    assert [index.find(question) for _ in range(2)][1] == [[5, 6, 300]]
    assert index.find(question, state=(401, 1)) == [None]
    assert index.find(question, state=(401, 1)) == [[5, 6, 300]]
    assert index.read == ["often", "often"]


def test_only_so_many_bytes_are_kept():
    """The words used least recently go first; one that is longer than all room is not kept."""
    wholes, some = Wholes(room=2_200), np.arange(10)
    for word in ("a", "b"):
        wholes.put(1, STATE, Word(word), some.copy())
    assert wholes.find(1, STATE, Word("a")) is not None
    wholes.put(1, STATE, Word("c"), some.copy())
    wholes.put(1, STATE, Word("d"), np.arange(160))
    known = {word: wholes.find(1, STATE, Word(word)) is not None for word in "abcd"}
    assert known == {"a": True, "b": False, "c": True, "d": False}


def test_words_of_no_memory_are_not_kept_for_ever():
    """Their rows take no room, and yet each of them takes some."""
    wholes = Wholes(room=10_000)
    for rev in range(100):
        wholes.put(1, (rev, 0), Word("heron"), np.zeros(0, np.int64))
    assert wholes.find(1, (99, 0), Word("heron")) is not None
    assert wholes.find(1, (0, 0), Word("heron")) is None


def test_answers_are_those_of_the_index(open_memory, monkeypatch):
    """New questions with words in very many memories are answered without the index's help."""
    config = Config(retrieve=RetrieveConfig(cap=40, arm=10))
    memory = open_memory(config=config)
    names = ("anchor", "beacon", "cactus")
    texts = [
        f"harbour {names[n % 3]} {'lantern' if n % 2 else 'meadow'} note{n}" for n in range(300)
    ]
    memory.add_many([{"text": text, "tier": "medium"} for text in texts])
    asked, look_up = [], fulltext.postings
    monkeypatch.setattr(fulltext, "postings", lambda *args: asked.append(args[2]) or look_up(*args))

    def ask(one, question):
        asked.clear()
        hits = one.retrieve(question, k=20, record=False)
        return [(hit.text, hit.score, hit.terms) for hit in hits]

    for number in (7, 12, 33):
        ask(memory, f"harbour lantern note{number} note{number + 1}")
        ask(memory, "harbour lantern anchor")
    other = open_memory(config=config)
    for question in ("harbour lantern note201 note202", "lantern harbour beacon"):
        expected = ask(other, question)
        assert any(" AND " in one for one in asked)
        assert ask(memory, question) == expected
        if "note" in question:
            assert not any(" AND " in one for one in asked)
