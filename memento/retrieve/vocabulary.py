"""The words of one namespace, to find those that a question writes differently. Thread-safe.

It holds the words of heard memories only, so that a word of a quarantined memory, or of another
namespace, never corrects a question.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from string import ascii_lowercase

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from memento.language.words import is_unspaced

LEAST = 4
"""Fewest letters of a word in which a typing error is looked for."""
_LONG = 8
"""Fewest letters of a word in which two typing errors, or a wrong first letter, are accepted."""
_CODE = re.compile(r"[a-z]{1,6}([0-9]+)", re.ASCII)
_NOT_KEPT, _NEW = -1, -2
_MOST_KNOWN = 10_000  # words that are not kept and yet known as such: numbers are endless
_WORD_BYTES, _ROW_BYTES = 220, 230  # measured with tracemalloc


class Vocabulary:
    """The words of heard memories, kept up to date memory by memory.

    Attributes:
        rev: Newest revision of the namespace that it knows; set by who follows the ledger.
        first: Row id of the oldest memory whose words it holds.
    """

    def __init__(self) -> None:
        self.rev, self.first = 0, 0
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._as_written: dict[str, int] = {}  # to the place of what is kept of it, or -1
        self._words: list[str] = []
        self._count = np.zeros(0, np.intp)  # memories that have each word
        self._rows: dict[int, array[int]] = {}
        self._shelves: dict[int, dict[str, dict[str, None]]] = defaultdict(dict)
        self._codes: dict[str, dict[str, None]] = {}

    @contextmanager
    def following(self) -> Iterator[None]:
        """Let one thread at a time bring it up to date."""
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
        finally:  # what was read before an error is counted as well
            self._count_in(fresh)

    def _places(self, words: Sequence[str]) -> set[int]:
        """Return the places of what is kept of some words."""
        known = self._as_written
        places = set(map(known.get, words, repeat(_NEW)))  # a third of what a loop costs
        if _NEW in places:
            places.remove(_NEW)
            places.update([self._learn(word) for word in words if word not in known])
        places.discard(_NOT_KEPT)
        return places

    def _count_in(self, fresh: list[array[int]]) -> None:
        """Count the words of rows that are new, and forget that they are."""
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
        """Tell whether a word is among them, with or without a plural "s"."""
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
            found = extract(word, known, scorer=OSA.distance, score_cutoff=most, limit=None)
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
    """Tell whether a word may be what another one means: a long enough one, or an identifier."""
    if word.isalpha():
        return len(word) >= LEAST and (word.isascii() or not is_unspaced(word))
    return _CODE.fullmatch(word) is not None


def _plain(word: str) -> str:
    """Drop a plural or possessive "s", as the index does; its other endings hide typing errors."""
    plural = len(word) > LEAST and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural else word
