"""The marks of the Chroma folder, kept in the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from memento.ledger import vectors
from memento.ledger.contract import Ledger


class LedgerMarks:
    """Stores the marks of the Chroma folder in the ledger; see `folder_stamp`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self) -> list[str]:
        """Return the marks written last."""
        return self._ledger.read(vectors.marks)

    def write(self, marks: Sequence[str]) -> None:
        """Store these marks."""
        self._ledger.write(lambda c: vectors.set_marks(c, marks))
