"""``MemoryManager``, the object that applications use.

Each method checks its arguments and calls the module that holds the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Never, Self, TypeAlias, TypeVar, Unpack

from memento.admit.draft import drafts_of, is_long_turn
from memento.admit.redact import Redaction
from memento.check import (
    MAX_IDS,
    MAX_TOKENS,
    MAX_URI,
    check_count,
    check_flag,
    check_id,
    check_seconds,
    expiry,
    member,
    optional_name,
    short_name,
    shown,
)
from memento.clock import system_clock
from memento.config import Config
from memento.engine import Change, Engine
from memento.errors import InvalidInput, NotFound
from memento.filters import Filtering, filtering, filters_of, several
from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.rows import Row, sound, to_memory
from memento.lifecycle import change, quarantine
from memento.policy import prompt
from memento.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.types import (
    Draft,
    Finding,
    Kind,
    Memory,
    Related,
    Retrieval,
    Source,
    Status,
    Tier,
    Trust,
    Version,
)
from memento.upkeep import lineage
from memento.upkeep.backup import Backup, back_up
from memento.upkeep.erase import Erasure, choose
from memento.upkeep.export import Exported, export
from memento.upkeep.import_ import Imported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Clock, Embedder, Reranker, TokenCounter
    from memento.upkeep.lineage import Stats

KEEP = change.KEEP

Memories = list[Memory]
Versions = list[Version]
Relations = list[Related]
Findings = list[Finding]
Ids = list[str]
Rows = list[Row]
"""Named here, because inside the class ``list`` is a method."""

A = TypeVar("A")
Find: TypeAlias = Callable[[Session, int], Sequence[A]]
"""A reading job: takes the connection and the number of a namespace; returns things to change."""


class MemoryManager:
    """Remembers, finds and corrects what an agent should know.

    One folder on disk holds everything; several processes may open it. Every method may be called
    from any thread. Use it as a context manager, or call ``close``.

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
        MissingExtra: If the embedder needs a package that is not installed.
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
        self._namespace = parse_namespace(namespace)
        config = Config() if config is None else config
        clock = system_clock if clock is None else clock
        self._engine = Engine(root, config, embedder, clock, reranker)

    @property
    def root(self) -> Path:
        """Folder of the store."""
        return self._engine.ledger.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that this manager reads and writes."""
        return self._namespace

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._engine.ledger.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written; reading still works."""
        return self._engine.ledger.read_only

    @property
    def config(self) -> Config:
        """Settings this manager was made with."""
        return self._engine.config

    @property
    def clock(self) -> Clock:
        """The clock that this manager uses."""
        return self._engine.clock

    def of(self, *labels: str) -> MemoryManager:
        """Return a view of another namespace of the same store.

        The views share the store and its resources; closing one closes all.

        Args:
            labels: One label or several, such as ``of("acme", "rami")``.
        """
        view = object.__new__(type(self))
        view._namespace = parse_namespace(labels)
        view._engine = self._engine
        return view

    def add(
        self,
        text: str,
        tier: Tier | str | None = None,
        *,
        kind: Kind | str = Kind.FACT,
        importance: float | None = None,
        key: str | None = None,
        aliases: Sequence[str] = (),
        scope: str = "",
        session: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        source: Source | Trust | str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
        valid_until: datetime | None = None,
        expires_in: timedelta | float | None = None,
        pinned: bool = False,
        supersedes: str | Sequence[str] = (),
        related: str | Sequence[str] = (),
        id: str | None = None,  # noqa: A002 - the field's own name, as in Memory.id
        replace: bool = False,
    ) -> Memory:
        """Remember a text. When this returns, the memory is on the disk.

        Equal content in the same namespace, scope, slot and session, by the same actor and role, is
        stored once. Adding it again returns the existing memory, counts a reinforcement
        (``Memory.reinforced`` > 0 shows a repeat) and merges the arguments into it: the higher
        tier, the larger importance, the longer life and a pin win; tags, aliases and metadata are
        joined, up to 64 of each. The earlier state stays in the history (``merged``), up to 64 such
        states. A repeat from a less trusted source only counts; see ``memento.ledger.merge``.
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
                moment (``occurred_at``) than the present one enters that history at its place.
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
            supersedes: Ids of memories that it replaces.
            related: Ids of memories to link it to.
            id: Your own id, 1 to 128 characters. It makes a retry harmless: a retry is not counted
                as a repeat, and merges only arguments that the first call did not have. A trusted
                memory may reuse the id of a quarantined or rejected one and replaces it.
            replace: If ``id`` is taken, replace the memory that has it, whatever its status. The
                earlier state stays in the history, and a forgotten, superseded or expired memory
                becomes active again. Replacing with equal content makes no new version. A memory
                that would be quarantined replaces only one that is from an untrusted source as well
                and not approved.

        Returns:
            The memory as stored, after merging; of a turn in parts, the first part.

        Raises:
            InvalidInput: If a value cannot be accepted; nothing was written.
            IdConflict: If ``id`` is taken by a memory with other content and ``replace`` is False.
            SecretFound: If it holds a secret and ``Config.secrets`` says to refuse it.
            UntrustedSource: If it would be a rule, be pinned or replace an active memory, and
                ``source`` is not trusted.
            NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
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
        )
        check_flag("replace", replace)
        return self._memory(self._add([draft], replace=replace)[0])

    def add_many(
        self, items: Iterable[str | Mapping[str, Any] | Draft], *, replace: bool = False
    ) -> list[Memory]:
        """Remember several texts in one transaction: all of them, or none.

        Other writers wait during it, about 0.1 s for a thousand: split a large number into several
        calls.

        Args:
            items: Texts, mappings with the arguments of ``add``, or drafts.
            replace: As for ``add``; each item needs an ``id``, and if several have the same id, the
                last one wins.

        Returns:
            The memories as stored, one per item, in order; see ``add`` for turns that are too long.

        Raises:
            InvalidInput: If an item cannot be accepted; the message names its position.
            IdConflict: If an ``id`` is taken by a memory with other content and ``replace`` is
                False.
            SecretFound: As for ``add``.
            UntrustedSource: As for ``add``.
            StoreError: If they could not be written.
        """
        drafts = drafts_of(items)
        check_flag("replace", replace)
        if not drafts:
            return []
        return [self._memory(row) for row in self._add(drafts, replace=replace)]

    def add_document(
        self,
        document: str | Path,
        *,
        name: str | None = None,
        session: str | None = None,
        format: str | None = None,  # noqa: A002 - the word for it
        tier: Tier | str | None = Tier.LONG,
        kind: Kind | str = Kind.FACT,
        importance: float | None = None,
        scope: str = "",
        actor: str | None = None,
        source: Source | Trust | str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
        expires_in: timedelta | float | None = None,
    ) -> Memories:
        r"""Remember a text of any length, in parts that are found one by one.

        The text is split at headings and paragraphs, a long paragraph at sentence ends, into parts
        of about 300 to 1,000 characters. Fenced code stays whole up to that length. The parts
        belong to one session, in the order of the text, and are also found by their neighbours.
        The ``metadata`` of each holds ``document`` (the name), ``part`` (its number, from 1) and
        ``heading`` (``"Terms > Penalties"``); the innermost heading is also a tag.

        A document is known by its name, session, scope and namespace. Adding it again without a
        change adds nothing. Adding it after a change keeps equal parts; a part that stands where
        others were supersedes them, and parts that are gone without a successor are forgotten, so
        ``restore`` brings them back. A document from an untrusted source never hides an active
        part. If the call is interrupted, the same call again completes it.

        Args:
            document: The text; or a ``pathlib.Path`` of a text or Markdown file, which may be
                gzipped. A string is never taken for the name of a file.
            name: What the document is called; None for the name of the file, or for one made from
                the text, so that a changed text is another document. It also becomes the
                ``source.uri`` of the parts if ``source`` has none.
            session: Session of the parts; None for the name.
            format: ``"text"`` or ``"markdown"``; None for the suffix of the file, and for Markdown
                if it is a string.
            tier: As for ``add``, for every part; so are the other arguments.
            kind: Kind of statement.
            importance: [0, 1]; None to have each part scored.
            scope: Where it applies.
            actor: Who wrote it.
            source: Where it comes from; None for the user.
            tags: Labels to filter by.
            metadata: A JSON object of your own.
            occurred_at: When it was written, with a time zone; None for now.
            expires_in: Seconds, or a timedelta, after which it is no longer found.

        Returns:
            The parts, in order.

        Raises:
            InvalidInput: If a value cannot be accepted, the file cannot be read, or it is a
                conversation; see ``memento.ingest.read`` for these.
            SecretFound: If it holds a secret and ``Config.secrets`` says to refuse it.
            StoreError: If it could not be written.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     parts = memory.add_document("# Tea\n\nGreen.\n\n# Coffee\n\nBlack.", name="menu")
        ...     [(part.metadata["part"], part.text) for part in parts]
        [(1, '# Tea\n\nGreen.'), (2, '# Coffee\n\nBlack.')]
        """
        from memento import documents  # noqa: PLC0415 - reads files; few programs need it

        like = Draft(
            text="",
            tier=tier,
            kind=kind,
            importance=importance,
            scope=scope,
            session=session,
            actor=actor,
            source=source,
            tags=tags,
            metadata={} if metadata is None else metadata,
            occurred_at=occurred_at,
            expires_in=expires_in,
        )
        read = documents.read_document(self._engine, document, like, name=name, format=format)
        return self._read(documents.keep(self._engine, self._namespace, read))

    def retrieve(
        self,
        query: str,
        k: int | None = 5,
        *,
        match: str = "auto",
        tiers: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        scope: str | Sequence[str] | None = None,
        within: str | Sequence[str] | None = None,
        session: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        any_tags: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        ids: str | Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        min_score: float = 0.0,
        cutoff: float = 0.0,
        tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        include_superseded: bool = False,
        include_quarantined: bool = False,
        fold: bool = True,
        wait: float = 0.0,
        record: bool = True,
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
            tiers: Only memories of these tiers.
            kinds: Only memories of these kinds.
            scope: One path or several; memories that apply there: at it, below it, above it.
            within: One path or several; memories at it or below it.
            session: One session or several.
            tags: Memories that have all of these tags.
            any_tags: Memories that have at least one of these tags.
            where: Metadata keys with the value each must have, or a list of accepted values; None
                matches null or a missing key.
            ids: Only these memories, at most 100,000.
            since: Earliest ``occurred_at``, inclusive.
            until: Latest ``occurred_at``, exclusive.
            as_of: Only memories that were valid at this moment.
            min_score: Drop hits below this score, [0, 1].
            cutoff: Drop hits below this share of the best hit's score, [0, 1].
            tokens: Return only as many hits, in order, as fit into this many tokens. Of a long
                memory only the ``passage`` that is relevant to the query is counted; see
                ``RetrieveConfig.long``.
            count_tokens: Counts the tokens of a text; None for the tokenizer of a local embedder,
                such as the default one, or else an estimate from the characters of the text.
            include_superseded: Also return memories that a newer one replaced.
            include_quarantined: Also return memories from untrusted sources that are not approved
                yet.
            fold: Let one hit stand for all memories with the same words; False returns each.
            wait: Seconds to wait, at most, until memories added before can also be found by their
                meaning, which takes a moment; up to a day. Memories not embedded in time are
                matched by words only and reported in ``missing``. With 0, it does not wait, and
                reports them only while they are most of the memories.
            record: Record in the event log which memories were retrieved.

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
        engine = self._engine
        _ = engine.searcher  # the first time it loads what the next line imports, safe from forks
        from memento.retrieve.searcher import Request  # noqa: PLC0415 - needs NumPy

        check_flag("record", record)
        now = engine.now()
        request = Request.checked(
            query,
            k=k,
            match=match,
            min_score=min_score,
            cutoff=cutoff,
            tokens=tokens,
            count_tokens=count_tokens or engine.count_tokens,
            fold=fold,
            wait=wait,
            filters=filters_of(
                now,
                tiers=tiers,
                kinds=kinds,
                scope=scope,
                within=within,
                session=session,
                tags=tags,
                any_tags=any_tags,
                where=where,
                ids=ids,
                since=since,
                until=until,
                as_of=as_of,
                include_superseded=include_superseded,
                include_quarantined=include_quarantined,
            ),
        )
        if request.wait:
            engine.settle(self._namespace, request.wait)
        engine.background.query_begins()
        try:
            found = engine.searcher.search(self._namespace, request)
        finally:
            engine.background.query_ends()
        if record and found.hits:
            engine.accessed(self._namespace, [hit.id for hit in found.hits])
        return found

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
            wait: Seconds to wait, at most, until memories added before are embedded; up to a day.
            record: Record in the event log which memories were retrieved.
            filters: See ``memento.filters.Filtering``.

        Returns:
            Hits whose ``score`` is the cosine, [0, 1]; ``missing`` reports memories that are not
            embedded yet and could not be searched.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            EmbeddingMismatch: If the vector or the stored vectors come from another embedder.
            TierUnavailable: If this manager has no embedder.
            StoreError: If the ledger cannot be read.
        """
        check_flag("record", record)
        engine = self._engine
        asked = filtering(engine.now(), filters)
        if check_seconds("wait", wait):
            engine.settle(self._namespace, wait)
        engine.background.query_begins()
        try:
            found = engine.searcher.nearest(
                self._namespace, vector, k=k, min_score=min_score, filters=asked
            )
        finally:
            engine.background.query_ends()
        if record and found.hits:
            engine.accessed(self._namespace, [hit.id for hit in found.hits])
        return found

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
        tokens: int | None = prompt.TOKENS,
        count_tokens: TokenCounter | None = None,
        ids: bool = False,
        **filters: Any,
    ) -> str:
        """Return the memories that are relevant to a query as a block of text for any prompt.

        Each memory is one escaped record between tags that no stored text can close or forge,
        under a line that says that it is data; see ``memento.policy.prompt``.

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
            ids: Whether each record holds its id.
            filters: Any other argument of ``retrieve``, such as ``scope`` or ``kinds``.

        Returns:
            The block; ``""`` if nothing was found, or nothing fits.

        Raises:
            InvalidInput: If an argument other than the query cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        if unknown := filters.keys() - _RETRIEVES:
            raise TypeError(f"prompt() got an unexpected keyword argument {min(unknown)!r}")
        if tokens is not None:
            check_count("tokens", tokens, most=MAX_TOKENS)
        record = check_flag("record", filters.pop("record", True))
        found = self.retrieve(query, k, **filters, record=False)
        block = prompt.compose(
            found,
            nonce=prompt.new_nonce(),
            tokens=tokens,
            count_tokens=count_tokens or self._engine.count_tokens,
            ids=ids,
            cut=self._engine.cut_for(found, budget=tokens is not None),
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
        memory_id = check_id(id)
        ns = self._known_namespace(memory_id)
        return self._memory(self._engine.ledger.read(lambda c: memories.by_id(c, ns, memory_id)))

    def update(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        text: str = KEEP,
        kind: Kind | str = KEEP,
        importance: float = KEEP,
        scope: str = KEEP,
        tags: Sequence[str] = KEEP,
        metadata: Mapping[str, Any] = KEEP,
        pinned: bool = KEEP,
        valid_until: datetime | None = KEEP,
        expires_in: timedelta | float | None = KEEP,
        add_aliases: Sequence[str] = (),
        remove_aliases: Sequence[str] = (),
        source: Trust | str | None = None,
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
            expires_in: Time to live from now; None for ever.
            add_aliases: Names to add.
            remove_aliases: Names to remove.
            source: Origin of the change, a trust class; None for the user. From then on the memory
                is trusted no more than that.

        Returns:
            The memory as it is now.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If a value cannot be accepted, or the memory is forgotten.
            UntrustedSource: If it would be a rule or be pinned, and its own source or ``source`` is
                not trusted; or if ``source`` is not trusted and the memory is not quarantined.
        """
        corrections = change.Corrections(
            text=text,
            kind=kind,
            importance=importance,
            scope=scope,
            tags=tags,
            metadata=metadata,
            pinned=pinned,
            valid_until=valid_until,
            expires_in=expires_in,
            add_aliases=add_aliases,
            remove_aliases=remove_aliases,
            source=source,
        )
        now, config = self._engine.now(), self._engine.config
        untrusted = config.untrusted
        asked = change.accept(corrections, now=now, config=config)
        return self._change(
            id, lambda c, ns: change.update(c, ns, id, asked, now=now, untrusted=untrusted)
        )

    def forget(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Hide a memory at once; ``restore`` brings it back.

        Raises:
            NotFound: If this namespace has no such id.
        """
        now = self._engine.now()
        return self._change(id, lambda c, ns: change.forget(c, ns, id, now=now), makes_room=True)

    def forget_many(self, **filters: Unpack[Filtering]) -> Ids:
        """Hide every memory that matches the filters.

        Each transaction hides a few hundred, so that other writers never wait for long. If the call
        is interrupted, some are hidden and some not; the same call again hides the rest. Memories
        added during the call are not included.

        Args:
            filters: See ``memento.filters.Filtering``; at least one, so that nothing is lost by
                a forgotten argument. ``within=""`` is everything.

        Returns:
            Ids of the hidden memories, in order of arrival; ``restore`` brings each back.

        Raises:
            InvalidInput: If a filter cannot be accepted, or no filter is given.
        """
        if all(value is None for value in filters.values()):
            raise InvalidInput("filters", 'none given; pass one, or within="" for all memories')
        now = self._engine.now()
        asked = filtering(now, filters)
        return self._change_many(
            lambda c, ns: change.to_forget(c, ns, asked),
            lambda c, ns, some: change.forget_those(c, ns, some, asked, now=now),
            makes_room=True,
        )

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
        """Remove memories of this namespace for good, from every file of the store.

        Text, versions, words, vectors, links, events and every copy in the store's folder are
        removed; nothing brings them back. ``forget`` can be undone. Memories of every status are
        included. The Chroma folder is removed and rebuilt in the background.

        Args:
            ids: One id or several.
            source: Instead of ids: all memories whose ``source.uri`` is this address, or this
                address without its secrets.
            session: Instead of ids: all memories of this session.
            everything: Instead of ids: all memories of this namespace.
            derived: Also erase memories that name one of them among their ``source.parents``, and
                those derived from these in turn: they may say the same.
            dry_run: Only report what would be erased.
            timeout: Longest wait, in seconds, for other processes that have the store open to do
                their part, >= 0.

        Returns:
            The receipt. A part in ``pending`` is finished by the process that has the store open,
            or by the next one that opens it.

        Raises:
            InvalidInput: If not exactly one of the first four is given.
            NotFound: If this namespace lacks one of the ids; nothing was erased.
            StoreError: If the ledger could not be written; nothing was erased.
        """
        what = choose(ids, source, session, everything=check_flag("everything", everything))
        return self._engine.erase(
            self._namespace,
            what,
            derived=check_flag("derived", derived),
            dry_run=check_flag("dry_run", dry_run),
            timeout=check_seconds("timeout", timeout),
        )

    def sweep(self) -> Ids:
        """Forget expired memories, which are already hidden, and remove them from the indexes.

        Returns:
            Ids of the forgotten memories, in order of arrival.
        """
        now = self._engine.now()
        return self._change_many(
            lambda c, ns: memories.expired(c, ns, now),
            lambda c, ns, some: change.sweep(c, ns, some, now=now),
            makes_room=True,
        )

    def touch(self, ids: str | Sequence[str], expires_in: timedelta | float | None) -> Ids:
        """Set a new expiry for memories, without a new version or a new time of change.

        Like ``forget_many``, it changes a few hundred per transaction.

        Args:
            ids: One id or several, at most 100,000.
            expires_in: Time to live from now; None for ever.

        Returns:
            Ids of the changed memories; hidden or already expired ones are not changed.

        Raises:
            NotFound: If this namespace lacks one of the ids; nothing was changed.
            InvalidInput: If ``expires_in`` is not a time to live.
        """
        now = self._engine.now()
        named = [check_id(one, "ids") for one in several("ids", ids, most=MAX_IDS)]
        if self._engine.ledger.find_namespace(self._namespace) is None:
            raise NotFound(named[0])
        ends = expiry(expires_in, now)
        return self._change_many(
            lambda c, ns: change.touchable(c, ns, named, now=now),
            lambda c, ns, some: change.touch(c, ns, some, ends, now=now),
        )

    def restore(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Bring a forgotten memory back; as superseded if its slot has been filled since.

        An active or quarantined memory stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is superseded and was not forgotten. To make it valid again, add its
                text again.
        """
        return self._change(id, lambda c, ns: self._restore(c, ns, id))

    def quarantine(
        self, *, newest_first: bool = False, limit: int = 100, offset: int = 0
    ) -> Memories:
        """List the quarantined memories: from untrusted sources, not yet approved or rejected.

        Args:
            newest_first: Reverse the order of arrival.
            limit: Most memories to return, 1 to 1,000,000.
            offset: Number of memories to skip first, >= 0.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        return self.list(
            status=Status.QUARANTINED, newest_first=newest_first, limit=limit, offset=offset
        )

    def approve(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Make a quarantined memory active; it then replaces the memories that it supersedes.

        Its source stays known: it cannot become a rule and cannot be pinned. Only people should
        call this; an agent that may approve is as open as one without quarantine.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it was rejected or forgotten, or one of its parents is quarantined.
        """
        now, ring = self._engine.now(), self._engine.config.short.capacity
        return self._change(id, lambda c, ns: quarantine.approve(c, ns, id, now=now, ring=ring))

    def reject(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Forget a quarantined memory; ``restore`` puts it back into quarantine.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If the memory is not quarantined.
        """
        now = self._engine.now()
        return self._change(
            id, lambda c, ns: quarantine.reject(c, ns, id, now=now), makes_room=True
        )

    def forget_source(self, uri: str, *, dry_run: bool = False) -> Memories:
        """Hide all memories from a source and those derived from them; see ``restore_source``.

        Like ``forget_many``, it changes a few hundred per transaction.

        Args:
            uri: The address, as in ``Source.uri``.
            dry_run: Change nothing; only report what would be hidden.

        Returns:
            The memories that this call hides, or would hide, in order of arrival.

        Raises:
            InvalidInput: If ``uri`` is not an address.
        """
        check_flag("dry_run", dry_run)
        address, now = self._address(uri), self._engine.now()
        if dry_run:
            return [
                memory
                for memory in self._of_source(address)
                if memory.status is not Status.FORGOTTEN
            ]
        hidden: Rows = []
        while rows := self._change_rows(  # derived memories may be added in the meantime
            lambda c, ns: quarantine.to_disown(c, ns, address),
            lambda c, ns, some: quarantine.disown(c, ns, some, now=now),
            makes_room=True,
        ):
            hidden += rows
        return [self._memory(row) for row in sorted(hidden, key=lambda row: row.docid)]

    def restore_source(self, uri: str) -> Memories:
        """Undo ``forget_source``: each memory gets its earlier status back.

        A memory that was forgotten or rejected by a separate call stays so.

        Raises:
            InvalidInput: If ``uri`` is not an address.
        """
        address = self._address(uri)
        rows = self._change_rows(
            lambda c, ns: quarantine.disowned(c, ns, address),
            lambda c, ns, some: [self._restore(c, ns, one) for one in some],
        )
        return [self._memory(row) for row in rows]

    def move(self, id: str, tier: Tier | str) -> Memory:  # noqa: A002 - the field's own name
        """Put a memory into another tier.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If there is no such tier.
        """
        now, ring = self._engine.now(), self._engine.config.short.capacity
        return self._change(id, lambda c, ns: change.move(c, ns, id, tier, now=now, ring=ring))

    def list(
        self,
        *,
        scope: str | Sequence[str] | None = None,
        within: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        tiers: str | Sequence[str] | None = None,
        pinned: bool | None = None,
        status: str | Sequence[str] | None = None,
        session: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        any_tags: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        ids: str | Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        order: str = "arrival",
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> Memories:
        """List memories in order, without ranking.

        Args:
            scope: One path or several, as for ``retrieve``.
            within: One path or several; memories at it or below it.
            kinds: Only memories of these kinds.
            tiers: Only memories of these tiers.
            pinned: Only pinned ones (True), or only others (False).
            status: ``active`` (the default), ``superseded``, ``forgotten``, ``quarantined``, or
                several of these.
            session: One session or several.
            tags: Memories that have all of these tags.
            any_tags: Memories that have at least one of these tags.
            where: Metadata keys with the value each must have, or a list of accepted values; None
                matches null or a missing key.
            ids: Only these memories, at most 100,000.
            since: Earliest ``occurred_at``, inclusive.
            until: Latest ``occurred_at``, exclusive.
            order: ``arrival``, or ``occurred`` for the order of ``occurred_at``.
            newest_first: Reverse the order.
            limit: Most memories to return, 1 to 1,000,000.
            offset: Number of memories to skip first, >= 0.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        check_count("limit", limit, most=1_000_000)
        check_count("offset", offset, least=0, most=1 << 40)
        check_flag("newest_first", newest_first)
        if order not in ("arrival", "occurred"):
            raise InvalidInput("order", f"{shown(order)} is not one of: arrival, occurred")
        filters = filters_of(
            self._engine.now(),
            scope=scope,
            within=within,
            kinds=kinds,
            tiers=tiers,
            pinned=pinned,
            statuses=status,
            session=session,
            tags=tags,
            any_tags=any_tags,
            where=where,
            ids=ids,
            since=since,
            until=until,
        )
        by_time = order == "occurred"
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return []
        rows = self._engine.ledger.read(
            lambda c: memories.select(
                c,
                ns,
                filters,
                newest_first=newest_first,
                by_time=by_time,
                limit=limit,
                offset=offset,
            )
        )
        return self._read(rows)

    def counts(self, by: str = "scope", **filters: Unpack[Filtering]) -> dict[str, int]:
        """Count memories without reading them.

        Args:
            by: ``scope``, ``tag``, ``kind``, ``tier``, ``session`` or ``actor``; memories without
                a value are not counted.
            filters: See ``memento.filters.Filtering``.

        Returns:
            Each scope, tag and so on to its number of active memories, sorted by name. The sum over
            scopes is the number of memories.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        if not isinstance(by, str) or by not in memories.TALLIED:
            known = ", ".join(sorted(memories.TALLIED))
            raise InvalidInput("by", f"{shown(by)} is not one of: {known}")
        asked = filtering(self._engine.now(), filters)
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return {}
        return self._engine.ledger.read(lambda c: memories.tally(c, ns, asked, by))

    def recent(self, n: int | None = None, *, session: str | None = None) -> Memories:
        """Return the newest memories of a session's ring buffer, oldest first.

        Args:
            n: Most memories to return; None for all in the ring.
            session: The session; None for memories without one.

        Raises:
            InvalidInput: If ``n`` is not a positive whole number.
        """
        if n is not None:
            check_count("n", n)
        name = optional_name("session", session)
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return []
        return self._read(self._engine.short.recent(ns, name, n, self._engine.now()))

    def history(self, id: str) -> Versions:  # noqa: A002 - the field's own name
        """Return every state of a memory, oldest first; the last is the present one.

        Raises:
            NotFound: If this namespace has no such id.
        """
        memory_id = check_id(id)
        return lineage.history(self._engine.ledger, self._known_namespace(memory_id), memory_id)

    def related(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        status: str | Sequence[str] | None = None,
    ) -> Relations:
        """Return the memories that are linked to one, in order of arrival.

        A link is followed in both directions, whichever of the two was added later.

        Args:
            id: Id of the memory; it may have any status.
            status: Statuses of the memories to return; None for ``active`` and ``superseded``.

        Returns:
            The linked memories of this namespace that have not expired, each with its relation.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            NotFound: If this namespace has no such id.
            StoreUnusable: If a link or a linked memory is damaged.
        """
        memory_id = check_id(id)
        chosen = (Status.ACTIVE, Status.SUPERSEDED) if status is None else status
        filters = filters_of(self._engine.now(), statuses=chosen)
        ns = self._known_namespace(memory_id)
        found = lineage.related(self._engine.ledger, ns, memory_id, filters)
        ends = self._read(row for row, _, _ in found)
        return [
            Related(end, relation, outgoing)
            for end, (_, relation, outgoing) in zip(ends, found, strict=True)
        ]

    def stats(self) -> Stats:
        """Count the memories of this namespace and the backlog, and report present problems."""
        engine = self._engine
        return lineage.stats(
            engine.ledger,
            engine.ledger.find_namespace(self._namespace),
            now=engine.now(),
            trouble=engine.indexer.trouble_for(engine.sees(self._namespace)),
            long=engine.long_state(),
        )

    def backup(self, file: str | Path, *, overwrite: bool = False) -> Backup:
        """Write the whole store, with every namespace, into one file; others may go on writing.

        When this returns, the file is private, on the disk and checked;
        ``memento.upkeep.backup.restore`` makes a store of it again.

        Args:
            file: Name of the backup, outside the store's folder.
            overwrite: Replace an existing file.

        Raises:
            InvalidInput: If the file would be in the store's own folder.
            TargetExists: If the file exists already.
            StoreError: If it cannot be written, or the store is damaged. Damaged memories of this
                namespace are named; those of others are only counted.
        """
        engine = self._engine
        sees = engine.sees(self._namespace)
        return back_up(engine.ledger, file, sees=sees, now=engine.now(), overwrite=overwrite)

    def export(
        self,
        target: str | Path | IO[str] | IO[bytes],
        *,
        vectors: bool = False,
        all_namespaces: bool = False,
        overwrite: bool = False,
    ) -> Exported:
        """Write this namespace as JSON Lines, as of one moment; others may go on writing.

        It holds everything that ``import_from`` needs to rebuild the namespace elsewhere: every
        field of every memory of every status, earlier states, links and events.

        Args:
            target: Name of a file, which becomes private, or an open stream of text or bytes.
            vectors: Also write the vectors of the embedder in use, so that they need not be
                computed again; about 2 kB per memory.
            all_namespaces: Write every namespace of the store.
            overwrite: Replace an existing file.

        Raises:
            TargetExists: If the file exists already.
            StoreError: If it cannot be written, or the store cannot be read.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        return export(
            self._engine.ledger,
            target,
            only=None if everything else self._namespace,
            now=self._engine.now(),
            with_vectors=check_flag("vectors", vectors),
            overwrite=check_flag("overwrite", overwrite),
        )

    def import_from(
        self,
        source: str | Path | IO[str] | IO[bytes],
        *,
        all_namespaces: bool = False,
        trust: Trust | str = Trust.IMPORT,
    ) -> Imported:
        """Import a file that ``export`` wrote; if any part is refused, nothing is imported.

        The whole file is checked before anything is written. Then a few hundred memories are
        written per transaction, so that other writers never wait for long; readers see those that
        are written. If the call is interrupted, these are complete, and the same call again imports
        the rest.

        Memories keep their ids, times and order. A memory that is here already stays as it is, so
        importing twice adds nothing. If two active memories fill one slot, the one that is valid
        from a later moment supersedes the other.

        A file is treated as foreign unless you say otherwise. The present state of its memories is
        validated as by ``add``. No memory is trusted more than the file, and untrusted ones are
        quarantined. Secrets are removed; no memory is a rule or pinned. Their earlier states,
        events and vectors are left out, and so are superseded and forgotten memories. With
        ``trust="user"`` the file is your own backup: everything is imported unchanged, and the
        store is as it was.

        Args:
            source: Name of a file, or an open stream of text or bytes.
            all_namespaces: Put each memory into the namespace it comes from; otherwise an export of
                one namespace, whatever its name, is put into this one.
            trust: Highest trust class for memories of the file; ``"user"`` for your own file.

        Raises:
            ArchiveDamaged: If the file is cut off, changed, or not an export.
            ArchiveFromTheFuture: If the file is in a newer format.
            InvalidInput: If it holds several namespaces and ``all_namespaces`` is not given, or a
                value that cannot be accepted; the message names the line.
            IdConflict: If an id belongs to another memory here.
            SecretFound: If the file is not your own, holds a secret, and the settings refuse them.
            StoreError: If it could not be written; memories written before that stay.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        believed = member(Trust, "trust", trust)
        return self._engine.import_from(source, None if everything else self._namespace, believed)

    def doctor(self, *, repair: bool = True, all_namespaces: bool = False) -> Findings:
        """Look for damage in the whole store.

        Its counts are for the whole store. Damaged memories of this namespace are named; those of
        others are only counted.

        Args:
            repair: Repair data derived from the memories; the memories are never changed.
            all_namespaces: Name damaged memories of every namespace: for the administrator of the
                store, not for a user who shares it.

        Returns:
            One finding per check; the store is healthy if every one is ``ok``.
        """
        return self._engine.examine(
            self._namespace,
            repair=check_flag("repair", repair),
            all_namespaces=check_flag("all_namespaces", all_namespaces),
        )

    def reindex(self, *, wait: bool = False, timeout: float | None = None) -> int:
        """Embed all memories again with the embedder in use, after the embedder was changed.

        This affects the whole store, with every namespace.

        Args:
            wait: Return only when it is done.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.

        Returns:
            Number of memories to embed, in all namespaces.

        Raises:
            InvalidInput: If this manager has no embedder.
        """
        owed = self._engine.reindex()
        if wait:
            self.flush(wait=True, timeout=timeout)
        return owed

    def flush(self, *, wait: bool = False, timeout: float | None = None) -> bool:
        """Write the snapshot of the short tier; optionally wait for the indexes.

        The memories themselves need no flush: they are on the disk when ``add`` returns.

        Args:
            wait: Wait until every memory of the store is embedded and in the long tier.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.

        Returns:
            False if work is left: time ran out, or an index does not work (``stats().trouble`` says
            why). Texts of other namespaces that the embedder refused are ignored.

        Raises:
            InvalidInput: If the timeout is not a number of seconds.
            StoreError: If the store cannot be read.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        return self._engine.flush(self._namespace, wait=check_flag("wait", wait), timeout=limit)

    def close(self) -> None:
        """Write the snapshot and close the store, for all its views. Idempotent."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<MemoryManager {str(self.root)!r} {'/'.join(self._namespace)} {state}>"

    def __copy__(self) -> Self:
        """Return a view of the same store and namespace; the store is not copied."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Never:
        raise InvalidInput(
            "memory", "is open and cannot be pickled; open it by its root where it is needed"
        )

    def _add(self, drafts: Sequence[Draft], *, replace: bool) -> Sequence[Row]:
        limits = self._engine.config.limits
        if replace or not any(is_long_turn(draft, limits) for draft in drafts):
            return self._engine.add(self._namespace, drafts, replace=replace)
        from memento import documents  # noqa: PLC0415 - reads files; few programs need it

        return documents.add_turns(self._engine, self._namespace, drafts)

    def _memory(self, row: Row) -> Memory:
        return to_memory(row, self._namespace)

    def _read(self, rows: Iterable[Row]) -> Memories:
        """Convert rows into memories.

        Raises:
            StoreUnusable: If a row is damaged.
        """
        return [to_memory(sound(row), self._namespace) for row in rows]

    def _restore(self, connection: Session, ns: int, memory_id: str) -> Row:
        config, now = self._engine.config, self._engine.now()
        ring, untrusted = config.short.capacity, config.untrusted
        return change.restore(connection, ns, memory_id, now=now, ring=ring, untrusted=untrusted)

    def _address(self, uri: str) -> str:
        """Return an address in the form in which it is stored."""
        checked = short_name("uri", uri, most=MAX_URI)
        return Redaction(self._engine.config.secrets).text("uri", checked)

    def _of_source(self, address: str) -> Memories:
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return []
        rows = self._engine.ledger.read(lambda c: quarantine.from_source(c, ns, address))
        return self._read(rows)

    def _known_namespace(self, memory_id: str) -> int:
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            raise NotFound(memory_id)
        return ns

    def _change(self, memory_id: str, job: Any, *, makes_room: bool = False) -> Memory:
        ns = self._known_namespace(check_id(memory_id))
        row: Row = self._engine.ledger.write(lambda c: job(c, ns), makes_room=makes_room)
        self._engine.changed(ns, [row])
        return self._memory(row)

    def _change_many(self, find: Find[A], job: Change[A], *, makes_room: bool = False) -> Ids:
        return [row.id for row in self._change_rows(find, job, makes_room=makes_room)]

    def _change_rows(
        self, find: Find[A], job: Change[A], *, makes_room: bool = False
    ) -> Sequence[Row]:
        """Find the things to change, then change them in several transactions."""
        engine = self._engine
        ns = engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return ()
        found = engine.ledger.read(lambda c: find(c, ns))
        return engine.in_bites(ns, found, job, makes_room=makes_room)


_RETRIEVES = frozenset(MemoryManager.retrieve.__kwdefaults__ or ())
"""Names of the arguments that ``retrieve`` takes by keyword, and ``prompt`` hands on."""
