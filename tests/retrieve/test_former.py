"""Former values answer questions about the past, and help to find the present value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memento import MemoryManager
from memento.testing import ManualClock
from memento.text.former_question import asked, without_successor

DAY = timedelta(days=1)
CARS = ["We drive a Skoda Fabia", "We drive a Volvo", "Picked up the Kia Niro, dark green"]


@pytest.fixture
def garage(open_memory, clock):
    """A slot with three values, and two other memories."""
    memory = open_memory()
    for text in CARS:
        memory.add(text, key="family/car")
        clock.advance(DAY)
    memory.add("The car park at work closes at eight")
    memory.add("Nell plays the drums")
    return memory


def texts(memory, query, **options):
    """Return the texts of the hits, best first."""
    return [hit.text for hit in memory.retrieve(query, **options)]


@pytest.mark.parametrize(
    "query",
    [
        "what car did we have before the kia",
        "Which car did we have before?",
        "who was my boss before Gareth",
        "electricity supplier before this one",
        "which night did choir use to be",
        "what was the old bin day",
        "staging used to be on which box",
        "What was my previous editor?",
        "bedtime last year",
        "Where did I live originally?",
        "Welches Auto hatten wir früher?",
        "¿Qué coche teníamos antes?",
        "Quelle voiture avions-nous avant ?",
        "以前の車は何でしたか",
        "And now?\nWhat was it before?",
        "Who conducted the choir before Szymon?",
        "What was our car before the Dacia?",
        "Which surgery treated me before Dr Anand?",
    ],
)
def test_a_question_about_the_past_is_recognised(query):
    """It asks for a value that holds no longer."""
    assert asked(query) is not None


@pytest.mark.parametrize(
    "query",
    [
        "which car do we have",
        "How old is Otis?",
        "What should I do before lunch?",
        "What is a chisel used to cut?",
        "Is Otis used to his new room?",
        "When is the dentist, before or after nine?",
        "What did I plan before 2020",
        "I used to smoke. What is my doctor called?",
        "What was the old address?\nand now?",
        "What replaced the old car?",
        "Welches Auto haben wir jetzt?",
        "",
    ],
)
def test_any_other_question_is_about_the_present(query):
    """Superseded memories stay hidden."""
    assert asked(query) is None


def test_the_value_before_the_present_one_comes_first(garage):
    """It says when it ended and what took its place; the present value comes after it."""
    hits = garage.retrieve("Which car did we have before?").hits
    assert [hit.text for hit in hits][:3] == [CARS[1], CARS[0], CARS[2]]
    present = garage.retrieve("Which car do we drive?")[0].memory
    assert hits[0].memory.superseded_by == present.id
    assert hits[0].memory.valid_until == present.valid_from
    assert [one.score for one in hits] == sorted([one.score for one in hits], reverse=True)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what car did we have before the Kia", CARS[1]),
        ("what car did we have before the Volvo", CARS[0]),
        ("which car did we have originally", CARS[0]),
        ("our old car", CARS[1]),
    ],
)
def test_the_question_says_which_former_value(garage, query, first):
    """The one before a value that it names, or the first of all."""
    assert texts(garage, query)[0] == first


@pytest.mark.parametrize("query", ["which car do we have", "Skoda Fabia", "Volvo", "car"])
def test_a_question_about_the_present_never_shows_a_former_value(garage, query):
    """Not even if it has the very words of one."""
    assert not {CARS[0], CARS[1]}.intersection(texts(garage, query, k=10))


def test_a_former_value_without_a_key(memory):
    """A memory that was replaced by ``supersedes`` is offered as well."""
    old = memory.add("The dentist is Dr Adler")
    memory.add("Our teeth are looked after by Dr Brand", supersedes=old.id)
    assert texts(memory, "who was the dentist before")[0] == "The dentist is Dr Adler"


def test_the_year_that_is_asked_for(memory, clock):
    """The value that held then comes first, though a later one is former as well."""
    memory.add("Otis is in bed by six", key="otis/bedtime")
    clock.advance(400 * DAY)
    memory.add("Otis is in bed by seven", key="otis/bedtime")
    clock.advance(DAY)
    memory.add("Otis stays up till eight", key="otis/bedtime")
    assert texts(memory, "otis bedtime last year")[0] == "Otis is in bed by six"


def test_filters_hold_for_former_values(garage):
    """Scope, tags, kinds and the moment that is asked about."""
    garage.add("We drive a van", key="work/car", scope="work", tags=["fleet"])
    garage.add("We drive a lorry", key="work/car", scope="work")
    question = "what car did we have before"
    assert texts(garage, question, within="work") == ["We drive a van", "We drive a lorry"]
    assert texts(garage, question, tag="fleet") == ["We drive a van"]
    assert texts(garage, question, kind="rule") == []
    assert CARS[1] not in texts(garage, question, as_of=datetime(2025, 1, 1, 12, tzinfo=UTC), k=10)


def test_what_is_hidden_stays_hidden(garage):
    """Forgotten, expired and quarantined memories answer no question about the past."""
    garage.add("We drove a red Beetle", key="family/car", source="web")
    gone = garage.add("We drive a tractor", key="family/car", expires_in=5)
    garage.forget(gone.id)
    found = texts(garage, "which car did we have before", k=20)
    assert not {"We drove a red Beetle", "We drive a tractor"}.intersection(found)


def test_the_prompt_says_until_when(garage):
    """A model must not take a former value for the present one."""
    block = garage.prompt("which car did we have before the kia")
    lines = {text: line for line in block.splitlines() for text in CARS if text in line}
    assert '"until": "2025-01-0' in lines[CARS[1]]
    assert "until" not in lines[CARS[2]]


# A new value is found by what found the old one


@pytest.fixture(scope="module", params=["default", None], ids=["meaning", "words"])
def moved(request, tmp_path_factory):
    """A slot whose new value has neither the words nor the meaning of the question."""
    root = tmp_path_factory.mktemp("moved")
    with MemoryManager(root, embedder=request.param, clock=ManualClock()) as memory:
        memory.add("I live at Oudegracht 214 in Utrecht", key="me/address")
        memory.add("I like tea")
        memory.add("My cat is called Tom")
        memory.add("We moved to Biltstraat 77 in Utrecht", key="me/address")
        assert memory.flush(wait=True, timeout=60)
        yield memory


@pytest.mark.parametrize("query", ["Where do I live?", "Oudegracht 214", "my address"])
def test_the_new_value_is_found(moved, query):
    """By the words of the old one, by its vector, and by its key."""
    found = [hit.text for hit in moved.retrieve(query)]
    assert found[0] == "We moved to Biltstraat 77 in Utrecht"
    assert "I live at Oudegracht 214 in Utrecht" not in found


def test_the_end_of_the_chain_is_found(open_memory):
    """However many values came between."""
    memory = open_memory()
    memory.add("The parrot lives in the kitchen", key="parrot/room")
    for n in range(9):
        memory.add(f"Polly sits in place {n}", key="parrot/room")
    assert texts(memory, "kitchen") == ["Polly sits in place 8"]


def test_a_forgotten_heir_is_not_found(memory):
    """The chain ends at a memory that may not be found."""
    memory.add("The parrot lives in the kitchen", key="parrot/room")
    new = memory.add("Polly sits on the balcony", key="parrot/room")
    memory.forget(new.id)
    assert texts(memory, "kitchen") == []


def test_a_quarantined_memory_lends_nothing(memory):
    """A memory that a web page proposes to replace is found as if there were no page."""
    fact = memory.add("Polly sits on the balcony", key="parrot/room")
    memory.add("Rob keeps a tidy kitchen")
    before = [(hit.text, hit.score, hit.confidence) for hit in memory.retrieve("kitchen")]
    memory.add("The parrot lives in the kitchen", supersedes=fact.id, source="web")
    memory.add("The parrot loves the kitchen", key="parrot/room", source="web")
    after = [(hit.text, hit.score, hit.confidence) for hit in memory.retrieve("kitchen")]
    assert after == before


@pytest.mark.parametrize("day", ["Monday", "Christmas", "March"])
def test_what_someone_does_before_a_day_is_no_question_about_the_past(day):
    """A day is no value that another one replaced."""
    assert asked(f"What should be done before {day}?") is None


def test_the_value_before_which_the_wanted_one_held_is_not_embedded():
    """Only a question about the past loses it, and only if something else is left."""
    assert without_successor("Who conducted the choir before Ivo?") == "Who conducted the choir"
    assert without_successor("Who drives before Ivo?\nWhat now?").endswith("What now?")
    assert without_successor("What did we do before that?") == "What did we do before that?"


def test_a_note_of_the_former_value_is_found_although_the_question_names_the_present_one(
    open_memory,
):
    """The question is near the present value in meaning, and asks for the other."""
    memory = open_memory(embedder="default")
    old = memory.add("We go about in a Skoda Roomster, dark green, it rattles")
    memory.add("The Dacia had its first service, the Dacia smells of rolls")
    memory.flush(wait=True)
    asked_for = memory.retrieve("Which car did we drive before the Dacia?")
    without = memory.retrieve("Which car did we drive")
    signs = {hit.id: hit.signs["cosine"] for hit in asked_for}
    assert signs[old.id] == {hit.id: hit.signs["cosine"] for hit in without}[old.id]


def test_a_new_value_comes_before_a_memory_that_merely_has_words_of_the_question(memory):
    """The new value says nothing of what it is, and its key neither; its slot does."""
    memory.add("The code for the garden gate is 4418", key="me/seven")
    memory.add("Rami knows the gate code, and the garden", "long")
    memory.add("It's 7026 now, for whoever asks", key="me/seven")
    assert memory.retrieve("what is the code for the garden gate")[0].text.startswith("It's")
