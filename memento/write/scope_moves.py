"""Name scopes, merge them, and promote memories to a wider scope.

A merge moves every memory of a scope, regardless of its status, and keeps the earlier state. A slot
that both scopes have becomes one slot: the value that began later holds. A memory or a query that
names the merged scope afterwards means the scope that it was merged into.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memento.admit.draft import to_json
from memento.base.scopes import MAX_LABEL, ancestors, contains, folded, resolved
from memento.check import MAX_ITEMS, shown
from memento.errors import InvalidInput
from memento.ledger import changes as recorded
from memento.ledger import memories, past, slot_rows
from memento.ledger import scope_rows as rows
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row, docid_of, identity
from memento.ledger.scope_rows import Place
from memento.types import Event, Reason
from memento.write import locks, slots
from memento.write.steps import FOUND, alter


def define(work: Work, path: str, title: str, aliases: Sequence[str]) -> Place:
    """Give a title and aliases to a scope, found by ``known_as``."""
    places = rows.every(work.db, work.ns)
    known = {one.path for one in places} | rows.used(work.db, work.ns)
    given, path = path, known_as(resolved(path, rows.merges(work.db, work.ns)), known, places)
    if not path:
        raise InvalidInput(
            "path", f"{shown(given)} is merged into the root scope; unmerge it first"
        )
    for alias in aliases:
        other = known_as(alias, known - {path}, [one for one in places if one.path != path])
        if other in known - {path}:
            raise InvalidInput("aliases", f"{alias!r:.60} is an alias of the scope {other!r:.60}")
    place = rows.find(work.db, work.ns, path) or _new(work, path)
    names = dict.fromkeys((*rows.names_of(place), *aliases))
    if len(names) > max(MAX_ITEMS, len(rows.names_of(place))):  # older stores may have more
        raise InvalidInput("aliases", f"would be {len(names)} in total; the limit is {MAX_ITEMS}")
    made = replace(place, title=title or place.title, aliases=to_json([*names]))
    rows.put(work.db, made)
    return made


def known_as(path: str, known: Iterable[str], places: Iterable[Place]) -> str:
    """Return the scope that a path means, regardless of case, ``-`` and ``_``, or by alias."""
    known = set(known)
    if path in known:
        return path
    wanted = _fold(path)
    alike = sorted(one for one in known if _fold(one) == wanted)
    alike += sorted(one.path for one in places if wanted in map(folded, rows.names_of(one)))
    return alike[0] if alike else path


def meant(db: Transaction, ns: int, path: str) -> str:
    """Return the scope of a namespace that a path means; see ``known_as``."""
    places = rows.every(db, ns)
    known = {one.path for one in places} | {one.scope for one in rows.shares_of(db, ns)}
    known.update(outer for scope in rows.used(db, ns) for outer in ancestors(scope))
    return known_as(path, known - {""}, places) if path else path


def meant_share(db: Transaction, ns: int, path: str, other: int) -> str:
    """Return the scope that a path means among those that another namespace sees."""
    known = {one.scope for one in rows.shares_of(db, ns) if one.other == other}
    places = [one for one in rows.every(db, ns) if one.path in known]
    return known_as(path, known - {""}, places) if path else path


def _fold(path: str) -> str:
    return "/".join(map(folded, path.split("/")))


def _new(work: Work, path: str) -> Place:
    return Place(work.ns, path, "", "[]", work.now, None, None, "[]")


def begin_merge(work: Work, src: str, dst: str) -> None:
    """Merge a scope into another one, or what that was merged into; see ``move``."""
    known = rows.merges(work.db, work.ns)
    where = resolved(dst, {path: into for path, into in known.items() if path != src})
    if contains(src, where):
        raise InvalidInput("dst", f"{shown(where)} is the scope {shown(src)} or inside it")
    place = rows.find(work.db, work.ns, src) or _new(work, src)
    if place.merged_into not in (None, where):
        problem = f"{shown(src)} is merged into {shown(place.merged_into)}; unmerge it first"
        raise InvalidInput("src", problem)
    if _widens(work.db, work.ns, src, where):  # others would see more than now
        problem = f"{shown(where)} is shared with others, and {shown(src)} is not; unshare it first"
        raise InvalidInput("dst", problem)
    made = replace(place, merged_at=place.merged_at or work.now, merged_into=where)
    _refuse_too_long(work, made)
    rows.put(work.db, made)


def _refuse_too_long(work: Work, place: Place) -> None:
    """Refuse a merge that would give a memory a path that no call could name."""
    paths = [one for one in rows.used(work.db, work.ns) if contains(place.path, one)]
    longest = max(paths, key=len, default=place.path)
    if len(moved_to(place, longest)) > MAX_LABEL:
        problem = f"would give {shown(longest)} a path of more than {MAX_LABEL} characters"
        raise InvalidInput("dst", problem)


def _widens(db: Transaction, ns: int, src: str, dst: str) -> bool:
    """Return whether a share shows ``dst`` or a part of it to one who does not see ``src``."""
    shares = rows.shares_of(db, ns)
    seers = {one.other for one in shares if contains(one.scope, dst) or contains(dst, one.scope)}
    return not seers <= {one.other for one in shares if contains(one.scope, src)}


def are_shared_since(work: Work, present: str, before: str, moment: int) -> bool:
    """Return whether moving a memory back would show it by a share made since ``moment``."""
    if present == before:
        return False
    shares = rows.shares_of(work.db, work.ns)
    see = {one.other for one in shares if contains(one.scope, present)}
    return any(
        one.since >= moment and one.other not in see and contains(one.scope, before)
        for one in shares
    )


def may_be_merged(db: Transaction, ns: int, place: Place) -> bool:
    """Return whether an imported merge hides or shows no memory here and makes no cycle."""
    where = resolved(place.merged_into or "", rows.merges(db, ns))
    if contains(place.path, where) or _widens(db, ns, place.path, where):
        return False
    return not rows.below(db, ns, place.path)


def to_move(db: Transaction, ns: int, src: str) -> list[int]:
    """Return what ``below`` returns, and refuse if the user locked one of them."""
    docids = rows.below(db, ns, src)
    locked = sorted(set(memories.locked(db, ns)).intersection(docids))
    locks.guard(memories.by_docids(db, ns, locked).values())
    return docids


def move(work: Work, docids: Sequence[int], src: str) -> list[Row]:
    """Move memories of a merged scope, and note this change in its row."""
    found = memories.by_docids(work.db, work.ns, docids)
    live = [found[docid] for docid in docids if docid in found]
    here = [row for row in live if contains(src, row.scope)]
    locks.guard(here)
    place = merged(work.db, work.ns, src)
    moved = [rescope(work, row, moved_to(place, row.scope)) for row in here]
    if moved:
        numbers = [*json.loads(place.merges), recorded.number_of(recorded.begin(work))]
        rows.put(work.db, replace(place, merges=json.dumps(numbers)))
    return moved


def rescope(work: Work, row: Row, scope: str) -> Row:
    """Put a memory into another scope, and settle who holds its slot there."""
    _put(work, row, scope)
    slots.contend(work, row, wins=lambda holder: _holds(row, holder))
    slots.fit(work, row)
    return memories.by_docid(work.db, row.docid)


def _put(work: Work, row: Row, scope: str) -> None:
    values = {"scope": scope, "version": row.version + 1}
    values["content_hash"] = identity(row, values)
    alter(work, row, values, Reason.UPDATED, Event.UPDATED, {"fields": ["scope"]})


def _holds(row: Row, holder: Row | None) -> bool:
    """Return whether a moved memory takes its slot: free, or held by an older, unlocked value."""
    if holder is None:
        return True
    return not locks.is_locked(holder) and holder.valid_from <= row.valid_from


def merged(db: Transaction, ns: int, src: str) -> Place:
    """Return the row of a scope, which must be merged."""
    place = rows.find(db, ns, src)
    if place is None or place.merged_into is None:
        raise InvalidInput("src", f"{shown(src)} is not merged into another scope")
    return place


def strays(db: Transaction, place: Place) -> list[tuple[int, str]]:
    """Find memories that are still where a merge moved them, after the merge was undone.

    ``undo`` leaves memories that were changed since; they move back with their present content.

    Returns:
        Row id and earlier scope of each, in order.
    """
    return sorted(dict(_strays(db, place)).items())


def _strays(db: Transaction, place: Place) -> Iterator[tuple[int, str]]:
    known = rows.merges(db, place.ns)
    for number in json.loads(place.merges):
        for ended in recorded.ended(db, docid_of(place.ns, number)):
            row = memories.by_docid(db, ended.docid)
            before = past.at_revision(db, row, ended.before).scope
            there = moved_to(place, before)  # or where a later merge moved it on to
            if contains(place.path, before) and row.scope in (there, resolved(there, known)):
                yield row.docid, before


def moved_to(place: Place, scope: str) -> str:
    """Return the present path of a merged scope, or of one inside it."""
    return f"{place.merged_into}{scope[len(place.path) :]}".strip("/")


def send_back(work: Work, those: Sequence[tuple[int, str]]) -> list[Row]:
    """Move memories back to their earlier scopes; those that the user locked stay.

    A value that was superseded only because of a merge holds again.
    """
    found = memories.by_docids(work.db, work.ns, [docid for docid, _ in those])
    moved = [
        rescope(work, found[docid], scope)
        for docid, scope in those
        if docid in found and not locks.is_locked(found[docid])
    ]
    for row in moved:
        for one in (row, *slot_rows.replaced_by(work.db, row)):
            if _gave_way_in_merge(work, one):
                slots.hold_again(work, one)
    return [memories.by_docid(work.db, row.docid) for row in moved]


def _gave_way_in_merge(work: Work, row: Row) -> bool:
    """Return whether a merge ended the last state in which a memory was active."""
    earlier = past.numbered(work.db, row.docid)
    ends = [number for state, number, _ in earlier if state.status in FOUND]
    if row.status in FOUND or not ends or ends[-1] is None:
        return False
    change_made = recorded.find(work.db, work.ns, ends[-1])
    return change_made is not None and change_made.kind == "merge_scopes"


def end_merge(work: Work, src: str) -> None:
    """End the merge of a scope, if it is merged."""
    place = rows.find(work.db, work.ns, src)
    if place is not None and place.merged_into is not None:
        rows.put(work.db, replace(place, merged_at=None, merged_into=None, merges="[]"))


def end_undone(work: Work, number: int) -> None:
    """End the merge of which a change was a part, if none of its memories is moved any more.

    Otherwise the memories moved back would be in a scope that means another one.
    """
    for place in rows.every(work.db, work.ns):
        part = place.merged_into is not None and number in json.loads(place.merges)
        if part and next(_strays(work.db, place), None) is None:
            end_merge(work, place.path)


def promote(work: Work, memory_id: str, scope: str) -> Row:
    """Move an active memory to a scope that contains its own."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status not in FOUND:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not active")
    if scope == row.scope or not contains(scope, row.scope):
        raise InvalidInput("scope", f"{shown(scope)} does not contain {shown(row.scope)}")
    locks.guard([row])
    _put(work, row, scope)
    slots.contend(work, row)
    return memories.by_docid(work.db, row.docid)
