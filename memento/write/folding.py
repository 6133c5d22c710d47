"""Fold memories that say the same into one of them, and take them out again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memento.check import MAX_ITEMS
from memento.ledger import changes, memories, usage_events
from memento.ledger.contract import Work
from memento.ledger.rows import Row, columns_of, strings_in
from memento.types import Event, Reason, Status
from memento.write.steps import log_event, note_event


def fold(work: Work, survivor: Row, members: Sequence[Row]) -> list[Row]:
    """Let one memory stand for others: aliases and tags of the same trust are joined to it.

    Each arrival of the others counts as a use of it, at its own time.

    Args:
        work: The transaction.
        survivor: The memory that stays; it and the others are active, and say the same.
        members: The others.
    """
    equals = [row for row in (survivor, *members) if row.trust == survivor.trust]
    joined = {name: _joined([getattr(row, name) for row in equals]) for name in ("aliases", "tags")}
    more: dict[str, Any] = {
        name: value for name, value in joined.items() if value != getattr(survivor, name)
    }
    if more:
        changes.keep_version(work, survivor, Reason.MERGED)
        columns = columns_of(replace(survivor, **more))
        counted = {"words": columns.words, "head_words": columns.head_words}
        work.db.words.replace(survivor.docid, columns)
        memories.overwrite(work.db, survivor, {**more, **counted, "updated_at": work.now})
    for row in members:
        _fold(work, survivor, row)
    return [survivor, *members]


def _fold(work: Work, survivor: Row, row: Row) -> None:
    """Let one memory lead to the one that stands for it, from now on."""
    values = {
        "status": Status.SUPERSEDED.value,
        "superseded_by": survivor.id,
        "valid_until": max(row.valid_from, work.now),
        "updated_at": work.now,
    }
    changes.revise(work, row, values, Reason.FOLDED)
    changes.link(work, survivor.docid, row.docid, "supersedes")
    memories.enqueue(work.db, row, "drop")
    log_event(work, row, Event.SUPERSEDED, {"by": survivor.id})
    said = {"member": row.id, "since": row.created_at}
    log_event(work, survivor, Event.FOLDED, said)


def is_folded(work: Work, row: Row) -> bool:
    """Tell whether a memory is superseded because another one stands for it."""
    last = memories.states(work.db, row.docid)[-1:]
    return row.status == Status.SUPERSEDED and [state.reason for state in last] == [Reason.FOLDED]


def unfold(work: Work, row: Row) -> Row:
    """Take a memory out of the one that stands for it; its arrival is no use of that any more."""
    values = {
        "status": Status.ACTIVE.value,
        "superseded_by": None,
        "valid_until": None,
        "updated_at": work.now,
    }
    for survivor in unfolded(work, row):
        changes.unlink(work, survivor.docid, row.docid, "supersedes")
    changes.revise(work, row, values, Reason.UNFOLDED)
    memories.enqueue(work.db, row, "embed")
    log_event(work, row, Event.UNFOLDED)
    return row


def unfolded(work: Work, row: Row) -> list[Row]:
    """Take back that the arrival of a memory was a use of the one that stands for it.

    Args:
        work: The transaction.
        row: The memory, still superseded.

    Returns:
        The memory that stands for it; empty if it is gone.
    """
    found = [*memories.by_ids(work.db, work.ns, [row.superseded_by or ""]).values()]
    for survivor in found:
        told = usage_events.told_of(work.db, survivor.docid)
        for one in usage_events.standing_ones(told):
            if one.kind == Event.FOLDED and one.detail.get("member") == row.id:
                note_event(work, survivor, Event.RETRACTED, one.retraction)
    return found


def _joined(each: Sequence[str]) -> str:
    """Join lists of names, each name once."""
    names = list(dict.fromkeys(name for one in each for name in strings_in(one)))[:MAX_ITEMS]
    return json.dumps(names, ensure_ascii=False) if names else "[]"
