"""What a request to forget names, and what becomes of days, denials and other clauses."""

from __future__ import annotations

import pytest

from memento import Kind
from memento.observe.asked import keys_of


@pytest.mark.parametrize(
    ("request_", "slot"),
    [
        ("Forget where I live.", "user/home"),
        ("Please forget how old I am!", "user/age"),
        ("Delete what I do for a living.", "user/job"),
    ],
)
def test_a_clause_names_what_to_forget(request_, slot):
    """As its noun does; other clauses name nothing."""
    assert slot in keys_of(request_)
    assert keys_of("Forget what I just said.") == ()


def test_where_i_live_is_forgotten(memory, tell):
    """A request by a clause is carried out."""
    tell("I live in Lyon.", "identity")
    seen = tell("Forget where I live.", "forget")
    assert len(seen.forget[0].forgotten) == 2  # the value, and the turn that told it
    assert memory.value("user/home") is None


@pytest.mark.parametrize(
    "text", ["My birthday is on 4 May.", "Our anniversary is on the 3rd of June."]
)
def test_a_day_of_every_year_is_never_over(tell, text):
    """It is a fact, with no date on which it is due."""
    (one,) = tell(text, "plan").learned
    assert one.memory.kind is Kind.FACT
    assert (one.memory.due_at, one.memory.valid_until) == (None, None)


def test_a_birthday_party_is_a_plan(tell):
    """It has its day."""
    (one,) = tell("My birthday party is on 4 May.", "plan").learned
    assert one.memory.kind is Kind.PLAN
    assert one.memory.due_at is not None


def test_a_clause_that_denies_gives_way_to_the_one_that_states(memory, tell):
    """The old home is replaced by the new one of the same sentence."""
    tell("I live in Braga.", "identity")
    said = "I don't live in Braga any more, we moved to Evora."
    (one,) = tell(said, "correction").learned
    assert one.action == "replaced"
    assert memory.value("user/home").text == said


def test_a_clause_about_another_thing_fills_no_slot_of_the_home(memory, tell):
    """A user who moved to another employer still lives in the same place."""
    tell("I live in Berlin.", "identity")
    tell("I'm not at Siemens any more, I moved to Bosch.", "correction")
    assert memory.value("user/home").text == "I live in Berlin."


@pytest.mark.parametrize(
    "said",
    ["I no longer live in Berlin.", "I don't eat meat any more.", "I'm not vegetarian any more."],
)
def test_a_denial_that_stands_alone_is_learnt(tell, said):
    """It states something of the user, whether or not there is a memory to correct."""
    assert len(tell(said, "correction").learned) == 1
