"""All errors that memento raises, in one hierarchy, so callers can catch a whole family.

    MementoError
    ├── InvalidInput            an argument that cannot be accepted (also a ValueError)
    │   ├── AmbiguousId         a short id that matches several memories
    │   ├── InvalidSetting      an unknown setting or a bad value, in a file or the environment
    │   ├── InvalidScope        a malformed scope path or namespace label
    │   ├── SecretFound         the value contains a secret that is not allowed
    │   └── UntrustedSource     its source cannot add rules, pin memories or replace active ones
    ├── NotFound                no such memory in this namespace (also a LookupError)
    ├── IdConflict              the id belongs to a memory with different content
    ├── ChangedSince            the memory has changed since the caller read it
    ├── TurnErased              a conversation turn that was erased was passed again
    ├── LockedMemory            a lock prevents this change to a memory
    ├── TooManyLocks            the limit of locked memories is reached
    ├── NothingToUndo           no such change, or it cannot be undone
    ├── StoreError              the ledger cannot carry out the call
    │   ├── StoreClosed         the manager was closed
    │   ├── StoreFromTheFuture  written by a newer version of memento
    │   ├── StoreUnusable       the root is not a folder, belongs to another program, or is damaged
    │   ├── StoreGone           its files were removed, moved or replaced while it was open
    │   ├── StoreBusy           another process held the write lock too long
    │   ├── CommitUnknown       the outcome of a commit is unknown
    │   ├── ReadOnlyStore       the root is not writable
    │   ├── TargetExists        the target already exists; it was not overwritten
    │   ├── ArchiveDamaged      a file that is truncated, modified, or not a backup or export
    │   ├── ArchiveFromTheFuture  an export in a newer format
    │   ├── MomentUnknown       the backup does not extend to that moment
    │   ├── StorageFull         the disk is full, or a quota or file size limit is reached
    │   └── StorageFailed       the disk reported an error
    ├── TierUnavailable         a tier could not be searched; nothing is lost
    ├── EmbedderError           the embedder failed or broke its contract
    │   └── EmbeddingMismatch   the stored vectors come from a different embedder
    ├── RerankerError           the reranker failed or broke its contract
    ├── SynthesisFailed         a language model gave no usable reply; nothing is lost
    │   └── BudgetSpent         a daily limit is reached; nothing was sent
    ├── ServiceError            a service did not carry out the call
    │   ├── NotAllowed          the token is unknown, or does not allow the call
    │   ├── TooMuch             a limit of the service is reached
    │   ├── Unanswered          no response in time; a write may have been carried out
    │   └── NotHere             this works only on the store's machine
    └── MissingExtra            an optional dependency is not installed

Each error provides its details as attributes, and its message says what to do next.
A client of a service receives the attributes that the class annotates.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import Any, Self


class MementoError(Exception):
    """Base of every error of this package. Each can be copied and pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.args, self.__dict__)


def _revive(kind: type[MementoError], args: tuple[Any, ...], facts: dict[str, Any]) -> MementoError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class InvalidInput(MementoError, ValueError):
    """An argument that cannot be accepted; nothing was written.

    Attributes:
        field: Name of the parameter at fault.
        problem: Description of the fault, and of the values that are accepted.
    """

    field: str
    problem: str

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def within(self, place: str) -> Self:
        """Return the same error for one item of several, such as ``items[3].text``."""
        moved = copy(self)
        moved.field = f"{place}.{self.field}"
        moved.args = (f"{moved.field}: {self.problem}",)
        return moved


_MOST_IDS = 3


class AmbiguousId(InvalidInput):
    """A short id that matches several memories of this namespace.

    Attributes:
        ids: The first 10 of the matching ids.
    """

    ids: tuple[str, ...]

    def __init__(self, short: str, ids: Sequence[str]) -> None:
        listed = ", ".join(ids[:_MOST_IDS]) + (" ..." if len(ids) > _MOST_IDS else "")
        problem = f"{short!r} matches several memories: {listed}; specify more of the first"
        super().__init__("id", f"{problem} or last characters")
        self.ids = tuple(ids)


class InvalidSetting(InvalidInput):
    """A file or an environment variable contains an unknown setting or an invalid value.

    Attributes:
        source: The file, or ``environment``.
    """

    source: str

    def __init__(self, source: str, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.source = source
        self.args = (f"{source}: {field}{': ' if field else ''}{problem}",)


class InvalidScope(InvalidInput):
    """A malformed scope path or namespace label."""


_LEAVE_OUT = "remove them, or set Config(secrets='redact')"


class SecretFound(InvalidInput):
    """The value contains a secret that its field or the settings do not allow; nothing was written.

    Attributes:
        kinds: Number of secrets found, by kind; never the secrets themselves.
    """

    kinds: dict[str, int]

    def __init__(self, field: str, found: Mapping[str, int], advice: str = _LEAVE_OUT) -> None:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        super().__init__(field, f"contains secrets ({listed}); {advice}")
        self.kinds = dict(found)


class UntrustedSource(InvalidInput):
    """The source is not trusted enough to add a rule, pin a memory or change one.

    Nothing was written.
    """


class NotFound(MementoError, LookupError):
    """This namespace has no memory with this id.

    An id of another namespace raises the same error, so the error does not reveal whether the id
    exists.
    """

    memory_id: str

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"no memory {memory_id!r} in this namespace")
        self.memory_id = memory_id


class IdConflict(MementoError):
    """The id passed to ``add`` already belongs to a memory with different content."""

    memory_id: str

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            f"id {memory_id!r} already belongs to a memory with different content; "
            "change it with update(), or use another id"
        )
        self.memory_id = memory_id


class ChangedSince(MementoError):
    """The memory has, or may have, changed since the caller read it; nothing was written.

    Attributes:
        memory_id: The memory.
        version: Its current version, see ``Memory.version``.
    """

    memory_id: str
    version: int

    def __init__(self, memory_id: str, version: int) -> None:
        super().__init__(
            f"memory {memory_id!r} has changed in quarantine; read it again, then approve that "
            f"version: approve(memory) or `memento quarantine approve {memory_id} --version"
            f" {version}`"
        )
        self.memory_id = memory_id
        self.version = version


class TurnErased(MementoError):
    """A conversation turn that was erased was passed again; nothing was written.

    ``keep`` and ``observe`` skip such turns. The error occurs only if a turn is erased while it is
    being stored, or is added by its id.

    Attributes:
        ids: The ids of the turns.
    """

    ids: frozenset[str]

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = frozenset(ids)
        turns = "turn was" if len(self.ids) == 1 else "turns were"
        super().__init__(f"{len(self.ids)} {turns} erased and will not be stored again")


class LockedMemory(MementoError):
    """A lock prevents this change to a memory; nothing was written.

    Attributes:
        memory_id: The memory.
        level: Level of the lock: ``user`` or ``promoted``.
    """

    memory_id: str
    level: str

    def __init__(self, memory_id: str, level: str) -> None:
        why = {"promoted": "; only the user may replace it"}.get(level, "")
        super().__init__(
            f"memory {memory_id!r} is locked ({level}){why}; unlock it first: "
            "update(id, lock=None) or `memento set ID --no-lock`"
        )
        self.memory_id = memory_id
        self.level = level


class TooManyLocks(MementoError):
    """The limit of locked memories in this namespace is reached; nothing was written.

    Attributes:
        limit: The limit.
    """

    limit: int

    def __init__(self, limit: int) -> None:
        problem = "memories are already locked, which is the maximum; unlock some first"
        super().__init__(f"{limit} {problem}")
        self.limit = limit


class NothingToUndo(MementoError):
    """There is nothing to undo; nothing was written.

    Attributes:
        change: Number of the change or run, or None.
        problem: Why it cannot be undone.
    """

    change: int | None
    problem: str

    def __init__(self, change: int | None, problem: str) -> None:
        super().__init__(problem)
        self.change = change
        self.problem = problem


class StoreError(MementoError):
    """The ledger cannot carry out the call.

    Attributes:
        path: The file or folder concerned.
    """

    path: Path

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = Path(path)


class StoreClosed(StoreError):
    """The manager was closed; open a new one."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, "the store is closed; open a new MemoryManager")


class StoreFromTheFuture(StoreError):
    """The store was written by a newer version of memento; it was not touched.

    Attributes:
        found: Schema version of the file.
        known: Newest schema version that this version supports.
    """

    found: int
    known: int

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        reads = f"this version of memento supports schemas up to {known}; upgrade agent-memento"
        super().__init__(path, f"was written with schema {found}, but {reads}")
        self.found = found
        self.known = known


class StoreUnusable(StoreError):
    """The root is not a folder, contains another program's files, or is damaged."""


class StoreGone(StoreError):
    """The store's files were removed, moved away or replaced while it was open.

    The call that raises this was not acknowledged. Its change may be in the file that was open, but
    it is not in the store at this path. Memories acknowledged earlier are in that file, wherever it
    is now.

    Attributes:
        root: The store folder.
        happened: The file, and whether it was removed, moved or replaced.
    """

    root: Path
    happened: str

    def __init__(self, root: Path | str, happened: str) -> None:
        super().__init__(
            root,
            f"{happened} while the store was open; this call was not acknowledged. Put the files "
            "back, or close this manager, restore a backup if anything is missing, and open a "
            "new MemoryManager",
        )
        self.root = Path(root)
        self.happened = happened


class StoreBusy(StoreError):
    """Another process held the write lock longer than the time limit; nothing was written."""


class CommitUnknown(StoreError):
    """The connection to the server was lost during a commit, whose outcome is unknown.

    The change was made completely or not at all. Check whether it was, or repeat the call with the
    same ids: an ``add`` with an existing id and the same text changes nothing.

    Attributes:
        transaction: The server's number of the transaction, for ``pg_xact_status``.
        ids: Ids of the memories that the call would have added, if any.
    """

    transaction: str
    ids: tuple[str, ...]

    def __init__(self, path: Path | str, transaction: str, ids: Sequence[str] = ()) -> None:
        super().__init__(
            path,
            "the server connection was lost during the commit, so it is unknown whether it "
            f"succeeded; check whether {', '.join(ids) or 'the change'} was stored before you "
            "repeat the call",
        )
        self.transaction = transaction
        self.ids = tuple(ids)
        self._shown = path

    def of(self, ids: Sequence[str]) -> StoreError:
        """Return it as the error of a call that adds memories of these ids."""
        return CommitUnknown(self._shown, self.transaction, ids)


class ReadOnlyStore(StoreError):
    """The root is not writable; reading still works."""


class TargetExists(StoreError):
    """The target already exists; nothing was overwritten."""


class ArchiveDamaged(StoreError):
    """A file that is truncated, modified or not a backup or export; nothing was imported."""


class ArchiveFromTheFuture(StoreError):
    """An export in a newer format than this version supports; nothing was imported from it.

    Attributes:
        found: Format of the file.
        known: Newest format that this version supports.
    """

    found: int
    known: int

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        reads = f"this version of memento supports formats up to {known}; upgrade agent-memento"
        super().__init__(path, f"was written in format {found}, but {reads}")
        self.found = found
        self.known = known


class MomentUnknown(StoreError):
    """The backup was made before the requested moment.

    Attributes:
        moment: The requested moment.
        latest: When the backup was made.
    """

    moment: datetime
    latest: datetime

    def __init__(self, path: Path | str, moment: datetime, latest: datetime) -> None:
        made = f"the backup was made at {latest.isoformat()}"
        super().__init__(path, f"does not extend to {moment.isoformat()}: {made}")
        self.moment = moment
        self.latest = latest


class StorageFull(StoreError):
    """There is no space left on the disk; nothing was written and nothing was lost."""


class StorageFailed(StoreError):
    """The disk reported an error; nothing was written. Check the system log first."""


class TierUnavailable(MementoError):
    """A tier could not be searched. Its memories are safe in the ledger.

    Attributes:
        tier: Name of the tier.
    """

    tier: str

    def __init__(self, tier: str, problem: str) -> None:
        super().__init__(f"{tier} tier unavailable: {problem}")
        self.tier = tier


class EmbedderError(MementoError):
    """The embedder failed, or returned something other than unit vectors of its dimension."""


class RerankerError(MementoError):
    """The reranker failed, or returned something other than one finite number for each text."""


class EmbeddingMismatch(EmbedderError):
    """The stored vectors come from a different embedder than the one in use.

    Attributes:
        stored: Identity of the embedder that made the stored vectors.
        given: Identity of the embedder in use.
    """

    stored: str
    given: str

    def __init__(self, stored: str, given: str) -> None:
        super().__init__(
            f"the stored vectors come from {stored}, but the embedder in use is {given}; run "
            "store.reindex() or `memento doctor --reindex`. Until then, only keyword search is "
            "available"
        )
        self.stored = stored
        self.given = given


class SynthesisFailed(MementoError):
    """A language model gave no usable reply. Nothing is lost: memento continues without it.

    Attributes:
        reason: ``unreachable``, ``refused``, ``timeout``, ``invalid``, ``error`` or ``spent``.
        calls: Number of requests sent.
        tokens_in: Number of tokens sent, as reported by the server.
        tokens_out: Number of tokens received, as reported by the server.
    """

    reason: str
    calls: int
    tokens_in: int
    tokens_out: int

    def __init__(
        self, reason: str, problem: str, *, calls: int = 0, tokens_in: int = 0, tokens_out: int = 0
    ) -> None:
        super().__init__(problem)
        self.reason = reason
        self.calls = calls
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


class BudgetSpent(SynthesisFailed):
    """A daily limit of calls, tokens or seconds is reached; nothing was sent.

    Attributes:
        limit: Name of the setting that was reached, such as ``calls_a_day``.
    """

    limit: str

    def __init__(self, limit: str, most: float) -> None:
        super().__init__(
            "spent",
            f"the limit llm.{limit} ({most:g}) is reached; nothing is sent to the model until "
            "midnight UTC",
        )
        self.limit = limit


class ServiceError(MementoError):
    """A service did not carry out the call, or its response is not one of a service."""


class NotAllowed(ServiceError):
    """The token is unknown or expired, or does not allow the call; nothing was done.

    Attributes:
        known: Whether the service knows the token.
    """

    known: bool

    def __init__(self, problem: str, *, known: bool = True) -> None:
        super().__init__(problem)
        self.known = known


class TooMuch(ServiceError):
    """A limit of the service is reached; nothing was done.

    Attributes:
        limit: The limit, such as ``body`` or ``calls``.
        wait: Seconds after which to retry; None if retrying does not help.
    """

    limit: str
    wait: float | None

    def __init__(self, limit: str, problem: str, wait: float | None = None) -> None:
        super().__init__(problem)
        self.limit = limit
        self.wait = wait


class Unanswered(ServiceError):
    """The service did not respond in time; a write may still be carried out."""


class NotHere(ServiceError):
    """This operation works only on the store's machine, not through a service."""


class MissingExtra(MementoError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: Name of the extra that installs it.
    """

    extra: str

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'agent-memento[{extra}]'")
        self.extra = extra


OUTAGES = (
    StoreGone,
    StoreUnusable,
    StoreBusy,
    StorageFull,
    StorageFailed,
    CommitUnknown,
    TierUnavailable,
    EmbedderError,
)
"""What can befall a store in use. An agent can go on without its memory meanwhile; a closed or
read-only store, and a namespace that cannot be one, are mistakes of the program."""
