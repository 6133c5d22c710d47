"""Decide what answers a vector search: exact search, a scan of codes, or Chroma. Pure.

All three have the same vectors and must give the same answers; the choice depends on cost, and on
what is there. An index is looked at only where that decides: a process whose questions are
answered without Chroma never loads it.
"""

from __future__ import annotations

from collections.abc import Callable

from memento.config.tiers import ChooseConfig, LongIndex
from memento.errors import InvalidInput
from memento.tiers.long import LongState


def choose_index(
    setting: LongIndex | str,
    *,
    live: int,
    allowed: int | None,
    scan: Callable[[], bool],
    chroma: Callable[[], tuple[LongState, int]],
    config: ChooseConfig = ChooseConfig(),
) -> tuple[LongIndex, str]:
    """Choose the index that answers one vector search.

    Args:
        setting: The user's setting ``long_index``.
        live: Vectors in the namespace.
        allowed: How many of them pass the filters of the search; None without filters.
        scan: Tells whether the namespace can be scanned now.
        chroma: Returns the state of the long tier, and the number of vectors that it lacks.
        config: Limits from which another index is the better choice.

    Returns:
        `EXACT`, `SCAN` or `CHROMA`, and the reason in a few words.

    Raises:
        InvalidInput: If there is no such setting.

    >>> nothing = {"scan": lambda: False, "chroma": lambda: (LongState.COLD, 0)}
    >>> choose_index("auto", live=800, allowed=None, **nothing)
    (<LongIndex.EXACT: 'exact'>, 'fewer than 12000 vectors')
    """
    wanted = _parse(setting)
    if wanted is LongIndex.EXACT:
        return LongIndex.EXACT, "asked for"
    if wanted is LongIndex.AUTO and live < config.exact_below:
        return LongIndex.EXACT, f"fewer than {config.exact_below} vectors"
    why = "asked for" if wanted is LongIndex.SCAN else f"{config.exact_below} vectors or more"
    if prefers_chroma(wanted, live, config):
        short = _why_short(live, allowed, *chroma(), config)
        if short is None:
            very_many = f"more than {config.scan_most} vectors"
            return LongIndex.CHROMA, "asked for" if wanted is LongIndex.CHROMA else very_many
        if live < config.exact_below:
            return LongIndex.EXACT, short
        why = short
    if scan():
        return LongIndex.SCAN, why
    return LongIndex.EXACT, "it cannot be scanned now"


def prefers_chroma(setting: LongIndex | str, live: int, config: ChooseConfig) -> bool:
    """Tell whether Chroma answers if it has all vectors."""
    many = setting == LongIndex.AUTO and live > config.scan_most
    return many or setting == LongIndex.CHROMA


def _parse(setting: LongIndex | str) -> LongIndex:
    try:
        return LongIndex(setting)
    except ValueError:
        choices = ", ".join(LongIndex)
        raise InvalidInput("long_index", f"{setting!r} is not one of {choices}") from None


def _why_short(
    live: int, allowed: int | None, state: LongState, backlog: int, config: ChooseConfig
) -> str | None:
    """Say why Chroma's answer would be incomplete, or return None if it is complete."""
    if state is not LongState.READY:
        return f"Chroma is {state}"
    if backlog > config.max_backlog:
        return f"Chroma is {backlog} vectors behind"
    if allowed is not None and allowed * config.overfetch < live:
        return f"the filters leave less than 1 in {config.overfetch}"
    return None
