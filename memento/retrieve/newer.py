"""Of two statements about the same thing, place the newer one first. Pure.

People rarely say that a new fact replaces an old one: "Ada plays the violin", and half a year later
"no more violin for Ada, she drums now". Nothing here decides whether it does. Two statements of one
speaker are about the same thing if they are near in meaning and share a word of content; then the
older one names the newer one, and if both fit the question nearly as well, the newer one comes
first. The reader sees both, with their dates.

Only memories outside of conversations are compared: in a conversation people speak about the same
thing again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from memento.retrieve.by_meaning import Meaning
from memento.retrieve.candidates import Candidate, Said, in_places, promoted
from memento.retrieve.columns import Snapshot
from memento.text.words import Cue, content, words
from memento.tiers.mapped import dots

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
_DEPTH = 10
"""Number of best candidates that are compared with each other."""
_LOOKED_FOR = ("exact", "calendar", "said_date", "speaker", "form", "when", "digit")
"""Evidence that favours one of two statements by what the query asks for."""
Pairs = dict[tuple[int, int], float]
"""Rows of an older and a newer statement about the same thing, to the minimum share of the other's
score that one needs to be placed before it."""


class Newer:
    """Compares the best candidates of one query."""

    def __init__(
        self,
        snap: Snapshot,
        meaning: Meaning,
        read: Callable[[Sequence[int]], Mapping[int, str]],
    ) -> None:
        self._snap, self._meaning, self._read = snap, meaning, read

    def first(self, ranked: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
        """Place the newer of two statements first, and note in the older one that there is one."""
        best = list(ranked[:_DEPTH])
        pairs = dict(self._pairs(best, said))
        newest = dict(sorted(pairs))  # the newest of several
        noted = [replace(one, newer=newest[one.row]) if one.row in newest else one for one in best]
        order = promoted(
            noted, newest, lambda new, old: _fits(new, old, pairs.get((old.row, new.row)))
        )
        return in_places(order, ranked)

    def last(self, ranked: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
        """Place the older of two statements first, for a question about former values."""
        best = list(ranked[:_DEPTH])
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
        self, best: Sequence[Candidate], said: Mapping[int, Said]
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
        self, best: Sequence[Candidate], said: Mapping[int, Said]
    ) -> Iterator[tuple[tuple[int, int], float]]:
        """Yield the pairs of statements about the same thing."""
        notes = sorted(self._notes(best, said), key=lambda one: one.row)
        if not notes:
            return
        rows = [one.row for one in notes]
        texts = self._read(rows)
        subjects = [set(content(said[row].words)) for row in rows]
        common = [_common(texts[row]) for row in rows]
        cosines = self._cosines(rows)
        for at, newer in enumerate(notes):
            for before, older in enumerate(notes[:at]):
                cosine, shared = cosines[before][at], subjects[before] & subjects[at]
                if cosine < _ALIKE or not shared or not self._follows(newer, older):
                    continue
                named = shared.isdisjoint(common[before] | common[at])
                if not named or cosine >= _VERY_ALIKE:
                    alone = cosine >= _next_nearest(cosines, before, at) + _ALONE
                    judged = older.judged or newer.judged  # verdicts outweigh age
                    share = _share(cosine, named=named) if alone and not judged else inf
                    yield (older.row, newer.row), share

    def _cosines(self, rows: Sequence[int]) -> list[list[float]]:
        """Return the cosine of each two; that of one with itself is 0."""
        vectors = self._meaning.vectors(np.array(rows, np.intp))
        found = np.stack([dots(vectors, one) for one in vectors])
        np.fill_diagonal(found, 0)
        cosines: list[list[float]] = np.maximum(found, found.T).tolist()
        return cosines

    def _notes(self, best: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
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


def _next_nearest(cosines: Sequence[Sequence[float]], one: int, other: int) -> float:
    """Return the cosine of the memory that is next nearest to either of two."""
    rest = (at for at in range(len(cosines)) if at not in (one, other))
    return max((max(cosines[one][at], cosines[other][at]) for at in rest), default=0.0)


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
        and all(one.terms.get(name, 0) >= other.terms.get(name, 0) for name in _LOOKED_FOR)
    )


def _common(text: str) -> set[str]:
    """Return the words of a text that are written in lower case, so that they are no names."""
    return set(words(" ".join(filter(str.islower, text.split()))))
