"""The door: a draft is checked, given its defaults, and becomes an entry for the ledger. Pure.

Whatever is refused here raises ``InvalidInput`` naming the field; nothing is changed silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import uuid_utils

from memento import text as words_of
from memento.errors import InvalidInput
from memento.ledger.memories import Entry
from memento.ledger.rows import Row, content_hash, to_micros
from memento.observe.importance import TierChoice, importance, telling
from memento.observe.redact import Redaction, Secrets
from memento.scopes import parse_scope
from memento.types import Draft, Kind, Source, Status, Tier, Trust

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=StrEnum)

MAX_NAME = 256
"""Longest key, alias, tag, actor, role or session, characters."""
MAX_ID = 128
MAX_ITEMS = 64
"""Most aliases, tags or links on one memory."""
MAX_URI = 2048
MAX_INTEGER = 2**63 - 1
MAX_WAIT = 86_400.0
"""Longest time a call may wait for an index, seconds."""
MAX_DEPTH = 64
"""Deepest nesting of metadata; SQLite reads JSON to 1,000 levels, Python to fewer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the door lets through.

    Attributes:
        text_chars: Longest text, characters, >= 1.
        metadata_bytes: Largest metadata as JSON, bytes, >= 2. It is read whenever its memory is, so
            keep large things elsewhere and their address here.
    """

    text_chars: int = 65_536
    metadata_bytes: int = 1_048_576


def drafts_of(items: Iterable[str | Mapping[str, Any] | Draft]) -> list[Draft]:
    """Read what ``add_many`` is given.

    Raises:
        InvalidInput: If it is no list, or an item is none of these; names its position.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInput("items", f"must be a list of texts or drafts, not {_name(items)}")
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
        InvalidInput: If it is none of these, or a mapping with an unknown field.
    """
    if isinstance(item, Draft):
        return item
    if isinstance(item, str):
        return Draft(item)
    if not isinstance(item, Mapping):
        raise InvalidInput("memory", f"expected a string, mapping or Draft, not {_name(item)}")
    known = {field.name for field in fields(Draft)}
    if unknown := sorted(str(name) for name in item if name not in known):
        raise InvalidInput("memory", f"unknown fields {unknown}; known: {sorted(known)}")
    if "text" not in item:
        raise InvalidInput("text", "is missing")
    return Draft(**item)


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
        limits: What is too large.
        choice: Which tier an importance leads to.
        secrets: What becomes of a secret in the draft.

    Returns:
        An entry whose row lacks only its place in the ledger, and its importance and tier where
        these depend on what the namespace knows, see ``Entry.weigh``.

    Raises:
        InvalidInput: If anything about the draft cannot be accepted.
        SecretFound: If it holds a secret and these are to be refused, or its key holds one.
    """
    clean = Redaction(secrets)
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
    role = clean.name("role", optional_name("role", draft.role))
    occurred = now if draft.occurred_at is None else check_moment("occurred_at", draft.occurred_at)
    columns = words_of.columns(text, actor=actor, role=role, key=key, aliases=aliases, tags=tags)
    head, rest = columns.spoken()
    words = head + rest
    given = None if draft.importance is None else check_share("importance", draft.importance)
    row = Row(
        docid=0,
        ns=0,
        rev=0,
        id=check_id(draft.id) if draft.id is not None else str(uuid_utils.uuid7()),
        text=text,
        tier=_tier(draft, given or 0.0, choice).value,
        kind=kind.value,
        status=Status.ACTIVE.value,
        scope=scope,
        session=session,
        actor=actor,
        role=role,
        key=key,
        aliases=to_json(aliases),
        importance=given or 0.0,
        tags=to_json(tags),
        metadata=metadata,
        trust=source.kind.value,
        source_uri=clean.name("source.uri", source.uri),
        source_model=clean.name("source.model", source.model),
        source_parents=to_json(source.parents),
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
        words=columns.title_words + len(words),
        head_words=len(head),
        cues=words_of.cues(text, role, words),
        content_hash=content_hash(
            text, scope, key, session, actor, role, occurred if draft.occurred_at else None
        ),
        checksum=b"",
    )

    def weigh(novelty: float) -> None:
        row.importance = importance(text, words, kind, novelty)
        row.tier = _tier(draft, row.importance, choice).value
        row.seal()

    if given is not None:
        row.seal()
    return Entry(
        row=row,
        text=columns,
        chosen_id=draft.id is not None,
        supersedes=ids("supersedes", draft.supersedes),
        related=ids("related", draft.related),
        derived=_derived(draft),
        redacted=clean.found,
        telling=() if given is not None else telling(words),
        weigh=None if given is not None else weigh,
    )


def check_text(text: object, limits: Limits) -> str:
    """Accept a text that is not empty, not too long, and can be stored as UTF-8."""
    if not isinstance(text, str):
        raise InvalidInput("text", f"must be a string, not {_name(text)}")
    if not text.strip():
        raise InvalidInput("text", "is empty")
    if len(text) > limits.text_chars:
        raise InvalidInput(
            "text", f"{len(text):,} characters; the limit is {limits.text_chars:,}: split it"
        )
    return storable("text", text)


def check_moment(field: str, moment: object) -> int:
    """Accept a timezone-aware datetime; returns microseconds since 1970 UTC."""
    if not isinstance(moment, datetime):
        raise InvalidInput(field, f"must be a datetime, not {_name(moment)}")
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InvalidInput(field, "has no time zone; use for example datetime.now(UTC)")
    try:
        return to_micros(moment.astimezone(UTC))
    except OverflowError:
        raise InvalidInput(field, "is before the year 1 or after 9999 in UTC") from None


def check_share(field: str, value: object) -> float:
    """Accept a number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, f"must be a number in [0, 1], not {_name(value)}")
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(field, f"must be in [0, 1], not {shown(value)}")
    return float(value)


def check_seconds(field: str, value: object) -> float:
    """Accept a time to wait, from none to a day."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, f"must be a number of seconds, not {_name(value)}")
    if not 0.0 <= value <= MAX_WAIT:
        raise InvalidInput(field, f"must be from 0 to {MAX_WAIT:.0f} seconds, not {shown(value)}")
    return float(value)


def check_flag(field: str, value: object) -> bool:
    """Accept a bool."""
    if not isinstance(value, bool):
        raise InvalidInput(field, f"must be True or False, not {_name(value)}")
    return value


def check_id(value: object, field: str = "id") -> str:
    """Accept an id of the caller's: 1 to 128 printable characters."""
    if not isinstance(value, str) or not value or len(value) > MAX_ID or not value.isprintable():
        raise InvalidInput(field, f"must be 1 to {MAX_ID} printable characters, not {shown(value)}")
    return value


def check_metadata(metadata: object, limits: Limits) -> str:
    """Accept a JSON object; returns it as JSON text."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"must be a mapping, not {_name(metadata)}")
    if not metadata:
        return "{}"
    plain = _plain(dict(metadata), 1)
    try:
        encoded = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput("metadata", f"is not JSON: {error}") from error
    if len(encoded.encode()) > limits.metadata_bytes:
        raise InvalidInput("metadata", f"is larger than {limits.metadata_bytes:,} bytes as JSON")
    return encoded


def _plain(value: Any, depth: int) -> Any:
    """Check what ``json`` would change without a word, or SQLite could not read."""
    if depth > MAX_DEPTH:
        raise InvalidInput("metadata", f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise InvalidInput("metadata", f"keys must be strings, not {shown(wrong[0])}")
        return {storable("metadata", k): _plain(item, depth + 1) for k, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return storable("metadata", value) if isinstance(value, str) else value


def check_source(source: object) -> Source:
    """Accept a Source, a trust class, or nothing (the user)."""
    if source is None:
        return Source()
    if not isinstance(source, Source):
        return Source(member(Trust, "source", source))
    return Source(
        member(Trust, "source.kind", source.kind),
        None if source.uri is None else short_name("source.uri", source.uri, most=MAX_URI),
        optional_name("source.model", source.model),
        ids("source.parents", source.parents),
    )


def expiry(expires_in: object, now: int) -> int | None:
    """Turn a time to live, in seconds or as timedelta, into a moment in microseconds."""
    if expires_in is None:
        return None
    if isinstance(expires_in, timedelta):
        seconds = expires_in.total_seconds()
    elif isinstance(expires_in, int | float) and not isinstance(expires_in, bool):
        seconds = expires_in
    else:
        raise InvalidInput("expires_in", f"must be seconds or a timedelta, not {_name(expires_in)}")
    if not 0.0 < seconds < MAX_SECONDS:
        raise InvalidInput(
            "expires_in", f"must be > 0 and at most 1,000 years, not {shown(expires_in)}"
        )
    return now + int(seconds * 1_000_000)


MAX_SECONDS = 1000 * 366 * 86_400.0


def member(kind: type[E], field: str, value: object) -> E:
    """Accept a member of an enumeration or its spelling; nothing else."""
    try:
        return kind(value)  # type: ignore[arg-type]  # an unknown value raises ValueError
    except ValueError:
        known = ", ".join(item.value for item in kind)
        raise InvalidInput(field, f"{shown(value)} is not one of: {known}") from None


def names(field: str, values: object) -> tuple[str, ...]:
    """Accept a sequence of short non-empty strings; repeats are dropped, order kept."""
    if values == ():
        return ()
    if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset):
        raise InvalidInput(field, f"must be a list of strings, not {_name(values)}")
    if len(values) > MAX_ITEMS:
        raise InvalidInput(field, f"has more than {MAX_ITEMS} items")
    checked = dict.fromkeys(short_name(field, value) for value in values)
    return tuple(sorted(checked) if isinstance(values, set | frozenset) else checked)


def optional_name(field: str, value: object) -> str | None:
    """Accept a short non-empty string or None."""
    return None if value is None else short_name(field, value)


def ids(field: str, values: object) -> tuple[str, ...]:
    """Accept one id or several."""
    if values == ():
        return ()
    if isinstance(values, str):
        return (check_id(values, field),)
    if not isinstance(values, Sequence):
        raise InvalidInput(field, f"must be an id or a list of ids, not {_name(values)}")
    if len(values) > MAX_ITEMS:
        raise InvalidInput(field, f"has more than {MAX_ITEMS} items")
    return tuple(dict.fromkeys(check_id(value, field) for value in values))


def to_json(values: Sequence[str]) -> str:
    """Spell a list of strings as the ledger keeps it."""
    return json.dumps(list(values), ensure_ascii=False) if values else "[]"


def _tier(draft: Draft, weight: float, choice: TierChoice) -> Tier:
    if draft.tier is None:
        return choice.tier(weight, pinned=bool(draft.pinned))
    return member(Tier, "tier", draft.tier)


def _derived(draft: Draft) -> tuple[str, ...]:
    """Name the columns that get a value of ours."""
    given = (
        (draft.importance, ("importance",)),
        (draft.tier, ("tier",)),
        (draft.occurred_at, ("occurred_at", "valid_from")),
    )
    return tuple(name for value, columns in given if value is None for name in columns)


def _end_of_validity(draft: Draft, occurred: int) -> int | None:
    if draft.valid_until is None:
        return None
    end = check_moment("valid_until", draft.valid_until)
    if end <= occurred:
        raise InvalidInput("valid_until", "must be later than occurred_at (now if not given)")
    return end


def short_name(field: str, value: object, *, most: int = MAX_NAME) -> str:
    """Accept a string that is not empty and at most so many characters long."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, not {_name(value)}")
    if not value.strip():
        raise InvalidInput(field, "is empty")
    if len(value) > most:
        raise InvalidInput(field, f"is longer than {most} characters")
    return storable(field, value)


def storable(field: str, value: str) -> str:
    """Accept a string that SQLite and UTF-8 can hold."""
    if "\0" in value:
        raise InvalidInput(field, "holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            field, "holds a lone surrogate; decode the bytes it came from with the right encoding"
        ) from None
    return value


def shown(value: object) -> str:
    """Spell a value for a message: short, and whatever it is."""
    plain = isinstance(value, str | float | timedelta | None)
    if plain or (isinstance(value, int) and abs(value) <= MAX_INTEGER):
        return f"{value!r:.60}"
    return f"this {_name(value)}"


def _name(value: object) -> str:
    return type(value).__name__
