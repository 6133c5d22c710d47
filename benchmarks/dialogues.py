"""Public conversation benchmarks in one shape. The files are not part of this project.

    locomo       LoCoMo as published: a JSON list of samples with ``conversation`` and ``qa``
    beam         BEAM, one JSON object a line: ``{id, turns, queries}``
    longmemeval  LongMemEval as published: a JSON list of questions with their haystack

Any of them may be gzipped. Each conversation becomes a store of its own.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memento import ingest
from memento.types import Draft, Kind, Source, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ADVERSARIAL = "adversarial"
"""Category of LoCoMo whose questions have no true answer, only a place where it would stand."""

LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: ADVERSARIAL,
}
DEFAULT_LEVELS = {"locomo": "turn", "beam": "message", "longmemeval": "session"}
"""The units that are ranked by default: a turn and a message are one draft, a session several."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question with the turns and the sessions that answer it."""

    id: str
    text: str
    category: str
    turns: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one store, and the questions about them.

    Attributes:
        id: Name of the conversation.
        drafts: Its turns; ``metadata["turn"]`` is the id the questions use.
        queries: Its questions, each with at least one gold turn or session in the drafts.
        now: Moment at which the questions are asked, or None for the present.
    """

    id: str
    drafts: tuple[Draft, ...]
    queries: tuple[Query, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A benchmark file: its name and its conversations."""

    name: str
    conversations: tuple[Conversation, ...]


def load(path: Path) -> Dataset:
    """Read a benchmark file, telling by its content which one it is.

    Raises:
        ValueError: If it is none of the three.
    """
    first, records = _records(path)
    if {"turns", "queries"} <= first.keys():
        return Dataset("beam", tuple(_beam(record) for record in records))
    if {"conversation", "qa"} <= first.keys():
        return Dataset("locomo", tuple(_locomo(path, records)))
    if {"haystack_sessions", "question"} <= first.keys():
        asked = [r for r in records if not r["question_id"].endswith("_abs")]  # nothing to find
        return Dataset("longmemeval", tuple(_longmemeval(record) for record in asked))
    raise ValueError(f"{path}: neither LoCoMo, BEAM nor LongMemEval; it has {sorted(first)}")


def _records(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    lines = ".jsonl" in path.suffixes
    records = [json.loads(line) for line in text.strip().split("\n")] if lines else json.loads(text)
    return records[0], records


def _sessions_of(drafts: Iterable[Draft]) -> dict[str, str]:
    return {str(draft.metadata["turn"]): str(draft.session) for draft in drafts}


def _query(
    name: str, text: str, category: str, gold: Iterable[str], sessions: dict[str, str]
) -> Iterator[Query]:
    """Yield the question; nothing if no turn of the conversation answers it."""
    turns = frozenset(gold) & sessions.keys()
    if turns:
        yield Query(name, text, category, turns, frozenset(sessions[turn] for turn in turns))


def _locomo(path: Path, samples: list[dict[str, Any]]) -> Iterator[Conversation]:
    talks = groupby(ingest.read(path), key=lambda draft: str(draft.session).rpartition("/")[0])
    for sample, (label, turns) in zip(samples, talks, strict=True):
        drafts = tuple(turns)
        sessions = _sessions_of(drafts)
        queries: list[Query] = []
        for n, asked in enumerate(sample["qa"]):
            category = LOCOMO_CATEGORIES[asked["category"]]
            gold = _evidence(asked.get("evidence", []))
            queries += _query(f"{label}-q{n}", asked["question"], category, gold, sessions)
        yield Conversation(label, drafts, tuple(queries))


def _evidence(marks: Iterable[str]) -> Iterator[str]:
    """Read turn ids: some entries hold several, some have a slip such as ``D:3:4`` or ``D3:04``."""
    for mark in marks:
        for session, turn in re.findall(r"D:?(\d+):(\d+)", mark):
            yield f"D{int(session)}:{int(turn)}"


def _turn(
    store: str, turn: str, text: str, *, session: str, role: str, at: datetime | None
) -> Iterator[Draft]:
    """Yield the draft of a turn; nothing if nothing was said in it."""
    if text.strip():
        yield Draft(
            text,
            kind=Kind.EPISODE,
            session=session,
            role=role,
            source=Source(Trust.AGENT if role == "assistant" else Trust.USER, store),
            metadata={"turn": turn},
            occurred_at=at,
            id=f"{store}/{turn}",
        )


def _beam(record: dict[str, Any]) -> Conversation:
    name = f"beam-{record['id']}"
    drafts: list[Draft] = []
    for turn in record["turns"]:
        day = turn.get("date")
        at = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
        own_id, session, role = str(turn["id"]), turn["session"], turn["role"]
        drafts += _turn(name, own_id, turn["text"], session=session, role=role, at=at)
    sessions = _sessions_of(drafts)
    queries: list[Query] = []
    for asked in record["queries"]:
        gold = [str(turn) for turn in asked["gold"]]
        queries += _query(
            f"{name}-{asked['id']}", asked["question"], asked["category"], gold, sessions
        )
    return Conversation(name, tuple(drafts), tuple(queries))


def _longmemeval(record: dict[str, Any]) -> Conversation:
    name = record["question_id"]
    drafts: list[Draft] = []
    gold: list[str] = []
    haystack = zip(
        record["haystack_session_ids"],
        record["haystack_dates"],
        record["haystack_sessions"],
        strict=True,
    )
    for n, (session, day, turns) in enumerate(haystack):
        for k, turn in enumerate(turns):
            own_id, role, at = f"{n}#{k}", turn["role"], _longmemeval_time(day)
            drafts += _turn(name, own_id, turn["content"], session=session, role=role, at=at)
            gold += [own_id] if turn.get("has_answer") else []
    query = Query(
        name,
        record["question"],
        record["question_type"],
        frozenset(gold),
        frozenset(record["answer_session_ids"]),
    )
    now = _longmemeval_time(record.get("question_date", ""))
    return Conversation(name, tuple(drafts), (query,), now)


def _longmemeval_time(text: str) -> datetime | None:
    """Read a time such as ``2023/05/30 (Tue) 23:40``; None if there is none."""
    found = re.search(r"(\d{4})/(\d\d)/(\d\d).*?(\d\d):(\d\d)", text)
    return datetime(*map(int, found.groups()), tzinfo=UTC) if found else None  # type: ignore[arg-type, misc]
