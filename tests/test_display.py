"""Values are shown as a line each, as a table in a notebook, and as JSON."""

from __future__ import annotations

import copy
import dataclasses
import json
import sys
from html.parser import HTMLParser

import pytest

from memento import Memories, Memory, Retrieval
from memento.base.display import CELL, LINE, cut, data
from memento.errors import MissingExtra
from memento.types import Hit

HOSTILE = "</td><script>alert('tea')</script><img src=x onerror=\"alert(1)\"> & \x1b[31m\u202etea"


class Tags(HTMLParser):
    """Collects the tags, the attributes and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.given, self.text = set(), [], []

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.tags.add(tag)
        self.given += attrs

    def handle_data(self, data):
        """Note a text."""
        self.text.append(data)


def parsed(page):
    """Read a page as a browser would."""
    tags = Tags()
    tags.feed(page)
    return tags


@pytest.fixture
def found(memory):
    """An answer with two hits: one hostile, one of 50,000 characters."""
    memory.add(HOSTILE, "long", metadata={"<b>": ["<i>"]}, tags=["<u>"])
    memory.add("tea\n" + "leaves " * 7_000, "medium", key="<key>")
    return memory.retrieve("tea <script>")


def test_a_repr_is_one_short_line(found):
    """Of a memory, a hit and an answer, whatever their texts are."""
    assert len(found) == 2
    for value in (found, *found, *(hit.memory for hit in found)):
        said = repr(value)
        assert len(said) < 250
        assert said.isprintable()
        assert said.startswith(f"<{type(value).__name__} ")


def test_a_repr_names_what_it_shows(memory):
    """The id, the tier, the kind, the text; the status if it is not active."""
    kept = memory.add("Rami drinks tea", "long", kind="preference", id="tea")
    assert repr(kept) == "<Memory tea long preference 'Rami drinks tea'>"
    hidden = memory.forget("tea")
    assert repr(hidden) == "<Memory tea long preference forgotten 'Rami drinks tea'>"
    assert repr(Hit(kept, 0.9, 0.5)) == "<Hit 0.90 confidence 0.50 tea long 'Rami drinks tea'>"


def test_a_repr_of_an_answer_says_what_is_missing(memory):
    """And how many hits there are."""
    kept = memory.add("Rami drinks tea", id="tea")
    found = Retrieval("tea?", (Hit(kept, 0.9, 0.5),), {"long": "busy"}, 0.5)
    assert repr(found) == (
        "<Retrieval 'tea?': 1 hit, confidence 0.50, first 'Rami drinks tea', missing long>"
    )
    assert repr(Retrieval("x")) == "<Retrieval 'x': 0 hits>"


def test_printing_an_answer_lists_its_hits(found):
    """A line of facts, a line for each hit and each part that is missing."""
    lines = str(dataclasses.replace(found, missing={"long": "busy"})).splitlines()
    assert lines[0].startswith("tea <script>: 2 hits, confidence ")
    assert [line[:3] for line in lines[1:3]] == [" 1.", " 2."]
    assert lines[3] == "missing long: busy"
    assert max(map(len, lines)) < 100


def test_no_text_becomes_markup(found):
    """A notebook shows hostile texts as text, in every field."""
    for value in (found, *found, *(hit.memory for hit in found)):
        page = parsed(value._repr_html_())
        assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert page.given == []
        assert not any(char in value._repr_html_() for char in "\x1b\u202e")
        assert len(value._repr_html_()) < 30 * CELL
    assert any("<script>alert('tea')" in text for text in parsed(found._repr_html_()).text)


def test_a_dictionary_is_ready_for_json(found):
    """Every field, unchanged by a round trip, and nothing but JSON."""
    for value in (found, *found, *(hit.memory for hit in found)):
        said = value.to_dict()
        assert json.loads(json.dumps(said)) == said
    first = found[0].memory
    said = first.to_dict()
    assert said.keys() == {field.name for field in dataclasses.fields(Memory)}
    assert said["occurred_at"] == first.occurred_at.isoformat()
    assert type(said["tier"]) is str
    assert found.to_dict()["hits"][0] == found[0].to_dict()
    assert found[0].to_dict()["id"] == first.id


def test_equal_memories_hash_equal(memory):
    """A set of memories has each once; a changed memory is another one."""
    kept = memory.add("Rami drinks tea", id="tea", metadata={"a": [1]})
    again, elsewhere = memory.get("tea"), memory.of("other").add("Rami drinks tea", id="tea")
    assert hash(kept) == hash(again) == hash(copy.deepcopy(kept))
    assert {kept, again} == {kept}
    assert len({kept, elsewhere, memory.update("tea", text="Rami drinks coffee")}) == 3


def test_a_cut_text_has_at_most_as_many_characters():
    """Also if it begins with blanks or is a single long word."""
    for text in ("a" * 10**6, " " * 10**6 + "a", "one two three four"):
        assert len(cut(text, 9)) <= 9
        assert cut(text, 9).endswith("\N{HORIZONTAL ELLIPSIS}")


def test_data_leaves_classes_and_foreign_values_alone():
    """Only instances of data classes are converted."""
    assert data([Memory, 1, None]) == [Memory, 1, None]


def results(memory):
    """Yield a result of each verb whose fields are long."""
    memory.keep([{"role": "user", "content": "I never eat nuts. " + HOSTILE}], session="s")
    yield memory.observe("Never commit on Fridays. I live in Porto.", session="s")
    memory.add("\x1b[31m We meet in Porto\n" * 50, key="trip/city")
    yield memory.rules.policy(session="s")
    yield memory.store.stats()
    yield memory.insight.health()
    yield memory.insight.reason("Where do we meet?")
    yield memory.insight.dossier("Porto")
    yield from memory.changes.list()
    yield from memory.slots.history("trip/city")
    yield memory.sleep.run()
    yield memory.sessions.start("s", goal=HOSTILE).info
    yield memory.undo(memory.changes.list()[-1].number)


def test_a_result_is_one_short_line_in_the_shell(memory):
    """Whatever it holds; printed, a policy is its text and an observation its explanation."""
    for value in results(memory):
        said = repr(value)
        assert said.isprintable()
        assert said.startswith(f"<{type(value).__name__} ")
        assert len(said) < LINE + 30
    policy, seen = memory.rules.policy(), memory.observe("I like tea.")
    assert str(policy) == policy.text
    assert str(seen) == seen.explain()


def test_a_list_of_memories_is_a_table(memory):
    """In a notebook; it is a list all the same, and an empty one has the columns."""
    kept = memory.add_many([HOSTILE, "Rami drinks tea"])
    assert kept == list(kept)
    page = parsed(kept._repr_html_())
    assert "script" not in page.tags
    assert "2 memories" in page.text
    assert kept.to_dicts() == [one.to_dict() for one in kept]
    assert memory.retrieve("tea").to_dicts()[0]["text"] == "Rami drinks tea"


def test_a_table_of_pandas_has_a_row_for_each(found):
    """And a column for each field, the score first for hits."""
    pytest.importorskip("pandas")
    table = found.to_pandas()
    assert len(table) == len(found)
    assert list(table.columns)[:2] == ["score", "id"]
    assert list(Retrieval("x").to_pandas().columns) == list(table.columns)
    assert list(Memories().to_pandas().columns) == [one.name for one in dataclasses.fields(Memory)]


def test_without_pandas_the_error_says_what_to_install(found, monkeypatch):
    """The extra, as the line to type."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    for value in (found, Memories()):
        with pytest.raises(MissingExtra, match=r"pip install 'agent-memento\[pandas\]'"):
            value.to_pandas()
