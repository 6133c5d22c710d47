"""Compare memories of scopes with each other and with a text, by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memento.engine import Engine
from memento.ledger import memories, vectors
from memento.ledger.contract import Session
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

KNOWN_BY = 200
"""Most memories of a scope, the newest, of which the mean vector is made."""


def cosines(engine: Engine, found: Sequence[Row]) -> dict[tuple[int, int], float]:
    """Return which rows are alike enough to be promoted together; none without an embedder.

    Returns:
        Two row ids, the smaller first, to their cosine.
    """
    known = _vectors_of(engine, [row.docid for row in found])
    settings = engine.config.scopes
    if len(known) < settings.siblings:
        return {}
    import numpy as np  # noqa: PLC0415 - must not load with memento

    docids = sorted(known)
    matrix = np.stack([known[docid] for docid in docids])
    near = matrix @ matrix.T
    first, second = np.nonzero(np.triu(near >= settings.alike, 1))
    return {
        (docids[a], docids[b]): float(near[a, b])
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    }


def nearest(engine: Engine, ns: int, text: str, scopes: Sequence[str]) -> dict[str, float]:
    """Return the cosine of a text to each scope that has memories enough; none without an embedder.

    Args:
        engine: The open store.
        ns: Namespace number.
        text: The text.
        scopes: The scopes that are compared.
    """
    embedding, least = engine.embedding, engine.config.scopes.known_by
    if embedding is None or not text.strip():
        return {}
    now = engine.now()

    def job(c: Session) -> dict[str, list[int]]:
        found = {
            path: memories.matching(c, ns, Filters(now=now, within=(path,))) for path in scopes
        }
        return {path: docids[-KNOWN_BY:] for path, docids in found.items() if len(docids) >= least}

    held = engine.ledger.read(job)
    known = _vectors_of(engine, [docid for docids in held.values() for docid in docids])
    means: dict[str, float] = {}
    for path, docids in held.items():
        found = [known[docid] for docid in docids if docid in known]
        if len(found) >= least:
            means[path] = _cosine(found, embedding.query(text))
    return means


def _vectors_of(engine: Engine, docids: Sequence[int]) -> dict[int, NDArray[Any]]:
    """Read the vectors of rows, as far as they have some of the embedder in use."""
    model = None if engine.embedding is None or not docids else engine.embedding.known_model()
    if model is None:
        return {}
    import numpy as np  # noqa: PLC0415 - must not load with memento

    found = engine.ledger.read(lambda c: vectors.read(c, docids, model))
    return {docid: np.frombuffer(blob, np.float32) for docid, blob in found.items()}


def _cosine(found: Sequence[NDArray[Any]], asked: NDArray[Any]) -> float:
    """Return the cosine of the mean of some vectors to another one."""
    total = sum(found[1:], start=found[0])
    length = float((total @ total) ** 0.5)
    return float(total @ asked) / length if length else 0.0
