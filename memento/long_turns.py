"""Keep a turn of a conversation that is longer than a memory may be, in parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from uuid import UUID, uuid5

import uuid_utils

from memento.admit.draft import is_long_turn
from memento.admit.redact import Redaction
from memento.check import check_metadata
from memento.engine import Engine
from memento.ingest.parts import pieces
from memento.ingest.sections import PART_LIMIT
from memento.ledger.rows import Row
from memento.protocols import Progress
from memento.types import Draft, Kind, Tier

ID_SPACE = UUID("b0b1c0de-5c1a-5d0c-9a11-7e6d0c5f2a40")
"""Root of the name-based ids made here. Changing it would make every document new again."""
PART, PARTS, TURN = "part", "parts", "turn"
"""Metadata of parts: the number from 1, how many there are, and the id of the first part."""


def add_turns(
    engine: Engine,
    labels: tuple[str, ...],
    drafts: Sequence[Draft],
    progress: Progress | None = None,
) -> list[Row]:
    """Add drafts; a turn that is too long for one memory is stored in parts.

    Returns:
        One row per draft, in order: of a turn in parts, the first part.
    """
    expanded: list[Draft] = []
    firsts: list[int] = []
    for draft in drafts:
        firsts.append(len(expanded))
        split = is_long_turn(draft, engine.config.limits)
        expanded += _parts_of_turn(draft, engine) if split else [draft]
    rows = engine.add(labels, expanded, progress=progress)
    return [rows[at] for at in firsts]


def _parts_of_turn(draft: Draft, engine: Engine) -> Iterator[Draft]:
    """Split a turn; the later parts are linked to the first, and do not crowd the ring buffer."""
    limits = engine.config.limits
    text = Redaction(engine.config.secrets).text("text", draft.text)
    split = [one for one in pieces(text, min(PART_LIMIT, limits.text_chars)) if one]
    given = json.loads(check_metadata(draft.metadata, limits))
    first = draft.id or _id_of_turn(draft)
    for number, piece in enumerate(split, start=1):
        told = given | {PART: number, PARTS: len(split)}
        if number == 1:
            yield replace(draft, text=piece, id=first, metadata=told)
            continue
        yield replace(
            draft,
            text=piece,
            id=str(uuid5(ID_SPACE, json.dumps([TURN, first, number]))),
            tier=Tier.MEDIUM if draft.tier in (None, Tier.SHORT) else draft.tier,
            aliases=(),
            supersedes=(),
            related=(first,),
            metadata=told | {TURN: first},
        )


def _id_of_turn(draft: Draft) -> str:
    """Give a turn an id: a new one if a conversation keeps its equal turns, or one of its content.

    See ``MemoryManager.add`` for which turns are stored once.
    """
    in_talk = draft.session is not None and draft.occurred_at is None
    if in_talk and (draft.tier == Tier.SHORT or draft.kind == Kind.EPISODE):
        return str(uuid_utils.uuid7())
    said = (draft.scope, draft.session, draft.actor, draft.role, str(draft.kind))
    when = None if draft.occurred_at is None else str(draft.occurred_at)
    return id_of_content(TURN, *said, when, draft.text)


def id_of_content(*content: object) -> str:
    """Return an id that is always the same for the same content."""
    digest = sha256(json.dumps(content).encode()).hexdigest()
    return str(uuid5(ID_SPACE, digest))
