"""The head of a policy: which memories it shows, in which zones and order. Pure.

Zones 1 to 3 are the only stored text that is presented as instructions. They hold active rules of
the user and nothing else. Each memory is one escaped line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

from memento.base.blocks import DIGITS, LATER, framed
from memento.base.clock import from_micros
from memento.ledger.rows import PINNED, USER, Row
from memento.prompt import conditions
from memento.prompt.policy_values import ZONES, Conflict, Dropped
from memento.prompt.rendering import escape
from memento.text.words import content, estimate, without_ending, words
from memento.types import Kind, Trust

HEAD = (1, 2, 3, 4, 5)
ORDERS = (1, 2, 3)
"""Zones that are instructions."""
_DROPPED_FIRST = {5: 0, 4: 1, 3: 2, 2: 3}
"""Order in which zones lose memories if the budget is short; zone 1 loses none."""
_FEW = 3
"""Maximum number of lines that have a word by which they are about the same thing."""
_ORDERING = frozenset(("always", "never", "use", "keep", "make", "sure", "remember", "avoid"))
"""Words of instructions that do not say what they are about."""


@dataclass(frozen=True, slots=True)
class Directive:
    """A memory placed in the head.

    Attributes:
        row: The memory.
        zone: The zone, 1 to 5.
        disagrees: Row id of the next memory if the two contradict each other, else None.
        dated: Whether its line shows its date, because another line may be about the same.
        named: Whether its line names the user, because the memories are of several.
    """

    row: Row
    zone: int
    disagrees: int | None = None
    dated: bool = False
    named: bool = False

    @property
    def locked(self) -> bool:
        """Whether the user locked it."""
        return bool(self.row.pinned & USER)

    def line(self, *, ids: bool) -> str:
        """Return its line in the head."""
        row = self.row
        label = f"[{escape(row.id)[1:-1]}] " if ids else ""
        when = ""
        if row.condition is not None:
            when = f"when {escape(conditions.shown(row.condition))}: "
        by = "" if row.trust == Trust.USER else f" (from {row.trust})"
        by += f" (by {escape(row.actor)})" if self.named and row.actor is not None else ""
        ask = (
            " (this and the next line disagree: ask the user)" if self.disagrees is not None else ""
        )
        since = f" ({from_micros(row.valid_from).date()})" if self.dated else ""
        return f"- {label}{when}{escape(row.text)}{by}{since}{ask}"


class Line(NamedTuple):
    """A memory as it was when a head was compiled."""

    docid: int
    id: str
    zone: int
    text: str
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A compiled head; a session keeps it.

    Attributes:
        shown: The memories in it, in order.
        dropped: Those left out.
        conflicts: Pairs that cannot both be followed.
        over_budget: Whether the locked memories alone exceed the budget.
        known: Row ids of the memories it was made of.
        text: The head with its tag.
    """

    shown: tuple[Line, ...]
    dropped: tuple[Dropped, ...]
    conflicts: tuple[Conflict, ...]
    over_budget: bool
    known: frozenset[int] = frozenset()
    text: str = ""

    @property
    def fingerprint(self) -> str:
        """Digest of the text."""
        return blake2b(self.text.encode(), digest_size=8).hexdigest()


def zone_of(row: Row) -> int | None:
    """Return the zone of the head that a memory belongs to; None if it belongs to none.

    A memory from neither the user nor the agent has no zone: a query may find it once it is
    approved, but it does not go into every prompt.
    """
    if row.trust not in (Trust.USER, Trust.AGENT) or row.kind == Kind.PLAN:
        return None
    if row.kind == Kind.RULE and row.trust == Trust.USER:
        if row.pinned & USER:
            return 1
        return 2 if row.condition is None else 3
    if row.kind == Kind.PREFERENCE or row.signal == "identity":
        return 4
    known = row.kind in (Kind.DECISION, Kind.PROCEDURE, Kind.RULE)
    return 5 if known or row.pinned & (PINNED | USER) else None


def placed(rows: Iterable[Row]) -> list[Directive]:
    """Put memories into their zones, in the order in which the head shows them."""
    found = [Directive(row, zone) for row in rows if (zone := zone_of(row)) is not None]
    users = {one.row.actor for one in found if one.row.trust == Trust.USER} - {None}
    return sorted((replace(one, named=len(users) > 1) for one in found), key=_order)


def _order(one: Directive) -> tuple[object, ...]:
    row = one.row
    depth = row.scope.count("/") + bool(row.scope)
    return one.zone, depth, row.scope, row.valid_from, row.text.casefold(), row.docid


def settled(
    found: Sequence[Directive], pairs: Iterable[tuple[int, int]]
) -> tuple[list[Directive], list[Conflict], list[Dropped]]:
    """Keep one memory of each slot; return the kept ones, the conflicts, and the dropped ones.

    The winner is the most trusted one, then a locked one, then that of the narrowest scope, then
    the newest. Rules of one slot with different conditions do not conflict: which one holds depends
    on the message.

    Args:
        found: The memories, in order.
        pairs: Row ids of each pair that contradicts each other.
    """
    slots: dict[tuple[str, str | None], list[Directive]] = {}
    losers = _doubted(found, pairs)
    for one in found:
        if one.row.key is not None and one.row.docid not in losers:
            slots.setdefault((one.row.key, one.row.condition), []).append(one)
    for group in slots.values():
        best = max(group, key=_claim)
        for other in group:
            if other is not best:
                differs = (a != b for a, b in zip(_claim(best), _claim(other), strict=True))
                reason = next(why for why, here in zip(_REASONS, differs, strict=True) if here)
                losers[other.row.docid] = Conflict(best.row.id, other.row.id, best.row.key, reason)
    kept = [one for one in found if one.row.docid not in losers]
    dropped = [
        Dropped(one.row.id, one.zone, "conflict") for one in found if one.row.docid in losers
    ]
    return kept, list(losers.values()), dropped


def _doubted(found: Sequence[Directive], pairs: Iterable[tuple[int, int]]) -> dict[int, Conflict]:
    """Return the memories that contradict a more trusted one, by row id, each with its conflict."""
    known = {one.row.docid: one.row for one in found}
    losers: dict[int, Conflict] = {}
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            if {one, other} <= known.keys() and Trust.outranks(
                known[one].trust, known[other].trust
            ):
                winner, loser = known[one], known[other]
                losers[other] = Conflict(winner.id, loser.id, winner.key, "trust")
    return losers


def _claim(one: Directive) -> tuple[int, bool, int, int]:
    row = one.row
    depth = len(row.scope.split("/")) if row.scope else 0
    return -Trust.rank_of(row.trust), one.locked, depth, row.docid


_REASONS = ("trust", "locked", "narrower scope", "newer")


def side_by_side(
    found: Sequence[Directive], pairs: Iterable[tuple[int, int]]
) -> tuple[list[Directive], list[Conflict]]:
    """Move two memories of one zone that contradict each other next to each other.

    Args:
        found: The memories, in order.
        pairs: Row ids of each pair that contradicts each other.
    """
    order = list(found)
    conflicts: list[Conflict] = []
    seen: set[int] = set()
    for pair in sorted({(min(pair), max(pair)) for pair in pairs}):
        at = {one.row.docid: n for n, one in enumerate(order)}
        if len(set(pair) & at.keys()) != len(set(pair)) or seen & set(pair) or len(set(pair)) == 1:
            continue
        first, second = sorted(at[docid] for docid in pair)
        if order[first].zone != order[second].zone:
            continue
        other = order.pop(second)
        order.insert(first + 1, other)
        order[first] = replace(order[first], disagrees=other.row.docid)
        conflicts.append(Conflict(order[first].row.id, other.row.id, None, "undecided"))
        seen |= set(pair)
    return order, conflicts


def compile_head(
    found: Sequence[Directive], pairs: Iterable[tuple[int, int]], tokens: int, *, ids: bool
) -> tuple[list[str], Head]:
    """Choose and order the memories of the head.

    Args:
        found: The candidates, in the order of the head.
        pairs: Row ids of each pair that contradicts each other.
        tokens: Maximum number of tokens in the head; only locked memories go beyond them.
        ids: Whether each line names its id.

    Returns:
        The lines between the tags, and the head, which has no text yet.
    """
    pairs = list(pairs)
    kept, conflicts, dropped = settled(found, pairs)
    kept, undecided = side_by_side(_with_dates(kept), pairs)
    lines = {one.row.docid: one.line(ids=ids) for one in kept}
    chosen = _within(kept, lines, tokens)
    there = {one.row.id for one in chosen}
    dropped += [Dropped(one.row.id, one.zone, "budget") for one in kept if one.row.id not in there]
    shown = _told_apart(chosen)
    body = _body(shown, {one.row.docid: one.line(ids=ids) for one in shown})
    return body, Head(
        shown=tuple(
            Line(one.row.docid, one.row.id, one.zone, one.row.text, one.row.condition)
            for one in shown
        ),
        dropped=tuple(dropped),
        conflicts=(*conflicts, *(one for one in undecided if {one.winner, one.loser} <= there)),
        over_budget=bool(shown) and _size(body) > tokens,
    )


def _with_dates(kept: Sequence[Directive]) -> list[Directive]:
    """Mark lines that may be about the same thing to show dates: they share a word few others have.

    So are all that the user said about themselves on different days, as a change often shares no
    word with what it changes. They may be in different zones, as a rule under a condition and the
    one that narrows it.
    """
    having: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(kept):
        for word in set(map(without_ending, content(words(one.row.text)))) - _ORDERING:
            having[word].append(at)
    near = {at for places in having.values() if 1 < len(places) <= _FEW for at in places}
    about = {at: one.row.valid_from for at, one in enumerate(kept) if one.row.signal == "identity"}
    if len({from_micros(since).date() for since in about.values()}) > 1:
        near |= about.keys()  # "I'm 34" and "my birthday, 35 now" share no word
    return [replace(one, dated=at in near) for at, one in enumerate(kept)]


def _told_apart(chosen: Sequence[Directive]) -> list[Directive]:
    """Unset ``disagrees`` where the next memory was dropped."""
    followers = [one.row.docid for one in chosen[1:]]
    return [
        one if one.disagrees in (None, *followers[at : at + 1]) else replace(one, disagrees=None)
        for at, one in enumerate(chosen)
    ]


def _within(kept: Sequence[Directive], lines: Mapping[int, str], tokens: int) -> list[Directive]:
    """Drop the least trusted, then the least important memories until the rest fits.

    Memories that the user locked stay.
    """
    if _size(_body(kept, lines)) <= tokens:
        return list(kept)
    going = sorted(
        (one for one in kept if not one.locked),
        key=lambda one: (
            -Trust.rank_of(one.row.trust),
            _DROPPED_FIRST[one.zone],
            one.row.importance,
            one.row.docid,
        ),
    )
    gone: set[int] = set()
    price = {one.row.docid: estimate(f"{lines[one.row.docid]}\n") for one in kept}
    titles = {zone: estimate(f"## {title}\n") for zone, title in ZONES.items()}
    left = Counter(one.zone for one in kept)
    used = _size([]) + sum(price.values()) + sum(titles[zone] for zone in left)
    for one in going:
        if used <= tokens:
            break
        gone.add(one.row.docid)
        used -= price[one.row.docid]
        left[one.zone] -= 1
        if not left[one.zone]:
            used -= titles[one.zone]
    for one in [one for one in reversed(going) if one.row.docid in gone]:
        title = 0 if left[one.zone] else titles[one.zone]
        if used + title + price[one.row.docid] <= tokens:  # it fits, since a longer one was dropped
            gone.discard(one.row.docid)
            left[one.zone] += 1
            used += title + price[one.row.docid]
    rest = [one for one in kept if one.row.docid not in gone]
    for one in going:  # the prices are estimates: their sum may be a little too small
        if _size(_body(rest, lines)) <= tokens:
            break
        rest = [other for other in rest if other is not one]
    return rest


def _body(shown: Sequence[Directive], lines: Mapping[int, str]) -> list[str]:
    body: list[str] = []
    for zone in HEAD:
        mine = [lines[one.row.docid] for one in shown if one.zone == zone]
        later = any(one.dated for one in shown if one.zone == zone)
        body += [f"## {ZONES[zone]}", *([LATER] if later else []), *mine] if mine else []
    return body


def _size(body: Sequence[str]) -> int:
    """Return the tokens of a head with this body; the tag's digits are placeholders."""
    return estimate(framed("policy", "0" * DIGITS, body))
