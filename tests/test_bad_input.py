"""Bad input is a typed error that names the field, and nothing is written."""

from __future__ import annotations

import functools
import math
from datetime import UTC, datetime, timedelta, timezone
from operator import attrgetter
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Draft, MemoryManager, Source
from memento.check import MAX_DEPTH, MAX_ITEMS, MAX_NAME
from memento.errors import IdConflict, InvalidInput, InvalidScope, NotFound
from memento.testing import HashEmbedder

NAIVE = datetime(2025, 1, 1)  # noqa: DTZ001 - the point of it
BEYOND = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
BEFORE = datetime.min.replace(tzinfo=timezone(timedelta(hours=12)))
DEEP: list = []
for _ in range(MAX_DEPTH):
    DEEP = [DEEP]
LOOP: dict = {}
LOOP["self"] = LOOP
WRONG_NAME = ["", "  ", "nul \0", "\ud800", "x" * (MAX_NAME + 1), 5, b"bytes", ["list"], True]
WRONG_NAMES = ["one string", None, 5, [""], [None], [5], ["\0"], ["\ud800"], {1, "a"}, b"ab"]
WRONG_TIME = [NAIVE, BEYOND, BEFORE, "2025-01-01", 1735689600, True]
WRONG_IDS = [5, None, [""], [None], b"id", "new\nline", ["x" * 129], ["a"] * (MAX_ITEMS + 1)]

BAD = {
    "text": ["", " \n\t", "nul \0", "\ud800 alone", None, 5, b"bytes", ["list"], True],
    "tier": ["Long", "", "forever", 5, True, [], object()],
    "kind": ["Fact", "", None, 5, [], 10**5000],
    "importance": [-0.1, 1.1, math.nan, math.inf, "0.5", True, 10**400, 10**5000, 1j],
    "key": WRONG_NAME,
    "aliases": [*WRONG_NAMES, ["a"] * (MAX_ITEMS + 1)],
    "scope": ["a//b", "a/../b", ".", "a/ /b", "x" * 300, "a\nb", "\0", "\ud800", None, 5, b"a"],
    "session": WRONG_NAME,
    "actor": WRONG_NAME,
    "role": WRONG_NAME,
    "source": [
        "nobody",
        5,
        Source(kind="nobody"),
        Source(uri=""),
        Source(uri="x" * 2049),
        Source(uri="\0"),
        Source(uri=5),
        Source(model="\ud800"),
        Source(parents=None),
        Source(parents=("",)),
    ],
    "tags": [*WRONG_NAMES, [str(n) for n in range(MAX_ITEMS + 1)]],
    "metadata": [
        5,
        "text",
        ["list"],
        {1: "a"},
        {"a": {1: "b"}},
        {"a": math.nan},
        {"a": [math.inf]},
        {"a": {"set"}},
        {"a": object()},
        {"a": b"bytes"},
        {"a": "\0"},
        {"\0": "a"},
        {"a": ["\ud800"]},
        {"a": "x" * 1_100_000},
        {"a": DEEP},
        {"a": MappingProxyType({})},
        {"a": 10**5000},
        LOOP,
    ],
    "occurred_at": WRONG_TIME,
    "valid_until": [*WRONG_TIME, datetime(2025, 1, 1, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)],
    "expires_in": [0, -1, math.nan, math.inf, "60", True, 10**400, timedelta(0), timedelta.max],
    "pinned": [1, 0, "yes", None],
    "supersedes": WRONG_IDS,
    "related": WRONG_IDS,
    "id": ["", "new\nline", "\0", "\ud800", "x" * 129, 5, b"id", ["id"]],
}
GOOD = "a good text"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A store with one memory, in which every call is refused."""
    with MemoryManager(tmp_path_factory.mktemp("good"), embedder=None) as memory:
        memory.add(GOOD)
        yield memory


@pytest.mark.parametrize("field", BAD)
def test_add_refuses_it_by_name_and_writes_nothing(memory, field):
    """Every parameter of add, alone and in a batch after a good one: InvalidInput, no row."""
    for value in BAD[field]:
        given_here = {"text": GOOD, field: value}
        with pytest.raises(InvalidInput) as caught:
            memory.add(**given_here)
        assert caught.value.field.split(".")[0] == field, value
        with pytest.raises(InvalidInput) as caught:
            memory.add_many([GOOD, given_here])
        assert caught.value.field.startswith(f"items[1].{field}"), value
    assert memory.list() == []
    assert memory.store.stats().memories == 0


def test_ten_megabytes_are_refused_with_the_limit(memory):
    """The error says how long it is, what the limit is and what to do."""
    with pytest.raises(InvalidInput, match=r"10,485,760 characters; the limit is 65,536\. Split"):
        memory.add("x" * 10 * 1024 * 1024)


def test_the_longest_text_is_accepted(memory):
    """Exactly at the limit it is stored whole."""
    text = "wörter " * 9362 + "ab"
    assert len(text) == 65_536
    assert memory.get(memory.add(text).id).text == text


@pytest.mark.parametrize("items", ["one text", b"bytes", {"text": "a"}, None, 5])
def test_add_many_takes_a_list(memory, items):
    """One text is not a list of its characters."""
    with pytest.raises(InvalidInput, match="items"):
        memory.add_many(items)
    assert memory.list() == []


@pytest.mark.parametrize(
    "item", [None, 5, {"texts": "a"}, {}, {"text": "a", "kinds": "fact"}, ["a"]]
)
def test_add_many_names_the_position(memory, item):
    """An item that is no draft is named by its place, and none of the batch is written."""
    with pytest.raises(InvalidInput, match=r"items\[2\]"):
        memory.add_many(["a", Draft("b"), item, "c"])
    assert memory.list() == []


@pytest.mark.parametrize(
    "method", ["get", "update", "forget", "restore", "changes.history", "insight.related"]
)
def test_an_id_that_cannot_be_one_is_refused(good, method):
    """Each method that takes an id checks it first."""
    for wrong in ("", None, 5, "\0", "x" * 129):
        with pytest.raises(InvalidInput, match="id"):
            attrgetter(method)(good)(wrong)


UPDATE_BAD = {
    name: BAD[name]
    for name in ("text", "kind", "importance", "scope", "tags", "metadata", "pinned", "expires_in")
} | {
    "valid_until": WRONG_TIME,
    "add_aliases": BAD["aliases"],
    "remove_aliases": BAD["aliases"],
}


@pytest.mark.parametrize("field", UPDATE_BAD)
def test_update_refuses_the_same(memory, field):
    """A correction that cannot be accepted changes nothing, not even the version."""
    kept = memory.add(GOOD)
    for value in UPDATE_BAD[field]:
        with pytest.raises(InvalidInput):
            memory.update(kept.id, **{field: value})
    assert memory.get(kept.id) == kept


def test_aliases_cannot_be_piled_up_without_end(memory):
    """The limit holds for all aliases together."""
    kept = memory.add(GOOD, aliases=[f"a{n}" for n in range(MAX_ITEMS)])
    with pytest.raises(InvalidInput, match="add_aliases"):
        memory.update(kept.id, add_aliases=["one more"])


SHARES = [-0.1, 1.1, math.nan, "0.5", True, None, 10**5000]
COUNTS = [0, -1, True, 1.5, "5", 10**5000]
CHOICES = [[], 5, [None], [5], ["x"] * 401]
FILTER_BAD = {
    "tier": ["Long", ["short", "x"], *CHOICES],
    "kind": ["Fact", *CHOICES],
    "scope": ["a//b", [".."], *CHOICES],
    "session": ["", "\0", "\ud800", *CHOICES],
    "within": ["a//b", [".."], *CHOICES],
    "tag": ["", "\ud800", ["x"] * 65, *CHOICES],
    "any_tag": ["", "\ud800", *CHOICES],
    "ids": ["", "\ud800", "x" * 129, [], 5, [None], [5], ["x"] * 100_001],
    "where": [
        5,
        "a",
        [],
        {5: 1},
        {"\ud800": 1},
        {"a": "\ud800"},
        {"a": {}},
        {"a": {"$gt": None}},
        {"a": {"$no": 1}},
        {"$gt": 1},
        {"a": [[]]},
        {"a": 2**63},
        {"a": ["x"] * 401},
        {str(n): 1 for n in range(65)},
    ],
    "key": ["", "\0", "\ud800", *CHOICES],
    "actor": ["", "\0", "\ud800", *CHOICES],
    "role": ["", "\0", "\ud800", *CHOICES],
    "source": ["", "\0", "\ud800", *CHOICES],
    "since": WRONG_TIME,
    "until": WRONG_TIME,
}
RETRIEVE_BAD = FILTER_BAD | {
    "query": [None, 5, b"bytes", ["list"]],
    "k": [*COUNTS, 10_001],
    "match": ["Auto", "", None, 5],
    "as_of": WRONG_TIME,
    "min_score": SHARES,
    "cutoff": SHARES,
    "tokens": COUNTS,
    "include_superseded": ["yes", 1, None],
    "fold": ["yes", 1, None],
    "record": ["yes", 1, None],
}
LIST_BAD = FILTER_BAD | {
    "pinned": [1, "yes"],
    "status": ["gone", *CHOICES],
    "order": ["", "Arrival", None, 5],
    "newest_first": [1, None],
    "limit": [*COUNTS, None, 1_000_001],
    "offset": [-1, True, "1", None, 0.0],
}


@pytest.mark.parametrize("field", RETRIEVE_BAD)
def test_retrieve_refuses_it_by_name(good, field):
    """Every parameter of retrieve is checked before anything is looked up."""
    for value in RETRIEVE_BAD[field]:
        with pytest.raises(InvalidInput) as caught:
            good.retrieve(**{"query": "good", field: value})
        assert caught.value.field == field


@pytest.mark.parametrize("field", LIST_BAD)
def test_list_refuses_it_by_name(good, field):
    """Every parameter of list is checked."""
    for value in LIST_BAD[field]:
        with pytest.raises(InvalidInput) as caught:
            good.list(**{field: value})
        assert caught.value.field == field


@pytest.mark.parametrize("field", FILTER_BAD | {"pinned": [1, "yes"]})
def test_every_verb_with_filters_refuses_them_alike(good, field):
    """Count, forget and search by vector check the same; nothing is forgotten."""
    for value in (FILTER_BAD | {"pinned": [1, "yes"]})[field]:
        for verb in (
            good.store.counts,
            good.forget_many,
            functools.partial(good.store.nearest, [1.0]),
        ):
            with pytest.raises(InvalidInput) as caught:
                verb(**{field: value})
            assert caught.value.field == field
    assert len(good.list()) == 1


@pytest.mark.parametrize("nothing", [[], (), set(), frozenset(), {}])
def test_leaving_out_nothing_is_no_filter(good, nothing):
    """However it is written: it matches all, and is not enough to forget by."""
    assert len(good.list(without=nothing)) == 1
    for filters in ({"without": nothing}, {"without": nothing, "key": None}):
        with pytest.raises(InvalidInput) as caught:
            good.forget_many(**filters)
        assert caught.value.field == "filters"
    assert len(good.list()) == 1


@pytest.mark.parametrize("filters", [{}, {"where": {}}, {"where": {}, "without": []}])
def test_an_empty_filter_forgets_nothing(memory, filters):
    """All is forgotten only if that is said."""
    memory.add(GOOD, id="one")
    with pytest.raises(InvalidInput, match="no filters"):
        memory.forget_many(**filters)
    assert len(memory.list()) == 1
    assert memory.forget_many(within="", **filters) == ["one"]


def test_a_memory_named_twice_is_touched_once(memory):
    """What is returned are the memories that changed."""
    memory.add("The gate is green", id="gate")
    memory.add("The shed is dry", id="shed")
    assert memory.store.touch(["shed", "gate", "shed"], 60) == ["shed", "gate"]


def test_recent_and_move_check_theirs(memory):
    """A count, a session and a tier."""
    kept = memory.add(GOOD)
    for n in COUNTS:
        with pytest.raises(InvalidInput, match="n:"):
            memory.sessions.recent(n)
    for session in WRONG_NAME:
        with pytest.raises(InvalidInput, match="session"):
            memory.sessions.recent(session=session)
    for tier in BAD["tier"]:
        with pytest.raises(InvalidInput, match="tier"):
            memory.update(kept.id, tier=tier)


@pytest.mark.parametrize(
    "namespace", ["", " ", (), ("a", ""), ("a", None), 5, None, "a\nb", "\ud800"]
)
def test_a_namespace_that_cannot_be_one_is_refused(open_memory, namespace):
    """When a manager is made, and when a view is."""
    with pytest.raises(InvalidScope):
        open_memory(namespace=namespace)
    labels = namespace if isinstance(namespace, tuple) else (namespace,)
    with pytest.raises(InvalidScope):
        open_memory().of(*labels)


def test_an_id_taken_by_another_content_is_a_conflict(memory):
    """Also within one batch; then nothing of the batch is written."""
    memory.add("first", id="mine")
    with pytest.raises(IdConflict, match="mine"):
        memory.add("second", id="mine")
    with pytest.raises(IdConflict):
        memory.add("first", id="mine", session="other")
    with pytest.raises(IdConflict):
        memory.add_many(["a", {"text": "b", "id": "new"}, {"text": "c", "id": "new"}])
    assert [m.text for m in memory.list()] == ["first"]


@pytest.mark.parametrize("field", ["supersedes", "related"])
def test_linking_to_what_is_not_there_writes_nothing(memory, field):
    """NotFound, in a single add, in a batch, and when the text is known already."""
    memory.add("known")
    for call in (
        lambda: memory.add(GOOD, **{field: "nobody"}),
        lambda: memory.add("known", **{field: ["nobody"]}),
        lambda: memory.add_many([GOOD, {"text": "b", field: "nobody"}]),
    ):
        with pytest.raises(NotFound, match="nobody"):
            call()
    (kept,) = memory.list()
    assert (kept.text, kept.reinforced) == ("known", 0)


def test_nothing_supersedes_itself(memory):
    """An id that names the new memory itself is refused."""
    with pytest.raises(InvalidInput, match="itself"):
        memory.add(GOOD, id="me", supersedes="me")
    assert memory.list() == []


EVIL = [
    "' OR 1=1 --", '" OR ""="', "'; DROP TABLE memories; --", "\\'; --", "%", "_", "*", "?", "?1",
    ":ns", "@x", "$x", "NULL", "null", "None", "0", "-1", "1e309", "NaN", "true", "[]", "{}",
    '{"a": 1}', "$.a", "$[0]", "$", "a.b", 'a"b', "a'b", "a`b", "a;b", "a,b", "(a", "a)", "[a]",
    "AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "a AND", "title:a", "head : a", "-a", "+a", "^a",
    "a*", '"unclosed', '""', "{a b}:c", "memories_fts", "../../etc/passwd", "/", "C:\\x", "~",
    "${HOME}", "$(id)", "`id`", "<script>", "%00", "%s%n", "\u202e", "👩‍👩‍👧", "ﬁ", "İ",
    "ß", "東京",
]  # fmt: skip


@pytest.fixture(scope="module")
def two_namespaces(tmp_path_factory):
    """A store with something in another namespace that nobody may see."""
    with MemoryManager(tmp_path_factory.mktemp("evil"), embedder=None) as memory:
        memory.of("other").add(
            "secret", key="k", tags=["t"], session="s", scope="a", metadata={"a": 1}, id="secret"
        )
        yield memory


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_is_code(two_namespaces, evil):
    """As any text parameter it is data: found again as given, or a typed error; never a leak."""
    memory = two_namespaces
    accepted = {}
    for field, value in {
        "text": f"say {evil}",
        "key": evil,
        "aliases": [evil],
        "tags": [evil],
        "session": evil,
        "scope": evil,
        "actor": evil,
        "role": evil,
        "id": evil,
        "metadata": {evil: evil},
    }.items():
        try:
            kept = memory.add(**{"text": f"{field} {evil}", field: value})
        except InvalidInput:
            continue
        accepted[field] = kept.id
        assert memory.get(kept.id) == kept
    lookups = {
        "session": lambda: memory.list(session=evil, limit=1000),
        "tags": lambda: memory.list(any_tag=evil, limit=1000),
        "scope": lambda: memory.list(scope=evil, limit=1000),
        "metadata": lambda: memory.list(where={evil: [evil]}, limit=1000),
        "id": lambda: memory.list(ids=evil),
    }
    for field, look in lookups.items():
        try:
            found = {m.id for m in look()}
        except (InvalidInput, NotFound):
            found = set()
        assert (accepted.get(field) in found) == (field in accepted)
        assert "secret" not in found
    for options in ({}, {"session": evil}, {"tag": [evil]}, {"where": {evil: evil}}):
        found = memory.retrieve(f'secret {evil} "{evil}"', k=50, record=False, **options)
        assert "secret" not in {hit.id for hit in found}
    try:
        assert [m.id for m in memory.of(evil).list()] == []
        assert len(memory.of(evil).retrieve("secret")) == 0
    except InvalidScope:
        pass


queries = st.one_of(
    st.text(st.characters(), max_size=60),  # lone surrogates included
    st.text("\"'()*^:+-{}[]~.,;!?/\\|&<>=@#$%", max_size=40),
    st.lists(st.sampled_from([*EVIL, "green", "tea", "last May", "who"]), max_size=12).map(
        " ".join
    ),
    st.text("東京大阪はの水한국어ไทยعربي🍵👩‍👧", max_size=40),
    st.sampled_from(["tea " * 2500, "x" * 10_000, '"' * 10_000, "東" * 10_000, "(" * 10_000]),
)


@settings(max_examples=100)
@pytest.mark.parametrize("embedder", [None, HashEmbedder(16)], ids=["text alone", "hybrid"])
@given(query=queries)
def test_no_query_raises(fuzzed, embedder, query):
    """Any text is a valid query: hits in order, scores in [0, 1], the same twice."""
    memory = fuzzed[embedder is not None]
    first, second = (memory.retrieve(query, k=4, record=False) for _ in range(2))
    assert [hit.id for hit in first] == [hit.id for hit in second]
    scores = [hit.score for hit in first]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= hit.score <= 1 and 0 <= hit.confidence <= 1 for hit in first)
    assert first.missing == {}
    first.explain()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """The same small store twice: without an embedder and with one."""
    stores = []
    for embedder in (None, HashEmbedder(16)):
        memory = MemoryManager(tmp_path_factory.mktemp("fuzz"), embedder=embedder)
        memory.add_many(
            [
                {"text": "green tea in the morning", "key": "drink/tea", "session": "a"},
                {"text": "who said 東京 is far?", "actor": "Ada", "session": "a"},
                {"text": "x" * 3000, "aliases": ["the long one"]},
                {"text": "ticket4711 broke foo_bar at 10am", "tags": ["bug"]},
                *(f"note {n} of last May" for n in range(20)),
            ]
        )
        if embedder:
            memory.flush(wait=True)
        stores.append(memory)
    yield stores
    for memory in stores:
        memory.close()


@pytest.mark.parametrize("timeout", [-1, "5", math.nan, math.inf, True])
def test_a_timeout_that_is_no_time_is_refused(open_memory, timeout):
    """flush, erase and reindex say which argument is wrong."""
    memory = open_memory(embedder=HashEmbedder())
    for call in (
        functools.partial(memory.flush, wait=True),
        functools.partial(memory.store.erase, "some-id"),
        functools.partial(memory.store.reindex, wait=True),
    ):
        with pytest.raises(InvalidInput, match="timeout"):
            call(timeout=timeout)


class Unspellable:
    """A key whose text is a defect of its own."""

    def __str__(self):
        raise RuntimeError("asked for its text")

    __repr__ = __str__


@pytest.mark.parametrize("key", ["x" * 10**6, "my password 1234", 7, None, b"text", Unspellable()])
def test_an_unknown_field_is_refused_without_being_quoted(memory, key):
    """A key of a mapping may be any value: the error is short and shows nothing of it."""
    with pytest.raises(
        InvalidInput, match=r"items\[1\].*1 unknown field.*known fields: \["
    ) as refused:
        memory.add_many(["a", {"text": "b", key: "c"}])
    message = str(refused.value)
    assert len(message) < 500
    assert "xxxx" not in message
    assert "1234" not in message
    assert not memory.list()


NESTED: list = []
for _ in range(5000):
    NESTED = [NESTED]
ODD_CALLS = {
    "observe id": lambda memory: memory.observe("x", id=NESTED),
    "observe mode": lambda memory: memory.observe("x", mode=NESTED),
    "observe turn of a number": lambda memory: memory.observe("x", keep=False, turn_id=2**63),
    "observe turn": lambda memory: memory.observe("x", keep=False, turn_id="\ud800"),
    "undo": lambda memory: memory.undo(NESTED),
    "feedback": lambda memory: memory.feedback.rate(target=[], verdict=NESTED),
    "retract": lambda memory: memory.feedback.retract(event=NESTED),
    "consolidate": lambda memory: memory.sleep.run(steps=NESTED),
    "finalize": lambda memory: memory.feedback.finalize("\ud800"),
    "finalize outcome": lambda memory: memory.feedback.finalize("loop", 10**400),
}


@pytest.mark.parametrize("call", ODD_CALLS.values(), ids=ODD_CALLS)
def test_an_odd_argument_of_any_verb_is_a_typed_error(call, open_memory):
    """Also one that Python cannot write out, SQLite cannot store, or no float holds."""
    memory = open_memory()
    memory.add("hello")
    with pytest.raises(InvalidInput):
        call(memory)


def test_a_memory_in_the_place_of_an_id_is_told_apart(memory):
    """The error says which attribute is the id, for a hit as well."""
    note = memory.add("Rami drinks tea")
    (hit,) = memory.retrieve("tea").hits
    for wrong, cure in ((note, "pass its .id"), (hit, "pass its .memory.id")):
        with pytest.raises(InvalidInput, match=cure):
            memory.forget(wrong)
