"""Validate the filter arguments of a call and turn them into the ledger's filters. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from inspect import signature
from typing import Any, TypedDict, TypeVar, Unpack

from memento.base.scopes import parse_scope
from memento.check import (
    MAX_IDS,
    MAX_INTEGER,
    MAX_ITEMS,
    MAX_URI,
    check_flag,
    check_id,
    check_moment,
    member,
    short_name,
    shown,
    storable,
)
from memento.errors import InvalidInput
from memento.ledger.predicate import COMPARED, EXISTS, NONE_OF, ONE_OF, Condition, Filters, Scalar
from memento.messages import named
from memento.status import having
from memento.types import Kind, KindName, Match, Status, StatusName, Tier, TierName

E = TypeVar("E", bound=StrEnum)

MAX_CHOICES = 400
"""Most alternative values in one condition; SQLite takes 1,000 terms in all."""
MAX_PATH = 8
"""Maximum number of names on the path to a metadata field; each is a table for SQLite to join."""

EQUAL, DIFFERENT = "$eq", "$ne"
OPERATORS = (EQUAL, DIFFERENT, ONE_OF, NONE_OF, *COMPARED, EXISTS)
"""The operators of ``where``."""
_NO_KEYS = frozenset((*OPERATORS, "$and", "$or", "$nor", "$not"))
"""Names that other query languages have for a whole condition; here they would find nothing."""
_OPERATOR = re.compile(r"\$\w*")


class Filtering(TypedDict, total=False):
    """Filters for ``retrieve``, ``list`` and similar methods; all are optional.

    Attributes:
        tier: One tier or several.
        kind: One kind or several.
        scope: One path or several: memories that apply in this scope, whether they are in it, below
            it or above it.
        within: One path or several: memories in this scope or below it. ``""`` means everywhere.
        session: One session or several.
        tag: Memories that have this tag, or all of these tags.
        any_tag: Memories that have at least one of these tags.
        where: Conditions on the metadata, all of which must hold. A field must equal the specified
            value or, for a list, one of its items; None matches null or a missing key. A nested
            field is written ``{"a": {"b": 1}}`` or ``{"a.b": 1}``: if no field is named ``a.b``,
            the dots separate names. Operators: ``{"price": {"$gt": 3, "$lte": 9}}``, with ``$gt``,
            ``$gte``, ``$lt``, ``$lte``, ``$eq``, ``$ne``, ``$in``, ``$nin`` and ``$exists`` (True
            or False). ``$ne`` and ``$nin`` also match a missing key. Numbers are compared with
            numbers, and strings with strings by code point; a field of another type never matches a
            range.
        key: Memories that fill this slot, or one of these slots.
        actor: Memories from this actor, or from one of these actors.
        role: Memories with this chat role, or with one of these roles.
        source: Memories from this source, or from one of these sources: a trust class such as
            ``web``, or an exact address, as in ``Source.uri``.
        ids: Only these memories, at most 100,000.
        without: All memories except these, at most 100,000 ids; an empty list leaves nothing out.
        pinned: Only pinned memories (True) or only unpinned memories (False).
        since: Earliest ``occurred_at``, inclusive.
        until: Latest ``occurred_at``, exclusive.
    """

    tier: Tier | TierName | Sequence[Tier | TierName] | None
    kind: Kind | KindName | Sequence[Kind | KindName] | None
    scope: str | Sequence[str] | None
    within: str | Sequence[str] | None
    session: str | Sequence[str] | None
    tag: str | Sequence[str] | None
    any_tag: str | Sequence[str] | None
    where: Mapping[str, Any] | None
    key: str | Sequence[str] | None
    actor: str | Sequence[str] | None
    role: str | Sequence[str] | None
    source: str | Sequence[str] | None
    ids: str | Sequence[str] | None
    without: str | Sequence[str] | None
    pinned: bool | None
    since: datetime | None
    until: datetime | None


class Retrieving(Filtering, total=False):
    """The arguments that ``prompt`` passes on to ``retrieve``; see there."""

    match: Match
    as_of: datetime | None
    known_at: datetime | None
    min_score: float
    min_confidence: float
    cutoff: float
    include_superseded: bool
    include_archived: bool
    include_quarantined: bool
    fold: bool
    wait: float
    record: bool
    shared: bool


class Including(TypedDict, total=False):
    """What a filter adds to the active memories of now; each may be left out.

    Attributes:
        statuses: One status or several instead of active; None for active.
        as_of: Only memories that were valid at this moment; superseded ones as well.
        include_superseded: Include memories that a newer one replaced.
        include_archived: Include memories that were set aside.
        include_quarantined: Include memories from untrusted sources that are not approved yet.
    """

    statuses: Status | StatusName | Sequence[Status | StatusName] | None
    as_of: datetime | None
    include_superseded: bool
    include_archived: bool
    include_quarantined: bool


class _Filters(Filtering, Including, total=False):
    """All arguments of ``filters_of``."""


def filtering(
    now: int, given: Filtering, verb: Callable[..., Any], **also: Unpack[Including]
) -> Filters:
    """Validate filters that are given as keyword arguments to a verb; see ``filters_of``."""
    if not given and all(one is _PLAIN[name] for name, one in also.items()):
        return Filters(now)  # nearly always
    check_names(given, Filtering, verb)
    return filters_of(now, **given, **also)


_PLAIN = dict.fromkeys(Including.__annotations__, False) | {"statuses": None, "as_of": None}


def check_names(given: Mapping[str, object], known: type, verb: Callable[..., Any]) -> None:
    """Refuse a keyword argument that a method does not have, as Python itself would."""
    unknown = next((name for name in given if name not in known.__annotations__), None)
    if unknown is None:
        return
    from difflib import get_close_matches  # noqa: PLC0415 - slow to load, for an error only

    names = [*signature(verb).parameters.keys() - {"self"}, *known.__annotations__]
    likely = get_close_matches(unknown, names, n=1)
    hint = f"; did you mean {likely[0]!r}?" if likely else ""
    name = verb.__name__.lstrip("_")  # the bare form of the verb is private
    raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}{hint}")


def filters_of(now: int, **given: Unpack[_Filters]) -> Filters:
    """Validate the filter arguments that ``retrieve`` and ``list`` share, as of a moment."""
    asked: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
    moments = {
        name: check_moment(name, asked[name])
        for name in ("since", "until", "as_of")
        if name in asked
    }
    within = tuple(parse_scope(path, "within") for path in several("within", asked.get("within")))
    return Filters(
        now=now,
        tiers=members(Tier, "tier", asked.get("tier")),
        kinds=members(Kind, "kind", asked.get("kind")),
        statuses=_statuses(given),
        scopes=tuple(parse_scope(path) for path in several("scope", asked.get("scope"))),
        within=() if "" in within else within,  # every scope is below the root
        sessions=_names("session", asked.get("session")),
        tags=_names("tag", asked.get("tag"), most=MAX_ITEMS),
        any_tags=_names("any_tag", asked.get("any_tag")),
        where=_conditions(asked.get("where")),
        keys=_names("key", asked.get("key")),
        actors=_names("actor", asked.get("actor")),
        roles=tuple(map(named, _names("role", asked.get("role")))),
        sources=tuple(
            short_name("source", one, most=MAX_URI)
            for one in several("source", asked.get("source"))
        ),
        ids=_ids("ids", asked.get("ids")),
        without=_left_out(asked.get("without")),
        pinned=check_flag("pinned", asked["pinned"]) if "pinned" in asked else None,
        since=moments.get("since"),
        until=moments.get("until"),
        as_of=moments.get("as_of"),
    )


def _statuses(given: Including) -> tuple[str, ...]:
    """Return the statuses that are asked for, each once."""
    chosen = members(Status, "status", given.get("statuses"))
    wanted = chosen or having("found")
    superseded = check_flag("include_superseded", given.get("include_superseded", False))
    if superseded or (given.get("as_of") is not None and not given.get("statuses")):
        wanted += having("ended")
    if check_flag("include_archived", given.get("include_archived", False)):
        wanted += having("by_name")
    if check_flag("include_quarantined", given.get("include_quarantined", False)):
        wanted += (Status.QUARANTINED.value,)
    return tuple(dict.fromkeys(wanted))


def check_known_at(
    known_at: object,
    now: int,
    *,
    include_quarantined: object = False,
    statuses: Status | StatusName | Sequence[Status | StatusName] | None = None,
) -> int | None:
    """Accept the moment by which something must have been recorded, or None; not in the future."""
    if known_at is None:
        return None
    moment = check_moment("known_at", known_at)
    if moment > now:
        raise InvalidInput("known_at", "is in the future")
    wanted = members(Status, "status", statuses)
    if include_quarantined or Status.QUARANTINED in wanted:
        raise InvalidInput("known_at", "cannot be combined with include_quarantined=True")
    return moment


def check_filters(given: Mapping[str, Any]) -> None:
    """Check the filters among the arguments of ``retrieve`` or ``list``; ignore the others."""
    known = {name: one for name, one in given.items() if name in _Filters.__annotations__}
    filters_of(0, **known)


def members(kind: type[E], field: str, values: str | Sequence[str] | None) -> tuple[str, ...]:
    """Accept one member of an enumeration or several, by value."""
    return tuple(member(kind, field, value).value for value in several(field, values))


def several(
    field: str, values: str | Iterable[str] | None, *, most: int = MAX_CHOICES
) -> tuple[str, ...]:
    """Accept one string, several strings, or None for no condition."""
    if values is None:
        return ()
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise InvalidInput(field, f"must be a string or a list of strings, not {shown(values)}")
    chosen = tuple(values)
    if len(chosen) > most:
        raise InvalidInput(field, f"has more than {most} items")
    if not chosen:
        raise InvalidInput(field, "is an empty list, which matches nothing; use None to match all")
    return chosen


def _left_out(values: str | Iterable[str] | None) -> tuple[str, ...]:
    """Accept ids to leave out; an empty collection leaves nothing out."""
    if isinstance(values, Iterable) and not isinstance(values, str):
        values = tuple(values) or None
    return _ids("without", values)


def _ids(field: str, values: str | Iterable[str] | None) -> tuple[str, ...]:
    return tuple(check_id(one, field) for one in several(field, values, most=MAX_IDS))


def _names(
    field: str, values: str | Sequence[str] | None, *, most: int = MAX_CHOICES
) -> tuple[str, ...]:
    return tuple(short_name(field, value) for value in several(field, values, most=most))


def _conditions(where: Mapping[str, Any] | None) -> tuple[Condition, ...]:
    if where is None:
        return ()
    if not isinstance(where, Mapping):
        raise InvalidInput("where", f"must map metadata keys to values, not {shown(where)}")
    found = tuple(_below_key(where, ()))
    if len(found) > MAX_ITEMS:
        raise InvalidInput("where", f"has more than {MAX_ITEMS} conditions")
    return found


def _below_key(where: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[Condition]:
    """Yield the conditions on the fields of the metadata object at a path."""
    for key, wanted in where.items():
        names = (*above, _key(key))
        if sum(name.count(".") + 1 for name in names) > MAX_PATH:
            raise InvalidInput("where", f"{shown(key)} is nested deeper than {MAX_PATH} names")
        if not isinstance(wanted, Mapping):
            yield Condition(names, ONE_OF, _choices(key, wanted))
        elif any(map(_is_operator, wanted)):
            yield from (_operation(names, word, value) for word, value in wanted.items())
        elif wanted:
            yield from _below_key(wanted, names)
        else:
            raise InvalidInput(
                "where", f"{shown(key)} has no condition; to match any value, use {EXISTS!r}"
            )


def _is_operator(key: object) -> bool:
    return isinstance(key, str) and _OPERATOR.fullmatch(key) is not None


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput("where", f"keys must be strings, not {shown(key)}")
    name = storable("where", key)
    if name in _NO_KEYS:
        problem = f"{shown(name)} is not a metadata key; use {{'price': {{'$gt': 3}}}}"
        raise InvalidInput("where", problem)
    return name


def _operation(names: tuple[str, ...], word: object, value: Any) -> Condition:
    """Read an operator and what it compares with."""
    key = names[-1]
    word = storable("where", word) if isinstance(word, str) else word
    if not isinstance(word, str) or word not in OPERATORS:
        known = ", ".join(OPERATORS)
        raise InvalidInput("where", f"{shown(key)}: {shown(word)} is not one of: {known}")
    if word in (EQUAL, DIFFERENT):
        return Condition(names, ONE_OF if word == EQUAL else NONE_OF, (_scalar(key, value),))
    if word in (ONE_OF, NONE_OF):
        if not isinstance(value, list | tuple | set | frozenset):
            raise InvalidInput("where", f"{shown(key)}: {word} requires a list, not {shown(value)}")
        read = _choices if word == ONE_OF else _options
        return Condition(names, word, read(key, value))
    if word == EXISTS:
        return Condition(names, word, (check_flag(f"where.{EXISTS}", value),))
    bound = _scalar(key, value)
    if bound is None or isinstance(bound, bool):
        problem = f"{shown(key)}: {word} requires a number or a string, not {shown(value)}"
        raise InvalidInput("where", problem)
    return Condition(names, word, (bound,))


def _choices(key: object, value: object) -> tuple[Scalar, ...]:
    """Read the values of which a field must have one; refuse an empty list: nothing matches."""
    options = _options(key, value)
    if not options:
        problem = f"{shown(key)} has an empty list, which matches nothing; omit the condition"
        raise InvalidInput("where", problem)
    return options


def _options(key: object, value: object) -> tuple[Scalar, ...]:
    options = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    if len(options) > MAX_CHOICES:
        raise InvalidInput("where", f"{shown(key)} has more than {MAX_CHOICES} values")
    return tuple(_scalar(key, option) for option in options)


def _scalar(key: object, value: object) -> Scalar:
    if isinstance(value, str):
        return storable("where", value)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise InvalidInput("where", f"{shown(key)}: the integer is too large to be compared")
    if isinstance(value, float) and math.isnan(value):
        raise InvalidInput("where", f"{shown(key)}: NaN is not equal to anything")
    if value is None or isinstance(value, int | float):
        return value
    raise InvalidInput("where", f"{shown(key)} must be compared with scalars, not {shown(value)}")
