"""The lessons that each namespace learnt from feedback: a fold of the verdicts in the log.

A verdict ``used`` on a hit carries the evidence for it and for the hits beside it, so what was
learnt can be dropped and comes back from the log. If a verdict is taken back, its namespace is
folded again without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from memento.dynamics.formulas import Effect, Learnt, Lesson, learn
from memento.ledger import meta, usage_events
from memento.ledger.contract import Session
from memento.ledger.usage_events import Fold, Happening, sound_ones
from memento.types import Event

BITE = 200
"""Verdicts folded in one transaction."""
BESIDE = "beside"
"""Key of a lesson in the detail of an event."""
MOST_BESIDE = 10
"""Most hits of a lesson."""

_MOST_SUM = 1_000.0
_LEARNT = "use "
_FOLD = Fold("use", (Event.USED, Event.RETRACTED))


def detail_of(lesson: Lesson) -> dict[str, object]:
    """Return a lesson as it is kept in the detail of an event."""
    return {
        "at": lesson.used,
        "sums": [round(one, 3) for one in lesson.sums],
        "uses": [round(one, 3) for one in lesson.uses],
    }


def known_in(db: Session, ns: int) -> Learnt | None:
    """Return what a namespace learnt; None if it learnt nothing."""
    match meta.get_json(db, f"{_LEARNT}{ns}"):
        case [float(use), float(evidence)]:
            return Learnt(use, evidence)
    return None


def behind(db: Session, effect: Effect, agent: float, *, takes_over: bool = True) -> bool:
    """Tell whether there is anything to fold; see ``Fold.is_behind``."""
    return effect.learn and _FOLD.is_behind(db, _rules(effect, agent), takes_over=takes_over)


def catch_up(db: Session, effect: Effect, agent: float, most: int = BITE) -> bool:
    """Fold the next verdicts of the log, at most so many; tell whether there may be more.

    A verdict of the agent counts ``agent``, against 1 for the user's. What was learnt with other
    settings is dropped.
    """
    if not effect.learn:
        return False
    rules, (event, known) = _rules(effect, agent), _FOLD.place(db)
    if known not in ("", rules):
        forget_all(db)
        event = 0
    newest = usage_events.newest(db)
    if newest <= event:
        return False
    found = _FOLD.told(db, event, newest, most=most)
    upto = found[-1][0] if len(found) == most else newest
    _fold(db, list(sound_ones(found)), effect, agent, upto)
    _FOLD.move(db, upto, rules)
    return len(found) == most


def forget_all(db: Session) -> None:
    """Drop what was learnt; the events remain."""
    meta.drop(db, _FOLD.name)
    meta.drop_below(db, _LEARNT)
    usage_events.next_stamp(db)


def events_went(db: Session, newest: int) -> None:
    """Note that events were deleted; see ``Fold.step_back``."""
    _FOLD.step_back(db, newest)


def _fold(db: Session, told: Sequence[Happening], effect: Effect, agent: float, upto: int) -> None:
    again = {one.ns for one in told if one.kind == Event.RETRACTED}
    learns = {ns: Learnt(effect.use) for ns in again}
    afresh = [one for ns in again for one in _FOLD.standing(db, ns, upto)]
    for one in [*(one for one in told if one.ns not in again), *afresh]:
        if (lesson := _lesson(one)) is not None:
            before = learns.get(one.ns) or known_in(db, one.ns) or Learnt(effect.use)
            learns[one.ns] = learn(before, lesson, effect.rate * one.weight(agent))
    for ns, known in learns.items():
        noted = json.dumps([float(known.use), float(known.evidence)])
        meta.put(db, f"{_LEARNT}{ns}", noted)
    if learns:
        usage_events.next_stamp(db)


def _rules(effect: Effect, agent: float) -> str:
    """Return what the lessons are folded by; the name of the rule changes when the rule does."""
    return f"use and evidence: {effect.use!r} {effect.rate!r} {agent!r}"


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
