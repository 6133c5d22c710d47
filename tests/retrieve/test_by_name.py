import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve.by_name import Names, one_edit
from memento.text.words import terms

KEYS = ["user/editor", "favourite_colour", "deploy-target", "kubernetes", "api/rate_limit", "cat"]


@pytest.fixture
def names():
    """Give a few names."""
    known = Names()
    for row, key in enumerate(KEYS):
        known.put(row, key, ["the big K"] if key == "kubernetes" else ())
    return known


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("which editor", {0}),
        ("user editor please", {0}),
        ("favourite colour", {1}),
        ("colour favourite", set()),
        ("favourite coluor", {1}),
        ("deploy target", {2}),
        ("kubernets", {3}),
        ("kubernetes", {3}),
        ("bubernetes", set()),
        ("the big k", {3}),
        ("rate limit", {4}),
        ("rate limits", {4}),
        ("rate limt", {4}),
        ("which edtor", set()),
        ("user edtor", {0}),
        ("which kubernetez", {3}),
        ("cats", set()),
        ("cut", set()),
        ("cat", {5}),
        ("editor and cat", {0, 5}),
        ("user", set()),
    ],
)
def test_called(names, query, rows):
    """Names are found by whole words, with one typing error in longer ones."""
    assert {row for name in names.called(query.split()) for row in name.rows} == rows


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("user/bank", "I am back"),
        ("user/bank", "what did I write back then"),
        ("home/boiler", "who likes broiler chicken"),
        ("bank", "back"),
        ("food/bread", "the broad view"),
        ("user/mouse", "a new house or moose"),
        ("horse", "of course the house"),
        ("team/lead", "read and load it"),
    ],
)
def test_another_word_is_no_typing_error(key, said):
    """A word of the language that is one letter away from a key does not name it."""
    known = Names()
    known.put(0, key, ())
    assert not known.called(said.split())


def test_a_shorter_name_is_found_as_written():
    """One word at the end of a key is no whole name, so no typing error in it is forgiven."""
    known = Names()
    known.put(0, "infra/kubernetes", ())
    known.put(1, "other", ["Kubernetes"])
    assert [one.rows for one in known.called(["kubernetes"])] == [(0, 1)]
    assert [one.rows for one in known.called(["kubernets"])] == [(1,)]
    known.put(1, "other", ())
    assert not known.called(["kubernets"])


def test_renamed(names):
    """A row that gets another name is not found by the old one."""
    names.put(0, "user/browser", ())
    assert not names.called(["editor"])
    assert [name.rows for name in names.called(["browser"])] == [(0,)]


def test_a_hidden_spelling_decides_nothing(names):
    """A name that only what is hidden bears is no known word: the typing error is forgiven."""
    names.put(9, "kubernets", ["big K"], heard=False)
    assert [(one.rows, one.typos) for one in names.called(["kubernets"])] == [((3,), 1)]
    both = names.called(["kubernets"], unheard=True)
    assert [(one.rows, one.typos) for one in both] == [((9,), 0)]
    names.put(9, "kubernets", (), heard=True)
    assert [one.rows for one in names.called(["kubernets"])] == [(9,)]


def test_unspaced_names():
    """A name in Chinese is found inside a sentence."""
    known = Names()
    known.put(3, "北京烤鸭", ())
    assert [name.rows for name in known.called(terms("我喜欢北京烤鸭吗"))] == [(3,)]


words = st.text(alphabet="abc", max_size=6)


@given(words, words)
def test_one_edit_is_distance_one(one, other):
    """One edit is what the textbook's optimal string alignment calls distance 1."""
    assert one_edit(one, other) == (_distance(one, other) == 1)


def _distance(one, other):
    table = {(i, -1): i + 1 for i in range(-1, len(one))} | {
        (-1, j): j + 1 for j in range(-1, len(other))
    }
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            best = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
            if i and j and a == other[j - 1] and one[i - 1] == b:
                best = min(best, table[i - 2, j - 2] + 1)
            table[i, j] = best
    return table[len(one) - 1, len(other) - 1]
