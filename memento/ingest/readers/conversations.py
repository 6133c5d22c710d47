"""Read conversations, an episode for each turn: OpenAI, ShareGPT, LoCoMo, lines of speakers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import chain
from typing import Any

from memento.base.blocks import hide
from memento.errors import InvalidInput
from memento.ingest.paragraphs import TURN_LIMIT, pieces
from memento.ingest.readers.common import How
from memento.ingest.source import (
    FilePlace,
    Head,
    Item,
    checked,
    is_message,
    lines,
    list_of,
    mapping,
    string,
    time_of,
    values,
)
from memento.messages import Utterance, is_one, named, read
from memento.types import Draft, Kind, Source

UNSPOKEN_ROLES = frozenset({"system", "developer"})
"""Roles whose messages instruct the model; they are not part of the conversation."""
_SESSION_FIELDS = ("session", "session_id", "conversation_id")
_TURN_FIELDS = ("id", "message_id", "uuid")
_TIME_FIELDS = ("occurred_at", "timestamp", "created_at", "time")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LOCOMO_TIME = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]{3})[a-z]*,?\s+(\d{4})", re.IGNORECASE
)
_LOCOMO_SESSION = re.compile(r"session_(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation: what its turns have in common."""

    source: str
    session: str
    zone: tzinfo = UTC

    def turn(
        self,
        text: str,
        turn: str,
        *,
        actor: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
    ) -> Iterator[Draft]:
        """Yield the draft of one turn: none for a blank text, several for a long one."""
        text = hide(text)
        for piece in pieces(text, TURN_LIMIT) if text.strip() else ():
            yield Draft(
                piece,
                kind=Kind.EPISODE,
                session=self.session,
                actor=actor,
                role=role,
                source=Source(uri=self.source),
                metadata={"turn": turn},
                occurred_at=at,
            )


def is_chat(head: Head) -> bool:
    """Recognise OpenAI messages: records are messages, lists, or objects with ``messages``."""
    first = next(iter(head.records), None)
    listed = isinstance(first, list) and (not first or is_message(first[0]))
    return listed or is_message(first) or "messages" in head.first


def is_sharegpt(head: Head) -> bool:
    """Recognise ShareGPT: records have a field ``conversations``."""
    return "conversations" in head.first


def is_locomo(head: Head) -> bool:
    """Recognise LoCoMo: records have a ``conversation``, or numbered sessions."""
    return not head.first.keys().isdisjoint(("conversation", "session_1"))


def is_transcript(head: Head) -> bool:
    """Recognise a transcript: the first line and another one begin with a speaker."""
    found = [line for line in head.text.split("\n") if line.strip()]
    return bool(found and _speaker(found[0])) and any(map(_speaker, found[1:]))


def _speaker(line: str) -> str:
    """Return the role that a line names before a colon; ``""`` if it names none."""
    name, colon, _ = line.partition(":")
    return named(name) if colon and is_one({"role": name}) and name.strip() == name else ""


def read_transcript(item: Item, _how: How) -> Iterator[Draft]:
    """Read lines that begin with ``user:`` or ``assistant:``: an episode for each turn."""
    talk, turns = _Talk(item.plain_name, item.plain_name), 0
    role, said = "", [""]
    for line in chain((line for _, line in lines(item)), ("user:",)):
        if found := _speaker(line):
            if said and role and role not in UNSPOKEN_ROLES:
                turns += 1
                yield from talk.turn("\n".join(said).strip(), str(turns), role=role)
            role, said = found, [line.partition(":")[2].strip()]
        else:
            said.append(line)


def read_chat(item: Item, how: How) -> Iterator[Draft]:
    """Read OpenAI messages: an episode for each message."""
    name = item.plain_name
    for number, (place, value) in enumerate(values(item), start=1):
        if is_message(value):  # one message per line: the file is one conversation
            yield from _message(value, place, _Talk(name, name, how.zone), number)
        else:
            yield from _messages(value, place, _Talk(name, f"{name}#{number}", how.zone))


def _messages(value: Any, place: FilePlace, talk: _Talk) -> Iterator[Draft]:
    fields = {"messages": value} if isinstance(value, list) else mapping(value, place)
    place = place if isinstance(value, list) else place.at("messages")
    session = _first(fields, (*_SESSION_FIELDS, "id"), place)
    talk = replace(talk, session=session) if session else talk
    for turn, message in enumerate(list_of(fields.get("messages"), place), start=1):
        here = place.at(turn - 1)
        yield from _message(mapping(message, here), here, talk, turn)


def _message(
    fields: Mapping[str, Any], place: FilePlace, talk: _Talk, position: int
) -> Iterator[Draft]:
    said = _said(fields, place)
    if said.role in UNSPOKEN_ROLES:
        return
    own = said.fields
    session = _first(own, _SESSION_FIELDS, place)
    yield from (replace(talk, session=session) if session else talk).turn(
        said.text,
        _first(own, _TURN_FIELDS, place) or str(position),
        actor=_first(own, ("name",), place),
        role=said.role,
        at=_when(own, place, talk.zone),
    )


def _said(fields: Mapping[str, Any], place: FilePlace) -> Utterance:
    """Read a message; text that a database cannot store is refused, as in every file."""
    try:
        said = read(fields, "message")
    except InvalidInput as error:
        raise place.error(str(error)) from error
    checked(string, said.text, place)
    return said


def _first(fields: Mapping[str, Any], names: Sequence[str], place: FilePlace) -> str | None:
    """Return the value of the first of these fields that is set, numbers as text."""
    for name in names:
        value = fields.get(name)
        if value is not None and value != "":
            number = isinstance(value, int) and not isinstance(value, bool)
            return str(value) if number else checked(string, value, place.at(name))
    return None


def _when(fields: Mapping[str, Any], place: FilePlace, zone: tzinfo) -> datetime | None:
    for name in _TIME_FIELDS:
        if fields.get(name) is not None:
            return checked(partial(time_of, zone=zone), fields[name], place.at(name))
    return None


def read_sharegpt(item: Item, how: How) -> Iterator[Draft]:
    """Read ShareGPT conversations: an episode for each message."""
    name = item.plain_name
    for number, (place, value) in enumerate(values(item), start=1):
        fields = mapping(value, place)
        session = _first(fields, (*_SESSION_FIELDS, "id"), place) or f"{name}#{number}"
        turns = list_of(fields.get("conversations"), place.at("conversations"))
        for turn, message in enumerate(turns, start=1):
            here = place.at("conversations").at(turn - 1)
            talk = _Talk(name, session, how.zone)
            yield from _sharegpt_turn(mapping(message, here), here, talk, turn)


def _sharegpt_turn(
    fields: Mapping[str, Any], place: FilePlace, talk: _Talk, position: int
) -> Iterator[Draft]:
    said = _said(fields, place)
    if said.role not in UNSPOKEN_ROLES:
        yield from talk.turn(
            said.text, str(position), role=said.role, at=_when(fields, place, talk.zone)
        )


def read_locomo(item: Item, how: How) -> Iterator[Draft]:
    """Read LoCoMo dialogues: an episode for each turn."""
    name = item.plain_name
    for number, (place, value) in enumerate(values(item), start=1):
        sample = mapping(value, place)
        label = _first(sample, ("sample_id",), place) or f"{name}#{number}"
        if "conversation" in sample:
            place = place.at("conversation")  # noqa: PLW2901 - one step further into the same value
            sample = mapping(sample["conversation"], place)
        yield from _locomo_turns(sample, place, _Talk(name, label, how.zone))


def _locomo_turns(sessions: Mapping[str, Any], place: FilePlace, sample: _Talk) -> Iterator[Draft]:
    for key in _locomo_sessions(sessions):
        day = sessions.get(f"{key}_date_time")
        read_time = partial(_locomo_time, zone=sample.zone)
        at = checked(read_time, day, place.at(f"{key}_date_time")) if day else None
        talk = replace(sample, session=f"{sample.session}/{key}")
        for n, value in enumerate(list_of(sessions[key], place.at(key))):
            yield from _locomo_turn(value, place.at(key).at(n), talk, at)


def _locomo_turn(value: Any, place: FilePlace, talk: _Talk, at: datetime | None) -> Iterator[Draft]:
    turn = mapping(value, place)
    text, caption, speaker, own_id = (
        _first(turn, (field,), place) for field in ("text", "blip_caption", "speaker", "dia_id")
    )
    shared = f" [shares {caption}]" if caption else ""
    yield from talk.turn(
        f"{text or ''}{shared}".strip(), own_id or place.text, actor=speaker, at=at
    )


def _locomo_sessions(fields: Mapping[str, Any]) -> list[str]:
    """Return the names of the sessions in the order of their numbers."""
    numbers = [int(found[1]) for key in fields if (found := _LOCOMO_SESSION.fullmatch(key))]
    return [f"session_{number}" for number in sorted(numbers)]


def _locomo_time(value: Any, zone: tzinfo) -> datetime:
    """Read a time such as ``1:56 pm on 8 May, 2023``."""
    found = _LOCOMO_TIME.fullmatch(string(value).strip())
    if found is None or (month := found[5].lower()) not in _MONTHS:
        raise ValueError(f"expected a time such as '1:56 pm on 8 May, 2023', found {value!r}")
    hour, minute, half, day, _, year = found.groups()
    afternoon = 12 if half.lower() == "p" else 0
    return datetime(
        int(year),
        _MONTHS.index(month) + 1,
        int(day),
        int(hour) % 12 + afternoon,
        int(minute),
        tzinfo=zone,
    ).astimezone(UTC)
