"""What filled a slot before, and statements that conflict: ``memory.slots``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from memento.base.lazy import later
from memento.check import check_count, check_id, check_word
from memento.claims.standing import stands_higher
from memento.errors import InvalidInput
from memento.ledger import links, memories
from memento.ledger.contract import Transaction
from memento.ledger.rows import Row
from memento.types import Memory
from memento.views import Part, View
from memento.write.steps import FOUND, holds

if TYPE_CHECKING:
    from memento.write import settling, slots
else:
    settling = later("memento.write.settling")
    slots = later("memento.write.slots")


from memento.check import short_name
from memento.ledger import slot_rows
from memento.types import SlotValue
from memento.write import slots

SlotValues = list[SlotValue]
"""Named here, because inside some classes ``list`` is a method."""


_PATIENCE = 1.0
"""Seconds for which ``conflicts`` compares the statements that wait."""
ConflictStatus: TypeAlias = Literal["open", "resolved"]
Keep: TypeAlias = Literal["a", "b", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that seem to contradict each other.

    Attributes:
        a: The later statement.
        b: The earlier one.
        relation: ``contradicts``; ``echoes``, an agent repeated what ``b`` had superseded; or
            ``resolved``.
        reason: Why they were flagged; "" if either has changed since.
        higher: Id of the one that ranks first: the more trusted one or, if equal, the one that
            became valid later.
    """

    a: Memory
    b: Memory
    relation: str
    reason: str
    higher: str


class Slots(Part):
    """Manages slots, which hold one value at a time; available as ``memory.slots``.

    ``memory.value(key)`` returns the current value.
    """

    def history(self, key: str, *, scope: str = "") -> SlotValues:
        """Return all values of a slot, in the order in which they became valid.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Exact scope of the slot.

        Returns:
            The values, each with the period in which it was current and the reason it ended; see
            ``SlotValue``. Forgotten, quarantined and expired memories are not included. A slot
            without values has an empty history.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreUnusable: If a value is damaged.
        """
        slot, now = slot_of(self._view, key, scope), self._view.engine.now()
        return self._view.values(lambda c, ns: slot_rows.values(c, ns, slot, now))

    def revert(self, key: str, *, scope: str = "") -> Memory:
        """Restore the previous value of a slot, effective immediately.

        The previous value is added as a new memory with the same fields and with the original
        memory's id in ``source.parents``. The current or planned value is superseded and stays in
        the history. Reverting again restores the value that was replaced.

        The previous value is the newest earlier value that differs from the current one, or simply
        the newest earlier value if the current one was forgotten or has expired.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Exact scope of the slot.

        Returns:
            The memory that now fills the slot.

        Raises:
            InvalidInput: If there is no earlier value, or the earlier value is no longer valid.
            LockedMemory: If the current value is locked.
            StoreUnusable: If the previous value is damaged.
            StoreError: If the write fails.
        """
        slot = slot_of(self._view, key, scope)
        if (ns := self._view.ns) is None:
            raise slots.nothing_before(*slot)
        (row,) = self._view.change_together(
            ns, lambda work: [slots.revert(work, *slot)], verb="revert"
        )
        self._view.engine.background.words.fresh.add(ns)
        return self._view.memory(row)

    def conflicts(self, *, status: ConflictStatus = "open", limit: int = 100) -> list[Conflict]:
        """List pairs of memories that seem to contradict each other, newest first.

        New statements are compared with earlier ones in the background. This call first spends up
        to a second on statements that have not been compared yet; after adding a large batch, call
        it again to get the remaining pairs. Two statements by the same speaker conflict if they
        give different values for a slot, or if one negates the other with "not" or an antonym. Both
        statements remain active.

        Args:
            status: ``open`` or ``resolved``.
            limit: Maximum number of pairs, 1 to 1,000,000.

        Raises:
            InvalidInput: If an argument is invalid.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     first = memory.add("My editor is Vim")
        ...     second = memory.add("My editor is Helix")
        ...     [(one.a.text, one.reason) for one in memory.slots.conflicts()]
        ...     settled = memory.slots.resolve(second.id, first.id, keep="a")
        ...     len(memory.slots.conflicts()), memory.get(first.id).status.value
        [('My editor is Helix', 'another user/editor')]
        (0, 'superseded')
        """
        check_word("status", status, get_args(ConflictStatus))
        most = check_count("limit", limit)
        relations = links.CONFLICTS if status == "open" else [links.RESOLVED]
        if (ns := self._view.ns) is not None:
            self._view.engine.background.statements.compare(ns, monotonic() + _PATIENCE)

        now = self._view.engine.now() if status == "open" else None
        found = self._view.ask(lambda c, ns: [*islice(_pairs(c, ns, relations, now), most)]) or []
        return [self._conflict(one, other, name) for one, other, name in found]

    def _conflict(self, one: Row, other: Row, relation: str) -> Conflict:
        a, b = self._view.read([one, other])
        higher = stands_higher(slots.stand_of(one), slots.stand_of(other))
        return Conflict(a, b, relation, settling.compare(one, other), a.id if higher else b.id)

    def resolve(self, a: str, b: str, keep: Keep) -> tuple[Memory, Memory]:
        """Permanently resolve a conflict between two memories.

        Args:
            a: Id of a memory.
            b: Id of the other memory.
            keep: ``a`` or ``b``, which then supersedes the other; ``both`` if there is no conflict;
                ``neither`` to forget both.

        Returns:
            Both memories in their current state.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If ``keep`` is invalid, ``a`` and ``b`` are the same memory, either is
                quarantined or forgotten, or the memory to keep is not active.
            LockedMemory: If the user locked a memory that would be superseded or forgotten.
        """
        check_word("keep", keep, get_args(Keep))
        one, other = check_id(a), check_id(b)
        if one == other:
            raise InvalidInput("b", "is the same memory as a")
        rows = self._view.change_together(
            self._view.known_namespace(one),
            lambda work: settling.resolve(work, one, other, keep),
            verb="resolve",
        )
        first, second = self._view.read(rows)
        return first, second


def slot_of(view: View, key: str, scope: str) -> tuple[str, str]:
    """Accept the key and the scope of a slot."""
    return short_name("key", key), view.present_scope(scope)


_PAGE = 512
"""Number of links that are read at once."""


def _pairs(
    session: Transaction, ns: int, relations: Sequence[str], open_at: int | None
) -> Iterator[tuple[Row, Row, str]]:
    """Yield linked pairs, newest first; with ``open_at``, only those that both hold then."""
    for start in count(step=_PAGE):
        found = links.newest(session, ns, relations, _PAGE, skipped=start)
        docids = sorted({docid for src, dst, _ in found for docid in (src, dst)})
        rows = memories.by_docids(session, ns, docids)
        for src, dst, name in found:
            pair = [rows[docid] for docid in (src, dst) if docid in rows]
            closed = open_at is not None and not all(_is_open(one, open_at) for one in pair)
            if len(pair) == 2 and not closed:  # noqa: PLR2004 - both are stored
                yield pair[0], pair[1], name
        if len(found) < _PAGE:
            return


def _is_open(row: Row, now: int) -> bool:
    return row.status in FOUND and holds(row, now)
