"""Sessions: how one begins, what a checkpoint notes, how it ends, and which one broke off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memento.config.sessions import SessionConfig
from memento.ledger import changes, llm_tasks, memories, quotes, scopes
from memento.ledger import sessions as rows
from memento.ledger.contract import Session, Work
from memento.ledger.rows import Row
from memento.ledger.sessions import Begun, Noted
from memento.lifecycle import owners
from memento.scopes import contains, resolved

MINUTE = 60_000_000
"""Microseconds."""

COMPACTION = "compaction"
"""Kind of the checkpoint before the conversation is shortened: the policy begins a new epoch."""


KINDS = ("task", "decision", "error", COMPACTION)
"""Kinds of checkpoints."""


def begin(work: Work, session: str, *, goal: str | None, scope: str, owner: str) -> Begun:
    """Begin a session, or go on with it.

    One that had ended goes on.

    Args:
        work: The transaction.
        session: Name of the session.
        goal: The task; None to leave it as it is.
        scope: Where it applies; ``""`` to leave it as it is.
        owner: Who works on it from now on.
    """
    known = rows.find(work.db, work.ns, session)
    if known is None:
        made = Begun(
            ns=work.ns, id=session, scope=scope, goal=goal, started=work.now, touched=work.now,
            ended=None, outcome=None, owner=owner, epoch=0, head=None,
        )  # fmt: skip
    else:
        made = replace(
            known,
            goal=known.goal if goal is None else goal,
            scope=scope or known.scope,
            touched=max(known.touched, work.now),
            ended=None,
            outcome=None,
            owner=owner,
        )
    rows.put(work.db, made)
    return made


def renewed(one: Begun) -> Begun:
    """Return a session whose policy is made again when it is asked for."""
    return replace(one, epoch=one.epoch + 1, head=None)


def note(work: Work, session: str, body: dict[str, object], owner: str, keep: int) -> Noted:
    """Write a checkpoint; begins the session if nobody did.

    Args:
        work: The transaction.
        session: Name of the session.
        body: What the checkpoint says. A goal of None is that of the session.
        owner: Who works on the session.
        keep: How many checkpoints of the session are kept.
    """
    goal = body["goal"]
    begun = begin(
        work, session, goal=goal if isinstance(goal, str) else None, scope="", owner=owner
    )
    if body["kind"] == COMPACTION:
        rows.put(work.db, renewed(begun))
    said = json.dumps(body | {"goal": begun.goal}, ensure_ascii=False)
    rev = memories.latest_rev(work.db, work.ns)
    return rows.put_checkpoint(work.db, Noted(work.ns, session, 0, work.now, rev, said), keep)


def end(work: Work, session: str, outcome: str | None) -> bool:
    """End a session; tells whether it had not ended before."""
    known = rows.find(work.db, work.ns, session)
    if known is None or known.ended is not None:
        return False
    over = replace(
        known,
        touched=max(known.touched, work.now),
        ended=work.now,
        outcome=outcome,
        owner=owners.NOBODY,
    )
    rows.put(work.db, renewed(over))
    llm_tasks.hurry(work.db, work.ns, session)
    return True


def are_as_read(work: Work, read: Sequence[Row]) -> bool:
    """Tell whether memories still have the status, the content and the trust that were read."""
    present = memories.by_ids(work.db, work.ns, [row.id for row in read])
    return all(
        row.id in present and present[row.id].status == row.status for row in read
    ) and quotes.digest(present.values()) == quotes.digest(read)


def quote(work: Work, written: Sequence[Row], *, quoted: Sequence[Row]) -> list[Row]:
    """Link the extract of a session to the memories that it quotes: it falls with them."""
    for article in written:
        for row in quoted:
            changes.link(work, article.docid, row.docid, quotes.QUOTES)
    return []


def leave(work: Work, session: str) -> None:
    """Let go of a session that did not end: from now on it is interrupted."""
    known = rows.find(work.db, work.ns, session)
    if known is not None and known.ended is None:
        rows.put(work.db, replace(known, owner=owners.NOBODY))


def is_interrupted(one: Begun, now: int, settings: SessionConfig) -> bool:
    """Tell whether a session broke off: nobody works on it any more, or not for a long time."""
    if one.ended is not None:
        return False
    silent = now - one.touched >= settings.idle_minutes * MINUTE
    return silent or owners.is_gone(one.owner)


def interrupted(
    db: Session, ns: int, scope: str, now: int, settings: SessionConfig
) -> Begun | None:
    """Find the session with a task that broke off last, at a scope or below it.

    One without a goal and without a checkpoint, such as a thread of a chat that has a policy, has
    nothing to go on with.
    """
    return next(
        (
            one
            for one in within(db, ns, scope, open_only=True)
            if is_interrupted(one, now, settings) and _has_task(db, one)
        ),
        None,
    )


def _has_task(db: Session, one: Begun) -> bool:
    return one.goal is not None or bool(rows.checkpoints(db, one.ns, one.id, 1))


def within(db: Session, ns: int, scope: str, *, open_only: bool = False) -> Iterator[Begun]:
    """Yield the sessions at a scope or below it, the one written to last first."""
    merges = scopes.merges(db, ns) if scope else {}
    where = resolved(scope, merges)
    found = rows.newest(db, ns, open_only=open_only)
    return (one for one in found if contains(where, resolved(one.scope, merges)))
