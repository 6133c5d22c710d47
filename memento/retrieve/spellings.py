"""The ways in which a memory may write the words of a question: codes, typing errors. Pure.

``E2207`` finds ``E-2207``, ``acountant`` finds ``accountant``, ``C++`` does not find ``C#``. What
is looked up is decided here; `by_words` looks it up, and `answer` lifts what matches exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from memento.embed.english import is_common, is_form_of_common
from memento.language import codes, words
from memento.language.codes import Code
from memento.language.synonyms import others
from memento.language.weak import WEAK_WORDS
from memento.ledger.match import Any, In, Match, Phrase, Start, Word
from memento.retrieve.vocabulary import LEAST, Vocabulary

CORRECTED = 0.7
"""Share of its idf that a word counts in a memory that has it with a typing error."""
WEAK = 0.5
"""Share of its idf that a weak word counts beside a stronger one."""
MEANT = 0.5
"""Share of its idf that a word counts in a memory that has another word for the same."""
_LONGEST = 500  # characters of a question in which typing errors are corrected for its vector
_LETTERS = re.compile(r"(?<![\w-])[^\W\d_]{4,}(?![\w-])")  # whole words, and no part of a code
_MOST = 3
"""Most words of the vocabulary that may be meant by one mistyped word."""
_POSSESSIVE = 4
"""Fewest letters of a word whose last "s" may be a possessive without its apostrophe."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Something that must be in a memory exactly.

    Attributes:
        match: Finds the memories that may have it.
        held_by: Tells whether a text has it.
    """

    match: Match
    held_by: Callable[[str], bool]


def exact(quoted: Iterable[str], text: str, coded: Sequence[Code]) -> tuple[Exact, ...]:
    """List what a question wants exactly: quoted phrases, identifiers, words with a symbol.

    Args:
        quoted: Its quoted phrases.
        text: The question without its dates.
        coded: Its identifiers; each may be written with other separators than in the question.
    """
    found: dict[str, Exact] = {}
    for phrase in quoted:
        found[words.squeeze(phrase)] = _phrase(phrase)
    for code in coded:
        if code.sure:
            found["".join(code.parts)] = Exact(_any_of(code.spellings()), _held(code))
    for phrase in words.identifiers(text):
        letters = "".join(filter(str.isalnum, words.squeeze(phrase)))
        if letters not in found:
            found.setdefault(words.squeeze(phrase), _phrase(phrase))
    for symbol in codes.symbols(text):
        found[words.squeeze(symbol)] = _symbol(symbol)
    for number in codes.numbers(text):
        if not any(number in other for other in found):
            found[number] = _number(number)
    return tuple(found.values())


def forms(coded: Iterable[Code], terms: Collection[str]) -> dict[str, Match]:
    """Find for some words of a question how else they are looked up.

    Args:
        coded: Its identifiers.
        terms: Its words that are looked up.

    Returns:
        A word of an identifier to what finds all spellings of the identifier. The other words of
        one that is written in several are looked up as they are.

    >>> forms(codes.codes("E2207"), ["e2207"])
    {'e2207': Any(parts=(Word(text='e2207'), Phrase(words=('e', '2207'))))}
    """
    found: dict[str, Match] = {}
    for code in coded:
        telling = [word for word in code.words if not word.isalpha() and word in terms]
        if telling:
            others = [way for way in code.spellings() if way != code.words]
            found[telling[-1]] = _any_of([(telling[-1],), *others])
    return found


def in_column(match: Match) -> Match:
    """Narrow an expression to the heads of the memories."""
    if isinstance(match, Any):
        return Any(tuple(map(in_column, match.parts)))
    if not isinstance(match, Word | Start | Phrase):
        raise TypeError(f"cannot be narrowed: {match}")
    return In("head", match)


def is_correctable(term: str) -> bool:
    """Tell whether a word of a question may be a typing error or a number without its letters."""
    if term in words.STOP_WORDS or term in words.META_WORDS:
        return False
    return term.isdigit() or (len(term) >= LEAST and not is_common(term))


def corrected(term: str, known: Vocabulary) -> Match | None:
    """Find the words of a namespace that a word of a question, which is not among them, may mean.

    Returns:
        What finds them; None if there are none. A number finds identifiers that end with it. A
        name that ends in "s" may have another one, as in "chriss" for "Chris's".
    """
    if term.isdigit():
        near = known.numbered(term)
    else:
        near = known.near(term) or (known.near(term[:-1]) if term.endswith("ss") else [])
    return _any_of([(word,) for word in near[:_MOST]]) if near else None


def meant(text: str, known: Callable[[], Vocabulary], names: Collection[str] = ()) -> str:
    """Replace the words of a question that are typing errors for words of a namespace.

    The words of memories are looked up with a typing error too, but a vector of a mistyped word
    is near to nothing.

    Args:
        text: The question.
        known: Returns the words of the namespace; called only for a word that is not common.
        names: Names of participants, which are no typing errors.
    """
    if len(text) > _LONGEST:
        return text
    return _LETTERS.sub(lambda found: _right(found[0], known, names) or found[0], text)


def _right(word: str, known: Callable[[], Vocabulary], names: Collection[str]) -> str | None:
    """Return the word of the namespace that was meant; None if it is not a typing error."""
    term = word.lower()
    if not _may_be_mistyped(term) or term in names:
        return None
    vocabulary = known()
    return None if vocabulary.has(term) else next(iter(vocabulary.near(term)), None)


@lru_cache(maxsize=4096)  # most questions have the same few words
def _may_be_mistyped(term: str) -> bool:
    return is_correctable(term) and not is_form_of_common(term)


def weights(terms: Collection[str], present: Mapping[str, bool]) -> dict[str, float]:
    """Weigh the words of a question: the weak ones count less if there is a stronger one.

    Args:
        terms: The words.
        present: Whether any memory has a word.
    """
    strong = any(present[term] for term in terms if term not in WEAK_WORDS)
    return {term: WEAK if strong and term in WEAK_WORDS else 1.0 for term in terms}


@lru_cache(maxsize=2048)  # most questions have the same few words
def synonyms(term: str) -> Match | None:
    """Return what finds other words for the same as a word; None if none are known."""
    ways = others(term)
    return _any_of(ways) if ways else None


def without_possessive(word: str) -> str:
    """Drop the last "s" of a word, as in "dipas" for "Dipa's".

    >>> without_possessive("dipas"), without_possessive("boss")
    ('dipa', 'boss')
    """
    cut = len(word) >= _POSSESSIVE and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if cut else word


def _any_of(ways: Iterable[tuple[str, ...]]) -> Match:
    found: list[Match] = [Word(way[0]) if len(way) == 1 else Phrase(way) for way in ways]
    return found[0] if len(found) == 1 else Any(tuple(found))


def _phrase(phrase: str) -> Exact:
    written = words.squeeze(phrase)
    joined = " ".join(words.terms(phrase))
    single = len(joined) == 1 and words.is_unspaced(joined)
    match = Start(joined) if single else Word(joined)
    return Exact(match, lambda text: words.holds(words.squeeze(text), written))


def _held(code: Code) -> Callable[[str], bool]:
    pattern = cache(code.pattern)  # costly, and often no memory is there to be searched
    return lambda text: pattern().search(words.squeeze(text)) is not None


def _symbol(symbol: str) -> Exact:
    match = Word(" ".join(words.terms(symbol)))
    return Exact(match, lambda text: codes.has_symbol(text, symbol))


def _number(number: str) -> Exact:
    pattern = codes.numbered(number)
    return Exact(Word(number), lambda text: pattern.search(text) is not None)
