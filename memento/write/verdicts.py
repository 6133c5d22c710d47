"""Verdicts on memories: given, cited from an answer, and taken back. Each is an event of the log.

Its effect is computed in ``memento.dynamics``; this module has the rules who may give which.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memento.base.clock import DAY
from memento.config import Config
from memento.dynamics import fold as folding
from memento.dynamics.fold import SAID
from memento.dynamics.formulas import Lesson
from memento.dynamics.settings import Dynamics
from memento.errors import InvalidInput
from memento.ledger import (
    changes,
    claim_rows,
    co_use,
    learnt_weights,
    loop_rows,
    memories,
    namespaces,
    strength_fold,
    usage_events,
)
from memento.ledger.contract import Transaction, Work
from memento.ledger.loop_rows import Turn
from memento.ledger.rows import Row
from memento.ledger.usage_events import Happening
from memento.text.words import STOP_WORDS, identifiers, words
from memento.types import Event, Status, Trust
from memento.write import change, locks
from memento.write.steps import ACCEPTED, log_event

RIVAL = "rival"
"""Key in the detail of an outcome: another hit of the same answer was used instead."""
MOST_RIVALS = 400
"""Events after a verdict to search for the outcomes of its rivals."""
_SECOND = 1_000_000
SHARED = 3
"""Maximum number of texts that may share a characteristic word."""

_CLAUSE = re.compile(r"(?<=[.!?,;:])\s+|\n+")
_NAME = re.compile(r"(?<=[^\s.!?:\n] )[A-Z]\w+|[A-Z]\w*[A-Z]\w*")
"""A word with a capital letter that does not begin a sentence, or with several."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on one memory.

    Attributes:
        memory_id: The memory.
        kind: The verdict, one of ``dynamics.fold.VERDICTS``.
        source: Who gives it.
        rank: Place of the memory in the answer that the verdict is about; None if it is about the
            memory itself.
        note: Why.
        lesson: What it teaches about the weight of use; None if it is about no answer.
        beside: Ids of the first hits of that answer.
    """

    memory_id: str
    kind: Event
    source: Trust
    rank: int | None = None
    note: str | None = None
    lesson: Lesson | None = None
    beside: Sequence[str] = ()


def give(
    work: Work, verdicts: Sequence[Verdict], config: Config, *, lenient: bool = False
) -> list[Row]:
    """Write verdicts to the log and fold them.

    The same verdict by the same source on the same memory within `MASSED` seconds is written once.
    With ``lenient``, as for the hits of an answer, memories that are gone or hidden are skipped.

    Returns:
        The memories that are neither gone nor hidden.

    Raises:
        NotFound: If the namespace has no such id, unless it is lenient.
        InvalidInput: If a memory is quarantined or forgotten, unless it is lenient.
    """
    rows: list[Row] = []
    massed = folding.MASSED
    namespaces.make(work.db)  # for the numbers by which they are known
    together = Counter(one.kind for one in verdicts if one.rank is None)
    there = memories.docids_of(work.db, work.ns, [one.memory_id for one in verdicts])
    for verdict in verdicts:
        if lenient and verdict.memory_id not in there:
            continue
        row = memories.by_id(work.db, work.ns, verdict.memory_id)
        if row.status in ACCEPTED:
            written = _write(work, row, verdict, massed, together[verdict.kind])
            if written and verdict.kind == Event.USED and config.effect.rivals:
                _lower_rivals(work, row, verdict, config.effect.rivals)
            locks.judged(work, row)
            rows.append(change.revived(work, row, verdict.kind, verdict.source))
        elif not lenient:
            todo = (
                "approve or reject it" if row.status == Status.QUARANTINED else "restore it first"
            )
            raise InvalidInput("target", f"{row.id!r} is {row.status}; {todo}")
    if verdicts:
        changes.finish(work, "feedback", Trust.least(one.source for one in verdicts))
    fold(work.db, config)
    return rows


def fold(session: Transaction, config: Config) -> bool:
    """Fold the next events of the log; return whether there may be more."""
    agent = config.dynamics.agent
    more = [
        strength_fold.catch_up(session, config.dynamics),
        learnt_weights.catch_up(session, config.effect, agent),
        co_use.catch_up(session, config.association, agent),
    ]
    return any(more)


def _lower_rivals(work: Work, row: Row, verdict: Verdict, by: float) -> None:
    """Give the other hits of an answer a bad outcome if they claim something about the same.

    Source: retrieval-induced forgetting, Anderson, Bjork & Bjork 1994.
    """
    others = memories.by_ids(work.db, work.ns, [one for one in verdict.beside if one != row.id])
    claimed = claim_rows.keys(work.db, [row.docid, *(one.docid for one in others.values())])
    of_row = claimed.get(row.docid, frozenset())
    for other in others.values():
        if other.status in ACCEPTED and not of_row.isdisjoint(claimed.get(other.docid, ())):
            detail = {"source": verdict.source.value, "outcome": -by, RIVAL: True}
            log_event(work, other, Event.OUTCOME, detail)


def _write(work: Work, row: Row, verdict: Verdict, massed: float, together: int) -> bool:
    """Append a verdict, unless it was given just before; return whether it was appended."""
    if _was_given(work, row, verdict, work.now - massed * _SECOND):
        return False
    detail: dict[str, object] = {"source": verdict.source.value}
    if together > 1 and verdict.rank is None:
        detail[co_use.OF] = together
    if verdict.rank is not None:
        detail["rank"] = verdict.rank
    if verdict.note:
        detail["note"] = verdict.note
    if verdict.lesson is not None and _teaches(work, row, verdict):
        detail[learnt_weights.BESIDE] = learnt_weights.detail_of(verdict.lesson)
    log_event(work, row, verdict.kind, detail)
    return True


def _was_given(work: Work, row: Row, verdict: Verdict, since: float) -> bool:
    """Return whether the same verdict was given after a moment, and not taken back."""
    told = usage_events.told_lately(work.db, row.docid, since)
    return any(
        (one.kind, one.source) == (verdict.kind, verdict.source) and since < one.at <= work.now
        for one in usage_events.standing_ones(told)
    )


def _teaches(work: Work, row: Row, verdict: Verdict) -> bool:
    """Return whether a verdict teaches: the user's, and the agent's once a day for each memory."""
    if verdict.source == Trust.AGENT:
        return not _was_given(work, row, verdict, work.now - work.now % DAY - 1)
    return verdict.source == Trust.USER


def of_event(session: Transaction, ns: int, event: int) -> list[Happening]:
    """Return a verdict by number, and what it did to rivals; empty if retracted."""
    found = usage_events.by_alias(session, ns, event)
    if found is None or found.kind not in SAID or found.docid is None:
        raise InvalidInput("event", f"{event} is not feedback on a memory of this namespace")
    answered = found.kind == Event.USED and learnt_weights.BESIDE in found.detail
    rivals = usage_events.outcomes_after(session, found, MOST_RIVALS) if answered else []
    lowered = [one for one in rivals if one.detail.get(RIVAL) is True]
    return _standing(session, [found, *lowered])


def of_source(session: Transaction, ns: int, source: Trust) -> list[Happening]:
    """Find all verdicts of a source that were not taken back, in the order of the log."""
    return _standing(session, usage_events.verdicts(session, ns, source))


def _standing(session: Transaction, found: Sequence[Happening]) -> list[Happening]:
    """Leave out the verdicts that were taken back."""
    names = {
        (docid, one.name)
        for docid in {one.docid for one in found if one.docid is not None}
        for one in usage_events.standing_ones(usage_events.told_of(session, docid))
    }
    return [one for one in found if (one.docid, one.name) in names]


def retract(work: Work, found: Sequence[Happening], config: Config) -> list[Row]:
    """Retract verdicts; from then on all is as if they had not been given."""
    for one in found:
        memories.record(work.db, work.ns, work.now, Event.RETRACTED, one.docid, one.retraction)
    fold(work.db, config)
    return []


def start(work: Work, loop: str, session: str | None, seconds: float) -> Turn:
    """Open a turn, and close those of the namespace that expired."""
    loop_rows.expire(work.db, work.ns, work.now)
    until = work.now + int(seconds * _SECOND)
    turn = Turn(loop, work.ns, session, work.now, until, None, {})
    loop_rows.insert(work.db, turn)
    return turn


def show(work: Work, loop: str, ids: Sequence[str]) -> None:
    """Note which memories an answer of a turn showed, best first."""
    loop_rows.show(work.db, _open(work, loop), ids)


def finish(
    work: Work, loop: str, outcome: float | None, source: Trust, config: Dynamics
) -> list[str]:
    """Close a turn; its outcome goes to the memories that it showed.

    Returns:
        Ids of the memories that got it.
    """
    turn = _open(work, loop)
    shared: list[str] = []
    there = memories.docids_of(work.db, work.ns, list(turn.shown)) if outcome is not None else {}
    for memory_id, rank in turn.shown.items():
        if memory_id not in there:
            continue
        row = memories.by_id(work.db, work.ns, memory_id)
        if row.status in ACCEPTED:
            detail = {"source": source.value, "rank": rank, "outcome": outcome}
            log_event(work, row, Event.OUTCOME, detail)
            shared.append(memory_id)
    loop_rows.close(work.db, turn, work.now, outcome)
    if shared:
        strength_fold.catch_up(work.db, config)
    return shared


def _open(work: Work, loop: str) -> Turn:
    turn = loop_rows.find(work.db, work.ns, loop)
    if turn is None:
        raise InvalidInput("loop", f"unknown loop {loop!r}")
    if turn.closed_at is not None or turn.expires_at <= work.now:
        raise InvalidInput("loop", f"{loop!r} is closed; open a new one")
    return turn


def cited(question: str, answer: str, texts: Sequence[str]) -> list[bool]:
    """Tell for each text whether an answer rests on it.

    Args:
        question: The question that was asked.
        answer: The answer that was given.
        texts: The texts it may rest on.

    >>> cited("Where is the key?", "It is under the blue pot.", ["Keys: under the blue pot", "Tea"])
    [True, False]
    >>> cited("The code?", "It is 4419.", ["The code of the gate on Mill Lane is 4419", "Tea"])
    [True, False]
    """
    known = STOP_WORDS | set(words(question))
    spoken = [set(words(text)) - known for text in texts]
    common = Counter(word for each in spoken for word in each)
    clauses = [set(words(one)) - known for one in _CLAUSE.split(answer)]
    said = set().union(*clauses)
    return [
        _is_cited({word for word in each if common[word] <= SHARED}, said, text)
        or any(_is_taken(one, each, text, common) for one in clauses)
        for each, text in zip(spoken, texts, strict=True)
    ]


def _is_cited(own: set[str], said: set[str], text: str) -> bool:
    """Return whether an answer has enough of a text's characteristic words."""
    found = own & said
    if 2 * len(found) < len(own) or not found:
        return False
    return len(found) > 1 or not found.isdisjoint(_telling(text))


def _is_taken(clause: set[str], spoken: set[str], text: str, common: Mapping[str, int]) -> bool:
    """Return whether enough of a clause of the answer is in a text, and in few others."""
    found = {word for word in clause & spoken if common[word] <= SHARED}
    if 2 * len(found) < len(clause) or not found:
        return False
    alone = {word for word in found if common[word] == 1}
    return bool(alone) and (len(found) > 1 or not alone.isdisjoint(_telling(text)))


def _telling(text: str) -> set[str]:
    """Return the words of the numbers, identifiers and names of a text."""
    said = [*identifiers(text), *(match.group() for match in _NAME.finditer(text))]
    return {word for one in said for word in words(one)} | {
        word for word in words(text) if any(sign.isdigit() for sign in word)
    }
