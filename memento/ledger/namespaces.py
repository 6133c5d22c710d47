"""The namespaces of a ledger: their numbers, their labels, and the checksums of these.

A row has the number of its owner, and the labels say who that is: labels damaged on the disk would
give the memories of one owner to another. So their checksum is in ``meta``, one row for each
namespace.
"""

from __future__ import annotations

import json
import secrets
from hashlib import blake2b

from memento.base import layout
from memento.errors import StoreUnusable
from memento.ledger import meta
from memento.ledger.contract import Transaction
from memento.ledger.dialect import IN_ORDER_OF_ROWS, SKIP_IF_THERE
from memento.ledger.rows import column, single
from memento.ledger.schema import SEQ_BITS

SEAL = "namespace:"
"""Prefix of the name of a checksum in ``meta``; the number follows."""

MAX_DIGITS = 10
"""More digits than the largest namespace number that fits in a row id."""


def find(db: Transaction, labels: tuple[str, ...]) -> int | None:
    """Return the number of a namespace, or None if it does not exist."""
    ns: int | None = single(db, "SELECT ns FROM namespaces WHERE labels = ?", (_encode(labels),))
    return ns


def number(db: Transaction, labels: tuple[str, ...]) -> int:
    """Return the number of a namespace, adding it if it is new. Inside a transaction."""
    known = find(db, labels)
    if known is not None:
        return known
    text = _encode(labels)
    made = f"INSERT INTO namespaces (labels) VALUES (?) {SKIP_IF_THERE} RETURNING ns"
    ns: int | None = single(db, made, (text,))
    if ns is None:  # somebody else made it at this moment
        return int(single(db, "SELECT ns FROM namespaces WHERE labels = ?", (text,)))
    meta.put(db, f"{SEAL}{ns}", checksum(ns, text))
    return ns


def take_over(db: Transaction, ns: int, text: str) -> None:
    """Insert a namespace with a given number and its labels as JSON. Inside a transaction."""
    db.execute("INSERT INTO namespaces (ns, labels) VALUES (?, ?)", (ns, text))
    meta.put(db, f"{SEAL}{ns}", checksum(ns, text))


def labels_of(db: Transaction, ns: int) -> tuple[str, ...]:
    """Return the labels of a namespace, or raise ``StoreUnusable`` if they are damaged."""
    return _decode(ns, single(db, "SELECT labels FROM namespaces WHERE ns = ?", (ns,)))


def every(db: Transaction) -> list[tuple[int, tuple[str, ...]]]:
    """List every namespace of the store: number and labels; see `labels_of`."""
    query = f"SELECT ns, labels FROM namespaces {IN_ORDER_OF_ROWS} ORDER BY ns"
    return [(ns, _decode(ns, text)) for ns, text in db.execute(query).fetchall()]


def wrong(db: Transaction) -> list[str]:
    """Say which namespaces are not as they were written, or are missing though they hold rows."""
    seals = dict(meta.below(db, SEAL))
    query = f"SELECT ns, labels FROM namespaces {IN_ORDER_OF_ROWS}"
    stored = dict(db.execute(query).fetchall())
    used = column(db, f"SELECT DISTINCT docid >> {SEQ_BITS} FROM memories")
    due = {ns for name in seals if (ns := sealed_by(name)) is not None}.union(used)
    problems = [f"namespace {ns} is missing" for ns in sorted(due - stored.keys())]
    return problems + [
        f"the labels of namespace {ns} were changed"
        for ns, text in sorted(stored.items())
        if not are_labels(text)
        or seals.get(f"{SEAL}{ns}", checksum(ns, text)) != checksum(ns, text)
        or find(db, _decode(ns, text)) != ns  # by the index, which may be what is damaged
    ]


def are_labels(text: object) -> bool:
    """Return whether a value is a JSON list of labels."""
    try:
        labels = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return False
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels)


def sealed_by(name: str) -> int | None:
    """Return the number of the namespace whose checksum has a name in ``meta``; else None."""
    ns = name.removeprefix(SEAL)
    return int(ns) if ns != name and ns.isdecimal() and len(ns) < MAX_DIGITS else None


def checksum(ns: int, text: str) -> bytes:
    """Digest a number with its labels, to notice damage on the disk."""
    return blake2b(repr((ns, text)).encode(), digest_size=8).digest()


def _encode(labels: tuple[str, ...]) -> str:
    return json.dumps(list(labels), ensure_ascii=False)


def _decode(ns: int, text: object) -> tuple[str, ...]:
    if not are_labels(text):
        raise StoreUnusable(
            layout.LEDGER,
            f"the labels of namespace {ns} are damaged; run `memento doctor --salvage`",
        )
    return tuple(json.loads(str(text)))


NAME = "frame secret"
"""Name in ``meta`` of the secret of the store."""


def new() -> bytes:
    """Return a new random secret."""
    return secrets.token_bytes(16)


def read(db: Transaction) -> bytes | None:
    """Return the secret; None if the store has none yet."""
    found = meta.get(db, NAME)
    return found if isinstance(found, bytes) else None


def make(db: Transaction) -> bytes:
    """Return the secret, and make one if the store has none. Inside a transaction."""
    known = read(db)
    if known is None:
        db.execute(f"INSERT INTO meta VALUES (?, ?) {SKIP_IF_THERE}", (NAME, new()))
        known = read(db)
    return known or new()
