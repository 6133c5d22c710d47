"""The settling pass: compare new statements with earlier ones, and note contradictions.

It runs in the background thread and never hides anything. Each new statement is compared with the
few earlier ones that share a number with it: a hash of its slot or of what it is about.

- If it gives a single-valued slot (``observe.slots``) another value, or is the negation or the
  opposite, both stay, linked as ``contradicts``, and the one of lower standing is ``doubted``.
  ``conflicts()`` lists them.
- If an agent repeats what the user has superseded, it is linked as an echo of the present value.

Quarantined memories are not compared. A pair that a person settled is left alone.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import permutations
from operator import neg
from types import MappingProxyType
from typing import NamedTuple

from memento.base.scopes import contains
from memento.claims.settings import Conflicts
from memento.claims.standing import ASSISTANT
from memento.errors import InvalidInput
from memento.ledger import changes, claim_rows, links, memories, past
from memento.ledger.contract import Transaction, Work
from memento.ledger.links import head
from memento.ledger.rows import Row, docid_of, is_sound
from memento.observe.signals import Signal
from memento.observe.slots import Slot, slots_under
from memento.text.opposed import LONGEST, opposed, stance
from memento.types import Kind, Reason, Status, Trust
from memento.write import locks, slots
from memento.write.steps import ACCEPTED, ENDED, FOUND, hide, holds

BITE = 64
"""Maximum number of memories that one transaction compares: about 10 ms, during which an ``add``
waits."""
NEVER = frozenset({Kind.EPISODE, Kind.EMOTION, Kind.QUESTION, Kind.ARTICLE})
"""Kinds that tell what happened or was felt, and claim nothing that lasts."""
_SIGNALS = {Kind.RULE: (Signal.RULE,), Kind.PREFERENCE: (Signal.PREFERENCE,)}
"""Kinds to the signals by which their slot is read."""
_USUAL = (Signal.IDENTITY, Signal.PREFERENCE, Signal.FACT)


class Reading(NamedTuple):
    """What was read from a text; empty if it is too long or its memory is never compared."""

    slot: Slot | None = None
    numbers: frozenset[int] = frozenset()
    """Hashes; statements that share one are compared."""


Readings = Mapping[tuple[int, int], Reading]
"""Row ids and revisions of memories, each with its reading."""
_NONE: Readings = MappingProxyType({})


def read_ahead(rows: Iterable[Row], config: Conflicts) -> Readings:
    """Read the texts of statements before a transaction, for which an ``add`` would wait."""
    return {(row.docid, row.rev): _read(row) for row in rows if config.pairs and _is_readable(row)}


def _read(row: Row) -> Reading:
    slot, about = slot_in(row), stance(row.text).about
    named = () if slot is None else (_number(row.ns, "slot", slot.key),)
    said = (_number(row.ns, "about", *about),) if about else ()
    return Reading(slot, frozenset({*named, *said}))


def slot_in(row: Row) -> Slot | None:
    """Return the single-valued slot that a statement explicitly fills, or None."""
    if row.signal in tuple(Signal):
        signals: tuple[Signal, ...] = (Signal(row.signal),)
    else:
        signals = _SIGNALS.get(Kind(row.kind), _USUAL)
    found = slots_under(row.text, signals, row.condition)
    return next((slot for slot in found if slot.single), None)


def _number(*parts: object) -> int:
    digest = blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 2) + 1


def settle_next(work: Work, config: Conflicts, most: int = BITE, known: Readings = _NONE) -> bool:
    """Compare the next statements of a namespace; returns whether there may be more."""
    session, ns = work.db, work.ns
    rev = claim_rows.cursor(session, ns)
    found = past.next_rows(session, ns, rev, most)
    _settle(work, [row for _, row in found], config, known)
    done = found[-1][0] if found else memories.latest_rev(session, ns)
    claim_rows.move_cursor(session, ns, done)
    return bool(found)


def _is_readable(row: Row) -> bool:
    accepted = row.status in ACCEPTED and row.kind not in NEVER and is_sound(row)
    return accepted and len(row.text) <= LONGEST


def compared_up_to(session: Transaction, ns: int) -> int:
    """Return the row id before which all memories of a namespace were compared."""
    return docid_of(ns, claim_rows.cursor(session, ns) + 1)


def misread(session: Transaction, ns: int, config: Conflicts, sample: int) -> int:
    """Count the newest compared memories whose stored numbers do not match their text."""
    if not config.pairs or claim_rows.behind(session, ns):
        return 0  # a memory that changed since is read again soon
    rows = claim_rows.newest(session, ns, compared_up_to(session, ns), sample)
    stored = claim_rows.keys(session, [row.docid for row in rows])
    return sum(_numbers(row, config) != stored.get(row.docid, frozenset()) for row in rows)


def read_again(
    session: Transaction, ns: int, config: Conflicts, before: int, most: int
) -> int | None:
    """Store again what is derived from memories, the newest first; compares nothing.

    Args:
        session: Transaction of a writer job.
        ns: Namespace number.
        config: Settings.
        before: Only memories with a smaller row id.
        most: Maximum number of memories.

    Returns:
        The last row id, to be the next ``before``; None if there are no more.
    """
    rows, compared = claim_rows.newest(session, ns, before, most), claim_rows.cursor(session, ns)
    due = [row for row in rows if not is_sound(row) or row.rev <= compared]
    claim_rows.store(session, {row.docid: _numbers(row, config) for row in due})  # others: soon
    return rows[-1].docid if len(rows) == most else None


def reread(session: Transaction, row: Row) -> None:
    """Store what is derived from a memory that got an earlier text back, with default settings.

    It is not compared: it was when it had that text.
    """
    claim_rows.store(session, {row.docid: _numbers(row, Conflicts())})


def _numbers(row: Row, config: Conflicts) -> frozenset[int]:
    return read_ahead([row], config).get((row.docid, row.rev), Reading()).numbers


def _settle(work: Work, rows: Sequence[Row], config: Conflicts, known: Readings) -> None:
    """Compare memories with earlier ones, in order."""
    late = [row for row in rows if (row.docid, row.rev) not in known]
    readings = {**known, **read_ahead(late, config)} if late else known
    stored = claim_rows.keys(work.db, [row.docid for row in rows])
    due: list[tuple[Row, Reading, frozenset[int]]] = []
    for row in rows:
        reading = readings.get((row.docid, row.rev), Reading())
        before = stored.get(row.docid, frozenset())
        if reading.numbers != before:  # else only its status or another column changed
            due.append((row, reading, before))
    if not due:
        return
    asked = sorted({key for _, reading, _ in due for key in reading.numbers})
    sharing = defaultdict(list, claim_rows.sharing(work.db, asked, config.pairs + len(due)))
    claim_rows.store(work.db, {row.docid: reading.numbers for row, reading, _ in due})
    for row, reading, before in due:
        if before:  # else its links were imported with it, as doubts in the log were
            links.drop(work.db, row.docid, links.CONFLICTS)
        for key in before.intersection(sharing):
            sharing[key] = [docid for docid in sharing[key] if docid != row.docid]
        if row.status in FOUND and holds(row, work.now):
            _compare_with(work, row, reading, config.pairs, sharing)
        for key in reading.numbers:
            insort(sharing[key], row.docid, key=neg)


def _compare_with(
    work: Work, row: Row, reading: Reading, most: int, sharing: Mapping[int, Sequence[int]]
) -> None:
    """Compare one memory with the newest that share each of its hashes."""
    near = {docid for key in reading.numbers for docid in sharing[key][:most]}
    others = list(_candidates(work, row, sorted(near, reverse=True), most)) if near else []
    ended_ones = [other for other in others if other.status not in FOUND]
    if any(_note_echo(work, row, reading, other) for other in ended_ones):
        return
    for other in others:
        if other.status in FOUND and compare(row, other):
            later = (row.valid_from, row.docid) > (other.valid_from, other.docid)
            slots.oppose(work, *((row, other) if later else (other, row)))


def compare(one: Row, other: Row) -> str:
    """Return why two memories cannot both be true; "" if nothing speaks against it."""
    if not (_is_readable(one) and _is_readable(other)) or _self(one) != _self(other):
        return ""
    if opposed(one.text, other.text):
        return "the opposite"
    slot, known = slot_in(one), slot_in(other)
    if slot is None or known is None or slot.key != known.key or slot.value == known.value:
        return ""
    return f"another {slot.key}"


def _candidates(work: Work, row: Row, docids: list[int], most: int) -> Iterator[Row]:
    """Yield the memories to compare with one, newest first: of its, a wider or narrower scope."""
    rows = memories.by_docids(work.db, work.ns, docids)
    count = 0
    for docid in docids:
        other = rows.get(docid)
        if other is None or count == most or not _is_comparable(work, row, other):
            continue
        if not links.are_linked(work.db, row.docid, docid, links.RESOLVED):
            count += 1
            yield other


def _is_comparable(work: Work, row: Row, other: Row) -> bool:
    accepted = other.status in ACCEPTED and other.kind not in NEVER and is_sound(other)
    nested = contains(other.scope, row.scope) or contains(row.scope, other.scope)
    return accepted and nested and (other.status not in FOUND or holds(other, work.now))


def _self(row: Row) -> tuple[str | None, bool]:
    """Return whom "my" means in a memory, whoever wrote it down."""
    return row.actor, row.role == ASSISTANT


def _note_echo(work: Work, row: Row, reading: Reading, other: Row) -> bool:
    """Link an agent's repeat of a superseded memory to the one that holds now."""
    if slots.stand_of(row).rank <= slots.stand_of(other).rank:
        return False
    slot = slot_in(other)
    if (slot is None or slot != reading.slot) and stance(row.text) != stance(other.text):
        return False
    present = memories.by_ids(work.db, work.ns, [head(work.db, other)])
    heirs = [one for one in present.values() if one.status in FOUND and one.docid != row.docid]
    for heir in heirs:
        changes.link(work, row.docid, heir.docid, "echoes")
    return bool(heirs)


def unflag(work: Work, one_id: str, other_id: str) -> None:
    """Remove the flags of a pair that somebody settled elsewhere, after it was compared here."""
    ends = sorted(memories.docids_of(work.db, work.ns, [one_id, other_id]).values())
    for src, dst in permutations(ends, 2):
        for name in links.CONFLICTS:
            changes.unlink(work, src, dst, name)


def resolve(work: Work, one_id: str, other_id: str, keep: str) -> tuple[Row, Row]:
    """Settle a pair: which one holds, both or neither. It is never flagged again."""
    session, ns = work.db, work.ns
    one, other = memories.by_id(session, ns, one_id), memories.by_id(session, ns, other_id)
    for field, row in (("a", one), ("b", other)):
        if row.status not in ACCEPTED:
            quarantined = row.status == Status.QUARANTINED
            todo = "approve or reject it" if quarantined else "restore it, or leave it forgotten"
            raise InvalidInput(field, f"{row.id!r} is {row.status}; {todo}")
        if keep == field and row.status not in FOUND:
            raise InvalidInput("keep", f"{row.id!r} is {row.status}, not active; it cannot be kept")
    changes.begin(work)
    unflag(work, one.id, other.id)
    changes.link(work, one.docid, other.docid, links.RESOLVED)
    if keep == "neither":
        locks.guard([one, other])
        hide(work, one, Reason.FORGOTTEN)
        hide(work, other, Reason.FORGOTTEN)
    elif keep != "both":
        kept, gone = (one, other) if keep == "a" else (other, one)
        if gone.status not in ENDED:
            if kept.key is None and kept.scope == gone.scope and gone.key is not None:
                slots.rekey(work, kept, gone.key)  # else its slot would be empty
            slots.supersede(work, gone, kept, "resolved", by=Trust.USER)
    return one, other
