"""Of two notes about the same thing, the one that tells of the change comes first."""

from datetime import timedelta

import numpy as np
import pytest
from shelves import NOW, Shelf

from memento import MemoryManager
from memento.retrieve import newer as module
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
    monkeypatch.setattr(module, "_FAR_VALUES", 0.2)


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


def test_an_event_that_often_changes_something_is_enough():
    """With "raised", "sold", "since the holidays": the newer of two notes."""
    older, newer = "Violin class costs 30 at Ada's", "They raised the violin class to 34"
    assert texts(shelf_of(older, newer))[0] == newer
    assert texts(shelf_of(older, newer.replace("raised", "explained")))[0] == older


def test_the_same_event_of_another_thing_changes_nothing():
    """The sale of one thing takes nothing back of the sale of another one; of the same, it does."""
    older = "The violin was sold to Ruiz for 90"
    asked = "for how much was the violin sold?"
    assert texts(shelf_of(older, "The boat was sold to Ruiz for 20"), asked)[0] == older
    newer = "The violin was sold for 20 after all"
    assert texts(shelf_of(older, newer), asked)[0] == newer


def test_a_newer_note_without_a_word_of_change_stays_where_it_is():
    """A newer note without a word of change stays where it is."""
    assert texts(shelf_of(VIOLIN, "Ada brought her violin to school"))[0] == VIOLIN


def test_an_older_note_is_not_placed_before_a_newer_one():
    """An older note is not placed before a newer one."""
    assert texts(shelf_of(DRUMS, VIOLIN))[0] == DRUMS


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


def test_a_question_about_the_past_gets_the_older_of_two_notes_that_fit_alike():
    """They share no word, so nothing but their age tells which of them held before."""
    older, newer = "Trams: I drove the eight to the docks", "Ada hired me for her bakery"
    shelf = Shelf()
    docids = [shelf.add(text, at=NOW - timedelta(days=90 - at)) for at, text in enumerate(
        (older, newer, "The piano needs tuning"))]  # fmt: skip
    for cosine, first in ((0.97, older), (0.5, newer)):
        near = (unit(cosine, 1 - cosine, 0), unit(1, 0, 0), unit(0.3, 0, 1))
        shelf.embed(dict(zip(docids, near, strict=True)))
        assert texts(shelf, "which job have I got?")[0] == newer
        assert texts(shelf, "which job did I have before?")[0] == first


def test_another_value_of_the_same_size_is_enough_for_a_question_that_asks_for_it():
    """No word of change, no word in common: the newer amount comes first, and not another one."""
    older, newer = "The studio of Ada is 840 a month", "Her landlord wants 910 from her"
    query = "how much is the studio?"
    assert texts(shelf_of(older, newer), query)[0] == newer
    assert texts(shelf_of(older, newer.replace("910", "two references")), query)[0] == older
    assert texts(shelf_of(older, newer, cosine=0.4), query)[0] == older
    assert texts(shelf_of(older, newer), "what is the studio?")[0] == older
    assert texts(shelf_of(older, newer), "how much was the studio?")[0] == older


@pytest.mark.parametrize("verdict", [None, "used", "confirmed"])
def test_a_verdict_tells_more_of_a_value_than_its_age(tmp_path, verdict):
    """Another value comes first as the newer one, but not before one that was of use."""
    clock = ManualClock(NOW)
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        older = memory.add("The rent of the shop is 4,200 euros.").id
        clock.advance(timedelta(days=30))
        newer = memory.add("The rent of the shop in the other street is 4,400 euros, they say.").id
        memory.flush(wait=True)
        if verdict is not None:
            memory.feedback.rate(older, verdict=verdict)
        first = memory.retrieve("How much is the rent of the shop?")[0].id
    assert first == (newer if verdict is None else older)


def test_a_value_that_is_told_as_a_change_is_not_replaced_by_another_number():
    """The note that says what changed comes before a newer note that only has such a number."""
    shelf = Shelf()
    told = ("Yoga is on Mondays", "Yoga has moved to Fridays", "The choir meets on Sundays")
    docids = [shelf.add(text, at=NOW - timedelta(days=90 - at)) for at, text in enumerate(told)]
    near = (unit(1, 0, 0), unit(0.9, 0.5, 0), unit(0.6, 0.6, 0))
    shelf.embed(dict(zip(docids, near, strict=True)))
    assert texts(shelf, "which day is yoga?")[0] == told[1]
