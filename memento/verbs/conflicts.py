"""See the statements that conflict, and settle them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from memento.base.lazy import later
from memento.check import check_count, check_id, check_word
from memento.claims.standing import stands_higher
from memento.errors import InvalidInput
from memento.ledger import links, memories
from memento.ledger.contract import Session
from memento.ledger.rows import Row
from memento.types import Memory
from memento.views import View
from memento.write.steps import FOUND, holds

if TYPE_CHECKING:
    from memento.write import settling, slots
else:
    settling = later("memento.write.settling")
    slots = later("memento.write.slots")

ConflictStatus: TypeAlias = Literal["open", "resolved"]
Keep: TypeAlias = Literal["a", "b", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that cannot both hold, as it seems.

    Attributes:
        a: The later statement.
        b: The earlier one.
        relation: ``contradicts``; ``echoes``, an agent said again what was superseded by ``b``; or
            ``resolved``.
        reason: Why they were flagged, in words of memento; "" if they changed since.
        higher: Id of the one that stands higher and is placed first: by the trust of its source,
            then by how late it holds since.
    """

    a: Memory
    b: Memory
    relation: str
    reason: str
    higher: str


class Conflicting(View):
    """The verbs about conflicts: ``MemoryManager`` has them all."""

    def conflicts(self, *, status: ConflictStatus = "open", limit: int = 100) -> list[Conflict]:
        """List pairs of memories that seem to contradict each other, the newest first.

        A statement is compared with earlier ones in the background, soon after it was added;
        ``flush(wait=True)`` waits for that. One that says that something changed supersedes what
        it names (see ``Conflicts``); other conflicts are flagged, and both memories stay.

        Args:
            status: ``open``, or ``resolved`` for the pairs that were settled.
            limit: Most pairs, 1 to 1,000,000.

        Raises:
            InvalidInput: If an argument cannot be accepted.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     first = memory.add("My editor is Vim")
        ...     second = memory.add("My editor is Helix")
        ...     memory.flush(wait=True)
        ...     [(one.a.text, one.reason) for one in memory.conflicts()]
        ...     settled = memory.resolve(second.id, first.id, keep="a")
        ...     len(memory.conflicts()), memory.get(first.id).status.value
        True
        [('My editor is Helix', 'another editor')]
        (0, 'superseded')
        """
        check_word("status", status, get_args(ConflictStatus))
        most = check_count("limit", limit)
        relations = links.CONFLICTS if status == "open" else [links.RESOLVED]

        def read(session: Session, ns: int) -> list[tuple[Row, Row, str]]:
            pairs = links.newest(session, ns, relations, most)
            rows = memories.by_docids(
                session, ns, sorted({docid for src, dst, _ in pairs for docid in (src, dst)})
            )
            return [
                (rows[src], rows[dst], name)
                for src, dst, name in pairs
                if {src, dst} <= rows.keys()
            ]

        found, now = (self._ask(read) or []), self._engine.now()
        if status == "open":
            found = [one for one in found if _is_open(one[0], now) and _is_open(one[1], now)]
        return [self._conflict(one, other, name) for one, other, name in found]

    def _conflict(self, one: Row, other: Row, relation: str) -> Conflict:
        a, b = self._read([one, other])
        reason = settling.compare(one, other, self._engine.config.conflicts)
        higher = stands_higher(slots.stand_of(one), slots.stand_of(other))
        why = reason.why if reason.kind in ("updates", "contradicts") else ""
        return Conflict(a, b, relation, why, a.id if higher else b.id)

    def resolve(self, a: str, b: str, keep: Keep) -> tuple[Memory, Memory]:
        """Settle a pair of memories that conflict, for good: they are never flagged again.

        Args:
            a: Id of a memory.
            b: Id of the other one.
            keep: ``a`` or ``b``: that one supersedes the other; ``both``: there is no conflict;
                ``neither``: both are forgotten.

        Returns:
            Both, as they are now.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If there is no such choice, both are the same memory, one is quarantined
                or forgotten, or the one to keep is not active.
            LockedMemory: If the user locked one that would give way.
        """
        check_word("keep", keep, get_args(Keep))
        one, other = check_id(a), check_id(b)
        if one == other:
            raise InvalidInput("b", "is the same memory as a")
        rows = self._change_together(
            self._known_namespace(one),
            lambda work: settling.resolve(work, one, other, keep),
            verb="resolve",
        )
        first, second = self._read(rows)
        return first, second


def _is_open(row: Row, now: int) -> bool:
    return row.status in FOUND and holds(row, now)
