"""MementoStore answers as InMemoryStore does, operation by operation.

``EXACT_OPERATIONS`` in the environment says how many random ones to try; ``just exact`` 10,000.
"""

from __future__ import annotations

import copy
import itertools
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("langgraph", reason="pip install 'agent-memento[langgraph]'")

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memento import MemoryManager
from memento.base.scopes import parse_scope
from memento.errors import InvalidInput
from memento_langgraph import MementoStore
from memento_langgraph._matching import labels_of, scope_of

OPERATIONS = int(os.environ.get("EXACT_OPERATIONS", "1000"))
EXAMPLES = max(1, OPERATIONS // 40)
ALL = 1000
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "langgraph.md"

labels = st.sampled_from(["a", "b", "users", "a/b", "~", "%7E", "é 茶", "*x"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
prefixes = st.lists(labels, max_size=2).map(tuple)
keys = st.sampled_from(["k1", "k2", "k/3", "", "ключ"])
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | words
values = st.fixed_dictionaries(
    {"n": st.integers(-5, 5) | st.sampled_from([0.5, -0.0])},
    optional={
        "kind": st.sampled_from(["note", "task", 'quo"te', "€"]),
        "flag": scalars,
        "deep": st.fixed_dictionaries({"x": scalars}),
        "many": st.lists(scalars, max_size=3),
    },
)
orders = st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.integers(-5, 5), min_size=1
)
filters = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": orders | st.integers(-5, 5),
        "kind": st.sampled_from(["note", "task", 'quo"te']) | st.just({"$ne": "note"}),
        "flag": scalars,
        "deep": st.fixed_dictionaries({"x": scalars | st.just({"$eq": 1})}),
        "many": st.lists(scalars, max_size=2),
    },
)
paths = st.lists(labels | st.just("*"), min_size=1, max_size=3).map(tuple)
conditions = st.lists(
    st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), paths), max_size=2
).map(tuple)
limits, offsets = st.sampled_from([0, 1, 2, ALL, ALL, ALL]), st.sampled_from([0, 0, 0, 1, 3])
puts = st.builds(
    PutOp, namespaces, keys, values, st.sampled_from([None, False, ["kind"]]), st.none()
)
deletes = st.builds(PutOp, namespaces, keys, st.none(), st.none(), st.none())
gets = st.builds(GetOp, namespaces, keys, st.booleans())
searches = st.builds(SearchOp, prefixes, filters, limits, offsets, st.none(), st.booleans())
listings = st.builds(
    ListNamespacesOp, st.none() | conditions, st.none() | st.integers(0, 3), limits, offsets
)
batches = st.lists(puts | deletes | gets | searches | listings, min_size=3, max_size=5)


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    """Share one store between the examples; each has a namespace of its own."""
    with MemoryManager(tmp_path_factory.mktemp("exact"), embedder=None) as opened:
        yield opened


class Reference(InMemoryStore):
    """Exception: InMemoryStore also lists namespaces that were emptied or merely read."""

    def _handle_list_namespaces(self, op):
        for namespace in [name for name, items in self._data.items() if not items]:
            del self._data[namespace]
        return super()._handle_list_namespaces(op)


fresh = itertools.count()
FIELDS = {"fields": ["kind", "flag", "many[*]"]}
"""Several texts for an item, each stored as a part of it: no answer may show that."""


def new_store(manager):
    """Make a store in a namespace of its own, every second one with parts of items."""
    case = next(fresh)
    return MementoStore(manager.of(f"case-{case}"), index=FIELDS if case % 2 else None)


def test_the_same_operations_have_the_same_answers(manager):
    """In random batches of every operation, each answer is InMemoryStore's, exceptions aside."""
    done: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],  # shrinking that much would take minutes
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(batches, min_size=14, max_size=18))
    def compare(given_batches):
        ours, theirs = new_store(manager), Reference()
        for batch in given_batches:
            answers = zip(batch, ours.batch(batch), theirs.batch(batch), strict=True)
            for op, answer, expected in answers:
                done[type(op).__name__] += 1
                if isinstance(op, SearchOp):
                    _same_search(op, answer, expected)
                else:
                    assert _plain(answer) == _plain(expected), op

    compare()
    assert sum(done.values()) >= OPERATIONS, done
    assert min(done.values()) >= OPERATIONS / 10, done


@given(st.lists(st.text(max_size=8) | labels, max_size=4).map(tuple))
def test_a_namespace_comes_back_from_its_scope(namespace):
    """Its labels may hold slashes, blanks, dots, percent signs, half a character."""
    scope = scope_of(namespace)
    assert labels_of(scope) == namespace
    assert parse_scope(scope) == scope


@settings(max_examples=30, deadline=None)
@given(st.lists(puts | deletes, max_size=40), st.integers(1, 7))
def test_pages_are_a_partition(manager, writes, size):
    """Pages of any size, one after the other, show each item once and in one order."""
    store = new_store(manager)
    store.batch(writes)
    whole = store.search((), limit=1000)
    pages = [store.search((), limit=size, offset=at) for at in range(0, len(whole) + 1, size)]
    assert [item for page in pages for item in page] == whole


def test_items_of_a_namespace_keep_the_order_of_their_first_put(manager):
    """As in a dictionary, an overwritten key stays in its place."""
    stores = MementoStore(manager.of("order")), InMemoryStore()
    for store in stores:
        for key in "cabca":
            store.put(("x",), key, {"again": key})
    ours, theirs = ([item.key for item in store.search(("x",))] for store in stores)
    assert ours == theirs == ["c", "a", "b"]


def test_a_key_put_again_after_its_delete_is_new(manager):
    """Created when put again, with nothing of its former life."""
    store = MementoStore(manager.of("again"))
    store.put(("x",), "k", {"old": 1})
    first = store.get(("x",), "k")
    store.delete(("x",), "k")
    assert store.get(("x",), "k") is None
    store.put(("x",), "k", {"new": 2})
    second = store.get(("x",), "k")
    assert second.value == {"new": 2}
    assert second.created_at > first.created_at
    store.put(("x",), "k", {"new": 3})
    assert store.get(("x",), "k").created_at == second.created_at


def _got(store: Any, value: Any, namespace: tuple[str, ...] = ("a",)) -> Any:
    store.put(namespace, "k", value)
    return store.get(namespace, "k").value


def _searched(store: Any, **options: Any) -> list[str]:
    store.put(("a",), "k", {"text": "hello world", "password": "hunter2"})
    return [item.key for item in store.search(("a",), **options)]


def _mutated(store: Any) -> Any:
    store.put(("a",), "k", {"n": [1]})
    store.get(("a",), "k").value["n"].append(2)
    return store.get(("a",), "k").value


def _half_bad(store: Any) -> Any:
    with suppress(InvalidInput):
        store.batch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", {"n": {1}})])
    return len(store.search(("a",)))


def _read_only_looked_at(store: Any) -> Any:
    store.get(("a",), "k")
    return store.list_namespaces()


def _order(store: Any) -> Any:
    for namespace, key in (("a", "1"), ("b", "2"), ("a", "3")):
        store.put((namespace,), key, {})
    return [item.key for item in store.search(())]


def _created_first(store: Any) -> bool:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k").created_at
    store.put(("a",), "k", {"n": 2})
    return bool(store.get(("a",), "k").created_at == first)


EXCEPTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "A tuple comes back as a list": (lambda s: _got(s, {"a": (1, 2)}), {"a": [1, 2]}),
    "cannot represent (bytes": (lambda s: _got(s, {"a": b"x"}), InvalidInput),
    "non-finite numbers": (lambda s: _got(s, {"a": float("nan")}), InvalidInput),
    "keys that are not strings": (lambda s: _got(s, {1: 2}), InvalidInput),
    "Characters that cannot be stored in a database": (
        lambda s: _got(s, {"a": "\0"}),
        InvalidInput,
    ),
    "that cannot be stored in a database": (
        lambda s: s.put(("a",), "\0", {}) or s.get(("a",), "\0").key,
        InvalidInput,
    ),
    "cannot be stored in a database and": (lambda s: _got(s, {"a": "\ud800"}), InvalidInput),
    "at most `Config.limits.metadata_bytes`": (
        lambda s: _got(s, {"a": "x" * 1_100_000}),
        InvalidInput,
    ),
    "the field `__memento__`": (lambda s: _got(s, {"__memento__": 1}), InvalidInput),
    "Values are copies": (_mutated, {"n": [1]}),
    "A batch is atomic": (_half_bad, 0),
    "`created_at` is the time of a key's first `put`": (_created_first, True),
    "ordered by the first `put` of their keys": (_order, ["1", "2", "3"]),
    "if it was only read": (_read_only_looked_at, []),
    "is neither greater nor less": (lambda s: _searched(s, filter={"x": {"$gt": 1}}), []),
    "replaced by a marker": (
        lambda s: _got(s, {"password": "hunter2"}),
        {"password": "[redacted:password]"},
    ),
    "a filter for a secret finds nothing": (
        lambda s: _searched(s, filter={"password": "hunter2"}),
        [],
    ),
    "returns only relevant items": (lambda s: _searched(s, query="zebra"), []),
    "only of spaces or punctuation finds nothing": (lambda s: _searched(s, query=" ?"), []),
    "A negative `limit` or `offset`": (lambda s: _searched(s, limit=-1), InvalidInput),
    "at most 256 characters": (lambda s: _got(s, {}, ("x",) * 200), InvalidInput),
    "An unknown operator": (lambda s: _searched(s, filter={"text": {"$in": []}}), InvalidInput),
}
"""Words of the page that name an exception to what, and ours."""


@pytest.mark.parametrize("words", EXCEPTIONS)
def test_an_exception_is_one_and_is_named(manager, words):
    """Where MementoStore answers otherwise than InMemoryStore, the page says so."""
    ask, expected = EXCEPTIONS[words]
    ours = MementoStore(manager.of(f"case-{next(fresh)}"))
    if expected is InvalidInput:
        with pytest.raises(InvalidInput):
            ask(ours)
    else:
        assert ask(ours) == expected
    try:
        theirs = ask(InMemoryStore())
    except (TypeError, ValueError) as error:
        theirs = error
    assert theirs != expected
    assert not isinstance(theirs, InvalidInput)
    named = PAGE.read_text(encoding="utf-8").partition("## Where it differs")[2]
    assert words in " ".join(named.split())


def test_a_copy_is_the_store(manager):
    """Graphs and their configurations are copied deeply; the store in them is shared."""
    store = MementoStore(manager.of(f"case-{next(fresh)}"))
    for another in (copy.deepcopy({"store": [store]})["store"][0], copy.copy(store)):
        another.put(("a",), "k", {"n": 1})
        assert store.get(("a",), "k").value == {"n": 1}
        store.delete(("a",), "k")
        assert another.get(("a",), "k") is None


def _same_search(op: SearchOp, answer: Any, expected: Any) -> None:
    """Exception: the order across namespaces, and of keys put again after a delete."""
    assert len(answer) == len(expected), op
    if op.offset == 0 and op.limit == ALL:  # a smaller window may show others
        assert sorted(map(_plain, answer), key=repr) == sorted(map(_plain, expected), key=repr), op
    assert all(item.score is None for item in answer)


def _plain(answer: Any) -> Any:
    if isinstance(answer, Item):
        return answer.namespace, answer.key, answer.value
    return answer


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"user.role": "guest"}, 1),  # the field of this name goes before the path
        ({"user.role": "admin"}, 0),
        ({"user": {"role": "admin"}}, 1),
        ({"user.access-level": "all"}, 1),
        ({"user.team.name": {"$ne": "b"}}, 1),
        ({"user.team.name.x": "a"}, 0),
        ({"user.unknown": None}, 1),
    ],
)
def test_a_name_with_dots_is_a_path_where_no_field_has_it(manager, wanted, found):
    """As in SqliteStore; a field of that very name is found as in InMemoryStore."""
    store = MementoStore(manager.of(f"case-{next(fresh)}"))
    user = {"role": "admin", "access-level": "all", "team": {"name": "a"}}
    store.put(("a",), "k", {"user": user, "user.role": "guest"})
    assert len(store.search(("a",), filter=wanted)) == found
