"""Exports for other programs: active memories, without what their format cannot hold."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from memento.types import Memory

Format = Literal["jsonl", "csv", "mem0", "server-memory", "chat", "sharegpt"]
_EVERY = (
    "key", "aliases", "scope", "session", "actor", "role", "tags", "metadata", "valid_until",
    "pinned", "signal", "condition", "due_at",
)  # fmt: skip
"""Fields that are counted where a format cannot hold them."""
_SHAREGPT = {"user": "human", "assistant": "gpt"}


def _jsonl(found: Iterable[Memory]) -> Iterator[str]:
    """Write a line of JSON for each, with the arguments of ``add``."""
    names = ("id", "text", "kind", "tier", "importance", *_EVERY, "occurred_at")
    for one in found:
        said = one.to_dict()
        source = {name: said["source"][name] for name in ("kind", "uri", "model", "parents")}
        fields = {name: said[name] for name in names if said[name] not in (None, "", [], {}, False)}
        yield _line({**fields, "source": {name: value for name, value in source.items() if value}})


def _csv(found: Iterable[Memory]) -> Iterator[str]:
    names = ("id", "text", "kind", "key", "scope", "session", "actor", "role", "tags", "aliases")
    yield _row((*names, "importance", "occurred_at"))
    for one in found:
        values = [getattr(one, name) for name in names]
        cells = [", ".join(value) if isinstance(value, tuple) else value or "" for value in values]
        yield _row((*cells, one.importance, one.occurred_at.isoformat()))


def _mem0(found: Iterable[Memory]) -> Iterator[str]:
    """Write as ``get_all`` of mem0 does."""
    yield '{"results": ['
    between = ""
    for one in found:
        names = ("kind", "key", "scope", "aliases", "actor")
        more = {name: value for name in names if (value := getattr(one, name))}
        fields = {
            "id": one.id,
            "memory": one.text,
            "created_at": one.occurred_at.isoformat(),
            "updated_at": one.occurred_at.isoformat(),
            "user_id": "/".join(one.namespace),
            "run_id": one.session,
            "categories": one.tags,
            "metadata": {**one.metadata, **more},
        }
        yield between + json.dumps(fields, ensure_ascii=False)
        between = ",\n"
    yield "\n]}\n"


def _server_memory(found: Iterable[Memory]) -> Iterator[str]:
    """Write an entity for each name, with what is remembered of it."""
    about: dict[str, list[Memory]] = {}
    for one in found:
        about.setdefault((*one.aliases, one.key or one.scope or "user")[0], []).append(one)
    for name, several in about.items():
        texts = list(dict.fromkeys(one.text for one in several))
        kind = several[0].kind.value
        yield _line({"type": "entity", "name": name, "entityType": kind, "observations": texts})


def _chat(found: Iterable[Memory]) -> Iterator[str]:
    for session, turns in _sessions(found):
        said = [{"role": one.role, "content": one.text} for one in turns]
        yield _line({"session": session, "messages": said})


def _sharegpt(found: Iterable[Memory]) -> Iterator[str]:
    for session, turns in _sessions(found):
        said = [{"from": _SHAREGPT[one.role or ""], "value": one.text} for one in turns]
        yield _line({"id": session, "conversations": said})


def _sessions(found: Iterable[Memory]) -> Iterator[tuple[str, Iterable[Memory]]]:
    turns = [one for one in found if _is_turn(one)]
    turns.sort(key=lambda one: (one.session or "", one.seq))
    return groupby(turns, key=lambda one: one.session or "")


def _is_turn(one: Memory) -> bool:
    return bool(one.session) and one.role in _SHAREGPT


def _line(fields: dict[str, Any]) -> str:
    return f"{json.dumps(fields, ensure_ascii=False)}\n"


def _row(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


class _Writer(NamedTuple):
    write: Callable[[Iterable[Memory]], Iterator[str]]
    holds: frozenset[str]
    takes: Callable[[Memory], bool] = lambda _: True


WRITERS: dict[Format, _Writer] = {
    "jsonl": _Writer(_jsonl, frozenset(_EVERY)),
    "csv": _Writer(
        _csv, frozenset({"key", "scope", "session", "actor", "role", "tags", "aliases"})
    ),
    "mem0": _Writer(
        _mem0, frozenset({"key", "scope", "session", "actor", "tags", "aliases", "metadata"})
    ),
    "server-memory": _Writer(_server_memory, frozenset({"aliases"})),
    "chat": _Writer(_chat, frozenset({"session", "role"}), _is_turn),
    "sharegpt": _Writer(_sharegpt, frozenset({"session", "role"}), _is_turn),
}
"""The formats: the function that writes it, the fields it holds, the memories it takes."""


def lost(found: Iterable[Memory], kind: Format) -> dict[str, int]:
    """Count what a format cannot hold: memories, and fields that are set, by name."""
    writer, counts = WRITERS[kind], Counter[str]()
    for one in found:
        if not writer.takes(one):
            counts["memories"] += 1
        else:
            counts.update(
                name for name in _EVERY if name not in writer.holds and getattr(one, name)
            )
    return dict(counts)
