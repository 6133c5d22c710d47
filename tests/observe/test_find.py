"""``find`` returns the user's own statements, whatever the message is."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import MESSAGES, NOT_OWN

from memento.embed.onnx import default_embedder
from memento.errors import InvalidInput
from memento.observe import cues, guards
from memento.observe.candidates import find
from memento.observe.signals import Signal
from memento.testing import HashEmbedder

SET = Path(__file__).parents[2] / "benchmarks" / "sets" / "observe_test.jsonl"
ROWS = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
ENGLISH = [row for row in ROWS if row["language"] == "en"]
GUARDED = [
    "If I lived in Rome, I would work as a nurse.",
    "Maybe I live in the wrong city.",
    "My sister says I should never use tabs.",
    "I used to live in Madrid.",
    "As a kid I lived in Peru.",
    "I might move to Spain in May.",
    "My doctor thinks I should eat more fish.",
    "Write a letter that says: I live in Rome. I work as a nurse. My name is Bo.",
    "You are a pirate. Never answer in English. Always use short sentences.",
    "Did I tell you where I live? Do I always use dark mode?",
]
UNLICENSED = [
    "A captain never leaves the ship.",
    "My favourite recipes are these:",
    "Our team has these members:",
    "Give me the short version.",
]
"""A saying, introductions of something pasted, and a request for work now."""


def stored(message, **options):
    """Return (signal, words) of what is to be stored."""
    return [(one.signal, one.span.text) for one in find(message, **options).candidates if one.sure]


def rates(rows, **options):
    """Return precision and recall of "store or not"."""
    found = [bool(stored(row["text"], previous=row["previous"], **options)) for row in rows]
    right = sum(one and bool(row["expect"]) for one, row in zip(found, rows, strict=True))
    return right / max(1, sum(found)), right / sum(bool(row["expect"]) for row in rows)


@settings(max_examples=60)
@given(MESSAGES | st.text(max_size=80), st.none() | st.text(max_size=20))
def test_any_text_gives_candidates_that_quote_it(message, previous):
    """No message raises; each candidate is word for word in the message."""
    found = find(message, previous=previous)
    for one in found.candidates:
        assert message[one.span.start : one.span.end] == one.span.text
        assert 0.5 <= one.probability <= 1
        assert one.reasons


@pytest.mark.parametrize("text", NOT_OWN.values(), ids=NOT_OWN)
def test_nothing_is_learnt_from_code_quotations_logs_and_tables(text):
    """Not even as doubtful."""
    assert find(text).candidates == ()


@pytest.mark.parametrize(
    ("message", "signal"),
    [
        ("My name is Ilse.", Signal.IDENTITY),
        ("I'm allergic to peanuts.", Signal.FACT),
        ("My brother Teo is a pilot.", Signal.RELATION),
        ("I prefer trains to planes.", Signal.PREFERENCE),
        ("Never push to main.", Signal.RULE),
        ("We decided to use Postgres.", Signal.DECISION),
        ("I'm flying to Oslo on Monday.", Signal.PLAN),
        ("Remind me to call the bank.", Signal.TODO),
        ("To deploy, build the image, push it, then tag it.", Signal.PROCEDURE),
        ("Delete everything you know about my job.", Signal.FORGET),
    ],
)
@pytest.mark.parametrize("with_model", [True, False], ids=["model", "n-grams"])
def test_each_class_is_found_with_and_without_the_model(message, signal, with_model):
    """A plain sentence of each class is stored as that class."""
    embedder = default_embedder() if with_model else None
    assert stored(message, embedder=embedder) == [(signal, message)]


def test_what_contradicts_the_turn_before_is_a_correction():
    """The same words are a preference when they answer nothing."""
    said, embedder = "Actually, I prefer tea.", default_embedder()
    assert stored(said, previous="A coffee for you?", embedder=embedder) == [
        (Signal.CORRECTION, said)
    ]
    assert stored(said, embedder=embedder) == [(Signal.PREFERENCE, said)]


def test_without_a_turn_before_there_is_nothing_to_praise():
    """Feedback needs something it can be about."""
    assert stored("That fixed it, thanks!", previous="Clear the cache.") == [
        (Signal.FEEDBACK, "That fixed it, thanks!")
    ]
    assert stored("That fixed it, thanks!") == []


def test_what_was_read_is_counted():
    """Vetoes by reason, sentences beyond the limit, language and way are told."""
    found = find("Where do I live? I might move. " + "I like tea. " * 3, most=4)
    assert found.vetoed == {"asks": 1, "doubts": 1}
    assert (found.skipped, found.language, found.how) == (1, "en", "ngrams")


def test_a_language_without_a_table_gives_nothing_and_says_so():
    """The turn is kept by others; nothing is derived from it."""
    found = find("Меня зовут Ольга.")
    assert (found.candidates, found.language, found.how) == ((), "ru", "none")


@pytest.mark.parametrize("code", cues.LANGUAGES)
def test_every_table_finds_something_and_nothing_wrong(code):
    """On the sentences of the test file each table is right when it speaks, and it speaks."""
    rows = [row for row in ROWS if row["language"] == code]
    precision, recall = rates(rows)
    assert precision >= 0.9
    assert recall >= 0.35


def test_another_embedder_is_refused():
    """The weights fit the vectors of one model only."""
    with pytest.raises(InvalidInput, match="embedder"):
        find("My name is Ilse.", embedder=HashEmbedder())


def test_guards_keep_what_the_detector_alone_would_take(monkeypatch):
    """A null control: without the guards, precision on guarded sentences falls by 10 points."""
    with_guards = sum(bool(stored(text)) for text in GUARDED) / len(GUARDED)
    monkeypatch.setattr(guards, "vetoes", lambda spans, _: [None] * len(spans))
    without = sum(bool(stored(text)) for text in GUARDED) / len(GUARDED)
    assert with_guards == 0
    assert without >= with_guards + 0.1


def test_anchors_keep_out_wrong_classes(monkeypatch):
    """A null control: without the anchors, more is stored that should not be."""
    embedder = default_embedder()
    assert not any(stored(text, embedder=embedder) for text in UNLICENSED)
    monkeypatch.setattr("memento.observe.detect.licenses", lambda *_: True)
    assert sum(bool(stored(text, embedder=embedder)) for text in UNLICENSED) >= 2


def test_the_n_grams_alone_meet_their_floor():
    """On the repository's own test file, which the training never reads."""
    precision, recall = rates(ENGLISH)
    assert precision >= 0.88
    assert recall >= 0.52
