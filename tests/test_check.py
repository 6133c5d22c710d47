"""One rule for one value: the checks alone, and the same words wherever a value comes in."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import check
from memento.errors import InvalidInput
from memento.types import Kind, Trust

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary()


def refusal(accept, *given_values):
    """Return the message a check refuses a value with."""
    with pytest.raises(InvalidInput) as caught:
        accept(*given_values)
    return str(caught.value)


@given(ANYTHING)
def test_a_share_is_accepted_exactly_in_its_range(value):
    """A number from 0 to 1 comes back as a float; every other value is refused by name."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if fits:
        assert check.check_share("importance", value) == value
    else:
        assert refusal(check.check_share, "importance", value).startswith("importance: must be ")


@given(ANYTHING)
def test_a_short_name_is_accepted_as_it_is_or_refused(value):
    """A name is accepted unchanged, or refused with the field it was given for."""
    storable = isinstance(value, str) and value.strip() and "\0" not in value
    if storable and len(value) <= check.MAX_NAME:
        assert check.short_name("actor", value) is value
    else:
        assert refusal(check.short_name, "actor", value).startswith("actor: ")


def test_a_member_is_refused_with_all_it_could_be():
    """The message names the value and every known one."""
    assert check.member(Kind, "kind", "fact") is Kind.FACT
    assert refusal(check.member, Trust, "source", "me") == (
        "source: 'me' is not one of: " + ", ".join(Trust)
    )


def test_repeated_names_are_dropped_and_order_is_kept():
    """A list keeps its order; a set, which has none, is sorted."""
    assert check.names("tags", ["b", "a", "b"]) == ("b", "a")
    assert check.names("tags", {"b", "a"}) == ("a", "b")


def test_a_message_never_shows_a_long_value():
    """At most 60 characters of a value are shown, and nothing of an object."""
    assert len(check.shown("x" * 1_000)) == 60
    assert check.shown(object()) == "this object"


@pytest.mark.parametrize(
    ("field", "value"), [("importance", 2), ("kind", "fcat"), ("tags", "one"), ("pinned", 1)]
)
def test_add_and_update_refuse_with_the_same_words(memory, field, value):
    """A value that ``add`` refuses is refused by ``update`` with the same message."""
    kept = memory.add("a text")
    refused = {field: value}
    assert refusal(lambda: memory.add("b", **refused)) == refusal(
        lambda: memory.update(kept.id, **refused)
    )


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"when": datetime(2025, 1, 1, tzinfo=UTC)}, r"at \['when'\] has the type datetime"),
        ({"a": {"b c": [1, {2}]}}, r"at \['a'\]\['b c'\]\[1\] has the type set"),
        ({"a": [math.nan]}, r"at \['a'\]\[0\] is nan, which JSON cannot represent"),
        ({"x" * 10_000: object()}, r"at \['x{1,60}"),
    ],
)
def test_metadata_that_is_not_json_names_the_place(metadata, said):
    """Of many keys, the message names the one to change, however long it is."""
    with pytest.raises(InvalidInput, match=said) as caught:
        check.check_metadata(metadata, check.Limits())
    assert len(str(caught.value)) < 400
