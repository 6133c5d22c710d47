"""A message is marked once nothing that was learnt from it holds any more."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memento import MemoryManager
from memento.types import Source, Trust

MAY = datetime(2026, 5, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    """A store that finds by words."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        yield memory


def records(block):
    """Return the records of a block."""
    return [json.loads(line) for line in block.split("\n")[2:-1]]


def of_message(hits, text):
    """Return the hit of a message, not that of what was learnt from it."""
    return next(hit for hit in hits if hit.text == text and hit.memory.key is None)


@pytest.mark.parametrize(
    ("before", "after", "query"),
    [
        ("I live in Porto.", "I moved to Lisbon.", "Where do I live, Porto?"),
        ("My favourite editor is Vim.", "My favourite editor is Helix now.", "favourite editor"),
    ],
)
def test_the_message_of_a_superseded_statement_is_marked(memory, before, after, query):
    """In a prompt, in what is recalled, and in the hit; the newer one is not."""
    memory.observe(before, "Noted.", occurred_at=MAY, session="s")
    memory.observe(after, occurred_at=JUNE, session="s")
    memory.flush(wait=True)
    hits = memory.retrieve(query, 10)
    old = of_message(hits, before)
    new = next(hit for hit in hits if hit.text == after)
    assert old.until is not None
    assert new.until is None
    assert memory.get(old.newer).text == after
    for block in (memory.prompt(query), memory.recall([{"role": "user", "content": query}]).block):
        told = [one for one in records(block) if one["text"] == before]
        assert all("until" in one for one in told)


def test_a_message_with_a_statement_that_holds_is_not_marked(memory):
    """Only when the last of them is superseded."""
    turn = memory.add("Porto and Acme it is", kind="episode", session="s", role="user")
    learnt = Source(Trust.USER, parents=(turn.id,))
    for key, text in (("user/home", "Lives in Porto"), ("user/employer", "Works at Acme")):
        memory.add(text, key=key, source=learnt)
    memory.add("Lives in Lisbon", key="user/home")
    assert of_message(memory.retrieve("Porto Acme", 10), turn.text).until is None
    last = memory.add("Works at Globex", key="user/employer")
    marked = of_message(memory.retrieve("Porto Acme", 10), turn.text)
    assert marked.newer == last.id
    known = memory.retrieve("Porto Acme", 10, known_at=turn.created_at)
    assert of_message(known, turn.text).until is None


def test_a_message_from_which_nothing_was_learnt_is_not_marked(memory):
    """However often what it speaks of changed."""
    turn = memory.add("Porto was sunny", kind="episode", session="s", role="user")
    memory.add("Lives in Porto", key="user/home")
    memory.add("Lives in Lisbon", key="user/home")
    assert of_message(memory.retrieve("Porto", 10), turn.text).until is None


def test_a_dossier_marks_what_is_over_and_leaves_out_what_is_far(tmp_path):
    """A memory of another topic is not part of it."""
    with MemoryManager(tmp_path / "embedded") as memory:
        memory.observe("I live in Porto.", occurred_at=MAY, session="s")
        memory.observe("I moved to Lisbon.", occurred_at=JUNE, session="s")
        memory.add("The rent of the studio is 560 euros")
        memory.flush(wait=True)
        told = memory.insight.dossier("Porto")
        assert "studio" not in told.explain()
        marked = [one for one in told.entries if one.memory.text == "I live in Porto."]
        assert all(one.until is not None for one in marked)
