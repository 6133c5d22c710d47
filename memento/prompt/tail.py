"""The tail of a policy: what changed, what holds for this message, what is open. Pure.

Also encodes the heads that a session keeps: one for each scope, budget and form requested.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memento.base.blocks import framed
from memento.ledger.rows import Row
from memento.prompt.policy_values import ZONES, Conflict, Dropped, Shown
from memento.prompt.rendering import escape
from memento.prompt.zones import ORDERS, Directive, Head, Line, zone_of
from memento.status import having
from memento.text.words import estimate
from memento.types import Status, Trust

KEPT_HEADS = 4
"""Maximum number of heads that a session keeps, for different scopes, budgets or forms."""


def spelt_heads(head: Head, fixed: Sequence[object], kept: str | None) -> str:
    """Encode a head as JSON, together with the kept ones for other scopes, budgets or forms."""
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
    """Return the kept head for this scope, budget and form; None if there is none."""
    return next((head for known, head in _parsed(text) if known == [*fixed]), None)


@lru_cache(maxsize=64)
def _parsed(text: str) -> list[tuple[list[object], Head]]:
    """Decode the kept heads, each with its scope, budget and form; cached."""
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
    """Clear the cache of decoded heads."""
    _parsed.cache_clear()


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the tail.

    Attributes:
        zone: The zone, 6 to 8, or 10.
        line: The line.
        shown: The memory that it shows; None for a step of a checkpoint, and for a withdrawal.
        takes_back: Whether it withdraws a line of the head.
    """

    zone: int
    line: str
    shown: Shown | None = None
    takes_back: bool = False


@dataclass(slots=True)
class Changes:
    """The differences to the head.

    Attributes:
        items: Lines of zone 6.
        overtaken: Whether the head must be compiled again at once: a memory in it was erased or
            lost its trust, or a locked rule changed.
    """

    items: list[Item] = field(default_factory=list)
    overtaken: bool = False


def changed(before: Head, now: Sequence[Directive], gone: Mapping[int, Row]) -> Changes:
    """Compare what the head of a session shows with what a new head would show.

    Args:
        before: The head.
        now: The memories that may be in a new head, one for each slot.
        gone: Present rows of memories that the head shows and that are not in ``now``, by row id;
            erased ones are absent.
    """
    found = Changes()
    shown = {line.docid: line for line in before.shown}
    left_out = {one.id for one in before.dropped if one.reason == "budget"}
    replaced: dict[str | None, list[str]] = {}
    for docid, past in gone.items():
        replaced.setdefault(past.superseded_by, []).append(shown[docid].text)
    for one in now:
        line = shown.get(one.row.docid)
        zone = None if line is None else line.zone
        new = one.row.docid not in before.known
        into_or_out_of_locked = zone != one.zone and 1 in (zone, one.zone)
        if into_or_out_of_locked or (zone in ORDERS and one.zone not in ORDERS):
            found.overtaken = True
        if new or (one.row.id not in left_out if line is None else _is_otherwise(line, one)):
            text = one.row.text if line is None else line.text
            was = replaced.pop(one.row.id, [] if text == one.row.text else [text])
            found.items.append(_new(one, was, "new" if new else "now"))
    present = {one.row.docid for one in now}
    for line in before.shown:
        if line.docid in present:
            continue
        row = gone.get(line.docid)
        if line.zone == 1 or row is None or _is_distrusted(row, line.zone):
            found.overtaken = True
        elif row.superseded_by is None or row.superseded_by in replaced:
            found.items.append(Item(6, f"- no longer: {escape(line.text)}", takes_back=True))
    return found


def _is_otherwise(line: Line, one: Directive) -> bool:
    """Return whether a memory's text or condition changed, or it became an instruction."""
    promoted = one.zone in ORDERS and line.zone not in ORDERS
    return promoted or (line.text, line.condition) != (one.row.text, one.row.condition)


def _is_distrusted(row: Row, zone: int) -> bool:
    """Return whether the head shows a memory with more trust than it has now."""
    if row.status == Status.QUARANTINED:
        return True
    if row.status == Status.FORGOTTEN and row.trust != Trust.USER:
        return True  # perhaps its source was forgotten
    return zone in ORDERS and row.status in having("found") and zone_of(row) not in ORDERS


def _new(one: Directive, was: Sequence[str], word: str) -> Item:
    row = one.row
    kind = "rule of the user" if one.zone in ORDERS else str(row.kind)
    before = f" (instead of: {'; '.join(map(escape, was))})" if was else ""
    line = f"- {word}, {kind}: {one.line(ids=False)[2:]}{before}"
    return Item(6, line, Shown(row.id, 6, row.text))


def in_force(found: Sequence[Directive], instead: Mapping[str, str]) -> list[Item]:
    """Return the lines for the rules whose condition holds.

    Args:
        found: The rules.
        instead: Id of a rule to the text of the rule that it replaces for this message.
    """
    return [
        Item(
            7,
            f"- {escape(one.row.text)}"
            + (f" (instead of: {escape(instead[one.row.id])})" if one.row.id in instead else ""),
            Shown(one.row.id, 7, one.row.text),
        )
        for one in found
    ]


def shared(found: Sequence[Directive], namespace: str) -> list[Item]:
    """Return the lines for memories that another namespace shares; even its rules are data.

    Args:
        found: The memories.
        namespace: Labels of that namespace, joined by ``/``.
    """
    whose = escape(namespace)
    return [
        Item(
            10,
            f"- {one.row.kind} of {whose}: {one.line(ids=False)[2:]}",
            Shown(one.row.id, 10, one.row.text),
        )
        for one in found
    ]


def render(items: Sequence[Item], tag: str, tokens: int) -> tuple[str, list[Item], list[Dropped]]:
    """Compose the tail, without recalled memories, from the lines that fit the budget.

    Withdrawals are taken first, then rules in force, other changes, open plans, and memories that
    others share.

    Returns:
        The block (``""`` if empty), the lines in it, in order, and the memories left out.
    """
    order = {7: 0, 6: 1, 8: 2, 10: 3}
    left = tokens - estimate(_framed(tag, []))
    chosen: list[int] = []
    dropped: list[Dropped] = []
    titled: set[int] = set()
    places = range(len(items))
    for at in sorted(places, key=lambda at: (not items[at].takes_back, order[items[at].zone])):
        one = items[at]
        price = estimate(f"{one.line}\n")
        price += 0 if one.zone in titled else estimate(f"## {ZONES[one.zone]}\n")
        if price > left:
            if one.shown is not None:
                dropped.append(Dropped(one.shown.id, one.zone, "budget"))
            continue
        left -= price
        titled.add(one.zone)
        chosen.append(at)
    kept = [items[at] for at in sorted(chosen, key=lambda at: (items[at].zone, at))]
    return (_framed(tag, kept) if kept else ""), kept, dropped


def _framed(tag: str, items: Sequence[Item]) -> str:
    lines: list[str] = []
    for zone in sorted({one.zone for one in items}):
        lines += [f"## {ZONES[zone]}", *(one.line for one in items if one.zone == zone)]
    return framed("policy-now", tag, lines)
