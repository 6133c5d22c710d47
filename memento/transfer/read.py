"""Import: an export taken in, all of it in one transaction, or nothing.

One's own is taken as it is; whatever else has to pass the `door`.
"""

from __future__ import annotations

import base64
import io
import json
import math
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

from memento import quarantine
from memento.errors import ArchiveDamaged, ArchiveFromTheFuture, InvalidInput
from memento.ledger import memories, namespaces, vectors
from memento.ledger import transfer as sql
from memento.ledger.ledger import Ledger
from memento.ledger.memories import Entry
from memento.ledger.rows import Row, State
from memento.ledger.sqlite import Connection
from memento.observe import admit
from memento.scopes import parse_namespace
from memento.transfer.door import TAKEN, Door
from memento.transfer.fields import FORMAT, measure, read_moment, read_row, read_state, refuse
from memento.types import Status, Tier

BATCH = 500
"""Memories put in at once."""

MAX_LINE = 64 * 1024 * 1024
"""Longest line that is read, bytes; anything longer is no export."""

MAX_DIM = 1 << 20
"""Most numbers of a vector that is read."""

_KINDS = frozenset({"memory", "link", "event"})
"""Types of the lines between the first and the last."""

_GARBLED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a line may raise whose fields are not what they should be."""

_UNIT = 0.01
"""How far from 1 the length of a vector may be."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought.

    Attributes:
        memories: Memories that are new here.
        known: Memories that were here already; they stay as they are.
        links: Links that are new.
        events: Events that are new.
        vectors: New memories whose vector was taken; others are embedded in the background.
        damaged: Ids of memories that were left out, since they were damaged where they come from.
        quarantined: New memories that wait to be approved.
        hidden: Memories that were left out since they are hidden where they come from, and the
            file is not trusted like the user.
        demoted: New memories that are a rule or pinned where they come from and are neither here,
            for the same reason.
        redacted: Secrets that were taken out, by kind.
    """

    memories: int
    known: int
    links: int
    events: int
    vectors: int
    damaged: tuple[str, ...]
    quarantined: int = 0
    hidden: int = 0
    demoted: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)


def import_from(
    ledger: Ledger,
    source: str | Path | IO[str] | IO[bytes],
    *,
    into: tuple[str, ...] | None,
    embedder: Callable[[], str | None],
    limits: admit.Limits,
    door: Door | None,
    untrusted: Collection[str],
    now: int,
    ring: int,
) -> tuple[Imported, dict[int, set[str | None]]]:
    """Take in an export, all of it in one transaction.

    Args:
        ledger: The store.
        source: A file or a stream that ``export`` wrote.
        into: The namespace to put it into; None for the ones it comes from.
        embedder: Returns the identity of the embedder in use, or None.
        limits: What a memory may hold.
        door: What each memory has to pass; None to take all as it is.
        untrusted: Classes of trust that are quarantined.
        now: The present moment, microseconds.
        ring: Capacity of a session's ring buffer.

    Returns:
        What was brought, and which sessions of which namespaces have new turns.

    Raises:
        ArchiveDamaged: If it is cut off, changed, or no export; nothing was written.
        ArchiveFromTheFuture: If it is in a newer format; nothing was written.
        InvalidInput: If it holds several namespaces for one, or a value that cannot be accepted.
        IdConflict: If an id belongs to another memory here; nothing was written.
        SecretFound: If it holds a secret, the door looks for them and they are to be refused.
    """
    with _whole(source) as (stream, name):
        head = _verify(stream, name)
        labels = _namespaces(head, name)
        _check_embedder(head, name)
        if into is not None and len(labels) > 1:
            raise InvalidInput("source", f"holds {len(labels)} namespaces; import all of them")
        vectors_wanted = head["embedder"] is not None and door is None
        identity = _identity(head, embedder) if vectors_wanted else None

        def job(connection: Connection) -> _Import:
            stream.seek(0)
            into_of = {
                one: namespaces.number(connection, one if into is None else into) for one in labels
            }
            model = None if identity is None else _model(connection, head, identity)
            dim = None if model is None else head["embedder"]["dim"]
            terms = _Terms(limits, door, untrusted, now, ring)
            taking = _Import(connection, into_of, model, dim, terms)
            taking.read(stream)
            return taking

        done = ledger.write(job)
        return done.result(), done.sessions


def _namespaces(head: Mapping[str, Any], name: str) -> list[tuple[str, ...]]:
    """Read the namespaces that an export says it holds."""
    said = head.get("namespaces")
    try:
        if isinstance(said, list):
            return [parse_namespace(one) for one in said]
    except InvalidInput as error:
        raise ArchiveDamaged(name, f"its first line garbles a namespace: {error}") from error
    raise ArchiveDamaged(name, "its first line does not say which namespaces it holds")


def _check_embedder(head: Mapping[str, Any], name: str) -> None:
    """Refuse an export that garbles what its vectors were made by."""
    match head:
        case {"embedder": None}:
            return
        case {"embedder": {"name": str(model), "dim": int(dim)}} if (
            model.isprintable() and 0 < len(model) <= admit.MAX_URI and 0 < dim <= MAX_DIM
        ):
            return
    raise ArchiveDamaged(name, "its first line does not say which embedder made its vectors")


def _identity(head: Mapping[str, Any], embedder: Callable[[], str | None]) -> str | None:
    """Return the identity of the file's embedder if its vectors are of use here."""
    theirs = f"{head['embedder']['name']} ({head['embedder']['dim']})"
    ours = embedder()
    return theirs if ours is None or ours == theirs else None


def _model(connection: Connection, head: Mapping[str, Any], identity: str) -> int | None:
    """Return the number of the file's embedder here; None if the store has another."""
    present = vectors.current_embedder(connection)
    if present is None:
        vectors.set_embedder(connection, identity)
    elif present != identity:
        return None
    return vectors.embedder_id(connection, head["embedder"]["name"], head["embedder"]["dim"])


def _verify(stream: IO[bytes], name: str) -> dict[str, Any]:
    """Read an export through; returns its first line.

    Raises:
        ArchiveDamaged: If it is cut off, changed, or no export.
        ArchiveFromTheFuture: If it is in a newer format.
    """
    head = _head(stream.readline(MAX_LINE), name)
    stream.seek(0)
    digest, counts = sha256(), Counter[str]()
    for number, data in enumerate(_lines(stream), start=1):
        line = _parsed(data, name, number)
        kind = line.get("type")
        if kind == "end":
            told = {kind: line.get(kind) for kind in ("memories", "links", "events")}
            found = {"memories": counts["memory"], "links": counts["link"]}
            told_digest = line.get("sha256")
            if told != found | {"events": counts["event"]} or told_digest != digest.hexdigest():
                raise ArchiveDamaged(name, "was changed: its digest does not match")
            if stream.read(1):
                raise ArchiveDamaged(name, f"goes on after its last line, {number}")
            return head
        if number > 1 and not (isinstance(kind, str) and kind in _KINDS):
            raise ArchiveDamaged(name, f"line {number} is of no type that an export has")
        digest.update(data)
        counts[str(kind)] += 1
    raise ArchiveDamaged(name, "is cut off: its last line is missing")


def _head(data: bytes, name: str) -> dict[str, Any]:
    try:
        head: Any = json.loads(data)
        known = head["type"] == "memento export" and isinstance(head["format"], int)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise ArchiveDamaged(name, "is no export of memento")
    if head["format"] > FORMAT:
        raise ArchiveFromTheFuture(name, found=head["format"], known=FORMAT)
    return cast("dict[str, Any]", head)


def _parsed(data: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArchiveDamaged(name, f"line {number} is not JSON: cut off or changed") from error
    if not isinstance(line, dict) or not data.endswith(b"\n"):
        raise ArchiveDamaged(name, f"line {number} is cut off or changed")
    return line


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while data := stream.readline(MAX_LINE):
        yield data


@dataclass(frozen=True, slots=True)
class _Terms:
    """On what terms an import takes memories in; see ``import_from``."""

    limits: admit.Limits
    door: Door | None
    untrusted: Collection[str]
    now: int
    ring: int


class _Import:
    """One import under way, inside its transaction."""

    def __init__(
        self,
        connection: Connection,
        into_of: Mapping[tuple[str, ...], int],
        model: int | None,
        dim: int | None,
        terms: _Terms,
    ) -> None:
        self._connection = connection
        self._into_of = into_of
        self._model = model
        self._dim = dim
        self._terms = terms
        self._door = terms.door
        self._fresh: dict[int, set[str]] = {ns: set() for ns in into_of.values()}
        self._began_empty = {
            ns for ns in into_of.values() if not memories.latest_rev(connection, ns)
        }
        self._waiting: dict[int, list[tuple[Entry, list[State], bytes | None]]] = {}
        self._counts: Counter[str] = Counter()
        self._redacted: Counter[str] = Counter()
        self._damaged: list[str] = []
        self._quarantined: set[int] = set()
        self.sessions: dict[int, set[str | None]] = {}

    def read(self, stream: IO[bytes]) -> None:
        """Take in every line, then let slots and rings come into order."""
        take = {"memory": self._memory, "link": self._link, "event": self._event}
        for number, data in enumerate(_lines(stream), start=1):
            line = json.loads(data)
            if line["type"] in take:
                try:
                    take[line["type"]](self._into_of[parse_namespace(line["namespace"])], line)
                except InvalidInput as error:
                    raise error.within(f"line {number}") from error
                except _GARBLED as error:
                    raise InvalidInput(
                        f"line {number}", f"lacks or garbles a field: {error!r}"
                    ) from error
        self._put_waiting()
        for ns, ids in self._fresh.items():
            sql.settle_slots(self._connection, ns, sorted(ids), self._terms.now)
        now, ring = self._terms.now, self._terms.ring
        for ns, sessions in self.sessions.items():
            for session in sessions:
                memories.overflow(self._connection, ns, session, now=now, ring=ring)

    def result(self) -> Imported:
        """Say what was brought."""
        return Imported(
            memories=sum(len(ids) for ids in self._fresh.values()),
            known=self._counts["known"],
            links=self._counts["link"],
            events=self._counts["event"],
            vectors=self._counts["vector"],
            damaged=tuple(self._damaged),
            quarantined=len(self._quarantined),
            hidden=self._counts["hidden"],
            demoted=0 if self._door is None else self._door.demoted,
            redacted=dict(self._redacted),
        )

    def _memory(self, ns: int, line: Mapping[str, Any]) -> None:
        if line.get("damaged"):
            self._damaged.append(admit.check_id(line["id"]))
            return
        row, document = read_row(line, self._terms.limits)
        if row.id in self._fresh[ns]:
            raise InvalidInput("id", f"{row.id!r} comes twice")
        if self._door is None:
            self._take(ns, Entry(row=row, text=document, chosen_id=True), line)
        elif row.status in TAKEN:
            found = self._door.pass_through(row)
            entry = Entry(row=row, text=measure(row), chosen_id=True, redacted=found)
            self._take(ns, entry, {"versions": ()})
        else:
            self._counts["hidden"] += 1

    def _take(self, ns: int, entry: Entry, line: Mapping[str, Any]) -> None:
        """Put a memory on the pile of its namespace, with its past, unless it is here already."""
        row = entry.row
        if sql.known(self._connection, ns, row):
            self._counts["known"] += 1
            return
        blob = None if self._dim is None else _vector(line.get("vector"), self._dim)
        self._counts["vector"] += blob is not None
        states = [read_state(state, row, self._terms.limits) for state in line["versions"]]
        self._waiting.setdefault(ns, []).append((entry, states, blob))
        self._fresh[ns].add(row.id)
        if len(self._waiting[ns]) >= BATCH:
            self._put_waiting()

    def _put_waiting(self) -> None:
        for ns, arrivals in self._waiting.items():
            entries = [entry for entry, _, _ in arrivals]
            if self._door is not None:
                quarantine.judge(self._connection, ns, entries, self._terms.untrusted)
            sql.put(self._connection, ns, arrivals, self._model)
            for entry in entries:
                self._note(ns, entry)
            self._judge_again(ns, [entry.row for entry in entries])
        self._waiting.clear()

    def _judge_again(self, ns: int, rows: Sequence[Row]) -> None:
        """Judge those that waited for what has come; of one's own file what is in it stays."""
        changed = quarantine.judge_again(
            self._connection,
            ns,
            rows,
            [row.id for row in rows],
            self._terms.untrusted,
            now=self._terms.now,
            ring=self._terms.ring,
            spared=self._fresh[ns] if self._door is None else (),
        )
        for row in changed:
            if row.status == Status.QUARANTINED and row.id in self._fresh[ns]:
                self._quarantined.add(row.docid)
            if row.tier == Tier.SHORT:
                self.sessions.setdefault(ns, set()).add(row.session)

    def _note(self, ns: int, entry: Entry) -> None:
        """Count what became of a memory that was put in."""
        row = entry.row
        if row.status == Status.QUARANTINED:
            self._quarantined.add(row.docid)
        if row.tier == Tier.SHORT and row.status == Status.ACTIVE:
            self.sessions.setdefault(ns, set()).add(row.session)
        if entry.redacted:
            self._redacted.update(entry.redacted)
            memories.record(
                self._connection, ns, self._terms.now, "redacted", row.docid, dict(entry.redacted)
            )

    def _link(self, ns: int, line: Mapping[str, Any]) -> None:
        self._put_waiting()
        ends = (admit.check_id(line["from"]), admit.check_id(line["to"]))
        if self._door is not None and not self._fresh[ns].issuperset(ends):
            return  # it would say something of a memory that is not the file's
        relation = admit.short_name("relation", line["relation"])
        weight = _number(line["weight"])
        self._counts["link"] += sql.put_link(self._connection, ns, ends, relation, weight)

    def _event(self, ns: int, line: Mapping[str, Any]) -> None:
        """Take an event of a memory that is new here; of none, only into an empty namespace."""
        if self._door is not None:
            return
        self._put_waiting()
        memory_id, detail = line["memory"], line["detail"]
        if memory_id is not None and memory_id not in self._fresh[ns]:
            return
        if memory_id is None and ns not in self._began_empty:
            if not isinstance(detail, dict) or "ids" not in detail:
                return
            detail = {**detail, "ids": [one for one in detail["ids"] if one in self._fresh[ns]]}
            if not detail["ids"]:
                return
        if detail is not None:
            admit.check_metadata(detail, self._terms.limits)
        kind, at = admit.short_name("kind", line["kind"]), read_moment("at", line["at"])
        sql.put_event(self._connection, ns, at, kind, memory_id, detail)
        self._counts["event"] += 1


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        refuse("weight", "must be a finite number")
    return float(value)


def _vector(encoded: Any, dim: int) -> bytes | None:
    """Decode a vector, which must be of the embedder's dimension and of unit length."""
    if encoded is None:
        return None
    vector = array("f", blob := base64.b64decode(encoded, validate=True))
    if len(vector) != dim:
        refuse("vector", f"has {len(vector)} numbers, its embedder makes {dim}")
    length = math.sqrt(sum(x * x for x in vector))
    if not abs(length - 1) < _UNIT:
        refuse("vector", "is not of unit length")
    return blob


@contextmanager
def _whole(source: str | Path | IO[str] | IO[bytes]) -> Iterator[tuple[IO[bytes], str]]:
    """Lend an export as a file that can be read twice, with its name."""
    if isinstance(source, str | Path):
        path = Path(source).absolute()
        if not path.is_file():
            raise ArchiveDamaged(path, "is no file; give the name of an export")
        with path.open("rb") as file:
            yield file, str(path)
        return
    name = str(getattr(source, "name", "the stream"))
    with tempfile.TemporaryFile() as file:
        if isinstance(source, io.TextIOBase):
            file.writelines(line.encode() for line in source)
        else:
            shutil.copyfileobj(cast("IO[bytes]", source), file)
        file.seek(0)
        yield file, name
