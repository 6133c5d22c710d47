"""Keep the turns of a conversation, and follow the edits of its messages.

An edit by a trusted source corrects the memory. An edit by an untrusted source does not change an
approved memory: it becomes a quarantined memory, which replaces the old one once it is approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memento.base.plain import composed, worded
from memento.check import MAX_IDS, check_source
from memento.conversation.turns import PlacedTurn, Turn, kept_here, placed, turn_id
from memento.errors import IdConflict, LockedMemory, TurnErased
from memento.ledger import memories, replays
from memento.ledger.filters import filters_of
from memento.ledger.replays import SAID, Kept, Told
from memento.ledger.rows import Row
from memento.status import having
from memento.types import Draft, Memory, Status, Trust
from memento.views import Part, View, view_of

MOST_PIECES = 1_000
"""Maximum number of surplus pieces of an edited message that are looked up."""
EDIT = "edit"
"""Ending of the id of an edit of an approved memory."""
SHOWN_OR_WAITING = having("current")


def keep_new(
    memory: Part,
    turns: Iterable[Turn],
    *,
    session: str | None,
    speaker: Trust = Trust.USER,
    now: bool = True,
) -> list[tuple[PlacedTurn, str]]:
    """Keep the new turns of a conversation that is passed whole each time.

    One query finds the turns that are stored already; see ``MemoryManager.keep`` for the rest.

    Args:
        memory: The manager.
        turns: The turns from the beginning of the conversation, in order.
        session: Name of the conversation, or None.
        speaker: Trust class of turns with the role ``user``.
        now: Whether the turns from the last message of the user on are being said now.

    Returns:
        The turns that are new or were edited, in order, each with the id of its first memory.
    """
    view, name = view_of(memory), None if session is None else composed(session)
    said = placed(turns, name, speaker)
    fresh = _unknown(view, said_anew(view, said, now=now))
    kept: dict[str, str] = {}
    for key, stored_turn in _kept_turns(view, fresh) if fresh else ():
        kept.setdefault(key, stored_turn.id)
    named = ((one, kept.get(one.key)) for one in fresh)
    return [(one, at) for one, at in named if at and (one.nameless or at == one.piece_id(0))]


def said_anew(view: View, said: Sequence[PlacedTurn], *, now: bool = True) -> list[PlacedTurn]:
    """Let the user say again what was erased or forgotten, from their last message on.

    Earlier turns, and turns with an id, count as passed again, not said again. So does a turn after
    the same turns as when it was erased or forgotten: it may be a retry. A message passed alone has
    no such place, so it is said now.

    Args:
        view: The manager, and the namespace.
        said: The turns of the conversation, in order.
        now: Whether the turns from the last message of the user on are being said now.

    Returns:
        The turns. Those said again have a new number; nameless ones passed again are left out.
    """
    users = [at for at, one in enumerate(said) if one.turn.role == "user"] if now else []
    start = users[-1] if users else len(said)
    gone = _nameless_gone(view, said[:start])
    found = [_begun(one) for one in said[:start] if not (one.nameless and one.key in gone)]
    taken: set[str] = set()
    alone = [one.after for one in said] == [""]
    for one in said[start:]:
        words, places = taken_away(view, [one])
        while (
            one.count is not None
            and not one.nameless
            and not (one.key in places and not alone)
            and (one.key in words or one.key in taken)
        ):
            one = one.numbered(one.count + 1)  # noqa: PLW2901 - the same turn, said again
            words, places = taken_away(view, [one])
        taken.add(one.key)
        found.append(one)
    return found


def _begun(said: PlacedTurn) -> PlacedTurn:
    """Drop the place of a first turn: passed alone later, it may start another conversation."""
    return said if said.after else replace(said, after=None)


def taken_away(view: View, said: Iterable[PlacedTurn]) -> replays.Away:
    """Return the keys of the turns of which a piece was erased or forgotten."""
    ids = {name: (told, one.key) for one in said for name, told in one.told(view.config).items()}
    words, places = _away(view, {name: told for name, (told, _) in ids.items()})
    return replays.Away({ids[name][1] for name in words}, {ids[name][1] for name in places})


def stored(view: View, said: Iterable[PlacedTurn]) -> set[str]:
    """Return the keys of the turns of which a piece is stored, or was erased or forgotten."""
    ids = {name: (told, one.key) for one in said for name, told in one.told(view.config).items()}
    away, kept = _stored(view, {name: told for name, (told, _) in ids.items()})
    return {ids[name][1] for name in (*away.words, *kept)}


def _away(view: View, turns: Mapping[str, Told]) -> replays.Away:
    """Return which pieces were erased or forgotten."""
    nothing = replays.Away(set(), set())
    return (view.ask(lambda c, ns: replays.away(c, ns, turns)) or nothing) if turns else nothing


def _stored(view: View, turns: Mapping[str, Told]) -> tuple[replays.Away, dict[str, Kept]]:
    """Return which pieces were erased or forgotten, and what is stored under the ids."""
    nothing: tuple[replays.Away, dict[str, Kept]] = replays.Away(set(), set()), {}
    if not turns:
        return nothing
    return (
        view.ask(lambda c, ns: (replays.away(c, ns, turns), replays.kept(c, ns, turns))) or nothing
    )


def _nameless_gone(view: View, said: Iterable[PlacedTurn]) -> set[str]:
    """Return the keys of the nameless turns of which a piece was erased or forgotten."""
    rows = _rows_of(view, {one.key: one for one in said if one.nameless}.values())
    turns = {key: {(str(row.role), worded(row.text)) for row in some} for key, some in rows.items()}
    every = {turn for some in turns.values() for turn in some}
    if not every:
        return set()
    gone = view.ask(lambda c, ns: replays.nameless_gone(c, ns, every)) or set()
    return {key for key, some in turns.items() if some & gone}


def _rows_of(view: View, said: Iterable[PlacedTurn]) -> dict[str, list[Row]]:
    """Return the rows that turns would become, by their keys."""
    engine, now = view.engine, view.engine.now()
    return {
        one.key: [engine.admitted(draft, now).row for draft in one.drafts(view.config)]
        for one in said
    }


def _unknown(view: View, said: Sequence[PlacedTurn]) -> list[PlacedTurn]:
    """Return the turns that are not stored in their present form; the last one for each key."""
    last = {(one.key, _trusted(view, one)): one for one in said}
    turns = [(one, one.told(view.config)) for one in last.values()]
    ends = {one.piece_id(len(parts)): Told("") for one, parts in turns}
    looked = {name: told for _, parts in turns for name, told in parts.items()}
    away, kept = _stored(view, {**{end: no for end, no in ends.items() if end}, **looked})
    known = _known_by_words(view, [one for one, _ in turns if one.nameless])

    def has(one: PlacedTurn, name: str, told: Told) -> bool:
        there = kept.get(name)
        same = there is not None and (there.said, there.trust) == (told.said, one.source.kind)
        return same or name in away.words

    return [
        one
        for one, parts in turns
        if (one.nameless and one.key not in known)
        or not all(has(one, name, told) for name, told in parts.items())
        or _is_left(kept.get(one.piece_id(len(parts)) or ""))
    ]


def _is_left(piece: Kept | None) -> bool:
    """Return whether the piece after a message's last one is left from a longer version."""
    return piece is not None and piece.status in SHOWN_OR_WAITING


def _known_by_words(view: View, said: Sequence[PlacedTurn]) -> set[str]:
    """Return the keys of the turns whose text is stored, compared by content hash."""
    hashes = {key: [row.content_hash for row in some] for key, some in _rows_of(view, said).items()}
    wanted, now = [each for some in hashes.values() for each in some], view.engine.now()
    if not wanted:
        return set()
    rows = view.ask(lambda c, ns: memories.repeatable(c, ns, wanted, now)) or []
    found = {row.content_hash for row in rows}
    return {key for key, some in hashes.items() if found.issuperset(some)}


def keep(view: View, said: Sequence[PlacedTurn]) -> list[Memory]:
    """Keep turns, each once; see ``MemoryManager.keep``.

    Of several with the same key, the last one counts; an untrusted one does not replace a trusted
    one.
    """
    return [memory for _, memory in _kept_turns(view, said)]


def _kept_turns(view: View, said: Sequence[PlacedTurn]) -> list[tuple[str, Memory]]:
    """Keep turns; return their memories with the keys of the turns."""
    last = {one.key: one for one in said}
    covered = [one for one in said if _trusted(view, one) and not _trusted(view, last[one.key])]
    first = _keep_last(view, covered) if covered else []
    return first + _keep_last(view, said)


def _keep_last(view: View, said: Sequence[PlacedTurn]) -> list[tuple[str, Memory]]:
    """Keep the last turn of each key, except what was erased or forgotten."""
    last = {one.key: (one, one.drafts(view.config)) for one in said}
    told = {name: told for one, _ in last.values() for name, told in one.told(view.config).items()}
    away = _away(view, told).words
    drafts = [
        (key, draft) for key, (_, some) in last.items() for draft in some if draft.id not in away
    ]
    while True:
        try:
            kept = list(_kept(view, [draft for _, draft in drafts]))
            break
        except TurnErased as replay:
            drafts = [(key, draft) for key, draft in drafts if draft.id not in replay.ids]
    _forget_leftover(view, [(one, len(some)) for one, some in last.values()])
    return [(key, memory) for (key, _), memory in zip(drafts, kept, strict=True)]


def _kept(view: View, drafts: Sequence[Draft]) -> Iterator[Memory]:
    """Add drafts; if a message was edited since it was stored, correct its memory."""
    try:
        known = view.add(drafts)
    except IdConflict:  # at least one differs from its memory
        for draft in drafts:
            yield _keep_edited(view, draft)
        return
    for draft, memory in zip(drafts, known, strict=True):
        edited = draft.id is not None and digest_of(memory) != digest_of(draft)
        yield _keep_edited(view, draft) if edited else memory


def digest_of(memory: Draft | Memory) -> str:
    """Return the digest of a message's text; ``""`` for a memory that ``keep`` did not write."""
    if isinstance(memory, Memory) and not kept_here(memory):
        return ""
    return str(memory.metadata.get(SAID, ""))


def _keep_edited(view: View, draft: Draft) -> Memory:
    """Add a draft; if its message was edited since it was stored, correct the memory.

    A memory that was corrected directly while its message stayed the same keeps the correction. A
    locked memory stays as it is, without an error.
    """
    try:
        (kept,) = view.add([draft])
    except IdConflict as conflict:
        kept = view.get(conflict.memory_id)
    if digest_of(kept) == digest_of(draft):
        return kept
    if not _trusted(view, draft):
        return _propose(view, draft, kept)
    if kept.status in having("found") and kept.role == draft.role:
        said = {**kept.metadata, **draft.metadata}
        source = check_source(draft.source).kind
        values = {"text": draft.text, "kind": draft.kind, "metadata": said, "source": source}
        try:
            return view.update(kept.id, values)
        except LockedMemory:
            return kept
    return view.add([draft], replace=True)[0]


def _propose(view: View, draft: Draft, first: Memory) -> Memory:
    """Quarantine an edit by an untrusted source; the old memory stays active until approval.

    An edit of an approved memory is a separate memory, which may be approved and edited in turn.
    """
    approved, last = None, first
    while later := _listed(view, turn_id(last.id, EDIT), list(Status)):
        approved, last = last, later[0]
    gone = _away(view, {name: Told(digest_of(draft)) for name in (last.id, turn_id(last.id, EDIT))})
    if digest_of(last) == digest_of(draft) or gone.words:
        return last
    name = last.id
    if last.status in having("found") or last.source != check_source(draft.source):
        approved, name = last, turn_id(last.id, EDIT)
    place = () if approved is None or approved.status not in having("found") else approved.id
    return view.add([replace(draft, id=name, supersedes=place)], replace=True)[0]


def _trusted(view: View, draft: Draft | PlacedTurn) -> bool:
    return check_source(draft.source).kind not in view.config.untrusted


def _forget_leftover(view: View, counts: Sequence[tuple[PlacedTurn, int]]) -> None:
    """Forget the surplus pieces of messages that became shorter.

    The first of them is forgotten last: if this call is interrupted, it shows the next one that
    some are left. For an untrusted source only quarantined pieces are forgotten.
    """
    following = {
        name: (one, count) for one, count in counts if (name := one.piece_id(count)) is not None
    }
    if not following:
        return
    for found in _listed(view, list(following), SHOWN_OR_WAITING):
        one, count = following[found.id]
        names = [one.piece_id(at) for at in range(count, count + MOST_PIECES)]
        left = [name for name in names if name is not None]
        theirs = SHOWN_OR_WAITING if _trusted(view, one) else Status.QUARANTINED
        there = _listed(view, left, theirs)
        for memory in sorted(there, key=lambda memory: left.index(memory.id), reverse=True):
            nothing_says_it = {**memory.metadata, SAID: ""}
            with suppress(LockedMemory):
                view.update(memory.id, {"metadata": nothing_says_it})
                view.forget(memory.id)


def _listed(view: View, ids: str | Sequence[str], statuses: Any) -> list[Memory]:
    """Return the memories with these ids that have one of the statuses."""
    asked = filters_of(view.engine.now(), ids=ids, statuses=statuses)
    return view.listed(asked, limit=MAX_IDS)
