"""The words of a namespace, and those that are nearly the same."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from memento.retrieve.spellings import Vocabulary

WORDS = [
    "accountant", "appointment", "hygienist", "receive", "train", "watch", "wash", "recipe",
    "recipes", "dishwasher", "house", "e4471", "e4417", "kl1583", "strasse", "東京", "ab",
]  # fmt: skip


def vocabulary(*memories):
    """Make one of memories, each a list of words."""
    known = Vocabulary()
    for docid, words in enumerate(memories, 1):
        known.put(docid, words)
    return known


def test_the_word_of_more_memories_comes_first():
    """With as many errors, the more frequent one is more likely meant."""
    assert vocabulary(["watch", "wash"], ["watch"]).near("wach") == ["watch", "wash"]


def test_numbered():
    """A number finds the codes that end with all of it."""
    assert vocabulary(WORDS).numbered("4471") == ["e4471"]
    assert vocabulary(WORDS).numbered("471") == []


def test_a_word_goes_with_its_last_memory():
    """One that changes or goes takes its words along, not those that others have as well."""
    known = vocabulary(["train", "watch"], ["train"])
    known.put(1, ["house"])
    assert known.near("wach") == []
    assert known.near("trian") == ["train"]
    known.drop(2)
    known.drop(99)
    assert known.near("trian") == []
    known.drop_before(2)
    assert known.near("hose") == []


@given(st.lists(st.text("abcd", min_size=1, max_size=10), max_size=30), st.text("abcd", min_size=4))
def test_near_words_are_nearest(words, word):
    """For any words: none that is farther than allowed, none that is left out."""
    most = 2 if len(word) >= 8 else 1
    near = vocabulary(words).near(word)
    far = {other: OSA.distance(word, other) for other in words if len(other) >= 4}
    if len(word) < 8:
        far = {other: errors for other, errors in far.items() if other[0] == word[0]}
    fewest = min(far.values(), default=most + 1)
    expected = {other for other, errors in far.items() if errors == fewest <= most}
    assert set(near) == expected
