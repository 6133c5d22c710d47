"""Guess which scope a text belongs to: by its names and by the context."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memento.base.scopes import ancestors, contains, folded, resolved
from memento.ledger.scope_rows import Place, names_of

NAMED, CONTEXT = 0.9, 0.95
"""Confidence of a sign that points to one scope alone. Chosen, not measured: a name that a person
gave is a strong sign."""
SHORT = 0.6
"""Confidence of a name of one or two letters, which is a word of many languages."""
SHORTEST = 3
"""Minimum letters of a name that is not short."""


@dataclass(frozen=True, slots=True)
class Known:
    """A scope that a text may belong to.

    Attributes:
        path: The scope.
        names: Its names: last segment, title, aliases.
        defined: Whether somebody named it.
    """

    path: str
    names: tuple[str, ...]
    defined: bool


@dataclass(frozen=True, slots=True)
class Guess:
    """A scope with its confidence and the signs for it."""

    known: Known
    confidence: float
    why: tuple[str, ...]


def guesses(text: str, context: Mapping[str, str], scopes: Sequence[Known]) -> list[Guess]:
    """Rank the scopes that a text may belong to, best first; those without a sign are left out.

    Args:
        text: The text.
        context: The caller's description of the moment, such as a repository or a folder.
        scopes: The scopes there are.

    >>> web, api = Known("web", ("web",), True), Known("web/api", ("api",), True)
    >>> [(one.known.path, one.confidence) for one in guesses("the api", {}, [web, api])]
    [('web/api', 0.9)]
    """
    signs = {"named": _by_name(text, scopes), "context": _by_context(context, scopes)}
    found = []
    for one in scopes:
        shares = {why: share[one.path] for why, share in signs.items() if one.path in share}
        left = 1.0
        for share in shares.values():
            left *= 1 - share
        if shares:
            found.append(Guess(one, round(1 - left, 4), tuple(shares)))
    return sorted(
        found, key=lambda one: (-one.confidence, -one.known.path.count("/"), one.known.path)
    )


def _by_name(text: str, scopes: Iterable[Known]) -> dict[str, float]:
    spoken = f" {spelt(text)} "
    named = {
        one.path: NAMED if max(map(len, found)) >= SHORTEST else SHORT
        for one in scopes
        if (found := [name for name in _names(one) if f" {name} " in spoken])
    }
    return _shared_out(named)


def _by_context(context: Mapping[str, str], scopes: Iterable[Known]) -> dict[str, float]:
    """Weigh scopes whose name is a part of a path, an address or another value of the context."""
    parts = {spelt(part) for value in context.values() for part in re.split(r"[/\\:]", value)}
    parts |= {part.removesuffix(" git") for part in parts}
    named = {one.path: CONTEXT for one in scopes if not parts.isdisjoint(_names(one))}
    return _shared_out(named)


def _shared_out(named: Mapping[str, float]) -> dict[str, float]:
    """Divide the confidence among the innermost scopes that are named."""
    inner = {
        path: weight
        for path, weight in named.items()
        if not any(other != path and contains(path, other) for other in named)
    }
    return {path: weight / len(inner) for path, weight in inner.items()}


def _names(one: Known) -> Collection[str]:
    return {name for name in map(spelt, (one.path, *one.names)) if name}


def spelt(text: str) -> str:
    """Return the words of a text, folded, with one space between them.

    >>> spelt("The Front-End (v2)!")
    'the front end v2'
    """
    return folded(re.sub(r"[^\w]+", " ", text))


def known_scopes(places: Sequence[Place], tally: Mapping[str, int]) -> list[Known]:
    """Return the scopes that may be guessed: not those that were merged."""
    merges = {one.path: one.merged_into for one in places if one.merged_into is not None}
    parts: dict[str, list[Place]] = {}
    for one in places:
        parts.setdefault(resolved(one.path, merges), []).append(one)
    defined = {one.path for one in places}
    named = {  # by somebody: a merge alone also writes a row
        path
        for path, those in parts.items()
        if any(one.title or names_of(one) or one.created_at != one.merged_at for one in those)
    }
    found = []
    for path in sorted(named.union(*map(ancestors, tally))):
        if path and resolved(path, merges) == path:
            also = (name for one in parts.get(path, ()) for name in _names_of(one, path))
            called = (path.rpartition("/")[2], *filter(None, also))
            found.append(Known(path, called, path in defined))
    return found


def _names_of(place: Place, path: str) -> tuple[str, ...]:
    """Return the other names a row gives a scope: its own row, or that of a merged scope."""
    also = (place.title, *names_of(place))
    return also if place.path == path else (place.path, place.path.rpartition("/")[2], *also)


def named_scope(text: str, places: Sequence[Place], least: float) -> str:
    """Return the defined scope that a text names; ``""`` if it names none, or it is in doubt.

    Args:
        text: The text.
        places: The scopes that somebody named.
        least: Minimum confidence, [0, 1].
    """
    found = guesses(text, {}, known_scopes(places, {}))
    return found[0].known.path if found and found[0].confidence >= least else ""
