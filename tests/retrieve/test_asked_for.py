"""What a question asks for decides what may be lifted: a slot, a kind, a rule, a name, a code."""

import tomllib
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pytest
from shelves import Shelf

from memento import MemoryManager
from memento.prompt import choosing
from memento.retrieve.by_name import slot_asked
from memento.text.words import terms


def first(shelf, question, *args, **options):
    """Ask a question; return the text of the best hit."""
    return shelf.hits(question, *args, **options)[0]


# A slot


@pytest.mark.parametrize(
    ("key", "question"),
    [
        ("user/home", "Where do I live?"),
        ("user/home", "Which city do I live in these days?"),
        ("user/home", "do you remember where I live"),
        ("user/home", "What's my address?"),
        ("user/employer", "Who do I work for?"),
        ("user/employer", "tell me again where I work"),
        ("user/job", "What do I do for a living?"),
        ("user/birthday", "When was I born?"),
        ("user/age", "How old am I now?"),
        ("user/phone", "what's my number again"),
        ("user/name", "Do you know what I am called?"),
        ("user/timezone", "what time zone am I in"),
        ("user/language", "What's my mother tongue?"),
        ("user/home", "Wo wohne ich?"),
    ],
)
def test_a_slot_is_asked_for_in_the_words_of_the_language(key, question):
    """People ask "where do I live", not "user home"."""
    assert slot_asked(terms(question)) == tuple(terms(key))


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ada live?", "where do I live in Lisbon", "who do I work for on Sundays",
        "When is Ada's birthday?", "my number plate", "what is my phone bill", "how old is my car",
        "who am I meeting", "my name badge", "can I live on 900 euros", "my home insurance",
        "does my address book sync", "was I born lucky", "which language course is mine", "",
    ],
)  # fmt: skip
def test_what_asks_for_more_or_for_others_asks_for_no_slot(question):
    """One more word that tells something makes it another question."""
    assert slot_asked(terms(question)) == ()


def test_every_slot_of_a_person_has_ways_to_ask_for_it_and_no_other():
    """The table names the slots of the user that a statement fills by its form."""
    folder = resources.files("memento")
    filled = tomllib.loads((folder / "observe/slots.toml").read_text(encoding="utf-8"))["slot"]
    asked = tomllib.loads((folder / "retrieve/slot_names.toml").read_text(encoding="utf-8"))
    assert {one["key"] for one in filled if one["key"].startswith("user/")} == asked.keys()


def test_the_value_of_a_slot_is_found_though_it_shares_no_word_with_the_question(shelf):
    """Neither words nor vector lead to it; its key does."""
    home = shelf.add("Moved to Porto for good", key="user/home")
    shelf.add("Ana lives where the tram ends", key="ana/home")
    shelf.embed({home: [0.0, 1.0]})
    found = shelf.find("Where do I live?", np.array([1, 0], np.float32)).found
    assert shelf.text_of[found[0].docid] == "Moved to Porto for good"
    assert found[0].confidence > 0.9
    assert shelf.find("Where do I live?", match="text").confidence < 0.5


# A kind


def test_a_kind_that_is_named_alone_is_all_that_is_wanted(shelf):
    """All memories of the kind, before those that only say the word."""
    mine = {
        shelf.add("Oat milk, no sugar", kind="preference"),
        shelf.add("Aisle", kind="preference"),
    }
    shelf.add("The preferences of the printer are lost")
    found = shelf.find("what are my preferences?").found
    assert {one.docid for one in found[:2]} == mine
    assert found[1].confidence > 0.8


def test_a_kind_beside_a_subject_is_evidence_among_others(shelf):
    """A decision about something else is no answer."""
    shelf.add("The queue at the bakery was long")
    shelf.add("RabbitMQ for the queue", kind="decision")
    shelf.add("Blue for the walls", kind="decision")
    assert shelf.hits("which decision was there about the queue")[0] == "RabbitMQ for the queue"


# A rule


def test_a_standing_instruction_is_lifted_only_if_one_is_asked_for(shelf):
    """What begins with "always" answers "who" no better than any other memory."""
    shelf.add("Always ask Ruth about branches")
    lift = [one.terms.get("standing", 0) for one in shelf.find("who cut the branches").found]
    assert not any(lift)
    lift = [
        one.terms.get("standing", 0) for one in shelf.find("what should I do with branches").found
    ]
    assert all(lift)


# A question


def test_an_older_question_stands_behind_a_statement_and_makes_nothing_surer(shelf):
    """It shares all words with the question and answers none of it."""
    shelf.add("Where did we put the pump of the boat, by the way?", role="user", session="s")
    assert shelf.find("where is the pump of the boat").confidence == 0
    shelf.add("The pump lies under the bench")
    found = shelf.find("where is the pump of the boat").found
    assert shelf.text_of[found[0].docid] == "The pump lies under the bench"
    assert found[0].confidence > found[1].confidence


def test_an_older_question_is_found_by_who_asks_for_questions(shelf):
    """Then it is the answer."""
    shelf.add("Where is the pump?", role="user", kind="question")
    shelf.add("The pump lies under the bench")
    assert shelf.hits("which questions did I have about the pump")[0] == "Where is the pump?"


# A name


def test_a_mistyped_word_in_a_question_about_something_else_is_no_name(shelf):
    """The mistyped address of a jump host is not the user's address."""
    shelf.add("Linden Row 7", key="address")
    shelf.add("The jump host is bastion-2")
    assert first(shelf, "what is the adress of the jump host") == "The jump host is bastion-2"
    assert first(shelf, "what is the adress?") == "Linden Row 7"


def test_the_end_of_a_key_yields_to_what_has_all_the_rest_of_the_question():
    """Of two things with an address, the one that the question is about."""
    shelf, near = Shelf(), np.array([1, 0], np.float32)
    home = shelf.add("Linden Row 7", key="user/address")
    host = shelf.add("The jump host is bastion-2")
    shelf.embed({home: [0.1, 1.0], host: [1.0, 0.1]})
    question = "what is the address of the jump host"
    assert first(shelf, question, near) == "The jump host is bastion-2"
    assert first(shelf, question, near, match="names") == "Linden Row 7"
    assert first(shelf, "what is the address for parcels", near) == "Linden Row 7"
    shelf.embed({home: [0.5, 0.8]})
    assert first(shelf, question, near) == "Linden Row 7"


# A code


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what does error 14 mean", "E-14: the door sensor sticks"),
        ("what does error 14 mean", "ERR14: the door sensor sticks"),
        ("is ticket 7 done", "T-7 is closed"),
        ("error 2207 again", "E-2207: no water"),
    ],
)
def test_the_word_before_a_number_may_be_shortened(shelf, question, text):
    """The code of an error is meant, and not whatever counts errors."""
    number = next(word for word in question.split() if word.isdigit())
    shelf.add(text)
    shelf.add(f"I made {number} errors with one ticket, done again")
    assert first(shelf, question) == text


# What a prompt shows


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A store with the default embedder, told about a person and a house."""
    with MemoryManager(tmp_path_factory.mktemp("asked") / "store") as memory:
        memory.observe("I moved to Lisbon last week.")
        for text in (
            "The spare key hangs behind the heater", "The heater was serviced in March",
            "The neighbour waters the plants on Fridays", "The cellar has a new lock",
            "Parcels go to the shop on the corner", "The roof was repaired after the storm",
        ):  # fmt: skip
            memory.add(text)
        memory.flush(wait=True)
        yield memory


def test_a_prompt_knows_where_the_user_lives(told):
    """It was said in other words, and only the slot joins them."""
    assert "Lisbon" in told.prompt("Where do I live?")
    assert told.prompt("Where does the train to Braga leave?") == ""


def test_a_prompt_in_doubt_shows_two_and_what_is_nearly_as_likely():
    """The first two stay, and of the others those that are no worse than a share of the best."""
    hits = [
        SimpleNamespace(confidence=sure, newer=None, id=str(sure))
        for sure in (0.4, 0.01, 0.02, 0.3, 0.03)
    ]
    shown = [hit.confidence for hit in choosing.likely(hits, 0.45)]
    assert shown == [0.4, 0.01, 0.3]
    assert choosing.likely(hits, 0.55) == tuple(hits)
    assert choosing.likely([], 0.0) == ()


def test_a_prompt_with_a_number_shows_as_many(memory):
    """Who says how many wants as many."""
    question = "which oil does the gearbox of the harbour ferry take"
    memory.add("The gearbox of the ferry was changed in May")
    for n in range(12):
        memory.add(f"Pier {n} of the harbour is painted")
    assert memory.retrieve(question).confidence <= choosing.DOUBTED
    assert [memory.prompt(question, k).count("\n{") for k in (None, 5)] == [2, 5]
    assert len(memory.recall(question).hits) == 2
