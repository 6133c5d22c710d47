"""What a statement settles about its speaker: words, ends, and what they do to a slot."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import MemoryManager
from memento.embed.onnx import MINILM
from memento.errors import EmbedderError
from memento.observe import reader, slot_reader, slots
from memento.observe.personal import SLOTS, SURE_AT, TOLD_AT, Personal
from memento.observe.signals import Signal
from memento.observe.slot_reader import found_in

ENDED = len(SLOTS)
"""Columns of values before those of what no longer holds."""


def told(text, *said, first=()):
    """Read a text in which some pieces have a column and a chance; tokens have three letters."""
    places = [one.span() for one in re.finditer(r"\w{1,3}|[^\w\s]", text)]
    chances = np.full((1 + len(places), 1 + 2 * ENDED), 1e-6, np.float32)
    for piece, column, chance in said:
        start = text.index(piece)
        for at, (begin, end) in enumerate(places, 1):
            if start <= begin and end <= start + len(piece):
                chances[at, column] = chance
    for column, chance in first:
        chances[0, column] = chance
    chances[:, 0] = 1 - chances[:, 1:].sum(axis=1)
    return found_in(text, places, np.log(chances))


HOME, EMPLOYER = 1 + SLOTS.index("home"), 1 + SLOTS.index("employer")


def test_a_value_is_whole_words_however_few_tokens_are_sure():
    """The model cuts words into pieces, of which it may know one alone."""
    found = told("I live in Reykjavik, mostly.", ("Rey", HOME, 0.9))
    assert found == [Personal("home", "Reykjavik", pytest.approx(0.9))]


def test_the_surest_comes_first_and_each_slot_has_one_value():
    """Of several homes the surest is taken."""
    text = "Oslo or Bergen, and I work at Acme"
    found = told(text, ("Oslo", HOME, 0.5), ("Bergen", HOME, 0.8), ("Acme", EMPLOYER, 0.95))
    assert [(one.slot, one.words) for one in found] == [("employer", "Acme"), ("home", "Bergen")]


def test_an_end_may_name_nothing():
    """Then the token before all words stands for it."""
    found = told("I lost my job", first=[(ENDED + EMPLOYER, 0.9)])
    assert found == [Personal("employer", "", pytest.approx(0.9), ended=True)]


def test_a_value_without_words_is_none():
    """A mark or nothing at all fills no slot."""
    assert told("home: ...", (":", HOME, 0.9)) == []
    assert told("") == []


@given(st.text(alphabet="ab ,.'\n", max_size=40), st.integers(0, 40), st.floats(0.01, 0.99))
def test_the_words_are_words_of_the_message(text, at, chance):
    """Whichever part is taken for a value."""
    piece = text[at : at + 5]
    for one in told(text, (piece, HOME, chance)):
        assert one.words.split()
        assert all(word in text for word in one.words.split())


@pytest.mark.parametrize(
    "text", ["", "Ich wohne in Köln.", "Im Garten.", "im Mai", "我住在杭州", "…"]
)
def test_other_languages_are_left_to_their_forms(text):
    """The reader knows English alone."""
    assert slots.told(text) == ()


@pytest.mark.parametrize(
    ("probability", "single"), [(TOLD_AT - 0.01, None), (TOLD_AT, False), (SURE_AT, True)]
)
def test_only_a_sure_value_replaces_another(probability, single):
    """One that is told, but not for sure, fills an empty slot."""
    slot = slots.slot_of("us lot at Acme", Signal.FACT, [Personal("employer", "Acme", probability)])
    assert (slot and slot.single) is single
    assert slot is None or (slot.key, slot.value) == ("user/employer", "acme")


def test_one_diet_replaces_no_other():
    """Nobody who is vegan stops when they also avoid gluten."""
    slot = slots.slot_of("no gluten for me", Signal.FACT, [Personal("diet", "no gluten", 0.99)])
    assert slot is not None
    assert not slot.single


# Told in passing, in the ways of strangers; each is clear to whoever reads it.
TOLD = {
    "my name is ada": ("name", "ada"),
    "hey, it's Marisol here": ("name", "Marisol"),
    "moved to porto last month, still unpacking": ("home", "porto"),
    "based in Leeds these days": ("home", "Leeds"),
    "started at Northwind on monday, onboarding all week": ("employer", "Northwind"),
    "speaking as a paramedic, that's too long to wait": ("job", "paramedic"),
    "my bday is may 3": ("birthday", "may 3"),
    "turned 41 yesterday and felt it": ("age", "41"),
    "im vegan btw": ("diet", "vegan"),
    "my husband Sigurd built the whole kitchen himself": ("partner", "Sigurd"),
}


@pytest.mark.parametrize(("said", "wanted"), TOLD.items(), ids=TOLD)
def test_what_people_say_in_passing_is_read(said, wanted):
    """Whatever the form of the sentence."""
    best = slots.told(said)[0]
    assert (best.slot, best.words, best.ended) == (*wanted, False)
    assert best.probability >= TOLD_AT


NOT_TOLD = [
    "my sister lives in Porto", "we deploy to Frankfurt on fridays", "set name = 'Bob' in the test",
    "the new intern is called Ada", "thinking of moving to Porto some day", "im starving",
    "Acme is our biggest client", "book a table for two at Marco's", "can you fix the login page?",
]  # fmt: skip


@pytest.mark.parametrize("said", NOT_TOLD)
def test_what_is_said_of_others_is_not_told(said):
    """Nor what is planned, asked or made up."""
    assert [one for one in slots.told(said) if one.probability >= TOLD_AT] == []


@pytest.fixture
def memory(tmp_path):
    """Open a store without an embedder."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        yield memory


@pytest.mark.parametrize(
    ("first", "said", "key"),
    [
        ("I work at Siemens.", "I quit my job at Siemens.", "user/employer"),
        ("I work at Siemens.", "Siemens let me go in march.", "user/employer"),
        ("My name is Petra.", "I'm Alex now, not Petra.", "user/name"),
        ("I live in Ghent.", "moved to porto last month", "user/home"),
    ],
)
def test_what_ends_or_changes_a_fact_takes_its_slot(memory, first, said, key):
    """And `undo` brings the earlier one back."""
    memory.observe(first, session="a")
    assert memory.value(key).text == first
    seen = memory.observe(said, session="b")
    assert memory.value(key).text.rstrip(".") == said.rstrip(".")
    memory.undo(seen.change)
    assert memory.value(key).text == first


@pytest.mark.parametrize(
    ("old", "new", "others", "key"),
    [
        ("I'm married to Tom.", "We got divorced in May.", "My parents divorced.", "user/partner"),
        ("My wife is Elif.", "We split up last month.", "Ann and Bo broke up.", "user/partner"),
        ("I work for the council.", "I quit my job.", "He quit his job.", "user/employer"),
    ],
)
def test_a_state_ends_without_being_named(memory, old, new, others, key):
    """Who is divorced is no longer married; of somebody else it says nothing."""
    memory.observe(old, session="a")
    memory.observe(others, session="b")
    assert memory.value(key).text == old
    memory.observe(new, session="c")
    assert memory.value(key).text == new


def test_an_end_of_something_else_leaves_the_slot(memory):
    """A denied name that is not the user's takes nothing back."""
    memory.observe("My name is Alexandra.", session="a")
    memory.observe("My name isn't Bob.", session="b")
    assert memory.value("user/name").text == "My name is Alexandra."


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("I'm allergic to nuts.", "I'm vegan."),
        ("I'm 41 and have asthma.", "I'm 42."),
        ("I'm 41, teach yoga and have three kids.", "I'm 42."),
        ("My wife Elif and I have two kids, Ada and Bo.", "We got divorced in May."),
        ("My email is p@x.org.", "Don't put my email p@x.org in the README."),
        ("My name is Petra.", "When I'm in Berlin, don't call me Petra."),
        ("My name is Petra.", "My family calls me Pepa."),
        ("Call me Sam.", "My name is Samuel Jones."),
        ("I'm vegan.", "I'm not vegan when I travel."),
        ("I work at Siemens.", "Siemens let me go to the conference in Rome."),
        ("I work at Siemens.", "I also work part time at Lidl."),
        ("I'm married to Tom.", "We're getting divorced next year."),
    ],
)
def test_what_the_reader_tells_hides_nothing(memory, first, said):
    """It may be wrong, so it decides who holds a slot, and never what is found."""
    memory.observe(first, session="a")
    memory.observe(said, session="b")
    kept = [one.text for one in memory.list() if one.kind != "episode"]
    assert first in kept
    assert said in kept


def test_the_users_word_takes_the_slot_from_an_agent(memory):
    """Also if both give it the same value: the user vouches for theirs."""
    memory.add("The user lives in Porto.", key="user/home", source="agent")
    memory.observe("I live in Porto with two loud dogs.", session="a")
    assert memory.value("user/home").text == "I live in Porto with two loud dogs."


@pytest.fixture
def folder(tmp_path_factory, monkeypatch):
    """Read a copy of the packaged model, which a test may damage."""
    copied = Path(shutil.copytree(MINILM, tmp_path_factory.mktemp("model") / "minilm"))
    monkeypatch.setattr(slot_reader, "MANIFEST", copied / "slots.json")
    monkeypatch.setattr(slot_reader, "_loaded", slot_reader._loaded.__wrapped__)
    return copied


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("I'm vegan.", "My wife isn't vegan anymore."),
        ("I'm vegan.", "Ann isn't vegan anymore."),
        ("I'm vegan.", "Our intern is no longer vegan."),
        ("I work at Siemens.", "Tom is no longer at Siemens."),
        ("My name is Petra.", "My boss isn't called Petra anymore."),
    ],
)
def test_what_ends_for_somebody_else_ends_nothing_of_the_user(tell, memory, first, said):
    """However alike the words are: the user's value stays, and keeps its slot."""
    (one,) = tell(first, "identity", session="a").learned
    assert tell(said, "fact", session="b").learned
    assert memory.value(one.memory.key).text == first


def test_what_others_do_to_the_user_ends_what_they_had(tell, memory):
    """A sentence may begin with somebody else, and say what happened to the user."""
    tell("I work at Acme.", "identity", session="a")
    tell("My boss let me go from Acme.", "fact", session="b")
    assert memory.value("user/employer") is None


@pytest.mark.parametrize(
    "said", ["Jetzt ist mein Name nicht mehr Petra.", "My name isn't Petra anymore."]
)
def test_what_ends_for_the_user_still_ends(said):
    """In English the reader hears of it; in other languages nothing tells, and the forms decide."""
    assert slots.may_tell(said, "user/name")


@pytest.mark.parametrize(
    "said",
    ["I left Siemens.", "Siemens let me go in march.", "us lot at Royal Mail are on strike"],
)
def test_what_happened_earlier_leaves_the_later_value(tell, memory, said):
    """An end that is told late ends nothing that began after it; nor does a value that is read."""
    may, march = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    (first,) = tell("I work at Siemens.", "identity", occurred_at=may).learned
    assert tell(said, "fact", occurred_at=march).learned
    assert memory.value("user/employer").id == first.memory.id
    assert {first.memory.text, said} == {one.text for one in memory.list(kind="fact")}


@pytest.mark.parametrize(
    ("first", "end", "after", "key"),
    [
        ("I'm vegan.", "I'm not vegan anymore.", "im pescatarian now", "user/diet"),
        ("My diet is halal.", "My halal days are over.", "plant-based eater here", "user/diet"),
    ],
)
def test_a_value_takes_the_slot_from_an_end(tell, memory, first, end, after, key):
    """Also of a slot of which people have several values: an end is none."""
    for said in (first, end, after):
        tell(said, "identity", session=said)
        assert memory.value(key).text == said


def test_a_confirmed_value_keeps_the_slot_that_the_reader_told(memory):
    """Under the condition that the user adds, and it hides nothing."""
    memory.observe("I live in Ghent.", session="a")
    said = "moved to porto last month, still unpacking"
    (one,) = memory.rules.foresee(said)
    assert one.candidate.key == "user/home"
    confirmed = memory.rules.confirm(one.candidate)
    assert memory.value("user/home").id == confirmed.id
    assert "I live in Ghent." in [one.text for one in memory.list(kind="fact")]
    limited = memory.rules.confirm(one.candidate, condition="when I travel")
    assert limited.key == "user/home@when-i-travel"
    assert memory.value("user/home").id == confirmed.id


@pytest.mark.parametrize("name", ["slots.onnx", "slots.json"])
def test_without_the_reader_what_was_said_is_stored(folder, memory, caplog, name):
    """With the slots that the forms know; what is missing is named, and logged once."""
    (folder / name).write_bytes(b"damaged")
    seen = memory.observe("moved to porto last month, still unpacking", session="a")
    memory.observe("My name is Petra.", session="b")
    memory.observe("I left Siemens.", session="c")
    assert [one.memory.key for one in seen.learned] == [None]
    assert memory.value("user/name").text == "My name is Petra."
    assert set(seen.missing) == {"slots"}
    assert name in seen.missing["slots"]
    assert f"missing slots: {seen.missing['slots']}" in str(seen)
    assert [one.getMessage() for one in caplog.records].count(
        f"what a statement settles about the user is not read: {seen.missing['slots']}"
    ) == 1


def test_nothing_is_missing_once_the_reader_reads_again(folder, memory):
    """The next statement tries anew."""
    whole = (folder / "slots.onnx").read_bytes()
    (folder / "slots.onnx").write_bytes(b"damaged")
    assert memory.observe("based in Leeds these days", session="a").missing
    (folder / "slots.onnx").write_bytes(whole)
    assert memory.observe("moved to porto last month", session="b").missing == {}


def test_without_the_reader_of_statements_nothing_is_observed(memory, monkeypatch, tmp_path):
    """Nobody can tell what a message states, so `observe` says so and stores nothing."""
    monkeypatch.setattr(reader, "MANIFEST", tmp_path / "reader.json")
    monkeypatch.setattr(reader, "_loaded", reader._loaded.__wrapped__)
    with pytest.raises(EmbedderError, match="reader"):
        memory.observe("I live in Porto.", session="a")
    assert memory.list() == []
