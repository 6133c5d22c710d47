"""Gather candidates from every search: words, meaning, time, names and exact text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memento.retrieve import by_time, by_words, evidence
from memento.retrieve import former_values as pasts
from memento.retrieve.by_name import Called
from memento.retrieve.columns import Rows, best_rows, distinct
from memento.retrieve.context import Look

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
    named, then = _exact(look) | _named(look, words), _then(look, words, arm)
    by_name = in_order(named, evidence.BY_NAME, 1.0)
    exact = in_order(named, 0.0, evidence.BY_NAME)
    found = {
        "text": best_rows(matching, words.score, arm),
        "meaning": _near(look, words, arm),
        "time": then,
        "name": by_name,
        "exact": exact,
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


def _named(look: Look, words: by_words.Lexical) -> dict[int, float]:
    """Value each memory that the query names, (0.5, 1]: more for long names and exact spelling.

    A match by one mistyped word, or by part of a key and no nearer than chance, is dropped if
    another memory has all other words of the query, as in "the adress of the jump host".
    """
    values: dict[int, float] = {}
    for name in look.called:
        value = 1 - _TYPO * name.typos - _TERSE / (1 + name.length)
        weak = {row for row in name.partly if not look.may_be_meant(row)}
        if name.typos and name.length == 1:
            weak |= {*name.rows}
        lost = weak if weak and _is_of_another(name, look, words) else ()
        for row in name.rows:
            if row not in lost:
                values[row] = max(values.get(row, 0.0), value)
    return values


def _is_of_another(name: Called, look: Look, words: by_words.Lexical) -> bool:
    """Return whether a memory has all words but the name, and no bearer of it has any of them."""
    spoken = look.query.words[name.start : name.start + name.length]
    rest = sum(1 << at for at, term in enumerate(look.query.terms) if term not in spoken)
    if not rest or look.request.match == "names":
        return False
    has = words.matched & np.uint32(rest)
    found = words.rows[look.mask[words.rows]]
    return not has[list(name.rows)].any() and bool((has[found] == rest).any())


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
