"""Short forms of dates in questions."""

from datetime import date

import pytest

from memento.text.when import times_of

TODAY = date(2025, 3, 19)


def days(text):
    """Return the first and last day that a question most likely means."""
    first = times_of(text, TODAY, [2025]).named[0][0]
    return date.fromordinal(first.start).isoformat(), date.fromordinal(first.end).isoformat()


@pytest.mark.parametrize(
    "said",
    [
        "What happened from 3 to 5 March 2025?",
        "What happened between 3 and 5 March?",
        "What happened on 3-5 March 2025?",
        "What happened March 3\u20135, 2025?",
        "What happened from March 3 to 5?",
        "What happened between the 3rd and the 5th of March?",
        "Was geschah vom 3. bis 5. März 2025?",
        "Was geschah zwischen dem 3. und 5. März?",
        "Que s'est-il passé du 3 au 5 mars 2025 ?",
        "¿Qué pasó del 3 al 5 de marzo de 2025?",
        "2025年3月3日から5日までに何がありましたか",
        "2025年3月3日到5日发生了什么",
    ],
)
def test_two_days_of_one_month_are_a_range(said):
    """The month is said once."""
    assert days(said) == ("2025-03-03", "2025-03-05")


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("¿Qué pasó el 1º de marzo?", "2025-03-01", "2025-03-01"),
        ("三月十四号发生了什么?", "2025-03-14", "2025-03-14"),
        ("二〇二五年三月十四日发生了什么?", "2025-03-14", "2025-03-14"),
        ("Was geschah am 14ten März?", "2025-03-14", "2025-03-14"),
        ("What happened from Monday to Wednesday last week?", "2025-03-10", "2025-03-12"),
        ("What happened between Monday and Wednesday last week?", "2025-03-10", "2025-03-12"),
        ("Was geschah am Samstag?", "2025-03-15", "2025-03-15"),
        ("Was war am Samstag?", "2025-03-15", "2025-03-15"),
        ("Was passiert am Samstag?", "2025-03-22", "2025-03-22"),
        ("¿Qué sucedió el sábado?", "2025-03-15", "2025-03-15"),
        ("What occurred on Saturday?", "2025-03-15", "2025-03-15"),
    ],
)
def test_days_in_other_forms(said, first, last):
    """Ordinals, Chinese numbers, days of a week, and verbs of the past."""
    assert days(said) == (first, last)


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("What happened until 27 November 2024?", "2024-11-27"),
        ("Was geschah bis zum 27. November 2024?", "2024-11-27"),
        ("What happened before 27 November 2024?", "2024-11-26"),
        ("What happened until March 2025?", "2025-02-28"),
    ],
)
def test_until_a_day_includes_it(said, last):
    """Before a day does not, and a month is not over when it is named."""
    assert days(said)[1] == last


def test_the_last_day_of_all_is_read():
    """Nothing comes after it."""
    assert days("What happened after 9999-12-31?") == ("9999-12-31", "9999-12-31")
