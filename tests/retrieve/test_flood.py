"""Many rows that are not wanted do not hide one that is, however many and however new."""

from __future__ import annotations

import pytest

FLOOD = 5_000
QUESTIONS = ("zebra", "zebra attic", "where does the zebra sleep?", "zebra4711 in the attic")


@pytest.fixture
def good(open_memory):
    """A store that holds one good memory, the oldest."""
    memory = open_memory(embedder=None)
    memory.add("The zebra4711, a zebra, sleeps in the attic", id="good", tags=["ada"])
    return memory


def flood(memory, **fields):
    """Add thousands of memories that hold all words of every question."""
    for batch in range(FLOOD // 500):
        memory.add_many(
            {"text": f"zebra4711 zebra attic sleep {batch} {n}", **fields} for n in range(500)
        )


def found(memory, **options):
    """Ask every question; returns the ids of each answer."""
    return [[hit.id for hit in memory.retrieve(text, **options)] for text in QUESTIONS]


def test_a_flood_in_quarantine_hides_nothing(good):
    """Neither while it waits nor when it was rejected."""
    flood(good, source="web")
    assert found(good) == [["good"]] * len(QUESTIONS)
    for waiting in good.quarantine(limit=FLOOD):
        good.reject(waiting.id)
    assert found(good) == [["good"]] * len(QUESTIONS)


def test_what_a_filter_leaves_out_hides_nothing(good):
    """A filter is no choice among what was found, but of where to look."""
    flood(good, tags=["bob"])
    assert found(good, tags="ada") == [["good"]] * len(QUESTIONS)
    assert all("good" not in answer for answer in found(good, tags="bob"))
