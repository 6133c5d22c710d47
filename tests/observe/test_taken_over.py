"""What a correction takes over from what it corrects, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memento import MemoryManager
from memento.testing import ManualClock

SAID = datetime(2026, 2, 11, 10, tzinfo=UTC)  # a Wednesday


@pytest.fixture
def told(tmp_path):
    """Return a function that tells a store some messages, days apart or in one session."""
    clock = ManualClock()
    clock.advance(SAID - clock())
    with MemoryManager(tmp_path / "store", clock=clock) as memory:

        def tell(*texts, session=None):
            for n, text in enumerate(texts):
                memory.observe(text, session=session or f"session {n}")
                clock.advance(timedelta(minutes=1) if session else timedelta(days=2))
            return memory

        yield tell


def head(memory):
    """Return the lines of the head."""
    return [line for line in memory.rules.policy(None).head.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("My name is Mia Meier.", "I changed my name to Mia Berg."),
        ("I'm 34.", "It's my birthday today, I'm 35 now."),
        ("I'm married to Tom.", "I got divorced."),
        ("I live in Leeds.", "My new address is 12 Mill Lane, York."),
    ],
)
def test_what_the_user_is_now_stands_in_the_head_with_its_date(told, before, after):
    """After what it may have changed, which is dated too, as they share no word."""
    old, new = head(told(before, after))
    assert old == f'- "{before}" (2026-02-11)'
    assert new == f'- "{after}" (2026-02-13)'


def test_a_corrected_statement_stays_in_the_head(told):
    """Whoever corrects it, and in whatever words."""
    memory = told("I live in Leeds.")
    memory.correct(memory.value("user/home").id, "I live in Derby.")
    assert head(memory) == ['- "I live in Derby."']


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I'm vegetarian and allergic to penicillin.", "I'm not vegetarian anymore."),
        ("I'm vegan, diabetic and allergic to nuts.", "I'm no longer vegan."),
        ("I'm a vegetarian with a nut allergy.", "I'm vegan now."),
        ("im allergic to shellfish", "im vegan"),
    ],
)
def test_another_diet_ends_no_allergy(told, before, after):
    """Both stay, with their dates."""
    assert any(before in line for line in head(told(before, after)))


@pytest.mark.parametrize("where", ["near the river", "opposite the church", "just outside Graz"])
def test_where_a_home_is_belongs_to_it(told, where):
    """It is no statement of its own."""
    assert head(told(f"I live in Lisbon, {where}.")) == [f'- "I live in Lisbon, {where}."']


def test_an_allergy_ends_when_it_is_said(told):
    """It names the illness itself."""
    memory = told("I'm allergic to nuts.", "I'm no longer allergic to nuts.")
    assert not any("I'm allergic" in line for line in head(memory))


@pytest.mark.parametrize(
    ("before", "after", "due"),
    [
        (
            "I have a meeting with the bank on Friday at 10.",
            "The bank meeting is on Thursday, not Friday.",
            datetime(2026, 2, 12, 10, tzinfo=UTC),
        ),
        (
            "I have a dentist appointment on 14 April at 9.",
            "No, it's on 15 April, not 14 April.",
            datetime(2026, 4, 15, 9, tzinfo=UTC),
        ),
        (
            "I have a dentist appointment on 14 April at 9.",
            "Sorry, the dentist appointment is on 16 April at 11, not 14 April.",
            datetime(2026, 4, 16, 11, tzinfo=UTC),
        ),
    ],
)
def test_a_corrected_plan_is_due_when_the_correction_says(told, before, after, due):
    """It stays a plan, at the same time of day unless another is named."""
    memory = told(before, after, session="s")
    (plan,) = memory.list(kind="plan")
    assert plan.due_at == due


@pytest.mark.parametrize(
    "text",
    ["I had a dentist appointment on February 3rd.", "We went to Lisbon on 2 February."],
)
def test_what_has_happened_is_no_plan(told, text):
    """Its day is not taken for that of the next year."""
    assert told(text).list(kind="plan") == []


def test_what_begins_in_a_month_is_due_on_its_first_day(told):
    """An article after it ends no range."""
    (plan,) = told("From April I'll be a practice nurse.").list(kind="plan")
    assert plan.due_at.date().isoformat() == "2026-04-01"
