"""Keep the turns of a thread, and what becomes of them when a message is edited.

An edit by a trusted source corrects the memory. An edit by an untrusted source does not change an
approved memory: it is quarantined beside it, and replaces it once it is approved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage

from memento import Config, Draft, Memory, MemoryManager, Status
from memento.errors import IdConflict
from memento.status import having
from memento_langchain._turns import (
    SAID,
    made_here,
    memory_id,
    pieces,
    role_of,
    session_of,
    source_of,
    turn,
)

MOST_PIECES = 1_000
"""Pieces looked for that an edited message no longer has."""
EDIT = "edit"
"""Ending of the id of an edit of an approved memory."""
SHOWN_OR_WAITING = having("current")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the thread, with its text.

    Attributes:
        message: The message.
        thread: The thread, None if there is none.
        name: What the message is called in the thread, call after call; None if nothing does.
        text: Its words.
    """

    message: AnyMessage
    thread: str | None
    name: str | None
    text: str

    @property
    def key(self) -> str:
        """Return its identity: its place; without a name or a thread, its text."""
        if self.thread is None or self.name is None:
            return memory_id(self.message.type, self.text)
        return memory_id(self.thread, self.name)

    @property
    def digest(self) -> str:
        """Digest of its words, to tell whether it was edited."""
        return memory_id(self.text)

    def drafts(self, config: Config) -> list[Draft]:
        """Make its memories, one a piece."""
        role = role_of(self.message)
        session = None if self.thread is None else session_of(self.thread)
        return [
            turn(piece, role, session=session, memory_id=self.piece_id(at))
            for at, piece in enumerate(pieces(self.text, config))
        ]

    def piece_id(self, at: int) -> str | None:
        """Name a piece; one that was edited has the same name."""
        if self.thread is None or self.name is None:
            return None
        return memory_id(self.thread, self.name, str(at))


def _said(memory: Draft | Memory) -> str:
    """Return the digest of what a message said; what others wrote cannot tell it."""
    if isinstance(memory, Memory) and not made_here(memory):
        return ""
    return str(memory.metadata.get(SAID, ""))


def keep_drafts(view: MemoryManager, drafts: Sequence[Draft]) -> None:
    """Keep drafts; where a message was edited since it was kept, correct its memory."""
    try:
        known = view.add_many(drafts)
    except IdConflict:  # at least one says something else than its memory
        for draft in drafts:
            _keep_edited(view, draft)
        return
    for draft, memory in zip(drafts, known, strict=True):
        if draft.id is not None and _said(memory) != _said(draft):
            _keep_edited(view, draft)


def _keep_edited(view: MemoryManager, draft: Draft) -> None:
    """Keep a draft; if its message was edited since it was kept, correct the memory.

    A memory that was corrected directly, while its message stayed the same, keeps the correction.
    """
    try:
        (kept,) = view.add_many([draft])
    except IdConflict as conflict:
        kept = view.get(conflict.memory_id)
    if _said(kept) == _said(draft):
        return
    if not _trusted(view, draft.role):
        _propose(view, draft, kept)
    elif kept.status is Status.ACTIVE and kept.role == draft.role:
        said = {**kept.metadata, **draft.metadata}
        source = source_of(str(draft.role)).kind
        view.update(kept.id, text=draft.text, kind=draft.kind, metadata=said, source=source)
    else:
        view.add_many([draft], replace=True)


def _propose(view: MemoryManager, draft: Draft, first: Memory) -> None:
    """Quarantine the edit of an untrusted source; the approved memory stays active until then.

    The edit of what was approved is a memory beside it, and may be approved and edited in turn.

    Args:
        view: Where it is kept.
        draft: What the message says now.
        first: What it was kept as first.
    """
    approved, last = None, first
    while later := view.list(ids=memory_id(last.id, EDIT), status=list(Status)):
        approved, last = last, later[0]
    if _said(last) == _said(draft):
        return
    name = last.id
    if last.status is Status.ACTIVE or _trusted(view, last.role):
        approved, name = last, memory_id(last.id, EDIT)
    place = () if approved is None or approved.status is not Status.ACTIVE else approved.id
    view.add_many([replace(draft, id=name, supersedes=place)], replace=True)


def _trusted(view: MemoryManager, role: str | None) -> bool:
    return source_of(str(role)).kind not in view.config.untrusted


def forget_leftover(view: MemoryManager, counts: Sequence[tuple[Turn, int]]) -> None:
    """Forget the last pieces of messages that were edited and have fewer now.

    The first of them goes last: it tells the next call that some are left, if this one is cut off.

    Of an untrusted source only quarantined pieces: it cannot take back approved ones.
    """
    following = {
        name: (one, count) for one, count in counts if (name := one.piece_id(count)) is not None
    }
    if not following:
        return
    for found in view.list(ids=list(following), status=SHOWN_OR_WAITING, limit=len(following)):
        one, count = following[found.id]
        names = [one.piece_id(at) for at in range(count, count + MOST_PIECES)]
        left = [name for name in names if name is not None]
        his = SHOWN_OR_WAITING if _trusted(view, role_of(one.message)) else Status.QUARANTINED
        there = view.list(ids=left, status=his, limit=MOST_PIECES)
        for memory in sorted(there, key=lambda memory: left.index(memory.id), reverse=True):
            view.update(memory.id, metadata={**memory.metadata, SAID: ""})  # nothing says it now
            view.forget(memory.id)
