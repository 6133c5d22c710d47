"""Open, follow and write the files by which large namespaces are scanned.

A file is used if it is this ledger's, of the embedder in use, and nothing was erased from its
namespace since. It need not be of now: later vectors are read from the ledger. If there is none, a
query that would have to read all vectors in any case writes them to one. Where it cannot, because
the store is read-only, the disk is full or another process is writing, exact search answers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import numpy as np

from memento.ledger import derived as facts_of
from memento.ledger import vectors
from memento.ledger.contract import Ledger, Session
from memento.retrieve import scan_files
from memento.retrieve.coder import Coder
from memento.retrieve.codes import Bits
from memento.retrieve.filing import Filing
from memento.retrieve.roster import Floats
from memento.retrieve.scan import Docids, Scan
from memento.retrieve.scan_files import KIND, Table
from memento.tiers import derived
from memento.tiers.derived import Unusable

log = logging.getLogger("memento.retrieve.scans")

TAIL = 4_096
"""Vectors in the tail from which it is written to the files, or
a sixteenth of the files if that is more, up to four times as many: comparing 4,096 takes 0.4 ms."""
_SHARE = 16
_ROOM = 3
"""So many times the size of the files has to be free on the disk before they are written."""


class Scans:
    """The scans of the namespaces of one store. The caller holds the lock of the namespace.

    Args:
        ledger: The store.
        kind: What makes the codes.
    """

    def __init__(self, ledger: Ledger, kind: type[Coder] = Bits) -> None:
        self._ledger, self._kind = ledger, kind
        self._filing = Filing(ledger, KIND)
        self._damaged: set[str] = set()  # lineages of files that hold a damaged vector

    def follow(
        self, connection: Session, ns: int, scan: Scan | None, docids: Docids, model: int, dim: int
    ) -> Scan | None:
        """Bring a scan up to date with the moment of a read, or open its files.

        Args:
            connection: A read in which all rows were followed before.
            ns: Namespace number.
            scan: Its scan, if it is open.
            docids: Row ids of all its rows, ascending.
            model: Number of the embedder in use.
            dim: Length of its vectors.

        Returns:
            The scan; None if there are no files that can be used.
        """
        facts = facts_of.facts(connection, KIND, ns)
        if scan is not None and scan.damaged:
            self._damaged.add(scan.table.lineage)
            scan = None
        if scan is not None and (scan.table.model != model or scan.table.erased != facts.erased):
            scan = None
        if scan is None:
            table = self._table(ns, facts, model, dim)
            if table is None:
                return None
            scan = Scan(table, docids)
        if scan.stamp != facts.stamp:
            for some, matrix in _since(connection, ns, model, scan.stamp, dim):
                scan.take(some, matrix, docids)
            scan.stamp = facts.stamp
        return scan

    def _table(self, ns: int, facts: facts_of.Facts, model: int, dim: int) -> Table | None:
        """Open the files of a namespace, if they agree with the ledger."""
        try:
            table = scan_files.read_table(
                self._ledger.root, ns, facts, self._kind, model=model, dim=dim
            )
        except (Unusable, OSError) as error:
            log.debug("namespace %s has no files to be scanned: %s", ns, error)
            return None
        return None if table.lineage in self._damaged else table

    def can_open(self, ns: int, model: int, dim: int, least: int) -> bool:
        """Tell whether the files of a namespace can be used now; write them if there are none.

        Args:
            ns: Namespace number.
            model: Number of the embedder in use.
            dim: Length of its vectors.
            least: Vectors for which they are written, >= 0; exact search is faster with fewer.
        """

        def job(folder: int) -> bool:
            facts = self._ledger.read(lambda c: facts_of.facts(c, KIND, ns))
            if self._table(ns, facts, model, dim) is not None:
                return True  # another process wrote them meanwhile
            return self._write_all(folder, ns, model, dim)

        if self._ledger.read(lambda c: vectors.count(c, ns)) < least:
            return False
        return self._filing.write(ns, job)

    def settle(self, ns: int, scan: Scan) -> bool:
        """Write the tail of a scan to its files if it is long.

        Args:
            ns: Namespace number.
            scan: The scan, of now.

        Returns:
            Whether the files are others now, so that they are to be opened again.
        """
        tail, size = len(scan.places.tail), len(scan.table)
        if tail < min(max(TAIL, size // _SHARE), 4 * TAIL):
            return False

        def job(folder: int) -> bool:
            head = derived.head_of(folder, f"{ns}.{KIND}")
            if head.get("mark") != scan.table.mark:
                return True  # another process was faster
            outdated = int(np.count_nonzero(scan.places.dead)) + tail - len(scan.places.live_tail)
            if scan_files.is_worn(scan.table, outdated, tail):
                return self._write_all(folder, ns, scan.table.model, scan.table.dim)
            return self._append(folder, scan)

        return self._filing.write(ns, job)

    def _append(self, folder: int, scan: Scan) -> bool:
        places, live = scan.places, scan.places.live_tail
        docids, more = places.tail_docids[live], places.tail[live]
        table = scan_files.append(folder, scan.table, docids, more, scan.stamp)
        self._name(folder, table, scan.table.mark)
        return True

    def _write_all(self, folder: int, ns: int, model: int, dim: int) -> bool:
        """Write the files of a namespace; returns whether it has any vectors."""

        def job(connection: Session) -> Table | None:
            facts = facts_of.facts(connection, KIND, ns)
            bites = _since(connection, ns, model, 0, dim)
            return scan_files.write_all(
                folder, ns, facts, self._kind, model=model, dim=dim, bites=bites
            )

        self._require_room(folder, ns, dim)
        table = self._ledger.read(job)
        if table is None:
            return False
        try:
            self._name(folder, table, None)
        except BaseException:  # an interruption as well: nobody else knows the file
            derived.remove(folder, table.vectors_name)
            raise
        return True

    def _name(self, folder: int, table: Table, replaced: str | None) -> None:
        name_it = self._filing.naming(table.ns, table.erased, replaced)
        scan_files.name_codes(folder, table, name_it)

    def _require_room(self, folder: int, ns: int, dim: int) -> None:
        count = self._ledger.read(lambda c: vectors.count(c, ns))
        disk = os.fstatvfs(folder)
        if disk.f_bavail * disk.f_frsize < _ROOM * scan_files.size_of(count, dim, self._kind):
            raise Unusable("too little room on the disk")


def _since(
    connection: Session, ns: int, model: int, stamp: int, dim: int
) -> Iterator[tuple[Docids, Floats]]:
    """Yield the row ids and vectors stored after a stamp, some at a time."""
    for bite in vectors.since(connection, ns, model, stamp):
        docids = np.array([docid for docid, _ in bite], np.int64)
        matrix = np.frombuffer(b"".join(blob for _, blob in bite), np.float32)
        yield docids, matrix.reshape(len(bite), dim)
