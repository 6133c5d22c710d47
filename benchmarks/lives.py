"""One person's memory as a JSON file: what was told, when, and the later questions.

A life is a JSON object::

    {"about": "who this is, for people to read",
     "today": "2025-06-18T18:00:00Z",
     "memories": [
       {"id": "dentist1", "at": "2025-03-04T09:10:00Z", "text": "Dentist on the 14th at 9"},
       {"id": "c1a", "at": "2025-03-05T20:00:00Z", "session": "c1", "role": "user",
        "kind": "episode", "text": "did I ever tell you where we met?"}],
     "questions": [
       {"id": "q1", "class": "when", "text": "when do I see the dentist", "answers": ["dentist1"]},
       {"id": "q2", "class": "off-topic", "text": "ok", "answers": []}]}

``today`` is the moment at which the questions are asked. Every moment needs a time zone.

A memory has an ``id`` by which the questions name it (the store never sees it), the ``text``, and
``at``, the moment at which it is told: the clock of the store stands there when it is added. The
memories are in that order. All arguments of ``MemoryManager.add`` except ``id`` and ``replace`` are
allowed as further fields: ``tier``, ``kind``, ``importance``, ``key``, ``aliases``, ``scope``,
``session``, ``actor``, ``role``, ``source`` (the trust class), ``tags``, ``metadata``,
``occurred_at`` (if it happened earlier or later than it is told), ``valid_until``, ``expires_in``
(seconds), ``pinned``, ``supersedes`` and ``related`` (ids in this file). ``"approve": true``
approves a memory from an untrusted source.

A question has ``id``, ``class``, ``text`` and ``answers``, the ids any of which is right; none if
nothing in the life answers it. Optional are ``not`` (ids that are known to be wrong, such as an
earlier value), ``today`` (a moment of its own: only what was told until then is known), and
``previous_turns`` (texts said just before, oldest first).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

LIFE_FIELDS = {"about", "today", "memories", "questions"}
ADD_FIELDS = {
    "tier", "kind", "importance", "key", "aliases", "scope", "session", "actor", "role", "source",
    "tags", "metadata", "occurred_at", "valid_until", "expires_in", "pinned", "supersedes",
    "related",
}  # fmt: skip
MEMORY_FIELDS = {"id", "at", "text", "approve"} | ADD_FIELDS
QUESTION_FIELDS = {"id", "class", "text", "answers", "not", "today", "previous_turns"}
ADD_MOMENTS = ("occurred_at", "valid_until")


@dataclass(frozen=True, slots=True)
class Told:
    """One memory.

    Attributes:
        id: Name in the file.
        at: When it is told.
        arguments: Arguments of ``add``; ``supersedes`` and ``related`` hold names of the file.
        approve: Whether it is approved after it was added.
    """

    id: str
    at: datetime
    arguments: Mapping[str, Any]
    approve: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """One question.

    Attributes:
        id: Name in the file.
        kind: Its class, such as ``when``.
        text: The question.
        at: When it is asked.
        answers: Names of the memories any of which is right; empty if nothing answers it.
        wrong: Names of memories that are known to be wrong.
        previous: Texts said just before, oldest first.
    """

    id: str
    kind: str
    text: str
    at: datetime
    answers: frozenset[str]
    wrong: frozenset[str] = frozenset()
    previous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Life:
    """A life: its memories in the order told, its questions in the order of the file."""

    name: str
    memories: tuple[Told, ...]
    questions: tuple[Asked, ...]


def read(path: Path) -> Life:
    """Read a life.

    Raises:
        ValueError: If the file does not have the shape above; the message names the place.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON: {error}") from error
    try:
        return life_of(record, path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def life_of(record: object, name: str) -> Life:
    """Read a life from its JSON value.

    Raises:
        ValueError: If it does not have the shape above; the message names the place.
    """
    whole = _object(record, "the file", LIFE_FIELDS, {"today", "memories", "questions"})
    today = _moment(whole["today"], "today")
    memories = tuple(_told(one, at) for at, one in _items(whole, "memories"))
    questions = tuple(_asked(one, at, today) for at, one in _items(whole, "questions"))
    life = Life(name, memories, questions)
    _check_names(life)
    _check_order(life)
    _check_links(life)
    for question in questions:
        _check_answers(question, life)
    return life


def _object(value: object, where: str, known: set[str], needed: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise ValueError(f"{where}: must be an object, not {kind}")  # noqa: TRY004 - as all here
    if unknown := sorted(value.keys() - known):
        raise ValueError(f"{where}: unknown fields {unknown}; known: {sorted(known)}")
    if missing := sorted(needed - value.keys()):
        raise ValueError(f"{where}: missing fields {missing}")
    return value


def _items(whole: dict[str, Any], name: str) -> list[tuple[str, Any]]:
    if not isinstance(whole[name], list) or not whole[name]:
        raise ValueError(f"{name}: must be a list that is not empty")
    return [(f"{name}[{n}]", one) for n, one in enumerate(whole[name])]


def _told(value: object, where: str) -> Told:
    record = _object(value, where, MEMORY_FIELDS, {"id", "at", "text"})
    name = _text(record["id"], f"{where}: id")
    where = f"{where} ({name})"
    arguments = {field: record[field] for field in record.keys() & ADD_FIELDS}
    for field in ADD_MOMENTS:
        if field in arguments:
            arguments[field] = _moment(arguments[field], f"{where}: {field}")
    for field in ("supersedes", "related"):
        if field in arguments:
            arguments[field] = _texts(arguments[field], f"{where}: {field}")
    arguments["text"] = _text(record["text"], f"{where}: text")
    approve = record.get("approve", False)
    if not isinstance(approve, bool):
        raise ValueError(f"{where}: approve: must be true or false")  # noqa: TRY004 - as all here
    return Told(name, _moment(record["at"], f"{where}: at"), arguments, approve)


def _asked(value: object, where: str, today: datetime) -> Asked:
    record = _object(value, where, QUESTION_FIELDS, {"id", "class", "text", "answers"})
    name = _text(record["id"], f"{where}: id")
    where = f"{where} ({name})"
    return Asked(
        name,
        _text(record["class"], f"{where}: class"),
        _text(record["text"], f"{where}: text"),
        _moment(record["today"], f"{where}: today") if "today" in record else today,
        frozenset(_texts(record["answers"], f"{where}: answers")),
        frozenset(_texts(record.get("not", []), f"{where}: not")),
        tuple(_texts(record.get("previous_turns", []), f"{where}: previous_turns")),
    )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where}: must be a text that is not empty, not {value!r}")
    return value


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list of texts, not {value!r}")  # noqa: TRY004 - as all here
    return [_text(one, f"{where}[{n}]") for n, one in enumerate(value)]


def _moment(value: object, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(value, where))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"{where}: must be like 2025-03-14T09:30:00Z, not {value!r}")
    return moment


def _check_names(life: Life) -> None:
    for what, things in (("memories", life.memories), ("questions", life.questions)):
        twice = [name for name, n in Counter(one.id for one in things).items() if n > 1]
        if twice:
            raise ValueError(f"{what}: ids that occur twice: {twice}")


def _check_order(life: Life) -> None:
    for earlier, later in pairwise(life.memories):
        if later.at < earlier.at:
            raise ValueError(
                f"memories: {later.id} is told at {later.at}, before {earlier.id} above it"
            )


def _check_links(life: Life) -> None:
    seen: set[str] = set()
    for told in life.memories:
        for field in ("supersedes", "related"):
            if unknown := sorted(set(told.arguments.get(field, ())) - seen):
                raise ValueError(f"memory {told.id}: {field}: no earlier memory {unknown}")
        seen.add(told.id)


def _check_answers(question: Asked, life: Life) -> None:
    where = f"question {question.id}"
    told = {one.id for one in life.memories if one.at <= question.at}
    for field, names in (("answers", question.answers), ("not", question.wrong)):
        if unknown := sorted(names - told):
            raise ValueError(f"{where}: {field}: no memory told until {question.at}: {unknown}")
    if both := sorted(question.answers & question.wrong):
        raise ValueError(f"{where}: in answers and in not: {both}")
