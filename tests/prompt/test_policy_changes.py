"""A policy says in a session what is not as its head has it, and nothing is lost on the way."""

from datetime import UTC, datetime

import pytest

from memento.errors import InvalidInput
from memento.observe.wording import condition_of
from memento.prompt import conditions


def in_force(memory, message):
    """Return the texts of the conditional rules that hold for a message."""
    found = memory.rules.policy(message, recall=0).memories
    return [one.text for one in found if one.zone == 7]


@pytest.mark.parametrize(
    "said",
    [
        "Keep your answers short unless I ask for details.",
        "Never use emojis except when I write about birthdays.",
        "If I'm not writing code, answer in prose.",
    ],
)
def test_an_exception_is_no_condition(said):
    """The rule always applies and names its exception itself."""
    assert condition_of(said) is None


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ("In future kindly give steps as a numbered list, one action per line.", None),
        ("For everything please use metric, not imperial.", None),
        ("In python files, use tabs.", "In python files"),
        ("If you write SQL use capitals, please.", "If you write SQL use capitals"),
    ],
)
def test_an_opening_that_holds_the_order_is_no_condition(said, condition):
    """The rule would only be shown with messages about its own words."""
    assert condition_of(said) == condition


@pytest.mark.parametrize(
    ("condition", "message", "holds"),
    [
        ("unless I ask for recipes", "A recipe for bread, please", False),
        ("unless I ask for recipes", "The capital of Peru?", True),
        ("if I'm not writing SQL", "Write SQL for the report", False),
        ("when I don't ask about travel", "Which train goes to Rome?", True),
    ],
)
def test_a_condition_that_denies_holds_if_the_rest_does_not(condition, message, holds):
    """A rule is off where its own exception is on."""
    assert conditions.holding([condition], message, {}, near=None, at=0.5) == [holds]


def test_a_rule_that_is_locked_in_a_session_is_shown_there(memory):
    """The head had no room for it before."""
    for number in range(40):
        memory.add(f"Rule number {number} says: {'do it right each time ' * 4}", kind="rule")
    left = memory.rules.policy("hi", session="s").dropped[0].id
    memory.update(left, lock="user")
    assert left in [one.id for one in memory.rules.policy("hi", session="s").memories]


def test_a_rule_that_is_taken_back_is_said_first(memory):
    """Rules in force never crowd it out."""
    for number in range(85):
        memory.add(f"Python rule number {number:02d}", kind="rule", condition="when I write Python")
    gone = memory.add("Always deploy on Fridays", kind="rule", importance=1.0)
    memory.rules.policy("hi", session="s")
    memory.forget(gone.id)
    found = memory.rules.policy("python please", session="s")
    assert "Fridays" in found.tail or "Fridays" not in found.head


def test_a_rule_that_is_too_long_leaves_the_others_in(memory):
    """Only what does not fit is left out."""
    for number in range(10):
        memory.add(f"Short rule number {number}", kind="rule")
    memory.add("My style guide: " + "be clear and short. " * 180, kind="rule", importance=0.9)
    assert "Short rule number 7" in memory.rules.policy("hi").head


def test_all_that_a_new_rule_replaces_is_named(memory):
    """A head goes on showing both."""
    one = memory.add("Use tabs in Python", kind="rule")
    other = memory.add("Use tabs in C", kind="rule")
    memory.rules.policy("x", session="s")
    memory.add("Use spaces everywhere", kind="rule", supersedes=[one.id, other.id])
    tail = memory.rules.policy("x", session="s").tail
    assert "Use tabs in Python" in tail
    assert "Use tabs in C" in tail


def test_a_correction_keeps_condition_and_date(memory):
    """Only the text is corrected."""
    rule = memory.add("Use metric units", kind="rule", condition="when I ask about recipes")
    assert memory.correct(rule.id, "Use grams").condition == "when I ask about recipes"


def test_a_correction_of_a_plan_moves_its_date_only_if_it_names_one(memory):
    """The date of before would be wrong."""
    due = datetime(2030, 5, 6, 9, tzinfo=UTC)
    plan = memory.add("Dentist at nine", kind="plan", due_at=due)
    same = memory.correct(plan.id, "Dentist at Dr. Silva's")
    moved = memory.correct(same.id, "Dentist on 9 June 2030")
    assert same.due_at == due
    assert moved.due_at.date() == datetime(2030, 6, 9, tzinfo=UTC).date()


def test_what_holds_next_in_a_slot_is_said(memory):
    """The rule of the narrower scope was hiding it."""
    memory.add("Use tabs", kind="rule", key="i")
    narrow = memory.add("Use spaces", kind="rule", key="i", scope="p")
    memory.rules.policy("x", session="s", scope="p")
    memory.forget(narrow.id)
    tail = memory.rules.policy("x", session="s", scope="p").tail
    assert 'now, rule of the user: "Use tabs"' in tail
    assert 'no longer: "Use spaces"' in tail


def test_another_condition_is_said(memory):
    """The head shows the one before."""
    rule = memory.add("Use metric units", kind="rule", condition="when I ask about recipes")
    memory.rules.policy("x", session="s")
    memory.update(rule.id, condition="when I ask about travel")
    assert "travel" in memory.rules.policy("x", session="s").tail


def test_another_budget_keeps_its_own_head(memory):
    """A look with other limits does not change the prompts of the session."""
    memory.add("Be brief", kind="rule")
    head = memory.rules.policy("q", session="s").head
    memory.add("Use tabs", kind="rule")
    memory.rules.policy("q", session="s", tokens=400)
    assert memory.rules.policy("q", session="s").head == head


def test_a_locked_rule_stands_against_a_conditional_one(memory):
    """The conditional one is named as the loser."""
    locked = memory.add("Use tabs", kind="rule", key="i")
    memory.update(locked.id, lock="user")
    memory.add("Use spaces", kind="rule", key="i", scope="p", condition="when I write Python")
    found = memory.rules.policy("python please", scope="p", recall=0)
    assert [one.text for one in found.memories if one.zone == 7] == []
    assert [one.reason for one in found.conflicts] == ["locked"]


def test_an_ended_session_has_no_next_step(memory):
    """Its last checkpoint is history."""
    work = memory.sessions.start("s")
    work.checkpoint(next=["tag the commit"])
    assert "tag the commit" in memory.rules.policy("x", session="s").tail
    work.end("released")
    assert "tag the commit" not in memory.rules.policy("x", session="s").tail


@pytest.mark.parametrize("condition", ['{"words": "sql"}', '{"context": ["a"]}', "{}"])
def test_a_condition_that_can_never_hold_is_refused(memory, condition):
    """A wrong type is an error when it is added."""
    with pytest.raises(InvalidInput, match="condition"):
        memory.add("Upper-case keywords", kind="rule", condition=condition)
