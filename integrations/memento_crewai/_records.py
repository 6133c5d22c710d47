"""CrewAI's records, scopes and filters in memento's terms. Pure.

scope "/a/b"           scope "a/b"
categories             tags
importance, metadata   the same
source                 session: where it comes from, a user or a conversation
private                a mark in the metadata that names the source: only it may read it
created_at             occurred_at; CrewAI's times are UTC without a time zone
last_accessed          updated_at
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.utils import normalize_scope_path

from memento import Config, Filtering, conversation
from memento.base.scopes import parse_scope, short_form
from memento.check import MAX_ID, MAX_NAME, type_name
from memento.errors import InvalidInput
from memento.prompt import escape
from memento.types import Draft, Hit, Memory, Trust

PRIVATE = "crewai_private"
"""Metadata key of a private memory; never shown."""
PIECE = "crewai_piece"
"""Metadata key of a piece of a long text, the same for all its pieces; never shown."""
OURS = frozenset({PRIVATE, PIECE})
"""Metadata keys that are ours."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The memories that a call concerns.

    Attributes:
        scope: CrewAI's path, with everything below it; None for everywhere.
        categories: At least one of these; none for all.
        metadata: Keys with the value each must have.
        older_than: Only records said before this moment, with any time zone, or UTC if it has none.
        source: Who asks; sees its own private memories.
        everyones: Whether to include every private memory.
    """

    scope: str | None = None
    categories: Collection[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    older_than: datetime | None = None
    source: str | None = None
    everyones: bool = True

    def arguments(self) -> Filtering:
        """Return the filters for all of this except ``nested``.

        Raises:
            InvalidScope: If the path is not well formed.
            InvalidInput: If no category has a name, which does not mean any category.
        """
        tags = to_tags(self.categories)
        if self.categories and not tags:
            raise InvalidInput("categories", "are empty")
        where: dict[str, Any] = {
            key: [value] for key, value in self.metadata.items() if key not in self.nested
        }
        if not self.everyones:
            where |= visible(self.source)
        return Filtering(
            within=to_scope(self.scope),
            any_tag=tags or None,
            where=where,
            until=None if self.older_than is None else aware(self.older_than),
        )

    @property
    def nested(self) -> dict[str, Any]:
        """The requested metadata that is not a scalar, which the ledger cannot compare."""
        return {
            key: value for key, value in self.metadata.items() if isinstance(value, dict | list)
        }

    def admits(self, memory: Memory) -> bool:
        """Return whether a memory has the ``nested`` metadata."""
        return all(memory.metadata.get(key) == value for key, value in self.nested.items())


class EscapedMatch(MemoryMatch):
    """A match that is rendered as data, so that nothing in it can pose as part of the prompt."""

    def format(self) -> str:
        """Render for a prompt; each value is written as JSON on one line."""
        said = f"score={self.score:.2f}, {self.record.created_at:%Y-%m-%d}"
        lines = [f"- ({said}) {escape(self.record.content)}"]
        if self.record.categories:
            lines.append(f"  categories: {escape(self.record.categories)}")
        kept = {key: value for key, value in self.record.metadata.items() if value is not None}
        if kept:
            lines.append(f"  metadata: {escape(kept)}")
        return "\n".join(lines)


def to_scope(path: str | None) -> str:
    """Convert CrewAI's scope path to memento's form; long parts, such as roles, are shortened.

    A character that cannot be printed, such as a line break in a role, is written as its number.

    Raises:
        InvalidScope: If it is not well formed.
    """
    path = mended(normalize_scope_path(path or "/"))
    path = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in path)
    return parse_scope("/".join(map(short_form, path.split("/"))))


def to_session(source: str | None) -> str | None:
    """Convert CrewAI's source, which may be any text, to a session."""
    return conversation.session_of(source) if source else None


def to_tags(categories: Iterable[str] | None) -> tuple[str, ...]:
    """Convert CrewAI's categories, which may be any texts, to tags; empty ones are dropped."""
    return tuple(short_form(mended(one), MAX_NAME) for one in categories or () if one.strip())


def to_id(record_id: str) -> str:
    """Convert the id of a record, which may be any text, to that of a memory."""
    return short_form(record_id, MAX_ID)


def to_record(memory: Memory) -> MemoryRecord:
    """Convert a memory to CrewAI's record."""
    return MemoryRecord(
        id=memory.id,
        content=memory.text,
        scope=f"/{memory.scope}",
        categories=list(memory.tags),
        metadata={key: value for key, value in memory.metadata.items() if key not in OURS},
        importance=memory.importance,
        created_at=naive(memory.occurred_at),
        last_accessed=naive(memory.updated_at),
        source=memory.session,
        private=is_private(memory),
    )


def to_match(hit: Hit) -> MemoryMatch:
    """Convert a hit to CrewAI's match, with the searches that found it."""
    return EscapedMatch(
        record=to_record(hit.memory), score=hit.score, match_reasons=sorted(hit.ranks)
    )


def piece_id(record_id: str, number: int) -> str:
    """Return the id of a piece of a long record, counted from 1."""
    return to_id(record_id if number == 1 else f"{record_id} {number}")


def to_drafts(record: MemoryRecord, config: Config) -> Iterator[Draft]:
    """Convert CrewAI's record to items for ``add_many``: several if it is too long for one."""
    for number, (text, piece) in enumerate(fitting([record.content], config), start=1):
        yield Draft(
            id=piece_id(record.id, number),
            text=text,
            scope=to_scope(record.scope),
            tags=to_tags(record.categories),
            metadata=marked(record.metadata, record.source, private=record.private, piece=piece),
            importance=record.importance,
            session=to_session(record.source),
            source=Trust.AGENT,
            occurred_at=aware(record.created_at),
        )


def is_private(memory: Memory) -> bool:
    """Return whether only its own source may read a memory."""
    return PRIVATE in memory.metadata


def visible(source: str | None) -> dict[str, list[Any]]:
    """Return the condition, as in ``where``, that selects what a source may see.

    Raises:
        InvalidInput: If the source is not a string, such as the mark of a record without one.
    """
    if not isinstance(source, str | None):
        raise InvalidInput("source", f"must be a string, not {type(source).__name__}")
    return {PRIVATE: [None] if source is None else [None, to_session(source) or source]}


def mark(source: str | None) -> str | bool:
    """Return the mark of private records of a source; without a source, nobody can read them."""
    return to_session(source) or True


def marked(
    metadata: Mapping[str, Any] | None,
    source: str | None,
    *,
    private: bool,
    piece: str | None = None,
) -> dict[str, Any]:
    """Return metadata as stored, with the marks for private records and for pieces."""
    kept = {key: one for key, one in mended(metadata or {}).items() if key not in OURS}
    kept |= {PRIVATE: mark(source)} if private else {}
    return kept | ({} if piece is None else {PIECE: piece})


def piece_of(memory: Memory) -> str | None:
    """Return the mark of the long text that a memory is a piece of; None if it is whole."""
    found = memory.metadata.get(PIECE)
    return found if isinstance(found, str) else None


def mended(value: Any) -> Any:
    r"""Replace what a database cannot store: a NUL or a lone surrogate, as found in scraped pages.

    >>> mended({"page": ["nul \0"], "number": 1})
    {'page': ['nul \ufffd'], 'number': 1}
    """
    if isinstance(value, str):
        return conversation.mended(value)
    if isinstance(value, Mapping):
        return {mended(key): mended(one) for key, one in value.items()}
    return [mended(one) for one in value] if isinstance(value, list | tuple) else value


def fitting(contents: Iterable[str], config: Config) -> Iterator[tuple[str, str | None]]:
    """Yield cleaned texts, and split those too long for one memory into pieces, as ``keep`` does.

    Each comes with the mark that its pieces share; None for a whole text.

    Raises:
        InvalidInput: If one is not a text.
    """
    for one in contents:
        if not isinstance(one, str):
            raise InvalidInput("contents", f"must be strings, not {type_name(one)}")
        text = mended(one)
        if len(text) <= config.limits.text_chars:
            yield text, None
            continue
        mark_of_all = uuid4().hex
        yield from ((piece, mark_of_all) for piece in conversation.pieces(text, config))


def aware(moment: datetime) -> datetime:
    """Read one of CrewAI's times, which is UTC if it has no time zone."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def naive(moment: datetime) -> datetime:
    """Convert a time to CrewAI's form: UTC without a time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)
