"""Write derived files, one process at a time, and give each its name in a transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from memento.errors import StoreClosed, StoreError
from memento.ledger import derived as facts_of
from memento.ledger.contract import Ledger, Session
from memento.tiers import derived
from memento.tiers.derived import Unusable

log = logging.getLogger("memento.tiers.filing")

PAUSE = 30.0
"""Seconds until files that could not be written are tried again."""
PATIENCE = 0.5
"""Seconds that a query waits at most for a transaction of another process to end."""
_LOOK_AGAIN = 0.002

NameIt = Callable[[str, Callable[[], None]], None]
"""Gives a file its name: called with its mark, and with what names it."""


class Filing:
    """Writes one kind of derived files.

    Args:
        ledger: The store.
        kind: The kind of file.
    """

    def __init__(self, ledger: Ledger, kind: str) -> None:
        self._ledger, self._kind = ledger, kind
        self._not_before: dict[int, float] = {}

    def write(self, ns: int, job: Callable[[int], bool]) -> bool:
        """Do a job as the one writer of derived files.

        Args:
            ns: Namespace number.
            job: Called with a descriptor of their folder.

        Returns:
            The answer of the job; False if it was not possible now.
        """
        if self._ledger.read_only or time.monotonic() < self._not_before.get(ns, 0.0):
            return False
        try:
            self._await_turn()
            with derived.locked(self._ledger.root) as lock:
                if lock is None:
                    return False
                with derived.opened(self._ledger.root, make=True) as folder:
                    return job(folder)
        except StoreClosed:
            raise
        except (Unusable, OSError, StoreError) as error:
            log.info("%s of namespace %s are not written: %s", self._kind, ns, error)
            self._not_before[ns] = time.monotonic() + PAUSE
            return False

    def _await_turn(self) -> None:
        """Wait a moment for who is in a transaction: the one that names a file would wait long.

        Raises:
            Unusable: If it did not end.
        """
        until = time.monotonic() + PATIENCE
        while self._ledger.is_writing():
            if time.monotonic() > until:
                raise Unusable("another process is in a transaction")
            time.sleep(_LOOK_AGAIN)

    def naming(self, ns: int, erased: int, replaced: str | None) -> NameIt:
        """Return what names a file in the transaction that notes its mark.

        Args:
            ns: Namespace number.
            erased: Newest erasure of the namespace, when the content was read.
            replaced: Mark of the file that is there, if it is known.
        """

        def name_it(mark: str, name: Callable[[], None]) -> None:
            named = False

            def job(connection: Session) -> bool:
                nonlocal named
                known = facts_of.adopt(
                    connection, self._kind, ns, mark, replaced=replaced, erased=erased
                )
                if known and not named:  # the job may run twice
                    name()
                    named = True
                return known

            if not self._ledger.write(job):
                raise Unusable("something was erased meanwhile")

        return name_it
