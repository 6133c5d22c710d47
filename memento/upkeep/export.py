"""Export: write the store, or one namespace of it, as of one moment."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, AnyStr, cast

from memento.base.files import new_file, path_outside
from memento.errors import InvalidInput
from memento.ledger import memories, namespaces, scope_rows, session_rows, vectors
from memento.ledger import transfer as sql
from memento.ledger.contract import Ledger, Session
from memento.ledger.rows import Row, is_changed_state, is_sound
from memento.upkeep.line_format import (
    FIELDS,
    FORMAT,
    spelt,
    spelt_lock,
    spelt_moment,
    spelt_ours,
    spelt_scope,
    spelt_session,
    spelt_share,
    spelt_state,
)

_UNSPEAKABLE = (ValueError, TypeError, AttributeError, OverflowError)
"""Errors from encoding a damaged value."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was written.

    Attributes:
        namespaces: Namespaces in it.
        memories: Memories in it, of every status.
        links: Links.
        events: Events.
        vectors: Memories whose vector is in it.
        damaged: Ids of memories that do not match their checksum; they are in it, marked, and an
            import leaves them out.
        damaged_history: Ids of intact memories with an earlier state that does not match its
            checksum; that state is left out.
        sha256: Digest of all lines but the last.
        sessions: Sessions in it, each with its checkpoints.
        scopes: Scopes in it that were named or merged.
        shares: Shares in it: who sees which scope.
    """

    namespaces: int
    memories: int
    links: int
    events: int
    vectors: int
    damaged: tuple[str, ...]
    damaged_history: tuple[str, ...]
    sha256: str
    sessions: int = 0
    scopes: int = 0
    shares: int = 0


def export(
    ledger: Ledger,
    target: str | Path | IO[str] | IO[bytes],
    *,
    only: tuple[str, ...] | None,
    now: int,
    with_vectors: bool,
    overwrite: bool,
) -> Exported:
    """Write a namespace, or all (``only=None``), as of one moment.

    Raises:
        InvalidInput: If the target is neither a file's name nor a stream, is in the store's own
            folder, or the stream takes nothing.
        TargetExists: If the file exists already, or is not a regular file.
        StoreGone: If the store is no longer where it was opened.
        StoreError: If it cannot be written, or the store cannot be read.
    """
    ledger.check_present()
    if not callable(getattr(target, "write", None)):
        path = path_outside("target", target, ledger.root)
        with new_file(path, overwrite=overwrite) as draft, draft.open("wb") as file:
            done = _export(ledger, file, only, now, with_vectors=with_vectors)
            ledger.check_present()  # else the file gets its name though the store is gone
            return done
    with _as_bytes(cast("IO[str] | IO[bytes]", target)) as stream:
        done = _export(ledger, stream, only, now, with_vectors=with_vectors)
        ledger.check_present()
        return done


def _export(
    ledger: Ledger,
    stream: IO[bytes],
    only: tuple[str, ...] | None,
    now: int,
    *,
    with_vectors: bool,
) -> Exported:
    def job(connection: Session) -> Exported:
        chosen = namespaces.every(connection) if only is None else _one(connection, only)
        embedder = vectors.current_model(connection) if with_vectors else None
        writer = _Writer(stream)
        head = {
            "type": "memento export",
            "format": FORMAT,
            "at": spelt_moment(now),
            "namespaces": [list(labels) for _, labels in chosen],
            "embedder": None if embedder is None else {"name": embedder[1], "dim": embedder[2]},
        }
        writer.write(head)
        for ns, labels in chosen:
            _export_memories(
                connection, writer, ns, labels, None if embedder is None else embedder[0]
            )
        for ns, labels in chosen:
            for source, to, relation, weight in sql.links(connection, ns):
                line = {"type": "link", "namespace": list(labels), "from": source, "to": to}
                writer.write(line | {"relation": relation, "weight": weight})
        for ns, labels in chosen:
            for at, kind, memory_id, detail in sql.events(connection, ns):
                line = {"type": "event", "namespace": list(labels), "at": spelt_moment(at)}
                said = None if detail is None else json.loads(detail)
                writer.write(line | {"kind": kind, "memory": memory_id, "detail": said})
        for ns, labels in chosen:
            for begun in session_rows.newest(connection, ns):
                line = {"type": "session", "namespace": list(labels)}
                writer.write(line | spelt_session(connection, begun))
        for ns, labels in chosen:
            _export_scopes(connection, writer, ns, labels)
        return writer.end(len(chosen))

    return ledger.read(job)


def _one(connection: Session, labels: tuple[str, ...]) -> list[tuple[int, tuple[str, ...]]]:
    """List one namespace like ``namespaces.every``, unaffected by damaged labels of others."""
    ns = namespaces.find(connection, labels)
    return [] if ns is None else [(ns, labels)]


class _Writer:
    """Writes lines, counts them and computes their digest."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = sha256()
        self._counts: Counter[str] = Counter()
        self.vectors = 0
        self.damaged: list[str] = []
        self.damaged_history: list[str] = []

    def write(self, line: Mapping[str, Any]) -> None:
        data = f"{json.dumps(line, ensure_ascii=False)}\n".encode()
        _write_all(self._stream, data)
        self._digest.update(data)
        self._counts[line["type"]] += 1

    def end(self, namespaces: int) -> Exported:
        digest = self._digest.hexdigest()
        counts = {f"{kind}s": self._counts[kind] for kind in ("link", "event")}
        total = {"memories": self._counts["memory"], **counts}
        self.write({"type": "end", **total, "sha256": digest})
        self._stream.flush()
        return Exported(
            namespaces=namespaces,
            **total,
            vectors=self.vectors,
            damaged=tuple(self.damaged),
            damaged_history=tuple(self.damaged_history),
            sha256=digest,
            sessions=self._counts["session"],
            scopes=self._counts["scope"],
            shares=self._counts["share"],
        )


def _export_memories(
    connection: Session, writer: _Writer, ns: int, labels: tuple[str, ...], model: int | None
) -> None:
    for row in sql.rows(connection, ns):
        line: dict[str, Any] = {"type": "memory", "namespace": list(labels)}
        legible = _legible(row)
        if not is_sound(row) or not legible.keys() >= set(FIELDS):
            line |= {**legible, "id": str(row.id), "versions": [], "damaged": True}
            writer.damaged.append(line["id"])
        else:
            line |= {**legible, **spelt_lock(row.pinned), **spelt_ours(row.given)}
            line["versions"] = _past(connection, writer, row)
        blob = None if model is None else sql.vector(connection, row.docid, model)
        if blob is not None:
            line["vector"] = base64.b64encode(blob).decode()
            writer.vectors += 1
        writer.write(line)


def _export_scopes(connection: Session, writer: _Writer, ns: int, labels: tuple[str, ...]) -> None:
    for place in scope_rows.every(connection, ns):
        line: dict[str, Any] = {"type": "scope", "namespace": list(labels)}
        writer.write(line | spelt_scope(place))
    for share in scope_rows.shares_of(connection, ns):
        line = {"type": "share", "namespace": list(labels)}
        writer.write(line | spelt_share(share, namespaces.labels_of(connection, share.other)))


def _legible(row: Row) -> dict[str, Any]:
    """Encode the fields of a row, except those too damaged to encode."""
    fields: dict[str, Any] = {}
    for name in FIELDS:
        with suppress(*_UNSPEAKABLE):
            value = getattr(row, name)
            fields[name] = spelt(name, value)
            if isinstance(value, bytes) and name != "content_hash":
                del fields[name]
    return fields


def _past(connection: Session, writer: _Writer, row: Row) -> list[dict[str, Any]]:
    """Encode the intact earlier states of a memory."""
    states = memories.states(connection, row.docid)
    lines: list[dict[str, Any]] = []
    for state in states:
        if not is_changed_state(row, state):
            with suppress(*_UNSPEAKABLE):
                lines.append(spelt_state(state))
    if len(lines) < len(states):
        writer.damaged_history.append(row.id)
    return lines


@contextmanager
def _as_bytes(stream: IO[str] | IO[bytes]) -> Iterator[IO[bytes]]:
    """Lend a stream that takes bytes, also if the given one takes text."""
    if not isinstance(stream, io.TextIOBase):
        yield cast("IO[bytes]", stream)
        return
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        for data in file:
            _write_all(stream, data.decode())


def _write_all(stream: IO[AnyStr], data: AnyStr) -> None:
    """Write to a stream of the caller's, which may take a part of it at a time.

    Raises:
        InvalidInput: If it takes nothing.
    """
    while data:
        taken = cast("int | None", stream.write(data))
        if taken is None and not isinstance(stream, io.RawIOBase):
            return  # of a class that does not count; a raw stream says so that it took nothing
        if not taken or taken < 0:
            problem = "the stream took nothing of what was written; give one that blocks"
            raise InvalidInput("target", problem)
        data = data[taken:]
