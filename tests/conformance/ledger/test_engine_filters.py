"""Every filter of ``predicate`` keeps exactly what it says, on every engine."""

from __future__ import annotations

import pytest
from engine_bench import START
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.ledger import memories
from memento.ledger.filters import filters_of
from memento.ledger.predicate import Filters

HOUR = 3_600_000_000
SHELF = [
    {"text": "0", "tier": "short", "session": "s", "tags": ["red"], "occurred_at": START - HOUR},
    {"text": "1", "kind": "preference", "scope": "a", "tags": ["red", "blue"], "pinned": True},
    {"text": "2", "scope": "a/b", "session": "t", "metadata": {"n": 1, "s": "x", "b": True}},
    {"text": "3", "scope": "ab", "tags": ["Red"], "metadata": {"n": 1.5, "s": "X", "b": False}},
    {"text": "4", "scope": "a/b/c", "metadata": {"n": None, "b": 1}, "actor": "Ada"},
    {"text": "5", "tier": "long", "valid_until": START + HOUR, "metadata": {"n": "1"}},
    {"text": "6", "expires_in": 3600, "occurred_at": START + HOUR, "session": "S"},
    {"text": "7", "key": "k", "actor": "Ada", "metadata": {"deep": {"n": 1}, "l": [1, "x"]}},
]
CASES = {
    "nothing asked": ({}, "01234567"),
    "a tier": ({"tiers": ("long",)}, "5"),
    "two tiers": ({"tiers": ("long", "short")}, "05"),
    "a kind": ({"kinds": ("preference",)}, "1"),
    "a session, letter for letter": ({"sessions": ("s",)}, "0"),
    "two sessions": ({"sessions": ("s", "S")}, "06"),
    "a status nobody has": ({"statuses": ("quarantined",)}, ""),
    "pinned": ({"pinned": True}, "1"),
    "not pinned": ({"pinned": False}, "0234567"),
    "a tag, letter for letter": ({"tags": ("red",)}, "01"),
    "two tags": ({"tags": ("red", "blue")}, "1"),
    "one of two tags": ({"any_tags": ("Red", "blue")}, "13"),
    "a tag nobody has": ({"tags": ("green",)}, ""),
    "applies at a scope": ({"scopes": ("a",)}, "0124567"),
    "applies below": ({"scopes": ("a/b",)}, "0124567"),
    "applies at another": ({"scopes": ("ab",)}, "03567"),
    "applies at either": ({"scopes": ("ab", "a")}, "01234567"),
    "applies at the root": ({"scopes": ("",)}, "01234567"),
    "within a scope": ({"within": ("a",)}, "124"),
    "within a deeper one": ({"within": ("a/b",)}, "24"),
    "within either": ({"within": ("a/b/c", "ab")}, "34"),
    "a number": ({"where": {"n": 1}}, "2"),
    "a float": ({"where": {"n": 1.5}}, "3"),
    "a digit as text": ({"where": {"n": "1"}}, "5"),
    "a text, letter for letter": ({"where": {"s": "x"}}, "2"),
    "true is not 1": ({"where": {"b": True}}, "2"),
    "1 is not true": ({"where": {"b": 1}}, "4"),
    "false": ({"where": {"b": False}}, "3"),
    "null, or no such key": ({"where": {"n": None}}, "01467"),
    "one of several values": ({"where": {"n": (1, "1")}}, "25"),
    "null or a value": ({"where": {"n": (None, 1)}}, "012467"),
    "two keys": ({"where": {"n": 1, "s": "x"}}, "2"),
    "a dot leads into an object": ({"where": {"deep.n": 1}}, "7"),
    "an object below a key": ({"where": {"deep": {"n": 1}}}, "7"),
    "more than": ({"where": {"n": {"$gt": 1}}}, "3"),
    "at least, as text": ({"where": {"n": {"$gte": "1"}}}, "5"),
    "another value, or none": ({"where": {"n": {"$ne": 1}}}, "0134567"),
    "a key that is there": ({"where": {"n": {"$exists": True}}}, "2345"),
    "a slot": ({"keys": ("k",)}, "7"),
    "an actor": ({"actors": ("Ada", "Bob")}, "47"),
    "a role nobody has": ({"roles": ("tool",)}, ""),
    "a trust class": ({"sources": ("user",)}, "01234567"),
    "an address nobody has": ({"sources": ("menu",)}, ""),
    "a list is no value": ({"where": {"l": 1}}, ""),
    "since": ({"since": START}, "1234567"),
    "since a microsecond later": ({"since": START + 1}, "6"),
    "until": ({"until": START}, "0"),
    "until a microsecond later": ({"until": START + 1}, "0123457"),
    "since and until": ({"since": START - HOUR, "until": START}, "0"),
    "a tier and a tag": ({"tiers": ("medium",), "tags": ("red",)}, "1"),
    "as of an hour ago": ({"as_of": START - HOUR}, "0"),
    "as of now": ({"as_of": START}, "0123457"),
    "as of when one no longer holds": ({"as_of": START + HOUR}, "0123467"),
}


@pytest.fixture
def shelf(bench):
    """A namespace with the memories of ``SHELF``, and a neighbour's with the same."""
    for space in (bench.of("other"), bench):
        space.add(*SHELF)
    return bench


def found(bench, **asked):
    """Return the texts that fit, in order."""
    return "".join(row.text for row in bench.read(memories.select, filters_for(bench, asked)))


def filters_for(bench, asked):
    """Return the filters; conditions on metadata are read as a caller gives them."""
    where = filters_of(bench.now, where=asked.get("where")).where
    return Filters(bench.now, **{**asked, "where": where})


@pytest.mark.parametrize(("asked", "expected"), CASES.values(), ids=CASES)
def test_a_filter_keeps_exactly_that(shelf, asked, expected):
    """By itself and combined, and as many row ids as rows."""
    assert found(shelf, **asked) == expected
    assert len(shelf.read(memories.matching, filters_for(shelf, asked))) == len(expected)


def test_by_ids(shelf):
    """Only these, in order of arrival, and none of another namespace."""
    ids = {row.text: row.id for row in shelf.read(memories.select, Filters(shelf.now))}
    theirs = shelf.of("other").read(memories.select, Filters(shelf.now))[3].id
    assert found(shelf, ids=(ids["5"], ids["2"], theirs, "nobody")) == "25"


def test_without_ids(shelf):
    """All but these; ids of another namespace change nothing."""
    ids = {row.text: row.id for row in shelf.read(memories.select, Filters(shelf.now))}
    theirs = shelf.of("other").read(memories.select, Filters(shelf.now))[3].id
    assert found(shelf, without=(ids["5"], ids["2"], theirs, "nobody")) == "013467"
    assert found(shelf, ids=(ids["5"], ids["2"]), without=(ids["5"],)) == "2"


@pytest.mark.parametrize("text", ["6", "5"], ids=["expires", "ends"])
def test_what_is_over_is_not_seen(shelf, text):
    """From the moment on at which it expires, or no longer holds."""
    shelf.now = START + HOUR - 1
    assert text in found(shelf)
    shelf.now = START + HOUR
    assert text not in found(shelf)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "01234567"),
        ({"newest_first": True}, "76543210"),
        ({"by_time": True}, "01234576"),
        ({"by_time": True, "newest_first": True}, "67543210"),
        ({"limit": 3}, "012"),
        ({"limit": 3, "offset": 2}, "234"),
        ({"newest_first": True, "limit": 2}, "76"),
        ({"offset": 6}, "67"),
        ({"limit": 0}, ""),
    ],
)
def test_order_limit_and_offset(shelf, options, expected):
    """In order of arrival or of occurrence, arrival breaking ties; then offset, then limit."""
    rows = shelf.read(memories.select, Filters(shelf.now), memories.Page(**options))
    assert "".join(row.text for row in rows) == expected


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("scope", {"": 4, "a": 1, "a/b": 1, "a/b/c": 1, "ab": 1}),
        ("session", {"S": 1, "s": 1, "t": 1}),
        ("kind", {"fact": 7, "preference": 1}),
        ("tier", {"long": 1, "medium": 6, "short": 1}),
        ("actor", {"Ada": 2}),
        ("tag", {"Red": 1, "blue": 1, "red": 2}),
    ],
)
def test_a_tally_counts_what_fits(shelf, by, expected):
    """By one column, in its order; rows that have none are left out."""
    counted = shelf.read(memories.tally, Filters(shelf.now), by)
    assert counted == expected
    assert list(counted) == sorted(expected)
    none = shelf.read(memories.tally, Filters(shelf.now, tags=("green",)), by)
    assert none == {}


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "tiers": st.sampled_from([("medium",), ("short", "long")]),
            "sessions": st.sampled_from([("s",), ("t", "S")]),
            "tags": st.sampled_from([("red",), ("red", "blue")]),
            "any_tags": st.sampled_from([("blue",), ("Red", "red")]),
            "within": st.sampled_from([("a",), ("a/b", "ab")]),
            "scopes": st.sampled_from([("a",), ("a/b/c",), ("ab", "")]),
            "pinned": st.booleans(),
            "since": st.integers(START - HOUR, START + HOUR),
            "until": st.integers(START - HOUR, START + HOUR),
        },
    )
)
def test_filters_together_are_all_of_them(bench, asked):
    """Any combination keeps what each alone keeps."""
    space = bench.of("together")
    if not space.read(memories.latest_rev):
        space.add(*SHELF)
    alone = [set(found(space, **{name: value})) for name, value in asked.items()]
    assert set(found(space, **asked)) == set("01234567").intersection(*alone)
