"""Memories that a query calls by their key or by an alias."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memento.text import content, terms

MIN_TYPO = 4
"""Shortest word, in letters, in which one typing error is forgiven."""
_ALIKE = 2  # first letters that a mistyped word keeps

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A name found in a query.

    Attributes:
        rows: Rows of the memories that bear it.
        length: Its words, >= 1.
        typos: Words of it that were forgiven a typing error, >= 0.
        start: Position of its first word in the query.
    """

    rows: tuple[int, ...]
    length: int
    typos: int
    start: int


class Names:
    """The keys and aliases of a namespace, found by whole words."""

    def __init__(self) -> None:
        self._rows: dict[Phrase, list[int]] = {}
        self._phrases: dict[int, tuple[Phrase, ...]] = {}
        self._spelt: dict[str, dict[str, int]] = {}
        self._longest = 0

    def put(self, row: int, key: str | None, aliases: Sequence[str]) -> None:
        """Give a row its names, in place of those it had.

        Args:
            row: Row in the roster.
            key: The slot it fills; named in full or by its last segment, or None.
            aliases: Other names, each named in full.
        """
        for phrase in self._phrases.pop(row, ()):
            self._rows[phrase] = [other for other in self._rows[phrase] if other != row]
            self._spell(phrase, -1)
        phrases = tuple(dict.fromkeys(_phrases(key, aliases)))
        for phrase in phrases:
            self._rows.setdefault(phrase, []).append(row)
            self._spell(phrase, +1)
            self._longest = max(self._longest, len(phrase))
        if phrases:
            self._phrases[row] = phrases

    def called(
        self, query: Sequence[str], shown: Callable[[int], bool] | None = None
    ) -> list[Called]:
        """Find the names that a query uses.

        Args:
            query: Its words in order, folded, stop words included.
            shown: Tells which rows may be found: a name that only others bear is no name here,
                lest a hidden memory stand in the way of one that is not. None for all.

        Returns:
            The longest names first at each word, exact spelling before a typing error; a word
            belongs to one name only.
        """
        if not self._rows:
            return []
        spellings = [tuple(self._spellings(word)) for word in query]
        found: list[Called] = []
        start = 0
        while start < len(query):
            best = next(self._at(spellings, start, shown), None)
            if best is not None:
                found.append(best)
            start += best.length if best else 1
        return found

    def _at(
        self,
        spellings: Sequence[Sequence[str]],
        start: int,
        shown: Callable[[int], bool] | None,
    ) -> Iterator[Called]:
        for length in range(min(self._longest, len(spellings) - start), 0, -1):
            matches = list(self._matching(spellings[start : start + length]))
            for typos, phrase in sorted(matches):
                bearers = self._rows.get(phrase, ())
                if rows := tuple(row for row in bearers if shown is None or shown(row)):
                    yield Called(rows, length, typos, start)

    def _matching(self, spellings: Sequence[Sequence[str]]) -> Iterator[tuple[int, Phrase]]:
        """Yield (typing errors, phrase) for each known phrase, at most one error in all."""
        exact = tuple(options[0] for options in spellings)
        if exact in self._rows:
            yield 0, exact
        for at, options in enumerate(spellings):
            for other in options[1:]:
                phrase = (*exact[:at], other, *exact[at + 1 :])
                if phrase in self._rows:
                    yield 1, phrase

    def _spellings(self, word: str) -> Iterator[str]:
        yield word
        if len(word) < MIN_TYPO or not word.isalpha() or content([word, ""]) == [""]:
            return
        known = self._spelt.get(word[:_ALIKE], {})
        if word not in known:
            yield from sorted(other for other in known if one_edit(word, other))

    def _spell(self, phrase: Phrase, count: int) -> None:
        for word in phrase:
            if len(word) >= MIN_TYPO and word.isalpha():
                known = self._spelt.setdefault(word[:_ALIKE], {})
                known[word] = known.get(word, 0) + count
                if not known[word]:
                    del known[word]


def _phrases(key: str | None, aliases: Sequence[str]) -> Iterator[Phrase]:
    spoken = [key, key.rsplit("/", 1)[-1]] if key is not None else []
    for name in [*spoken, *aliases]:
        if phrase := tuple(terms(name)):
            yield phrase


def one_edit(one: str, other: str) -> bool:
    """Tell whether two words differ by one letter more, less, other or swapped with the next.

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
