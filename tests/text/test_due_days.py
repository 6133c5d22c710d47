"""The dates that a plan speaks of."""

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


DAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "de": ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    "fr": ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    "es": ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
}
MONTHS = {
    "en": [
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ],
    "de": [
        "Januar", "Februar", "März", "April", "Mai", "Juni",
        "Juli", "August", "September", "Oktober", "November", "Dezember",
    ],
    "fr": [
        "janvier", "février", "mars", "avril", "mai", "juin",
        "juillet", "août", "septembre", "octobre", "novembre", "décembre",
    ],
    "es": [
        "enero", "febrero", "marzo", "abril", "mayo", "junio",
        "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
    ],
}  # fmt: skip
SAYING = {
    "en": "I have a dentist appointment on {}.",
    "de": "Ich habe einen Termin am {}",
    "fr": "J'ai rendez-vous chez le dentiste le {}.",
    "es": "Tengo cita con el dentista el {}.",
}
DATED = [
    *(("en", form) for form in (
        "{w} {d} {m}", "{w}, {d} {m}", "{w} the {d}th of {m}", "{w}, {m} {d}", "{w} ({d} {m})",
        "{w} {d}/{n}", "{w} {m} the {d}th", "{w}, {d}.{n}.",
    )),
    *(("de", form) for form in (
        "{w}, {d}. {m}", "{w}, dem {d}. {m}", "{w}, den {d}. {m}", "{w} {d}.{n}.", "{w} {d}/{n}",
    )),
    *(("fr", form) for form in ("{w} {d} {m}", "{w}, {d} {m}", "{w} {d}/{n}", "{w} le {d} {m}")),
    *(("es", form) for form in ("{w} {d} de {m}", "{w}, {d} de {m}", "{w} {d}/{n}")),
]  # fmt: skip
WITHOUT_MONTH = [
    *(("en", form) for form in ("{w} the {d}th", "{w}, the {d}th", "{w} {d}th")),
    *(("de", form) for form in ("{w}, den {d}.", "{w}, dem {d}.", "{w} den {d}.")),
    ("fr", "{w} {d}"),
    ("es", "{w} {d}"),
]  # fmt: skip
ANCHORS = st.dates(date(2020, 1, 1), date(2040, 1, 1))


@given(ANCHORS, st.integers(1, 364), st.integers(0, 6), st.sampled_from(DATED))
def test_a_weekday_with_a_date_is_that_date(on, away, off, shape):
    """In each language and form, and also if the weekday is that of another day."""
    day, (tongue, form) = on + timedelta(away), shape
    words = {"d": day.day, "n": day.month, "m": MONTHS[tongue][day.month - 1]}
    said = form.format(w=DAYS[tongue][(day.weekday() + off) % 7], **words)
    assert [one.start for one in ahead(SAYING[tongue].format(said), on)] == [day.toordinal()]


@given(ANCHORS, st.integers(1, 28), st.integers(0, 6), st.sampled_from(WITHOUT_MONTH))
@example(date(2036, 7, 2), 1, 1, ("en", "{w} the {d}th"))
def test_a_weekday_with_a_day_of_the_month_is_the_next_such_day(on, number, weekday, shape):
    """The next day of that number and weekday; there is one within fourteen months."""
    tongue, form = shape
    said = SAYING[tongue].format(form.format(w=DAYS[tongue][weekday], d=number))
    coming = (on + timedelta(away) for away in range(430))
    day = next(one for one in coming if (one.day, one.weekday()) == (number, weekday))
    assert [one.start for one in ahead(said, on)] == [day.toordinal()]


@given(
    ANCHORS,
    st.sampled_from(sorted(DAYS)),
    st.lists(st.integers(1, 28), min_size=2, max_size=4, unique=True).map(sorted),
)
def test_each_of_several_days_of_a_month_is_a_date(on, tongue, numbers):
    """The month is said once, behind the last of them."""
    month = on.month % 12
    dot = "." if tongue == "de" else ""
    *most, last = (f"{number}{dot}" for number in numbers)
    linked = {"en": "and", "de": "und", "fr": "et", "es": "y"}[tongue]
    of = " de" if tongue == "es" else ""
    said = f"{', '.join(most)} {linked} {last}{of} {MONTHS[tongue][month]}"
    found = [date.fromordinal(one.start) for one in ahead(SAYING[tongue].format(said), on)]
    year = on.year + (month == 0)
    assert found == [date(year, month + 1, number) for number in numbers]


NTH = {
    "en": ("{nth} {w} of {m}", ("first", "second", "third", "fourth", "penultimate", "last")),
    "de": ("{nth} {w} im {m}", (
        "ersten", "zweiten", "dritten", "vierten", "vorletzten", "letzten",
    )),
    "fr": ("{nth} {w} de {m}", (
        "premier", "deuxième", "troisième", "quatrième", "avant-dernier", "dernier",
    )),
    "es": ("{nth} {w} de {m}", ("primer", "segundo", "tercer", "cuarto", "penúltimo", "último")),
}  # fmt: skip


@given(ANCHORS, st.sampled_from(sorted(NTH)), st.integers(0, 5), st.integers(0, 6))
def test_weekdays_of_a_month_are_counted_from_either_end(on, tongue, nth, weekday):
    """The first four, the last and the one before it; "the month" is one that is named."""
    form, words = NTH[tongue]
    month = on.month % 12
    first = date(on.year + (month == 0), month + 1, 1)
    days = [first + timedelta(by) for by in range(31)]
    such = [one for one in days if one.month == first.month and one.weekday() == weekday]
    said = form.format(nth=words[nth], w=DAYS[tongue][weekday], m=MONTHS[tongue][month])
    found = [one.start for one in ahead(SAYING[tongue].format(said), on)]
    assert found == [such[nth if nth < 4 else nth - 6].toordinal()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on the first of May", ["2026-05-01"]),
        ("on the twenty-first of June", ["2026-06-21"]),
        ("on May the eighth", ["2026-05-08"]),
        ("on June the first.", ["2026-06-01"]),
        ("on May the 8th", ["2026-05-08"]),
        ("on Monday the fourth", ["2026-05-04"]),
        ("am ersten Mai", ["2026-05-01"]),
        ("am einundzwanzigsten Juni", ["2026-06-21"]),
        ("le premier mai", ["2026-05-01"]),
        ("el primero de mayo", ["2026-05-01"]),
        ("el dos de mayo", ["2026-05-02"]),
        ("The second may be wrong.", []),
        ("on the first Friday of May", ["2026-05-01"]),
        ("on the fifth Friday of May", ["2026-05-29"]),
        ("on the fifth Friday of June", []),
        ("on the fifth Friday of the month", ["2026-05-29"]),
        ("on the last Friday of the month", ["2026-04-24"]),
        ("on the second to last Friday of May", ["2026-05-22"]),
        ("am letzten Freitag des Monats", ["2026-04-24"]),
        ("le dernier vendredi du mois", ["2026-04-24"]),
        ("el último viernes del mes", ["2026-04-24"]),
        ("The song of the month is nice.", []),
        ("on the 22nd at 3pm", ["2026-04-22"]),
        ("on the 8th", ["2026-05-08"]),
        ("on the 8th floor", []),
        ("on Fri, May 8", ["2026-05-08"]),
        ("on Friday 8.30am", ["2026-04-24"]),
        ("el lunes 8 personas vienen", ["2026-04-27"]),
        ("lundi 8 personnes viennent", ["2026-04-27"]),
        ("el viernes 8:30", ["2026-04-24"]),
        ("vendredi 8 h", ["2026-04-24"]),
        ("el viernes 8.30", ["2026-04-24"]),
        ("el viernes 8 a las 9", ["2026-05-08"]),
    ],
)
def test_days_in_words_and_within_months(text, expected):
    """Numbers in words, and days that are counted in a month, are days like others."""
    assert [first for first, _ in days(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My exams are on Monday and Thursday.", ["2026-04-27", "2026-04-30"]),
        ("I meet Bob this Friday and next Friday.", ["2026-04-24", "2026-05-01"]),
        ("I'm in Rome from 4 May to 9 May.", ["2026-05-04", "2026-05-09"]),
        ("I fly on 5 May next year.", ["2027-05-05"]),
        ("Next year on 5 May I fly.", ["2027-05-05"]),
        ("I'm in Rome from Thursday 7 May to Saturday 9 May.", ["2026-05-07", "2026-05-09"]),
        ("I'm in Rome from 20 April to 9 May.", ["2026-05-09"]),
        ("I'm away from 28 December to 3 January.", ["2026-12-28", "2027-01-03"]),
        ("I fly on Monday and back on Friday the 8th.", ["2026-04-27", "2026-05-08"]),
        ("Ich bin vom 4. Mai bis zum 9. Mai in Rom.", ["2026-05-04", "2026-05-09"]),
        ("Je suis à Rome du 4 mai au 9 mai.", ["2026-05-04", "2026-05-09"]),
        ("Estoy en Roma del 4 de mayo al 9 de mayo.", ["2026-05-04", "2026-05-09"]),
    ],
)
def test_of_several_days_a_later_one_is_after_the_one_before(text, expected):
    """A weekday behind another is after it; a range that has begun has its end left."""
    assert [first for first, _ in days(text)] == expected
