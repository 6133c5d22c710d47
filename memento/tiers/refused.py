"""Texts that the embedder refused; which ones and why is reported only to their own namespace.

An embedder may quote its input in its errors, as remote services do. So the message is treated as a
part of the refused memory: only callers who may see the memory see it.
"""

from __future__ import annotations

from typing import NamedTuple

from memento.ledger import vectors
from memento.ledger.checks import Sees
from memento.ledger.contract import Ledger
from memento.ledger.schema import SEQ_BITS
from memento.ledger.vectors import Owed

MAX_REASON = 300
"""Characters of an embedder's message that are kept; one may quote a whole text."""

Line = tuple[int, int]
"""Row id and revision; a new text of the same memory is tried again."""


class _Refusal(NamedTuple):
    id: str
    why: str


class Refused:
    """The texts refused in this process that still lack a vector. Thread-safe.

    Args:
        ledger: Ledger of the backlog.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._refusals: dict[Line, _Refusal] = {}

    def __len__(self) -> int:
        return len(self._refusals)

    def __contains__(self, line: Owed) -> bool:
        return (line.docid, line.rev) in self._refusals

    def lines(self) -> set[Line]:
        """Return the lines to skip, some of which may have changed since."""
        return set(self._refusals)

    def note(self, line: Owed, error: Exception) -> None:
        """Skip a line of the backlog from now on."""
        self._refusals[line.docid, line.rev] = _Refusal(line.id, f"{error}"[:MAX_REASON])

    def clear(self) -> None:
        """Let every text be tried again."""
        self._refusals.clear()

    def owed(self) -> list[Line]:
        """List the lines that still lack a vector; drop those changed or erased since."""
        known = list(self._refusals)
        if not known:
            return []
        still = self._ledger.read(lambda c: vectors.still_owed(c, known))
        for line in set(known).difference(still):
            self._refusals.pop(line, None)
        return still

    def told(self, sees: Sees) -> str | None:
        """Describe the refused texts of the namespaces that a caller sees, or return None."""
        lines = [line for line in self.owed() if sees(line[0] >> SEQ_BITS)]
        mine = [one for line in lines if (one := self._refusals.get(line))]
        if not mine:
            return None
        return f"{len(mine)} texts refused, the last one {mine[-1].id}: {mine[-1].why}"

    def unseen(self, sees: Sees) -> int:
        """Count the refused texts of the namespaces that a caller does not see."""
        return sum(not sees(docid >> SEQ_BITS) for docid, _ in self.owed())
