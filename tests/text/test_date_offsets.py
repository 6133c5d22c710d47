"""Dates that are said by way of another: a number of days, or some weekday, away from it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.text.when import ahead, said, times_of

ON = date(2026, 4, 22)  # a Wednesday
PLANS = {
    "Friday week": "2026-05-01",
    "on Monday week at 9am": "2026-05-04",
    "tomorrow week": "2026-04-30",
    "today fortnight": "2026-05-06",
    "Tuesday fortnight": "2026-05-12",
    "a week on Friday": "2026-05-01",
    "a week tomorrow": "2026-04-30",
    "a week come Friday": "2026-05-01",
    "next Friday week": "2026-05-01",
    "two weeks on Sunday": "2026-05-10",
    "a fortnight on Thursday": "2026-05-07",
    "a week from Friday": "2026-05-01",
    "three weeks from next Tuesday": "2026-05-19",
    "a week from today": "2026-04-29",
    "two weeks from tomorrow": "2026-05-07",
    "10 days from today": "2026-05-02",
    "a month from today": "2026-05-22",
    "in two weeks": "2026-05-06",
    "in a week": "2026-04-29",
    "in a fortnight": "2026-05-06",
    "in three days": "2026-04-25",
    "the Friday after next": "2026-05-01",
    "the Wednesday after next": "2026-05-06",
    "the second Monday of June": "2026-06-08",
    "on the first Tuesday of next month": "2026-05-05",
    "on the 3rd Thursday in November": "2026-11-19",
    "on the last Friday of May": "2026-05-29",
    "on the last day of June": "2026-06-30",
    "Tuesday the 5th of May": "2026-05-05",
    "on Wednesday the 3rd of June": "2026-06-03",
    "Monday, the 5th of October": "2026-10-05",
    "the Friday before Christmas": "2026-12-18",
    "on the last Sunday before Christmas": "2026-12-20",
    "the second Sunday after Easter": "2027-04-11",
    "the Monday after Easter": "2027-03-29",
    "the day after Christmas": "2026-12-26",
    "the day before Easter": "2027-03-27",
    "the day before New Year's Eve": "2026-12-30",
    "the day after tomorrow": "2026-04-24",
    "two days before Christmas": "2026-12-23",
    "two weeks after 5 May": "2026-05-19",
    "the day after the second Monday of June": "2026-06-09",
    "the day before the Friday before Christmas": "2026-12-17",
    "two days after the Friday after next": "2026-05-03",
}

PIECES = (
    "a", "the", "two", "second", "last", "Friday", "week", "weekend", "days", "month", "after",
    "before", "from", "of", "in", "on", "next", "Easter", "June", "2026", "99999", "years", "31",
    "today", "fortnight", ",", "Monday", "der", "nach", "Ostern", "en", "huit",
)  # fmt: skip


def days(periods):
    """Spell the first days and the lengths of periods out."""
    return [(date.fromordinal(one.start).isoformat(), one.days) for one in periods]


@pytest.mark.parametrize(("words", "day"), PLANS.items())
def test_a_plan_is_for_the_day_that_is_away_from_another(words, day):
    """Whether before, after, from or within a date, the one day that is meant is read."""
    assert days(ahead(f"I have a dentist appointment {words}.", ON)) == [(day, 1)]


@pytest.mark.parametrize(("words", "day"), PLANS.items())
def test_a_question_asks_for_the_day_that_is_away_from_another(words, day):
    """The time that is asked for has the day in it, and none of its words is left to look up."""
    asked = times_of(f"What will I do {words}?", ON, [2026, 2027])
    meant = date.fromisoformat(day).toordinal()
    assert [one for one in asked.named[0] if one.start <= meant <= one.end and one.days <= 7]
    assert len(asked.named) == 1
    assert "week" not in asked.rest
    assert "day" not in asked.rest.lower()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Ann moves to Rome a week from Friday", "2026-05-01"),
        ("We met on the second Monday of March", "2026-03-09"),
        ("The talk was the day before Christmas", "2025-12-24"),
        ("He called the Tuesday after Easter", "2026-04-07"),
        ("They left the day before yesterday", "2026-04-20"),
        ("She comes Friday week", "2026-05-01"),
    ],
)
def test_a_statement_tells_of_the_day_that_is_away_from_another(text, day):
    """Also if the date itself, such as a weekday, would say too little in a statement."""
    assert days(said(text, ON)) == [(day, 1)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Ich habe am Freitag in einer Woche einen Termin.", "2026-05-01"),
        ("Ich habe heute in einer Woche einen Termin.", "2026-04-29"),
        ("Ich habe am übernächsten Freitag einen Termin.", "2026-05-01"),
        ("Ich habe in zwei Wochen einen Termin.", "2026-05-06"),
        ("Ich habe am zweiten Montag im Juni einen Termin.", "2026-06-08"),
        ("Ich habe am letzten Freitag im Mai einen Termin.", "2026-05-29"),
        ("Ich habe am Freitag vor Weihnachten einen Termin.", "2026-12-18"),
        ("Ich habe zwei Tage nach Ostern einen Termin.", "2027-03-30"),
        ("Ich habe am Dienstag, dem 5. Mai einen Termin.", "2026-05-05"),
        ("J'ai rendez-vous vendredi en huit.", "2026-05-01"),
        ("J'ai rendez-vous le deuxième lundi de juin.", "2026-06-08"),
        ("J'ai rendez-vous le lundi après Pâques.", "2027-03-29"),
        ("J'ai rendez-vous deux jours avant Pâques.", "2027-03-26"),
        ("Tengo una cita el segundo lunes de junio.", "2026-06-08"),
        ("Tengo una cita el viernes antes de Navidad.", "2026-12-18"),
        ("Tengo una cita dos días después de Pascua.", "2027-03-30"),
    ],
)
def test_other_languages_lead_from_a_date_to_another(text, day):
    """German, French and Spanish have tables of the same kind."""
    assert days(ahead(text, ON)) == [(day, 1)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do the week before Christmas?", ("2025-12-18", 7)),
        ("What did I do in the first week of March?", ("2026-03-01", 7)),
        ("What did I do two weeks before Christmas?", ("2025-12-08", 7)),
        ("What did I do the week before last?", ("2026-04-06", 7)),
        ("What did I do the weekend before Easter?", ("2026-04-03", 3)),
        ("What did I do a fortnight ago?", ("2026-04-05", 7)),
        ("What did I do last November?", ("2025-11-01", 30)),
        ("What did I do last Christmas?", ("2025-12-24", 3)),
        ("Will we sail next spring, 29 hours?", ("2027-03-01", 92)),
        ("What did I do last May 5?", ("2025-05-05", 1)),
        ("What did I do since the day after Easter 2026?", ("2026-04-06", 17)),
    ],
)
def test_weeks_beside_a_date_are_weeks(question, expected):
    """A week beside a date is all of it; a number of weeks away is not meant to the day."""
    assert days(times_of(question, ON, [2025, 2026]).periods)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "I need a Black Friday week deal.",
        "I have not eaten meat in two weeks.",
        "I run twice in a week.",
        "I always swim before work.",
        "The fifth Monday of February 2026",
    ],
)
def test_what_only_looks_like_a_date_away_from_another_is_none(text):
    """A name, a rate, a time that has passed without, and a day that there is not."""
    assert [one for one in days(said(text, ON)) if one[1] == 1] == []


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=12,
    ),
    st.sampled_from([date.min, ON, date.max]),
)
def test_no_row_of_such_words_is_an_error(words, on):
    """Not at the ends of the calendar either; each period has a beginning and then an end."""
    text = " ".join(words)
    found = [*said(text, on), *ahead(text, on), *times_of(text, on, [1, 2026, 9999]).periods]
    assert all(1 <= one.start <= one.end <= date.max.toordinal() for one in found)
