"""Read the history of one memory and the statistics of a namespace. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memento.base import display, layout
from memento.base.clock import from_micros
from memento.errors import StoreUnusable
from memento.ledger import links, memories, namespaces, past, vectors
from memento.ledger import links as sql
from memento.ledger.changes import number_of
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.past import in_state, numbered
from memento.ledger.predicate import Filters
from memento.ledger.rows import MOST_LOCKED, WARN_LOCKED, Row, State, sound, to_memory
from memento.status import having, lacking
from memento.types import Diff, Memory, Reason, Status, Tier, Trust, Version
from memento.write.slots import is_planned
from memento.write.steps import ENDED


@dataclass(frozen=True, slots=True)
class Stats:
    """The state of a namespace and its store.

    Attributes:
        tiers: Number of active memories, by tier.
        hidden: Number of superseded, forgotten and quarantined memories, by status.
        backlog: Number of memories that the indexer still has to process, by operation.
        embedders: Number of stored vectors, by embedder.
        trouble: The parts that are not working, each with the reason. Only problems that affect the
            whole store or this namespace's memories are reported.
        redacted: Number of secrets removed from added or updated memories, by kind.
        locked: Number of memories that the user locked. If there are 80 or more, ``trouble``
            contains a warning.
        long: State of the long tier's index, which all namespaces share: ``cold``, ``ready`` ...
        ledger_bytes: Combined size of the ledger file and its log, for all namespaces; 0 if the
            token for a service is bound to a namespace.
    """

    tiers: Mapping[str, int]
    hidden: Mapping[str, int]
    backlog: Mapping[str, int]
    embedders: Mapping[str, int]
    trouble: Mapping[str, str]
    redacted: Mapping[str, int]
    locked: int
    long: str
    ledger_bytes: int

    __repr__ = display.brief

    @property
    def memories(self) -> int:
        """Number of active memories in the namespace."""
        return sum(self.tiers.values())


def stats(
    ledger: Ledger, ns: int | None, *, now: int, trouble: Mapping[str, str], long: str
) -> Stats:
    """Count the memories of a namespace and their backlog."""
    found = {} if ns is None else ledger.read(lambda c: memories.counts(c, ns, now), space=ns)
    locked = 0 if ns is None else len(ledger.read(lambda c: memories.locked(c, ns), space=ns))
    trouble = dict(trouble)
    if locked >= WARN_LOCKED:
        trouble["locks"] = f"{locked} of at most {MOST_LOCKED} memories are locked; unlock some"
    return Stats(
        tiers={tier.value: found.get(tier.value, 0) for tier in Tier},
        hidden={status: found.get(status, 0) for status in lacking("found")},
        backlog={} if ns is None else ledger.read(lambda c: vectors.backlog_size(c, ns), space=ns),
        embedders={} if ns is None else ledger.read(lambda c: vectors.embedders(c, ns), space=ns),
        trouble=trouble,
        redacted={}
        if ns is None
        else dict(ledger.read(lambda c: memories.redactions(c, ns), space=ns)),
        locked=locked,
        long=long,
        ledger_bytes=ledger.size(),
    )


def per_namespace(
    ledger: Ledger, now: int, below: tuple[str, ...] = ()
) -> dict[tuple[str, ...], int]:
    """Count the active memories of a namespace and of each below it, in order of their labels."""

    def count(session: Transaction) -> dict[tuple[str, ...], int]:
        tiers = {tier.value for tier in Tier}
        return {
            labels: sum(n for name, n in memories.counts(session, ns, now).items() if name in tiers)
            for ns, labels in sorted(namespaces.every(session), key=lambda one: one[1])
            if labels[: len(below)] == below
        }

    return ledger.read(count)


def history(ledger: Ledger, ns: int, memory_id: str, *, chain: bool = False) -> list[Version]:
    """Return every state of a memory, oldest first; the last is the present one.

    With ``chain`` also those of all memories of its chain of supersession, memory by memory, in the
    order in which they began to be valid.

    Raises:
        NotFound: If the namespace has no such id.
        StoreUnusable: If a state was damaged.
    """

    def job(connection: Transaction) -> list[Version]:
        row = memories.by_id(connection, ns, memory_id)
        if not chain:
            return _states(connection, row)
        rows = links.members(connection, ns, links.head(connection, row))
        return [state for one in rows for state in _states(connection, sound(one))]

    return ledger.read(job, space=ns)


def _states(connection: Transaction, row: Row) -> list[Version]:
    """Return every state of a memory, oldest first."""
    earlier = [
        _version(in_state(row, state), state, number, by)
        for state, number, by in numbered(connection, row.docid)
    ]
    return [*earlier, _version(row, None, None, None)]


def endings(rows: Sequence[Row], now: int) -> list[str]:
    """Say why each value of a slot ended, or that it holds or is planned; see ``SlotValue``."""
    starts = {row.id: row.valid_from for row in rows}
    return [_ending(row, starts.get(row.superseded_by or ""), now) for row in rows]


def _ending(row: Row, next_starts: int | None, now: int) -> str:
    """Say why one value ended; ``next_starts`` is when the one that superseded it began."""
    ends = row.valid_until
    if ends is not None and ends <= row.valid_from and row.created_at < row.valid_from:
        return "withdrawn"
    if is_planned(row, now):
        return "planned"
    if ends is None or ends > now:
        return Reason.PRESENT.value
    replaced = row.status in ENDED and (next_starts is None or next_starts <= ends)
    return Reason.SUPERSEDED.value if replaced else "ended"


def related(
    ledger: Ledger, ns: int, memory_id: str, filters: Filters
) -> list[tuple[Row, str, bool]]:
    """Return the memories linked from or to a memory that fit the filters, in order of arrival.

    Returns:
        For each link the memory at its other end, the relation, and whether the link leads there.

    Raises:
        NotFound: If the namespace has no such id.
        StoreUnusable: If a link was damaged.
    """

    def job(connection: Transaction) -> list[tuple[Row, str, bool]]:
        docid = memories.by_id(connection, ns, memory_id).docid
        links = sql.linked(connection, docid)
        ends = [(dst if src == docid else src, name, src == docid) for src, dst, name in links]
        found = memories.fitting(connection, ns, filters, [end for end, *_ in ends])
        rows = {row.docid: row for row in found}
        return [(rows[end], name, out) for end, name, out in sorted(ends) if end in rows]

    return ledger.read(job, space=ns)


def _version(row: Row, state: State | None, number: int | None, by: str | None) -> Version:
    """Describe a state of a memory, the present one if ``state`` is None.

    ``number`` and ``by`` are those of the change that ended it.
    """
    try:
        return Version(
            version=row.version,
            text=row.text,
            status=Status(row.status),
            tier=Tier(row.tier),
            until=None if state is None else from_micros(state.until),
            reason=Reason.PRESENT.value if state is None else state.reason,
            id=row.id,
            valid_from=from_micros(row.valid_from),
            valid_until=None if row.valid_until is None else from_micros(row.valid_until),
            change=None if number is None else number_of(number),
            by=None if by is None else Trust(by),
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreUnusable(
            layout.LEDGER,
            f"a state of memory {row.id!r} is damaged ({error}); run `memento doctor`",
        ) from error


_PARTS = ("added", "changed", "superseded", "archived", "forgotten", "restored")
_BY_TRAIT = {
    "found": "restored",
    "ended": "superseded",
    "by_name": "archived",
    "current": "changed",
}
"""Traits of the new status of a memory, to its part of a difference; the first one counts.
Without any of them it is hidden, like a forgotten one."""


def between(
    ledger: Ledger,
    ns: int | None,
    labels: tuple[str, ...],
    since: int,
    until: int,
    *,
    after: str | None,
    limit: int,
) -> Diff:
    """Compare a namespace at two recording times, microseconds; without one nothing differs.

    At most ``limit`` memories are compared: those that came after the one with the id ``after``.
    """
    parts: dict[str, dict[str, tuple[Memory | None, Memory]]] = {part: {} for part in _PARTS}

    def job(session: Transaction, ns: int) -> tuple[list[tuple[Row | None, Row]], str | None]:
        first = None if after is None else memories.by_id(session, ns, after, damaged=True).docid
        docids = past.touched_between(session, ns, since, until, after=first, limit=limit + 1)
        last = docids[limit - 1 : limit] if len(docids) > limit else []
        (more,) = past.names(session, last).values() or (None,)
        return list(_pairs(session, ns, docids[:limit], since, until)), more

    pairs, more = ([], None) if ns is None else ledger.read(lambda c: job(c, ns), space=ns)
    for before, then in pairs:
        was = None if before is None else to_memory(before, labels)
        now = to_memory(then, labels)
        if part := _part(was, now):
            parts[part][now.id] = was, now
    return Diff(from_micros(since), from_micros(until), **parts, more=more)  # type: ignore[arg-type]


def _pairs(
    session: Transaction, ns: int, docids: Sequence[int], since: int, until: int
) -> Iterator[tuple[Row | None, Row]]:
    """Yield the memories that may differ, as they were at both moments."""
    for _, row in sorted(memories.by_docids(session, ns, docids).items()):
        sound(row)
        after = past.at_moment(session, row, until)
        before = past.at_moment(session, row, since)
        if after is not None and (before or _was_accepted(session, after, until)):
            yield before, after


def _was_accepted(session: Transaction, row: Row, until: int) -> bool:
    """Return whether a memory was accepted at any moment up to another one."""
    then = (one for one, _, _ in past.numbered(session, row.docid) if one.until <= until)
    return any(one in having("accepted") for one in (row.status, *(one.status for one in then)))


def _part(before: Memory | None, after: Memory) -> str | None:
    """Return the part of the difference that a memory is in.

    None if it does not differ, or if it was accepted at neither moment.
    """
    doubted = before is not None and before.status is Status.QUARANTINED
    if doubted and after.status in (Status.QUARANTINED, Status.FORGOTTEN):
        return None
    if before is None:
        return None if after.status is Status.QUARANTINED else "added"
    if before.status is after.status:
        return None if _content(before) == _content(after) else "changed"
    if Status.QUARANTINED in (before.status, after.status):
        return "changed"
    parts = (part for trait, part in _BY_TRAIT.items() if after.status in having(trait))
    return next(parts, "forgotten")


def _content(memory: Memory) -> dict[str, object]:
    """Return what a memory says; not how often it was said, nor when it last changed."""
    said = memory.to_dict()
    return {name: said[name] for name in said if name not in ("updated_at", "reinforced")}
