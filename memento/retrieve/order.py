"""Order candidates by score, then correct by rules the errors that the scores alone make. Pure.

`RULES` lists all that changes the order of a batch of candidates, in the order applied. After them,
memories that say the same become one hit, and a list question has its tail reordered.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memento.base.clock import to_micros
from memento.retrieve.by_meaning import Meaning
from memento.retrieve.columns import KINDS, RosterView, still_holding
from memento.retrieve.context import Look
from memento.retrieve.standings import Opposed, Quoted
from memento.text.alike import shared_start
from memento.text.gist import ending, gist
from memento.text.sentences import has_verb, holds_role
from memento.text.whose import Part, parts, shared
from memento.text.words import STOP_WORDS, Cue, content, without_ending, words
from memento.tiers.mapped import Floats, dots
from memento.types import Kind

T = TypeVar("T")

_SHORT = 400
"""Characters of a text up to which it is compared by its words; statements that differ only in
their object are short."""
_FRAME = 0.5  # share of common words in two statements that differ only in their object
_FRAME_WORDS = 2
_CHANGED, _MOST_CHANGED = 0.4, 8
"""Share of a statement's score that the one that changed it needs to be placed before it, and how
many best candidates are compared."""
_ONE_FORM = 0.75
"""Share of the words of content of the longer of two statements from which both have one form."""
_LOOKED_FOR = ("exact", "calendar", "said_date", "speaker", "form")
"""Evidence of which it needs at least as much."""
_ASKED = ("exact", "calendar", "said_date", "speaker", "when", "digit")  # what a query asks for
_ALIKE = 0.35
"""Minimum cosine of two statements about the same thing that share a common word."""
_MORE_ALIKE = 0.45
"""Cosine from which one may be placed before the other, if no other candidate is as near to either:
several notes on one topic do not replace each other. Of 862 questions to fourteen lives, 17 lost
their right first hit without this and the next limit, and one with them."""
_ALONE = 0.08
"""By how much the cosine of two must lead that of either with any other candidate: notes in one
form ("The pump was sold to Ruiz for 512 crowns") are all as near to each other as to a change.
Without it the newest of 15 such notes came before the one asked for in a quarter of the cases."""
_VERY_ALIKE = 0.55
"""Cosine from which two statements with a common word are nearly the same up to what changed; the
minimum if they share nothing but names, as people say many things about one person."""
_NEAR, _FAR = 0.75, 0.6
"""Minimum share of the older one's score that the newer one needs; less if very alike."""
_AS_WELL = 0.85
"""Minimum share of the first note's score that an older note on any topic needs to be placed before
it, if the question asks for a former value."""
_MOST_NEAR = 10
"""Number of best candidates that are compared with each other."""
_WANTED = ("exact", "calendar", "said_date", "speaker", "form", "when", "digit")
"""Evidence that favours one of two statements by what the query asks for."""
Pairs = dict[tuple[int, int], float]
"""Rows of an older and a newer statement about the same thing, to the minimum share of the other's
score that one needs to be placed before it."""
_MOST_OPPOSED = 16
"""Number of best candidates among which conflicts are looked for."""

Settled = Callable[[int, int], bool]
"""Returns whether a person settled a pair of rows or judged one: then age does not matter."""


@dataclass(slots=True)
class Candidate:
    """A memory that may become a hit. Nothing changes one; freezing each takes 2 µs more.

    Attributes:
        row: Its row in the roster.
        score: [0, 1].
        confidence: [0, 1].
        terms: Piece of evidence to its contribution; ``exact`` is the value of a match by
            name or by exact text, see `evidence.lift`.
        matched: Bit i is set if the memory itself has term i of the query, and that term is not
            the kind of thing asked for.
        actor: Code of the speaker, or -1.
        question: Whether it only asks, and so answers nothing.
        signs: Numbers that give the confidence; see `judging.Signs`.
        folded: Rows of near-identical memories that it stands for.
        newer: Row of a newer statement about the same thing, or -1.
        pull: Decides between equal scores; 0 if no use and no verdict moved any candidate.
        opposed: Rows of statements that conflict with it.
    """

    row: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    matched: int
    actor: int
    question: bool
    signs: Mapping[str, float] = field(default_factory=dict)
    folded: tuple[int, ...] = ()
    newer: int = -1
    pull: float = 0.0
    opposed: tuple[int, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a verdict on it contributes to its score."""
        return bool(self.terms.get("belief") or self.terms.get("worth"))


@dataclass
class Content:
    """The content of a candidate, for comparison with others.

    Attributes:
        text: Its text.
        words: Its words; empty for a long text, which is equal only to the same text.
        ending: Its last word, see `gist.ending`.
        gist: Its content, see `gist.gist`; None until it is needed. Equal gists say the same.
    """

    text: str
    words: tuple[str, ...]
    ending: str
    gist: str | None = None

    @cached_property
    def subject(self) -> frozenset[str]:
        """Its words of content."""
        return frozenset(content(self.words))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Its clauses, each with its words of content and whose it is."""
        return parts(self.text)

    @cached_property
    def uncapitalised(self) -> frozenset[str]:
        """Its words in lower case: what is not among them may be a name."""
        return frozenset(words(" ".join(filter(str.islower, self.text.split()))))


def said(texts: Mapping[int, str], rows: Sequence[int]) -> dict[int, Content]:
    """Return what some rows say."""
    split = {row: tuple(words(texts[row])) if len(texts[row]) <= _SHORT else () for row in rows}
    ends = {row: ending(texts[row]) for row in rows}
    return {row: Content(texts[row], split[row], ends[row]) for row in rows}


Rule = Callable[[Sequence[Candidate], Mapping[int, Content]], list[Candidate]]
"""Changes the order of candidates, best first, by what they say; the scores stay with the places.
"""


def promoted(
    ranked: Sequence[Candidate],
    may_yield: Collection[int],
    goes_first: Callable[[Candidate, Candidate], bool],
    *,
    noted: bool = False,
    newest: bool = True,
) -> list[Candidate]:
    """Move lower candidates to the places of those that should come after them.

    Args:
        ranked: Candidates, best first.
        may_yield: Rows that may lose their place to another one.
        goes_first: Called with a candidate and a better placed one that may yield; whether the
            candidate takes its place.
        noted: Whether the one that yields names the other one as ``newer``.
        newest: Whether the newest of several moves, rather than the best.

    Returns:
        The candidates with their own scores, see `in_places`.
    """
    order = list(ranked)
    for at in range(len(order)):
        better = order[at]
        if better.row not in may_yield:
            continue
        rivals = [n for n in range(at + 1, len(order)) if goes_first(order[n], better)]
        if rivals:
            chosen = max(rivals, key=lambda n: order[n].row) if newest else rivals[0]
            order.insert(at, order.pop(chosen))
            if noted:
                order[at + 1] = replace(better, newer=order[at].row)
    return order


def in_places(moved: Sequence[Candidate], ranked: Sequence[Candidate]) -> list[Candidate]:
    """Give the first candidates, in their new order, the scores of their new places."""
    placed = [
        one if one.score == place.score else replace(one, score=place.score)
        for one, place in zip(moved, ranked, strict=False)
    ]
    return placed + list(ranked[len(moved) :])


class Answer:
    """The candidates in the answer, best first. New ones are appended; places never change."""

    def __init__(self, look: Look) -> None:
        self.hits: list[Candidate] = []
        self._look = look
        self._rules = [rule for *_, of in RULES if (rule := of(look)) is not None]
        self._said: dict[int, Content] = {}

    def take(self, best: Sequence[Candidate], said: Mapping[int, Content]) -> None:
        """Add the next best candidates after all others."""
        self._said |= said
        ready = by_score(best)
        for rule in self._rules:
            ready = rule(ready, self._said)
        self.hits += ready
        if self._look.request.fold:
            self.hits = fold(self.hits, self._said)


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort by score, then by what uses and verdicts add; among equals the newest first."""
    return sorted(candidates, key=lambda one: (-one.score, -one.pull, -one.row))


def newest_first(
    ranked: Sequence[Candidate], said: Mapping[int, Content], settled: Settled | None = None
) -> list[Candidate]:
    """If two statements differ only in their object, give the newer one the higher place.

    This applies only if the same participant said both and nothing in the query favours the older
    one: the newer has every word of the query, every date and every identifier that the older has.
    The kind of thing asked for ("which editor ...") does not matter here: the newer statement often
    names the new thing without it. Verdicts on either decide instead, if there are any.
    """
    framed = _framed(ranked, said)
    if not framed:
        return list(ranked)

    def goes_first(newer: Candidate, older: Candidate) -> bool:
        near = newer.row >= older.row and newer.row in framed and _replaces(newer, older, said)
        return near and not (settled is not None and settled(newer.row, older.row))

    return in_places(promoted(ranked, framed, goes_first, noted=True), ranked)


def fold(ranked: Sequence[Candidate], said: Mapping[int, Content]) -> list[Candidate]:
    """Merge candidates that say the same into the one with the best place, see `gist`."""
    kept: dict[tuple[int, str, str | None], Candidate] = {}
    ends = [(one.actor, said[one.row].ending) for one in ranked]
    shared = _repeated(ends)
    if not shared:
        return list(ranked)
    alike = [said[one.row] for one, end in zip(ranked, ends, strict=True) if end in shared]
    unread = [one for one in alike if one.gist is None]  # a gist costs more than an ending
    gists = [gist(one.text) if len(one.text) <= _SHORT else one.text for one in unread]
    for one_said, its_gist in zip(unread, gists, strict=True):
        one_said.gist = its_gist
    for one, end in zip(ranked, ends, strict=True):
        key = (*end, said[one.row].gist if end in shared else None)
        if key in kept:
            stands = kept[key]
            kept[key] = replace(stands, folded=(*stands.folded, one.row))
        else:
            kept[key] = one
    return list(kept.values())


def _replaces(newer: Candidate, older: Candidate, said: Mapping[int, Content]) -> bool:
    before, after = said[older.row].words, said[newer.row].words
    if before[0] != after[0] and before[-1] != after[-1]:
        return False  # nearly always, so this comes first
    if newer.actor != older.actor or older.matched & ~newer.matched:
        return False
    if newer.judged or older.judged or not _same_frame(before, after):
        return False
    return all(newer.terms.get(name, 0) >= older.terms.get(name, 0) for name in _ASKED)


def _framed(ranked: Sequence[Candidate], said: Mapping[int, Content]) -> set[int]:
    """Return the rows of statements that share their first or last word with another one."""
    spoken = [(one.row, said[one.row].words) for one in ranked if not one.question]
    spoken = [(row, says) for row, says in spoken if says]
    first = _repeated([says[0] for _, says in spoken])
    last = _repeated([says[-1] for _, says in spoken])
    return {row for row, says in spoken if says[0] in first or says[-1] in last}


def _repeated(values: Sequence[T]) -> set[T]:
    """Return the values that occur more than once; a Counter costs four times as much."""
    seen: set[T] = set()
    again: set[T] = set()
    for value in values:
        (again if value in seen else seen).add(value)
    return again


def _same_frame(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two statements are the same up to one span of words, and that is their object.

    Both have words.

    A span with a verb, or before the verb, is no object: the statements are about different things.
    Exception: the holder of a role that one holds at a time ("... is the CEO of Juniper").
    """
    longest, shortest = max(len(one), len(other)), min(len(one), len(other))
    start = shared_start(one, other)
    end = min(shared_start(one[::-1], other[::-1]), shortest - start)
    if start + end < max(_FRAME_WORDS, math.ceil(longest * _FRAME)):
        return False
    spans = (one[start : len(one) - end], other[start : len(other) - end])
    after = one[len(one) - end :]
    if start == 0:
        return holds_role(after)
    if any(map(has_verb, spans)):
        return False
    return has_verb(one[:start]) or not has_verb(after)


class Newer:
    """Of two statements about the same thing, places the newer one first.

    People rarely say that a new fact replaces an old one: "Ada plays the violin", and half a year
    later "no more violin for Ada, she drums now". Nothing here decides whether it does. Two
    statements of one speaker are about the same thing if they are near in meaning and share a word
    of content about the same person, see ``whose``; then the older one names the newer one, and if
    both fit the question nearly as well, the newer one comes first. The reader sees both, with
    their dates.

    Only memories outside of conversations are compared: in a conversation people speak about the
    same thing again and again.
    """

    def __init__(self, snap: RosterView, meaning: Meaning) -> None:
        self._snap, self._meaning = snap, meaning

    def first(self, ranked: Sequence[Candidate], said: Mapping[int, Content]) -> list[Candidate]:
        """Place the newer of two statements first, and note in the older one that there is one."""
        best = list(ranked[:_MOST_NEAR])
        pairs = dict(self._pairs(best, said))
        newest = dict(sorted(pairs))  # the newest of several
        noted = [replace(one, newer=newest[one.row]) if one.row in newest else one for one in best]
        order = promoted(
            noted, newest, lambda new, old: _fits(new, old, pairs.get((old.row, new.row)))
        )
        return in_places(order, ranked)

    def last(self, ranked: Sequence[Candidate], said: Mapping[int, Content]) -> list[Candidate]:
        """Place the older of two statements first, for a question about former values."""
        best = list(ranked[:_MOST_NEAR])
        pairs = dict(self._pairs(best, said))
        order = promoted(
            best,
            {newer for _, newer in pairs},
            lambda old, new: _fits(old, new, pairs.get((old.row, new.row))),
        )
        if order[:1] == best[:1]:
            order = self._with_former_first(order, said)
        return in_places(order, ranked)

    def _with_former_first(
        self, best: Sequence[Candidate], said: Mapping[int, Content]
    ) -> list[Candidate]:
        """If the first note is new, put the best older one that fits as well before it.

        A former value is often worded quite differently from the present one, so only their age
        tells which one is asked for.
        """
        notes = self._notes(best, said)
        if not notes or notes[0] is not best[0]:
            return list(best)
        newest = best[0]
        for one in notes[1:]:
            older = one.row < newest.row and self._follows(newest, one)
            if older and _fits(one, newest, _AS_WELL):
                return [one, *(other for other in best if other is not one)]
        return list(best)

    def _pairs(
        self, best: Sequence[Candidate], said: Mapping[int, Content]
    ) -> Iterator[tuple[tuple[int, int], float]]:
        """Yield the pairs of statements about the same thing, by the row of the newer one."""
        notes = sorted(self._notes(best, said), key=lambda one: one.row)
        if not notes:
            return
        cosines = self._cosines([one.row for one in notes])
        next_nearest = _next_nearest(cosines)
        for at, before in np.argwhere(np.tril(cosines >= _ALIKE, -1)).tolist():
            older, newer = notes[before], notes[at]
            one, other = said[older.row], said[newer.row]
            if one.subject.isdisjoint(other.subject) or not self._follows(newer, older):
                continue
            both = shared(other.parts, one.parts)
            if not both or _is_of_another(newer, older, said):
                continue
            cosine = float(cosines[before, at])
            named = both.isdisjoint(one.uncapitalised | other.uncapitalised)
            if not named or cosine >= _VERY_ALIKE:
                alone = cosine >= next_nearest[before, at] + _ALONE
                judged = older.judged or newer.judged  # verdicts outweigh age
                share = _share(cosine, named=named) if alone and not judged else inf
                yield (older.row, newer.row), share

    def _cosines(self, rows: Sequence[int]) -> Floats:
        """Return the cosine of each two, (n, n); that of one with itself is 0."""
        vectors = self._meaning.vectors(np.array(rows, np.intp))
        found = np.stack([dots(vectors, one) for one in vectors])
        np.fill_diagonal(found, 0)
        return np.maximum(found, found.T)

    def _notes(self, best: Sequence[Candidate], said: Mapping[int, Content]) -> list[Candidate]:
        """Keep heard statements of people outside of conversations."""
        snap, rows = self._snap, np.array([one.row for one in best], np.intp)
        assistant = (snap.cues[rows] & np.uint32(Cue.ASSISTANT)) != 0
        plain = snap.heard[rows] & (snap.session[rows] < 0) & ~assistant
        pairs = zip(best, plain.tolist(), strict=True)
        return [one for one, note in pairs if note and not one.question and said[one.row].words]

    def _follows(self, newer: Candidate, older: Candidate) -> bool:
        """Return whether both have one speaker and the first was said no earlier."""
        happened = self._snap.occurred_at
        return newer.actor == older.actor and bool(happened[newer.row] >= happened[older.row])


def _is_of_another(newer: Candidate, older: Candidate, said: Mapping[int, Content]) -> bool:
    """Return whether the newer of two statements of one form is not about what the query names.

    "The key to the darkroom hangs by the fuse box" is no news of the key to the boathouse. Of
    statements in different words this cannot be told: a change rarely repeats what it changes.
    """
    if not older.matched & ~newer.matched:
        return False
    one, other = said[newer.row].subject, said[older.row].subject
    return len(one & other) >= _ONE_FORM * max(1, len(one), len(other))


def _next_nearest(cosines: Floats) -> Floats:
    """Return for each two the cosine of the memory that is next nearest to either, >= 0, (n, n).

    Args:
        cosines: The cosine of each two, (n, n); 0 on the diagonal.

    >>> np.round(_next_nearest(np.array([[0, 0.9, 0.2], [0.9, 0, 0.4], [0.2, 0.4, 0]])), 1)[0, 1]
    np.float64(0.4)
    """
    if len(cosines) == 1:
        return np.zeros_like(cosines)
    second, first = np.sort(cosines, axis=1)[:, -2:].T[:, :, None]
    beside = np.where(cosines == first, second, first)  # the nearest of a row but for this column
    nearest: Floats = np.maximum(beside, beside.T)
    return nearest


def _share(cosine: float, *, named: bool) -> float:
    """Return the share of the other statement's score that a statement needs to go before it."""
    if cosine < _MORE_ALIKE:
        return inf
    return _FAR if cosine >= _VERY_ALIKE and not named else _NEAR


def _fits(one: Candidate, other: Candidate, share: float | None) -> bool:
    """Return whether one may be placed before another: it fits the question nearly as well."""
    return (
        share is not None
        and one.score >= share * other.score
        and all(one.terms.get(name, 0) >= other.terms.get(name, 0) for name in _WANTED)
    )


class Standings:
    """Orders conflicting candidates of one query."""

    def __init__(self, snap: RosterView, opposed: Opposed) -> None:
        self._snap, self._opposed = snap, opposed

    def first(self, ranked: Sequence[Candidate], _said: Mapping[int, Content]) -> list[Candidate]:
        """Give the higher one of each pair the better place; note each in the other."""
        best = list(ranked[:_MOST_OPPOSED])
        if not best[1:]:
            return list(ranked)
        docids = self._snap.docid[[one.row for one in best]].tolist()
        rows = dict(zip(docids, [one.row for one in best], strict=True))
        pairs = [(rows[higher], rows[lower]) for higher, lower in self._opposed(sorted(rows))]
        if not pairs:
            return list(ranked)
        above = set(pairs)
        placed = promoted(
            [_noted(one, pairs) for one in best],
            {lower for _, lower in pairs},
            lambda higher, lower: (higher.row, lower.row) in above,
            newest=False,
        )
        return in_places(placed, ranked)


def _noted(one: Candidate, pairs: Sequence[tuple[int, int]]) -> Candidate:
    """Add to a candidate the rows that it conflicts with."""
    others = [b if a == one.row else a for a, b in pairs if one.row in (a, b)]
    return replace(one, opposed=tuple(sorted({*one.opposed, *others}))) if others else one


_ARTICLE = KINDS[Kind.ARTICLE]


class Quotes:
    """Keeps articles and their sources apart, for one query.

    ``leads`` tells whether an article comes before its sources.
    """

    def __init__(self, snap: RosterView, quoted: Quoted, *, leads: bool) -> None:
        self._snap, self._quoted, self._leads = snap, quoted, leads
        self._above: set[int] = set()
        self._gone: set[int] = set()

    def first(self, ranked: Sequence[Candidate], _said: Mapping[int, Content]) -> list[Candidate]:
        """Leave out the sources of articles that stand for them, and the other articles."""
        sources = self._sources([one.row for one in ranked])
        kept = list(ranked)
        if sources or self._gone:
            kept = self._placed({one.row: one for one in ranked}, sources)
        self._above.update(one.row for one in kept)
        return kept

    def _placed(
        self, ranked: Mapping[int, Candidate], sources: Mapping[int, set[int]]
    ) -> list[Candidate]:
        """Put each article that stands for its sources into the best of their places."""
        stands = self._chosen(ranked, sources)
        leader = {row: article for article, mine in stands.items() for row in (article, *mine)}
        kept: dict[int, Candidate] = {}
        for row, one in ranked.items():
            article = leader.get(row)
            if article is None:
                if row not in sources and row not in self._gone:
                    kept[row] = one
            elif article not in kept:
                kept[article] = _standing_for(ranked, article, stands[article], one)
        return list(kept.values())

    def _chosen(
        self, there: Collection[int], sources: Mapping[int, set[int]]
    ) -> dict[int, set[int]]:
        """Choose the articles that stand for their sources."""
        rivals = self._above if self._leads else self._above.union(there)
        stands: dict[int, set[int]] = {}
        for article, mine in sources.items():
            if mine.isdisjoint(rivals) and mine.isdisjoint(self._gone):
                stands[article] = mine
                self._gone |= mine
        return stands

    def _sources(self, rows: Sequence[int]) -> dict[int, set[int]]:
        """Return for each row of an article the rows of its sources."""
        kinds = self._snap.kind[rows].tolist() if rows else ()
        articles = [row for row, kind in zip(rows, kinds, strict=True) if kind == _ARTICLE]
        if not articles:
            return {}
        docids = [int(self._snap.docid[row]) for row in articles]
        found: dict[int, set[int]] = {}
        for src, dst in self._quoted(docids):
            at, source = (self._snap.rows_of(np.array([one], np.int64)) for one in (src, dst))
            if len(at) and len(source):
                found.setdefault(int(at[0]), set()).add(int(source[0]))
        return found


def _standing_for(
    ranked: Mapping[int, Candidate], article: int, sources: set[int], best: Candidate
) -> Candidate:
    """Return an article with the score and at least the confidence of its best source."""
    one = ranked[article]
    surer = max((one, best), key=lambda candidate: candidate.confidence)
    return replace(
        one,
        score=best.score,
        confidence=surer.confidence,
        signs=surer.signs,
        folded=(*one.folded, *sorted(sources.intersection(ranked))),
    )


HEAD = 10
"""Hits that keep their places."""
POOL = 200
"""Candidates among which the tail is ordered; those after them keep their places."""
MOST_ROWS = 20
"""Maximum number of candidates that have a rare word."""
WEIGHT = 0.8
"""Weight of the walk beside the score, both relative to their largest value."""
_RESTART = 0.5
_STEPS = 2
_LETTERS = 4  # fewest letters of a word
_SAME_SPEAKER = 1.5  # weight of a link between texts of one speaker
_CHARACTERS = 2_000  # characters of a text that are read
_LEAST = 1e-12  # instead of a division by zero

Table = NDArray[np.float64]


def reorder(ranked: Sequence[Candidate], texts: Mapping[int, str]) -> list[Candidate]:
    """Return candidates with the tail reordered by score and shared rare words.

    The scores stay with the places, so that they do not increase along the answer.
    """
    pool = ranked[:POOL]
    if len(pool) <= HEAD + 1:
        return list(ranked)
    head, tail = pool[:HEAD], pool[HEAD:]
    speakers = np.array([one.actor for one in pool])
    links = _shared([texts[one.row] for one in pool])
    links *= np.where(speakers[:, None] == speakers, _SAME_SPEAKER, 1.0)
    reached = _walk(links / np.maximum(links.sum(axis=1, keepdims=True), _LEAST))[HEAD:]
    scores = np.array([one.score for one in tail])
    gain = scores / max(pool[0].score, _LEAST) + WEIGHT * reached / max(reached.max(), _LEAST)
    places = np.argsort(-gain, kind="stable").tolist()  # equal ones keep their order
    return in_places([*head, *(tail[at] for at in places)], ranked)


def _shared(texts: Sequence[str]) -> Table:
    """Return how strongly rare words lead from each text to each other one, (n, n)."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        said = {without_ending(one) for one in words(text[:_CHARACTERS]) if one not in STOP_WORDS}
        for stem in said:
            if len(stem) >= _LETTERS:
                rows[stem].append(row)
    rare = [found for found in rows.values() if 1 < len(found) <= MOST_ROWS]
    has = np.zeros((len(texts), len(rare)))
    for column, found in enumerate(rare):
        has[found, column] = 1.0
    count = has.sum(axis=0)
    links: Table = (has / (count * (count - 1))) @ has.T
    np.fill_diagonal(links, 0.0)
    return links


def _walk(links: Table) -> Table:
    """Return how often a walk from the head is at each text, (n,)."""
    start = np.zeros(len(links))
    start[:HEAD] = 1.0 / np.arange(1, HEAD + 1)
    start /= start.sum()
    walk = start
    for _ in range(_STEPS):
        walk = (1 - _RESTART) * (walk @ links) + _RESTART * start
    return walk


def _quotes(look: Look) -> Rule | None:
    if look.quoted is None or not look.request.fold:
        return None
    return Quotes(look.snap, look.quoted, leads=look.query.wants_several).first


def _newest(look: Look) -> Rule | None:
    if look.query.only_time or look.query.former is not None:
        return None
    if look.links is None:
        return newest_first
    docid, known = look.snap.docid, look.links.known
    return partial(newest_first, settled=lambda a, b: known(int(docid[a]), int(docid[b])))


def _newer(look: Look) -> Rule | None:
    query = look.query
    if look.meaning is None or query.only_time:
        return None
    changes = Newer(look.snap, look.meaning)
    return changes.first if query.former is None else changes.last


def _changed(look: Look) -> Rule | None:
    changes, query = look.changes, look.query
    if not len(changes.former) or query.only_time:
        return None
    pairs = set(zip(changes.former.tolist(), changes.heir.tolist(), strict=True))
    past = query.former is not None
    if past:  # the older one is asked for
        pairs = {(newer, older) for older, newer in pairs}

    def goes_first(wanted: Candidate, other: Candidate) -> bool:
        if wanted.judged or other.judged:  # verdicts outweigh what a model reads
            return False
        near = (other.row, wanted.row) in pairs and wanted.score >= _CHANGED * other.score
        return near and all(
            wanted.terms.get(name, 0) >= other.terms.get(name, 0) for name in _LOOKED_FOR
        )

    def first(ranked: Sequence[Candidate], said: Mapping[int, Content]) -> list[Candidate]:
        may_yield = {row for row, _ in pairs}
        best = promoted(
            ranked[:_MOST_CHANGED],
            may_yield,
            lambda one, other: goes_first(one, other) and not _is_of_another(one, other, said),
            noted=not past,
        )
        return in_places(best, ranked)

    return first


def _conflicts(look: Look) -> Rule | None:
    query, links = look.query, look.links
    if links is None or not links.linked.any_flagged or query.only_time or query.former is not None:
        return None
    return Standings(look.snap, links.opposed).first


def _until_a_plan(look: Look) -> Rule | None:
    snap, some = look.snap, look.snap.succeeded
    if not len(some) or look.query.only_time:
        return None
    holds = still_holding(snap, some, to_micros(look.now))
    pairs = {
        (row, planned)
        for row in some[holds & look.mask[some]].tolist()
        for planned in snap.rows_of(snap.successor[[row]]).tolist()
    }
    if not pairs:
        return None

    def goes_first(present: Candidate, plan: Candidate) -> bool:
        return (present.row, plan.row) in pairs and all(
            present.terms.get(name, 0) >= plan.terms.get(name, 0) for name in _LOOKED_FOR
        )

    def first(ranked: Sequence[Candidate], _said: Mapping[int, Content]) -> list[Candidate]:
        return in_places(promoted(ranked, {plan for _, plan in pairs}, goes_first), ranked)

    return first


RULES: tuple[tuple[str, str, Callable[[Look], Rule | None]], ...] = (
    ("an article stands for what it quotes", "shows nothing twice; finds no more", _quotes),
    (
        "of two statements that differ in their object, the newer one first",
        "own.py: of 200 corrections 191 are first",
        _newest,
    ),
    (
        "of two statements about the same thing the newer one first, or the older for the past",
        "changes.py: 109 of 177 changes are seen, by the rules before it 38",
        _newer,
    ),
    (
        "what the reader of changes noted to change an earlier statement first",
        "changes.py --pairs: of 151 changes the newer one is first for 98, before it for 43",
        _changed,
    ),
    (
        "of two that conflict, the one that stands higher first",
        "changes.py: 109 either way; it keeps what was doubted from leading",
        _conflicts,
    ),
    (
        "a value that still holds before the planned one that will replace it",
        "today's value answers a question about today",
        _until_a_plan,
    ),
)
"""The rules for the order of candidates: what each does, its measured gain, and a function that
returns it for a question, or None if it does not apply."""
