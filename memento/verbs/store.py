"""Look after the store: ``memory.store``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Unpack

from memento.check import (
    MAX_IDS,
    WAIT,
    check_flag,
    check_id,
    check_progress,
    check_seconds,
    check_word,
    expiry,
    member,
)
from memento.config import Config
from memento.errors import AmbiguousId, InvalidInput, NotFound
from memento.ledger import memories
from memento.ledger.filters import Filtering, filtering, filters_of, several
from memento.llm import asking
from memento.protocols import Clock, Progress
from memento.types import Finding, Retrieval, Tallied, Trust, TrustName
from memento.upkeep import lineage
from memento.upkeep.backup import Backup, back_up
from memento.upkeep.erase import Erasure, choose
from memento.upkeep.export import Exported, export, export_as
from memento.upkeep.import_ import Imported
from memento.upkeep.lineage import Stats
from memento.upkeep.move import Moved
from memento.upkeep.other_formats import WRITERS, Format
from memento.verbs import spending
from memento.verbs.spending import Usage
from memento.verbs.vault import SHOWN, Synced, sync
from memento.views import Part
from memento.write import change

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORTEST_ID = 6
"""Minimum number of characters in an id that stand for the whole id."""


class Store(Part):
    """Manages the store as a whole; available as ``memory.store``.

    Each method states whether it applies to this namespace or to the whole store.

    >>> import tempfile
    >>> from memento import MemoryManager
    >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
    ...     kept = memory.add("The museum opens at nine")
    ...     all(finding.ok for finding in memory.store.doctor())
    ...     memory.store.erase(kept.id).complete
    ...     memory.store.stats().memories
    True
    True
    0
    """

    @property
    def root(self) -> Path:
        """The store folder."""
        return self._view.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that the manager reads and writes."""
        return self._view.namespace

    @property
    def closed(self) -> bool:
        """Whether the store has been closed."""
        return self._view.closed

    @property
    def read_only(self) -> bool:
        """Whether the store is read-only."""
        return self._view.read_only

    @property
    def config(self) -> Config:
        """The manager's settings."""
        return self._view.config

    @property
    def prompt_confidence(self) -> float:
        """Default ``min_confidence`` for ``prompt`` and for adapters that fill a prompt."""
        return self._view.prompt_confidence

    @property
    def clock(self) -> Clock:
        """The clock that the manager uses."""
        return self._view.clock

    def stats(self) -> Stats:
        """Count this namespace's memories and the indexing backlog, and report current problems."""
        engine, ns, now = self._view.engine, self._view.ns, self._view.engine.now()
        spent = asking.trouble(engine.ledger, ns, self._view.config.llm, now)
        return lineage.stats(
            engine.ledger,
            ns,
            now=now,
            trouble={**engine.indexer.trouble_for(engine.sees(self._view.namespace)), **spent},
            long=engine.long_state(),
        )

    def namespaces(self) -> dict[tuple[str, ...], int]:
        """Count the active memories in each namespace in the store.

        This is intended for the store's administrator, not for its users.

        Returns:
            The number of active memories in each namespace, sorted by label.

        Raises:
            StoreError: If the ledger cannot be read.
        """
        return lineage.per_namespace(self._view.engine.ledger, self._view.engine.now())

    def backup(self, file: str | Path, *, overwrite: bool = False) -> Backup:
        """Back up the whole store to a single file, without blocking writers.

        When the call returns, the file is verified, on disk and readable only by you.
        ``memento.upkeep.backup.restore`` restores a store from it.

        Args:
            file: Name of the backup file, which must be outside the store folder.
            overwrite: Replace an existing file.

        Raises:
            InvalidInput: If the file is in the store folder.
            TargetExists: If the file already exists, or is not a regular file.
            StoreError: If the file cannot be written, or the store is damaged. Damaged memories in
                this namespace are listed by id; those in other namespaces are only counted.
        """
        engine = self._view.engine
        sees = engine.sees(self._view.namespace)
        return back_up(engine.ledger, file, sees=sees, now=engine.now(), overwrite=overwrite)

    def export(
        self,
        target: str | Path | IO[str] | IO[bytes],
        *,
        format: Format | None = None,  # noqa: A002 - the word for it
        vectors: bool = False,
        all_namespaces: bool = False,
        overwrite: bool = False,
    ) -> Exported:
        """Export a consistent snapshot of this namespace as JSON Lines, without blocking writers.

        The file contains everything that ``import_from`` needs to rebuild the namespace elsewhere:
        all fields of all memories, regardless of status, and their earlier states, links and
        events.

        Args:
            target: Name of a file, which only you can read, or an open text or binary stream.
            format: A format for other programs, which includes only active and archived memories:
                ``jsonl`` (one draft per line), ``csv``, ``mem0``, ``server-memory``, or the turns
                of conversations as ``chat`` (OpenAI messages) or ``sharegpt``.
                ``Exported.left_out`` counts what such a format cannot represent.
            vectors: Also write the current embedder's vectors, about 2 kB per memory, so they do
                not have to be recomputed.
            all_namespaces: Write every namespace in the store.
            overwrite: Replace an existing file.

        Raises:
            InvalidInput: If the file is in the store folder.
            TargetExists: If the file already exists, or is not a regular file.
            StoreError: If the file cannot be written, or the store cannot be read.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        if format is not None:
            check_word("format", format, [*WRITERS])
            if everything or vectors:
                raise InvalidInput("format", f"{format} supports only one namespace and no vectors")
            shown = filters_of(self._view.engine.now(), statuses=SHOWN)
            found = self._view.listed(shown, limit=1_000_000)
            return export_as(
                self._view.engine.ledger,
                target,
                found,
                format,
                overwrite=check_flag("overwrite", overwrite),
            )
        return export(
            self._view.engine.ledger,
            target,
            only=None if everything else self._view.namespace,
            now=self._view.engine.now(),
            with_vectors=check_flag("vectors", vectors),
            overwrite=check_flag("overwrite", overwrite),
        )

    def import_from(
        self,
        source: str | Path | IO[str] | IO[bytes],
        *,
        all_namespaces: bool = False,
        trust: Trust | TrustName = Trust.IMPORT,
        progress: Progress | None = None,
    ) -> Imported:
        """Import a file written by ``export``; if any part is rejected, nothing is imported.

        The whole file is checked first. Each transaction then writes a few hundred memories, so
        other writers never wait long and readers see memories as they arrive. If the call is
        interrupted, repeat it to import the rest.

        Memories keep their ids, times and order. Memories already in the store are not changed, so
        importing twice adds nothing. If two active memories fill the same slot, the one that became
        valid later supersedes the other, or the locked one the unlocked one. If both are locked,
        the imported one is stored without its key, and the two are linked as contradicting.

        By default, a file is treated as someone else's, and its memories are checked as by ``add``:
        none is trusted more than the file, untrusted memories are quarantined, secrets are removed,
        and none is imported as a rule or pinned. Earlier states, events, vectors, and superseded
        and forgotten memories are not imported. With ``trust="user"``, the file is treated as your
        own, and everything is imported unchanged, even if it is larger than ``Config.limits``.

        Args:
            source: Name of a file, or an open text or binary stream.
            all_namespaces: Import each memory into the namespace it came from. If False, an export
                of a single namespace is imported into this namespace, even if the names differ.
            trust: Highest trust class for memories from the file; ``"user"`` for your own file.
            progress: Called repeatedly, with 0 and None while the file is being checked, and then
                with the number of lines imported and the total; see ``memento.protocols.Progress``.

        Raises:
            ArchiveDamaged: If the file is truncated, modified or not an export.
            ArchiveFromTheFuture: If the file is in a newer format.
            InvalidInput: If the file contains several namespaces and ``all_namespaces`` is False,
                or if it contains an invalid value; the error message gives the line number.
            IdConflict: If an id belongs to a different memory in the store.
            SecretFound: If the file is not your own and contains a secret, and ``Config.secrets``
                is ``"reject"``.
            StoreError: If the write fails; memories written before the failure remain.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        believed = member(Trust, "trust", trust)
        return self._view.engine.import_from(
            source, None if everything else self._view.namespace, believed, check_progress(progress)
        )

    def move(self, to: str | Path, *, progress: Progress | None = None) -> Moved:
        """Copy the whole store to another store, and verify that the two are identical.

        The other store can be a folder or a database, and must be new or contain no memories. For
        every namespace, everything that ``export`` writes is copied, along with the current
        embedder's vectors. Settings and tokens in the store folder are not copied. This store is
        not changed; use the other store from then on. If the call is interrupted, repeat it to
        continue where it stopped; its file ``NAME.moving-….jsonl``, next to the store's folder,
        holds all memories until then. If this store was changed in the meantime, empty the other
        store first.

        Args:
            to: Folder of the other store, or ``postgresql://…``.
            progress: As in ``import_from``.

        Raises:
            InvalidInput: If the other store contains memories, except of an interrupted move of
                this store as it still is, or is this store.
            StoreError: If a store cannot be read or written, or if the two stores differ, for
                example because this store was changed in the meantime.
        """
        return self._view.engine.move(to, check_progress(progress))

    def sync_vault(
        self,
        folder: str | Path,
        *,
        trust: Trust | TrustName = Trust.USER,
        allow_deletes: bool = False,
        dry_run: bool = False,
        **filters: Unpack[Filtering],
    ) -> Synced:
        """Sync this namespace's memories with a folder of Markdown notes, in both directions.

        Each memory gets a note that you can edit in any editor: its text and, in the front matter,
        its kind, tags, aliases and scope. The next call applies the changes from both sides. If a
        field changed on both sides, the note wins, and the memory's version stays in its history.
        Deleting a note forgets its memory (``restore`` undoes this); the note of a forgotten or
        erased memory is removed. A note with ``memento: new`` in its front matter becomes a memory.
        Other notes are never changed.

        All changes to memories form a single run; see ``Synced.run``. If a call is interrupted, the
        next call completes its work.

        Args:
            folder: The folder, which must be outside the store folder; created if it does not
                exist.
            trust: Trust class of the people or programs that edit the notes. Unless it is ``user``,
                new notes become memories from that source, and no note can change a more trusted
                memory.
            allow_deletes: Whether to forget the memories of missing notes even if more than 5 notes
                and more than a fifth of all notes are missing, as in a partially copied folder.
            dry_run: Only report what would be done.
            filters: Which memories get a note (see ``Filtering``); by default, all except episodes.
                A memory that already has a note keeps it.

        Raises:
            InvalidInput: If an argument is invalid, or the folder belongs to another store.
            StoreBusy: If another process is syncing this folder.
            StoreError: If the folder or the ledger cannot be read or written.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp:
        ...     with MemoryManager(f"{tmp}/store", embedder=None) as memory:
        ...         kept = memory.add("The museum opens at nine")
        ...         (step,) = memory.store.sync_vault(f"{tmp}/notes").steps
        ...         note = Path(tmp, "notes", step.path)
        ...         _ = note.write_text(note.read_text().replace("nine", "ten"))
        ...         _ = memory.store.sync_vault(f"{tmp}/notes")
        ...         memory.get(kept.id).text
        'The museum opens at ten'
        """
        return sync(
            self._view,
            folder,
            filtering(self._view.engine.now(), filters, Store.sync_vault),
            trust=member(Trust, "trust", trust),
            allow_deletes=check_flag("allow_deletes", allow_deletes),
            dry_run=check_flag("dry_run", dry_run),
        )

    def doctor(self, *, repair: bool = True, all_namespaces: bool = False) -> list[Finding]:
        """Check the whole store for damage.

        Damaged memories in this namespace are listed by id; those in other namespaces are only
        counted.

        Args:
            repair: Repair data derived from the memories; the memories are never changed.
            all_namespaces: List damaged memories in every namespace by id; intended for the store's
                administrator, not for users who share the store.

        Returns: One finding per check; the store is healthy if all are ``ok``.
        """
        return self._view.engine.examine(
            self._view.namespace,
            repair=check_flag("repair", repair),
            all_namespaces=check_flag("all_namespaces", all_namespaces),
        )

    def reindex(
        self, *, wait: bool = False, timeout: float | None = None, progress: Progress | None = None
    ) -> int:
        """Re-embed all memories in all namespaces after changing the embedder.

        Args:
            wait: Wait until all memories have been embedded.
            timeout: Maximum number of seconds to wait, up to a day; None for no limit.
            progress: As for ``flush``.

        Returns:
            Number of memories to embed.

        Raises:
            InvalidInput: If this manager has no embedder.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        check_progress(progress)
        owed = self._view.engine.reindex()
        if check_flag("wait", wait):
            self._view.engine.flush(
                self._view.namespace, wait=True, timeout=limit, progress=progress
            )
        return owed

    def erase(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        everything: bool = False,
        derived: bool = True,
        dry_run: bool = False,
        timeout: float = 30.0,
    ) -> Erasure:
        """Permanently remove this namespace's memories from every file in the store.

        Text, versions, index entries, vectors, links, events and all copies in the store folder are
        removed and cannot be recovered. Memories of every status can be erased. The Chroma folder
        is removed and rebuilt in the background. To hide memories reversibly, use ``forget``.

        Args:
            ids: One id or several. That of the first part of a long turn includes the other parts.
            source: Instead of ids: erase all memories whose ``source.uri`` is this address. Secrets
                in the address can be included or left out.
            session: Instead of ids: erase all memories from this session.
            everything: Instead of ids: erase all memories in this namespace.
            derived: Also erase memories derived from these, directly or indirectly (see
                ``source.parents``), because they may contain the same information. Articles that a
                sleep wrote from these memories are always erased.
            dry_run: Only report what would be erased.
            timeout: Maximum number of seconds to wait for other processes that have the store open,
                >= 0.

        Returns:
            The receipt for the erasure. Steps in ``pending`` are completed by the process that has
            the store open, or by the next one that opens it.

        Raises:
            InvalidInput: Unless exactly one of the first four arguments is given.
            NotFound: If one of the ids is not in this namespace; nothing is erased.
            StoreError: If the ledger cannot be written; nothing is erased.
        """
        what = choose(ids, source, session, everything=check_flag("everything", everything))
        return self._view.engine.erase(
            self._view.namespace,
            what,
            derived=check_flag("derived", derived),
            dry_run=check_flag("dry_run", dry_run),
            timeout=check_seconds("timeout", timeout),
        )

    def counts(self, by: Tallied = "scope", **filters: Unpack[Filtering]) -> dict[str, int]:
        """Count memories without reading them.

        Args:
            by: ``scope``, ``tag``, ``kind``, ``tier``, ``session``, ``actor`` or ``key``; memories
                without a value are not counted.
            filters: See ``Filtering``.

        Returns:
            The number of active memories for each scope, tag and so on, sorted by name. The counts
            for all scopes add up to the total.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        check_word("by", by, sorted(memories.TALLIED))
        asked = self._view.looked(filtering(self._view.engine.now(), filters, Store.counts))
        return self._view.ask(lambda c, ns: memories.tally(c, ns, asked, by)) or {}

    def full_id(self, short: str) -> str:
        """Return the full id that starts or ends with the specified characters.

        Ids start with a timestamp, so ids from the same day start with the same characters; the
        last characters distinguish them better.

        Args:
            short: An id, or at least 6 characters from its start or its end.

        Raises:
            NotFound: If no id in this namespace matches.
            AmbiguousId: If several ids match.
            InvalidInput: If ``short`` is not an id.
        """
        part = check_id(short)
        ns = self._view.known_namespace(part)
        found = self._view.engine.ledger.read(
            lambda c: memories.ids_like(c, ns, part, least=SHORTEST_ID), space=ns
        )
        if not found:
            raise NotFound(part)
        if len(found) > 1:
            raise AmbiguousId(part, found)
        return found[0]

    def sweep(self) -> list[str]:
        """Forget expired memories, which are already hidden, and remove them from the indexes.

        Returns:
            Ids of the forgotten memories, in order of arrival.
        """
        now = self._view.engine.now()
        swept = self._view.change_rows(
            lambda c, ns: memories.expired(c, ns, now),
            change.sweep,
            verb="sweep",
            makes_room=True,
            now=now,
        )
        return [row.id for row in swept]

    def touch(self, ids: str | Sequence[str], expires_in: timedelta | float | None) -> list[str]:
        """Set a new expiry for memories without creating new versions.

        As in ``forget_many``, each transaction changes a few hundred memories.

        Args:
            ids: One id or several, at most 100,000.
            expires_in: Time to live from now; None for no expiry.

        Returns:
            Ids of the changed memories, each once. Memories that are hidden or have expired are not
            changed.

        Raises:
            NotFound: If one of the ids is not in this namespace; nothing is changed.
            LockedMemory: If the user locked one of the memories; nothing is changed.
            InvalidInput: If ``ids`` is None, or ``expires_in`` is not a valid duration.
        """
        now = self._view.engine.now()
        asked = several("ids", ids, most=MAX_IDS)
        named = [*dict.fromkeys(check_id(one, "ids") for one in asked)]
        if not named:
            raise InvalidInput("ids", "must contain at least one id")
        self._view.known_namespace(named[0])
        ends = expiry(expires_in, now)
        touched = self._view.change_rows(
            lambda c, ns: change.touchable(c, ns, named, now=now),
            lambda work, some: change.touch(work, some, ends),
            verb="touch",
            now=now,
        )
        return [row.id for row in touched]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts in the same way as memories, with the manager's embedder.

        Args:
            texts: Any number of non-empty texts.

        Returns:
            (len(texts), dim) float32, each row of unit length.

        Raises:
            InvalidInput: If a text cannot be embedded, or this manager has no embedder.
            EmbedderError: If the embedder fails.
        """
        embedding = self._view.engine.embedding
        if embedding is None:
            raise InvalidInput("embedder", "is None, so the manager cannot embed texts")
        return embedding.embed(texts)

    def nearest(
        self,
        vector: Sequence[float] | NDArray[np.floating[Any]],
        k: int = 5,
        *,
        min_score: float = 0.0,
        wait: float = WAIT,
        record: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Find memories by vector alone, nearest first, without keyword search or ranking.

        To search for text, use ``retrieve``, which gives better results.

        Args:
            vector: (dim,) vector from the store's own embedder (see ``embed``); must not be all
                zeros.
            k: Maximum number of hits to return, 1 to 10,000.
            min_score: Drop hits below this cosine, [0, 1].
            wait: Maximum number of seconds to wait for the newest memories to be embedded, as for
                ``retrieve``; up to a day.
            record: Record in the event log which memories were retrieved.
            filters: See ``Filtering``.

        Returns:
            Hits whose ``score`` is the cosine, [0, 1]; ``missing`` reports memories that were not
            searched because they are not embedded yet.

        Raises:
            InvalidInput: If an argument is invalid.
            EmbeddingMismatch: If the vector or the stored vectors come from a different embedder.
            TierUnavailable: If this manager has no embedder.
            StoreError: If the ledger cannot be read.
        """
        engine = self._view.engine
        searcher = engine.searcher
        asked = self._view.looked(filtering(engine.now(), filters, Store.nearest))
        return self._view.searched(
            engine,
            lambda: searcher.nearest(
                self._view.namespace, vector, k=k, min_score=min_score, filters=asked
            ),
            wait=check_seconds("wait", wait),
            sessions=asked.sessions,
            record=check_flag("record", record),
        )

    def usage(self, since: datetime | None = None) -> Usage:
        """Return this namespace's language model usage.

        Args:
            since: A moment on the first day to include (UTC), timezone-aware; None for all recorded
                days (about 400).

        Raises:
            InvalidInput: If ``since`` has no time zone.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     memory.store.usage().total.calls, memory.store.usage().calls_left
        (0, 200)
        """
        return spending.used(self._view, since)
