"""Import an export in several transactions; if any part is refused, nothing is imported.

The file is read twice. The first time each line is checked, and nothing is written. The second time
the lines are written, a few hundred per transaction, so that no writer waits for long. Reading,
checking and the search for secrets happen outside the transactions.

An import that is interrupted between two transactions has written only complete memories, each with
its earlier states and at its place. A note in the ledger tells how far it came, and the same import
again continues there.

The caller's own file is imported unchanged; of any other one, ``import_lines`` makes ordinary
memories.
"""

from __future__ import annotations

import errno
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import groupby
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from memento import check
from memento.admit.draft import Entry
from memento.base import files
from memento.base.lazy import later
from memento.base.scopes import parse_namespace
from memento.errors import ArchiveDamaged, ArchiveFromTheFuture, InvalidInput, LockedMemory
from memento.ledger import (
    changes,
    links,
    memories,
    namespaces,
    scope_rows,
    session_rows,
    usage_events,
    vectors,
)
from memento.ledger import transfer as sql
from memento.ledger.contract import Ledger, Transaction, Work
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_MASK
from memento.ledger.scope_rows import Place
from memento.protocols import Progress
from memento.types import Event, Status, Tier
from memento.upkeep.import_lines import (
    KINDS,
    MAX_LINE,
    Arrival,
    EventLine,
    Item,
    Labels,
    Lines,
    Link,
    Terms,
    bites,
    each_line,
)
from memento.upkeep.line_format import FORMAT, SessionLine, ShareLine
from memento.write import slots, trust
from memento.write.remember import go_to_present_scopes
from memento.write.scope_moves import may_be_merged
from memento.write.steps import log_event

if TYPE_CHECKING:
    from memento.write import settling
else:
    settling = later("memento.write.settling")

Sessions = dict[int, set[str | None]]


class Taking:
    """Writes the lines of an export, and counts them.

    ``began`` maps the number of each namespace to its newest revision when the import began,
    perhaps in another process that was killed: it imported the later memories of the file.
    ``model`` made the vectors; None leaves them out. ``sessions`` receives those with new turns.
    """

    def __init__(
        self,
        name: str,
        into_of: Mapping[Labels, int],
        began: Mapping[int, int],
        model: int | None,
        terms: Terms,
        sessions: Sessions,
    ) -> None:
        self.model = model
        self.counts: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.quarantined: set[int] = set()
        self._name, self._into_of, self._began = name, into_of, began
        self._terms, self._sessions = terms, sessions
        self._ours: dict[int, set[str]] = {ns: set() for ns in into_of.values()}

    def put(self, connection: Transaction, bite: Sequence[Item]) -> None:
        """Write some lines in one transaction: memories, then the other types, each in order."""
        done = sql.imported_to(connection, self._name)
        since = inf if done is None else done  # None: another process has written all of it
        arrived = [(item.labels, item.what) for item in bite if isinstance(item.what, Arrival)]
        for labels, group in groupby(arrived, key=itemgetter(0)):
            work = self._work(connection, self._into_of[labels])
            self._put_memories(work, [arrival for _, arrival in group])
            changes.finish(work, "import_from", self._terms.trust)
        rest: dict[type, Callable[[Transaction, int, Any], None]] = {
            Link: self._put_link,
            EventLine: self._put_event,
            SessionLine: self._put_session,
            Place: self._put_scope,
            ShareLine: self._put_share,
        }
        for kind, put in rest.items():
            for item in bite:
                if isinstance(item.what, kind) and (kind is not EventLine or item.line > since):
                    put(connection, self._into_of[item.labels], item.what)
        sql.note_imported(connection, self._name, bite[-1].line)

    def _work(self, connection: Transaction, ns: int) -> Work:
        return Work(connection, ns, self._terms.now, self._terms.rules)

    def _put_memories(self, work: Work, arrivals: Sequence[Arrival]) -> None:
        go_to_present_scopes(work, [one.entry for one in arrivals])
        fresh = [one for one in arrivals if not self._is_here(work, one.entry.row)]
        if not fresh:
            return
        entries = [one.entry for one in fresh]
        self._ours[work.ns].update(entry.row.id for entry in entries)
        self._sessions.setdefault(work.ns, set())
        if not self._terms.is_own:
            trust.judge(work, entries)
        pile = [(one.entry.row, one.entry.text, one.states, one.vector) for one in fresh]
        changes.comes_with(work)
        sql.put(work.db, work.ns, pile, self.model)
        for entry in entries:
            self._note(work, entry)
        self.counts["vectors"] += sum(one.vector is not None for one in fresh)
        again = self._judge_again(work, [entry.row for entry in entries])
        slots.settle(work, sorted(entry.row.id for entry in entries))
        rows = [*(entry.row for entry in entries), *again]
        sessions = {row.session for row in rows if row.tier == Tier.SHORT}
        memories.overflow(work, sessions)
        self._sessions[work.ns].update(sessions)

    def _is_here(self, work: Work, row: Row) -> bool:
        """Return whether a memory is here already, perhaps from an earlier run of this import."""
        docid = sql.known(work.db, work.ns, row)
        if docid is None:
            return False
        self.counts["known"] += 1
        if self._terms.is_own and row.status == Status.ACTIVE:
            self._vouch(work, row)
        if docid & SEQ_MASK > self._began.get(work.ns, SEQ_MASK):
            self._ours[work.ns].add(row.id)
        return True

    def _vouch(self, work: Work, row: Row) -> None:
        """Approve a memory quarantined when the file was imported as somebody else's."""
        here = memories.by_id(work.db, work.ns, row.id)
        if here.status == Status.QUARANTINED and here.content_hash == row.content_hash:
            with suppress(InvalidInput, LockedMemory):  # a parent waits, or the user holds its slot
                trust.approve(work, row.id, here.version)
                self.counts["approved"] += 1

    def _judge_again(self, work: Work, rows: Sequence[Row]) -> list[Row]:
        """Re-evaluate memories whose parents were imported, except those of an own file."""
        ours = self._ours[work.ns]
        spared = ours if self._terms.is_own else ()
        changed = trust.judge_again(work, rows, [row.id for row in rows], spared=spared)
        for row in changed:
            if row.status == Status.QUARANTINED and row.id in ours:
                self.quarantined.add(row.docid)
        return changed

    def _note(self, work: Work, entry: Entry) -> None:
        """Count the outcome for a memory that was written."""
        self.counts["memories"] += 1
        if entry.row.status == Status.QUARANTINED:
            self.quarantined.add(entry.row.docid)
        if entry.redacted:
            self.redacted.update(entry.redacted)
            log_event(work, entry.row, Event.REDACTED, entry.redacted)

    def _put_link(self, connection: Transaction, ns: int, link: Link) -> None:
        if not self._terms.is_own and not self._ours[ns].issuperset(link.ends):
            return  # it would change a memory that is not from the file
        made = sql.put_link(connection, ns, link.ends, link.relation, link.weight)
        self.counts["links"] += made
        if made and link.relation == links.RESOLVED:  # perhaps compared here meanwhile
            settling.unflag(self._work(connection, ns), *link.ends)

    def _put_event(self, connection: Transaction, ns: int, event: EventLine) -> None:
        """Import an event of new memories; any other one only into an empty namespace."""
        detail = event.detail
        if event.memory is not None and event.memory not in self._ours[ns]:
            return
        if event.memory is None and self._began.get(ns):
            if not isinstance(detail, dict) or "ids" not in detail:
                return
            ours = self._ours[ns]  # the places of the others in the answer stay
            detail = {**detail, "ids": [one if one in ours else "" for one in detail["ids"]]}
            if not any(detail["ids"]):
                return
        if self._is_doubted(connection, ns, event):
            return
        put = sql.put_event(connection, ns, event.at, event.kind, event.memory, detail)
        self.counts["events"] += put

    def _is_doubted(self, connection: Transaction, ns: int, event: EventLine) -> bool:
        """Return whether an event is a doubt that the settling pass noted here meanwhile."""
        detail = event.detail
        if event.kind != Event.DOUBTED or event.memory is None or not isinstance(detail, dict):
            return False
        docid = memories.docids_of(connection, ns, [event.memory]).get(event.memory)
        if docid is None:  # it was erased between two parts of the import
            return False
        return usage_events.is_doubted(connection, docid, detail.get("by"), self._terms.now)

    def _put_session(self, connection: Transaction, ns: int, one: SessionLine) -> None:
        """Import a session that is not here; a checkpoint gets its revision by its time."""
        if session_rows.find(connection, ns, one.begun.id) is not None:
            return
        session_rows.put(connection, replace(one.begun, ns=ns))
        for noted in one.checkpoints:
            rev = session_rows.seq_at(connection, ns, noted.session, noted.at)
            session_rows.insert_checkpoint(connection, replace(noted, ns=ns, rev=rev))
        self.counts["sessions"] += 1

    def _put_scope(self, connection: Transaction, ns: int, place: Place) -> None:
        """Import a scope that is not named here."""
        if scope_rows.find(connection, ns, place.path) is not None:
            return
        if place.merged_into is not None and not may_be_merged(connection, ns, place):
            place = replace(place, merged_at=None, merged_into=None)
        scope_rows.put(connection, replace(place, ns=ns))
        self.counts["scopes"] += 1

    def _put_share(self, connection: Transaction, ns: int, one: ShareLine) -> None:
        """Import a share that is not there."""
        other = namespaces.number(connection, one.seen_by)
        made = scope_rows.put_share(connection, replace(one.share, ns=ns, other=other))
        self.counts["shares"] += made


MAX_DIM = 1 << 20
"""Maximum dimension of a vector that is read."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        memories: Number of new memories.
        known: Number of memories that the store already contained; except for those in
            ``approved``, they were not changed.
        links: Number of new links.
        events: Number of new events.
        vectors: Number of new memories whose vector was imported; others are embedded in the
            background.
        damaged: Ids of memories that were skipped because they were damaged in the exported store.
        quarantined: Number of new memories that were quarantined.
        hidden: Number of memories that were skipped because they are hidden and the file does not
            have the trust class ``user``.
        demoted: Number of new memories that are no longer rules or pinned, for the same reason.
        redacted: Number of secrets that were removed, by kind.
        sessions: Number of new sessions, each with its checkpoints; 0 unless the file has the trust
            class ``user``.
        scopes: Number of new scopes that were defined or merged; 0 unless the file has the trust
            class ``user``.
        shares: Number of new shares; 0 unless the file has the trust class ``user``, and 0 if
            ``into`` is another namespace.
        approved: Number of known memories that were quarantined and are now approved because the
            file is the user's.
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
    sessions: int = 0
    scopes: int = 0
    shares: int = 0
    approved: int = 0


def import_from(
    ledger: Ledger,
    source: str | Path | IO[str] | IO[bytes],
    *,
    into: tuple[str, ...] | None,
    embedder: Callable[[], str | None],
    terms: Terms,
    sessions: Sessions,
    progress: Progress | None = None,
) -> Imported:
    """Import an export; see the module, and ``StoreView.import_from`` for the errors.

    Args:
        ledger: The store.
        source: A file or a stream that ``export`` wrote.
        into: The namespace to put it into; None for the ones it comes from.
        embedder: Returns the identity of the embedder in use, or None.
        terms: The terms on which memories are accepted.
        sessions: Receives the sessions of each namespace that have new turns, even if the import
            is interrupted.
        progress: Told how many lines are written.
    """
    report = progress or (lambda _done, _total: None)
    with whole(source) as (stream, name):
        head, digest, total = verify(stream, name, terms.longest)
        labels = _namespaces(head, name)
        if into is not None and len(labels) > 1:
            raise InvalidInput(
                "source", f"contains {len(labels)} namespaces; pass all_namespaces=True"
            )
        vectors_wanted = head["embedder"] is not None and terms.is_own
        identity = _identity(head, embedder) if vectors_wanted else None
        dim = None if identity is None else head["embedder"]["dim"]
        targets = {one: one if into is None else into for one in labels}
        _check(ledger, Lines(stream, targets, dim, terms), report)
        said = json.dumps([digest, sorted(targets.items()), terms.trust.value])
        run = f"import {sha256(said.encode()).hexdigest()}"

        def begin(connection: Transaction) -> Taking:
            into_of = {one: namespaces.number(connection, one) for one in targets.values()}
            began = sql.begin_import(connection, run, into_of.values())
            model = None if identity is None else _model(connection, head, identity)
            return Taking(run, into_of, began, model, terms, sessions)

        taking = ledger.write(begin)
        lines = Lines(stream, targets, None if taking.model is None else dim, terms)
        for bite in bites(lines):
            ledger.write(lambda c, bite=bite: taking.put(c, bite))  # type: ignore[misc]
            report(bite[-1].line, total)
        ledger.write(lambda c: sql.end_import(c, run))
        report(total, total)
        kinds = "memories known approved links events vectors sessions scopes shares"
        return Imported(
            **{kind: taking.counts[kind] for kind in kinds.split()},
            damaged=tuple(lines.damaged),
            quarantined=len(taking.quarantined),
            hidden=lines.hidden,
            demoted=lines.demoted,
            redacted=dict(taking.redacted),
        )


def _check(ledger: Ledger, lines: Lines, report: Progress) -> None:
    """Read and check all lines as if they were imported; write nothing."""
    for bite in bites(lines):
        report(0, None)
        numbers = {labels: ledger.find_namespace(labels) for labels in {i.labels for i in bite}}
        rows = [
            (ns, item.what.entry.row)
            for item in bite
            if isinstance(item.what, Arrival) and (ns := numbers[item.labels]) is not None
        ]
        ledger.read(lambda c, rows=rows: [sql.known(c, ns, row) for ns, row in rows])  # type: ignore[misc]


def _namespaces(head: Mapping[str, Any], name: str) -> list[tuple[str, ...]]:
    """Return the namespaces that an export lists; check its embedder too."""
    said = head.get("namespaces")
    if not isinstance(said, list):
        raise ArchiveDamaged(name, "its first line does not list its namespaces")
    try:
        found = [parse_namespace(one) for one in said]
    except InvalidInput as error:
        raise ArchiveDamaged(name, f"its first line has an invalid namespace: {error}") from error
    match head:
        case {"embedder": None}:
            return found
        case {"embedder": {"name": str(model), "dim": int(dim)}} if (
            model.isprintable() and 0 < len(model) <= check.MAX_URI and 0 < dim <= MAX_DIM
        ):
            return found
    raise ArchiveDamaged(name, "its first line does not specify the embedder of its vectors")


def _identity(head: Mapping[str, Any], embedder: Callable[[], str | None]) -> str | None:
    """Return the identity of the file's embedder if its vectors can be used here."""
    theirs = f"{head['embedder']['name']} ({head['embedder']['dim']})"
    ours = embedder()
    return theirs if ours is None or ours == theirs else None


def _model(connection: Transaction, head: Mapping[str, Any], identity: str) -> int | None:
    """Return the number of the file's embedder here; None if the store has another."""
    present = vectors.current_embedder(connection)
    if present is None:
        vectors.set_embedder(connection, identity)
    elif present != identity:
        return None
    return vectors.embedder_id(connection, head["embedder"]["name"], head["embedder"]["dim"])


def verify(stream: IO[bytes], name: str, longest: int) -> tuple[dict[str, Any], str, int]:
    """Check an export; returns its first line, its digest and the number of its lines.

    ``longest`` is the maximum length of a line in bytes; -1 for any.
    """
    head = _head(stream.readline(MAX_LINE), name)
    stream.seek(0)
    digest, counts = sha256(), Counter[str]()
    for number, data in enumerate(each_line(stream, longest), start=1):
        line = _parsed(data, name, number)
        kind = line.get("type")
        if kind == "end":
            told = {kind: line.get(kind) for kind in ("memories", "links", "events")}
            found = {"memories": counts["memory"], "links": counts["link"]}
            told_digest = line.get("sha256")
            if told != found | {"events": counts["event"]} or told_digest != digest.hexdigest():
                raise ArchiveDamaged(name, "was modified: its digest does not match")
            if stream.read(1):
                raise ArchiveDamaged(name, f"continues after its last line, {number}")
            return head, digest.hexdigest(), number
        if number > 1 and not (isinstance(kind, str) and kind in KINDS):
            raise ArchiveDamaged(name, f"line {number} has an unknown type")
        digest.update(data)
        counts[str(kind)] += 1
    raise ArchiveDamaged(name, "is truncated: its last line is missing")


def _head(data: bytes, name: str) -> dict[str, Any]:
    head: Any = None
    with suppress(ValueError, RecursionError):
        head = json.loads(data)
    match head:
        case {"type": "memento export", "format": int(form)}:
            if form > FORMAT:
                raise ArchiveFromTheFuture(name, found=form, known=FORMAT)
            return cast("dict[str, Any]", head)
    raise ArchiveDamaged(name, "is not a memento export")


def _parsed(data: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArchiveDamaged(name, f"line {number} is not JSON: truncated or modified") from error
    if not isinstance(line, dict) or not data.endswith(b"\n"):
        raise ArchiveDamaged(name, f"line {number} is truncated or modified")
    return line


@contextmanager
def whole(source: str | Path | IO[str] | IO[bytes]) -> Iterator[tuple[IO[bytes], str]]:
    """Open an export as a file that can be read twice; yield its name too."""
    if isinstance(source, str | Path) or not callable(getattr(source, "read", None)):
        path = files.path_of("source", source)
        try:
            file = files.open_regular(path)
        except OSError as error:
            none = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EINVAL}
            problem = "is not a file; specify the file name of an export"
            said = problem if none else f"cannot be read ({error.strerror})"
            raise ArchiveDamaged(path, said) from error
        with file:
            yield file, str(path)
        return
    with tempfile.TemporaryFile() as copy:
        try:
            if isinstance(source, io.TextIOBase):
                copy.writelines(line.encode() for line in source)
            else:
                shutil.copyfileobj(cast("IO[bytes]", source), copy)
        except Exception as error:  # the caller's own object: it may raise anything
            said = f"the stream cannot be read ({type(error).__name__}: {error})"
            raise InvalidInput("source", said) from error
        copy.seek(0)
        yield copy, str(getattr(source, "name", "the stream"))
