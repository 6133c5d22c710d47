"""The settling pass: compare what is new with what is there, and settle or flag what conflicts.

It runs in the background thread. Each new statement is compared with a few earlier ones that have a
number of ``claims.keys`` in common with it. The effects:

===============  ===================================================================================
verdict          what is done
===============  ===================================================================================
``updates``      the later one supersedes the earlier one, if ``Conflicts.supersede`` allows it,
                 its speaker is trusted as much, and it holds without an end, a date or a condition;
                 else as ``contradicts``
``contradicts``  both stay, linked; the one of lower standing is ``doubted``
``refines``      both stay, linked
``distinct``     nothing
===============  ===================================================================================

An agent that says again what the user has superseded is linked as an echo of the present value.
Memories in quarantine are neither compared nor opposed. A memory that the user locked is never
superseded: the new one is flagged against it. A pair that a person settled is left alone.

A statement that says that something ended ("Fiona has left") is noted beside the earlier ones that
speak of it, and one that takes back a state in so many words ("I moved my bike from the cellar to
the shed") beside the earlier ones that claim that state. Both stay found: the read path lets the
later one be found by what finds the earlier one, and places it first, see ``retrieve.later``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType
from typing import NamedTuple

from memento.base.scopes import contains
from memento.claims.claim_reader import NOTHING, Statement, read
from memento.claims.keys import keys_of, keys_of_states
from memento.claims.relation import DISTINCT, Verdict, relation, restates, succeeds
from memento.claims.settings import Conflicts
from memento.claims.standing import ASSISTANT
from memento.claims.states import State
from memento.errors import InvalidInput, LockedMemory
from memento.ledger import changes, claim_rows, links, memories, past
from memento.ledger.contract import Session, Work
from memento.ledger.links import head
from memento.ledger.match import All, Word
from memento.ledger.rows import Row, docid_of, is_sound
from memento.ledger.schema import SEQ_MASK
from memento.text.ended import ended
from memento.types import Event, Kind, Reason, Status, Trust
from memento.write import locks, slots
from memento.write.steps import ACCEPTED, ENDED, FOUND, hide, holds, log_event

BITE = 32
"""Maximum number of memories that one transaction compares: about 10 ms, during which an ``add``
waits."""
LONGEST = 400
"""Maximum length of a text that is read as a statement, characters."""
RARE = 9
"""Maximum number of memories, the new one among them, that name a thing that ended."""
MOST_NAMING = 1_000
"""Memories that name a thing from which it is not rare, whenever they came."""
MOST_ALIKE = 24
"""Maximum number of memories in one state that a statement which takes it back is noted beside."""
SURE = 0.8
"""Minimum probability with which a judge may flag a pair."""
VERB = "settle"
"""The name of the pass among the changes."""
NEVER = frozenset({Kind.EPISODE, Kind.EMOTION, Kind.QUESTION, Kind.ARTICLE})
"""Kinds that tell what happened or was felt, and claim nothing that lasts."""


class Reading(NamedTuple):
    """The reading of a text; all is empty if it is too long, or of no memory that is compared."""

    said: Statement = NOTHING
    numbers: frozenset[int] = frozenset()
    """What it has in common with what it is compared with."""
    gone: frozenset[frozenset[str]] = frozenset()
    """The things of which it says that they ended."""


Readings = Mapping[str, Reading]
"""Texts that were read."""
_NONE: Readings = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settled:
    """The work that one transaction of the pass did.

    Attributes:
        more: Whether there may be more to compare.
        rows: The memories that were superseded.
    """

    more: bool
    rows: tuple[Row, ...] = ()


def read_ahead(rows: Iterable[Row], config: Conflicts) -> Readings:
    """Read the texts of statements, so that no transaction has to, for which an ``add`` waits."""
    readings: dict[str, Reading] = {}
    for row in rows:
        if config.pairs and _is_readable(row):
            said = statement_of(row, config)
            readings[row.text] = Reading(said, keys_of(said, row.ns), ended(row.text))
    return readings


def settle_next(
    work: Work, config: Conflicts, most: int = BITE, known: Readings = _NONE
) -> Settled:
    """Compare the next statements of a namespace; a supersession ends the transaction.

    So each supersession is a change of its own, which can be undone alone.
    """
    session, ns = work.db, work.ns
    rev = claim_rows.cursor(session, ns)
    found = past.next_rows(session, ns, rev, most)
    superseded: list[Row] = []
    for place, row in found:
        rev = place
        superseded = _settle(work, row, config, known)
        if superseded:
            changes.finish(work, VERB, Trust(row.trust))
            break
    done = rev if found else memories.latest_rev(session, ns)
    claim_rows.move_cursor(session, ns, done)
    return Settled(bool(found), tuple(superseded))


def statement_of(row: Row, config: Conflicts) -> Statement:
    """Read a memory; nothing if it is not one that is compared."""
    if not _is_readable(row):
        return NOTHING
    return read(row.text, config.nouns)


def _is_readable(row: Row) -> bool:
    accepted = row.status in ACCEPTED and row.kind not in NEVER and is_sound(row)
    return accepted and len(row.text) <= LONGEST


def compared_up_to(session: Session, ns: int) -> int:
    """Return the row id before which all memories of a namespace were compared."""
    return docid_of(ns, claim_rows.cursor(session, ns) + 1)


def misread(session: Session, ns: int, config: Conflicts, sample: int) -> int:
    """Count those of the newest compared memories whose numbers are not those of their text."""
    if not config.pairs or claim_rows.behind(session, ns):
        return 0  # a memory that changed since is read again soon
    rows = claim_rows.newest(session, ns, compared_up_to(session, ns), sample)
    return sum(_is_misread(session, row, config) for row in rows)


def _is_misread(session: Session, row: Row, config: Conflicts) -> bool:
    """Return whether the numbers of a memory, or the memories it may succeed, are not all there.

    Pairs are compared only of memories that are as they came: only those are told by their texts.
    """
    if _numbers(row, config) != claim_rows.keys(session, row.docid):
        return True
    if not _is_unchanged(row) or row.status not in FOUND or memories.erased_at(session, row.ns):
        return False
    wanted = _succeeded(session, row, unchanged=True)
    taken = _taken_back(session, row, statement_of(row, config), config)
    wanted |= {other.docid for other in taken if _is_unchanged(other)}
    return not wanted <= claim_rows.succeeded_by(session, row.docid)


def _is_unchanged(row: Row) -> bool:
    """Return whether a memory is as it came."""
    return row.rev == row.docid & SEQ_MASK


def read_again(session: Session, ns: int, config: Conflicts, before: int, most: int) -> int | None:
    """Store what is derived of memories again that were compared before; compares nothing.

    Args:
        session: Of a job that writes.
        ns: Namespace number.
        config: Settings.
        before: Row id before which they came.
        most: Maximum number of memories.

    Returns:
        The row id of the last one, from which to go on; None if there are no more.
    """
    rows, compared = claim_rows.newest(session, ns, before, most), claim_rows.cursor(session, ns)
    for row in rows:
        if not is_sound(row) or row.rev <= compared:  # else it is compared soon: by what is stored
            claim_rows.store(session, row.docid, _numbers(row, config))
        claim_rows.note_later(session, row.docid, _succeeded(session, row))
        _note_taken_back_by(session, row, config)
    return rows[-1].docid if len(rows) == most else None


def reread(session: Session, row: Row) -> None:
    """Store what is derived of a memory that got an earlier text back, by the default settings.

    Compares nothing: it was compared when it had that text.
    """
    config = Conflicts()
    found = _numbers(row, config)
    if found == claim_rows.keys(session, row.docid):
        return
    claim_rows.store(session, row.docid, found)
    claim_rows.note_successions(session, row.docid, _succeeded(session, row))
    _note_taken_back(session, row, statement_of(row, config), config)
    _note_taken_back_by(session, row, config)


def _numbers(row: Row, config: Conflicts) -> frozenset[int]:
    return keys_of(statement_of(row, config), row.ns)


def _settle(work: Work, row: Row, config: Conflicts, known: Readings) -> list[Row]:
    """Compare one memory with earlier ones; returns those that were superseded."""
    readings = known if row.text in known and _is_readable(row) else read_ahead([row], config)
    reading = readings.get(row.text, Reading())
    said, found = reading.said, reading.numbers
    stored = claim_rows.keys(work.db, row.docid)
    if found == stored:  # compared before: only its status or another column changed
        if not found and reading.gone:  # or of one that has no numbers: it may be new
            claim_rows.note_successions(work.db, row.docid, _succeeded(work.db, row, reading.gone))
        return []
    if stored:  # else its links came with it from another store, as doubts in the log did
        links.drop(work.db, row.docid, links.MADE)
    claim_rows.store(work.db, row.docid, found)
    claim_rows.note_successions(work.db, row.docid, _succeeded(work.db, row, reading.gone))
    _note_taken_back(work.db, row, said, config)
    if row.status not in FOUND or not holds(row, work.now):
        return []
    superseded = []
    for other in _candidates(work, row, sorted(found), config.pairs):
        if other.status not in FOUND:
            _note_echo(work, row, said, other, config)
            continue
        new, old = (row, other) if _is_later(row, other) else (other, row)
        gone = _carry_out(work, new, old, config)
        if gone is not None:
            superseded.append(gone)
        if gone is row:
            break
    return superseded


def _succeeded(
    session: Session,
    row: Row,
    gone: frozenset[frozenset[str]] | None = None,
    *,
    unchanged: bool = False,
) -> set[int]:
    """Return earlier memories of the same speaker that speak of a thing that ended, as one says.

    Only notes outside of conversations are looked at, and only things that few memories named
    until then: what comes later changes nothing.

    Args:
        session: Of any job.
        row: The memory.
        gone: The things of which it says that they ended; None to read its text.
        unchanged: Only memories that are as they came.
    """
    found: set[int] = set()
    if not _is_note(row) or row.status not in FOUND:
        return found
    own = row.docid & SEQ_MASK
    for thing in sorted(map(sorted, ended(row.text) if gone is None else gone)):
        named = All(tuple(Word(word) for word in thing))
        (seqs,) = session.words.postings(row.ns, [named], MOST_NAMING)
        until = [int(seq) for seq in seqs if seq <= own]
        if len(seqs) < MOST_NAMING and len(until) <= RARE:
            found.update(docid_of(row.ns, seq) for seq in until)
    rows = memories.by_docids(session, row.ns, sorted(found - {row.docid}))
    return {
        docid
        for docid, other in rows.items()
        if docid < row.docid
        and _is_note(other)
        and speaker(other) == speaker(row)
        and (_is_unchanged(other) or not unchanged)
    }


def _note_taken_back(session: Session, row: Row, said: Statement, config: Conflicts) -> None:
    older = [old.docid for old in _taken_back(session, row, said, config)]
    claim_rows.note_later(session, row.docid, older)


def _taken_back(session: Session, row: Row, said: Statement, config: Conflicts) -> list[Row]:
    """Return earlier memories of the same speaker whose state one takes back in so many words."""
    return [
        old
        for old in _of_states(session, row, said.taken)
        if _may_succeed(row, old) and succeeds(said, statement_of(old, config))
    ]


def _note_taken_back_by(session: Session, row: Row, config: Conflicts) -> None:
    """Note a memory as succeeded by later ones of the same speaker that take back its state."""
    said = statement_of(row, config)
    for new in _of_states(session, row, said.states):
        if _may_succeed(new, row) and succeeds(statement_of(new, config), said):
            claim_rows.note_later(session, new.docid, [row.docid])


def _of_states(session: Session, row: Row, states: Iterable[State]) -> Iterable[Row]:
    """Return other memories that claim or take back some states, the newest first."""
    found = keys_of_states(states, row.ns)
    docids = claim_rows.sharing(session, found, row.docid, MOST_ALIKE) if found else []
    return memories.by_docids(session, row.ns, docids).values()


def _may_succeed(new: Row, old: Row) -> bool:
    """Tell whether one may be placed before an earlier one: it is no older, of the same speaker."""
    came = old.docid < new.docid and old.valid_from <= new.valid_from
    nested = contains(old.scope, new.scope) or contains(new.scope, old.scope)
    return came and nested and new.status in FOUND and speaker(new) == speaker(old)


def _is_note(row: Row) -> bool:
    """Return whether a memory is a short statement of a person outside of a conversation."""
    plain = row.session is None and row.role != ASSISTANT and row.kind not in NEVER
    return plain and row.status in ACCEPTED and is_sound(row) and len(row.text) <= LONGEST


def _candidates(work: Work, row: Row, found: list[int], most: int) -> Iterator[Row]:
    """Yield the memories to compare with one, the newest first: those of its or a wider scope."""
    docids = claim_rows.sharing(work.db, found, row.docid, most)
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


def _is_later(row: Row, other: Row) -> bool:
    return (row.valid_from, row.docid) > (other.valid_from, other.docid)


def compare(new: Row, old: Row, config: Conflicts) -> Verdict:
    """Compare two memories, the later one first."""
    said, before = statement_of(new, config), statement_of(old, config)
    same = speaker(new) == speaker(old)
    verdict = relation(said, before, same_speaker=same)
    if verdict.kind != "distinct" or config.judge is None or not (said.words and before.words):
        return verdict
    kind, probability = config.judge.judge(new.text, old.text)
    if kind in ("updates", "contradicts") and probability >= SURE:
        return Verdict("contradicts", "the judge says so")
    return DISTINCT


def speaker(row: Row) -> tuple[str, str]:
    """Tell who "I" is in a memory: the class of its source, and its speaker."""
    return row.trust, row.actor or row.role or "user"


def _carry_out(work: Work, new: Row, old: Row, config: Conflicts) -> Row | None:
    """Do what the verdict on two memories asks for; returns the one that was superseded."""
    verdict = compare(new, old, config)
    if verdict.kind == "updates" and _may_supersede(new, old, verdict, config):
        if _was_taken_back(work, new, old):
            return None
        with suppress(LockedMemory):
            if slots.supersede(work, old, new, verdict.why):
                return old
        log_event(work, new, Event.REFUSED, {"against": old.id})
    if verdict.kind in ("updates", "contradicts"):
        slots.oppose(work, new, old)
    elif verdict.kind == "refines":
        changes.link(work, new.docid, old.docid, "refines")
    return None


def _may_supersede(new: Row, old: Row, verdict: Verdict, config: Conflicts) -> bool:
    """Return whether an update may supersede without asking."""
    allowed = config.supersede == "updates" or (config.supersede == "explicit" and verdict.explicit)
    same_place = new.scope == old.scope and (old.key is None or old.key == new.key)
    bounds = (new.valid_until, new.expires_at, new.condition, new.due_at)
    for_good = all(bound is None for bound in bounds)  # else nothing would be left afterwards
    return (
        allowed and same_place and for_good and slots.stand_of(new).rank <= slots.stand_of(old).rank
    )


def _was_taken_back(work: Work, new: Row, old: Row) -> bool:
    """Return whether one superseded an earlier memory before, and somebody took that back.

    The earlier states of a memory go with it into an export, so what was decided in one store holds
    in another, where both are compared again. Not if either has another text since.
    """
    ends = [
        state.until
        for state in memories.versions(work.db, old)
        if state.status in ENDED
        and state.text == old.text
        and past.in_state(old, state).superseded_by == new.id
    ]
    if not ends:
        return False
    later = (state for state in memories.versions(work.db, new) if state.until >= max(ends))
    return all(state.text == new.text for state in later)


def _note_echo(work: Work, row: Row, said: Statement, other: Row, config: Conflicts) -> None:
    """Link what an agent says again of a superseded memory to the memory that holds now."""
    if slots.stand_of(row).rank <= slots.stand_of(other).rank or not restates(
        said, statement_of(other, config)
    ):
        return
    present = memories.by_ids(work.db, work.ns, [head(work.db, other)])
    for heir in present.values():
        if heir.status in FOUND and heir.docid != row.docid:
            changes.link(work, row.docid, heir.docid, "echoes")


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
    _check_settled(one, other, keep)
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


def _check_settled(one: Row, other: Row, keep: str) -> None:
    """Accept a pair: to be superseded makes a memory one that once held, so it must be accepted."""
    for field, row in (("a", one), ("b", other)):
        if row.status not in ACCEPTED:
            quarantined = row.status == Status.QUARANTINED
            todo = "approve or reject it" if quarantined else "restore it, or leave it forgotten"
            raise InvalidInput(field, f"{row.id!r} is {row.status}; {todo}")
        if keep == field and row.status not in FOUND:
            raise InvalidInput("keep", f"{row.id!r} is {row.status}, not active; it cannot be kept")
