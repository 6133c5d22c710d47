"""Conditions on metadata: SQL finds what the same rules in Python find."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.errors import InvalidInput
from memento.ledger.filters import MAX_PATH, OPERATORS

ABSENT = object()
COMPARED = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.integers(-4000, 4000).map(lambda n: n / 8),
)
WORDS = st.one_of(
    st.sampled_from(["", "a", "b", "1", "true", "Z", "é", "\uffee", "\U00010348"]),
    st.text("ab", max_size=3),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS)
NAMES = st.sampled_from(["a", "b", "a.b", "b.a", "", ".", '"', "é", "0"])
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.dictionaries(NAMES, below, max_size=3), st.lists(below, max_size=2)),
    max_leaves=6,
)
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), SCALARS),
    st.tuples(st.just("$in"), st.lists(SCALARS, min_size=1, max_size=3)),
    st.tuples(st.just("$nin"), st.lists(SCALARS, max_size=3)),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.one_of(NUMBERS, WORDS)),
    st.tuples(st.just("$exists"), st.booleans()),
)
WANTED = st.recursive(
    st.one_of(
        SCALARS,
        st.lists(SCALARS, min_size=1, max_size=3),
        st.lists(OPERATIONS, min_size=1, max_size=2).map(dict),
    ),
    lambda below: st.dictionaries(NAMES, below, min_size=1, max_size=2),
    max_leaves=4,
)


def at(metadata, names):
    """Return the field at a path, or ABSENT."""
    for name in names:
        if not isinstance(metadata, dict) or name not in metadata:
            return ABSENT
        metadata = metadata[name]
    return metadata


def field(metadata, names):
    """Return the field of exactly these names; without one, that of the names split at dots."""
    found = at(metadata, names)
    return found if found is not ABSENT else at(metadata, ".".join(names).split("."))


def number(value):
    """Tell whether a field is a number, which a bool is not in JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(found, wanted):
    """Tell whether a field equals a scalar; null equals an absent field."""
    if wanted is None:
        return found is None or found is ABSENT
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return (type(found) is str and found == wanted) or (number(found) and found == wanted)


def holds(found, word, bound):
    """Tell whether a field fits an operator."""
    if word in ("$eq", "$ne"):
        return equal(found, bound) == (word == "$eq")
    if word in ("$in", "$nin"):
        return any(equal(found, one) for one in bound) == (word == "$in")
    if word == "$exists":
        return (found is not ABSENT) == bound
    alike = (number(found) and number(bound)) or (type(found) is str and type(bound) is str)
    return alike and COMPARED[word](found, bound)


def fits(metadata, where, above=()):
    """Tell whether metadata fits ``where``, by the words of its documentation."""
    for name, wanted in where.items():
        names = (*above, name)
        if isinstance(wanted, dict) and any(word in OPERATORS for word in wanted):
            found = field(metadata, names)
            passed = all(holds(found, word, bound) for word, bound in wanted.items())
        elif isinstance(wanted, dict):
            passed = fits(metadata, wanted, names)
        else:
            options = wanted if isinstance(wanted, list) else [wanted]
            passed = holds(field(metadata, names), "$in", options)
        if not passed:
            return False
    return True


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """An empty store; each example replaces the memories of the one before."""
    with MemoryManager(tmp_path_factory.mktemp("shelf"), embedder=None) as memory:
        yield memory


@settings(max_examples=60)
@given(
    metadata=st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=8),
    wheres=st.lists(st.dictionaries(NAMES, WANTED, min_size=1, max_size=2), min_size=1, max_size=8),
)
def test_sql_finds_what_python_finds(shelf, metadata, wheres):
    """On any metadata and any condition, the listing is the same as that of the rules in Python."""
    kept = shelf.add_many(
        [{"text": f"note {n}", "metadata": one, "id": f"m{n}"} for n, one in enumerate(metadata)],
        replace=True,
    )
    ids = [one.id for one in kept]
    for where in wheres:
        expected = [f"m{n}" for n, data in enumerate(metadata) if fits(data, where)]
        assert [one.id for one in shelf.list(where=where, ids=ids)] == expected, where


@pytest.mark.parametrize(
    ("where", "texts"),
    [
        ({"price": {"$gt": 3}}, "bc"),
        ({"price": {"$gt": 3, "$lte": 9}}, "b"),
        ({"price": {"$gt": "3"}}, "d"),
        ({"price": {"$ne": 9}}, "acdef"),
        ({"price": {"$nin": [9, None]}}, "acd"),
        ({"price": {"$exists": False}}, "e"),
        ({"price": {"$exists": True}}, "abcdf"),
        ({"price": None}, "ef"),
        ({"shop.city": "Ur"}, "ac"),
        ({"shop": {"city": "Ur"}}, "ac"),
        ({"shop": {"city": {"$in": ["Ur", "Uruk"]}}}, "abc"),
        ({"shop.city": "literal"}, "d"),
    ],
)
def test_what_each_condition_finds(memory, where, texts):
    """Each operator in one example, in a listing and in a retrieval."""
    data = {
        "a": {"price": 3, "shop": {"city": "Ur"}},
        "b": {"price": 9, "shop": {"city": "Uruk"}},
        "c": {"price": 9.5, "shop": {"city": "Ur", "x": 1}},
        "d": {"price": "9", "shop.city": "literal", "shop": {"city": "Nippur"}},
        "e": {"shop": ["Ur"]},
        "f": {"price": None},
    }
    for name, metadata in data.items():
        memory.add(f"offer {name}", "long", metadata=metadata)
    assert "".join(one.text[-1] for one in memory.list(where=where)) == texts
    assert {hit.text[-1] for hit in memory.retrieve("offer", 10, where=where)} == set(texts)
    assert sum(memory.store.counts(where=where).values()) == len(texts)
    assert len(memory.forget_many(where=where)) == len(texts)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"a": {"$gte2": 1}}, "'$gte2' is not one of: $eq, $ne"),
        ({"a": {"$": 1}}, "is not one of"),
        ({"a": {"$gt": 1, "b": 2}}, "'b' is not one of"),
        ({"a": {"$gt": None}}, "requires a number or a string"),
        ({"a": {"$lt": True}}, "requires a number or a string"),
        ({"a": {"$lt": [1]}}, "must be compared with scalars"),
        ({"a": {"$gt": float("nan")}}, "NaN is not equal to anything"),
        ({"a": float("nan")}, "NaN is not equal to anything"),
        ({"a": {"$in": 1}}, "requires a list"),
        ({"a": {"$exists": 1}}, "True or False"),
        ({"$or": [{"a": 1}]}, "is not a metadata key"),
        ({"$gt": 1}, "is not a metadata key"),
        ({"a": {"b": {}}}, "has no condition"),
        ({"a": []}, "has an empty list"),
        ({"a": {"b": {"$in": ()}}}, "has an empty list"),
        ({"a": {1: 2}}, "keys must be strings"),
        ({"a": {"b": {"$eq": {"c": 1}}}}, "must be compared with scalars"),
        ({"a": [[1]]}, "must be compared with scalars"),
        ({".".join("a" * (MAX_PATH + 1)): 1}, "nested deeper"),
        ({f"k{n}": 1 for n in range(65)}, "more than 64 conditions"),
    ],
)
def test_what_is_no_condition_is_refused(memory, where, problem):
    """An unknown operator or a wrong shape is an error that says what is accepted."""
    with pytest.raises(InvalidInput) as raised:
        memory.list(where=where)
    assert raised.value.field.startswith("where")
    assert problem in str(raised.value)


def test_a_name_is_not_code(memory):
    """A key that looks like an operator is found by its name, at the top and below a dot."""
    kept = memory.add("a note", metadata={"$x": 1, "a": {"$gt": 2}})
    assert memory.list(where={"$x": 1}) == memory.list(where={"a.$gt": 2}) == [kept]
    assert memory.list(where={"a": {"$gt": 1}}) == []


def test_the_largest_condition_is_read(memory):
    """As many conditions, names and values as are accepted make a statement that SQLite takes."""
    path = ".".join("a" * (MAX_PATH - 1))
    wide = {f"{path}.k{n}": [None, *range(399)] for n in range(64)}
    kept = memory.add("a note")
    assert memory.list(where=wide) == [kept]
