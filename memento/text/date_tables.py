"""The words for time of six languages and of plain numbers: ``lexicon/dates.*.toml``, read lazily.

Each language is a table of words and some patterns with the same named groups, so that one set of
readers serves all; see `foreign_dates`. In a file the spellings of one word are joined by ``/``,
``_`` is a space in a word, and ``{name}`` in a pattern stands for one of its parts, for any of the
numbers or for any of the weekdays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memento.text.words import words

MONTHS = tuple(
    tuple(names.split())
    for names in (
        "january jan januar janvier enero",
        "february feb februar fevrier febrero",
        "march mar marz mars marzo",
        "april apr avril abril",
        "may mai mayo",
        "june jun juni juin junio",
        "july jul juli juillet julio",
        "august aug aout agosto",
        "september sep sept septembre septiembre",
        "october oct oktober okt octobre octubre",
        "november nov novembre noviembre",
        "december dec dezember dez decembre diciembre",
    )
)
"""The names of each month, folded, in the languages that have names for them."""

_FOLDER = Path(__file__).with_name("lexicon")


@dataclass(frozen=True, slots=True, eq=False)
class Tongue:
    """The words of one language for time.

    Attributes:
        name: Its ISO 639-1 code, or ``any`` for numbers.
        shapes: The name of a reader, see `foreign_dates`, and a pattern that it reads.
        months: First letters of a month to its number.
        weekdays: First letters of a weekday to its number, 0 for Monday.
        near: Word for a day to its distance from today.
        units: First letters of a unit to ``day``, ``week``, ``weekend``, ``month`` or ``year``.
        ways: First letters of "last", "this", "next" to -1, 0, 1.
        numbers: Number words to their value.
        ordinals: "first" and its like to their value; "last" is -1, "penultimate" -2.
        relations: Word to its relation to a date: ``after``, ``before``, ``within``, ``from``.
        offset: Pattern of words before a date that change it: "a week from", "the Friday before".
        later: Pattern of words after a day that move it to a later one: "Friday week".
        common: Frequent words by which the language is recognised; empty where the script tells.
        function: Other words that only join words, such as "not" and "for".
        doubtful: Date words that other languages have too, read only if the language is certain.
        hollow: Folded words that do not name a subject.
        past: Pattern of the words by which a question is about the past; "" if there is none.
        future: The same for the future.
    """

    name: str
    shapes: tuple[tuple[str, str], ...]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    near: Mapping[str, int]
    units: Mapping[str, str]
    ways: Mapping[str, int]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    relations: Mapping[str, str]
    offset: str
    later: str
    common: frozenset[str]
    function: frozenset[str]
    doubtful: frozenset[str]
    hollow: frozenset[str]
    past: str
    future: str


@cache
def _tongue(name: str) -> Tongue:
    import tomllib  # noqa: PLC0415 - must not load with memento

    file = tomllib.loads((_FOLDER / f"dates.{name}.toml").read_text(encoding="utf-8"))
    words: dict[str, frozenset[str]] = {
        key: frozenset(file.get(key, "").split())
        for key in ("common", "function", "doubtful", "hollow")
    }
    numbers, weekdays = _numbered(file, "numbers", 1), _numbered(file, "weekdays", 0)
    ordinals = _numbered(file, "ordinals", 1)
    ordinals |= {word: -at for word, at in _numbered(file, "last", 1).items()}
    known = {"numbers": _any(numbers), "weekdays": _any(weekdays), "ordinals": _any(ordinals)}
    parts = {part: _filled(text, known) for part, text in file.get("parts", {}).items()} | known
    return Tongue(
        name=name,
        shapes=tuple(
            (key.rstrip("0123456789"), _filled(text, parts)) for key, text in file["shapes"].items()
        ),
        months=_numbered(file, "months", 1),
        weekdays=weekdays,
        near={word: int(days) for word, days in _each(file.get("near", {}))},
        units=dict(_each(file.get("units", {}))),
        ways={word: int(way) for word, way in _each(file.get("ways", {}))},
        numbers=numbers,
        ordinals=ordinals,
        relations=dict(_each(file.get("relations", {}))),
        offset=_filled(file.get("offset", ""), parts),
        later=_filled(file.get("later", ""), parts),
        past=_filled(file.get("past", ""), {}),
        future=_filled(file.get("future", ""), {}),
        **words,
    )


def _numbered(file: Mapping[str, Any], key: str, first: int) -> dict[str, int]:
    names = file.get(key, "").split()
    return {
        each.replace("_", " "): at
        for at, name in enumerate(names, first)
        for each in name.split("/")
    }


def _each(table: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return ((word, value) for value, words in table.items() for word in words.split())


def _any(words: Iterable[str]) -> str:
    """Write a pattern for any of some words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    """Join the lines of a pattern, and put the parts that it names in their places."""
    return re.sub(r"\{([a-z]+)\}", lambda name: parts[name[1]], pattern.replace("\n", ""))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use of its language; compiling all takes 20 ms."""
    return re.compile(pattern, re.IGNORECASE)


_WORD = re.compile(r"[^\W\d_]+")
_KANA = re.compile(r"[\u3041-\u30fa]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DIGIT = re.compile(r"\d")


def tongues(text: str) -> list[tuple[Tongue, bool]]:
    """Guess the languages of the dates in a text, each with whether it is certain.

    Japanese and Chinese are recognised by script, the others by frequent words. A text with none
    of these may be in any of them, but then words that several languages share are not read.
    English is always among them, and first.
    """
    english = _tongue("en")
    found = [(english, True)]
    if _DIGIT.search(text):
        found.append((_tongue("any"), True))
    if not text.isascii() and (_HAN.search(text) or _KANA.search(text)):
        east = ["ja"] if _KANA.search(text) else ["ja", "zh"]
        return [*found, *((_tongue(name), True) for name in east)]
    spoken = set(_WORD.findall(text.lower()))
    latin = map(_tongue, ("de", "fr", "es"))
    heard = {tongue: len(spoken & tongue.common) for tongue in latin}
    most = max(heard.values())
    if len(spoken & english.common) > most:
        return found
    best = [tongue for tongue, count in heard.items() if count == most]
    return [*found, *((tongue, bool(most) and len(best) == 1) for tongue in best)]


def function_words(text: str) -> frozenset[str]:
    """Return the function words, folded, of the other language than English that a text is in.

    >>> sorted({"mein", "bruder", "nicht"} & function_words("Mein Bruder wohnt nicht in Wien"))
    ['mein', 'nicht']
    """
    return _function_words(tuple(tongue.name for tongue, sure in tongues(text)[1:] if sure))


@cache
def _function_words(names: tuple[str, ...]) -> frozenset[str]:
    spoken = (_tongue(name) for name in names)
    return frozenset(words(" ".join(word for one in spoken for word in one.common | one.function)))
