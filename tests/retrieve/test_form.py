"""The kind of thing a question asks for, and other words for it, are evidence."""

from datetime import date

import pytest

from memento.embed.common_words import is_form_of_common
from memento.retrieve.question import continues, parse
from memento.text.answer_form import wanted
from memento.text.synonyms import others


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("who helps Ada in the morning", "From now on it is Joyce", "She gets help at eight"),
        ("what can't Omar eat", "Omar: no nuts, no sesame", "Omar eats a lot of fruit"),
        ("when is the school fair", "School fair on 3 March", "The school fair was dull"),
        ("how many chairs do we have", "We have twelve chairs", "We have chairs"),
        ("how many chairs do we have", "Seventeen chairs", "Chairs"),
        ("how often do we meet", "We meet every other week", "We meet at 18 Mill Lane"),
    ],
)
def test_a_text_that_holds_what_is_asked_for_fits_better(question, answer, other):
    """A text that holds the kind of thing the question names fits better."""
    form = wanted(question)
    assert form is not None
    assert form.fit(answer, "fact") > form.fit(other, "fact")


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("who helps Ada", "Every morning Ada needs help", False),  # a name of the question
        ("who helps Ada", "She gets help with it at Dobra and in the Holy Cross", False),  # places
        ("who helps Ada", "She gets help with it from Joyce at Dobra", True),
        ("how many nails for the planks", "how many nails do I need for 2 planks", False),
        ("how many nails for the planks", "Are 176 nails enough?", False),  # questions
        ("how many nails for the planks", "176 nails for both planks", True),
        ("how often do we meet", "It costs 35", False),  # neither a price nor a house number
    ],
)
def test_a_text_holds_an_answer_or_none(question, text, fits):
    """Names and numbers of the question, places and questions answer nothing."""
    form = wanted(question)
    assert form is not None
    assert (form.fit(text, "episode") > 0) is fits


def test_a_number_in_words_weighs_more_than_the_sign_of_a_digit(parsed):
    """The evidence of a digit is added elsewhere, so a number in words must make up for it."""
    form = wanted("how many chairs do we have")
    assert form is not None
    assert form.fit("Seventeen chairs", "fact") > form.fit("17 chairs", "fact") > 0
    assert not parsed("how often do we meet").wants_number


def test_a_name_that_begins_a_note_is_an_answer_to_who():
    """A capital letter tells nothing there, so the word must not be a common one."""
    form = wanted("who helps Ada")
    assert form is not None
    fits = [form.fit(text, "fact", is_form_of_common) for text in ("Grazyna helps", "Workers help")]
    assert fits[0] > fits[1] == 0
    assert form.fit("Grazyna helps", "fact") == 0


def test_a_decision_answers_what_was_decided():
    """The kind of the memory tells, whatever its words are."""
    form = wanted("what did we decide about the sofa")
    assert form is not None
    assert form.fit("We keep the sofa", "decision") > form.fit("We keep the sofa", "fact")


def test_the_memory_with_the_name_comes_first(shelf):
    """The memory with the name comes first."""
    shelf.add("The handhelds are looked after well in the depot by a colleague")
    named = shelf.add("The handhelds in the depot are looked after by Aisha Bello")
    shelf.add("The handhelds are looked after well in the depot by a colleague of hers")
    assert shelf.find("who looks after the handhelds in the depot").found[0].docid == named


def test_another_word_finds_a_memory_and_counts_less_than_the_word_itself(shelf):
    """Another word finds a memory and counts less than the word itself."""
    manager = shelf.add("Mr Hale is my manager")
    assert [one.docid for one in shelf.find("boss").found] == [manager]
    before = shelf.find("boss").found[0].signs["cover"]
    boss = shelf.add("My boss is away")
    found = {one.docid: one.signs["cover"] for one in shelf.find("boss").found}
    assert before < found[boss] == 1
    assert found[manager] < found[boss]


def test_a_word_that_other_notes_use_still_finds_what_means_the_same(shelf):
    """In notes, one that uses the word does not hide another that says it otherwise."""
    note = shelf.add("Omar has a fracture of the wrist")
    shelf.add("Cut my fringe in the lunch break")
    assert note in [one.docid for one in shelf.find("what did he break").found]


def test_in_conversations_a_word_that_is_used_stands_for_no_other(shelf):
    """A turn is not found by another word for one that the conversations use."""
    turn = shelf.add("Omar has a fracture of the wrist", session="a")
    used = shelf.add("See you in the lunch break", session="b")
    found = [one.docid for one in shelf.find("what did he break").found]
    assert used in found
    assert turn not in found


def test_a_kind_of_thing_finds_its_members_and_not_one_member_another():
    """A kind of thing finds its members and not one member another."""
    assert ("dog",) in others("pet")
    assert ("pet",) in others("dogs")
    assert ("cat",) not in others("dog")


def test_a_question_of_stop_words_has_no_cover(shelf):
    """A question of stop words has no cover."""
    shelf.add("So who are you, then?")
    assert shelf.find("who are you").found[0].signs["cover"] == 0


def test_a_hit_for_a_short_question_after_other_lines_is_less_sure(shelf):
    """A hit for a short question after other lines is less sure."""
    shelf.add("The boiler was serviced in March by Mr Hale")
    alone = shelf.find("when was the boiler serviced").found[0]
    after = shelf.find("the boiler?\nwhen was the boiler serviced").found[0]
    assert after.confidence == pytest.approx(alone.confidence / 2, rel=0.1)


def test_a_long_last_line_stands_for_itself():
    """A long last line stands for itself."""
    assert not continues("Dear all,\nwhen did we say that the boiler will be serviced this year?")


@pytest.fixture
def parsed():
    """Parse a question put to an empty namespace."""

    def read(text):
        return parse(text, now=date(2026, 3, 1), years=[2026], people={}, max_terms=32)

    return read


@pytest.mark.parametrize("text", ["old padlock number", "what was my dose to begin with"])
def test_more_ways_to_ask_for_a_former_value(parsed, text):
    """More ways to ask for a former value."""
    assert parsed(text).former is not None
