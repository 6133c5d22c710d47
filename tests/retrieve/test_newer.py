"""Of two notes of which one changes the other, the newer one comes first."""

from datetime import timedelta

import numpy as np
import pytest
from shelves import NOW, Shelf

from memento import MemoryManager
from memento.testing import ManualClock

VIOLIN = "Ada plays the violin, lessons on Mondays"
DRUMS = "No more violin for Ada, she drums now"
ASKED = np.array([1, 0, 0], np.float32)


class Noted:
    """Relations of a namespace in which the second note changes the first one."""

    class linked:  # noqa: N801 - stands for an attribute
        """No conflicts."""

        any_flagged = False

    def __init__(self, *pairs):
        self._pairs = pairs

    def successions(self):
        """Return the pairs."""
        return self._pairs

    def known(self, _one, _other):
        """Nobody judged anything."""
        return False


def unit(*numbers):
    """Make a vector of length 1."""
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


def shelf_of(older, newer):
    """Make a namespace of two memories of which the older one fits the query better."""
    shelf = Shelf()
    first = shelf.add(older, at=NOW - timedelta(days=90))
    second = shelf.add(newer, at=NOW - timedelta(days=5))
    shelf.embed({first: unit(1, 0, 0), second: unit(0.6, 0.8, 0)})
    return shelf, (first, second)


def asked(shelf, *pairs, query="what does Ada play, violin?"):
    """Ask; return what was found."""
    return shelf.find(query, ASKED, k=5, links=Noted(*pairs)).found


def test_the_note_that_changes_the_other_comes_first_and_the_older_one_says_so():
    """Its score is that of the place."""
    shelf, pair = shelf_of(VIOLIN, DRUMS)
    first, second = asked(shelf, pair)
    assert [first.docid, second.docid] == [pair[1], pair[0]]
    assert (first.newer, second.newer) == (None, first.docid)
    assert first.score >= second.score


def test_a_note_that_changes_nothing_stays_where_it_is():
    """However near it is."""
    shelf, pair = shelf_of(VIOLIN, "Ada brought her violin to school for lessons")
    found = asked(shelf)
    assert [one.docid for one in found] == list(pair)
    assert [one.newer for one in found] == [None, None]


def test_a_question_about_the_past_gets_the_older_note_first():
    """And the newer one lends from nothing."""
    shelf, pair = shelf_of(VIOLIN, "The drums are what Ada plays, violin lessons are over")
    shelf.embed({pair[0]: unit(0.3, 1, 0), pair[1]: unit(0.9, 1, 0)})
    query = "what violin lessons did Ada have?"
    assert asked(shelf, pair, query=query)[0].docid == pair[1]
    assert asked(shelf, pair, query=query.replace("have", "have before"))[0].docid == pair[0]


def test_what_finds_the_older_note_finds_the_newer_one():
    """They share no word."""
    shelf, pair = shelf_of("My line manager is Ottilie Kern", "Benno runs it all since June")
    shelf.embed({pair[1]: unit(0, 1, 0)})
    assert [one.docid for one in asked(shelf, pair, query="line manager")] == [pair[1], pair[0]]


def test_a_question_about_the_past_gets_the_older_of_two_notes_that_fit_alike():
    """They share no word, so nothing but their age tells which of them held before."""
    older, newer = "Trams: I drove the eight to the docks", "Ada hired me for her bakery"
    shelf = Shelf()
    docids = [shelf.add(text, at=NOW - timedelta(days=90 - at)) for at, text in enumerate(
        (older, newer, "The piano needs tuning"))]  # fmt: skip
    for cosine, first in ((0.97, older), (0.5, newer)):
        near = (unit(cosine, 1 - cosine, 0), unit(1, 0, 0), unit(0.3, 0, 1))
        shelf.embed(dict(zip(docids, near, strict=True)))
        for query, wanted in (
            ("which job have I got?", newer),
            ("which job did I have before?", first),
        ):
            assert shelf.text_of[asked(shelf, query=query)[0].docid] == wanted


@pytest.mark.parametrize("match", ["auto", "text"])
def test_the_hit_names_the_newer_memory(tmp_path, match):
    """Also without a search by meaning."""
    clock = ManualClock(NOW)
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        memory.add("Stand-up is at 9:15 every day")
        clock.advance(timedelta(days=30))
        later = memory.add("Moved stand-up to quarter to ten")
        memory.flush(wait=True)
        hits = memory.retrieve("what time is stand-up every day?", match=match)
    assert hits[0].id == later.id
    assert [hit.newer for hit in hits] == [None, later.id]
    assert later.id in hits[1].explain()
