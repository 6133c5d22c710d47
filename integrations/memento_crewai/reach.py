"""Reads of the store that the manager has no verb for yet, in one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from memento import MemoryManager
from memento.errors import EmbeddingMismatch, InvalidInput, NotFound, TierUnavailable
from memento.filters import MAX_K, filters_of
from memento.ledger import memories, vectors
from memento.ledger.rows import to_memory
from memento.protocols import Embedder
from memento.types import Hit, Memory, Status, Tier
from memento_crewai.records import Wanted

PAGE = 5_000
"""Memories read at once."""
DEEPER = 4
"""Times more hits to ask for when too few of those found are wanted."""


def recall(
    manager: MemoryManager, query: str, wanted: Wanted, limit: int, *, record: bool
) -> list[Hit]:
    """Retrieve the best wanted memories, over every tier.

    Asks for more until enough of what was found is wanted, or nothing more is found.
    """
    arguments, k = wanted.arguments(), limit
    while True:
        found = manager.retrieve(query, k, record=record and k == limit, **arguments)
        hits = [kept for hit in found if (kept := _wanted(manager, hit, wanted)) is not None]
        if len(hits) >= limit or len(found) < k or k >= MAX_K:
            return hits[:limit]
        k = min(MAX_K, k * DEEPER)


def listed(manager: MemoryManager, wanted: Wanted) -> Iterator[Memory]:
    """List the wanted memories in order of arrival."""
    arguments, offset = wanted.arguments(), 0
    while page := manager.list(limit=PAGE, offset=offset, **arguments):
        yield from (memory for memory in page if wanted.admits(memory))
        offset += len(page)


def active(manager: MemoryManager, memory_id: str) -> Memory | None:
    """Return one memory, or None if there is none, or none that counts."""
    try:
        memory = manager.get(memory_id)
    except NotFound:
        return None
    return memory if memory.status is Status.ACTIVE else None


def embedder_of(manager: MemoryManager) -> Embedder:
    """Return the embedder a store works with.

    Raises:
        InvalidInput: If it has none.
    """
    embedding = manager._engine.embedding  # noqa: SLF001 - until the manager shows it
    if embedding is None:
        raise InvalidInput("manager", "has no embedder, and CrewAI asks its storage by vector")
    return embedding.loaded()


def nearest(
    manager: MemoryManager, vector: Sequence[float], wanted: Wanted, limit: int, least: float
) -> list[tuple[Memory, float]]:
    """Find by vector alone, exactly, after what was just added has been embedded.

    Args:
        manager: Whose store.
        vector: (dim,) of the same embedder as the store's.
        wanted: What may be found.
        limit: Most memories, >= 1.
        least: Smallest cosine, [0, 1].

    Returns:
        Memories and cosines in [0, 1], best first.

    Raises:
        EmbeddingMismatch: If the vector is of another length.
        TierUnavailable: If the store has no embedder, or what was added cannot be embedded.
    """
    engine = manager._engine  # noqa: SLF001 - until the manager searches by vector
    if engine.embedding is None:
        raise TierUnavailable(Tier.LONG, "this memory has no embedder, and CrewAI asks by vector")
    if len(vector) != engine.embedding.dim:
        raise EmbeddingMismatch(engine.embedding.identity, f"one of {len(vector)} dimensions")
    _settle(manager)
    ns, model = engine.ledger.find_namespace(manager.namespace), engine.embedding.known_model()
    if ns is None or model is None:
        return []
    filters = filters_of(engine.now(), **wanted.arguments())
    docids = engine.ledger.read(lambda c: memories.matching(c, ns, filters))
    held = engine.ledger.read(lambda c: vectors.read(c, docids, model))
    ranked = _ranked(held, vector, least)
    near: list[tuple[Memory, float]] = []
    for start in range(0, len(ranked), PAGE):
        near += _read(manager, ns, ranked[start : start + PAGE], wanted)
        if len(near) >= limit:
            break
    return near[:limit]


def _read(
    manager: MemoryManager, ns: int, ranked: Sequence[tuple[int, float]], wanted: Wanted
) -> list[tuple[Memory, float]]:
    """Read the rows of what was ranked; keep what is wanted."""
    docids = [docid for docid, _ in ranked]
    rows = manager._engine.ledger.read(  # noqa: SLF001 - see nearest
        lambda c: memories.by_docids(c, ns, docids)
    )
    found = ((to_memory(rows[at], manager.namespace), cos) for at, cos in ranked if at in rows)
    return [(memory, cosine) for memory, cosine in found if wanted.admits(memory)]


def _ranked(
    held: dict[int, bytes], vector: Sequence[float], least: float
) -> list[tuple[int, float]]:
    if not held:
        return []
    asked = np.asarray(vector, np.float32)
    asked /= max(float(np.linalg.norm(asked)), 1e-12)
    matrix = np.frombuffer(b"".join(held.values()), np.float32).reshape(len(held), -1)
    cosines = np.clip(matrix @ asked, 0.0, 1.0).tolist()
    pairs = zip(held, cosines, strict=True)
    return sorted(
        ((docid, cosine) for docid, cosine in pairs if cosine >= least),
        key=lambda pair: (-pair[1], -pair[0]),
    )


def _settle(manager: MemoryManager) -> None:
    """Wait until everything added has its vector."""
    if not manager.flush(wait=True):
        state = manager.stats()
        if state.backlog.get("embed"):
            raise TierUnavailable(Tier.LONG, "; ".join(state.trouble.values()) or "still embedding")


def _wanted(manager: MemoryManager, hit: Hit, wanted: Wanted) -> Hit | None:
    """Return the hit if it is wanted, or with a near-identical memory in its place that is."""
    if wanted.admits(hit.memory):
        return hit
    for memory_id in hit.folded:
        memory = active(manager, memory_id)
        if memory is not None and wanted.admits(memory):
            return replace(hit, memory=memory)
    return None
