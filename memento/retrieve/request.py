"""A call of ``retrieve`` whose arguments were checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, get_args

from memento.base.plain import plain
from memento.check import (
    MAX_TOKENS,
    check_count,
    check_flag,
    check_query,
    check_seconds,
    check_share,
    shown,
)
from memento.errors import InvalidInput
from memento.ledger.predicate import Filters
from memento.retrieve.visible import BY_NAME
from memento.status import having
from memento.text import former_question
from memento.text.words import estimate
from memento.types import Match

if TYPE_CHECKING:
    from memento.protocols import TokenCounter

_MATCHES: tuple[Match, ...] = get_args(Match)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of ``retrieve``; see there for the meaning of each field.

    ``past`` has the filters for the former values that may be found as well; None if none may.
    ``aside`` tells whether what is archived may be found by its name. ``asker`` is the number of
    the namespace that asks, even if another one is searched.
    """

    query: str
    k: int | None
    match: Match
    min_score: float
    min_confidence: float
    cutoff: float
    tokens: int | None
    count_tokens: TokenCounter
    fold: bool
    wait: float
    filters: Filters
    past: Filters | None
    aside: bool = True
    asker: int | None = None

    @classmethod
    def checked(
        cls,
        query: str,
        *,
        k: int | None,
        match: str,
        min_score: float,
        min_confidence: float,
        cutoff: float,
        tokens: int | None,
        count_tokens: TokenCounter | None,
        fold: bool,
        wait: float,
        filters: Filters,
    ) -> Self:
        """Validate the arguments of ``retrieve``.

        Raises:
            InvalidInput: If one cannot be accepted.
        """
        check_query(query)
        if count_tokens is not None and not callable(count_tokens):
            raise InvalidInput("count_tokens", "must be a callable(text) or None")
        known, query = _check_match(match), plain(query)
        past = _past(query, filters)
        return cls(
            query=query,
            k=None if k is None else check_count("k", k),
            match=known,
            min_score=check_share("min_score", min_score),
            min_confidence=check_share("min_confidence", min_confidence),
            cutoff=check_share("cutoff", cutoff),
            tokens=None if tokens is None else check_count("tokens", tokens, most=MAX_TOKENS),
            count_tokens=count_tokens or estimate,
            fold=check_flag("fold", fold),
            wait=check_seconds("wait", wait),
            filters=replace(
                filters, until_a_plan=filters.as_of is None and filters.statuses == having("found")
            ),
            past=past,
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """The statuses of everything that may be found."""
        past = () if self.past is None else self.past.statuses
        named = BY_NAME if self.aside and self.match != "text" else ()
        return (*self.filters.statuses, *past, *named)


def _past(query: str, filters: Filters) -> Filters | None:
    """Return filters for the former values that a query may find; None if it asks for none."""
    if filters.as_of is not None or former_question.asked(query) is None:
        return None
    return replace(filters, statuses=having("ended"))


def _check_match(match: str) -> Match:
    said = plain(match) if isinstance(match, str) else ""
    for known in _MATCHES:
        if said == known:
            return known
    raise InvalidInput("match", f"{shown(match)} is not one of: {', '.join(_MATCHES)}")
