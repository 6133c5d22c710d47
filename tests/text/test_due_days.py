"""The dates that a plan speaks of."""

from datetime import date

import pytest

from memento.text.when import ahead

ON = date(2026, 4, 22)  # a Wednesday


def days(text: str) -> list[tuple[str, str]]:
    """Read the first and last days of the dates of a plan."""
    return [
        (date.fromordinal(one.start).isoformat(), date.fromordinal(one.end).isoformat())
        for one in ahead(text, ON)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I fly to Lisbon on Friday.",
        "See you Friday!",
        "I have a dentist appointment Friday at 9am.",
        "It is due by Friday morning",
        "Call me Friday afternoon, please.",
        "Friday we leave for Rome.",
        "I must finish it until Friday",
        "Call Bob Friday.",
        "I have to prepare Friday's meeting.",
        "Ich fliege am Freitag nach Wien.",
        "Je pars vendredi pour Rome.",
    ],
)
def test_a_weekday_that_says_when_is_a_date(text: str) -> None:
    """After a preposition, at the end, or before no noun, a weekday is the next such day."""
    assert days(text) == [("2026-04-24", "2026-04-24")]


@pytest.mark.parametrize(
    "text",
    [
        "I am a Monday morning quarterback.",
        "We eat at TGI Friday's.",
        "I wore my Sunday best to the wedding.",
        "Casual Friday is fun",
        "I need a Black Friday deal.",
        "I will go running every Friday.",
        "Each Tuesday I call my aunt.",
        "On Mondays I swim.",
        "I was born on a Sunday.",
        "Thank God it's Friday!",
        "I want to learn to cook a Sunday roast.",
        "I have to beat the Monday blues.",
        "I will watch Saturday Night Live.",
        "Jeden Freitag gehe ich laufen.",
        "Cada lunes nado.",
    ],
)
def test_a_weekday_in_a_habit_or_a_name_is_no_date(text: str) -> None:
    """A weekday that repeats, or that is part of what something is called, is not when."""
    assert days(text) == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("We fly home for Christmas.", "2026-12-25"),
        ("I'll cook on Christmas Eve.", "2026-12-24"),
        ("The costume must be ready by Halloween.", "2026-10-31"),
        ("We marry at Easter.", "2027-03-28"),
        ("I'll call her on Valentine's Day 2028.", "2028-02-14"),
    ],
)
def test_a_plan_for_a_feast_is_for_its_day(text: str, day: str) -> None:
    """The days around a feast are not the day that a plan is for."""
    assert days(text) == [(day, day)]
