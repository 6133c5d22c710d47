"""Of two notes about the same thing, the newer one comes first."""

from datetime import timedelta

import numpy as np
import pytest
from shelves import NOW, Shelf

from memento import MemoryManager
from memento.retrieve import order as module
from memento.testing import ManualClock

VIOLIN = "Ada plays the violin, lessons on Mondays"
DRUMS = "No more violin for Ada, she drums now"
ASKED = np.array([1, 0, 0], np.float32)


def unit(*numbers):
    """Make a vector of length 1."""
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


def shelf_of(older, newer, *, cosine=0.6, was=None, now=None):
    """Make a namespace of two memories of which the older one fits the query better."""
    shelf = Shelf()
    first = shelf.add(older, at=NOW - timedelta(days=90), **(was or {}))
    second = shelf.add(newer, at=NOW - timedelta(days=5), **(now or {}))
    turned = np.sqrt(1 - cosine**2)
    shelf.embed({first: unit(1, 0, 0), second: unit(cosine, turned, 0)})
    return shelf


@pytest.fixture(autouse=True)
def _any_score(monkeypatch):
    """Two memories share the whole range of scores; the shares are tested on a real store."""
    monkeypatch.setattr(module, "_NEAR", 0.3)
    monkeypatch.setattr(module, "_FAR", 0.3)


def asked(shelf, query="what does Ada play, violin?"):
    """Ask; return what was found."""
    return shelf.find(query, ASKED, k=5).found


def texts(shelf, *args):
    """Ask; return texts."""
    return [shelf.text_of[one.docid] for one in asked(shelf, *args)]


def test_the_note_that_tells_of_the_change_comes_first_and_the_older_one_says_so():
    """The note that tells of the change comes first and the older one says so."""
    shelf = shelf_of(VIOLIN, DRUMS)
    first, second = asked(shelf)
    assert [shelf.text_of[first.docid], shelf.text_of[second.docid]] == [DRUMS, VIOLIN]
    assert (first.newer, second.newer) == (None, first.docid)
    assert first.score >= second.score


def test_a_statement_of_the_same_form_about_something_else_is_no_news():
    """What the query names decides between statements of one form, not their age."""
    boathouse = "The key to the boathouse hangs next to the fuse box"
    shelf = shelf_of(boathouse, "The key to the darkroom hangs next to the fuse box")
    first, second = asked(shelf, "Where is the key to the boathouse?")
    assert shelf.text_of[first.docid] == boathouse
    assert (first.newer, second.newer) == (None, None)
    first, second = asked(shelf, "Where does the key hang?")
    assert shelf.text_of[second.docid] == boathouse
    assert (first.newer, second.newer) == (None, first.docid)


@pytest.mark.parametrize(
    "newer",
    [
        "My sister plays the violin, lessons on Fridays",
        "My uncle's violin is for lessons only",
        "If I had time I would play the violin again",
    ],
)
def test_what_another_person_does_is_no_news_of_the_speaker(newer):
    """It shares words and is near in meaning, but is about somebody else, or nothing that is."""
    own = "I play the violin, lessons on Mondays"
    first, second = asked(shelf_of(own, newer), "do I play the violin?")
    assert (first.newer, second.newer) == (None, None)


@pytest.mark.parametrize(("cosine", "moves"), [(0.6, True), (0.4, False)])
def test_the_newer_of_two_near_notes_comes_first_whatever_it_says(cosine, moves):
    """Nothing tells whether it changes anything; one that is less near is only named."""
    shelf = shelf_of(VIOLIN, "Ada brought her violin to school for lessons", cosine=cosine)
    found = asked(shelf)
    assert (shelf.text_of[found[0].docid] != VIOLIN) is moves
    assert sum(one.newer is not None for one in found) == 1


def test_a_note_that_is_not_near_is_not_about_the_same_thing():
    """Sharing a word is not enough."""
    found = asked(shelf_of(VIOLIN, "Ada brought her violin to school", cosine=0.3))
    assert [one.newer for one in found] == [None, None]


def test_two_notes_about_one_person_are_not_about_the_same_thing():
    """They share only her name, and their meaning is not near enough for that."""
    assert texts(shelf_of("Ada has the violin class", "Ada has a new passport", cosine=0.5))[0] == (
        "Ada has the violin class"
    )


def test_notes_of_different_speakers_are_not_compared():
    """Notes of different speakers are not compared."""
    shelf = shelf_of(VIOLIN, DRUMS, was={"actor": "Bea"}, now={"actor": "Cleo"})
    assert texts(shelf)[0] == VIOLIN


def test_turns_of_a_conversation_are_not_compared():
    """Turns of a conversation are not compared."""
    shelf = shelf_of(VIOLIN, DRUMS, was={"session": "a"}, now={"session": "b"})
    assert all(one.newer is None for one in asked(shelf))


def test_a_quarantined_note_never_comes_before_one_that_holds():
    """A quarantined note never comes before one that holds."""
    shelf = shelf_of(VIOLIN, DRUMS, now={"status": "quarantined"})
    everything = np.ones(2, np.bool_)
    found = shelf.find("what does Ada play, violin?", ASKED, k=5, allowed=everything).found
    assert [one.newer for one in found] == [None, None]


def test_a_question_about_the_past_keeps_its_order():
    """A question about the past keeps its order."""
    assert texts(shelf_of(VIOLIN, DRUMS), "what violin did Ada play before?")[0] == VIOLIN


def test_a_question_about_the_past_gets_the_older_note_first():
    """Of two notes without a slot, the older one tells what held before."""
    shelf = shelf_of(VIOLIN, "No more lessons in violin playing for Ada, Mondays are for drums now")
    shelf.embed({one: unit(0.3 + 0.6 * at, 1, 0) for at, one in enumerate(shelf.text_of)})
    query = "what lessons in violin playing did Ada have before?"
    newer, older = texts(shelf, query.replace(" before", ""))
    assert newer != VIOLIN == older
    assert texts(shelf, query)[0] == VIOLIN


def test_the_hit_names_the_newer_memory(tmp_path):
    """The hit names the newer memory."""
    clock = ManualClock(NOW)
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        memory.add("Stand-up is at 9:15 every day")
        clock.advance(timedelta(days=30))
        later = memory.add("Moved stand-up to quarter to ten every day")
        memory.flush(wait=True)
        hits = memory.retrieve("what time is stand-up every day?")
    assert hits[0].id == later.id
    assert [hit.newer for hit in hits] == [None, later.id]
    assert later.id in hits[1].explain()


def test_a_question_about_the_past_gets_the_older_of_two_notes_that_fit_alike(shelf):
    """They share no word, so nothing but their age tells which of them held before."""
    older, newer = "Trams: I drove the eight to the docks", "Ada hired me for her bakery"
    docids = [shelf.add(text, at=NOW - timedelta(days=90 - at)) for at, text in enumerate(
        (older, newer, "The piano needs tuning"))]  # fmt: skip
    for cosine, first in ((0.97, older), (0.5, newer)):
        near = (unit(cosine, 1 - cosine, 0), unit(1, 0, 0), unit(0.3, 0, 1))
        shelf.embed(dict(zip(docids, near, strict=True)))
        assert texts(shelf, "which job have I got?")[0] == newer
        assert texts(shelf, "which job did I have before?")[0] == first
