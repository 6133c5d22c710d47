"""Keep the turns of a conversation, and follow the edits of its messages.

An edit by a trusted source corrects the memory. An edit by an untrusted source does not change an
approved memory: it is quarantined beside it, and replaces it once it is approved.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from memento.check import check_source
from memento.conversation.turns import SAID, Said, kept_here, placed, turn_id
from memento.conversation.values import Turn
from memento.conversation.verbs import Verbs
from memento.errors import IdConflict
from memento.language.plain import composed
from memento.status import having
from memento.types import Draft, Memory, Status, Trust
from memento.views import View

REMEMBERED = 10_000
"""Turns that a keeper remembers."""
MOST_PIECES = 1_000
"""Pieces looked for that an edited message no longer has."""
EDIT = "edit"
"""Ending of the id of an edit of an approved memory."""
SHOWN_OR_WAITING = having("current")


class Keeper:
    """Keeps the turns of conversations that are given again and again, such as whole threads.

    It remembers in RAM what it kept, so that a long thread is not compared with the store at each
    call. One keeper serves any threads and namespaces; it may be called from several threads.

    Args:
        most: Most turns that it remembers, >= 1.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[tuple[str, ...], str, bool], str] = OrderedDict()

    def keep(
        self,
        view: View,
        turns: Iterable[Turn],
        *,
        session: str | None,
        speaker: Trust = Trust.USER,
    ) -> list[Said]:
        """Keep the turns that are new or were edited; see ``MemoryManager.keep``.

        Args:
            view: The manager, and the namespace.
            turns: The turns from the beginning of the conversation, in order.
            session: Name of the conversation, or None.
            speaker: Who writes what has the role ``user``.

        Returns:
            The turns that are new or were edited, in order.
        """
        verbs = cast("Verbs", view)
        session = session if session is None else composed(session)
        said = {
            (view.namespace, one.key, _trusted(verbs, one)): one
            for one in placed(turns, session, speaker)
        }
        fresh = {key: one for key, one in said.items() if self._kept.get(key) != one.digest}
        if not fresh:
            return []
        keep(verbs, list(fresh.values()))
        self._kept.update((key, one.digest) for key, one in fresh.items())
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return list(fresh.values())


def keep(view: Verbs, said: Sequence[Said]) -> list[Memory]:
    """Keep turns, each once; see ``MemoryManager.keep``.

    The last one of equal name counts. One of an untrusted source takes no trusted one's place.
    """
    last = {one.key: one for one in said}
    covered = [one for one in said if _trusted(view, one) and not _trusted(view, last[one.key])]
    first = _keep_last(view, covered) if covered else []
    return first + _keep_last(view, said)


def _keep_last(view: Verbs, said: Sequence[Said]) -> list[Memory]:
    """Keep the last turn of each name."""
    last = {one.key: (one, one.drafts(view.config)) for one in said}
    drafts = [draft for _, some in last.values() for draft in some]
    kept = list(_kept(view, drafts))
    _forget_leftover(view, [(one, len(some)) for one, some in last.values()])
    return kept


def _kept(view: Verbs, drafts: Sequence[Draft]) -> Iterator[Memory]:
    """Keep drafts; where a message was edited since it was kept, correct its memory."""
    try:
        known = view.add_many(drafts)
    except IdConflict:  # at least one says something else than its memory
        for draft in drafts:
            yield _keep_edited(view, draft)
        return
    for draft, memory in zip(drafts, known, strict=True):
        edited = draft.id is not None and _said(memory) != _said(draft)
        yield _keep_edited(view, draft) if edited else memory


def _said(memory: Draft | Memory) -> str:
    """Return the digest of what a message said; what others wrote cannot tell it."""
    if isinstance(memory, Memory) and not kept_here(memory):
        return ""
    return str(memory.metadata.get(SAID, ""))


def _keep_edited(view: Verbs, draft: Draft) -> Memory:
    """Keep a draft; if its message was edited since it was kept, correct the memory.

    A memory that was corrected directly, while its message stayed the same, keeps the correction.
    """
    try:
        (kept,) = view.add_many([draft])
    except IdConflict as conflict:
        kept = view.get(conflict.memory_id)
    if _said(kept) == _said(draft):
        return kept
    if not _trusted(view, draft):
        return _propose(view, draft, kept)
    if kept.status in having("found") and kept.role == draft.role:
        said = {**kept.metadata, **draft.metadata}
        source = check_source(draft.source).kind
        return view.update(kept.id, text=draft.text, kind=draft.kind, metadata=said, source=source)
    return view.add_many([draft], replace=True)[0]


def _propose(view: Verbs, draft: Draft, first: Memory) -> Memory:
    """Quarantine the edit of an untrusted source; the approved memory stays active until then.

    The edit of what was approved is a memory beside it, and may be approved and edited in turn.

    Args:
        view: Where it is kept.
        draft: What the message says now.
        first: What it was kept as first.
    """
    approved, last = None, first
    while later := view.list(ids=turn_id(last.id, EDIT), status=list(Status)):
        approved, last = last, later[0]
    if _said(last) == _said(draft):
        return last
    name = last.id
    if last.status in having("found") or last.source.kind not in view.config.untrusted:
        approved, name = last, turn_id(last.id, EDIT)
    place = () if approved is None or approved.status not in having("found") else approved.id
    return view.add_many([replace(draft, id=name, supersedes=place)], replace=True)[0]


def _trusted(view: Verbs, draft: Draft | Said) -> bool:
    return check_source(draft.source).kind not in view.config.untrusted


def _forget_leftover(view: Verbs, counts: Sequence[tuple[Said, int]]) -> None:
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
        theirs = SHOWN_OR_WAITING if _trusted(view, one) else Status.QUARANTINED
        there = view.list(ids=left, status=theirs, limit=MOST_PIECES)
        for memory in sorted(there, key=lambda memory: left.index(memory.id), reverse=True):
            view.update(memory.id, metadata={**memory.metadata, SAID: ""})  # nothing says it now
            view.forget(memory.id)
