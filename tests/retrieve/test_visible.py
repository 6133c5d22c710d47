"""The same rows are visible in SQL (`predicate`) as in RAM (`allow`)."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from memento import MemoryManager, Source
from memento.ledger import memories
from memento.ledger.filters import filters_of
from memento.ledger.predicate import Filters
from memento.retrieve.columns import Roster
from memento.retrieve.searcher import _rows_since
from memento.retrieve.visible import allow, needs_ledger
from memento.status import TABLE
from memento.types import Kind, Tier

ROWS = 250
MOMENTS = range(100)
SCOPES = ("a", "a/b", "ab", "a/b/c", "a0", "b")
SESSIONS = ("s", "t", "S")
TAGS = ("x", "y", "xy")
ACTORS = ("ada", "bob")
PAGE = "https://page.example"
VALUES = (None, True, False, 0, 1, 1.5, "", "1", "true", "x")


def one_of(values):
    """Draw some of some values, or none."""
    return st.lists(st.sampled_from(tuple(values)), max_size=3, unique=True).map(tuple)


moments = st.none() | st.sampled_from(MOMENTS)
FILTERS = {
    "now": st.sampled_from(MOMENTS),
    "tiers": one_of(tier.value for tier in Tier),
    "kinds": one_of(kind.value for kind in (Kind.FACT, Kind.RULE, Kind.EPISODE, Kind.ARTICLE)),
    "statuses": one_of(status.value for status in TABLE),
    "scopes": one_of(("", *SCOPES, "c")),
    "within": one_of((*SCOPES, "c")),
    "sessions": one_of((*SESSIONS, "u")),
    "tags": one_of(TAGS),
    "any_tags": one_of(TAGS),
    "where": st.dictionaries(
        st.sampled_from(("v", 'k"ey', "absent")),
        st.sampled_from(VALUES) | st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
        max_size=2,
    ).map(lambda where: filters_of(0, where=where).where),
    "keys": st.lists(st.integers(0, ROWS + 5).map(lambda n: f"k{n}"), max_size=30).map(tuple),
    "actors": one_of((*ACTORS, "eve")),
    "roles": one_of(("user", "assistant", "tool")),
    "sources": one_of(("user", "agent", "web", PAGE, "https://else.example")),
    "without": st.lists(st.integers(0, ROWS + 5).map(lambda n: f"m{n}"), max_size=30).map(tuple),
    "ids": st.lists(st.integers(0, ROWS + 5).map(lambda n: f"m{n}"), max_size=30).map(tuple),
    "pinned": st.sampled_from((None, True, False)),
    "since": moments,
    "until": moments,
    "as_of": moments,
    "until_a_plan": st.booleans(),
}
"""How to draw a value of each filter. A filter that is missing here is not compared."""


def some(random):
    """Make a memory that differs from others in all that is filtered by."""
    return {
        "tier": random.choice([tier.value for tier in Tier]),
        "kind": random.choice(["fact", "rule", "episode"]),
        "scope": random.choice(["", *SCOPES]),
        "session": random.choice([None, *SESSIONS]),
        "tags": random.sample(TAGS, random.randrange(3)),
        "metadata": {"v": random.choice([*VALUES, [1], {"x": 1}]), 'k"ey': random.choice(VALUES)},
        "actor": random.choice([None, *ACTORS]),
        "role": random.choice([None, "user", "assistant"]),
        "source": random.choice([Source("user"), Source("user", PAGE), Source("agent")]),
    }


def stored(random):
    """Choose values for columns in which only the course of time makes memories differ."""
    return {
        "status": random.choice([status.value for status in TABLE]),
        "superseded_by": random.choice([None, None, "m1", "missing"]),
        "pinned": random.choice([0, 0, 1, 2, 4, 5]),
        "occurred_at": random.choice(MOMENTS),
        "valid_from": random.choice(MOMENTS),
        "valid_until": random.choice([None, random.choice(MOMENTS)]),
        "expires_at": random.choice([None, None, random.choice(MOMENTS)]),
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same rows twice: ask SQL, and ask the outlines in RAM."""
    random = Random(7)
    with MemoryManager(tmp_path_factory.mktemp("both"), embedder=None) as memory:
        memory.add_many(
            {"text": f"note {n}", "id": f"m{n}", "key": f"k{n}"} | some(random) for n in range(ROWS)
        )
        memory.store.erase([f"m{n}" for n in range(20, 30)])
        ledger = memory._engine.ledger
        ns = ledger.find_namespace(("default",))
        for n in range(ROWS):
            columns = stored(random)
            setting = ", ".join(f"{name} = ?" for name in columns)
            change = f"UPDATE memories SET {setting} WHERE id = ?"
            values = (*columns.values(), f"m{n}")
            ledger.write(lambda s, change=change, values=values: s.execute(change, values))
        roster = Roster()
        roster.apply(ledger.read(lambda s: _rows_since(s, ns, 0)))
        snap = roster.view()

        def in_sql(filters):
            return ledger.read(lambda s: memories.matching(s, ns, filters))

        def in_ram(filters):
            docids = np.array(in_sql(filters), np.int64) if needs_ledger(filters) else None
            named = ledger.read(lambda s: memories.docids_of(s, ns, list(filters.without)))
            hidden = np.array(list(named.values()), np.int64) if named else None
            return snap.docid[allow(snap, filters, docids, hidden)].tolist()

        yield in_sql, in_ram


def test_every_filter_is_compared():
    """A new filter is drawn here before it can pass."""
    assert set(FILTERS) == {field.name for field in fields(Filters)}


@given(st.builds(Filters, **FILTERS))
def test_sql_and_ram_show_the_same_rows(both, filters):
    """Any filters together: exactly the same rows, in the same order."""
    in_sql, in_ram = both
    assert in_ram(filters) == in_sql(filters)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_each_filter_alone_shows_the_same_rows(both, name):
    """One filter alone, as others would hide most rows: the same rows, and it does hide some."""
    in_sql, in_ram = both
    adds = name == "until_a_plan"  # to a status
    everything = Filters(now=50, statuses=("active",)) if adds else Filters(now=0, statuses=())

    @given(FILTERS[name])
    def same(value):
        filters = replace(everything, **{name: value})
        assert in_ram(filters) == in_sql(filters)

    same()
    find(  # raises if there is no such value
        FILTERS[name],
        lambda value: in_sql(replace(everything, **{name: value})) != in_sql(everything),
    )
