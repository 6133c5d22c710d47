"""Search by name: memories whose key or alias the query contains."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memento.embed.common_words import is_common
from memento.text.words import HOLLOW_WORDS, META_WORDS, STOP_WORDS, content, terms

MIN_TYPO = 4
"""Shortest word, in letters, in which one typing error is accepted."""
_ALIKE = 2  # first letters that must be right in a mistyped word
_ASKED = Path(__file__).with_name("slot_names.toml")

Phrase = tuple[str, ...]
Name = tuple[Sequence[str], bool]
"""The words of a name, and whether it may have a typing error."""
Named = tuple[int, Sequence[Name]]
"""A row and its names."""


@dataclass(frozen=True, slots=True)
class Called:
    """A name found in a query.

    Attributes:
        rows: The rows that have this name.
        length: Number of words.
        typos: Number of mistyped words.
        start: Index of its first word in the query.
        partly: Those of ``rows`` for which it is only the last word of the key.
    """

    rows: tuple[int, ...]
    length: int
    typos: int = 0
    start: int = 0
    partly: frozenset[int] = frozenset()


class Names:
    """The keys and aliases of a namespace, found by whole words.

    Names of memories that are not heard (see `status.HEARD`) are kept apart, so that a name from an
    untrusted source does not affect how the user's names are found.
    """

    def __init__(self) -> None:
        self._heard, self._unheard = _Bearers(), _Bearers()

    def put(self, row: int, key: str | None, aliases: Sequence[str], *, heard: bool = True) -> None:
        """Set the names of a row, replacing those it had.

        A key is found in full or by its last segment, an alias only in full. A typing error is
        accepted, except in a last segment of one word: too many words are one letter away from it.
        """
        self._heard.drop(row)
        self._unheard.drop(row)
        bearers = self._heard if heard else self._unheard
        bearers.put(row, tuple(_names(key, aliases).items()))

    def state(self) -> tuple[list[Named], list[Named]]:
        """Return the names of the heard rows, and those of the others."""
        return self._heard.state(), self._unheard.state()

    def restore(self, heard: Sequence[Named], unheard: Sequence[Named]) -> None:
        """Set the names of rows that have none yet, as `state` returned them."""
        for bearers, named in ((self._heard, heard), (self._unheard, unheard)):
            for row, phrases in named:
                bearers.put(row, tuple((tuple(phrase), whole) for phrase, whole in phrases))

    def called(
        self,
        query: Sequence[str],
        shown: Callable[[int], bool] | None = None,
        *,
        unheard: bool = False,
    ) -> list[Called]:
        """Find the names that a query uses.

        Args:
            query: Its words in order, folded, including stop words.
            shown: Tells which rows may be found; None for all. A name of other rows only is
                ignored, so that a hidden memory never blocks a visible one.
            unheard: Whether names of rows that are not heard are included.

        Returns:
            At each word the longest names first, and exact spelling before a typing error; each
            word belongs to one name only.
        """
        asked = (self._heard, self._unheard) if unheard else (self._heard,)
        if not any(bearers.rows for bearers in asked):
            return []
        return list(_Search(query, asked, shown))


class _Bearers:
    """Names and their rows.

    Attributes:
        rows: Name to the rows with that name.
        whole: The same for names in which a typing error is accepted.
        words: First letters to the words of ``whole`` that begin with them, with frequencies.
        longest: First word to the number of words of the longest name so far that begins with it.
    """

    def __init__(self) -> None:
        self.rows: dict[Phrase, list[int]] = {}
        self.whole: dict[Phrase, list[int]] = {}
        self.words: dict[str, dict[str, int]] = {}
        self.longest: dict[str, int] = {}
        self._names: dict[int, tuple[tuple[Phrase, bool], ...]] = {}

    def put(self, row: int, names: tuple[tuple[Phrase, bool], ...]) -> None:
        """Set the names of a row that has no names yet."""
        for phrase, whole in names:
            self.rows.setdefault(phrase, []).append(row)
            if whole:
                self.whole.setdefault(phrase, []).append(row)
                self._spell(phrase, +1)
            self.longest[phrase[0]] = max(self.longest.get(phrase[0], 0), len(phrase))
        if names:
            self._names[row] = names

    def state(self) -> list[Named]:
        """Return the rows that have names, in order, with them."""
        return sorted(self._names.items())

    def drop(self, row: int) -> None:
        """Remove the names of a row, if it has any."""
        for phrase, whole in self._names.pop(row, ()):
            self.rows[phrase].remove(row)
            if whole:
                self.whole[phrase].remove(row)
                self._spell(phrase, -1)

    def _spell(self, phrase: Phrase, count: int) -> None:
        for word in phrase:
            if len(word) >= MIN_TYPO and word.isalpha():
                known = self.words.setdefault(word[:_ALIKE], {})
                known[word] = known.get(word, 0) + count
                if not known[word]:
                    del known[word]


class _Search:
    """One search for the names in the words of a query; iterating over it yields each `Called`."""

    def __init__(
        self,
        query: Sequence[str],
        bearers: Sequence[_Bearers],
        shown: Callable[[int], bool] | None,
    ) -> None:
        self._bearers, self._shown = bearers, shown
        self._spelt = [tuple(self._spellings(word)) for word in query]

    def __iter__(self) -> Iterator[Called]:
        start = 0
        while start < len(self._spelt):
            best = next(self._at(start), None)
            if best is not None:
                yield best
            start += best.length if best else 1

    def _at(self, start: int) -> Iterator[Called]:
        begun = [one.longest.get(word, 0) for word in self._spelt[start] for one in self._bearers]
        for length in range(min(max(begun), len(self._spelt) - start), 0, -1):
            matches = list(self._matching(self._spelt[start : start + length]))
            for typos, phrase in sorted(matches):
                rows = tuple(self._rows(phrase, mistyped=typos > 0))
                if self._shown is not None:
                    rows = tuple(filter(self._shown, rows))
                if rows:
                    whole = {row for one in self._bearers for row in one.whole.get(phrase, ())}
                    yield Called(rows, length, typos, start, frozenset(rows) - whole)

    def _rows(self, phrase: Phrase, *, mistyped: bool) -> Iterator[int]:
        for one in self._bearers:
            yield from (one.whole if mistyped else one.rows).get(phrase, ())

    def _matching(self, spellings: Sequence[Sequence[str]]) -> Iterator[tuple[int, Phrase]]:
        """Yield (typing errors, phrase) for each phrase with at most one error in total."""
        exact = tuple(options[0] for options in spellings)
        yield 0, exact
        for at, options in enumerate(spellings):
            for other in options[1:]:
                yield 1, (*exact[:at], other, *exact[at + 1 :])

    def _spellings(self, word: str) -> Iterator[str]:
        yield word
        if len(word) < MIN_TYPO or not word.isalpha():
            return
        alike = [one.words.get(word[:_ALIKE], {}) for one in self._bearers]
        if not any(alike) or content([word, ""]) == [""]:
            return
        if not any(word in known for known in alike):
            near = {other for known in alike for other in known if one_edit(word, other)}
            single = word.removesuffix("s")
            if near and (is_common(word) or is_common(single)):
                near &= {f"{word}s", single}  # "back" is no typing error for "bank"
            yield from sorted(near)


def asks_no_more(query: Sequence[str], called: Sequence[Called]) -> bool:
    """Return whether a query consists only of names and stop words."""
    spoken = {at for name in called for at in range(name.start, name.start + name.length)}
    left = [word for at, word in enumerate(query) if at not in spoken]
    return all(word in STOP_WORDS or word in META_WORDS for word in left)


def slot_asked(query: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the key of the slot that a query asks for; () if it asks for none.

    The query must consist of a known way to ask for the slot and `HOLLOW_WORDS`.

    >>> slot_asked("where do i live now".split()), slot_asked("where do i live in rome".split())
    (('user', 'home'), ())
    """
    known = _ways_to_ask()
    most = max(map(len, known))
    telling = [at for at, word in enumerate(query) if word not in HOLLOW_WORDS]
    first, last = (telling[0], telling[-1]) if telling else (len(query), -1)
    if last - first >= most:
        return ()
    for start in range(max(0, last + 1 - most), min(first, len(query) - 1) + 1):
        for end in range(min(start + most, len(query)), max(start, last), -1):
            if (key := known.get(tuple(query[start:end]))) is not None:
                return key
    return ()


@cache
def _ways_to_ask() -> dict[Phrase, Phrase]:
    """Return the known ways to ask for a slot, each with the words of its key."""
    table = tomllib.loads(_ASKED.read_text(encoding="utf-8"))
    return {tuple(terms(way)): tuple(terms(key)) for key, ways in table.items() for way in ways}


def _names(key: str | None, aliases: Sequence[str]) -> dict[Phrase, bool]:
    """Return the names of a memory, and whether each may have a typing error."""
    whole = [tuple(terms(name)) for name in (*([] if key is None else [key]), *aliases)]
    found = {phrase: True for phrase in whole if phrase}
    if key is not None and (last := tuple(terms(key.rsplit("/", 1)[-1]))):
        found.setdefault(last, len(last) > 1)
    return found


def one_edit(one: str, other: str) -> bool:
    """Return whether two words differ by one letter: added, removed, replaced, or two swapped.

    >>> one_edit("kubernets", "kubernetes"), one_edit("recieve", "receive"), one_edit("cat", "dog")
    (True, True, False)
    """
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1 or one == other:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1]
    return one[at + 1 :] == other[at + 1 :] or (swapped and one[at + 2 :] == other[at + 2 :])
