"""Check a draft, fill in its defaults, and turn it into an entry for the ledger. Pure.

A refused draft raises ``InvalidInput`` naming the field; nothing is changed silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import uuid_utils

from memento.admit.importance import telling, tier_for
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
from memento.ledger.rows import IMPORTANCE_GIVEN, TIER_GIVEN, Row, columns_of, content_hash
from memento.messages import named
from memento.text.words import Columns, cues
from memento.types import Draft, Kind, Status, Tier


@dataclass(slots=True)
class Entry:
    """An accepted memory on its way into the ledger.

    Attributes:
        row: All columns; ``docid``, ``ns`` and ``rev`` are set on insertion.
        text: The columns of the full-text index: title, head, rest.
        chosen_id: Whether the caller gave the id.
        supersedes: Ids of the memories that it replaces.
        related: Ids it is linked to.
        derived: Columns whose value the caller did not give.
        metadata_bytes: Maximum size of the metadata as JSON, in bytes, after a merge.
        redacted: Number of secrets removed from it, by kind.
        words: Its words, folded.
        telling: The words whose novelty counts towards its importance.
        unweighed: Whether its importance still has to be computed, by ``Novelty.weigh``.
        by: Trust class of the speaker, which decides what it may replace. None for the trust of the
            memory itself, which is lower if a parent is less trusted.
    """

    row: Row
    text: Columns
    chosen_id: bool
    supersedes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    metadata_bytes: int = Limits().metadata_bytes
    redacted: Mapping[str, int] = field(default_factory=dict)
    words: Sequence[str] = ()
    telling: Sequence[str] = ()
    unweighed: bool = False
    by: str | None = None

    def rekey(self, key: str | None) -> None:
        """Set the key (None for no slot) and update what is computed from it."""
        self.row.key = key
        self.text = columns_of(self.row)
        self.row.words, self.row.head_words = self.text.words, self.text.head_words
        self.row.seal()

    def reword(self, text: str) -> None:
        """Set the text, already without secrets, and update what is computed from it."""
        row = self.row
        row.text = text
        self.text = columns_of(row)
        head, rest = self.text.spoken()
        self.words = head + rest
        self.telling = telling(self.words) if self.unweighed else ()
        row.words, row.head_words = self.text.title_words + len(self.words), len(head)
        row.cues = cues(row.text, row.role, self.words)
        row.seal()


A = TypeVar("A")
B = TypeVar("B")


def drafts_of(items: Iterable[str | Mapping[str, Any] | Draft]) -> list[Draft]:
    """Convert the argument of ``add_many`` to drafts.

    Raises:
        InvalidInput: If it is not a list, or an item is not a text, mapping or draft; names its
            position.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInput("items", f"must be a list of strings or drafts, not {type_name(items)}")
    return [at_position(at, draft_of, item) for at, item in enumerate(items)]


def at_position(at: int, check: Callable[[A], B], item: A) -> B:
    """Check one item of a list; ``InvalidInput`` names its position, from 0."""
    try:
        return check(item)
    except InvalidInput as error:
        raise error.within(f"items[{at}]") from None


def draft_of(item: str | Mapping[str, Any] | Draft) -> Draft:
    """Convert one item that ``add_many`` accepts to a draft.

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
        raise InvalidInput(
            "memory", f"{unknown:,} unknown {fields_are}; known fields: {sorted(known)}"
        )
    if "text" not in item:
        raise InvalidInput("text", "is missing")
    return Draft(**item)


def admit(
    draft: Draft, *, now: int, limits: Limits, secrets: Secrets | str = Secrets.REDACT
) -> Entry:
    """Turn a draft into an entry: check it, take the secrets out, count its words.

    Args:
        draft: As the caller gave it.
        now: The present moment, microseconds since 1970 UTC.
        limits: The maximum size of a text and of its metadata.
        secrets: Whether a secret in the draft is redacted, refused or kept.

    Returns:
        An entry whose row lacks only its place in the ledger, and its importance and tier where
        these depend on what the namespace knows, see ``Novelty.weigh``.

    Raises:
        InvalidInput: If anything about the draft cannot be accepted.
        SecretFound: If it holds a secret and secrets are refused, or its key holds one.
    """
    row, replaces, related = _checked(draft, limits, now)
    clean = Redaction(secrets)
    clean.row(row)
    row.key = clean.slot("key", row.key)
    said_by = (row.key, row.session, row.actor, row.role)
    dated = row.occurred_at if draft.occurred_at else None
    row.content_hash = content_hash(row.text, row.scope, *said_by, dated, condition=row.condition)
    columns = columns_of(row)
    head, rest = columns.spoken()
    spoken = head + rest
    row.words, row.head_words = columns.title_words + len(spoken), len(head)
    row.cues = cues(row.text, row.role, spoken)
    derived: tuple[str, ...] = ("occurred_at", "valid_from") if draft.occurred_at is None else ()
    derived += ("tier",) if draft.tier is None else ()
    entry = Entry(
        row=row,
        text=columns,
        chosen_id=draft.id is not None,
        supersedes=replaces,
        related=related,
        derived=derived,
        metadata_bytes=limits.metadata_bytes,
        redacted=clean.found,
        words=spoken,
    )
    if draft.importance is None:
        entry.derived += ("importance",)
        entry.telling, entry.unweighed = telling(spoken), True
        return entry
    if draft.tier is None:
        row.tier = tier_for(row.importance, pinned=bool(row.pinned)).value
    row.seal()
    return entry


def _checked(
    draft: Draft, limits: Limits, now: int
) -> tuple[Row, tuple[str, ...], tuple[str, ...]]:
    """Make a row of a draft's values, each checked, and the ids it supersedes and relates to.

    Nothing is counted yet.
    """
    scope = parse_scope(draft.scope)
    role = optional_name("role", draft.role)
    source = check_source(draft.source)
    occurred = now if draft.occurred_at is None else check_moment("occurred_at", draft.occurred_at)
    until = None if draft.valid_until is None else check_moment("valid_until", draft.valid_until)
    if until is not None and until <= occurred:
        raise InvalidInput("valid_until", "must be later than occurred_at (default: now)")
    importance = draft.importance
    aliases, tags = names("aliases", draft.aliases), names("tags", draft.tags)
    replaces, related = ids("supersedes", draft.supersedes), ids("related", draft.related)
    row = Row(
        docid=0,
        ns=0,
        rev=0,
        id=check_id(draft.id) if draft.id is not None else str(uuid_utils.uuid7()),
        text=check_text(draft.text, limits),
        tier=Tier.SHORT.value if draft.tier is None else member(Tier, "tier", draft.tier).value,
        kind=member(Kind, "kind", draft.kind).value,
        status=Status.ACTIVE.value,
        scope=scope,
        session=optional_name("session", draft.session),
        actor=optional_name("actor", draft.actor),
        role=None if role is None else named(role),
        key=optional_name("key", draft.key),
        importance=0.0 if importance is None else check_share("importance", importance),
        metadata=check_metadata(draft.metadata, limits),
        trust=source.kind.value,
        source_uri=source.uri,
        source_model=source.model,
        pinned=int(check_flag("pinned", draft.pinned)),
        occurred_at=occurred,
        created_at=now,
        updated_at=now,
        valid_from=occurred,
        valid_until=until,
        expires_at=expiry(draft.expires_in, now),
        superseded_by=None,
        reinforced=0,
        version=1,
        words=0,
        head_words=0,
        cues=0,
        content_hash=b"",
        checksum=b"",
        signal=optional_name("signal", draft.signal),
        condition=optional_condition("condition", draft.condition),
        due_at=None if draft.due_at is None else check_moment("due_at", draft.due_at),
        given=(0 if draft.tier is None and not draft.pinned else TIER_GIVEN)
        | (0 if importance is None else IMPORTANCE_GIVEN),
        aliases=to_json(aliases),
        tags=to_json(tags),
        source_parents=to_json(source.parents),
    )
    return row, replaces, related


def to_json(values: Sequence[str]) -> str:
    """Encode a list of strings as JSON, as the ledger stores it."""
    return json.dumps(list(values), ensure_ascii=False) if values else "[]"
