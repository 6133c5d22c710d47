"""Export: write the store, or one namespace of it, as of one moment."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, AnyStr, cast

from memento.base.files import new_file, path_outside
from memento.errors import InvalidInput
from memento.ledger import memories, namespaces, scope_rows, session_rows, vectors
from memento.ledger import transfer as sql
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.rows import Row, is_changed_state, is_sound
from memento.types import Memory
from memento.upkeep.line_format import (
    FIELDS,
    FORMAT,
    spelt,
    spelt_marks,
    spelt_moment,
    spelt_scope,
    spelt_session,
    spelt_share,
    spelt_state,
)
from memento.upkeep.other_formats import WRITERS, Format, lost

_UNSPEAKABLE = (ValueError, TypeError, AttributeError, OverflowError)
"""Errors from encoding a damaged value."""

Line = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was written.

    Attributes:
        namespaces: Number of namespaces.
        memories: Number of memories, regardless of status.
        links: Number of links.
        events: Number of events.
        vectors: Number of memories whose vector is included.
        damaged: Ids of memories that do not match their checksum; they are exported with a mark,
            and an import skips them.
        damaged_history: Ids of intact memories with an earlier state that does not match its
            checksum; this state is omitted.
        sha256: Digest of all lines except the last.
        sessions: Number of sessions, each exported with its checkpoints.
        scopes: Number of scopes that were defined or merged.
        shares: Number of shares, each of one scope with one namespace.
        left_out: What the other program's format cannot represent: ``memories`` and names of
            fields, each with the number of memories affected.
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
    left_out: Mapping[str, int] = field(default_factory=dict)


def export_as(
    ledger: Ledger,
    target: str | Path | IO[str] | IO[bytes],
    found: Sequence[Memory],
    kind: Format,
    *,
    overwrite: bool,
) -> Exported:
    """Write memories in the format of another program."""
    left_out, digest = lost(found, kind), sha256()
    with _lent(ledger, target, overwrite=overwrite) as stream:
        for text in WRITERS[kind].write(found):
            data = text.encode()
            _write_all(stream, data)
            digest.update(data)
        stream.flush()
    count = len(found) - left_out.get("memories", 0)
    return Exported(1, count, 0, 0, 0, (), (), digest.hexdigest(), left_out=left_out)


def export(
    ledger: Ledger,
    target: str | Path | IO[str] | IO[bytes],
    *,
    only: tuple[str, ...] | None,
    now: int,
    with_vectors: bool,
    overwrite: bool,
) -> Exported:
    """Write a namespace, or all (``only=None``), as of one moment; see ``StoreView.export``."""

    def job(connection: Transaction) -> Exported:
        if only is None:
            chosen = namespaces.every(connection)
        else:  # unaffected by damaged labels of other namespaces
            ns = namespaces.find(connection, only)
            chosen = [] if ns is None else [(ns, only)]
        embedder = vectors.current_model(connection) if with_vectors else None
        writer = _Writer(stream, connection, None if embedder is None else embedder[0])
        head = {
            "type": "memento export",
            "format": FORMAT,
            "at": spelt_moment(now),
            "namespaces": [list(labels) for _, labels in chosen],
            "embedder": None if embedder is None else {"name": embedder[1], "dim": embedder[2]},
        }
        writer.write(head)
        for lines in (writer.memories, writer.links, writer.events, writer.sessions, writer.scopes):
            for ns, labels in chosen:
                for kind, said in lines(ns):
                    writer.write({"type": kind, "namespace": list(labels)} | said)
        return writer.end(len(chosen))

    ledger.check_present()
    with _lent(ledger, target, overwrite=overwrite) as stream:
        done = ledger.read(job, space=None if only is None else ledger.find_namespace(only))
        ledger.check_present()  # else a file gets its name though the store is gone
        return done


@contextmanager
def _lent(
    ledger: Ledger, target: str | Path | IO[str] | IO[bytes], *, overwrite: bool
) -> Iterator[IO[bytes]]:
    """Open the target of an export for bytes: a new file, or the given stream."""
    if not callable(getattr(target, "write", None)):
        path = path_outside("target", target, ledger.root)
        with new_file(path, overwrite=overwrite) as draft, draft.open("wb") as file:
            yield file
    elif not isinstance(target, io.TextIOBase):
        yield cast("IO[bytes]", target)
    else:
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            for data in file:
                _write_all(cast("IO[str]", target), data.decode())


class _Writer:
    """Writes lines, counts them and computes their digest.

    The methods named after what is exported yield its lines: the type, and the fields.
    """

    def __init__(self, stream: IO[bytes], connection: Transaction, model: int | None) -> None:
        self._stream = stream
        self._connection = connection
        self._model = model
        self._digest = sha256()
        self._counts: Counter[str] = Counter()
        self._damaged: list[str] = []
        self._damaged_history: list[str] = []

    def write(self, line: Mapping[str, Any]) -> None:
        data = f"{json.dumps(line, ensure_ascii=False)}\n".encode()
        _write_all(self._stream, data)
        self._digest.update(data)
        self._counts[line["type"]] += 1

    def end(self, namespaces: int) -> Exported:
        digest, counts = self._digest.hexdigest(), self._counts
        total: dict[str, Any] = {
            "memories": counts["memory"],
            "links": counts["link"],
            "events": counts["event"],
        }
        self.write({"type": "end", **total, "sha256": digest})
        self._stream.flush()
        return Exported(
            namespaces=namespaces,
            **total,
            vectors=counts["vector"],
            damaged=tuple(self._damaged),
            damaged_history=tuple(self._damaged_history),
            sha256=digest,
            sessions=counts["session"],
            scopes=counts["scope"],
            shares=counts["share"],
        )

    def memories(self, ns: int) -> Iterator[Line]:
        for row in sql.rows(self._connection, ns):
            line: dict[str, Any] = {}
            for name in FIELDS:
                with suppress(*_UNSPEAKABLE):
                    value = getattr(row, name)
                    line[name] = spelt(name, value)
                    if isinstance(value, bytes) and name != "content_hash":
                        del line[name]
            if not is_sound(row) or not line.keys() >= set(FIELDS):
                line |= {"id": str(row.id), "versions": [], "damaged": True}
                self._damaged.append(line["id"])
            else:
                line |= spelt_marks(row.pinned, row.given) | {"versions": self._past(row)}
            if self._model is not None:
                blob = sql.vector(self._connection, row.docid, self._model)
                if blob is not None:
                    line["vector"] = base64.b64encode(blob).decode()
                    self._counts["vector"] += 1
            yield "memory", line

    def _past(self, row: Row) -> list[dict[str, Any]]:
        """Encode the intact earlier states of a memory."""
        states = memories.states(self._connection, row.docid)
        lines: list[dict[str, Any]] = []
        for state in states:
            if not is_changed_state(row, state):
                with suppress(*_UNSPEAKABLE):
                    lines.append(spelt_state(state))
        if len(lines) < len(states):
            self._damaged_history.append(row.id)
        return lines

    def links(self, ns: int) -> Iterator[Line]:
        for source, to, relation, weight in sql.links(self._connection, ns):
            yield "link", {"from": source, "to": to, "relation": relation, "weight": weight}

    def events(self, ns: int) -> Iterator[Line]:
        for at, kind, memory_id, detail in sql.events(self._connection, ns):
            said = None if detail is None else json.loads(detail)
            line = {"at": spelt_moment(at), "kind": kind, "memory": memory_id, "detail": said}
            yield "event", line

    def sessions(self, ns: int) -> Iterator[Line]:
        for begun in session_rows.newest(self._connection, ns):
            yield "session", spelt_session(self._connection, begun)

    def scopes(self, ns: int) -> Iterator[Line]:
        for place in scope_rows.every(self._connection, ns):
            yield "scope", spelt_scope(place)
        for share in scope_rows.shares_of(self._connection, ns):
            labels = namespaces.labels_of(self._connection, share.other)
            yield "share", spelt_share(share, labels)


def _write_all(stream: IO[AnyStr], data: AnyStr) -> None:
    """Write all to the caller's stream, which may take a part at a time, but not nothing."""
    while data:
        taken = cast("int | None", stream.write(data))
        if taken is None and not isinstance(stream, io.RawIOBase):
            return  # it does not count; of a raw stream, None means that it took nothing
        if not taken or taken < 0:
            problem = "the stream accepted no data; pass a blocking stream"
            raise InvalidInput("target", problem)
        data = data[taken:]
