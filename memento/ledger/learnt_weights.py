"""The weights that each namespace learned from feedback: a fold of the verdicts in the log.

A verdict ``used`` on a hit carries the evidence for it and for the hits beside it, so what was
learned can be dropped and comes back from the log. If a verdict is taken back, its namespace is
folded again without it.
"""

from __future__ import annotations

import json
import math
from typing import Any

from memento.dynamics.formulas import LEARN_RATE, Effect, Learnt, Lesson, learn
from memento.ledger import meta, usage_events
from memento.ledger.contract import Transaction
from memento.ledger.usage_events import Fold, Happening
from memento.types import Event

BITE = 200
"""Maximum number of verdicts folded in one transaction."""
BESIDE = "beside"
"""Key of a lesson in the detail of an event."""
MOST_BESIDE = 10
"""Maximum number of hits in a lesson."""

_MOST_SUM = 1_000.0
_LEARNT = "use "
FOLD = Fold("use", (Event.USED, Event.RETRACTED))


def detail_of(lesson: Lesson) -> dict[str, object]:
    """Return a lesson as it is kept in the detail of an event."""
    return {
        "at": lesson.used,
        "sums": [round(one, 3) for one in lesson.sums],
        "uses": [round(one, 3) for one in lesson.uses],
    }


def known_in(db: Transaction, ns: int) -> Learnt | None:
    """Return what a namespace learned; None if it learned nothing."""
    match meta.get_json(db, f"{_LEARNT}{ns}"):
        case [float(use), float(evidence)]:
            return Learnt(use, evidence)
    return None


def behind(db: Transaction, effect: Effect, agent: float, *, takes_over: bool = True) -> bool:
    """Return whether there is anything to fold; see ``Fold.is_behind``."""
    return effect.learn and FOLD.is_behind(db, _rules(effect, agent), takes_over=takes_over)


def catch_up(db: Transaction, effect: Effect, agent: float, most: int = BITE) -> bool:
    """Fold the next ``most`` verdicts of the log; return whether there may be more.

    A verdict of the agent weighs ``agent``. What was learned with other settings is dropped.
    """
    if not effect.learn:
        return False
    rules = _rules(effect, agent)
    if (bite := FOLD.next_bite(db, rules, most, forget_all)) is None:
        return False
    told, upto, more = bite
    again = {one.ns for one in told if one.kind == Event.RETRACTED}
    learns = {ns: Learnt(effect.use) for ns in again}
    afresh = [one for ns in again for one in FOLD.standing(db, ns, upto)]
    for one in [*(one for one in told if one.ns not in again), *afresh]:
        if (lesson := _lesson(one)) is not None:
            before = learns.get(one.ns) or known_in(db, one.ns) or Learnt(effect.use)
            learns[one.ns] = learn(before, lesson, LEARN_RATE * one.weight(agent))
    for ns, known in learns.items():
        meta.put(db, f"{_LEARNT}{ns}", json.dumps([float(known.use), float(known.evidence)]))
    if learns:
        usage_events.next_stamp(db)
    FOLD.move(db, upto, rules)
    return more


def forget_all(db: Transaction) -> None:
    """Drop what was learned; the events remain."""
    meta.drop(db, FOLD.name)
    meta.drop_below(db, _LEARNT)
    usage_events.next_stamp(db)


def _rules(effect: Effect, agent: float) -> str:
    """Return the settings of the fold as text; its first words change when the rule does."""
    return f"use and evidence: {effect.use!r} {LEARN_RATE!r} {agent!r}"


def _lesson(one: Happening) -> Lesson | None:
    """Return the lesson of a verdict; None if it has none, or one that cannot be read."""
    match one.detail.get(BESIDE):
        case {"at": int(at), "sums": [*sums], "uses": [*uses]}:
            whole = len(sums) == len(uses) <= MOST_BESIDE and 0 <= at < len(sums)
            if whole and all(map(_is_number, (*sums, *uses))):
                return Lesson(at, sums, uses)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) < _MOST_SUM
