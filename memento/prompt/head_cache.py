"""The heads that a session keeps: one for each scope, budget and form that was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from memento.ledger.rows import Row
from memento.prompt.policy_values import Conflict, Dropped
from memento.prompt.tail import Before
from memento.prompt.zones import Head


@dataclass(frozen=True, slots=True)
class Made:
    """A head with its tag.

    Attributes:
        text: The head.
        shown: The memories in it: row id, id, zone, text.
        known: Row ids of the memories it was made of.
        dropped: Those left out.
        conflicts: Those that cannot both be followed.
        over_budget: Whether locked rules alone are too long.
        fingerprint: Digest of the text.
        conditions: Row id to the condition of each memory in it.
    """

    text: str
    shown: tuple[tuple[int, str, int, str], ...]
    known: frozenset[int]
    dropped: tuple[Dropped, ...]
    conflicts: tuple[Conflict, ...]
    over_budget: bool
    fingerprint: str
    conditions: Mapping[int, str | None]

    def before(self) -> Before:
        """Return what it shows, to be compared."""
        return Before(
            self.known,
            {docid: (zone, text) for docid, _, zone, text in self.shown},
            frozenset(one.id for one in self.dropped if one.reason == "budget"),
            self.conditions,
        )


def of_head(head: Head, text: str, rows: Sequence[Row]) -> Made:
    """Return a head with its tag as it is kept."""
    return Made(
        text=text,
        shown=tuple((o.row.docid, o.row.id, o.zone, o.row.text) for o in head.shown),
        known=frozenset(row.docid for row in rows),
        dropped=head.dropped,
        conflicts=head.conflicts,
        over_budget=head.over_budget,
        fingerprint=_digest(text),
        conditions={one.row.docid: one.row.condition for one in head.shown},
    )


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


KEPT_HEADS = 4
"""Heads that a session keeps, each for another scope, budget or form."""


def spelt_heads(made: Made, fixed: Sequence[object], kept: str | None) -> str:
    """Write a head, and those that were kept for another scope, budget or form."""
    others = [one for one in _heads_in(kept) if one["for"] != [*fixed]]
    said = {
        "for": [*fixed],
        "text": made.text,
        "shown": made.shown,
        "conditions": [*made.conditions.items()],
        "known": sorted(made.known),
        "dropped": [(one.id, one.zone, one.reason) for one in made.dropped],
        "conflicts": [(o.winner, o.loser, o.key, o.reason) for o in made.conflicts],
        "over": made.over_budget,
    }
    return json.dumps([said, *others[: KEPT_HEADS - 1]], ensure_ascii=False)


def _heads_in(text: str | None) -> list[dict[str, Any]]:
    """Read the heads of a session."""
    found: list[dict[str, Any]] = [] if text is None else json.loads(text)
    return found


def read_head(text: str, fixed: Sequence[object]) -> Made | None:
    """Read a kept head; None if none was made for this scope, budget and form."""
    return next((made for known, made in _parsed(text) if known == [*fixed]), None)


@lru_cache(maxsize=64)
def _parsed(text: str) -> list[tuple[list[object], Made]]:
    """Read the kept heads, and for what each was made; the last ones stay in RAM."""
    return [(said["for"], _made_of(said)) for said in _heads_in(text)]


def _made_of(said: Mapping[str, Any]) -> Made:
    return Made(
        text=said["text"],
        shown=tuple((docid, id_, zone, words) for docid, id_, zone, words in said["shown"]),
        known=frozenset(said["known"]),
        dropped=tuple(Dropped(*one) for one in said["dropped"]),
        conflicts=tuple(Conflict(*one) for one in said["conflicts"]),
        over_budget=said["over"],
        fingerprint=_digest(said["text"]),
        conditions=dict(said.get("conditions", ())),
    )


def forget() -> None:
    """Let go of the heads in RAM."""
    _parsed.cache_clear()
