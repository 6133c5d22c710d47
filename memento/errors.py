"""Every error memento raises, so that a caller can catch one family.

    MementoError
    ├── InvalidInput            a value that cannot be accepted (also a ValueError)
    │   ├── InvalidScope        a scope path or namespace label that is not well formed
    │   ├── SecretFound         it holds a secret, and is a key or secrets are to be refused
    │   └── UntrustedSource     its source may make no rule, pin nothing and replace nothing
    ├── NotFound                no such memory in this namespace (also a LookupError)
    ├── IdConflict              the id belongs to a memory with another content
    ├── StoreError              the ledger cannot do what was asked
    │   ├── StoreClosed         the manager was closed
    │   ├── StoreFromTheFuture  written by a newer version of memento
    │   ├── StoreUnusable       the root is no folder, is another program's, or is damaged
    │   ├── StoreBusy           another process kept the write lock past the time limit
    │   ├── ReadOnlyStore       the root cannot be written
    │   ├── TargetExists        something is there already; nothing is overwritten unasked
    │   ├── ArchiveDamaged      a backup or export that is cut off, changed or none at all
    │   ├── ArchiveFromTheFuture  an export in a newer format
    │   ├── MomentUnknown       the store as it was at that moment cannot be rebuilt
    │   ├── StorageFull         the disk is full, or a quota or file size limit is reached
    │   └── StorageFailed       the disk reported an error
    ├── TierUnavailable         a tier could not be asked; nothing is lost
    ├── EmbedderError           the embedder failed or broke its contract
    │   └── EmbeddingMismatch   the stored vectors come from another embedder
    ├── RerankerError           the reranker failed or broke its contract
    └── MissingExtra            an optional dependency is not installed

Each carries its facts as attributes and says in its message what to do next.
"""

from collections.abc import Mapping
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
    """A value at the door that cannot be accepted; nothing was written.

    Attributes:
        field: Name of the parameter at fault.
        problem: What is wrong with it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def within(self, place: str) -> Self:
        """Return the same complaint about one item of several, such as ``items[3].text``."""
        return type(self)(f"{place}.{self.field}", self.problem)


class InvalidScope(InvalidInput):
    """A scope path or namespace label that is not well formed."""


_LEAVE_OUT = "take them out, or let memento do so with Config(secrets='redact')"


class SecretFound(InvalidInput):
    """A value holds a secret, and it is a key or the settings say to refuse; nothing was written.

    Attributes:
        kinds: What was found, by kind, and how often; never the secret.
    """

    def __init__(
        self, field: str, found: Mapping[str, int] | str, advice: str = _LEAVE_OUT
    ) -> None:
        if isinstance(found, str):  # the problem as it was said before, see ``within``
            super().__init__(field, found)
        else:
            listed = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
            super().__init__(field, f"holds secrets ({listed}); {advice}")
        self.kinds: dict[str, int] = {} if isinstance(found, str) else dict(found)

    def within(self, place: str) -> Self:
        """Return the same complaint about one item of several."""
        moved = super().within(place)
        moved.kinds = self.kinds
        return moved


class UntrustedSource(InvalidInput):
    """What an untrusted source says can be no rule, not pinned, and change nothing that counts.

    Nothing was written.
    """


class NotFound(MementoError, LookupError):
    """No memory with this id in this namespace.

    An id of another namespace gives the same error: it does not tell whether the id exists.
    """

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"no memory {memory_id!r} in this namespace")
        self.memory_id = memory_id


class IdConflict(MementoError):
    """The id given to ``add`` already belongs to a memory with another content."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            f"id {memory_id!r} is taken by a memory with another content; "
            "use update() to change it, or another id"
        )
        self.memory_id = memory_id


class StoreError(MementoError):
    """The ledger cannot do what was asked.

    Attributes:
        path: The file or folder concerned.
    """

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = Path(path)


class StoreClosed(StoreError):
    """The manager was closed; open a new one."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, "this memory is closed; open a new MemoryManager")


class StoreFromTheFuture(StoreError):
    """The store was written by a newer version of memento; it was not touched.

    Attributes:
        found: Schema version of the file.
        known: Newest schema version this code understands.
    """

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        super().__init__(
            path,
            f"written with schema {found}, this memento knows up to {known}; upgrade agent-memento",
        )
        self.found = found
        self.known = known


class StoreUnusable(StoreError):
    """The root is not a folder, holds another program's file, or is damaged."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than the time limit; nothing was written."""


class ReadOnlyStore(StoreError):
    """The root cannot be written; reading still works."""


class TargetExists(StoreError):
    """Something is there already; nothing was overwritten."""


class ArchiveDamaged(StoreError):
    """A backup or an export that is cut off, changed or something else; nothing was taken."""


class ArchiveFromTheFuture(StoreError):
    """An export in a newer format than this code reads; nothing was taken from it.

    Attributes:
        found: Format of the file.
        known: Newest format this code reads.
    """

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        super().__init__(
            path,
            f"written in format {found}, this memento reads up to {known}; upgrade agent-memento",
        )
        self.found = found
        self.known = known


class MomentUnknown(StoreError):
    """The store as it was at a moment cannot be rebuilt from what is there.

    Attributes:
        moment: What was asked for.
        earliest: The earliest moment that can be rebuilt, or None for any.
        latest: The latest one, or None for any.
    """

    def __init__(
        self,
        path: Path | str,
        moment: datetime,
        *,
        earliest: datetime | None = None,
        latest: datetime | None = None,
    ) -> None:
        bounds = [("from", earliest), ("until", latest)]
        reach = " ".join(f"{word} {at.isoformat()}" for word, at in bounds if at is not None)
        super().__init__(path, f"{moment.isoformat()} is unknown; it can be set back to {reach}")
        self.moment = moment
        self.earliest = earliest
        self.latest = latest


class StorageFull(StoreError):
    """No space left on the disk; nothing was written and nothing was lost."""


class StorageFailed(StoreError):
    """The disk reported an error; nothing was written. Look at the system's log before going on."""


class TierUnavailable(MementoError):
    """A tier could not be asked. Its memories are safe in the ledger.

    Attributes:
        tier: Name of the tier.
    """

    def __init__(self, tier: str, problem: str) -> None:
        super().__init__(f"{tier} tier unavailable: {problem}")
        self.tier = tier


class EmbedderError(MementoError):
    """The embedder failed, or returned something other than unit vectors of its dimension."""


class RerankerError(MementoError):
    """The reranker failed, or returned something other than one finite number for each text."""


class EmbeddingMismatch(EmbedderError):
    """The vectors in the store come from another embedder than the one in use.

    Attributes:
        stored: Identity of the embedder that made the stored vectors.
        given: Identity of the embedder in use.
    """

    def __init__(self, stored: str, given: str) -> None:
        super().__init__(
            f"stored vectors come from {stored}, the embedder in use is {given}; "
            "run reindex() or `memento reindex`; until then search is by text alone"
        )
        self.stored = stored
        self.given = given


class MissingExtra(MementoError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: Name of the extra that brings it.
    """

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'agent-memento[{extra}]'")
        self.extra = extra
