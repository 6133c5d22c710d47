"""Of two statements about the same thing, place the one first that tells of the change. Pure.

People rarely say that a new fact replaces an old one: "Ada plays the violin", and half a year later
"no more violin for Ada, she drums now". Both answer "what does Ada play?", and the older one often
fits the question better. The newer statement is placed first if it says that something changed and
the two are alike: in meaning, in a word of content, and in how well they fit the question. If the
question asks for a number or a time, another one of the same size tells of a change as well, and no
word must be shared, unless one of the two was used or judged: then verdicts decide.

Only memories outside of conversations are compared: in a conversation people speak about the same
thing again and again, and "now" rarely takes anything back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from memento.retrieve.by_meaning import Meaning
from memento.retrieve.candidates import Candidate, Said, in_places, promoted
from memento.retrieve.columns import Snapshot
from memento.text.amounts import Other, asked
from memento.text.tells_change import may_tell_change, tells_event_of_another
from memento.text.words import Cue, content, words
from memento.tiers.mapped import dots

_ALIKE = 0.35
"""Minimum cosine of two statements about the same thing that share a common word."""
_ALIKE_BY_NAME = 0.55
"""The same if they share nothing but names: people say many things about one person."""
_VERY_ALIKE = 0.55
"""Cosine from which two statements with a common word are nearly the same up to what changed."""
_NEAR, _FAR = 0.8, 0.6
"""Minimum share of the older one's score that the newer one has; less if they are very alike."""
_VALUES = 0.45
"""Minimum cosine of two statements with two values of the same size. With 0.4, and before `amounts`
looked for another thing in them, four first places of nine development lives were lost, with this
none."""
_FAR_VALUES = 0.48
"""Minimum share of the older one's score that such a newer one has."""
_AS_WELL = 0.85
"""Minimum share of the first one's score that an older note has, of whatever it speaks, to be
placed before it if the question asks for what held before."""
_DEPTH = 8
"""So many of the best candidates are compared with each other."""
_LOOKED_FOR = ("exact", "calendar", "said_date", "speaker")
"""Evidence that favours one of two statements by what the query asks for."""
Pairs = dict[int, dict[int, float]]
"""Row of a statement to the rows of newer ones about the same thing, each with the least share of
the older one's score that it must have."""


class Newer:
    """Compares the best candidates of one query, which may ask for a value if it is given."""

    def __init__(
        self,
        snap: Snapshot,
        meaning: Meaning,
        read: Callable[[Sequence[int]], Mapping[int, str]],
        question: str = "",
    ) -> None:
        self._snap, self._meaning, self._read = snap, meaning, read
        self._other = asked(question) if question else None

    def first(self, ranked: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
        """Place the newer of two statements first, and note in the older one that there is one."""
        best = list(ranked[:_DEPTH])
        told, valued = self._about_the_same(best, said)
        if not told and not valued:
            return list(ranked)
        pairs = {**valued, **told}
        noted = [
            replace(one, newer=max(pairs[one.row])) if one.row in pairs else one for one in best
        ]
        order = promoted(
            noted, told, lambda new, old: new.score >= _share(told, old, new) * old.score
        )
        order = promoted(  # after the surer kind
            order, valued, lambda new, old: new.score >= _share(valued, old, new) * old.score
        )
        return in_places(order, ranked)

    def last(self, ranked: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
        """Place the older of two statements first: the question asks for what held before."""
        best = list(ranked[:_DEPTH])
        told, _ = self._about_the_same(best, said)
        order = promoted(
            best,
            {row for newer in told.values() for row in newer},
            lambda old, new: old.score >= _share(told, old, new) * new.score,
        )
        if order[:1] == best[:1]:
            order = self._with_former_first(order, said)
        return in_places(order, ranked)

    def _with_former_first(
        self, best: Sequence[Candidate], said: Mapping[int, Said]
    ) -> list[Candidate]:
        """Move the best older note that fits as well before the first one.

        A former value is often told in quite other words than the present one, so nothing but
        their age tells which of the two is asked for.
        """
        notes = self._notes(best, said)
        if not notes or notes[0] is not best[0]:
            return list(best)
        newest = best[0]
        for one in notes[1:]:
            fits = one.score >= _AS_WELL * newest.score and one.row < newest.row
            if fits and self._follows(one, newest, forward=False):
                return [one, *(other for other in best if other is not one)]
        return list(best)

    def _about_the_same(
        self, best: Sequence[Candidate], said: Mapping[int, Said]
    ) -> tuple[Pairs, Pairs]:
        """Return the pairs whose newer one tells of a change, and those with another value."""
        possible = list(self._possible(best, said))
        if not possible:
            return {}, {}
        rows = sorted({row for older, newer, _ in possible for row in (older, newer)})
        vectors = dict(zip(rows, self._meaning.vectors(np.array(rows, np.intp)), strict=True))
        texts = self._read(rows)
        told: Pairs = {}
        valued: Pairs = {}
        for older, newer, shared in possible:
            cosine = float(dots(vectors[older][None, :], vectors[newer])[0])
            share = _least_share(cosine, shared, texts[newer], texts[older])
            if share is not None:
                (told if shared else valued).setdefault(older, {})[newer] = share
        return told, valued

    def _possible(
        self, best: Sequence[Candidate], said: Mapping[int, Said]
    ) -> Iterator[tuple[int, int, set[str]]]:
        """Yield older and newer row of pairs, and their common words; none for two values."""
        texts = self._read([one.row for one in best])
        telling = {one.row for one in best if may_tell_change(texts[one.row], said[one.row].words)}
        if not telling and self._other is None:  # nearly always, so it is searched for first
            return
        notes = self._notes(best, said)
        if self._other is not None:
            unchanged = [one for one in notes if one.row not in telling]
            yield from self._other_values(self._other, unchanged, notes, texts)
        changes = [one for one in notes if one.row in telling]
        subjects = {one.row: set(content(said[one.row].words)) for one in notes}
        for newer in changes:
            subject = subjects[newer.row]
            for older in notes:
                shared = subject & subjects[older.row] if older.row < newer.row else None
                if not shared or not self._follows(newer, older):
                    continue
                if not tells_event_of_another(said[newer.row].words, said[older.row].words):
                    yield older.row, newer.row, shared

    def _other_values(
        self,
        other: Other,
        first: Sequence[Candidate],
        notes: Sequence[Candidate],
        texts: Mapping[int, str],
    ) -> Iterator[tuple[int, int, set[str]]]:
        """Yield pairs that give two values of the same size; the older one tells of no change.

        Neither was used or judged: that tells more of a value than the moment at which it was said.
        """
        unjudged = [one for one in notes if not one.judged]
        for older in first:
            for newer in unjudged:
                later = older.row < newer.row and self._follows(newer, older) and not older.judged
                if later and other(texts[older.row], texts[newer.row]):
                    yield older.row, newer.row, set()

    def _notes(self, best: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
        """Keep heard statements of people outside of conversations."""
        snap, rows = self._snap, np.array([one.row for one in best], np.intp)
        assistant = (snap.cues[rows] & np.uint32(Cue.ASSISTANT)) != 0
        plain = snap.heard[rows] & (snap.session[rows] < 0) & ~assistant
        pairs = zip(best, plain.tolist(), strict=True)
        return [one for one, note in pairs if note and not one.question and said[one.row].words]

    def _follows(self, one: Candidate, other: Candidate, *, forward: bool = True) -> bool:
        """Tell whether one speaker said one after the other, and the query favours the other less.

        ``forward`` tells whether ``one`` came later, or else earlier.
        """
        happened = self._snap.occurred_at
        early, late = (other, one) if forward else (one, other)
        return (
            one.actor == other.actor
            and bool(happened[late.row] >= happened[early.row])
            and all(one.terms.get(name, 0) >= other.terms.get(name, 0) for name in _LOOKED_FOR)
        )


def _least_share(cosine: float, shared: set[str], newer: str, older: str) -> float | None:
    """Return the share of the older one's score that a newer one needs; None if not alike."""
    if not shared:
        return _FAR_VALUES if cosine >= _VALUES else None
    named = cosine >= _ALIKE and not _has_common(shared, newer, older)
    if cosine < (_ALIKE_BY_NAME if named else _ALIKE):
        return None
    return _FAR if cosine >= _VERY_ALIKE and not named else _NEAR


def _share(pairs: Pairs, older: Candidate, newer: Candidate) -> float:
    """Return the share of the other one's score that one of a pair needs; no pair has enough."""
    return pairs.get(older.row, {}).get(newer.row, math.inf)


def _has_common(shared: set[str], *texts: str) -> bool:
    """Return whether one of the shared words is written in lower case: it is not a name."""
    small = " ".join(token for text in texts for token in text.split() if token.islower())
    return not shared.isdisjoint(words(small))
