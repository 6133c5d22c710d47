"""Identifiers and symbols in questions."""

import pytest

from memento.text import codes
from memento.text.words import STOP_WORDS, WEAK_WORDS, fold, squeeze

SAME = [
    ("E2207", "E-2207"),
    ("KL 1583", "kl1583"),
    ("kl-1583", "KL 1583"),
    ("DSP1561", "dsp-1561"),
    ("srv-web04", "SRVWEB04"),
    ("srvweb04", "srvweb 04"),
    ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    ("DE89370400440532013000", "de89 3704 0044 0532 0130 00"),
    ("0170 4455 667", "01704455667"),
    ("QX 7712", "qx7712"),
]
OTHER = [
    ("E-4417", "E-4471"),
    ("KL1583", "KL 15830"),
    ("KL1583", "AKL 1583"),
    ("DE89370400440532013000", "DE89 3704 0044 0532 0130 01"),
    ("srv-web04", "srv-web40"),
]


def found(question, text):
    """Tell whether a text has the identifier of a question."""
    (code,) = codes.codes(question)
    return code.sure and code.pattern().search(squeeze(text)) is not None


@pytest.mark.parametrize(("question", "text"), SAME)
def test_another_spelling_is_the_same_identifier(question, text):
    """Spaces, hyphens and case make no difference."""
    assert found(question, f"Note: {text}, please.")


@pytest.mark.parametrize(("question", "text"), OTHER)
def test_another_identifier_is_not(question, text):
    """Every letter and every digit counts, in this order, and nothing around them."""
    assert not found(question, text)


@pytest.mark.parametrize(
    "text",
    [
        "in 2024", "about 300 people", "since March 2025", "what did I use 120 of", "a 4 day trip",
        "last 200", "no code at all", "", "?!",
    ],
)  # fmt: skip
def test_ordinary_numbers_are_no_identifiers(text):
    """A year, or a number after a word that is no prefix."""
    assert not [code for code in codes.codes(text) if code.sure]


def test_every_way_of_joining_is_tried():
    """Three parts: apart, joined, and the two ways between; as written comes first."""
    (code,) = codes.codes("brs-prd12")
    assert code.spellings() == [
        ("brs", "prd12"), ("brs", "prd", "12"), ("brsprd12",), ("brsprd", "12"),
    ]  # fmt: skip


def test_a_number_in_groups_ends_where_the_groups_end():
    """A word after it does not belong to it."""
    assert [code.words for code in codes.codes("ref 6621 044 915 what for")] == [
        ("6621", "044", "915")
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("and 4471?", ["4471"]), ("2024", []), ("12", []), ("4471 or 98213", ["4471", "98213"])],
)
def test_numbers(text, numbers):
    """Four digits at least, and no year."""
    assert codes.numbers(text) == numbers


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        ("E-4471 is fixed", True), ("see E4471", True), ("ticket #4471", True), ("INV 4471", True),
        ("I paid 4471 euros", False), ("E-44710", False), ("14471", False), ("E-4417", False),
    ],
)  # fmt: skip
def test_a_number_stands_for_its_identifier(text, is_it):
    """Not for an amount, nor for a longer number."""
    assert bool(codes.numbered("4471").search(text)) is is_it


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("do I like C++?", ["C++"]), ("C# or F#", ["C#", "F#"]), ("the .NET course", [".NET"]),
        ("is she A+ or O-", ["A+", "O-"]), ("was it -5 or +5 outside", ["-5", "+5"]),
        ("notepad++ settings", ["notepad++"]), ("well-known e-mail", []), ("a - b", []),
        ("1+1", []), ("C", []), ("see section 5-7.", []), ("-12.5°C", ["-12.5"]),
    ],
)  # fmt: skip
def test_symbols(text, found):
    """A sign that belongs to a word or a number."""
    assert codes.symbols(text) == found


@pytest.mark.parametrize(
    ("text", "symbol", "has"),
    [
        ("I write C++.", "C++", True), ("I write C#.", "C++", False), ("I write C.", "C++", False),
        ("minus \u22125 at night", "-5", True), ("it was 5 at night", "-5", False),
        ("-5.5 at night", "-5", False), ("blood group A+", "A+", True), ("in .NET", ".net", True),
        ("the internet", ".net", False), ("blood group AB+", "B+", False),
    ],
)  # fmt: skip
def test_has_symbol(text, symbol, has):
    """The same letters with another sign are another word."""
    assert codes.has_symbol(text, symbol) is has


def test_weak_words_are_folded_words_that_are_looked_up():
    """Another spelling would never be met, a stop word is never looked up."""
    assert all(fold(word) == word and word.isalpha() for word in WEAK_WORDS)
    assert not WEAK_WORDS & STOP_WORDS
