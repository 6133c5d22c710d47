"""Reading what happened: history of one memory, and the state of the whole. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memento.errors import StoreUnusable
from memento.ledger import memories, vectors
from memento.ledger.ledger import Ledger
from memento.ledger.rows import damaged, from_micros, is_changed_state
from memento.ledger.sqlite import Connection
from memento.types import Status, Tier, Version


@dataclass(frozen=True, slots=True)
class Stats:
    """The state of one namespace and of the store it is in.

    Attributes:
        tiers: Live memories by tier.
        hidden: Superseded, forgotten and quarantined memories by status.
        backlog: What the indexer still owes, in all namespaces, by operation.
        embedders: Stored vectors by the embedder that made them, in all namespaces.
        trouble: What does not work at present, by part.
        redacted: Secrets taken out of what was added or updated, by kind.
        long: State of the long tier's index: ``cold``, ``ready`` ...
        ledger_bytes: Size of the ledger file and its log.
    """

    tiers: Mapping[str, int]
    hidden: Mapping[str, int]
    backlog: Mapping[str, int]
    embedders: Mapping[str, int]
    trouble: Mapping[str, str]
    redacted: Mapping[str, int]
    long: str
    ledger_bytes: int

    @property
    def memories(self) -> int:
        """Live memories in the namespace."""
        return sum(self.tiers.values())


def stats(
    ledger: Ledger, ns: int | None, *, now: int, trouble: Mapping[str, str], long: str
) -> Stats:
    """Count what a namespace holds."""
    found = {} if ns is None else ledger.read(lambda c: memories.counts(c, ns, now))
    return Stats(
        tiers={tier.value: found.get(tier.value, 0) for tier in Tier},
        hidden={
            status.value: found.get(status.value, 0)
            for status in Status
            if status is not Status.ACTIVE
        },
        backlog=ledger.read(vectors.backlog_size),
        embedders=ledger.read(vectors.embedders),
        trouble=dict(trouble),
        redacted={} if ns is None else dict(ledger.read(lambda c: memories.redactions(c, ns))),
        long=long,
        ledger_bytes=ledger.path.stat().st_size + ledger.wal_bytes(),
    )


def history(ledger: Ledger, ns: int, memory_id: str) -> list[Version]:
    """Return every state of a memory, oldest first; the last is the present one.

    Raises:
        NotFound: If the namespace has no such id.
        StoreUnusable: If a state was damaged.
    """

    def job(connection: Connection) -> list[Version]:
        row = memories.by_id(connection, ns, memory_id)
        states = memories.states(connection, row.docid)
        if any(is_changed_state(row, state) for state in states):
            raise StoreUnusable("ledger.db", f"an earlier state of {damaged([memory_id])}")
        earlier = [_version(memory_id, *state[:6]) for state in states]
        present = (row.version, row.text, row.status, row.tier, None, "present")
        return [*earlier, _version(memory_id, *present)]

    return ledger.read(job)


def _version(
    memory_id: str, version: int, text: str, status: str, tier: str, until: int | None, reason: str
) -> Version:
    try:
        ended = None if until is None else from_micros(until)
        return Version(version, text, Status(status), Tier(tier), ended, reason)
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreUnusable(
            "ledger.db",
            f"a state of memory {memory_id!r} is damaged ({error}); run `memento doctor`",
        ) from error
