"""The options that filter memories, the same for every command that finds memories."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from memento import MemoryManager
from memento.cli.options import (
    Actors,
    AnyTags,
    AsOf,
    Keys,
    Kinds,
    KnownAt,
    Roles,
    Scopes,
    Sessions,
    Since,
    Sources,
    Tags,
    Tiers,
    Until,
    Where,
    Within,
    Without,
    where_of,
)
from memento.filters import Filtering


class Given(Filtering, total=False):
    """The values of the options, as ``retrieve``, ``prompt`` and ``list`` take them."""

    as_of: datetime | None
    known_at: datetime | None


Filters: TypeAlias = Callable[[MemoryManager], Given]
"""Returns the values of the options, with whole ids of memories."""


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that filter memories.

    Args:
        command: Has a parameter ``filters``, a ``Filters``; the options stand where it stands.

    Returns:
        The command as Typer is to see it.
    """
    own = inspect.signature(command, eval_str=True).parameters
    shared = inspect.signature(_given, eval_str=True).parameters
    rest = [one for name, one in shared.items() if name != "memory"]
    shown = [one for name in own for one in (rest if name == "filters" else [own[name]])]

    @functools.wraps(command)
    def run(**options: Any) -> None:
        chosen = {one.name: options.pop(one.name) for one in rest}
        command(**options, filters=functools.partial(_given, **chosen))

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # Typer reads it
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _given(
    memory: MemoryManager,
    *,
    tier: Tiers = None,
    kind: Kinds = None,
    scope: Scopes = None,
    within: Within = None,
    session: Sessions = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    key: Keys = None,
    actor: Actors = None,
    role: Roles = None,
    source: Sources = None,
    where: Where = None,
    without: Without = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Given:
    return {
        "tiers": tier or None,
        "kinds": kind or None,
        "scope": scope or None,
        "within": within or None,
        "session": session or None,
        "tags": tag or None,
        "any_tags": any_tag or None,
        "key": key or None,
        "actor": actor or None,
        "role": role or None,
        "source": source or None,
        "where": where_of(where or ()),
        "without": [memory.full_id(one) for one in without or ()] or None,
        "since": since,
        "until": until,
        "as_of": as_of,
        "known_at": known_at,
    }
