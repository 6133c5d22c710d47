"""A draft is checked, given its defaults, and becomes an entry for the ledger. Pure.

A draft that is refused raises ``InvalidInput`` naming the field; nothing is changed silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import uuid_utils

from memento.admit.importance import TierChoice, telling
from memento.admit.redact import Redaction, Secrets
from memento.base.plain import plain
from memento.base.scopes import parse_scope
from memento.check import (
    Limits,
    check_flag,
    check_id,
    check_metadata,
    check_moment,
    check_share,
    check_source,
    check_text,
    expiry,
    ids,
    member,
    names,
    optional_condition,
    optional_name,
    type_name,
)
from memento.errors import InvalidInput
from memento.ledger.rows import IMPORTANCE_GIVEN, TIER_GIVEN, Row, content_hash
from memento.messages import named
from memento.text import words as words_of
from memento.text.words import Columns
from memento.types import Draft, Kind, Source, Status, Tier

MAX_METADATA = 1_048_576
"""Largest metadata as JSON, bytes, unless the settings say otherwise."""


@dataclass(slots=True)
class Entry:
    """An accepted memory on its way into the ledger.

    Attributes:
        row: All columns; ``docid``, ``ns`` and ``rev`` are set on insertion.
        text: What full text indexes: title, head, rest.
        chosen_id: Whether the caller gave the id.
        supersedes: Ids of the memories that it replaces.
        related: Ids it is linked to.
        derived: Columns whose value the caller did not give.
        metadata_bytes: Largest metadata as JSON, bytes, where it is joined with another's.
        redacted: Secrets taken out of it, by kind, and how often.
        words: Its words, folded.
        telling: Those of them whose novelty its importance depends on.
        choice: Which tier an importance leads to; None once importance and tier are settled.
        by: Class of trust of who says it, which decides what it may replace; None for the trust of
            the memory, which may be less: that of what it is derived from.
    """

    row: Row
    text: Columns
    chosen_id: bool
    supersedes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    metadata_bytes: int = MAX_METADATA
    redacted: Mapping[str, int] = field(default_factory=dict)
    words: Sequence[str] = ()
    telling: Sequence[str] = ()
    choice: TierChoice | None = None
    by: str | None = None


_ACTIVE = Status.ACTIVE.value

A = TypeVar("A")
B = TypeVar("B")


def drafts_of(items: Iterable[str | Mapping[str, Any] | Draft]) -> list[Draft]:
    """Read what ``add_many`` is given.

    Raises:
        InvalidInput: If it is not a list, or an item is not a text, mapping or draft; names its
            position.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInput("items", f"must be a list of texts or drafts, not {type_name(items)}")
    return [at_position(at, draft_of, item) for at, item in enumerate(items)]


def at_position(at: int, check: Callable[[A], B], item: A) -> B:
    """Check one item of several; a refusal names its position, from 0."""
    try:
        return check(item)
    except InvalidInput as error:
        raise error.within(f"items[{at}]") from None


def draft_of(item: str | Mapping[str, Any] | Draft) -> Draft:
    """Read what ``add_many`` accepts as a draft.

    Raises:
        InvalidInput: If it is not a text, mapping or draft, or a mapping with an unknown field.
    """
    if isinstance(item, Draft):
        return item
    if isinstance(item, str):
        return Draft(item)
    if not isinstance(item, Mapping):
        raise InvalidInput("memory", f"expected a string, mapping or Draft, not {type_name(item)}")
    known = {field.name for field in fields(Draft)}
    unknown = sum(not isinstance(name, str) or plain(name) not in known for name in item)
    if unknown:  # not named: it may be any value of the caller's, of any size
        fields_are = "field" if unknown == 1 else "fields"
        raise InvalidInput("memory", f"{unknown:,} unknown {fields_are}; known: {sorted(known)}")
    if "text" not in item:
        raise InvalidInput("text", "is missing")
    return Draft(**item)


def is_long_turn(draft: Draft, limits: Limits) -> bool:
    """Tell whether a draft is a turn of a conversation that is longer than a memory may be.

    A turn has a session or a role, or is an episode. A value of a slot is not a turn.
    """
    text, kind = draft.text, draft.kind
    if not isinstance(text, str) or len(plain(text)) <= limits.text_chars:
        return False
    episode = isinstance(kind, str) and plain(kind) == Kind.EPISODE
    return (draft.session is not None or draft.role is not None or episode) and draft.key is None


def admit(
    draft: Draft,
    *,
    now: int,
    limits: Limits,
    choice: TierChoice,
    secrets: Secrets | str = Secrets.REDACT,
) -> Entry:
    """Turn a draft into an entry.

    Args:
        draft: As the caller gave it.
        now: The present moment, microseconds since 1970 UTC.
        limits: The largest text and metadata that are accepted.
        choice: Which tier an importance leads to.
        secrets: Whether a secret in the draft is redacted, refused or kept.

    Returns:
        An entry whose row lacks only its place in the ledger, and its importance and tier where
        these depend on what the namespace knows, see ``tier_choice.weigh``.

    Raises:
        InvalidInput: If anything about the draft cannot be accepted.
        SecretFound: If it holds a secret and secrets are refused, or its key holds one.
    """
    clean = Redaction(secrets)
    said = _said(draft, clean, limits)
    occurred = now if draft.occurred_at is None else check_moment("occurred_at", draft.occurred_at)
    given = None if draft.importance is None else check_share("importance", draft.importance)
    row = _row(draft, said, clean, choice, importance=given or 0.0, occurred=occurred, now=now)
    if given is not None:
        row.seal()
    return Entry(
        row=row,
        text=said.columns,
        chosen_id=draft.id is not None,
        supersedes=ids("supersedes", draft.supersedes),
        related=ids("related", draft.related),
        derived=_derived(draft),
        metadata_bytes=limits.metadata_bytes,
        redacted=clean.found,
        words=said.words,
        telling=() if given is not None else telling(said.words),
        choice=None if given is not None else choice,
    )


class _Said(NamedTuple):
    """The content of a draft, accepted and redacted, and its words."""

    text: str
    kind: Kind
    key: str | None
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: str
    source: Source
    scope: str
    session: str | None
    actor: str | None
    role: str | None
    signal: str | None
    condition: str | None
    columns: words_of.Columns
    words: list[str]
    head_words: int


def _said(draft: Draft, clean: Redaction, limits: Limits) -> _Said:
    text = clean.text("text", check_text(draft.text, limits))
    kind = member(Kind, "kind", draft.kind)
    key = clean.slot("key", optional_name("key", draft.key))
    aliases = clean.names("aliases", names("aliases", draft.aliases))
    tags = clean.names("tags", names("tags", draft.tags))
    metadata = clean.json("metadata", check_metadata(draft.metadata, limits))
    source = check_source(draft.source)
    scope = parse_scope(draft.scope)
    session = optional_name("session", draft.session)
    actor = clean.name("actor", optional_name("actor", draft.actor))
    role = optional_name("role", draft.role)
    role = clean.name("role", None if role is None else named(role))
    condition = clean.name("condition", optional_condition("condition", draft.condition))
    columns = words_of.columns(text, actor=actor, role=role, key=key, aliases=aliases, tags=tags)
    head, rest = columns.spoken()
    return _Said(
        text=text,
        kind=kind,
        key=key,
        aliases=aliases,
        tags=tags,
        metadata=metadata,
        source=source,
        scope=scope,
        session=session,
        actor=actor,
        role=role,
        signal=optional_name("signal", draft.signal),
        condition=condition,
        columns=columns,
        words=head + rest,
        head_words=len(head),
    )


def _row(
    draft: Draft,
    said: _Said,
    clean: Redaction,
    choice: TierChoice,
    *,
    importance: float,
    occurred: int,
    now: int,
) -> Row:
    return Row(
        docid=0,
        ns=0,
        rev=0,
        id=check_id(draft.id) if draft.id is not None else str(uuid_utils.uuid7()),
        text=said.text,
        tier=_tier(draft, importance, choice).value,
        kind=said.kind.value,
        status=_ACTIVE,
        scope=said.scope,
        session=said.session,
        actor=said.actor,
        role=said.role,
        key=said.key,
        aliases=to_json(said.aliases),
        importance=importance,
        tags=to_json(said.tags),
        metadata=said.metadata,
        trust=said.source.kind.value,
        source_uri=clean.name("source.uri", said.source.uri),
        source_model=clean.name("source.model", said.source.model),
        source_parents=to_json(said.source.parents),
        pinned=int(check_flag("pinned", draft.pinned)),
        occurred_at=occurred,
        created_at=now,
        updated_at=now,
        valid_from=occurred,
        valid_until=_end_of_validity(draft, occurred),
        expires_at=expiry(draft.expires_in, now),
        superseded_by=None,
        reinforced=0,
        version=1,
        words=said.columns.title_words + len(said.words),
        head_words=said.head_words,
        cues=words_of.cues(said.text, said.role, said.words),
        content_hash=_hash(said, occurred if draft.occurred_at else None),
        checksum=b"",
        signal=said.signal,
        condition=said.condition,
        due_at=None if draft.due_at is None else check_moment("due_at", draft.due_at),
        given=_given(draft),
    )


def _hash(said: _Said, occurred: int | None) -> bytes:
    said_by = (said.key, said.session, said.actor, said.role)
    return content_hash(said.text, said.scope, *said_by, occurred, condition=said.condition)


def to_json(values: Sequence[str]) -> str:
    """Write a list of strings as the ledger keeps it."""
    return json.dumps(list(values), ensure_ascii=False) if values else "[]"


def _tier(draft: Draft, weight: float, choice: TierChoice) -> Tier:
    if draft.tier is None:
        return choice.tier(weight, pinned=bool(draft.pinned))
    return member(Tier, "tier", draft.tier)


def _given(draft: Draft) -> int:
    """Return which of tier and importance the caller chose."""
    tier = 0 if draft.tier is None and not draft.pinned else TIER_GIVEN
    return tier | (0 if draft.importance is None else IMPORTANCE_GIVEN)


def _derived(draft: Draft) -> tuple[str, ...]:
    """Name the columns whose value memento chose."""
    names: tuple[str, ...] = ("importance",) if draft.importance is None else ()
    names += ("tier",) if draft.tier is None else ()
    return names + (("occurred_at", "valid_from") if draft.occurred_at is None else ())


def _end_of_validity(draft: Draft, occurred: int) -> int | None:
    if draft.valid_until is None:
        return None
    end = check_moment("valid_until", draft.valid_until)
    if end <= occurred:
        raise InvalidInput("valid_until", "must be later than occurred_at (now if not given)")
    return end
