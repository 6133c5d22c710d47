"""A memory as a note: what is written is read again, and what is not memento's is left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.errors import InvalidInput
from memento.upkeep.vault_note import FIELDS, digests, folded, merge, name_of, parse, written

STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
BODY = STORABLE.map(lambda text: text.replace("\r", "").strip("\n"))
LIST = st.lists(STORABLE, max_size=3).map(tuple)
VALUES = st.fixed_dictionaries({
    "text": BODY,
    "kind": st.just("fact"),
    "tags": LIST,
    "aliases": LIST,
    "scope": st.sampled_from(["", "project/alpha"]),
    "key": st.sampled_from(["", "user/city", "null", "no", "2024"]),
    "date": st.just(datetime(2025, 1, 1, tzinfo=UTC).isoformat()),
    "related": st.just(("[[Ann (1a2b3c)]]",)),
})  # fmt: skip
GOLDEN = """---
memento: 01a22691-df9a-758c-897e-2c99533b384e
kind: fact
tags:
  - health
  - "two words"
  - "null"
key: rami/allergy
date: "2025-01-01T00:00:00+00:00"
related:
  - "[[Ann (1a2b3c)]]"
---

Rami is allergic: nuts, "eggs".
"""


def test_the_note_of_a_memory():
    """It is what Obsidian shows as properties, and the text below."""
    values = {
        "text": 'Rami is allergic: nuts, "eggs".',
        "kind": "fact",
        "tags": ("health", "two words", "null"),
        "aliases": (),
        "scope": "",
        "key": "rami/allergy",
        "date": "2025-01-01T00:00:00+00:00",
        "related": ("[[Ann (1a2b3c)]]",),
    }
    assert written("01a22691-df9a-758c-897e-2c99533b384e", values).decode() == GOLDEN


@given(VALUES, st.booleans(), st.booleans())
def test_what_is_written_is_read_again(values, windows, marked):
    """Every text, in every field, with either line end and with a byte order mark."""
    data = written("m1", values)
    if windows:
        data = data.replace(b"\n", b"\r\n")
    note = parse((b"\xef\xbb\xbf" if marked else b"") + data)
    assert note is not None
    assert note.id == "m1"
    assert {name: note.said[name] for name in FIELDS if values[name]} == {
        name: value for name, value in values.items() if value
    }


@given(VALUES, VALUES)
def test_fields_of_others_and_line_ends_stay(before, after):
    """A change writes memento's own fields, and nothing else."""
    own = b"---\ncssclass: wide\n# mine\nnested:\n  kind: other\n"
    data = written("m1", before).replace(b"---\n", own, 1).replace(b"\n", b"\r\n")
    again = written("m1", after, parse(data), FIELDS)
    assert again.count(b"\n") == again.count(b"\r\n")
    for line in (b"cssclass: wide", b"# mine", b"nested:\r\n  kind: other"):
        assert again.count(line) == 1
    note = parse(again)
    assert note is not None
    assert note.said["text"] == after["text"]


def test_a_long_line_of_another_field_takes_no_longer_than_its_length():
    """A line without a colon is read once: with a square of its length this would take an hour."""
    line = b"a" + b" " * 200_000 + b"b"
    note = parse(b"---\nmemento: new\nmine: |\n " + line + b"\n---\nTea\n")
    assert note is not None
    assert line in written("m1", dict.fromkeys(FIELDS, "") | note.said, note, ["kind"])


def test_only_the_id_of_a_new_note_changes():
    """Every other byte is the person's."""
    data = b"---\nmine: [1,  2]\nmemento: new\ntags: tea\n---\nI like tea.   \n\n"
    note = parse(data)
    assert written("m1", dict(note.said), note, []) == data.replace(b"new", b"m1")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no front matter\nmemento: x",
        b"---\ntitle: mine\n---\nmemento: x\n",
        b"---\ntitle: mine\n---\n\xff",
        b"---\nmemento-like: x\n---\n",
    ],
)
def test_other_notes_are_none(data):
    """A note is memento's only if its front matter says so."""
    assert parse(data) is None


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"---\nmemento: x\nno end", "is not closed"),
        (b"---\nmemento: x\ntags: [a\n---\n", "damaged"),
        (b"---\nmemento: [x]\n---\n", "damaged"),
        (b"---\nmemento: x\na: &a [1]\nb: *a\n---\n", "damaged"),
        (b"---\nmemento: x\na: " + b"[" * 100_000 + b"\n---\n", "damaged"),
        (b"---\nmemento: x\n" + b"a: 1\n" * 100_000 + b"---\n", "damaged"),
        (b"---\nmemento: x\nkind: [fact]\n---\n", "kind is not a string"),
        (b"---\nmemento: x\ntags: {a: b}\n---\n", "tags is not a list"),
        (b"---\nmemento: x\n---\n\xff", "UTF-8"),
    ],
)
def test_a_damaged_note_is_named(data, problem):
    """It says what is wrong, and is not read in part."""
    with pytest.raises(InvalidInput, match=problem):
        parse(data)


NAMED = st.builds(
    SimpleNamespace,
    id=STORABLE,
    kind=st.just("fact"),
    key=st.none() | STORABLE,
    text=STORABLE,
)


@given(st.lists(NAMED, max_size=4))
def test_names_are_safe_everywhere(found):
    """No reserved sign or name, no end in a dot, short, and different where case does not count."""
    taken = set()
    for one in found:
        name = name_of(one, taken)
        assert folded(name) not in taken
        taken.add(folded(name))
        stem = name.removeprefix("fact/").removesuffix(".md")
        assert not set(stem) & set('<>:"/\\|?*#^[]%\n\0')
        assert stem.isprintable()
        assert stem.rpartition(" (")[0]
        assert len(name.encode()) < 200


@pytest.mark.parametrize("name", ["CON", "nul.txt", "..", ".hidden", "a/../../b", "Ünïcode ", ""])
def test_names_that_systems_refuse(name):
    """Each becomes a name inside its folder that they take."""
    made = name_of(SimpleNamespace(id="m", kind="fact", key=name, text="x"), set())
    folder, stem = made.split("/")
    assert folder == "fact"
    assert stem.rpartition(" (")[0] not in {"", ".", ".."}
    assert not stem.startswith(".")


STATES = st.fixed_dictionaries({"text": st.sampled_from("abc"), "key": st.sampled_from("abc")})


@given(STATES | st.none(), STATES, STATES)
def test_three_ways(base, note, memory):
    """A side that did not change takes what the other says; if both did, the note holds."""
    merged = merge(base, note, memory)
    differ = note["text"] != memory["text"]
    changed = base is None or note["text"] != base["text"]
    assert ("text" in merged.taken) == (differ and changed)
    both = differ and changed and (base is None or memory["text"] != base["text"])
    assert ("text" in merged.clashing) == both
    assert "key" not in merged.taken
    assert set(merged.refused) <= {"key"}


def test_digests_tell_a_text_from_a_list():
    """One tag is not the text of that tag."""
    assert digests({"a": "x"}) != digests({"a": ("x",)})
