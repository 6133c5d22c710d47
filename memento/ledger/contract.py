"""The promises that every engine of the ledger keeps to the rest of memento.

Nothing above ``ledger`` knows which engine a store has. The calls that it may make are here,
and the tests in ``tests/conformance/ledger`` hold each engine to the promises. In short:

1. ``Ledger.write`` returns when the transaction is durable. Jobs of one namespace run one after
   the other. A job that fails undoes what it did, and nothing else.
2. The revisions of a namespace appear in order and without gaps to every reader: a reader
   that saw revision n sees all that came before it.
3. ``Ledger.read`` is one snapshot: whatever commits meanwhile, a job sees none of it.
4. Text compares by code points, floats are 8 bytes, times are integer microseconds since 1970 UTC,
   row ids are ``namespace number << 40 | seq``: exports of two engines agree, and a namespace is
   one range of every index.
5. ``Words.postings`` gives the newest rows, ascending and of one moment, for each expression.
6. If the connection is lost while a transaction commits, the engine asks whether it did; it never
   writes a second time.

In return, a thread asks for one connection at a time, because there may be few: a job calls neither
``write`` nor a ``read`` that does not share its snapshot, and a lock that a job takes is only ever
taken within one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from memento.ledger.match import Match
from memento.text.words import Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Moment: TypeAlias = tuple[int, int]
"""A moment of a ledger, see ``Ledger.moment``."""
F = TypeVar("F")


class Answer(Protocol):
    """The answer to a statement, to be read once."""

    @property
    def rowcount(self) -> int:
        """How many rows a change touched."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple, or None."""

    def fetchmany(self, size: int = ...) -> list[Any]:
        """Return the next rows, up to ``size``; empty at the end."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows that are left."""


class Transaction(Protocol):
    """The calls that a job may make on its connection, only while it runs.

    The job is inside a transaction that others begin and end. An answer that it has not read to the
    end is closed with it, even if something still refers to it. Only the shared modules of the
    ledger make these calls: everything above passes it on.
    """

    @property
    def words(self) -> Words:
        """The full text, as of this transaction."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Answer:
        """Run one statement of the shared SQL, see ``dialect``; values are bound, never spliced in.

        They are a sequence, one for each ``?``, or as many as the highest of ``?1``, ``?2`` ... An
        error leaves ``Ledger.read`` or ``Ledger.write`` as a ``StoreError``; within the job it may
        be the driver's own.
        """

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Answer:
        """Run one statement for each of several sequences of values."""

    def ahead(self, *asks: Callable[[Transaction], object]) -> None:
        """Announce what will be asked before anything changes, each by a function that asks it.

        A server is asked the first statement of each with the next one that is executed, in one
        message; they wait for whoever executes them. Nothing else depends on it.
        """


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that a write obeys, the same for every write of a store.

    ``ring`` is the capacity of a session's ring buffer; ``untrusted`` are the classes of trust that
    are quarantined.
    """

    ring: int
    untrusted: Collection[str]


@dataclass(slots=True)
class Trace:
    """What a write notes for the change that it makes, see ``changes``.

    ``number`` is the key of the change, once it ended a state of a memory; ``first`` is the first
    revision that it took.
    """

    number: int | None = None
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One transaction that changes one namespace: the first argument of each step of a write.

    ``now`` is the same for all steps, microseconds since 1970 UTC. ``db`` is not called
    ``session``, since the ``session`` of a row is a conversation.
    """

    db: Transaction
    ns: int
    now: int
    rules: Rules
    trace: Trace = field(default_factory=Trace)


class Words(Protocol):
    """The full text of a ledger, as of the transaction of its `Transaction`.

    It indexes the rows of a namespace in order of arrival and may be behind: rows up to some seq
    are in the index, the rest wait; a `Tail` finds those. Every engine folds words alike: case,
    accents and English endings make no difference.
    """

    @property
    def at_once(self) -> int:
        """Number of rows that `catch_up` indexes in about 2 ms, for which an ``add`` may wait."""

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        """Find the newest indexed rows of a namespace that match.

        Returns:
            For each expression, the seqs of its rows, ascending, no repeats; the largest ``limit``
            of them if there are more.
        """

    def unheard(self, ns: int, words: Iterable[str]) -> set[str]:
        """Return those of some folded words that no indexed text of a heard memory has.

        Of a word that very many memories hold, only the oldest are looked at.
        """

    def waiting_words(self, ns: int) -> set[str]:
        """Return the words of the heard rows of a namespace that wait."""

    def behind(self) -> list[int]:
        """Return the namespaces that have rows waiting."""

    def is_due(self, newest: int, count: int) -> bool:
        """Return whether to index new rows at once, together with those that wait.

        True if ``count`` is large, or many rows wait; the latter may be checked only every few
        rows. ``newest`` is the row id of the last new row.
        """

    def index_next(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        """Index the next rows of a namespace, at least one, ascending; none before them may wait.

        From here on they are queued for a vector, unless they have one or are forgotten.
        """

    def catch_up(self, ns: int, most: int = ...) -> bool:
        """Index waiting rows of a namespace, oldest first; return whether there may be more."""

    def replace(self, docid: int, document: Columns) -> None:
        """Index a row again because its text changes."""

    def remove(self, docids: Sequence[int]) -> int:
        """Remove rows from the index; return how many were in it."""

    def edition(self) -> int:
        """Return a number that changes when any process rebuilds the index."""

    def merge(self) -> bool:
        """Do a little work that makes later searches cheaper; return whether any was due."""

    def misindexed(self) -> list[tuple[int, tuple[str, ...] | None]]:
        """Return the rows whose entry is missing though due, or made from another text.

        Each is a row id with its entry: title, head, rest; None where there is no entry.
        """

    def strays(self) -> int:
        """Count entries whose memory is not there."""

    def drop_strays(self) -> None:
        """Remove entries whose memory is not there."""

    def rebuild(self) -> int:
        """Build the index again from the memories; returns how many rows it holds."""


class Tail(Protocol):
    """The waiting rows of every namespace that was asked about, in RAM. Safe from any thread."""

    def ahead(self, session: Transaction, ns: int) -> None:
        """Announce what ``follow`` asks; see ``Transaction.ahead``."""

    def follow(
        self,
        session: Transaction,
        ns: int,
        newest: int,
        erased: Iterable[int] = (),
        *,
        afresh: bool = False,
    ) -> None:
        """Take in the new rows, and drop those that the index has by now.

        ``newest`` is the newest revision of the namespace, ``erased`` the row ids that are gone
        since the last call. With ``afresh`` all of the namespace is read again.
        """

    def hold(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        """Take in documents that no ledger has, such as texts of an earlier moment, by row id.

        ``follow`` is never called on such a tail.
        """

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        """Find the newest waiting rows of a namespace that match; see `Words.postings`.

        Call it before the index is searched: rows dropped here meanwhile are there by then.
        """


class Ledger(Protocol):
    """The open ledger of one store: all memories of all its namespaces. Safe from any thread.

    In a forked child it opens its own connections on first use. After ``close`` every call raises
    ``StoreClosed``. Once the files are no longer where they were opened, it raises ``StoreGone``: a
    write could end up in files that nobody will open again.
    """

    @property
    def root(self) -> Path:
        """The store folder; its derived files lie there too."""

    @property
    def path(self) -> Path:
        """The ledger file, for messages and sizes."""

    @property
    def in_file(self) -> bool:
        """Whether ``path`` is a file with the whole ledger, for ``opening.backup_tool``."""

    @property
    def read_only(self) -> bool:
        """Whether it cannot be written at present; reading works all the same."""

    @property
    def immutable(self) -> bool:
        """Whether it lies where nothing can be written, not even a file beside it."""

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""

    @property
    def library(self) -> tuple[str, str]:
        """Name of the database, and its version with any warning about it."""

    def write(
        self,
        job: Callable[[Transaction], T],
        *,
        spaces: Collection[int] | None = None,
        makes_room: bool = False,
        frees_room: bool = False,
    ) -> T:
        """Run a job in one transaction and return when it is durable.

        Jobs of one namespace run one after the other, possibly several in one commit. A job that
        names its ``spaces``, numbers of namespaces, changes rows of no other, except a namespace
        that it creates; jobs of other namespaces may run at the same time. One that names none has
        the store to itself. Jobs that are ``group.Joinable`` may be done together. If a job raises,
        its own changes are undone and no others. A job may run in another caller's thread, see
        ``commit_separately``, must not commit, and may be called a second time if the first time
        was undone. On a full disk there is room reserved for a job that ``makes_room`` by hiding or
        removing something; the last of it is for one that ``frees_room`` by removing rows.

        Raises ``ReadOnlyStore``, ``StorageFull``, or ``StoreError`` if nothing could be
        written.
        """

    def commit_separately(self) -> None:
        """Commit the jobs of the calling thread separately from now on; for a background thread.

        Then no caller of ``write`` does the work of that thread.
        """

    def read(self, job: Callable[[Transaction], T], *, space: int | None = None) -> T:
        """Run a job on one snapshot of the ledger; ``StoreError`` if it tries to write.

        It sees no erased memory, even while the rows of many are still being deleted. ``space`` is
        the namespace that the job reads: where the database can fence it, the job sees no row of
        another, whatever its SQL says. Raises ``StoreUnusable`` if the ledger is damaged where the
        job reads.
        """

    def gathered(self, job: Callable[[], T], *, space: int) -> T:
        """Run a job of several reads; where each costs a round trip, they share one snapshot.

        Then ``read``, ``moment`` and ``labels`` use that snapshot, and a read that names no
        ``space`` has this one.
        """

    def claimed(self, names: Iterable[object]) -> AbstractContextManager[Collection[object]]:
        """Claim pieces of work during a block, so that no other machine does the same.

        Yields those that no other process has claimed. Nobody waits. On a server a claim lasts 30
        seconds at most, so that one of a process that died ends: what takes longer may be done
        twice, which must be harmless. Processes that share a file have other means: there it
        yields all.
        """

    def check_present(self) -> None:
        """Raise ``StoreGone`` unless the files are still the ones that were opened."""

    def find_namespace(self, labels: tuple[str, ...]) -> int | None:
        """Return the number of a namespace, or None if nothing was ever stored in it.

        Every verb that reads asks this first.

        Raises:
            StoreGone: As ``check_present``.
        """

    def labels(self, ns: int) -> tuple[str, ...]:
        """Return the labels of a namespace number."""

    def is_writing(self) -> bool:
        """Return whether any process is writing now; ``OSError`` if that cannot be found out."""

    def moment(self) -> Moment:
        """Return a value that equals an earlier one only if nothing was written in between.

        Compare it within one thread: each thread has values of its own. The result of a read may be
        kept as long as the moment taken before the read is still the present one.
        """

    def make_tail(self) -> Tail:
        """Make an index of waiting rows, which knows none yet."""

    def quick_check(self) -> list[str]:
        """Return what is wrong with the structure of the file, the full text aside."""

    def words_intact(self) -> bool:
        """Return whether the full text agrees with its rows, without making a writer wait."""

    def compact(self) -> None:
        """Remove what is left of deleted rows in the ledger's files, except in the log.

        Others may write meanwhile; none waits for more than a part. Raises ``StoreError`` if
        something prevents it; the rest can be done later.
        """

    def fold_log(self, seconds: float) -> bool:
        """Empty the log; return False if others were in the way for all these seconds."""

    def checkpoint(self) -> None:
        """Fold as much of the log as possible into the file, without making anyone wait."""

    def size(self) -> int:
        """Return how many bytes the ledger takes on the disk, with its log."""

    def wal_bytes(self) -> int:
        """Return the size of the log, bytes."""

    def growth(self) -> int:
        """Return how many bytes the file will grow by when the log is folded into it."""

    @property
    def reserve_trouble(self) -> str:
        """Why no room is reserved for a full disk; empty if some is."""

    @property
    def locks_lost(self) -> bool:
        """Whether other processes cannot see that this one has the store open."""

    def keep_reserve(self) -> None:
        """Reserve room for a full disk, unless that was done or there is too little."""

    def close(self) -> None:
        """Close every connection, after the reads and writes in progress. Idempotent."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a backup file: its schema, how many memories, and when it was made.

    ``taken_at`` is in microseconds; None for a plain copy of a ledger.
    """

    schema: int
    memories: int
    taken_at: int | None


class BackupTool(Protocol):
    """Copies a ledger of one engine into one file, and makes a ledger from such a file."""

    def copy(self, source: Path, target: Path, now: int, *, immutable: bool = ...) -> None:
        """Write all that is committed into an empty file, as of one moment.

        An ``immutable`` ledger is on a medium where nothing can be written.
        """

    def fetch(self, source: Path, target: Path) -> None:
        """Copy a backup, or a ledger that nobody writes, into an empty file."""

    def inspect(self, path: Path, sees: Callable[[int], bool] = ...) -> Contents:
        """Bring a copy up to date and check everything in it; else raise ``ArchiveDamaged``.

        It may name the ids of those namespaces that ``sees`` allows.
        """

    def settle(self, path: Path) -> None:
        """Queue what must be made again of a copy."""

    def set_back_to(
        self,
        path: Path,
        moment: int,
        taken_at: int | None = None,
        *,
        reread: Callable[[Transaction, Any], None],
    ) -> int:
        """Undo all that happened after a moment; returns how many memories are left.

        ``reread`` derives again, in the same transaction, what depends on the text of a row.

        From then on the ledger knows its past only from the latest moment in it, or from when it
        was copied (``taken_at``), see ``past``.
        """


class Salvaged(Protocol):
    """The rows that were rescued from a damaged ledger."""

    @property
    def memories(self) -> Mapping[int, Any]:
        """Whole rows by row id."""

    @property
    def changed(self) -> Mapping[int, str]:
        """Ids of rows that exist but are not as they were written, by row id."""

    @property
    def lost(self) -> Collection[int]:
        """Row ids of memories of which nothing whole is left."""

    @property
    def lost_links(self) -> int:
        """Number of links between memories that are kept, of which nothing whole is left."""

    @property
    def missing_pages(self) -> int:
        """Number of pages by which the file is too short."""

    @property
    def versions(self) -> Sequence[Any]:
        """Earlier states that are whole."""


class SalvageTool(Protocol[F]):
    """Finds what is whole in a damaged ledger of one engine, and makes a new ledger from it."""

    def find(self, path: Path) -> F:
        """Read a damaged ledger, which is not changed."""

    def write(self, found: F, target: Path) -> None:
        """Make a ledger of it in an empty file."""
