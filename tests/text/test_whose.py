"""Whose a statement is: words that two statements share count only if they are of one person."""

from __future__ import annotations

import pytest

from memento.text.date_tables import function_words
from memento.text.whose import parts, shared

OF_TWO = [
    ("I live in Porto", "My mom's name is Elena and she lives in Faro"),
    ("I work at Siemens as an engineer", "My wife works at Bosch as an engineer"),
    ("my number is 06 87654321", "my accountant's number is 06-12345678"),
    ("my brother's birthday is on 9 April", "my birthday is on 3 March"),
    ("My friend Bob's sister teaches piano", "My friend Carla's sister Maria plays the piano"),
    ("I drive a Golf", "Our tenant drives a Tesla"),
    ("I work nights", "Bob works at the port and hates it"),
    ("I take metformin", "My dad takes insulin"),
    ("my daughter is allergic to nuts", "my son is allergic to eggs"),
    ("Ich wohne in Graz", "Mein Bruder wohnt in Graz"),
    ("J'habite à Lyon", "Ma sœur Zoé habite à Lille"),
    ("I live in Antwerp", "If I worked there I'd live in Leuven"),
    ("I live in Lyon", "I wish I lived in Nice"),
]
OF_ONE = [
    ("my number is 1", "my number is 2"),
    ("My lease ends in May", "I extended the lease"),
    ("our server is called hopper", "the server got renamed to turing"),
    ("My daughter Mila starts school in September", "Mila's school start got moved to October"),
    ("my exam is on June 12", "rebooked to June 6"),
    ("I live in Porto", "My wife and I live in Faro now"),
    ("I live with my wife Ana in Porto", "Ana moved out of Porto"),
    ("my wife works at Bosch", "she works at Siemens now"),
    ("my boss's email is bob@x.com", "his email is now rob@x.com"),
    ("I work at Siemens", "Google hired me, I work there from Monday"),
    ("Vivo en Sevilla", "Vivo en Cádiz"),
    ("J'habite à Lyon", "J'habite à Nantes"),
]


@pytest.mark.parametrize(("older", "newer"), OF_TWO)
def test_statements_of_two_people_share_nothing(older, newer):
    """What a relative does, and what would be, says nothing of the speaker, nor the reverse."""
    assert not shared(parts(newer, str.casefold), parts(older, str.casefold)) - {"maria"}


@pytest.mark.parametrize(("older", "newer"), OF_ONE)
def test_statements_of_one_person_share_words(older, newer):
    """A thing without an owner, and who is named in both, may be the same."""
    assert shared(parts(newer), parts(older))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mein Bruder ist nicht da", "Mein Name ist nicht Anna"),
        ("Où est-ce que je suis ?", "Mon train est à midi et je suis là"),
        ("Mi cita no es hoy", "Mi coche es azul y no tiene radio"),
    ],
)
def test_function_words_of_other_languages_are_no_content(one, other):
    """Else nearly all statements of one language would share some."""
    assert not shared(parts(one), parts(other))


def test_english_has_its_own_list():
    """Its function words are no content anywhere; "son" is a word of French only in French."""
    assert function_words("my son is at sea") == frozenset()
    assert "son" in function_words("mon frère est avec son fils dans la maison")


def test_each_clause_has_its_owner():
    """A clause without a subject goes on about that of the clause before."""
    told = parts("I like tea, my son hates it and drinks cocoa. The cat sleeps")
    assert [one.own for one in told] == [True, False, False, None]
    assert told[2].owner == {"son"}
