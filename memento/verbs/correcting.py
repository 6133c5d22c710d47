"""Replace what a memory says by a new memory."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.check import (
    check_id,
    check_text,
)
from memento.errors import InvalidInput
from memento.ledger import memories
from memento.ledger.contract import Work
from memento.ledger.rows import Row
from memento.types import (
    Draft,
    Kind,
    Memory,
    Source,
    Status,
    Trust,
    TrustName,
)
from memento.views import View
from memento.write.steps import FOUND, holds

if TYPE_CHECKING:
    from memento.observe import derive
else:
    derive = later("memento.observe.derive")


class _Moved(Exception):
    """A memory changed between being read and being corrected."""


def correct(
    view: View,
    id: str,  # noqa: A002 - the field's own name
    text: str,
    *,
    source: Source | Trust | TrustName | None = None,
    occurred_at: datetime | None = None,
) -> Memory:
    """Do what ``MemoryManager.correct`` does; see there."""
    ns = view.known_namespace(check_id(id))
    said = check_text(text, view.engine.config.limits)
    while True:
        old = view.engine.ledger.read(lambda c: memories.by_id(c, ns, id))
        draft = _correction(view, old, said, source, occurred_at)

        def guard(work: Work, rev: int = old.rev) -> None:
            if memories.by_id(work.db, work.ns, id).rev != rev:
                raise _Moved

        try:
            rows = view.engine.add(view.namespace, [draft], verb="correct", guard=guard)
        except _Moved:
            continue
        return view.memory(rows[0])


def _correction(
    view: View,
    row: Row,
    text: str,
    source: Source | Trust | TrustName | None,
    occurred_at: datetime | None,
) -> Draft:
    """Make the draft of a memory that takes the place of another one."""
    now = view.engine.now()
    if row.status not in FOUND:
        raise InvalidInput("id", _not_active(row))
    if not holds(row, now):
        raise InvalidInput("id", f"{row.id!r} has expired; add the right statement instead")
    if row.text == text:
        raise InvalidInput("text", f"is already the text of {row.id!r}")
    old = view.memory(row)
    expires = row.expires_at
    due = old.due_at
    if old.kind is Kind.PLAN:
        said_at = from_micros(now).astimezone(view.config.zone)
        due = derive.dates_of(text, said_at)[0] or due
    return Draft(
        text,
        old.tier,
        old.kind,
        importance=old.importance,
        key=old.key,
        aliases=old.aliases,
        scope=old.scope,
        session=old.session,
        actor=old.actor,
        role=old.role,
        source=source,
        tags=old.tags,
        metadata=old.metadata,
        occurred_at=occurred_at,
        expires_in=None if expires is None else (expires - now) / 1_000_000,
        pinned=old.pinned,
        supersedes=(row.id,),
        condition=old.condition,
        due_at=due,
    )


def _not_active(row: Row) -> str:
    """Say why a memory cannot be corrected, and what to do."""
    if row.status == Status.SUPERSEDED and row.superseded_by is not None:
        return f"{row.id!r} is superseded; correct {row.superseded_by!r}, which superseded it"
    if row.status == Status.QUARANTINED:
        return f"{row.id!r} is quarantined; approve or reject it"
    return f"{row.id!r} is {row.status}, not active"
