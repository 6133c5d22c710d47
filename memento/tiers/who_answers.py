"""Decide who answers a search by vector: Chroma, or exact search. Pure."""

from __future__ import annotations

from collections.abc import Callable

from memento.config.tiers import LongIndex
from memento.tiers.long import LongState

CHROMA_FROM = 12_000
"""Vectors of a namespace from which Chroma answers: exact search of fewer costs no more CPU."""
PASS = 4
"""Chroma answers if one memory in so many passes the filters: they come after it has chosen."""
LACKS = 2
"""Chroma answers if it lacks at most one vector in so many: those are compared in any case."""


def who_answers(
    setting: LongIndex,
    *,
    vectors: int,
    allowed: int | None,
    chroma: Callable[[], tuple[LongState, int]],
) -> tuple[bool, str]:
    """Tell whether Chroma answers one search by vector, or exact search.

    Args:
        setting: The user's ``long_index``.
        vectors: Vectors in the namespace.
        allowed: How many memories pass the filters of the search; None without filters.
        chroma: Returns the state of Chroma in this process, and how many of the vectors it lacks.
            It is called only where that decides.

    Returns:
        Whether it is Chroma, and the reason in a few words.

    >>> who_answers(LongIndex.AUTO, vectors=800, allowed=None, chroma=lambda: (LongState.COLD, 0))
    (False, 'fewer than 12000 vectors')
    """
    if setting is LongIndex.EXACT:
        return False, "exact search is asked for"
    if setting is LongIndex.AUTO and vectors < CHROMA_FROM:
        return False, f"fewer than {CHROMA_FROM} vectors"
    if allowed is not None and allowed * PASS < vectors:
        return False, f"the filters leave less than one in {PASS}"
    state, lacking = chroma()
    if state is not LongState.READY:
        return False, f"Chroma is {state} in this process"
    if lacking * LACKS > vectors:
        return False, f"Chroma lacks more than one in {LACKS}"
    return True, "Chroma has the vectors"
