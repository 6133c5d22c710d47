"""Patterns in letters of either case."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memento.retrieve import question
from memento.text import answer_form, former_question
from memento.text.fast_pattern import Small

ALL = {
    f"{module.__name__}.{name}": value
    for module in (answer_form, former_question, question)
    for name, value in vars(module).items()
    if isinstance(value, Small)
}


@pytest.mark.parametrize(
    ("text", "found"),
    [("Who Did It", True), ("WHO", True), ("where", False), ("ÜBER WHO", True), ("ÉMILE", True)],
)
def test_it_finds_letters_of_either_case(text: str, found: bool) -> None:
    """Capital and small letters are found, in ASCII and in other text."""
    assert Small("who|émile").found_in(text) is found


def test_it_begins_where_the_text_begins() -> None:
    """Only the start of the text is looked at."""
    pattern = Small("ada|émile")
    assert pattern.begins("Ada and Bob")
    assert pattern.begins("Émile and Bob")
    assert not pattern.begins("Bob and Ada")
    assert not pattern.begins("Zoé and Ada")


def test_flags_hold_for_other_text_too() -> None:
    """The pattern for other text keeps the flags."""
    pattern = Small("a b  # comment", re.VERBOSE)
    assert pattern.found_in("AB")
    assert pattern.found_in("é AB")


@pytest.mark.parametrize("name", ALL)
def test_every_pattern_is_in_small_letters(name: str) -> None:
    """A capital letter in a pattern would never be found in ASCII text."""
    pattern = ALL[name].pattern
    literal = re.sub(r"\\.|#.*$", "", pattern, flags=re.MULTILINE)
    assert literal == literal.lower()


GATED = {name: value for name, value in ALL.items() if value.needs is not None}


@pytest.mark.parametrize("name", sorted(GATED))
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_an_expensive_pattern_needs_is_in_all_that_it_matches(
    name: str, data: st.DataObject
) -> None:
    """No text that the pattern matches is passed over because no needed part is in it."""
    pattern = GATED[name]
    written = re.compile(pattern.pattern, pattern._flags | re.ASCII)
    ascii_text = st.from_regex(written, alphabet=st.characters(codec="ascii"))
    text = data.draw(ascii_text).lower()
    assert pattern.found_in(text) is (written.search(text) is not None)
