"""``MemoryManager``, the object that applications use.

Each method checks its arguments and calls the module that holds the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from memento.base.clock import system_clock
from memento.base.lazy import later
from memento.base.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.check import (
    MAX_IDS,
    MAX_TOKENS,
    check_count,
    check_flag,
    check_id,
    check_progress,
    check_seconds,
    expiry,
)
from memento.config import Config
from memento.conversation import Conversations
from memento.errors import InvalidInput
from memento.holding import hold
from memento.learning import Learning
from memento.ledger import memories
from memento.ledger.filters import (
    Filtering,
    Retrieving,
    check_names,
    filtering,
    several,
)
from memento.prompt import rendering
from memento.types import (
    Draft,
    Kind,
    KindName,
    Match,
    Memory,
    Retrieval,
    Source,
    Tier,
    TierName,
    Trust,
    TrustName,
)
from memento.verbs.browse import Browse
from memento.verbs.changes import Changes
from memento.verbs.conflicts import Conflicting
from memento.verbs.feedback import Loops, Verdicts
from memento.verbs.insight import Overviews, Reasons
from memento.verbs.quarantine import QuarantineView
from memento.verbs.rules import Guidance
from memento.verbs.scopes import Scoping
from memento.verbs.sessions import Sessions
from memento.verbs.sleep import Archive, Sleeping
from memento.verbs.slots import Locks, Slots
from memento.verbs.spending import Spending
from memento.views import StoreView
from memento.write import change

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.learning import model_later
    from memento.protocols import Clock, Embedder, Progress, Reranker, TokenCounter
else:
    model_later = later("memento.learning.model_later")

KEEP = change.KEEP


class MemoryManager(
    Browse,
    Slots,
    Locks,
    Archive,
    Conversations,
    Verdicts,
    Changes,
    Sessions,
    Reasons,
    Conflicting,
    Sleeping,
    Learning,
    Guidance,
    Loops,
    Overviews,
    Spending,
    Scoping,
):
    """Remembers, finds and corrects what an agent should know.

    One folder on disk holds everything; several processes may open it. Every method may be called
    from any thread. Use it as a context manager, or call ``close``; a manager that nobody refers to
    any more is closed soon.

    Managers that one process has on one folder share files, threads and caches if their ``config``
    is equal and embedder, clock and reranker are the same objects or names. Others work beside each
    other like two processes; then one of them feeds Chroma for all.

    Args:
        root: Folder of the store; created if missing.
        namespace: Who may see these memories: one label or several. A manager sees only its own
            namespace; ``of`` returns a view of another.
        config: Settings; ``Config.from_env()`` reads them from the environment.
        embedder: ``"default"`` for the model that comes with memento,
            ``"sentence-transformers:NAME"``, ``"openai:MODEL"``, an object with ``name``,
            ``dim`` and ``embed``, or None to search by words only.
        clock: Returns the present moment with a time zone; None for the system clock.
        reranker: Reads query and memory together and reorders the best candidates, such as
            ``memento.embed.rerankers.LateInteraction``; an object with ``score``, or None.

    Raises:
        InvalidInput: If the embedder is not one of these or needs a key that is not set, or if the
            reranker does not implement its protocol.
        MissingExtra: If embedder or config need a package that is not installed.
        InvalidScope: If a namespace label is not well formed.
        StoreUnusable: If the root is not a folder, or does not hold a store.
        StoreFromTheFuture: If a newer memento wrote the store.
        ReadOnlyStore: If there is no store and none can be created.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
    ...     kept = memory.add("Rami is allergic to nuts", "long")
    ...     memory.retrieve("what is Rami allergic to?")[0].text
    'Rami is allergic to nuts'
    """

    def __init__(
        self,
        root: str | Path = "agent_memory",
        *,
        namespace: str | Sequence[str] = DEFAULT_NAMESPACE,
        config: Config | None = None,
        embedder: str | Embedder | None = "default",
        clock: Clock | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        labels = parse_namespace(namespace)
        config = Config() if config is None else config
        clock = system_clock if clock is None else clock
        super().__init__(hold(root, config, embedder, clock, reranker), labels)
        if config.llm.background:
            model_later.attend(self._engine)

    @property
    def quarantine(self) -> QuarantineView:
        """Memories from untrusted sources: list, approve or reject them, or hide a source."""
        return QuarantineView(self._hold, self._namespace)

    @property
    def store(self) -> StoreView:
        """The care of the store: statistics, backup, export, import, erase, doctor, reindex."""
        return StoreView(self._hold, self._namespace)

    def of(self, *labels: str) -> MemoryManager:
        """Return a view of another namespace of the same store.

        The views share the store and its resources; closing one closes all.

        Args:
            labels: One label or several, such as ``of("acme", "rami")``.
        """
        view = object.__new__(type(self))
        view._namespace = parse_namespace(labels)
        view._hold = self._hold
        return view

    def add(
        self,
        text: str,
        tier: Tier | TierName | None = None,
        *,
        kind: Kind | KindName = Kind.FACT,
        importance: float | None = None,
        key: str | None = None,
        aliases: Sequence[str] = (),
        scope: str = "",
        session: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        source: Source | Trust | TrustName | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
        valid_until: datetime | None = None,
        expires_in: timedelta | float | None = None,
        pinned: bool = False,
        supersedes: str | Sequence[str] = (),
        related: str | Sequence[str] = (),
        id: str | None = None,  # noqa: A002 - the field's own name, as in Memory.id
        signal: str | None = None,
        condition: str | None = None,
        due_at: datetime | None = None,
        replace: bool = False,
    ) -> Memory:
        """Remember a text. When this returns, the memory is on the disk.

        Equal content in the same namespace, scope, slot and session, by the same actor and role, is
        stored once. Adding it again returns the existing memory, counts a reinforcement
        (``Memory.reinforced`` > 0 shows a repeat) and merges the arguments into it: the higher
        tier, the larger importance, the longer life and a pin win; tags, aliases and metadata are
        joined, up to 64 of each. The earlier state stays in the history (``merged``), up to 64 such
        states. A repeat from a less trusted source only counts; see ``memento.write.merge``.
        Texts from different moments (``occurred_at``) are stored separately. So is each turn of a
        session, in the short tier or of kind ``episode``, that has no ``occurred_at``: a
        conversation keeps its equal turns.

        A text of more than ``Config.limits.text_chars`` characters is refused, with one exception:
        a turn of a conversation (it has a ``session`` or a ``role``, or is of kind ``episode``, and
        has no ``key``) is stored in parts of up to 1,000 characters. The first part is returned;
        the others are linked to it (``related``) and go to the medium tier at least, so that they
        do not push the conversation out of the ring buffer. The ``metadata`` of each holds ``part``
        and ``parts``. ``replace`` does not split. For any other long text use ``add_document``.

        Args:
            text: Text to remember; not empty, at most ``Config.limits.text_chars`` characters
                unless it is a turn.
            tier: ``short``, ``medium`` or ``long``; None to choose by importance.
            kind: Kind of statement, see ``Kind``.
            importance: [0, 1]; None to have it scored, see ``memento.admit.importance``.
            key: The slot it fills, such as ``user/editor``. Another value for the same slot
                supersedes the present value, which stays in the history. A value from an earlier
                moment (``occurred_at``) than the present one enters that history at its place. One
                of a source that is trusted less than that of the present value is kept without the
                key, and the two are among ``conflicts`` until the user settles them.
            aliases: Other names to find it by.
            scope: Where it applies, a path such as ``project/alpha``; ``""`` is everywhere.
            session: Conversation it belongs to.
            actor: Who said it.
            role: Chat role of the speaker: ``user``, ``assistant``, ``tool`` ...
            source: Where it comes from: a trust class or a ``Source``; None for the user. A memory
                from a tool, the web or an import is quarantined until ``approve``.
            tags: Labels to filter by.
            metadata: A JSON object of your own.
            occurred_at: When it happened or was said, with a time zone; None for now.
            valid_until: When it stops being true, with a time zone.
            expires_in: Seconds, or a timedelta, after which it is no longer found.
            pinned: Never fades; goes to the long tier if no tier is given.
            supersedes: Ids of memories that it replaces. One of a more trusted source stays, and is
                in conflict with this one.
            related: Ids of memories to link it to.
            id: Your own id, 1 to 128 characters. It makes a retry harmless: a retry is not counted
                as a repeat, and merges only arguments that the first call did not have. A trusted
                memory may reuse the id of a quarantined or rejected one and replaces it. The same
                text under the id of a forgotten, archived, superseded or expired memory brings that
                one back, as a new memory of this source would be.
            signal: How it was recognised in a conversation; ``observe`` sets it.
            condition: When a rule applies, in words. The same text under another condition is
                another memory.
            due_at: When a plan is due, with a time zone.
            replace: If ``id`` is taken, replace the memory that has it, whatever its status. The
                earlier state stays in the history, and a forgotten, superseded or expired memory
                becomes active again. Replacing with equal content makes no new version. A memory
                of a less trusted source is refused; one that would be quarantined replaces only one
                that is from an untrusted source as well and not approved.

        Returns:
            The memory as stored, after merging; of a turn in parts, the first part.

        Raises:
            InvalidInput: If a value cannot be accepted; nothing was written.
            IdConflict: If ``id`` is taken by a memory with other content and ``replace`` is False.
            SecretFound: If it holds a secret and ``Config.secrets`` says to refuse it.
            UntrustedSource: If it would be a rule, be pinned or replace an active memory, and
                ``source`` is not trusted.
            NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
            LockedMemory: If it would replace a memory that is locked against it.
            StoreError: If it could not be written; see its subclasses.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     vim = memory.add("Rami uses Vim", kind="preference", key="rami/editor")
        ...     helix = memory.add("Rami uses Helix", kind="preference", key="rami/editor")
        ...     memory.get(vim.id).status.value, memory.get(helix.id).status.value
        ('superseded', 'active')
        """
        draft = Draft(
            text=text,
            tier=tier,
            kind=kind,
            importance=importance,
            key=key,
            aliases=aliases,
            scope=scope,
            session=session,
            actor=actor,
            role=role,
            source=source,
            tags=tags,
            metadata={} if metadata is None else metadata,
            occurred_at=occurred_at,
            valid_until=valid_until,
            expires_in=expires_in,
            pinned=pinned,
            supersedes=supersedes,
            related=related,
            id=id,
            signal=signal,
            condition=condition,
            due_at=due_at,
        )
        check_flag("replace", replace)
        return self._add([draft], replace=replace)[0]

    def retrieve(
        self,
        query: str,
        k: int | None = 5,
        *,
        match: Match = "auto",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        min_confidence: float = 0.0,
        cutoff: float = 0.0,
        tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        include_superseded: bool = False,
        include_archived: bool = False,
        include_quarantined: bool = False,
        fold: bool = True,
        wait: float = 0.0,
        record: bool = True,
        shared: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Find the memories that are relevant to a query, best first.

        Any text is a valid query, in any language; no character in it is read as syntax.

        Args:
            query: The query, in plain words.
            k: Most hits to return, 1 to 10,000; None for as many as the query wants: more for a
                list, a count, a comparison, an order or a summary; see ``RetrieveConfig``. A larger
                ``k`` only appends hits; the earlier ones and their order stay the same (but may
                list more ids in ``folded``).
            match: ``"auto"`` prefers memories whose key or alias the query names; ``"names"``
                returns only those; ``"text"`` ignores names.
            as_of: Only memories that were valid at this moment, with the text that they had then;
                superseded ones too.
            known_at: Answer as this call would have answered at this moment, from what was recorded
                by then; also with memories that were forgotten since. Erased ones are gone, and
                those that are or were in quarantine are left out. With ``as_of``: what was known at
                the one moment about the other. Such a query is not recorded. A memory whose text
                changed since is found by its words of then, not by meaning.
            min_score: Drop hits below this score, [0, 1].
            min_confidence: Return nothing if the chance that an answer is among the hits is below
                this, [0, 1]: greetings, thanks, and questions about other things.
            cutoff: Drop hits below this share of the best hit's score, [0, 1].
            tokens: Return only as many hits, in order, as fit into this many tokens. Of a long
                memory only the ``passage`` that is relevant to the query is counted; see
                ``RetrieveConfig.long``.
            count_tokens: Counts the tokens of a text; None for the tokenizer of a local embedder,
                such as the default one, or else an estimate from the characters of the text.
            include_superseded: Also return what was replaced; a question about the past may anyway.
            include_archived: Also return what was archived; what the query names is found anyway.
            include_quarantined: Also return memories from untrusted sources that are not approved
                yet.
            fold: Let one hit stand for all memories of one speaker that differ only in case,
                spacing, fillers or the full stop at the end; False returns each.
            wait: Seconds to wait, at most, until memories added before can also be found by their
                meaning, which takes a moment; up to a day. It waits for the newest ones of the
                namespace, or of ``session``, up to 1,024 of them and 16,384 characters; these are
                embedded before all others. Memories not embedded in time are matched by words only
                and reported in ``missing``. With 0, it does not wait, and reports them only while
                they are most of the memories.
            record: Record in the event log which memories were retrieved.
            shared: Also what other namespaces share with this one, see ``share``; not with
                ``known_at``, ``as_of`` or ``session``. ``Hit.shared`` marks it.
            filters: Only memories that match: ``scope``, ``within``, ``kinds``, ``tags`` and more;
                see ``Filtering``.

        Returns:
            Hits, best first; ``missing`` names the parts that could not be used.

        Raises:
            InvalidInput: If an argument other than the query text cannot be accepted.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     first = memory.add("The berth of Kittiwake is number 14", "long", scope="boat")
        ...     second = memory.add("Theo moved to berth 3", "long", tags=["people"])
        ...     [hit.text for hit in memory.retrieve("which berth?", k=5)]
        ...     [hit.text for hit in memory.retrieve("which berth?", within="boat")]
        ...     [hit.text for hit in memory.retrieve("which berth?", tags="people", min_score=0.1)]
        ['Theo moved to berth 3', 'The berth of Kittiwake is number 14']
        ['The berth of Kittiwake is number 14']
        ['Theo moved to berth 3']
        """
        return self._retrieve(
            query,
            k,
            match=match,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
            min_confidence=min_confidence,
            cutoff=cutoff,
            tokens=tokens,
            count_tokens=count_tokens,
            include_superseded=include_superseded,
            include_archived=include_archived,
            include_quarantined=include_quarantined,
            fold=fold,
            wait=wait,
            record=record,
            shared=shared,
            **filters,
        )

    def nearest(
        self,
        vector: Sequence[float] | NDArray[np.floating[Any]],
        k: int = 5,
        *,
        min_score: float = 0.0,
        wait: float = 0.0,
        record: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Find memories by your own vector, nearest first: no words, no ranking, no folding.

        ``retrieve`` finds more; use it whenever there is a text to look for.

        Args:
            vector: (dim,) vector of the store's own embedder, see ``embed``; its length must not
                be 0.
            k: Most hits to return, 1 to 10,000.
            min_score: Drop hits below this cosine, [0, 1].
            wait: Seconds to wait, at most, until memories added before are embedded, the newest
                ones as for ``retrieve``; up to a day.
            record: Record in the event log which memories were retrieved.
            filters: See ``Filtering``.

        Returns:
            Hits whose ``score`` is the cosine, [0, 1]; ``missing`` reports memories that are not
            embedded yet and could not be searched.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            EmbeddingMismatch: If the vector or the stored vectors come from another embedder.
            TierUnavailable: If this manager has no embedder.
            StoreError: If the ledger cannot be read.
        """
        searcher = self._engine.searcher
        asked = self._looked(filtering(self._engine.now(), filters, MemoryManager.nearest))
        return self._searched(
            lambda: searcher.nearest(
                self._namespace, vector, k=k, min_score=min_score, filters=asked
            ),
            wait=check_seconds("wait", wait),
            sessions=asked.sessions,
            record=check_flag("record", record),
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts with the embedder of this manager, in the same way as its memories.

        Args:
            texts: Any number of texts, none empty.

        Returns:
            (len(texts), dim) float32, each row of unit length.

        Raises:
            InvalidInput: If a text cannot be embedded, or this manager has no embedder.
            EmbedderError: If the embedder fails.
        """
        embedding = self._engine.embedding
        if embedding is None:
            raise InvalidInput("embedder", "is None: this memory cannot embed texts")
        return embedding.embed(texts)

    def prompt(
        self,
        query: str,
        k: int | None = None,
        *,
        tokens: int | None = rendering.TOKENS,
        count_tokens: TokenCounter | None = None,
        show_ids: bool = False,
        **options: Unpack[Retrieving],
    ) -> str:
        """Return the memories that are relevant to a query as a block of text for any prompt.

        Each memory is one escaped record between tags that no stored text can close or forge,
        under a line that says that it is data; see ``memento.prompt.rendering``.

        Of a memory of more than 1,000 characters (``RetrieveConfig.long``) the block shows the one
        or two passages that are relevant to the query, with ``…`` where text is left out. A shorter
        memory is shortened so too if only that makes it fit. A very small budget gets a shorter
        notice; below about 40 tokens nothing fits: the block is empty, and a warning is logged.

        Args:
            query: The query, in plain words.
            k: Most memories to show, 1 to 10,000; None for as many as the query wants.
            tokens: Most tokens of the whole block, >= 1; None for no limit. If the query wants
                several memories, less is shown of each; see ``RetrieveConfig.passage``.
            count_tokens: Counts the tokens of a text; None for the tokenizer of a local embedder,
                such as the default one, or else an estimate from the characters of the text.
            show_ids: Whether each record holds its id.
            options: Any other argument of ``retrieve``, such as ``scope`` or ``min_score``. The
                default of ``min_confidence`` is ``prompt_confidence`` here.

        Returns:
            The block; ``""`` if nothing was found that probably answers the query, or nothing fits.

        Raises:
            InvalidInput: If an argument other than the query cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        check_names(options, Retrieving, MemoryManager.prompt)
        options.setdefault("min_confidence", self.prompt_confidence)
        if tokens is not None:
            check_count("tokens", tokens, most=MAX_TOKENS)
        record = check_flag("record", options.get("record", True))
        record = record and options.get("known_at") is None
        past = any(options.get(name) is not None for name in ("as_of", "known_at"))
        options["record"] = False  # only what the block shows is recorded
        found = self.retrieve(query, k, **options)
        block = rendering.compose(
            found,
            nonce=rendering.new_nonce(),
            tokens=tokens,
            count_tokens=count_tokens or self._engine.count_tokens,
            ids=show_ids,
            cut=self._cut_for(found, budget=tokens is not None),
            zone=self.config.zone,
            against={} if past else self._contradicted(found),
        )
        if record and block.shown:
            self._engine.accessed(self._namespace, list(block.shown))
        return block.text

    def get(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return one memory by id, whatever its status.

        Raises:
            NotFound: If this namespace has no such id.
            StoreUnusable: If the memory was damaged on the disk.
        """
        return self._get(id)

    def update(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        text: str = KEEP,
        kind: Kind | KindName = KEEP,
        importance: float = KEEP,
        scope: str = KEEP,
        tags: Sequence[str] = KEEP,
        metadata: Mapping[str, Any] = KEEP,
        pinned: bool = KEEP,
        valid_until: datetime | None = KEEP,
        condition: str | None = KEEP,
        due_at: datetime | None = KEEP,
        expires_in: timedelta | float | None = KEEP,
        add_aliases: Sequence[str] = (),
        remove_aliases: Sequence[str] = (),
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Change a memory; its earlier version stays in its history.

        Args:
            id: Id of the memory.
            text: New text.
            kind: New kind.
            importance: New importance, [0, 1].
            scope: New scope.
            tags: New tags, which replace all present ones.
            metadata: New metadata, which replaces the present object.
            pinned: Whether it never fades.
            valid_until: When it stops being true; None for never.
            condition: When it applies, in words; None for always.
            due_at: When it is due; None for no date.
            expires_in: Time to live from now; None for ever.
            add_aliases: Names to add.
            remove_aliases: Names to remove.
            source: Origin of the change, a trust class; None for the user. From then on the memory
                is trusted no more than that.

        Returns:
            The memory as it is now.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it.
            InvalidInput: If a value cannot be accepted, or the memory is forgotten.
            UntrustedSource: If it would be a rule or be pinned, and its own source or ``source`` is
                not trusted; or if ``source`` is not trusted, or less than the memory.
        """
        corrections = {
            "text": text,
            "kind": kind,
            "importance": importance,
            "scope": scope,
            "tags": tags,
            "metadata": metadata,
            "pinned": pinned,
            "valid_until": valid_until,
            "condition": condition,
            "due_at": due_at,
            "expires_in": expires_in,
            "add_aliases": add_aliases,
            "remove_aliases": remove_aliases,
            "source": source,
        }
        return self._update(id, corrections)

    def forget_many(self, **filters: Unpack[Filtering]) -> list[str]:
        """Hide every memory that matches the filters.

        Each transaction hides a few hundred, so that other writers never wait for long. If the call
        is interrupted, some are hidden and some not; the same call again hides the rest. Memories
        added during the call are not included.

        Args:
            filters: See ``Filtering``; at least one, so that nothing is lost by
                a forgotten argument. ``within=""`` is everything.

        Returns:
            Ids of the hidden memories, in order of arrival; ``restore`` brings each back.

        Raises:
            InvalidInput: If a filter cannot be accepted, or no filter is given.
            LockedMemory: If the user locked one of them: nothing is hidden. Leave it out with
                ``without``, or unlock it.
        """
        if all(value is None for value in filters.values()):
            raise InvalidInput("filters", 'none given; pass one, or within="" for all memories')
        now = self._engine.now()
        asked = self._looked(filtering(now, filters, MemoryManager.forget_many))
        hidden = self._change_rows(
            lambda c, ns: change.to_forget(c, ns, asked),
            lambda work, some: change.forget_those(work, some, asked),
            verb="forget_many",
            makes_room=True,
            now=now,
        )
        return [row.id for row in hidden]

    def sweep(self) -> list[str]:
        """Forget expired memories, which are already hidden, and remove them from the indexes.

        Returns:
            Ids of the forgotten memories, in order of arrival.
        """
        now = self._engine.now()
        swept = self._change_rows(
            lambda c, ns: memories.expired(c, ns, now),
            change.sweep,
            verb="sweep",
            makes_room=True,
            now=now,
        )
        return [row.id for row in swept]

    def touch(self, ids: str | Sequence[str], expires_in: timedelta | float | None) -> list[str]:
        """Set a new expiry for memories, without a new version or a new time of change.

        Like ``forget_many``, it changes a few hundred per transaction.

        Args:
            ids: One id or several, at most 100,000.
            expires_in: Time to live from now; None for ever.

        Returns:
            Ids of the changed memories; hidden or already expired ones are not changed.

        Raises:
            NotFound: If this namespace lacks one of the ids; nothing was changed.
            LockedMemory: If the user locked one of them; nothing was changed.
            InvalidInput: If ``expires_in`` is not a time to live.
        """
        now = self._engine.now()
        named = [check_id(one, "ids") for one in several("ids", ids, most=MAX_IDS)]
        self._known_namespace(named[0])
        ends = expiry(expires_in, now)
        touched = self._change_rows(
            lambda c, ns: change.touchable(c, ns, named, now=now),
            lambda work, some: change.touch(work, some, ends),
            verb="touch",
            now=now,
        )
        return [row.id for row in touched]

    def restore(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Bring a forgotten memory back; as superseded if its slot has been filled since.

        An active or quarantined memory stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is superseded and was not forgotten. ``revert`` makes the value
                before in a slot hold again; for another one, add its text again.
        """
        return self._change(id, lambda work: change.restore(work, id), verb="restore")

    def move(self, id: str, tier: Tier | TierName) -> Memory:  # noqa: A002 - the field's own name
        """Put a memory into another tier.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it.
            InvalidInput: If there is no such tier.
        """
        return self._change(id, lambda work: change.move(work, id, tier), verb="move")

    def flush(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> bool:
        """Write the snapshot of the short tier; optionally wait for the indexes.

        The memories themselves need no flush: they are on the disk when ``add`` returns.

        Args:
            wait: Wait until every memory of the store is embedded and in the long tier.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.
            progress: With ``wait``, called about every half second with the number of memories of
                this namespace that were indexed since the call, and of all that it waits for; see
                ``memento.protocols.Progress``.

        Returns:
            False if work is left: time ran out, or an index does not work (see
            ``store.stats().trouble``). Texts of other namespaces that the embedder refused are
            ignored.

        Raises:
            InvalidInput: If the timeout is not a number of seconds.
            StoreError: If the store cannot be read.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        return self._engine.flush(
            self._namespace,
            wait=check_flag("wait", wait),
            timeout=limit,
            progress=check_progress(progress),
        )

    def close(self) -> None:
        """Write the snapshot and close the store, for all views of this manager. Idempotent.

        Other managers that this process has on the folder go on; the last one closes the files.
        """
        self._hold.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
