"""Gather candidates from every search: words, meaning, time, names and exact text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memento.retrieve import by_time, by_words, evidence
from memento.retrieve import former_values as pasts
from memento.retrieve.by_meaning import best_rows
from memento.retrieve.by_name import Called
from memento.retrieve.columns import Rows, distinct
from memento.retrieve.context import Look
from memento.retrieve.question import Query
from memento.text import words as spelling

_MAX_EXACT = 200  # rows whose text is read for one identifier or quoted phrase
_TYPO, _TERSE = 0.2, 0.2  # how much a typing error, and a short name, lower the value of a name


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Candidates, and which search proposed each of them.

    Attributes:
        rows: The candidates, ascending.
        arms: Search to the candidates that it proposed, each with its rank there.
        named: Candidate to how well the query names it, (0, 1].
        more: Whether one of the searches may have more candidates.
    """

    rows: Rows
    arms: Mapping[str, Mapping[int, int]]
    words: by_words.Lexical
    named: Mapping[int, float]
    more: bool


def gather(look: Look, arm: int, cap: int) -> Gathered:
    """Collect candidates from every search, reading at most ``cap`` rows for a word."""
    query, snap = look.query, look.snap
    reader = by_words.Reader.of(snap, look.source, look.mask, cap, min(arm, cap))
    postings = by_words.look_up(query, reader)
    words = by_words.bm25(query, postings, snap)
    words = pasts.words_of_heirs(words, look.lenders)
    matching = words.rows[look.mask[words.rows]]
    named = _exact(look) | _named(look.called)
    found = {
        "text": best_rows(matching, words.score, arm),
        "meaning": _near(look, words, arm),
        "time": _then(look, words, arm),
        "name": in_order(named, evidence.BY_NAME, 1.0),
        "exact": in_order(named, 0.0, evidence.BY_NAME),
    }
    if query.former is not None:
        so_far = distinct(np.concatenate(list(found.values())))
        found["slot"] = look.heirs.beside(so_far, look.mask, arm)[::-1]
    arms = {
        name: dict(zip(rows.tolist(), range(1, len(rows) + 1), strict=True))
        for name, rows in found.items()
    }
    more = max(len(found[arm]) for arm in ("text", "meaning", "time")) >= arm
    return Gathered(distinct(np.concatenate(list(found.values()))), arms, words, named, more)


def in_order(named: Mapping[int, float], above: float, upto: float) -> Rows:
    """Sort the rows whose value is in (above, upto], best first, the newest first among equals."""
    chosen = [row for row, value in named.items() if above < value <= upto]
    return np.array(sorted(chosen, key=lambda row: (-named[row], -row)), np.intp)


def asks_no_more(query: Query, called: Sequence[Called]) -> bool:
    """Return whether a query consists only of names and stop words."""
    spoken = {at for name in called for at in range(name.start, name.start + name.length)}
    left = [word for at, word in enumerate(query.words) if at not in spoken]
    return all(word in spelling.STOP_WORDS or word in spelling.META_WORDS for word in left)


def _then(look: Look, words: by_words.Lexical, arm: int) -> Rows:
    """Propose rows of the time that the query asks about."""
    if look.then is None:
        return np.zeros(0, np.intp)
    return by_time.propose(look.then, look.query, look.snap, words.score, look.meaning, arm)


def _near(look: Look, words: by_words.Lexical, arm: int) -> Rows:
    """Propose rows by vector that are above the noise or have at least one word of the query."""
    if look.meaning is None or look.query.only_time:
        return np.zeros(0, np.intp)
    near = look.meaning.propose(look.mask, arm)
    heard = look.meaning.of(near).best >= look.config.noise
    return near[heard | (words.cover[near] > 0)]


def _named(called: Sequence[Called]) -> dict[int, float]:
    """Value each memory that the query names, (0.5, 1]: more for long names and exact spelling."""
    values: dict[int, float] = {}
    for name in called:
        value = 1 - _TYPO * name.typos - _TERSE / (1 + name.length)
        for row in name.rows:
            values[row] = max(values.get(row, 0.0), value)
    return values


def _exact(look: Look) -> dict[int, float]:
    """Value each memory that holds an identifier or quoted phrase exactly, (0, 0.5]."""
    held: dict[int, int] = {}
    for wanted in look.query.exact:
        reader = by_words.Reader.of(look.snap, look.source, look.mask, _MAX_EXACT, _MAX_EXACT)
        (place,) = reader.read([wanted.match])
        rows = place.rows[look.mask[place.rows]][-_MAX_EXACT:]
        known = look.texts.read(rows.tolist())
        for row in rows.tolist():
            if wanted.held_by(known[row]):
                held[row] = held.get(row, 0) + 1
    return {row: evidence.BY_NAME * hits / len(look.query.exact) for row, hits in held.items()}
