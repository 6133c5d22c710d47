"""Decide whether Chroma or exact search answers a vector search. Pure.

Both have the same vectors and must give the same answers; the choice depends on cost, and on
whether Chroma has all of the vectors yet.
"""

from __future__ import annotations

from memento.config.tiers import ChooseConfig, LongIndex
from memento.errors import InvalidInput
from memento.tiers.long import LongState


def choose_index(
    setting: LongIndex | str,
    *,
    live: int,
    allowed: int | None,
    state: LongState,
    backlog: int,
    config: ChooseConfig = ChooseConfig(),
) -> tuple[LongIndex, str]:
    """Choose the index that answers one vector search.

    Args:
        setting: The user's setting ``long_index``.
        live: Vectors in the namespace.
        allowed: How many of them pass the filters of the search; None without filters.
        state: State of the long tier.
        backlog: Vectors that Chroma does not have yet.
        config: Limits from which Chroma is the better choice.

    Returns:
        `CHROMA` or `EXACT`, and the reason in a few words.

    Raises:
        InvalidInput: If there is no such setting.

    >>> choose_index("auto", live=800, allowed=None, state=LongState.READY, backlog=0)
    (<LongIndex.EXACT: 'exact'>, 'fewer than 15000 vectors')
    """
    wanted = _parse(setting)
    if wanted is LongIndex.EXACT:
        return LongIndex.EXACT, "asked for"
    if short := _why_short(live, allowed, state, backlog, config):
        return LongIndex.EXACT, short
    if wanted is LongIndex.CHROMA:
        return LongIndex.CHROMA, "asked for"
    if live < config.exact_below:
        return LongIndex.EXACT, f"fewer than {config.exact_below} vectors"
    if allowed is not None and allowed < config.exact_below:
        return LongIndex.EXACT, f"filtered to fewer than {config.exact_below} vectors"
    return LongIndex.CHROMA, f"{config.exact_below} vectors or more"


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
