"""Conversations: keep each turn once, and recall what is relevant to the next answer.

turns      what a message becomes: kind, trust, id, pieces of ``PIECE_CHARS``; payloads from
           ``LEAST`` on, and blocks of memento, become notes
keeping    which turns are new; an edit corrects the memory, or is quarantined if not trusted
recalling  which two queries a message makes, and how their answers are joined: ``TURNS``,
           ``TOGETHER``, ``LEANING``, ``SURER``; what repeats another hit: ``LIKENESS``, ``PENALTY``
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from memento.base.plain import composed, mended
from memento.check import (
    MAX_TOKENS,
    TALK_TOKENS,
    WAIT,
    check_count,
    check_flag,
    check_seconds,
    check_share,
    member,
    shown,
)
from memento.conversation import keeping, recalling
from memento.conversation.keeping import keep_new
from memento.conversation.turns import (
    Recalled,
    Turn,
    kept_here,
    kind_of,
    pieces,
    placed,
    session_of,
    turns_of,
)
from memento.errors import OUTAGES, InvalidInput
from memento.ledger.filters import Filtering, members
from memento.types import Kind, Memories, Trust
from memento.views import View

__all__ = [
    "MOST",
    "Messages",
    "keep",
    "keep_new",
    "kept_here",
    "kind_of",
    "mended",
    "outlived",
    "pieces",
    "recall",
    "session_of",
]

MOST = 1_000
"""Maximum number of memories that an adapter should put into one prompt."""

Messages = str | Iterable[str | Mapping[str, Any] | Turn]


log = logging.getLogger("memento.conversation")


class outlived:  # noqa: N801 - used as a function, as ``contextlib.suppress``
    """Lets an agent go on while its memory is out of order; the error is logged.

    What an adapter did not keep meanwhile, it passes again with the next turn of the conversation.
    Errors that are no outage, see ``memento.errors.OUTAGES``, are raised.

    Args:
        what: What the agent goes on without, for the log, such as ``recalling``.
        strict: Whether to raise an outage, too.

    >>> from memento.errors import TierUnavailable
    >>> with outlived("recalling"):
    ...     raise TierUnavailable("long", "the disk is gone")
    """

    def __init__(self, what: str, *, strict: bool = False) -> None:
        self._what = what
        self._strict = strict

    def __enter__(self) -> None:
        """Do nothing yet."""

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Log an outage and end it; let everything else pass."""
        if self._strict or not isinstance(error, OUTAGES):
            return False
        log.error("the agent continues without %s: %s", self._what, error)
        return True


def keep(
    view: View,
    messages: Messages,
    *,
    session: str | None = None,
    speaker: Trust | str = Trust.USER,
    now: bool = True,
) -> Memories:
    """Implement ``MemoryManager.keep``."""
    said = placed(turns_of(messages), _session(session), member(Trust, "speaker", speaker))
    return Memories(keeping.keep(view, keeping.said_anew(view, said, now=check_flag("now", now))))


def recall(
    view: View,
    messages: Messages,
    *,
    session: str | None = None,
    k: int = 8,
    tokens: int | None = TALK_TOKENS,
    min_confidence: float | None = None,
    fold: bool = True,
    diverse: bool = False,
    wait: float = WAIT,
    record: bool = True,
    filters: Filtering | None = None,
) -> Recalled:
    """Implement ``MemoryManager.recall``."""
    given = _filters(filters)
    kinds = members(Kind, "kind", given.pop("kind", None))
    wanted = recalling.Wanted(
        k=check_count("k", k),
        tokens=None if tokens is None else check_count("tokens", tokens, most=MAX_TOKENS),
        sure=view.prompt_confidence
        if min_confidence is None
        else check_share("min_confidence", min_confidence),
        shown=not isinstance(messages, str),
        fold=check_flag("fold", fold),
        diverse=check_flag("diverse", diverse),
        wait=check_seconds("wait", wait),
        filters=given,
        kinds=tuple(map(Kind, kinds)) or tuple(Kind),
    )
    check_flag("record", record)
    said = placed(turns_of(messages), _session(session), Trust.USER)
    found, shown = recalling.recall(view, said, wanted)
    if record and shown:
        view.engine.accessed(view.namespace, shown)
    return found


def _session(name: object) -> str | None:
    """Check the name of a conversation: any string or None."""
    if not isinstance(name, str | None):
        raise InvalidInput("session", f"must be a string, not {type(name).__name__}")
    return None if name is None else composed(name)


def _filters(filters: object) -> dict[str, Any]:
    """Check the names of the filters of ``recall``; their values are checked where used."""
    if filters is None:
        return {}
    if not isinstance(filters, Mapping):
        raise InvalidInput("filters", f"must map names of filters to values, not {shown(filters)}")
    for name in filters:
        if name not in Filtering.__annotations__:
            raise InvalidInput(
                "filters", f"{shown(name)} is not a filter; the filters are those of ``list``"
            )
    return dict(filters)
