"""Export: the store, or one namespace of it, written as of one moment."""

from __future__ import annotations

import base64
import io
import json
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

from memento.ledger import memories, namespaces, vectors
from memento.ledger import transfer as sql
from memento.ledger.files import new_file
from memento.ledger.ledger import Ledger
from memento.ledger.rows import Row, is_changed_state, is_sound
from memento.ledger.sqlite import Connection
from memento.transfer.fields import FIELDS, FORMAT, spelt, spelt_moment, spelt_state

_UNSPEAKABLE = (ValueError, TypeError, AttributeError, OverflowError)
"""What spelling a damaged value may raise."""

log = logging.getLogger("memento.transfer.write")


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was written.

    Attributes:
        namespaces: Namespaces in it.
        memories: Memories in it, of every status.
        links: Links.
        events: Events.
        vectors: Memories that have their vector with them.
        damaged: Ids of memories that do not match their checksum; they are in it, marked, and an
            import leaves them out.
        damaged_history: Ids of whole memories with an earlier state that does not match its
            checksum; that state is left out.
        sha256: Digest of all lines but the last.
    """

    namespaces: int
    memories: int
    links: int
    events: int
    vectors: int
    damaged: tuple[str, ...]
    damaged_history: tuple[str, ...]
    sha256: str


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
        TargetExists: If there is such a file already.
        StoreError: If it cannot be written, or the store not be read.
    """
    if isinstance(target, str | Path):
        path = Path(target).absolute()
        with new_file(path, overwrite=overwrite) as draft, draft.open("wb") as file:
            return _export(ledger, file, only, now, with_vectors=with_vectors)
    with _as_bytes(target) as stream:
        return _export(ledger, stream, only, now, with_vectors=with_vectors)


def _export(
    ledger: Ledger,
    stream: IO[bytes],
    only: tuple[str, ...] | None,
    now: int,
    *,
    with_vectors: bool,
) -> Exported:
    def job(connection: Connection) -> Exported:
        chosen = [one for one in namespaces.every(connection) if only is None or one[1] == only]
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
                writer.write(line | {"kind": kind, "memory": memory_id, "detail": _detail(detail)})
        return writer.end(len(chosen))

    return ledger.read(job)


class _Writer:
    """Writes lines, counting and digesting them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = sha256()
        self._counts: Counter[str] = Counter()
        self.vectors = 0
        self.damaged: list[str] = []
        self.damaged_history: list[str] = []

    def write(self, line: Mapping[str, Any]) -> None:
        data = f"{json.dumps(line, ensure_ascii=False)}\n".encode()
        self._stream.write(data)
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
        )


def _export_memories(
    connection: Connection, writer: _Writer, ns: int, labels: tuple[str, ...], model: int | None
) -> None:
    for row in sql.rows(connection, ns):
        line: dict[str, Any] = {"type": "memory", "namespace": list(labels)}
        legible = _legible(row)
        if not is_sound(row) or len(legible) < len(FIELDS):
            line |= {**legible, "id": str(row.id), "versions": [], "damaged": True}
            writer.damaged.append(line["id"])
        else:
            line |= {**legible, "versions": _past(connection, writer, row)}
        blob = None if model is None else sql.vector(connection, row.docid, model)
        if blob is not None:
            line["vector"] = base64.b64encode(blob).decode()
            writer.vectors += 1
        writer.write(line)


def _legible(row: Row) -> dict[str, Any]:
    """Spell the fields of a row, but for those that damage has made unspeakable."""
    fields: dict[str, Any] = {}
    for name in FIELDS:
        with suppress(*_UNSPEAKABLE):
            fields[name] = spelt(name, value := getattr(row, name))
            if isinstance(value, bytes) and name != "content_hash":
                del fields[name]
    return fields


def _past(connection: Connection, writer: _Writer, row: Row) -> list[dict[str, Any]]:
    """Spell the earlier states of a memory that are whole."""
    states = memories.states(connection, row.docid)
    lines: list[dict[str, Any]] = []
    for state in states:
        if not is_changed_state(row, state):
            with suppress(*_UNSPEAKABLE):  # older ones lack the checksum of their end
                lines.append(spelt_state(state))
    if len(lines) < len(states):
        writer.damaged_history.append(row.id)
    return lines


def _detail(text: str | None) -> Any:
    """Read the detail of an event; an older one has no checksum."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        log.warning("an event is damaged; its detail is left out")
        return None


@contextmanager
def _as_bytes(stream: IO[str] | IO[bytes]) -> Iterator[IO[bytes]]:
    """Lend a stream that takes bytes, whatever the given one takes."""
    if not isinstance(stream, io.TextIOBase):
        yield cast("IO[bytes]", stream)
        return
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        for data in file:
            stream.write(data.decode())
