"""The one place that decides what may be seen: against the same rules in Python."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.base.scopes import contains
from memento.testing import ManualClock

START = ManualClock()()
HOUR = timedelta(hours=1)
VALUES = [None, True, False, 0, 1, 1.5, "", "1", "true", "x", [1], {"a": 1}]
MANY = 40


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Memories that differ in everything that can be filtered by."""
    clock = ManualClock(START)
    with MemoryManager(tmp_path_factory.mktemp("shelf"), embedder=None, clock=clock) as memory:
        kept = memory.add_many(
            {
                "text": f"note number{n}",
                "id": f"m{n}",
                "tier": ("short", "medium", "long")[n % 3],
                "kind": ("fact", "rule", "episode", "question")[n % 4],
                "scope": ("", "a", "a/b", "ab", "a/b/c")[n % 5],
                "session": (None, "s", "t")[n % 7 % 3],
                "tags": [["x"], ["x", "y"], [], ["xy"]][n % 4],
                "metadata": {"v": VALUES[n % len(VALUES)], 'k"ey': n % 2, "n": n},
                "occurred_at": START + n * HOUR,
                "valid_until": START + (n + 10) * HOUR if n % 5 == 0 else None,
                "expires_in": 3600 * (n + 1) if n % 6 == 0 else None,
                "pinned": n % 8 == 0,
            }
            for n in range(MANY)
        )
        for at in (3, 11, 19):
            memory.forget(kept[at].id)
        for at in (4, 12):
            memory.add(
                f"newer than number{at}", supersedes=kept[at].id, occurred_at=START + 60 * HOUR
            )
        clock.advance(5 * HOUR)
        yield memory, clock


def one_or_several(*values):
    """Draw one of some values, or a list of them."""
    return st.one_of(
        st.sampled_from(values), st.lists(st.sampled_from(values), min_size=1, max_size=3)
    )


filters = st.fixed_dictionaries(
    {},
    optional={
        "tier": one_or_several("short", "medium", "long"),
        "kind": one_or_several("fact", "rule", "episode", "article"),
        "scope": one_or_several("", "a", "a/b", "ab", "b"),
        "within": one_or_several("", "a", "a/b", "ab", "b"),
        "session": one_or_several("s", "t", "u"),
        "tag": one_or_several("x", "y", "xy"),
        "any_tag": one_or_several("x", "y", "xy"),
        "ids": st.lists(st.integers(0, 45).map(lambda n: f"m{n}"), min_size=1, max_size=30),
        "where": st.dictionaries(
            st.sampled_from(["v", 'k"ey', "n", "none", "$.v"]),
            st.one_of(
                st.sampled_from(VALUES[:10]),
                st.lists(st.sampled_from([*VALUES[:10], 3, 7]), min_size=1, max_size=3),
            ),
            max_size=2,
        ),
        "since": st.integers(-2, 45).map(lambda n: START + n * HOUR),
        "until": st.integers(-2, 70).map(lambda n: START + n * HOUR),
    },
)


def several(value):
    """Read one value or a list as a list."""
    return value if isinstance(value, list) else [value]


def same(stored, asked):
    """Compare as JSON does: a number is no truth value."""
    if isinstance(stored, bool) or isinstance(asked, bool) or stored is None or asked is None:
        return stored is asked
    return not isinstance(stored, list | dict) and stored == asked


def fits(metadata, key, choices):
    """Say whether one metadata key has one of some values; none at all is as good as null."""
    return any(same(metadata.get(key), choice) for choice in choices)


def passes(memory, asked):
    """Say whether a memory fits the filters, by the words of their documentation."""
    where = asked.get("where", {})
    return (
        ("tier" not in asked or memory.tier in several(asked["tier"]))
        and ("kind" not in asked or memory.kind in several(asked["kind"]))
        and ("session" not in asked or memory.session in several(asked["session"]))
        and ("tag" not in asked or set(several(asked["tag"])) <= set(memory.tags))
        and (
            "scope" not in asked
            or any(
                contains(memory.scope, s) or contains(s, memory.scope)
                for s in several(asked["scope"])
            )
        )
        and (
            "within" not in asked
            or any(contains(s, memory.scope) for s in several(asked["within"]))
        )
        and ("any_tag" not in asked or not set(several(asked["any_tag"])).isdisjoint(memory.tags))
        and ("ids" not in asked or memory.id in asked["ids"])
        and all(fits(memory.metadata, key, several(value)) for key, value in where.items())
        and ("since" not in asked or memory.occurred_at >= asked["since"])
        and ("until" not in asked or memory.occurred_at < asked["until"])
    )


@settings(max_examples=80)
@given(
    asked=filters,
    pinned=st.sampled_from([None, True, False]),
    status=st.sampled_from([None, "active", "superseded", ["active", "forgotten"]]),
)
def test_list_shows_exactly_what_fits(shelf, asked, pinned, status):
    """Every combination of filters: all that fit, none that does not, in order of arrival."""
    memory, clock = shelf
    everything = memory.list(status=["active", "superseded", "forgotten"], limit=1000)
    assert len(everything) < MANY + 2  # some expired
    wanted = several(status or "active")
    expected = [
        m
        for m in everything
        if m.status in wanted
        and (pinned is None or m.pinned == pinned)
        and passes(m, asked)
        and (m.valid_until is None or m.valid_until > clock() or m.status == "superseded")
    ]
    options = {"pinned": pinned, "status": status, "limit": 1000} | asked
    assert memory.list(**options) == expected
    assert memory.list(newest_first=True, **options) == expected[::-1]
    assert memory.list(**(options | {"limit": 3, "offset": 2})) == expected[2:5]


@settings(max_examples=80)
@given(
    asked=filters,
    superseded=st.booleans(),
    as_of=st.none() | st.integers(-3, 80).map(lambda n: START + n * HOUR),
)
def test_retrieve_finds_exactly_what_fits(shelf, asked, superseded, as_of):
    """The read path keeps the same rules in RAM: a word that all have finds all that fit."""
    memory, clock = shelf
    found = memory.retrieve(
        "note number newer",
        k=1000,
        include_superseded=superseded,
        as_of=as_of,
        record=False,
        **asked,
    )
    ids = [i for hit in found for i in (hit.id, *hit.folded)]
    everything = memory.list(status=["active", "superseded"], limit=1000)
    held = [memory.get(i) for i in ids]
    assert all(passes(m, asked) for m in held)
    shown = {"active", "superseded"} if superseded or as_of else {"active"}

    def holds(m):
        if as_of is None:
            return m.valid_until is None or m.valid_until > clock() or m.status == "superseded"
        return m.valid_from <= as_of and (m.valid_until is None or m.valid_until > as_of)

    def until_a_plan(m):
        return m.valid_until is not None and m.valid_from <= clock() < m.valid_until

    fitting = [m for m in everything if passes(m, asked) and holds(m)]
    candidates = [m for m in fitting if m.status in shown or (not as_of and until_a_plan(m))]
    if as_of is None:
        assert set(ids) == {m.id for m in candidates}
    else:  # list leaves out what holds no more; as_of brings it back
        assert {m.id for m in candidates} <= set(ids)
        assert all(holds(m) for m in held)
