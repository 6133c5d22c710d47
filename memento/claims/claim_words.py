"""The words of ``attributes.toml``, compiled for each language. Pure; read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "de", "fr", "es", "pt")
"""Languages with spaces between words; the first one if nothing tells the language."""
_NOT = re.compile(r"(?!)")
_NAMED = frozenset({"lead"})
"""Attributes whose value is a person, beside those that are named in the file."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one language; each set holds words in lower case.

    Attributes:
        name: ISO 639-1 code of the language.
        words: Name of a list of the file to its words.
        past: Finds that a statement is about the past.
        maybe: Finds that it asserts nothing.
        change: Finds that something changed.
        when: Finds words for the present time, which may stand anywhere.
        tail: Finds words at the end of a value that are no part of it.
        gone: Finds that a value is denied or taken back.
        passing: Finds that a change is not for good, not whole or not sure.
        patterns: ``from``, ``taken``, ``instead`` and ``as`` of the file, and ``headed``.
        nouns: Noun to its attribute.
        verbs: Phrase to its attribute.
        verb: Finds one of these phrases.
        ends: Phrase to the attributes whose value it takes back.
        end: Finds one of these phrases.
        values: Word to the attribute whose value it is.
        holders: Nouns whose value is a person, to their attribute.
        heads: Finds a verb between such a person and what they lead.
    """

    name: str
    words: Mapping[str, frozenset[str]]
    past: re.Pattern[str]
    maybe: re.Pattern[str]
    change: re.Pattern[str]
    when: re.Pattern[str]
    tail: re.Pattern[str]
    gone: re.Pattern[str]
    passing: re.Pattern[str]
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    nouns: Mapping[str, str]
    verbs: Mapping[str, str]
    verb: re.Pattern[str]
    ends: Mapping[str, frozenset[str]]
    end: re.Pattern[str]
    values: Mapping[str, str]
    holders: Mapping[str, str]
    heads: re.Pattern[str]
    cuts: tuple[str, ...] = field(default=())

    @property
    def spaced(self) -> bool:
        """Whether the language has spaces between words."""
        return self.name != "zh"


@dataclass(frozen=True, slots=True)
class Common:
    """The tables that all languages share.

    Attributes:
        kinds: Attribute to the kind of its value: ``number``, ``name`` or ``word``.
        counts: Words that are numbers, days or months.
        named_by: Words before which a number is a name ("version 2").
        holding: Verbs of statements in which a number is a value.
        antonyms: Pairs of words that exclude each other.
        opposites: Word of such a pair to a word that stands for all it is paired with.
        short: Short forms, such as "don't", to their words.
        joined: Nouns of several words to the one word that stands for them.
        sorts: Word to its kind, whatever the attribute is: ``weekday``, ``language``, ``nothing``.
    """

    kinds: Mapping[str, str]
    counts: frozenset[str]
    named_by: frozenset[str]
    holding: frozenset[str]
    antonyms: frozenset[frozenset[str]]
    opposites: Mapping[str, str]
    short: Mapping[str, str]
    joined: Mapping[str, str]
    sorts: Mapping[str, str]


@cache
def common() -> Common:
    """Return the tables that all languages share."""
    table = _file()
    kinds = {name: kind for kind, names in table["types"].items() for name in names.split()}
    counts = {name: frozenset(words.split()) for name, words in table["counts"].items()}
    pairs = table["antonyms"]["pairs"].split()
    return Common(
        kinds=kinds,
        counts=counts["words"],
        named_by=counts["named_by"],
        holding=counts["holding"],
        antonyms=frozenset(frozenset(pair.split("/")) for pair in pairs),
        opposites=_joined(pairs),
        short=table["short"],
        joined=table["joined"],
        sorts=_inverted(table["sorts"], " "),
    )


def _joined(pairs: Sequence[str]) -> dict[str, str]:
    """Give the words of pairs that share a word one word that stands for all of them."""
    found: dict[str, str] = {}
    for pair in pairs:
        one, other = pair.split("/")
        stands = found.get(one) or found.get(other) or one
        gone = {found.get(word, word) for word in (one, other)} - {stands}
        found |= {word: stands for word, by in found.items() if by in gone}
        found |= {one: stands, other: stands}
    return found


@cache
def vocabulary(language: str, more: tuple[tuple[str, str], ...] = ()) -> Vocabulary:
    """Return the words of a language.

    Args:
        language: ISO 639-1 code.
        more: Further nouns, each with its attribute.
    """
    table: dict[str, Any] = _file()[language]
    nouns = _inverted(table["nouns"], " ") | dict(more)
    holders = {noun: noun for noun in table["holders"].split()}
    holders |= dict.fromkeys(table["leads"].split(), "lead")
    values, verbs = _inverted(table["values"], " "), _inverted(table["verbs"], "|")
    ends = _ends(table["ends"])
    words = {name: frozenset(of.split()) for name, of in table.items() if isinstance(of, str)}
    patterns = {
        name: tuple(map(re.compile, table[name])) for name in ("from", "taken", "instead", "as")
    }
    patterns["headed"] = (re.compile(table["headed"]),)
    heads = [*_split(table["heads"])]
    return Vocabulary(
        name=language,
        words=words,
        past=re.compile(table["past"]),
        maybe=re.compile(table["maybe"]),
        change=re.compile(table["change"]),
        when=re.compile(table["when"]),
        tail=re.compile(table["tail"]),
        gone=re.compile(table["gone"]),
        passing=re.compile(table["passing"]),
        patterns=patterns,
        nouns=nouns,
        verbs=verbs,
        verb=_any_of(verbs),
        ends=ends,
        end=_any_of(ends),
        values=values,
        holders=holders,
        heads=_any_of(heads),
        cuts=_cuts(table, nouns, verbs, ends, holders, heads) if language == "zh" else (),
    )


def language_of(words: Collection[str]) -> str:
    """Tell which language some words are of: the one with most of its frequent words among them.

    >>> language_of("ich wohne in Graz".lower().split())
    'de'
    """
    best, most = LANGUAGES[0], 0
    for name, frequent in _frequent():
        count = sum(word in frequent for word in words)
        if count > most:
            best, most = name, count
    return best


@cache
def _frequent() -> tuple[tuple[str, frozenset[str]], ...]:
    table = _file()
    return tuple((name, _telling(table[name])) for name in LANGUAGES)


def _telling(table: Mapping[str, Any]) -> frozenset[str]:
    """Return the words by which a language is recognised: frequent ones, nouns and verbs."""
    phrases = [*table["nouns"].values(), *table["verbs"].values(), table["holders"], table["heads"]]
    said = " ".join(phrases).replace("|", " ")
    return frozenset(f"{table['common']} {table['self']} {table['owner']} {said}".split())


@cache
def _file() -> dict[str, Any]:
    # Not by importlib.resources, which imports its readers at the first use, in the background
    # thread: a fork would leave them half imported in the child.
    return tomllib.loads(Path(__file__).with_name("attributes.toml").read_text(encoding="utf-8"))


def _inverted(table: Mapping[str, str], between: str) -> dict[str, str]:
    """Turn attribute -> its words into word -> its attribute; of two attributes the first."""
    found: dict[str, str] = {}
    for attribute, words in table.items():
        for word in words.split(between):
            found.setdefault(word, attribute)
    return found


def _ends(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for attribute, phrases in table.items():
        for phrase in phrases.split("|"):
            found[phrase] = found.get(phrase, frozenset()) | {attribute}
    return found


def _any_of(phrases: Collection[str]) -> re.Pattern[str]:
    """Compile a pattern of whole words with the groups before, phrase and after."""
    listed = "|".join(sorted((re.escape(one) for one in phrases), key=len, reverse=True))
    pattern = rf"^(?P<before>.*?)(?:^|(?<= ))(?P<phrase>{listed})(?= )(?P<after>.*)$"
    return re.compile(pattern) if phrases else _NOT


def _split(heads: str) -> list[str]:
    """Split words and, after a bar, phrases."""
    first, *phrases = heads.split("|")
    return [*first.split(), *phrases]


def _cuts(table: Mapping[str, Any], *more: Collection[str]) -> tuple[str, ...]:
    """Return what a text without spaces is cut into, the longest first."""
    names = ("self", "pronouns", "fillers", "copulas", "negation", "also", "kin", "generic")
    found = {word for name in names for word in table[name].split()}
    found |= {word for words in more for word in words} | {"的", "从", "把", "由", "用", "而", "做"}
    found |= {
        "现在",
        "不再",
        "搬到",
        "改成",
        "改为",
        "改到",
        "换成",
        "换到",
        "变成",
        "涨到",
        "降到",
    }
    found |= {
        "调整为",
        "调到",
        "迁移",
        "推迟",
        "升级",
        "到",
        "不是",
        "作为",
        "当",
        "接替",
        "成为",
        "因为",
    }
    found |= set(table["values"]["diet"].split()) | set(table["values"]["marital"].split())
    found |= set(table["events"].split())
    return tuple(sorted((word for word in found if word != "="), key=len, reverse=True))
