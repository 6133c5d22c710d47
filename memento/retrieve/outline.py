"""An outline of one large namespace in a file, so that a process need not read every row of it.

``derived/NS.outline`` holds the columns of a `Roster` at one revision, and the names in it. A
process reads it and follows the ledger from there. Names that only an erased memory had are not
written. It is written in quiet moments and on closing the store, after many revisions.
"""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from pathlib import Path
from sys import byteorder
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memento.ledger import vectors
from memento.ledger.contract import Ledger, Transaction
from memento.retrieve.by_name import Names
from memento.retrieve.columns import COLUMNS, INTERNED, KINDS, STATUSES, TIERS, Roster, State
from memento.tiers import derived
from memento.tiers.derived import Filing, Unusable

KIND = "outline"
FORMAT = 1
"""Version of the file; files of other versions are rewritten."""
SPELT = "Zo\u00eb's_STRASSE/na\u00efve-caf\u00e9 don\u2019t 4B C++ \u6771\u4eac"
"""A name whose words show how this release splits names."""

log = logging.getLogger("memento.retrieve.outline")

MANY = 10_000
"""Number of newer revisions from which an outline is rewritten: reading so many rows from the
ledger takes 0.1 s."""


def is_due(rev: int, filed: int) -> bool:
    """Return whether an outline is so many revisions old that it should be rewritten."""
    return rev - filed >= MANY


class Outline(NamedTuple):
    """The content of a file: the rows at a revision."""

    roster: Roster
    rev: int


class Content(NamedTuple):
    """The number of rows of a file, and its parts after the head."""

    rows: int
    parts: list[bytes]


class Outlines:
    """The outlines of the namespaces of a store.

    Args:
        ledger: The store.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._filing = Filing(ledger, KIND)

    def load(self, connection: Transaction, ns: int, rev: int) -> Outline | None:
        """Read the outline of a namespace as far as a read can follow it, if there is one."""
        if rev < MANY:
            return None
        facts = vectors.facts(connection, KIND, ns)
        try:
            return read(self._ledger.root, ns, erased=facts.erased, rev=rev, marks=facts.marks)
        except (Unusable, OSError) as error:
            log.debug("namespace %s has no outline: %s", ns, error)
            return None

    def save(self, ns: int, content: Content, rev: int) -> bool:
        """Write the rows of a namespace as of a revision; tell whether that was possible."""

        def job(folder: int) -> bool:
            facts = self._ledger.read(lambda c: vectors.facts(c, KIND, ns))
            if facts.erased > rev:
                return False  # the rows were read before the erasure
            head = {**expected(ns, facts.erased), "rev": rev, "rows": content.rows}
            with derived.drafted(folder, f"{ns}.{KIND}") as draft:
                draft.fill(head, content.parts)
                draft.name(self._filing.naming(ns, facts.erased))
            return True

        return self._filing.write(ns, job)


def expected(ns: int, erased: int) -> dict[str, Any]:
    """Return the fields that the head of a usable file must have, without mark and revision."""
    return {
        "kind": KIND, "format": FORMAT, "order": byteorder, "tables": tables(), "ns": ns,
        "erased": erased,
    }  # fmt: skip


def tables() -> str:
    """Return a fingerprint of the meaning of columns, codes and words of names."""
    types = {name: np.dtype(kind).str for name, kind in COLUMNS.items()}
    named = Names()
    named.put(0, SPELT, [])
    said = json.dumps([types, TIERS, KINDS, STATUSES, named.state()])
    return sha256(said.encode()).hexdigest()[:16]


def content_of(roster: Roster) -> Content:
    """Return the content of a file, a copy of the rows."""
    state = roster.state()
    columns, names = dict(state.columns), {}
    for column in INTERNED:
        columns[column], names[column] = _compact(columns[column], state.names[column])
    said = json.dumps({"names": names, "heard": state.heard, "unheard": state.unheard})
    spelt = said.encode(errors="surrogatepass")
    parts = [len(spelt).to_bytes(8, byteorder), spelt]
    parts += [columns[name].tobytes() for name in COLUMNS]
    return Content(state.n, parts)


def _compact(codes: NDArray[np.int32], names: list[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Leave out names that no row has any more."""
    used = np.unique(codes[codes >= 0])
    if len(used) == len(names):
        return codes, names
    fewer = np.where(codes >= 0, np.searchsorted(used, codes), -1).astype(np.int32)
    return fewer, [names[code] for code in used.tolist()]


def read(root: Path, ns: int, *, erased: int, rev: int, marks: tuple[str, ...]) -> Outline:
    """Read the outline of a namespace; the file may be older than ``rev`` and must not be newer.

    Raises:
        Unusable: If it is missing, damaged, or of something else.
        OSError: If it cannot be read.
    """
    with derived.opened(root) as folder:
        head, content = derived.read_file(folder, f"{ns}.{KIND}", expected(ns, erased), marks)
    try:
        known, n = int(head["rev"]), int(head["rows"])
        if known > rev:
            raise Unusable("newer than this moment")
        return Outline(roster_of(content, n), known)
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"its head does not fit its content ({error})") from error


def roster_of(content: bytes, n: int) -> Roster:
    """Make a roster from the content of its file.

    Raises:
        KeyError, TypeError, ValueError: If it is not such a content.
    """
    size = int.from_bytes(content[:8], byteorder)
    at = 8 + size
    said = json.loads(content[8:at].decode(errors="surrogatepass"))
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in COLUMNS.items():
        columns[name] = np.frombuffer(content, kind, n, at)
        at += columns[name].nbytes
    if at != len(content):
        raise ValueError("another number of rows")
    return Roster.restored(State(n, columns, said["names"], said["heard"], said["unheard"]))
