from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.text import dates
from memento.text.when import Period, said, times_of

ON = date(2023, 5, 10)  # a Wednesday


def asked(text, now, years):
    """Read a question's dates."""
    return times_of(text, now, years).periods


def spans(periods):
    """Spell periods out."""
    return [(date.fromordinal(p.start).isoformat(), p.days) for p in periods]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", [("2023-05-09", 1)]),
        ("the day before yesterday", [("2023-05-08", 1)]),
        ("last night", [("2023-05-09", 1)]),
        ("today", [("2023-05-10", 1)]),
        ("tomorrow", [("2023-05-11", 1)]),
        ("last Friday", [("2023-05-05", 1)]),
        ("last Wednesday", [("2023-05-03", 1)]),
        ("next Wednesday", [("2023-05-17", 1)]),
        ("last week", [("2023-05-01", 7)]),
        ("next weekend", [("2023-05-19", 3)]),
        ("last month", [("2023-04-01", 30)]),
        ("this year", [("2023-01-01", 365)]),
        ("last summer", [("2022-06-01", 92)]),
        ("last spring", [("2023-03-01", 92)]),
        ("summer of 2021", [("2021-06-01", 92)]),
        ("two weeks ago", [("2023-04-23", 7)]),
        ("3 days ago", [("2023-05-07", 1)]),
        ("a couple of months ago", [("2023-03-01", 31)]),
        ("five years ago", [("2018-01-01", 365)]),
        ("in December", [("2022-12-01", 31)]),
        ("in June", [("2023-06-01", 30)]),
        ("May 7th, 2022", [("2022-05-07", 1)]),
        ("7 May", [("2023-05-07", 1)]),
        ("the 3rd of March 2021", [("2021-03-03", 1)]),
        ("March 2021", [("2021-03-01", 31)]),
        ("in 2020", [("2020-01-01", 366)]),
        ("2023-02-28", [("2023-02-28", 1)]),
        ("2023/02", [("2023-02-01", 28)]),
        ("Easter 2024", [("2024-03-30", 3)]),
        ("Thanksgiving", [("2022-11-23", 3)]),
        ("Christmas Eve 2021", [("2021-12-23", 3)]),
        ("31 June", []),
        ("I may be late, you may go", []),
        ("Jan went home and mar it", []),
        ("nothing at all", []),
    ],
)
def test_said(text, expected):
    """Each expression is read from the day it was said."""
    assert spans(said(text, ON)) == expected


def test_year_is_open_in_questions():
    """A month without a year is asked about in every year of the memories, the nearest first."""
    assert spans(asked("what happened in May?", ON, range(2021, 2023))) == [
        ("2022-05-01", 31),
        ("2021-05-01", 31),
    ]


@given(st.text(), st.dates())
def test_never_raises(text, on):
    """Any text on any day is read without an error, and periods are whole."""
    assert all(period.start <= period.end for period in said(text, on))


@given(
    st.sampled_from(["31 February", "next year", "400 years ago", "999 months ago", "last week"]),
    st.sampled_from([date.min, date.max]),
)
def test_ends_of_time(text, on):
    """The first and last day of the calendar are days like others."""
    said(text, on)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_overlap_is_mutual(a, b, c, d):
    """Two periods overlap exactly if they share a day, seen from either."""
    one, other = Period(min(a, b), max(a, b)), Period(min(c, d), max(c, d))
    shared = set(range(one.start, one.end + 1)) & set(range(other.start, other.end + 1))
    assert one.overlaps(other) == other.overlaps(one) == bool(shared)


def test_a_year_without_the_day_hides_no_other():
    """Easter and Christmas of the end of time, and 29 February, are asked about where they are."""
    years = [1, 2023, 2024, 9999]
    assert {("2023-04-08", 3), ("2024-03-30", 3)} < set(spans(asked("at Easter?", ON, years)))
    assert ("2024-12-24", 3) in spans(asked("and at Christmas?", ON, years))
    assert ("2023-12-01", 31) in spans(asked("in December?", ON, years))
    assert spans(asked("on 29 February?", ON, years)) == [("2024-02-29", 1)]
    assert spans(asked("on 31 June?", ON, years)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wir waren am 3. Mai in Köln", [("2023-05-03", 1)]),
        ("Letzte Woche war ich krank", [("2023-05-01", 7)]),
        ("Guten Morgen, Herr Mai!", [("2023-05-01", 31)]),
        ("Nous partons demain", [("2023-05-11", 1)]),
        ("On l'a vu il y a deux semaines", [("2023-04-23", 7)]),
        ("Nos vemos el 7 de junio de 2024", [("2024-06-07", 1)]),
        ("Buenos días, trabajo por la mañana", []),
        ("来週の火曜日に引っ越します", [("2023-05-16", 1)]),
        ("我们下周三搬家", [("2023-05-17", 1)]),
        ("两个月前去了北京", [("2023-03-01", 31)]),
        ("due 14.03.2025", [("2025-03-14", 1)]),
        ("due 14/03/2025", [("2025-03-14", 1)]),
        ("due 03/14/2025", [("2025-03-14", 1)]),
        ("due 03/04/2025", [("2025-04-03", 1)]),
        ("due 14-03-2025", [("2025-03-14", 1)]),
        ("due 2025-03-14T09:00:00Z", [("2025-03-14", 1)]),
        ("due 14.03.25", [("2025-03-14", 1)]),
        ("version 1.2.34 and 10.11.2012.3", []),
        ("at 192.168.10.12", []),
        ("The hier is fine and mars is red", []),
        ("32.01.2025", []),
    ],
)
def test_said_in_other_languages(text, expected):
    """Five more languages, and numbers, the day first unless it cannot be."""
    assert spans(said(text, ON)) == expected


@pytest.mark.parametrize(
    ("question", "rest", "only"),
    [
        ("What did Ruth say on 14 March 2025?", "What did Ruth say ?", False),
        ("What did we eat at Christmas 2022?", "What did we eat Christmas ?", False),
        ("Was hat Ruth gestern gesagt?", "Was hat Ruth gesagt?", False),
        ("What happened between 3 and 7?", "What happened between 3 and 7?", False),
        ("What did I do yesterday?", "What did I do ?", True),
        ("Anything new since 3 May?", "Anything new ?", True),
        ("How are you today?", "How are you ?", False),
        ("Which day is it today?", "Which day is it ?", False),
        ("Not today", "Not", False),
        ("How long is the last chapter?", "How long is the last chapter?", False),
    ],
)
def test_what_else_a_question_asks(question, rest, only):
    """The words of a date are taken out, but not those of a feast."""
    found = times_of(question, ON, range(2021, 2026))
    assert (" ".join(found.rest.split()), found.only) == (rest, only)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do I have on Friday?", [("2023-05-12", 1)]),
        ("What did I do on Friday?", [("2023-05-05", 1)]),
        ("Friday", [("2023-05-12", 1), ("2023-05-05", 1)]),
        ("What happened since Friday?", [("2023-05-05", 6)]),
        ("What happened after 3 May 2023?", [("2023-05-04", 7)]),
        ("What happened from 3 May to 5 May 2023?", [("2023-05-03", 3)]),
        ("What happened on Monday last week?", [("2023-05-01", 1)]),
        ("What did I plan for the next three days?", [("2023-05-10", 4)]),
        ("Where was I in mid February 2023?", [("2023-02-11", 10)]),
        ("What happened at the end of March 2023?", [("2023-03-21", 11)]),
        ("Was war Anfang März 2023?", [("2023-03-01", 10)]),
        ("2023年3月下旬に何がありましたか", [("2023-03-21", 11)]),
        ("The end of the last month", [("2023-04-01", 30)]),
    ],
)
def test_the_time_that_is_meant(question, expected):
    """Verbs tell the past from the future; "since", "between" and two dates make one period."""
    assert spans(asked(question, ON, [2022, 2023, 2024])) == expected


@given(
    st.text(st.sampled_from("0123456789./-年月日号 週周一三前後de vor last next week Mai 3rd昨今")),
    st.sampled_from([date.min, ON, date.max]),
)
def test_questions_never_raise(text, on):
    """Any question on any day is read without an error, and nothing is added to it."""
    found = times_of(text, on, [1, 2023, 9999])
    assert all(period.start <= period.end for period in found.periods)
    assert len(found.rest) == len(text)


PIECES = (
    "May", "may", "MAY", "Jan", "june 3RD", "3rd of June, 2024", "2024-05-01", "A Couple of", "ten",
    "weeks", "Ago", "back", "LAST", "next", "this", "Week-end", "Friday", "night", "Summer", "of",
    "2023", "Christmas Eve", "Valentine's Day", "yesterday", "The day before yesterday", "In", "a",
    "be", ".", ",", "\n", "\t", "12", "_", "x1", "MARCH 14", "mar", "wed",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=9), st.sampled_from([" ", "  ", ", "]))
def test_capitals_make_no_difference_to_what_is_found(pieces, between):
    """The pattern for small letters finds the same places and parts as the one for all letters."""
    text = between.join(pieces)
    both = [
        [
            (match.span(), {k: (v or "").lower() for k, v in match.groupdict().items()})
            for match in m
        ]
        for m in (dates._EXPRESSION.finditer(text), dates._SMALL.finditer(text.lower()))
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what did I march for?", []),
        ("Did they march in the rain?", []),
        ("What did I do in march?", ["2025-03-01"]),
        ("Where were we March 2024?", ["2024-03-01"]),
        ("What did she say, March or April?", ["2025-03-01", "2025-04-01"]),
    ],
)
def test_a_month_in_lower_case_after_a_subject_is_a_verb(text, days):
    """A capital, a year or another word before it makes it a month."""
    found = times_of(text, date(2025, 5, 5), (2025,)).periods
    assert [date.fromordinal(one.start).isoformat() for one in found] == days
