"""A statement fills the slot that it names, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.observe.signals import Signal
from memento.observe.slots import Slot, slot_of
from memento.observe.wording import condition_of, quoted, stands_alone, without_lead

FILLED = [
    ("My name is Ines.", "identity", "user/name", "ines"),
    ("I live in Ghent, near the canal.", "identity", "user/home", "ghent"),
    ("I'm a marine biologist.", "identity", "user/job", "marine biologist"),
    ("I work at Northwind.", "identity", "user/employer", "northwind"),
    ("I use Dvorak.", "preference", "user/keyboard", "dvorak"),
    ("I use Linux at home.", "fact", "user/os@home", "linux"),
    ("I switched from zsh to fish.", "correction", "user/shell", "fish"),
    ("Use pnpm, not npm.", "rule", "javascript/package-manager", "pnpm"),
    ("No emojis in commit messages.", "rule", "style/emoji@commit-messages", "no"),
    ("When you write SQL, use spaces.", "rule", "style/indent@when-you-write-sql", "spaces"),
    ("Please reply in Dutch.", "rule", "style/language", "dutch"),
    ("Our database is MariaDB.", "fact", "project/database", "mariadb"),
    ("Amara is my boss now.", "relation", "user/boss", "amara is my"),
    ("My favourite tea is rooibos.", "preference", "user/favourite/tea", "my favourite rooibos"),
    ("We moved to Postgres.", "identity", "project/database", "postgres"),
    ("My editor is Helix.", "preference", "user/editor", "helix"),
    ("My brother uses vim.", "fact", "user/brother", "my uses vim"),
    ("Ich heiße Jonas.", "identity", "user/name", "jonas"),
    ("We're moving to MariaDB.", "decision", "project/database", "mariadb"),
    ("We started using MariaDB.", "fact", "project/database", "mariadb"),
    ("We prefer using MariaDB.", "fact", "project/database", "mariadb"),
    ("I'm using nano on the server.", "fact", "user/editor@server", "nano"),
    ("I've been using vim for three years.", "fact", "user/editor", "vim"),
    ("I work at 3M.", "identity", "user/employer", "3m"),
]
NONE = [
    ("I'm allergic to nuts.", "fact"),
    ("I speak Danish.", "fact"),
    ("I like fish.", "preference"),
    ("I love jazz.", "preference"),
    ("My favourite mug broke.", "fact"),
    ("We moved to a new flat.", "identity"),
    ("I'm German and I like tea.", "identity"),
    ("I used to live in Madrid.", "identity"),
    ("Do you prefer tabs or spaces?", "preference"),
    ("Tabs and spaces both work.", "fact"),
    ("My son's teacher is Ms. Okafor.", "relation"),
    ("My mother-in-law lives next door.", "relation"),
    ("Never use vim.", "rule"),
    ("I may move to Spain if I might.", "identity"),
    *(
        (f"We {said}.", "fact")
        for said in (
            "decided against switching to MySQL",
            "'d never switch to MySQL",
            "'re not moving to MySQL",
            "aren't migrating from Postgres to MySQL",
            "considered moving to MySQL but dropped it",
            "'re thinking of using MySQL",
            "won't be switching to MySQL",
            "talked about adopting Kubernetes",
        )
    ),
    ("I work at 7 every day.", "identity"),
    ("I work for 3 different teams.", "identity"),
    ("I work at 9:30 on most days.", "identity"),
]


@pytest.mark.parametrize(("text", "signal", "key", "value"), FILLED)
def test_a_slot_is_recognised(text, signal, key, value):
    """With its value, folded."""
    found = slot_of(text, Signal(signal))
    assert (found.key, found.value) == (key, value)


@pytest.mark.parametrize(("text", "signal"), NONE)
def test_in_doubt_there_is_none(text, signal):
    """Many-valued matters, hearsay, questions and words with another meaning fill no slot."""
    assert slot_of(text, Signal(signal)) is None


@pytest.mark.parametrize("signal", [Signal.FEEDBACK, Signal.FORGET, Signal.TODO, Signal.PROCEDURE])
def test_some_classes_fill_none(signal):
    """They say nothing that has one value."""
    assert slot_of("Please use tabs.", signal) is None


@given(st.text(max_size=120), st.sampled_from(Signal))
def test_any_text_is_read(text, signal):
    """No text is refused, and a key can always be stored."""
    found = slot_of(text, signal)
    assert found is None or (found.key.strip() and len(found.key) < 256)
    assert without_lead(text) in text
    assert (condition_of(text) or "") in text
    stands_alone(text, correction=True)
    assert quoted("It is so.", text).startswith("It is so.")


HELD = {
    "user/home": (
        "I live in Lisbon.",
        [f"I {moved} {what}." for moved in ("moved to", "just moved to") for what in (
            "Gmail", "TypeScript", "Python 3.12", "Kotlin", "Vodafone", "N26", "Apple Music",
            "Chapter 3", "Level 5", "Room 204", "Zendesk", "Lane 2", "Tuesdays", "Team Phoenix",
            "Marketing", "the night shift",
        )] + [
            "I live in a small flat with two cats.", "We live in the same building as Tom.",
            "My home is my castle.", "I live in my car these days.",
        ],
    ),
    "user/employer": (
        "I work at Siemens.",
        [
            "I joined Slack.", "I just joined Mastodon.", "I work at Starbucks today.",
            "I work at 7 every day.", "I work for 3 teams.", "I work from Leeds but live in York.",
        ],
    ),
    "user/editor": ("I use vim.", ["I'm using nano on the server.", "I use Emacs for Lisp."]),
    "user/job": (
        "I work as a nurse.",
        ["I work as a volunteer on Sundays.", "I work as a character in a game."],
    ),
    "user/timezone": (
        "My time zone is Europe/Berlin.",
        ["My time zone is confusing.", "My time zone is wrong in the app."],
    ),
    "user/name": ("My name is Ada Lund.", ["My middle name is Rose.", "My last name is Holm."]),
    "user/phone": (
        "My phone number is 555 010 4477.",
        ["My work number is 030 123 4567.", "My office phone is 030 123 4567."],
    ),
    "user/birthday": (
        "My birthday is 3 May.",
        ["My birthday is soon.", "My birthday is tomorrow.", "My birthday is on Friday."],
    ),
    "user/email": (
        "My email is ada@corp.example.",
        [
            "My email is bob@corp.example, he checks it for me.",
            "My work email is ada@firm.example.",
        ],
    ),
}  # fmt: skip
"""Slot to its value, and statements of its form whose value is of another sort, or another's."""


@pytest.mark.parametrize(
    ("key", "first", "then"),
    [(key, said, one) for key, (said, ones) in HELD.items() for one in ones],
)
def test_what_is_no_value_of_a_slot_replaces_none(memory, key, first, then):
    """The value stays, and the statement is not lost: its turn is kept."""
    memory.observe(first, session="a")
    seen = memory.observe(then, session="b")
    assert memory.value(key).text == first
    assert [one.text for one in seen.turns] == [then]


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Berlin.",
        "I've moved to St. Louis.",
        "I recently moved to Kuala Lumpur.",
        "We moved to Leith, into a small flat.",
        "I moved to Vordingborg with my family.",
        "I moved to Kortrijk.",
        "I recently moved to Hasselt.",
    ],
)
def test_what_people_move_to_is_their_home_if_it_is_a_place(memory, said):
    """It is known for one, or the sentence says how they live there."""
    memory.observe("I live in Lisbon.", session="a")
    memory.observe(said, session="b")
    assert memory.value("user/home").text == said


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("My phone number: 555 010 4477", "user/phone", "555 010 4477"),
        ("My email: ada@corp.example", "user/email", "ada@corp.example"),
        ("My time zone: UTC+2", "user/timezone", "utc+2"),
        ("My name: Ada", "user/name", "ada"),
        ("I live in St. Gallen.", "user/home", "st. gallen"),
    ],
)
def test_a_label_gives_its_slot_the_value(said, key, value):
    """As "is" would; a stop behind an abbreviation ends no value."""
    assert slot_of(said, Signal.IDENTITY) == Slot(key, value, single=True)


@pytest.mark.parametrize(
    "said", ["I use VİM", "I use v\N{LATIN SMALL LETTER DOTLESS I}m", "I use VİM and vim"]
)
def test_letters_of_other_alphabets_name_no_value(said):
    """A letter that equals another one only without its case is no error, and no name."""
    assert slot_of(said, Signal.PREFERENCE) is None
