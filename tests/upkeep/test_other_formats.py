"""Exports for other programs: our own readers read them, and what is lost is counted."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.errors import InvalidInput
from memento.ingest import Format, detect, read
from memento.testing import ManualClock
from memento.upkeep.other_formats import WRITERS

MAP = {
    name: name
    for name in ("id", "text", "kind", "key", "scope", "session", "actor", "role", "tags")
} | {name: name for name in ("aliases", "importance", "occurred_at")}  # fmt: skip


@pytest.fixture
def full(memory):
    """A store with something of everything."""
    memory.add(
        'Rami said: "hi",\nand left',
        key="rami/said",
        tags=["two words", "b"],
        aliases=["Rami"],
        scope="project/alpha",
        metadata={"n": 1},
        importance=0.25,
        actor="Ann",
        kind="preference",
    )
    memory.add("Where is it?", kind="episode", session="s1", role="user")
    memory.add("In the shed.", kind="episode", session="s1", role="assistant")
    memory.forget(memory.add("hidden").id)
    return memory


def exported(memory, tmp_path, format_, name):
    """Export to a file; returns it and what was said of the export."""
    file = tmp_path / name
    return file, memory.store.export(file, format=format_)


def test_jsonl_is_read_again_whole(full, tmp_path):
    """Every field of a memory that a draft has."""
    file, done = exported(full, tmp_path, "jsonl", "all.jsonl")
    assert detect(file) is Format.DRAFTS
    assert (done.memories, done.left_out) == (3, {})
    names = ("id", "text", "kind", "key", "tags", "aliases", "scope", "session", "actor", "role")
    for draft, memory in zip(read(file), full.list(order="arrival"), strict=True):
        for name in (*names, "importance", "metadata", "occurred_at"):
            value = getattr(draft, name)
            value = tuple(value) if isinstance(value, list) else value
            assert value == getattr(memory, name), name


def test_csv_is_read_again_by_its_columns(full, tmp_path):
    """Quotes and line ends in a text survive."""
    file, done = exported(full, tmp_path, "csv", "all.csv")
    assert done.left_out == {"metadata": 1}
    rows = [*csv.DictReader(io.StringIO(file.read_text(), newline=""))]
    assert [row["text"] for row in rows] == [one.text for one in full.list(order="arrival")]
    first = next(read(file, map=MAP))
    assert (first.text, tuple(first.tags), first.key) == (
        'Rami said: "hi",\nand left',
        ("two words", "b"),
        "rami/said",
    )


def test_mem0_is_read_again(full, tmp_path):
    """It is what mem0 itself exports."""
    file, done = exported(full, tmp_path, "mem0", "mem0.json")
    assert detect(file) is Format.MEM0
    assert done.left_out == {"role": 2}
    drafts = [*read(file)]
    assert [one.text for one in drafts] == [one.text for one in full.list(order="arrival")]
    assert drafts[0].metadata["metadata"]["n"] == 1
    assert not drafts[0].metadata.get("edited")


def test_server_memory_is_read_again(full, tmp_path):
    """An entity for each name, with observations."""
    file, done = exported(full, tmp_path, "server-memory", "memory.jsonl")
    assert detect(file) is Format.SERVER_MEMORY
    assert done.left_out["tags"] == 1
    (rami, user) = map(json.loads, file.read_text().splitlines())
    assert (rami["name"], user["observations"]) == ("Rami", ["Where is it?", "In the shed."])
    assert next(one.text for one in read(file)) == 'Rami said: "hi",\nand left'


@pytest.mark.parametrize("format_", ["chat", "sharegpt"])
def test_conversations_are_read_again(full, tmp_path, format_):
    """The turns of each session, in order; other memories are no turns."""
    file, done = exported(full, tmp_path, format_, "chats.jsonl")
    assert detect(file) is Format(format_)
    assert (done.memories, done.left_out) == (2, {"memories": 1})
    assert [(one.role, one.text) for one in read(file)] == [
        ("user", "Where is it?"),
        ("assistant", "In the shed."),
    ]


@pytest.mark.parametrize("format_", [*WRITERS])
def test_an_empty_store_is_an_empty_export(memory, tmp_path, format_):
    """Which is read as nothing."""
    file, done = exported(memory, tmp_path, format_, "none.json" if format_ == "mem0" else "n.csv")
    assert done.memories == 0
    assert format_ in ("mem0", "csv") or file.read_text() == ""


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), max_size=3))
def test_any_text_survives(tmp_path_factory, texts):
    """As a line of JSON, as a cell and as a memory of mem0."""
    from memento import MemoryManager  # noqa: PLC0415 - a store for each example

    place = tmp_path_factory.mktemp("any")
    with MemoryManager(place / "s", embedder=None, clock=ManualClock()) as memory:
        for number, text in enumerate(texts):
            if text.strip():
                memory.add(text, id=f"m{number}")
        expected = [one.text for one in memory.list(order="arrival")]
        for format_, name in (("jsonl", "a.jsonl"), ("mem0", "a.json"), ("csv", "a.csv")):
            file, _ = exported(memory, place, format_, name)
            data = file.read_text()
            if format_ == "csv":
                found = [row["text"] for row in csv.DictReader(io.StringIO(data, newline=""))]
            elif format_ == "mem0":
                found = [row["memory"] for row in json.loads(data)["results"]]
            else:
                found = [json.loads(line)["text"] for line in data.split("\n")[:-1]]
            assert found == expected


def test_what_contradicts_is_refused(memory, tmp_path):
    """A format that there is not, and one with vectors."""
    for options in ({"format": "xml"}, {"format": "csv", "vectors": True}):
        with pytest.raises(InvalidInput):
            memory.store.export(tmp_path / "x", **options)
    assert not (tmp_path / "x").exists()
