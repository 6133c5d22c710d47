"""The error for any wrong argument is memento's own and names the field."""

import io
from datetime import datetime, tzinfo

import pytest

from memento import Config, MemoryManager
from memento.errors import InvalidInput, InvalidScope, StoreGone
from memento.upkeep.backup import restore

NO_NAMES = [3, None, b"bytes"]
NAIVE = datetime(2025, 1, 1)  # noqa: DTZ001 - a clock must say what its time means


def cyclic():
    """Make a list that holds itself."""
    loop = []
    loop.append(loop)
    return loop


def deep():
    """Make a mapping that is nested too deep to be printed."""
    top = inner = {}
    for _ in range(20_000):
        inner["a"] = {}
        inner = inner["a"]
    return top


class Raising:
    """A value that cannot be printed."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__

    def read(self, _size=-1):
        """Fail, as a broken connection does."""
        raise RuntimeError("broken")


@pytest.mark.parametrize("value", NO_NAMES)
def test_what_is_no_name_of_a_file_is_refused(memory, value):
    """Import, export and backup name the parameter."""
    for call, field in ((memory.store.import_from, "source"), (memory.store.export, "target")):
        with pytest.raises(InvalidInput) as refused:
            call(value)
        assert refused.value.field == field
    for call in (
        memory.store.backup,
        lambda file: restore(file, memory.store.root.with_name("new")),
    ):
        with pytest.raises(InvalidInput) as refused:
            call(value)
        assert refused.value.field == "file"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(memory, name):
    """A NUL or a lone surrogate is said; nothing of Python's own comes through."""
    doors = (memory.store.import_from, memory.store.export, memory.store.backup, MemoryManager)
    for call in doors:
        with pytest.raises(InvalidInput):
            call(name)


def test_a_name_that_no_file_can_have_is_an_error_of_the_argument(memory):
    """A name that is too long is refused before anything is read."""
    with pytest.raises(InvalidInput, match="is too long"):
        memory.store.import_from("x" * 300)


def test_a_stream_that_raises_is_said(memory):
    """The stream's own error is the cause."""
    with pytest.raises(InvalidInput, match="RuntimeError: broken") as refused:
        memory.store.import_from(Raising())
    assert isinstance(refused.value.__cause__, RuntimeError)
    with pytest.raises(InvalidInput, match="cannot be read"):
        memory.store.import_from(io.TextIOWrapper(io.BytesIO(b"\xff")))


@pytest.mark.parametrize(
    "given", [{"config": 3}, {"clock": 3}, {"clock": lambda: None}, {"clock": lambda: NAIVE}]
)
def test_settings_of_a_manager_are_checked(tmp_path, given):
    """An object that is not a config or a clock is refused by name."""
    (field,) = given
    with pytest.raises(InvalidInput) as refused:
        MemoryManager(tmp_path, embedder=None, **given)
    assert refused.value.field == field


@pytest.mark.parametrize("root", [3, b"x"])
def test_a_root_is_a_name(root):
    """Anything else is refused by name."""
    with pytest.raises(InvalidInput) as refused:
        MemoryManager(root, embedder=None)
    assert refused.value.field == "root"


@pytest.mark.parametrize("field", ["limits", "short", "index", "retrieve"])
@pytest.mark.parametrize("value", [3, None])
def test_parts_of_a_config_are_checked(field, value):
    """Each is of its own class."""
    with pytest.raises(InvalidInput) as refused:
        Config(**{field: value})
    assert refused.value.field == field


def refuse(*_arguments, **_named):
    """Stand for a method of a class that is broken."""
    raise RuntimeError("no")


class BrokenZone(tzinfo):
    """A time zone that cannot tell its offset."""

    utcoffset = dst = tzname = fromutc = refuse


class WrongZone(tzinfo):
    """A time zone whose offset is not a duration."""

    def utcoffset(self, _moment):
        """Tell nothing of use."""
        return "one hour"


BrokenText = type("BrokenText", (str,), dict.fromkeys(
    ("__len__", "__iter__", "__eq__", "__ne__", "__contains__", "__getitem__", "__bool__",
     "__str__", "__repr__", "__format__", "__add__", "encode", "strip", "split", "lower", "upper",
     "casefold", "replace", "startswith", "endswith", "isprintable", "isascii", "translate",
     "isidentifier", "splitlines", "find", "index", "count", "join", "partition"),
    refuse,
) | {"__hash__": str.__hash__})  # fmt: skip
"""A string whose every method raises."""

MOMENT_FIELDS = ("occurred_at", "valid_until")
TEXT_FIELDS = {
    "text": "green tea", "tier": "long", "kind": "fact", "key": "tea", "scope": "home/kitchen",
    "session": "s", "actor": "Ada", "role": "user", "source": "user", "id": "a", "aliases": "tee",
    "tags": "drinks", "metadata": "note",
}  # fmt: skip
MANY = {"aliases": lambda one: [one], "tags": lambda one: [one], "metadata": lambda one: {one: one}}


@pytest.mark.parametrize("zone", [BrokenZone(), WrongZone()])
def test_a_time_zone_that_raises_is_refused(memory, zone):
    """Wherever a moment is given, by name of the field; nothing is written."""
    moment = datetime(2026, 1, 1, tzinfo=zone)
    for field in MOMENT_FIELDS:
        with pytest.raises(InvalidInput) as refused:
            memory.add("text", **{field: moment})
        assert refused.value.field == field
    for field in ("since", "until", "as_of"):
        with pytest.raises(InvalidInput) as refused:
            memory.retrieve("text", **{field: moment})
        assert refused.value.field == field
    assert memory.list() == []


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_no_method_of_a_given_string_is_called(memory, field):
    """Its content is stored and searched; a broken class cannot fail halfway."""
    said = {name: MANY.get(name, lambda one: one)(text) for name, text in TEXT_FIELDS.items()}
    broken = BrokenText(TEXT_FIELDS[field])
    plain = memory.of("plain").add(**said)
    given = said | {field: MANY.get(field, lambda one: one)(broken)}
    kept = memory.of("broken").add(**given)
    same = ("text", "tier", "kind", "key", "scope", "session", "actor", "role", "id", "aliases",
            "tags", "metadata", "source")  # fmt: skip
    assert [getattr(kept, name) for name in same] == [getattr(plain, name) for name in same]
    assert [one.id for one in memory.of("broken").retrieve("tea")] == ["a"]


def test_no_method_of_a_query_or_filter_is_called(memory):
    """Nor of a label, or of what chooses how to search."""
    memory.add("green tea", "long", id="a", session="s", scope="home", metadata={"n": "x"})
    filters = {
        "scope": BrokenText("home"), "session": BrokenText("s"), "tier": BrokenText("long"),
        "where": {"n": BrokenText("x")}, "ids": BrokenText("a"), "match": BrokenText("auto"),
    }  # fmt: skip
    assert [one.id for one in memory.retrieve(BrokenText("green tea"), **filters)] == ["a"]
    assert memory.of(BrokenText("default")).get(BrokenText("a")).text == "green tea"
    with pytest.raises(InvalidInput):
        memory.add("text", kind=BrokenText("nothing"))


@pytest.mark.parametrize("make", [cyclic, deep, Raising])
def test_what_cannot_be_spelt_is_refused_all_the_same(memory, make):
    """A value nested without end gets an error that does not try to repeat it."""
    memory.add("a note", id="a")
    value = make()
    for field in ("kind", "tier", "scope", "source"):
        with pytest.raises(InvalidInput):
            memory.add("text", **{field: value})
    for call in (
        lambda: memory.update("a", tier=value),
        lambda: memory.store.import_from("a", trust=value),
        lambda: memory.retrieve("a", scope=[value]),
    ):
        with pytest.raises(InvalidInput):
            call()
    with pytest.raises(InvalidScope):
        memory.of(value)


def test_no_export_of_a_store_that_is_gone(memory, tmp_path):
    """Export looks whether the folder is still there, as every verb does, and leaves no file."""
    memory.add("a note")
    away = memory.store.root.rename(memory.store.root.with_name("away"))
    for target in (tmp_path / "out.jsonl", io.StringIO()):
        with pytest.raises(StoreGone):
            memory.store.export(target)
    assert not (tmp_path / "out.jsonl").exists()
    away.rename(memory.store.root)
    assert memory.store.export(tmp_path / "out.jsonl").memories == 1
