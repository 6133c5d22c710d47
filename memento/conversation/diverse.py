"""Choose memories that differ from each other, by their vectors.

Agents that report again and again say one thing in many ways, and a prompt with few places fills
with it. So places are given one by one: each goes to the memory with the best score, less what it
has in common with those that have a place already.
"""

from __future__ import annotations

from collections.abc import Sequence

from memento.conversation.verbs import Verbs
from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.ledger import vectors
from memento.ledger.schema import SEQ_BITS
from memento.types import Hit

LIKENESS = 0.6
"""Cosine from which two memories have something in common; unrelated ones about one client have
about 0.4, reports of the same thing in other words 0.7 and more."""
PENALTY = 0.6
"""Share of the best score that a memory loses which repeats another one fully."""


def spread(view: Verbs, groups: Sequence[Sequence[Hit]], most: int) -> list[Sequence[Hit]]:
    """Order groups of equal hits so that the first ones differ.

    Args:
        view: The manager.
        groups: Groups, best first; the first hit of each stands for it.
        most: Places to give; the groups after them keep their order.

    Returns:
        The groups; in the given order if there are no vectors.

    Source: Carbonell & Goldstein, The Use of MMR, Diversity-Based Reranking, SIGIR 1998; here the
    likeness counts above a threshold only, so that it moves nothing among different memories.
    """
    known = _vectors(view, [group[0] for group in groups])
    left, chosen = list(range(len(groups))), list[int]()
    if not known or not left:
        return list(groups)
    import numpy as np  # noqa: PLC0415 - must not load with memento

    best = max(group[0].score for group in groups)
    rows = [np.frombuffer(known.get(group[0].id, b""), np.float32) for group in groups]
    like = [0.0] * len(groups)
    while left and len(chosen) < most:
        worth = {at: groups[at][0].score - PENALTY * best * like[at] for at in left}
        taken = max(left, key=lambda at: (worth[at], -at))
        left.remove(taken)
        chosen.append(taken)
        for at in left:
            if len(rows[at]) and len(rows[at]) == len(rows[taken]):
                common = (float(rows[at] @ rows[taken]) - LIKENESS) / (1 - LIKENESS)
                like[at] = max(like[at], common)
    return [groups[at] for at in (*chosen, *left)]


def _vectors(view: Verbs, hits: Sequence[Hit]) -> dict[str, bytes]:
    """Read the vectors of own hits by the present embedder; id to vector."""
    engine = view._engine  # noqa: SLF001 - a part of the manager
    try:
        model = None if engine.embedding is None or not hits else engine.embedding.known_model()
    except (EmbedderError, InvalidInput, MissingExtra):
        return {}  # the answer says why it was found by words only
    ns = engine.ledger.find_namespace(view.namespace)
    if model is None or ns is None:
        return {}
    docids = {ns << SEQ_BITS | hit.memory.seq: hit.id for hit in hits if not hit.shared}
    found = engine.ledger.read(lambda c: vectors.read(c, [*docids], model))
    return {docids[docid]: vector for docid, vector in found.items()}
