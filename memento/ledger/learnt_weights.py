"""The lessons that each namespace learnt from feedback: a fold of the verdicts in the log.

A verdict ``used`` on a hit carries the evidence for it and for the hits beside it, so what was
learnt can be dropped and comes back from the log. If a verdict is taken back, its namespace is
folded again without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from memento.dynamics.formulas import Effect, Learnt, Lesson, learn
from memento.ledger import usage_events
from memento.ledger.contract import Session
from memento.ledger.dialect import or_replace
from memento.ledger.usage_events import Happening, sound_ones, standing_ones
from memento.types import Event, Trust

BITE = 200
"""Verdicts folded in one transaction."""
BESIDE = "beside"
"""Key of a lesson in the detail of an event."""
MOST_BESIDE = 10
"""Most hits of a lesson."""

_MOST_SUM = 1_000.0
_CURSOR, _LEARNT = "use", "use "
_NOTE = f"INSERT INTO meta VALUES (?, ?) {or_replace('name', 'value')}"
_TOLD = (
    "SELECT event, ns, at, kind, docid, detail, seal FROM events WHERE event > ? AND event <= ?"
    f" AND kind IN ('{Event.USED}', '{Event.RETRACTED}') AND docid IS NOT NULL"
)


def detail_of(lesson: Lesson) -> dict[str, object]:
    """Return a lesson as it is kept in the detail of an event."""
    return {
        "at": lesson.used,
        "sums": [round(one, 3) for one in lesson.sums],
        "uses": [round(one, 3) for one in lesson.uses],
    }


def known_in(session: Session, ns: int) -> Learnt | None:
    """Return what a namespace learnt; None if it learnt nothing."""
    found = session.execute("SELECT value FROM meta WHERE name = ?", (f"{_LEARNT}{ns}",)).fetchone()
    match None if found is None or not isinstance(found[0], str) else json.loads(found[0]):
        case [float(use), float(evidence)]:
            return Learnt(use, evidence)
    return None


def behind(session: Session, effect: Effect, agent: float, *, takes_over: bool = True) -> bool:
    """Tell whether there is anything to fold; see ``catch_up``.

    Args:
        session: Of any job.
        effect: Settings.
        agent: Weight of a verdict of the agent.
        takes_over: Whether what was learnt with other settings is to be learnt again. Two
            processes that both insist on it would never come to rest.
    """
    if not effect.learn:
        return False
    cursor = _cursor(session, _rules(effect, agent))
    if cursor is None:
        return takes_over
    query = "SELECT EXISTS (SELECT 1 FROM events WHERE event > ?)"
    return bool(session.execute(query, (cursor,)).fetchone()[0])


def catch_up(session: Session, effect: Effect, agent: float, most: int = BITE) -> bool:
    """Fold the next verdicts of the log; tell whether there may be more.

    Args:
        session: Of a job that writes.
        effect: Settings; what was learnt with others is dropped.
        agent: Weight of a verdict of the agent, against 1 for the user's.
        most: Most verdicts, >= 1.
    """
    if not effect.learn:
        return False
    rules = _rules(effect, agent)
    cursor = _cursor(session, rules)
    if cursor is None:
        forget_all(session)
        cursor = 0
    (newest,) = session.execute("SELECT coalesce(max(event), 0) FROM events").fetchone()
    if newest <= cursor:
        return False
    query = f"{_TOLD} ORDER BY event LIMIT ?"
    found = session.execute(query, (cursor, newest, most)).fetchall()
    upto = found[-1][0] if len(found) == most else newest
    _fold(session, list(sound_ones(found)), effect, agent, upto)
    session.execute(_NOTE, (_CURSOR, json.dumps([upto, rules])))
    return len(found) == most


def forget_all(session: Session) -> None:
    """Drop what was learnt; the events remain."""
    session.execute(
        "DELETE FROM meta WHERE name = ?1 OR (name >= ?2 AND name < ?2 || '~')", (_CURSOR, _LEARNT)
    )
    usage_events.next_stamp(session)


def events_went(session: Session, newest: int) -> None:
    """Note that events were deleted: the next ones may get numbers that the cursor has passed."""
    found = session.execute("SELECT value FROM meta WHERE name = ?", (_CURSOR,)).fetchone()
    match None if found is None else json.loads(found[0]):
        case [int(event), str(rules)] if newest < event:
            session.execute(_NOTE, (_CURSOR, json.dumps([newest, rules])))


def _fold(
    session: Session, told: Sequence[Happening], effect: Effect, agent: float, upto: int
) -> None:
    learns: dict[int, Learnt] = {}
    again: set[int] = set()
    for one in told:
        if one.kind == Event.RETRACTED:
            again.add(one.ns)
        elif (lesson := _lesson(one)) is not None:
            before = learns.get(one.ns) or known_in(session, one.ns) or Learnt(effect.use)
            learns[one.ns] = learn(before, lesson, effect.rate * _share(one, agent))
    for ns in again:
        learns[ns] = Learnt(effect.use)
        for one in _standing(session, ns, upto):
            if (lesson := _lesson(one)) is not None:
                learns[ns] = learn(learns[ns], lesson, effect.rate * _share(one, agent))
    for ns, known in learns.items():
        noted = json.dumps([float(known.use), float(known.evidence)])
        session.execute(_NOTE, (f"{_LEARNT}{ns}", noted))
    if learns:
        usage_events.next_stamp(session)


def _rules(effect: Effect, agent: float) -> str:
    """Return what the lessons are folded by; the name of the rule changes when the rule does."""
    return f"use and evidence: {effect.use!r} {effect.rate!r} {agent!r}"


def _share(one: Happening, agent: float) -> float:
    """Return how much a verdict counts by its source."""
    return {Trust.USER.value: 1.0, Trust.AGENT.value: agent}.get(one.source or "", 0.0)


def _standing(session: Session, ns: int, upto: int) -> Iterator[Happening]:
    """Yield the verdicts of a namespace that were not taken back, in order."""
    query = f"{_TOLD} AND ns = ? ORDER BY event"
    told = list(sound_ones(session.execute(query, (0, upto, ns)).fetchall()))
    yield from standing_ones(told)


def _lesson(one: Happening) -> Lesson | None:
    """Return what a verdict teaches; None if it says nothing, or nothing that can be read."""
    match one.detail.get(BESIDE):
        case {"at": int(at), "sums": [*sums], "uses": [*uses]}:
            whole = len(sums) == len(uses) <= MOST_BESIDE and 0 <= at < len(sums)
            if whole and all(map(_is_number, (*sums, *uses))):
                return Lesson(at, sums, uses)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) < _MOST_SUM


def _cursor(session: Session, rules: str) -> int | None:
    """Return the number of the last event that was folded; None with other settings."""
    found = session.execute("SELECT value FROM meta WHERE name = ?", (_CURSOR,)).fetchone()
    match [0, rules] if found is None else json.loads(found[0]):
        case [int(event), str(known)] if known == rules:
            return event
    return None
