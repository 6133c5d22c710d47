"""The heads that a session keeps: one for each scope, budget and form that was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from memento.prompt.policy_values import Conflict, Dropped
from memento.prompt.zones import Head, Line

KEPT_HEADS = 4
"""Heads that a session keeps, each for another scope, budget or form."""


def spelt_heads(head: Head, fixed: Sequence[object], kept: str | None) -> str:
    """Write a head, and those that were kept for another scope, budget or form."""
    others = [] if kept is None else [one for one in json.loads(kept) if one["for"] != [*fixed]]
    said = {
        "for": [*fixed],
        "text": head.text,
        "shown": head.shown,
        "known": sorted(head.known),
        "dropped": [(one.id, one.zone, one.reason) for one in head.dropped],
        "conflicts": [(o.winner, o.loser, o.key, o.reason) for o in head.conflicts],
        "over": head.over_budget,
    }
    return json.dumps([said, *others[: KEPT_HEADS - 1]], ensure_ascii=False)


def read_head(text: str, fixed: Sequence[object]) -> Head | None:
    """Read a kept head; None if none was made for this scope, budget and form."""
    return next((head for known, head in _parsed(text) if known == [*fixed]), None)


@lru_cache(maxsize=64)
def _parsed(text: str) -> list[tuple[list[object], Head]]:
    """Read the kept heads, and for what each was made; the last ones stay in RAM."""
    return [(said["for"], _head_of(said)) for said in json.loads(text)]


def _head_of(said: Mapping[str, Any]) -> Head:
    return Head(
        shown=tuple(Line(*one) for one in said["shown"]),
        dropped=tuple(Dropped(*one) for one in said["dropped"]),
        conflicts=tuple(Conflict(*one) for one in said["conflicts"]),
        over_budget=said["over"],
        known=frozenset(said["known"]),
        text=said["text"],
    )


def forget() -> None:
    """Let go of the heads in RAM."""
    _parsed.cache_clear()
