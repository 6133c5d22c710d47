"""One table: the meaning of each status to every part of memento.

A part asks for a trait (``having("holds_slot")``, ``sql("in_ring")``) and not for the name of a
status. A new status is a member of ``types.Status``, a value of ``types.StatusName``, and a row
here; a schema whose indexes cannot serve it fails at import. Only a rule about a single status
names it, such as that quarantined memories await approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType

from memento.base import layout
from memento.errors import StoreUnusable
from memento.types import Status, StatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The meaning of one status.

    Attributes:
        found: ``retrieve``, ``list``, ``prompt`` and ``recent`` show it without being asked to.
        holds_slot: It fills the slot of its key; at most one memory of a slot has this trait.
        in_ring: It stands in the ring buffer of its session, if its tier is short.
        embedded: The indexer embeds it when the full text takes it in.
        owed_vector: The indexer embeds it whenever it came to this status, and ``doctor`` sees to
            it. A status with this trait is ``embedded`` too.
        in_index: Chroma holds its vector, if its tier is not short.
        in_statistics: It has a share in word frequencies, mean lengths, the span of dates, the list
            of people, and lends context to its neighbours.
        folds_repeats: Equal content that is added again is merged into it.
        by_name: ``retrieve`` shows it, without being asked to, if the query names its key or an
            alias.
        ended: It held once and was replaced: it answers for the past (``as_of``).
        current: It says what its source says now: it was neither replaced nor taken back.
        accepted: Only a memory that is trusted, or was approved, has this status.
        feels: Uses and verdicts change what is known of it, see ``memento.dynamics``.
        keeps_id: An id that it has cannot be taken by a trusted memory.
    """

    found: bool = False
    holds_slot: bool = False
    in_ring: bool = False
    embedded: bool = False
    owed_vector: bool = False
    in_index: bool = False
    in_statistics: bool = False
    folds_repeats: bool = False
    by_name: bool = False
    ended: bool = False
    current: bool = False
    accepted: bool = False
    feels: bool = False
    keeps_id: bool = True


TABLE: Mapping[Status, Traits] = MappingProxyType(
    {
        Status.ACTIVE: Traits(
            found=True,
            holds_slot=True,
            in_ring=True,
            embedded=True,
            owed_vector=True,
            in_index=True,
            in_statistics=True,
            folds_repeats=True,
            current=True,
            accepted=True,
            feels=True,
        ),
        Status.SUPERSEDED: Traits(
            embedded=True,
            owed_vector=True,
            in_statistics=True,
            ended=True,
            accepted=True,
            feels=True,
        ),
        Status.ARCHIVED: Traits(
            embedded=True,
            owed_vector=True,
            in_statistics=True,
            by_name=True,
            current=True,
            accepted=True,
            feels=True,
        ),
        Status.FORGOTTEN: Traits(
            feels=True,
            keeps_id=False,
        ),
        Status.QUARANTINED: Traits(
            embedded=True,
            folds_repeats=True,
            current=True,
            keeps_id=False,
        ),
    }
)
"""Every status and its traits."""

if missing := [status.value for status in Status if status not in TABLE]:
    raise TypeError(f"statuses without a row in memento.status.TABLE: {missing}")

if bare := [one.value for one, row in TABLE.items() if row.owed_vector and not row.embedded]:
    raise TypeError(f"owed_vector, but not embedded: {bare}")

FLAGS = frozenset(field.name for field in fields(Traits))
"""The traits."""


@cache
def having(*traits: str) -> tuple[StatusName, ...]:
    """Return the values of the statuses that have any of some traits, in the order of the table.

    Raises:
        KeyError: If there is no such trait.

    >>> having("current")
    ('active', 'archived', 'quarantined')
    >>> having("holds_slot", "ended")
    ('active', 'superseded')
    """
    if unknown := set(traits) - FLAGS:
        raise KeyError(*sorted(unknown))
    return tuple(
        status.value
        for status, row in TABLE.items()
        if any(getattr(row, trait) for trait in traits)
    )


def lacking(trait: str) -> tuple[StatusName, ...]:
    """Return the values of the statuses that lack a trait, in the order of the table."""
    have = having(trait)
    return tuple(status.value for status in TABLE if status.value not in have)


def sql(*traits: str) -> str:
    """Return the SQL condition that ``status`` has any of some traits.

    One status is compared by ``=``, as the partial indexes of the schema are.

    >>> sql("holds_slot")
    "status = 'active'"
    >>> sql("current")
    "status IN ('active', 'archived', 'quarantined')"
    """
    return _condition(having(*traits))


def sql_lacking(trait: str) -> str:
    """Return the SQL condition that ``status`` lacks a trait; see ``sql``."""
    return _condition(lacking(trait))


def _condition(statuses: tuple[str, ...]) -> str:
    if len(statuses) == 1:
        return f"status = '{statuses[0]}'"
    return "status IN ({})".format(", ".join(f"'{status}'" for status in statuses))


HEARD = frozenset(having("in_statistics"))
"""Statuses in normal standing. The others leave no trace in an answer that does not ask for them:
not in its statistics, in the names of participants, in sessions or in what is new."""


def check_transition(memory_id: str, before: str, after: str) -> None:
    """Accept a change of status.

    Raises:
        StoreUnusable: If one of the two is none, as after damage.
    """
    if before != after and not (before in TABLE and after in TABLE):
        raise StoreUnusable(
            layout.LEDGER, f"memory {memory_id!r} is {before}; it cannot be {after}"
        )
