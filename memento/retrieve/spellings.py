"""The ways in which a memory may write the words of a question: codes, typing errors. Pure.

``E2207`` finds ``E-2207``, ``acountant`` finds ``accountant``, ``C++`` does not find ``C#``. What
is looked up is decided here; `by_words` looks it up, and `answer` lifts what matches exactly.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from memento.base.lazy import later
from memento.embed.common_words import is_common, is_form_of_common
from memento.ledger.match import Any, In, Match, Phrase, Start, Word
from memento.text import codes, words
from memento.text.codes import Code
from memento.text.synonyms import others
from memento.text.words import is_unspaced

if TYPE_CHECKING:
    from rapidfuzz import distance, process
else:
    distance, process = later("rapidfuzz.distance"), later("rapidfuzz.process")

LEAST = 4
"""Minimum number of letters in a word that is corrected."""
_LONG = 8
"""Minimum number of letters in a word in which two typing errors, or a wrong first letter, are
accepted."""
_CODE = re.compile(r"[a-z]{1,6}([0-9]+)", re.ASCII)
_NOT_KEPT, _NEW = -1, -2
_MOST_KNOWN = 10_000  # maximum number of words noted as not kept: numbers are endless
_WORD_BYTES, _ROW_BYTES = 220, 230  # measured with tracemalloc


class Vocabulary:
    """The words of heard memories, kept up to date memory by memory.

    Attributes:
        rev: Newest revision of the namespace that it knows; set by the caller.
        first: Row id of the oldest memory whose words it holds.
    """

    def __init__(self) -> None:
        self.rev, self.first = 0, 0
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._as_written: dict[str, int] = {}  # word to its place, or -1
        self._words: list[str] = []
        self._count = np.zeros(0, np.intp)  # memories that have each word
        self._rows: dict[int, array[int]] = {}
        self._shelves: dict[int, dict[str, dict[str, None]]] = defaultdict(dict)
        self._codes: dict[str, dict[str, None]] = {}

    @contextmanager
    def following(self) -> Iterator[None]:
        """Hold the lock under which one thread at a time brings it up to date."""
        with self._lock:
            yield

    @property
    def nbytes(self) -> int:
        """Estimated bytes."""
        return _WORD_BYTES * len(self._words) + _ROW_BYTES * len(self._rows)

    def put(self, docid: int, words: Sequence[str]) -> None:
        """Set the words of a memory, replacing those it had; the caller is `following`."""
        self.put_all([(docid, words)])

    def put_all(self, said: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Set the words of several memories; the caller is `following`."""
        fresh: list[array[int]] = []
        try:
            for docid, words in said:
                if docid in self._rows:
                    self._count_in(fresh)
                    self.drop(docid)
                row = self._rows[docid] = array("I", self._places(words))
                fresh.append(row)
        finally:  # count what was read before an error as well
            self._count_in(fresh)

    def _places(self, words: Sequence[str]) -> set[int]:
        """Return the places of those words that are kept."""
        known = self._as_written
        places = set(map(known.get, words, repeat(_NEW)))  # a third of what a loop costs
        if _NEW in places:
            places.remove(_NEW)
            places.update([self._learn(word) for word in words if word not in known])
        places.discard(_NOT_KEPT)
        return places

    def _count_in(self, fresh: list[array[int]]) -> None:
        """Add the words of new rows to the counts, and clear the list of new rows."""
        ids = np.frombuffer(b"".join(fresh), np.uintc)
        count = np.bincount(ids, minlength=len(self._words))
        found = count > 0
        found[: len(self._count)] &= self._count == 0
        count[: len(self._count)] += self._count
        self._count = count
        for one in np.flatnonzero(found).tolist():
            self._shelve(self._words[one])
        fresh.clear()

    def drop(self, docid: int) -> None:
        """Remove the words of a memory, if it has any; the caller is `following`."""
        for one in self._rows.pop(docid, ()):
            self._count[one] -= 1
            if not self._count[one]:
                self._unshelve(self._words[one])

    def drop_before(self, first: int) -> None:
        """Remove the words of memories older than a row id; the caller is `following`."""
        for docid in [docid for docid in self._rows if docid < first]:
            self.drop(docid)
        self.first = first

    def has(self, word: str) -> bool:
        """Return whether a word is among them, with or without a plural "s"."""
        with self._lock:
            at = self._ids.get(_plain(word))
            return at is not None and bool(self._count[at])

    def near(self, word: str) -> list[str]:
        """List the words that differ from a word by the fewest typing errors, if few enough.

        One error is accepted in a word of 4 to 7 letters, which keeps its first letter; two in a
        longer one. An error is a letter added, removed or replaced, or two neighbours swapped.

        Returns:
            The most frequent words first, without a plural "s"; empty for a short word or one with
            digits.
        """
        if not word.isalpha() or not _is_kept(word):
            return []
        word = _plain(word)
        most = 2 if len(word) >= _LONG else 1
        with self._lock:
            found = list(self._alike(word, most))
            fewest = min((errors for _, errors in found), default=0)
            near = [other for other, errors in found if errors == fewest]
            return sorted(near, key=lambda other: (-self._count[self._ids[other]], other))

    def numbered(self, number: str) -> list[str]:
        """List the words that consist of a few letters and a number, in order."""
        with self._lock:
            return sorted(self._codes.get(number, ()))

    def _alike(self, word: str, most: int) -> Iterator[tuple[str, int]]:
        for length in range(max(LEAST, len(word) - most), len(word) + most + 1):
            shelf = self._shelves.get(length, {})
            letters = shelf if len(word) >= _LONG else [word[0]]
            known = [other for letter in letters for other in shelf.get(letter, ())]
            if not known:
                continue
            found = process.extract(
                word, known, scorer=distance.OSA.distance, score_cutoff=most, limit=None
            )
            yield from ((other, int(errors)) for other, errors, _ in found)

    def _learn(self, word: str) -> int:
        """Return the place of a word as a memory writes it; -1 if it is not kept."""
        at = self._id(_plain(word)) if _is_kept(word) else _NOT_KEPT
        if at != _NOT_KEPT or len(self._as_written) < _MOST_KNOWN + 2 * len(self._words):
            self._as_written[word] = at
        return at

    def _id(self, word: str) -> int:
        known = self._ids.get(word)
        if known is None:
            known = self._ids[word] = len(self._words)
            self._words.append(word)
        return known

    def _shelve(self, word: str) -> None:
        if word.isalpha():
            self._shelves[len(word)].setdefault(word[0], {})[word] = None
        else:
            self._codes.setdefault(_number_of(word), {})[word] = None

    def _unshelve(self, word: str) -> None:
        if word.isalpha():
            self._shelves[len(word)][word[0]].pop(word)
        else:
            self._codes[_number_of(word)].pop(word)


def _number_of(word: str) -> str:
    """Return the number of an identifier."""
    return word.lstrip(ascii_lowercase)


def _is_kept(word: str) -> bool:
    """Return whether a word may correct another one: it is long enough, or an identifier."""
    if word.isalpha():
        return len(word) >= LEAST and (word.isascii() or not is_unspaced(word))
    return _CODE.fullmatch(word) is not None


def _plain(word: str) -> str:
    """Drop a plural or possessive "s", as the index does; its other endings hide typing errors."""
    plural = len(word) > LEAST and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural else word


CORRECTED = 0.7
"""Share of its idf that a word counts in a memory that has it after correction."""
MEANT = 0.5
"""Share of its idf that a word counts in a memory that has only a synonym."""
_LONGEST = 500  # characters of a question in which typing errors are corrected for its vector
_LETTERS = re.compile(r"(?<![\w-])[^\W\d_]{4,}(?![\w-])")  # whole words, and no part of a code
_MOST = 3
"""Maximum number of words in the vocabulary that may be meant by one mistyped word."""
_POSSESSIVE = 4
"""Minimum number of letters in a word whose last "s" may be a possessive without its apostrophe."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Something that a memory must contain exactly: how to find candidates and check texts."""

    match: Match
    held_by: Callable[[str], bool]


def exact(quoted: Iterable[str], text: str, coded: Sequence[Code]) -> tuple[Verbatim, ...]:
    """List what a question wants exactly: quoted phrases, identifiers, words with a symbol.

    The text is without its dates; an identifier may be written with other separators in a memory.
    """
    found: dict[str, Verbatim] = {}
    for phrase in quoted:
        found[words.squeeze(phrase)] = _phrase(phrase)
    for code in coded:
        if code.sure or code.short:
            found["".join(code.parts)] = Verbatim(_any_of(code.spellings()), _held(code))
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
    """Return the words of identifiers in a question, to the match for all spellings of each.

    Of an identifier written in several words, only its last word with a digit is included; the
    others are looked up as they are.

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


def match_term(term: str) -> Word | Start:
    """Write the FTS5 expression that finds one word, with any characters in it.

    A single character of a script without spaces finds every run that has it.

    >>> match_term("near"), match_term("猫")
    (Word(text='near'), Start(text='猫'))
    """
    single = len(term) == 1 and words.is_unspaced(term)
    return Start(term) if single else Word(term)


def in_column(match: Match) -> Match:
    """Narrow an expression to the heads of the memories."""
    if isinstance(match, Any):
        return Any(tuple(map(in_column, match.parts)))
    if not isinstance(match, Word | Start | Phrase):
        raise TypeError(f"cannot be narrowed: {match}")
    return In("head", match)


def is_correctable(term: str) -> bool:
    """Return whether a word of a question may be a typing error or a number without its letters."""
    if term in words.STOP_WORDS or term in words.META_WORDS:
        return False
    return term.isdigit() or (len(term) >= LEAST and not is_common(term))


def corrected(term: str, known: Vocabulary) -> Match | None:
    """Find words of a namespace that may be meant by a word that is not among them.

    Returns:
        The match for them; None if there are none. A number finds identifiers that end with it. A
        final "ss" may be a possessive, as in "chriss" for "Chris's".
    """
    if term.isdigit():
        near = known.numbered(term)
    else:
        near = known.near(term) or (known.near(term[:-1]) if term.endswith("ss") else [])
    return _any_of([(word,) for word in near[:_MOST]]) if near else None


def meant(text: str, known: Callable[[], Vocabulary], names: Collection[str] = ()) -> str:
    """Correct typing errors in a question, using the words of a namespace.

    Looking up words tolerates typing errors, but the vector of a mistyped word is near nothing.
    The vocabulary is requested only if a word is not common; ``names`` are not corrected.
    """
    if len(text) > _LONGEST:
        return text
    terms = {word.lower() for word in _LETTERS.findall(text)}
    plain = terms.difference(words.STOP_WORDS, words.META_WORDS, names)
    rare = [term for term in plain if not is_form_of_common(term)]
    if not rare:
        return text
    vocabulary = known()
    right = {term: vocabulary.near(term)[:1] for term in rare if not vocabulary.has(term)}
    return _LETTERS.sub(lambda found: next(iter(right.get(found[0].lower(), ())), found[0]), text)


def synonyms(terms: Iterable[str]) -> list[Match | None]:
    """Return the match for the synonyms of each word; None for a word without any."""
    found = [others(term) for term in terms]
    return [_any_of(ways) if ways else None for ways in found]


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


def _phrase(phrase: str) -> Verbatim:
    written = words.squeeze(phrase)
    joined = " ".join(words.terms(phrase))
    single = len(joined) == 1 and words.is_unspaced(joined)
    match = Start(joined) if single else Word(joined)
    return Verbatim(match, lambda text: words.holds(words.squeeze(text), written))


def _held(code: Code) -> Callable[[str], bool]:
    pattern = cache(code.pattern)  # costly, and often there is no memory to search
    return lambda text: pattern().search(words.squeeze(text)) is not None


def _symbol(symbol: str) -> Verbatim:
    match = Word(" ".join(words.terms(symbol)))
    return Verbatim(match, lambda text: codes.has_symbol(text, symbol))


def _number(number: str) -> Verbatim:
    pattern = codes.numbered(number)
    return Verbatim(Word(number), lambda text: pattern.search(text) is not None)
