"""Two texts are the same only if hardly anything differs."""

import re
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memento.text import gist as module
from memento.text.gist import FILLERS, ending, gist

SAME = [
    ("I like the red bike.", "i really like the red bike!"),
    ("We settled on C++", "  we settled\non c++."),
    ("Oh, well, that is fine", "is fine..."),
    ("Don\u2019t call me", "don't call me"),
    ("Stra\u00dfe 5", "strasse 5"),
]
DIFFERENT = [
    ("We settled on C++", "We settled on C#"),
    ("We settled on C", "We settled on C#"),
    ("It is +5 outside", "It is -5 outside"),
    ("It is 5 outside", "It is -5 outside"),
    ("The grade is A+", "The grade is A-"),
    ("The grade is A", "The grade is"),
    ("Take vitamin A", "Take vitamin"),
    ("Take vitamin A daily", "Take vitamin daily"),
    ("She moved to OH with Ben", "She moved to with Ben"),
    ("Room 12 is free", "Room 13 is free"),
    ("It weighs 5 kg", "It weighs 5 g"),
    ("It draws 5 mW", "It draws 5 MW"),
    ("It draws 5mW", "It draws 5MW"),
    ("It costs $5", "It costs \u20ac5"),
    ("It costs 1.5", "It costs 15"),
    ("It costs 5%", "It costs 5"),
    ("x\u00b2 is large", "x2 is large"),
    ("Release 1.2", "Release 12"),
    ("a<b holds", "a>b holds"),
    ("You like tea?", "You like tea."),
    ("R\u00e9sum\u00e9 sent", "Resume sent"),
    ("\u5c71\u672c\u3055\u3093\u306f\u6765\u308b", "\u5c71\u672c\u3055\u3093\u304c\u6765\u308b"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one, other):
    """Case, spacing, fillers and the full stop make no difference."""
    assert gist(one) == gist(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_not_the_same(one, other):
    """Symbols, numbers, units and words do."""
    assert gist(one) != gist(other)


SYMBOLS = "+-#*/=<>%&@$\u20ac\u00a3\u00b0\u00b1\u2260\u2264^~|_\\"
TOKEN = st.one_of(
    st.text(SYMBOLS, min_size=1, max_size=3),
    st.from_regex(r"[+-]?[0-9]{1,4}([.,][0-9]{1,2})?%?", fullmatch=True),
    st.from_regex(r"[A-Ka-k]{1,6}[+#-]{0,2}", fullmatch=True),
    st.sampled_from(["mg", "kg", "g", "km", "GB", "MB", "MW", "mW", "\u00b0C", "\u00b0F"]),
)


@given(st.lists(TOKEN, min_size=1, max_size=6), st.integers(0, 5), TOKEN)
def test_no_difference_is_hidden(tokens, place, other):
    """Another symbol, number, unit or word makes another text."""
    changed = list(tokens)
    changed[place % len(tokens)] = other
    assume(tokens[place % len(tokens)].lower() != other.lower())
    assume({tokens[place % len(tokens)].lower(), other.lower()}.isdisjoint(FILLERS))
    assert gist(" ".join(tokens)) != gist(" ".join(changed))


@given(st.lists(TOKEN, min_size=1, max_size=6), st.integers(0, 5), st.sampled_from(SYMBOLS + "07"))
def test_one_more_symbol_or_digit(tokens, place, added):
    """Anything that is put before a word makes another text."""
    changed = list(tokens)
    changed[place % len(tokens)] = added + changed[place % len(tokens)]
    assert gist(" ".join(tokens)) != gist(" ".join(changed))


@given(st.text(), st.sampled_from(["", ".", "!", " "]))
def test_spacing_and_full_stop(text, end):
    """Spacing and a full stop at the end never make a difference, whatever the text."""
    assume(re.search(r"\w", text))
    assert gist(text.strip()) == gist(f"  {text.strip()}{end}")


@given(
    st.lists(st.sampled_from([*sorted(FILLERS), "5", "mW", "MW", "ß", "É", "x,", "?", "。", "…"]))
)
def test_an_equal_gist_means_an_equal_ending(tokens):
    """Texts are compared by their endings first, so no pair with an equal gist may be lost."""
    spoken = " ".join(tokens)
    for other in (spoken.upper(), f"{spoken} !", spoken.replace(" ", "  ")):
        assert gist(other) != gist(spoken) or ending(other) == ending(spoken)


def test_the_ending_of_stops_alone():
    """A text without a word has no last word."""
    assert ending(" ... !") == ""


def test_every_space_may_stand_after_the_last_word() -> None:
    """The spaces dropped at the end are those that ``str.strip`` drops."""
    assert set(module._SPACES) == {
        one for one in map(chr, range(sys.maxunicode + 1)) if not one.strip()
    }
