"""Namespaces and scope paths: one spelling, contained segment by segment."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.base.scopes import (
    MAX_LABEL,
    MAX_LABELS,
    MAX_NAMESPACE,
    ancestors,
    contains,
    parse_namespace,
    parse_scope,
)
from memento.errors import InvalidInput, InvalidScope

segments = st.text("abc -_.üж東", min_size=1, max_size=4).filter(
    lambda s: s.strip() and s not in {".", ".."}
)
paths = st.lists(segments, max_size=4).map("/".join)


@given(paths, st.sampled_from(["", "/", "//"]), st.sampled_from(["", "/", "///"]))
def test_a_path_has_one_spelling(path, before, after):
    """Slashes at the ends do not matter, and parsing twice changes nothing."""
    parsed = parse_scope(before + path + after)
    assert parsed == path
    assert parse_scope(parsed) == parsed


@given(paths, paths)
def test_containment_is_by_segments(outer, inner):
    """A path lies in another if its segments begin with the other's."""
    ours, theirs = (path.split("/") if path else [] for path in (outer, inner))
    assert contains(outer, inner) == (theirs[: len(ours)] == ours)


@given(paths)
def test_the_ancestors_are_all_that_contain_it(path):
    """From everywhere to the path itself, each once, each containing the next."""
    found = ancestors(path)
    assert found[0] == ""
    assert found[-1] == path
    assert len(set(found)) == len(found)
    assert all(contains(outer, inner) for outer, inner in pairwise(found))


@pytest.mark.parametrize("path", ["a//b", "a/./b", "..", "a/ /b", "a\tb", "x" * (MAX_LABEL + 1), 5])
def test_what_is_no_path_is_refused(path):
    """Empty and relative segments, control characters, too long, no string."""
    with pytest.raises(InvalidScope):
        parse_scope(path)


@pytest.mark.parametrize(
    "labels", ["", (), [""], [" "], [5], 5, None, b"ab", {"a"}, "x" * 257, "a\n"]
)
def test_what_is_no_namespace_is_refused(labels):
    """There is no label that means everyone; the error is an InvalidInput naming the field."""
    with pytest.raises(InvalidScope) as caught:
        parse_namespace(labels)
    assert isinstance(caught.value, InvalidInput)
    assert caught.value.field == "namespace"


def test_labels_do_not_run_together(memory):
    """("a", "b") is not ("a/b",), nor ("ab",)."""
    memory.of("a", "b").add("hello")
    for labels in (("a/b",), ("ab",), ("a",), ("b",), ("a", "b", "c"), ('a","b',)):
        assert memory.of(*labels).list() == []
    assert len(memory.of("a", "b").list()) == 1


SCOPES = ["", "a", "a/b", "a/b/c", "ab", "b", "a0", "a-b", "a/bc", "A"]


@pytest.mark.parametrize("asked", [*SCOPES, ("a/b", "b"), ("ab", "")])
def test_a_scope_filter_takes_what_applies_there(memory, asked):
    """At the path, below it or above it; `a` never matches `ab`; list and retrieve agree."""
    memory.add_many({"text": f"note number {n}", "scope": scope} for n, scope in enumerate(SCOPES))
    wanted = (asked,) if isinstance(asked, str) else asked
    expected = {
        scope for scope in SCOPES if any(contains(scope, w) or contains(w, scope) for w in wanted)
    }
    assert {m.scope for m in memory.list(scope=asked)} == expected
    assert {hit.memory.scope for hit in memory.retrieve("note", k=50, scope=asked)} == expected


def test_a_namespace_is_bounded():
    """So many labels and so many characters of them together, and not one more."""
    most = ["x"] * MAX_LABELS
    assert parse_namespace(most) == tuple(most)
    with pytest.raises(InvalidScope, match=f"{MAX_LABELS + 1} labels; the maximum is {MAX_LABELS}"):
        parse_namespace([*most, "x"])
    long = ["x" * MAX_LABEL] * (MAX_NAMESPACE // MAX_LABEL)
    assert parse_namespace(long) == tuple(long)
    with pytest.raises(InvalidScope, match=f"exceed {MAX_NAMESPACE} characters in total"):
        parse_namespace([*long, "x"])
