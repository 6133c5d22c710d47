"""Shared by the readers: options, turns, times, and removal of what an agent added to a text."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from memento.base.blocks import hide
from memento.errors import InvalidInput
from memento.ingest.paragraphs import TAG_LIMIT, TURN_LIMIT, pieces
from memento.ingest.source import time_of
from memento.types import Draft, Kind, Source, Trust

_MILLISECONDS = 1e11
"""Numbers from here on are milliseconds since 1970: as seconds they are of the year 5138."""
_TAGS = (
    "system-reminder|environment_context|session_context|user_instructions|hook_context|private"
    "|command-name|command-message|command-args|local-command-stdout|local-command-caveat"
    "|current_datetime|untrusted_context|task-notification|memories-[0-9a-zA-Z]{8,64}"
)
_HARNESS = re.compile(rf"<(/?)({_TAGS})>")
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069\ufeff"))
"""Text-direction marks, which apps put around names and attachments."""


@dataclass(frozen=True, slots=True)
class How:
    """How a file is read.

    Attributes:
        me: Name, id or address of the user in chats of several people.
        map: Maps fields of a draft to the columns or fields of the file that fill them.
        zone: Time zone of times that name none.
        notes: Remarks of the reader about the file, each once, as keys.
    """

    me: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo = UTC
    notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a map without a text: every record would be skipped."""
        if self.map and "text" not in self.map:
            named = ", ".join(map(str, self.map))
            raise InvalidInput("map", f"must include text, as in text=body; it has only {named}")

    def note(self, text: str) -> None:
        """Add a remark about the file."""
        self.notes[text] = None

    def is_me(self, *names: object) -> bool:
        """Return whether a person with these names is the user."""
        return self.me is not None and folded(self.me) in map(folded, filter(None, names))


def folded(name: object) -> str:
    """Return a name in lower case, without direction marks, repeated spaces and a leading ``@``."""
    return " ".join(str(name).translate(_MARKS).casefold().split()).removeprefix("@")


def unmarked(text: str) -> str:
    """Return a text without text-direction marks."""
    return text.translate(_MARKS)


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: what its turns have in common.

    Attributes:
        session: Its session id.
        uri: Its address, for ``Source.uri``.
        title: Its title, which becomes a tag.
        metadata: Further metadata of each turn.
    """

    session: str
    uri: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def turn(
        self,
        text: str,
        turn: str,
        *,
        role: str | None = None,
        actor: str | None = None,
        at: datetime | None = None,
        trust: Trust | None = None,
        **metadata: Any,
    ) -> Iterator[Draft]:
        """Yield the draft of one turn: none for a blank text, several for a long one.

        Args:
            text: The text.
            turn: Its id within the conversation.
            role: ``user`` or ``assistant``, if it is one of these.
            actor: Name of the speaker.
            at: When it was said.
            trust: Trust class of the speaker; None for ``user``.
            metadata: Further metadata; empty values are left out.
        """
        text = hide(text)
        more = {name: value for name, value in metadata.items() if value}
        for number, piece in enumerate(pieces(text, TURN_LIMIT) if text.strip() else ()):
            yield Draft(
                piece.strip(),
                kind=Kind.EPISODE,
                session=self.session,
                actor=actor,
                role=role,
                source=Source(trust or Trust.USER, self.uri),
                tags=tag(self.title),
                metadata={**self.metadata, **more, "turn": turn},
                occurred_at=at,
                id=f"{self.session} {turn} {number}",
            )

    def message(
        self, text: str, turn: str, actor: str, *, mine: bool, at: datetime | None, **metadata: Any
    ) -> Iterator[Draft]:
        """Yield the drafts of a chat message; trust is ``import`` unless it is the user's."""
        role, trust = ("user", Trust.USER) if mine else (None, Trust.IMPORT)
        return self.turn(text, turn, role=role, actor=actor, at=at, trust=trust, **metadata)


def tag(title: object) -> tuple[str, ...]:
    """Return a title as a tuple of one tag; ``()`` if it is blank, too long or no string."""
    said = " ".join(title.split()) if isinstance(title, str) else ""
    return (said,) if 0 < len(said) <= TAG_LIMIT else ()


def spoken(text: str) -> str:
    """Return a message without the tagged sections that a coding agent adds to it."""
    ends: dict[str, list[int]] = defaultdict(list)
    begun: list[re.Match[str]] = []
    for mark in _HARNESS.finditer(text):
        if mark[1]:
            ends[mark[2]].append(mark.end())
        else:
            begun.append(mark)
    kept, at = [], 0
    for mark in begun:
        after = ends[mark[2]]
        end = bisect(after, mark.end())
        if mark.start() >= at and end < len(after):
            kept.append(text[at : mark.start()])
            at = after[end]
    return "".join([*kept, text[at:]]).strip()


def text_blocks(content: object, kinds: frozenset[str] = frozenset({"text"})) -> str:
    """Return the text of a content field: a string, or the joined blocks of these types."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    said = (
        one if isinstance(one, str) else one.get("text")
        for one in blocks
        if isinstance(one, str) or (isinstance(one, Mapping) and one.get("type", "text") in kinds)
    )
    return "\n".join(text for text in said if isinstance(text, str))


def moment(value: object, zone: tzinfo = UTC) -> datetime | None:
    """Read a time as ``time_of`` does, or milliseconds since 1970; None for anything else."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = value / 1000 if abs(value) >= _MILLISECONDS else value
    try:
        return time_of(value, zone)
    except (ValueError, OverflowError, OSError, InvalidInput):
        return None


def fields(value: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a JSON list; an empty one for any other value."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """Return a string, or a number as one; ``""`` for any other value."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if isinstance(value, str) else str(value) if is_number else ""
