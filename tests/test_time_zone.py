"""The user's time zone: what "yesterday" means in a question, a prompt and on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memento import Config
from memento.cli import main
from memento.cli.options import moment_of
from memento.errors import InvalidInput
from memento.testing import ManualClock

TOKYO, NEW_YORK = "Asia/Tokyo", "America/New_York"
NIGHT = "2025-03-14T16:00"  # one o'clock at night on 15 March in Tokyo


def at(moment):
    """Read a moment of UTC."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.fixture
def diary(open_memory):
    """Open a store of a user in a time zone, with what happened when, all moments UTC."""

    def make(zone, now, **happened):
        clock = ManualClock(at(now))
        memory = open_memory(config=Config(timezone=zone), clock=clock)
        for name, moment in happened.items():
            memory.add(f"The {name} was repaired", occurred_at=at(moment))
        return memory

    return make


def found(memory, question):
    """Return the things that the answer says were repaired."""
    return [hit.text.split()[1] for hit in memory.retrieve(question, k=10)]


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("What happened yesterday?", ["boiler", "lamp"]),
        ("What happened today?", ["roof"]),
        ("What happened on 14.03.2025?", ["boiler", "lamp"]),
        ("What happened on 13 March?", ["sink"]),
        ("What has happened since yesterday?", ["boiler", "lamp", "roof"]),
        ("What did we talk about last time?", ["boiler", "lamp"]),
    ],
)
def test_a_day_in_tokyo_begins_nine_hours_earlier(diary, question, things):
    """An hour that UTC counts to the day before belongs to the user's day."""
    memory = diary(
        TOKYO,
        NIGHT,
        sink="2025-03-13T14:59",
        boiler="2025-03-13T15:00",
        lamp="2025-03-14T14:59",
        roof="2025-03-14T15:00",
    )
    assert found(memory, question) == things


def test_a_month_and_a_week_are_those_of_the_zone(diary):
    """December in Tokyo ends when it still has nine hours in UTC; so does last week."""
    memory = diary(
        TOKYO,
        "2025-01-08T16:00",  # Thursday at night
        tap="2024-11-30T14:00",
        door="2024-11-30T16:00",
        stove="2024-12-31T14:00",
        gate="2024-12-31T16:00",
        fence="2025-01-05T14:00",  # Sunday evening
        clock="2025-01-05T16:00",  # Monday
    )
    assert found(memory, "What happened in December?") == ["door", "stove"]
    assert found(memory, "What happened last week?") == ["stove", "gate", "fence"]


@pytest.mark.parametrize(
    ("now", "before", "first", "last", "after"),
    [  # the clocks go forward on 9 March and back on 2 November
        ("03-10T16:00", "03-09T04:59", "03-09T05:00", "03-10T03:59", "03-10T04:00"),
        ("11-03T16:00", "11-02T03:59", "11-02T04:00", "11-03T04:59", "11-03T05:00"),
    ],
)
def test_yesterday_had_23_or_25_hours(diary, now, before, first, last, after):
    """In New York, where no fixed offset is right at both ends of the day."""
    days = {"roof": before, "boiler": first, "lamp": last, "sink": after}
    memory = diary(NEW_YORK, f"2025-{now}", **{one: f"2025-{on}" for one, on in days.items()})
    assert found(memory, "What happened yesterday?") == ["boiler", "lamp"]


def test_what_a_text_calls_tomorrow_is_the_day_after_its_own(diary):
    """It was said on 15 March in Tokyo, while UTC had the fourteenth."""
    memory = diary(TOKYO, "2025-03-20T03:00")
    memory.add("The dentist comes tomorrow", occurred_at=at(NIGHT))
    assert [hit.text for hit in memory.retrieve("What was on 16 March?")] == [
        "The dentist comes tomorrow"
    ]
    assert not memory.retrieve("What happened on 14 March?")


def test_a_value_held_on_the_days_of_the_zone(diary):
    """A value that ended on 30 November in UTC still held on 1 December in Tokyo."""
    memory = diary(TOKYO, "2025-03-20T03:00")
    for city, since in (("Utrecht", "2022-01-01T00:00"), ("Delft", "2024-11-30T15:30")):
        memory.add(f"Rami lives in {city}", key="rami/home", occurred_at=at(since))
    memory.add("Rami lives in Gouda", key="rami/home", occurred_at=at("2025-02-01T00:00"))
    [first, *_] = memory.retrieve("Where did Rami live before, on 30 November 2024?")
    assert first.text == "Rami lives in Utrecht"


def test_a_prompt_shows_the_days_of_the_zone(diary):
    """In the block of ``prompt`` and in that of ``recall``."""
    memory = diary(TOKYO, NIGHT, boiler="2025-03-13T16:00")
    for block in (memory.prompt("boiler"), memory.recall("boiler").block):
        [record] = [json.loads(line) for line in block.splitlines() if line.startswith("{")]
        assert record["when"] == "2025-03-14"


def test_a_prompt_shows_the_ends_of_the_calendar(diary):
    """Where the zone has no date any more, the day of UTC is shown."""
    memory = diary(NEW_YORK, NIGHT, boiler="0001-01-01T00:00")
    assert '"when": "0001-01-01"' in memory.prompt("boiler")


def test_the_default_is_utc(open_memory):
    """As before: nine hours later than in Tokyo."""
    memory = open_memory(clock=ManualClock(at(NIGHT)))
    memory.add("The boiler was repaired", occurred_at=at("2025-03-13T16:00"))
    memory.add("The lamp was repaired", occurred_at=at("2025-03-14T14:59"))
    assert memory.store.config.zone is UTC
    assert found(memory, "What happened yesterday?") == ["boiler"]


UNKNOWN = ["Mars/Olympus", "", "America", "../etc/passwd", "+09:00", "\0", "\ud800", 9, None]


@pytest.mark.parametrize("name", UNKNOWN, ids=ascii)
def test_an_unknown_time_zone_is_refused(name):
    """When the settings are made, with an example of a name."""
    with pytest.raises(InvalidInput, match=r"not a time zone .* such as Europe/Berlin"):
        Config(timezone=name)


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        (TOKYO, "today", "2025-03-14T15:00"),
        (TOKYO, "yesterday", "2025-03-13T15:00"),
        (TOKYO, "2025-03-14", "2025-03-13T15:00"),
        (TOKYO, "2025-03-14T14:30", "2025-03-14T05:30"),
        (TOKYO, "2025-03-14T14:30+02:00", "2025-03-14T12:30"),
        (TOKYO, "now", NIGHT),
        (TOKYO, "7d", "2025-03-07T16:00"),
        (NEW_YORK, "today", "2025-03-14T04:00"),
        (NEW_YORK, "2025-03-09", "2025-03-09T05:00"),  # before the clocks changed
        (NEW_YORK, "2025-03-10", "2025-03-10T04:00"),
    ],
)
def test_a_moment_on_the_command_line_is_of_the_zone(monkeypatch, zone, text, moment):
    """A length of time, and a moment with a zone of its own, are the same everywhere."""
    monkeypatch.setenv("MEMENTO_TIMEZONE", zone)
    assert moment_of(text, lambda: at(NIGHT)) == at(moment)


def test_the_command_line_lists_the_days_of_the_zone(diary, monkeypatch, capsys):
    """``list --since 2025-03-14`` begins where the day begins for the user."""
    memory = diary(TOKYO, NIGHT, sink="2025-03-13T14:59", boiler="2025-03-13T15:00")
    root = str(memory.store.root)
    memory.close()
    monkeypatch.setenv("MEMENTO_TIMEZONE", TOKYO)
    options = ["--since", "2025-03-14", "--json", "--root", root, "--embedder", "none"]
    assert main(["list", *options]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["memories"]
    assert listed["text"] == "The boiler was repaired"


def test_a_wrong_variable_is_named(monkeypatch, tmp_path, capsys):
    """With or without a moment among the options."""
    root = ["--root", str(tmp_path / "store")]
    assert main(["add", "The boiler was repaired", "--embedder", "none", *root]) == 0
    monkeypatch.setenv("MEMENTO_TIMEZONE", "Mars/Olympus")
    for options in (["--since", "today"], []):
        assert main(["list", *root, *options]) != 0
        assert "(MEMENTO_TIMEZONE): timezone: 'Mars/Olympus' is not" in capsys.readouterr().err
