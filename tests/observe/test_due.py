"""When a plan is due: the part of the day, feasts that move, and the zone of a place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from memento.observe.derive import dates_of
from memento.observe.split import sentences

SAID = datetime(2026, 4, 22, 9, 30, tzinfo=timezone(timedelta(hours=-4)))


@pytest.mark.parametrize(
    ("plan", "due"),
    [
        ("Dentist tonight at 11.", "2026-04-22T23:00"),
        ("Call this evening at 8.", "2026-04-22T20:00"),
        ("Dinner at 7 tonight.", "2026-04-22T19:00"),
        ("Party tomorrow night at 1.", "2026-04-24T01:00"),
        ("Flight tonight at 1am.", "2026-04-23T01:00"),
        ("Flight tonight at 12.", "2026-04-23T00:00"),
        ("Party tomorrow night at 10:30.", "2026-04-23T22:30"),
        ("Meeting on Friday afternoon at 3.", "2026-04-24T15:00"),
        ("Gym tomorrow morning at 11.", "2026-04-23T11:00"),
        ("Dinner this evening at 20:15.", "2026-04-22T20:15"),
        ("Call tonight at 11pm.", "2026-04-22T23:00"),
        ("Termin heute Abend um 8.", "2026-04-22T20:00"),
        ("Morgen Abend um 8 Uhr treffe ich Anna.", "2026-04-23T20:00"),
        ("Dîner ce soir à 8h.", "2026-04-22T20:00"),
        ("Esta noche a las 11.", "2026-04-22T23:00"),
    ],
)
def test_the_part_of_the_day_says_which_half_of_the_clock(plan, due):
    """Evening and afternoon are after noon; the small hours of a night are on the next day."""
    at, over = dates_of(plan, SAID)
    assert at.isoformat()[:16] == due
    assert over > at > SAID


def test_the_small_hours_are_today_while_they_last():
    """Said at one, "tonight at 3" is in two hours."""
    at, _ = dates_of("Flight tonight at 3.", SAID.replace(hour=1))
    assert at == SAID.replace(hour=3, minute=0)


@pytest.mark.parametrize(
    ("plan", "day"),
    [
        ("Lunch on Easter Monday.", "2027-03-29"),
        ("Lunch on Easter Sunday.", "2027-03-28"),
        ("Lunch on Easter.", "2027-03-28"),
        ("Call on Good Friday.", "2027-03-26"),
        ("Trip on Whit Monday.", "2026-05-25"),
        ("Football on Boxing Day.", "2026-12-26"),
        ("Flight on Christmas Day.", "2026-12-25"),
        ("Dinner on New Year's Eve.", "2026-12-31"),
        ("Dinner on Valentine's Day.", "2027-02-14"),
        ("Dinner on Thanksgiving.", "2026-11-26"),
        ("Picnic on May Day.", "2026-05-01"),
        ("Prank on April Fools' Day.", "2027-04-01"),
        ("Prank on April Fool's Day.", "2027-04-01"),
        ("Parade on St Patrick\u2019s Day.", "2027-03-17"),
        ("Dinner on New Years Eve.", "2026-12-31"),
        ("Lunch on Pentecost.", "2026-05-24"),
        ("Am Ostermontag fahre ich nach Ulm.", "2027-03-29"),
        ("Am Karfreitag fahre ich nach Ulm.", "2027-03-26"),
        ("Le lundi de Pâques on part.", "2027-03-29"),
        ("Viernes Santo en casa.", "2027-03-26"),
    ],
)
def test_a_feast_is_its_own_day(plan, day):
    """A weekday in the name of a feast is no other weekday, and the day beside it is not meant."""
    at, over = dates_of(plan, SAID)
    assert at.date().isoformat() == day
    assert (over - at) == timedelta(minutes=1)


@pytest.mark.parametrize("month", [1, 7])
def test_a_place_keeps_its_clock_all_year(memory, month):
    """In winter London has the offset of UTC, and is London all the same."""
    said = datetime(2026, month, 21, 12, tzinfo=ZoneInfo("Europe/London"))
    seen = memory.observe(
        "I have a dentist appointment on 22 July at 9am.", session="s", occurred_at=said
    )
    assert seen.learned[0].memory.due_at == datetime(2026, 7, 22, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("plan", "due", "over"),
    [
        ("I'm in Rome from 4 May to 9 May.", "2026-05-04", "2026-05-10"),
        ("I have exams on 3, 5 and 9 June.", "2026-06-03", "2026-06-10"),
        ("I have exams on 9 June, 3 June and 5 June.", "2026-06-03", "2026-06-10"),
        ("My exams are on Monday and Thursday.", "2026-04-27", "2026-05-01"),
        ("Ich bin vom 4. bis 9. Mai in Rom.", "2026-05-04", "2026-05-10"),
        ("Je suis à Rome du 4 au 9 mai.", "2026-05-04", "2026-05-10"),
        ("Estoy en Roma del 4 al 9 de mayo.", "2026-05-04", "2026-05-10"),
        ("I work from 4 to 8 May, and I moved a call to 30 April.", "2026-04-30", "2026-05-09"),
    ],
)
def test_a_plan_is_due_at_its_first_day_and_over_after_its_last(plan, due, over):
    """In whatever order they are named."""
    first, last = dates_of(plan, SAID)
    assert (first.date().isoformat(), last.date().isoformat()) == (due, over)


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe am 8. Mai einen Termin.",
        "Ich habe am Freitag, dem 8. Mai einen Termin.",
        "Ich habe am Freitag, 8. Mai einen Termin.",
        "Ich habe am 8. einen Termin.",
    ],
)
def test_the_stop_of_a_german_day_ends_no_sentence(text):
    """Before its month, or before a word that begins none; else it does."""
    assert [span.text for span in sentences(text, text)] == [text]
    assert (
        len(sentences("Wir kommen am 8. Dann gehen wir.", "Wir kommen am 8. Dann gehen wir.")) == 2
    )


@pytest.mark.parametrize(
    ("plan", "day"),
    [
        ("from September we close at 16 on saturdays", "2026-09-01"),
        ("starting in June I work from home on Fridays", "2026-06-01"),
        ("my salary will be 5200 from August", "2026-08-01"),
        ("As of next Monday the gym opens at 6", "2026-04-27"),
        ("we meet every other Friday starting May 15", "2026-05-15"),
        ("Ab Juni arbeite ich zu Hause.", "2026-06-01"),
    ],
)
def test_what_begins_is_due_on_its_first_day_and_never_over(plan, day):
    """The rest of a named month is no deadline."""
    at, over = dates_of(plan, SAID)
    assert (at.date().isoformat(), over) == (day, None)


@pytest.mark.parametrize(
    ("plan", "day"),
    [
        ("I fly from Paris on Monday.", "2026-04-27"),
        ("I'm in Rome from 4 May to 8 May.", "2026-05-04"),
        ("The exam is two weeks from Monday.", None),
        ("The report is due in September.", "2026-09-30"),
    ],
)
def test_what_only_happens_then_is_over_afterwards(plan, day):
    """A place before the day, both ends, a day that is counted, and a deadline."""
    at, over = dates_of(plan, SAID)
    assert over > at
    assert day in (None, at.date().isoformat())
