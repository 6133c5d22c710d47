"""One question and what is needed to answer it, passed to every step of the read path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import MAXYEAR, MINYEAR, UTC, tzinfo
from functools import lru_cache

import numpy as np

from memento.base.clock import day_in, from_micros
from memento.config import RetrieveConfig
from memento.retrieve import by_time, question
from memento.retrieve.by_meaning import Meaning
from memento.retrieve.by_name import Called, slot_asked
from memento.retrieve.columns import KINDS, Floats, Mask, RosterView
from memento.retrieve.former_values import Changes, Heirs
from memento.retrieve.ledger_source import Texts, TextSource
from memento.retrieve.request import Request
from memento.retrieve.standings import Links, Quoted
from memento.retrieve.usage_boost import Life
from memento.text.words import HOLLOW_WORDS

Rerank = Callable[[str, Sequence[str]], Floats]
"""Scores texts by how well they answer a query, see `protocols.Reranker`."""
_TERMS = 32  # maximum number of words that are looked up, the first of a query
CHANCE = 0.16
"""Cosine below which a memory is no nearer to a question than an unrelated one: their mean plus a
standard deviation, see `judging.noise`. Memories meant by mistyped names of our set have 0.19 to
0.73.
"""
_MOST_OF_KIND = 200  # memories proposed for a question that only names a kind
_MAX_SPAN = 30  # years before and after now; a date without a year may be in any of them
_MOST_FAR = 30  # number of farther years with memories that are tried as well


class Look:
    """One question put to one namespace, and what every step of the read path needs of both.

    Args:
        request: The checked call.
        snap: The namespace.
        source: Its texts and postings.
        config: Settings.
        allowed: (snap.n,) rows that may be found, see `visible.allow`.
        meaning: The search by vector; None to search by words only. Former values will lend
            evidence to their heirs in it.
        zone: The time zone whose days the question means.
        former: (snap.n,) superseded rows that a question about the past may find as well.
        by_name: (snap.n,) archived rows that may be found if the question names them.
        rerank: Scores the texts of the best candidates: a finite number each, larger is better.
        life: What uses and verdicts add to the evidence.
        links: Finds the pairs that conflict or succeed each other.
        quoted: Finds what articles quote.

    Attributes:
        now: The moment asked about; relative dates are read from it.
        query: The question, parsed.
        mask: (snap.n,) all rows that may be found.
        texts: The texts that were read so far.
        empty: Whether nothing can be found; then there is none of what follows.
        heirs: The former values of the namespace.
        changes: The statements that a later one changed; none as of an earlier time.
        lenders: The memories that lend evidence to what replaced them.
        called: The names in the question; a mistyped one only for memories near in meaning. A
            question that only names a kind ("what are my preferences") or asks for a slot ("where
            do I live") names the newest memories of that kind, or what fills the slot.
        then: The memories of the time asked about.
    """

    def __init__(
        self,
        request: Request,
        snap: RosterView,
        source: TextSource,
        config: RetrieveConfig,
        allowed: Mask,
        meaning: Meaning | None = None,
        zone: tzinfo = UTC,
        *,
        former: Mask | None = None,
        by_name: Mask | None = None,
        rerank: Rerank | None = None,
        life: Life | None = None,
        links: Links | None = None,
        quoted: Quoted | None = None,
    ) -> None:
        self.request, self.snap, self.source, self.config = request, snap, source, config
        self.meaning = meaning
        self.rerank, self.life, self.links, self.quoted = rerank, life, links, quoted
        filters = request.filters
        self.now = from_micros(filters.now if filters.as_of is None else filters.as_of)
        self._zone = zone
        self.query = self._parsed()
        self.mask = self._visible(allowed, former, by_name)
        self.texts = Texts(snap, source)
        self.empty = not snap.n or request.k == 0 or not self.mask.any()
        if not self.empty:
            self._prepare()

    def _parsed(self, *, worded: bool = False) -> question.Query:
        today = day_in(self._zone, self.now)
        return question.parse(
            self.request.query,
            now=today,
            years=_years(self.snap.years, today.year),
            people=self.snap.people,
            max_terms=_TERMS,
            zone=self._zone,
            worded=worded,
        )

    def _visible(self, allowed: Mask, former: Mask | None, by_name: Mask | None) -> Mask:
        """Return all rows that may be found."""
        mask = allowed
        if self.query.former is not None and former is not None:
            mask = mask | former
        if by_name is not None and (named := self._names_in(by_name)):
            mask = mask.copy()
            mask[[row for one in named for row in one.rows]] = True
        return mask

    def _prepare(self) -> None:
        """Look up what replaced what, the names and the time that the question asks about."""
        self.heirs = Heirs.of(self.snap)
        shown = self.heirs.shown(self.mask)
        pairs = () if self.links is None else self.links.linked.successions
        self.changes = Changes.found(self.snap, self.mask, pairs)
        self.lenders = shown if self.query.former is not None else shown.joined(self.changes)
        if self.meaning is not None and len(self.lenders.former):
            self.meaning.lend(self.lenders)
        self.called = self._called()
        self.then = by_time.find(self.query, self.snap, self.source, self.mask, self.now)
        if self.query.only_time and self.then is not None and self.then.is_empty:
            # "Fridays", "2027" or "A-1234/5" may be words of a memory all the same
            self.query = self._parsed(worded=True)

    def _called(self) -> list[Called]:
        """Return the names in the question; see the attribute."""
        words = self.query.words
        named = [
            replace(one, rows=tuple(filter(self.may_be_meant, one.rows))) if one.typos else one
            for one in self._names_in(self.mask)
        ]
        if (key := slot_asked(words)) and self.request.match == "auto":
            whole = self._names_in(self.mask, key)
            named += [Called(one.rows, len(words)) for one in whole if one.length == len(key)]
        return [one for one in (*named, *self._of_kind()) if one.rows]

    def _of_kind(self) -> Iterator[Called]:
        """Yield the newest memories of a kind if the question names only that kind."""
        kind, words = self.query.kind, self.query.words
        if kind is None or self.request.match != "auto":
            return
        if HOLLOW_WORDS.issuperset(word for word in words if word.removesuffix("s") != kind):
            rows = np.flatnonzero(self.mask & (self.snap.kind == KINDS[kind]))[-_MOST_OF_KIND:]
            yield Called(tuple(rows.tolist()), len(words))

    def may_be_meant(self, row: int) -> bool:
        """Return whether a memory is nearer to the question than by chance, or has no vector."""
        if self.meaning is None:
            return True
        cosines = self.meaning.of(np.array([row], np.intp))
        return not cosines.known.all() or bool(cosines.best[0] >= CHANCE)

    def _names_in(self, mask: Mask, words: Sequence[str] | None = None) -> list[Called]:
        """Find names; those of rows that are not heard only if such rows are wanted."""
        if self.request.match == "text":
            return []
        unheard = self.snap.live < self.snap.n and bool((mask & ~self.snap.heard).any())
        return self.snap.names.called(
            self.query.words if words is None else words,
            lambda row: row < len(mask) and bool(mask[row]),
            unheard=unheard,
        )


@lru_cache(maxsize=16)  # the same from one query to the next
def _years(told: tuple[int, ...], now: int) -> tuple[int, ...]:
    """Return the years in which a date without a year may be.

    Within `_MAX_SPAN` of now these are all years from the first to the last one with memories; the
    present year is always included. Farther away they are the nearest years with memories. So one
    memory of the year 9999, which means "no end", does not make other years unreachable.
    """
    near = [now, *(year for year in told if abs(year - now) <= _MAX_SPAN)]
    far = sorted((year for year in told if abs(year - now) > _MAX_SPAN), key=lambda y: abs(y - now))
    every = {*range(min(near) - 1, max(near) + 2)}
    every.update(year + step for year in far[:_MOST_FAR] for step in (-1, 0, 1))
    return tuple(sorted(year for year in every if MINYEAR <= year <= MAXYEAR))
