"""The one object people use. Each method opens one door; the rules are behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, Unpack

from memento import correct, lineage, prompt, quarantine
from memento.backup import Backup, back_up
from memento.config import Config
from memento.engine import Engine, system_clock
from memento.erase import Erasure, choose
from memento.errors import InvalidInput, NotFound
from memento.filters import MAX_IDS, Filtering, check_count, filtering, filters_of, several
from memento.ledger import memories
from memento.ledger.rows import Row, sound, to_memory
from memento.ledger.sqlite import Connection
from memento.observe.admit import (
    MAX_URI,
    check_flag,
    check_id,
    check_seconds,
    drafts_of,
    member,
    optional_name,
    short_name,
    shown,
)
from memento.observe.redact import Redaction
from memento.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.transfer.read import Imported
from memento.transfer.write import Exported, export
from memento.types import (
    Draft,
    Finding,
    Kind,
    Memory,
    Retrieval,
    Source,
    Status,
    Tier,
    Trust,
    Version,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.lineage import Stats
    from memento.protocols import Clock, Embedder, Reranker, TokenCounter

KEEP = correct.KEEP

Memories = list[Memory]
Versions = list[Version]
Findings = list[Finding]
Ids = list[str]
"""Spelt here, since inside the class ``list`` is a method."""


class MemoryManager:
    """Remembers, finds and corrects what an agent should know.

    One folder on disk holds everything; it may be opened by several processes. Every method
    may be called from any thread. Use it as a context manager, or call ``close``.

    Args:
        root: Folder of the store; made if absent.
        namespace: Who may see these memories: one label or several. A manager sees its own
            namespace only; ``of`` gives another.
        config: Settings; ``Config.from_env()`` reads them from the environment.
        embedder: ``"default"`` for the model that comes with memento,
            ``"sentence-transformers:NAME"``, ``"openai:MODEL"``, an object with ``name``,
            ``dim`` and ``embed``, or None to search by text alone.
        clock: Returns the present moment with a time zone; None for the system's.
        reranker: Reads question and memory together and orders the best candidates anew, such as
            ``memento.embed.rerankers.LateInteraction``; an object with ``score``, or None.

    Raises:
        InvalidInput: If embedder or reranker is none.
        InvalidScope: If a namespace label is not well formed.
        StoreUnusable: If the root is no folder, or holds something else than a store.
        StoreFromTheFuture: If a newer memento wrote the store.
        ReadOnlyStore: If there is no store and none can be made.
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
        self._engine = Engine(
            Path(root), config or Config(), embedder, clock or system_clock, reranker
        )

    @property
    def root(self) -> Path:
        """Folder of the store."""
        return self._engine.ledger.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace this manager sees."""
        return self._namespace

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._engine.ledger.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written; reading works all the same."""
        return self._engine.ledger.read_only

    @property
    def config(self) -> Config:
        """Settings this manager was made with."""
        return self._engine.config

    @property
    def clock(self) -> Clock:
        """Tells the time this manager goes by."""
        return self._engine.clock

    def of(self, *labels: str) -> MemoryManager:
        """Return a view of another namespace of the same store.

        The views share everything; closing one closes all.

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
        """Remember something. When this returns, it is on the disk.

        Equal content in the same namespace, scope, slot, session and by the same actor is kept
        once: adding it again returns the one that is there and counts a reinforcement. Turns
        said at different moments (``occurred_at``) are different memories.

        Args:
            text: What to remember; not empty, at most ``Config.limits.text_chars`` characters.
            tier: ``short``, ``medium`` or ``long``; None chooses by importance.
            kind: What it is, see ``Kind``.
            importance: [0, 1]; None has it scored, see ``memento.observe.importance``.
            key: The slot it fills, such as ``user/editor``. Another value for the same slot
                supersedes the one before; that stays in its history.
            aliases: Other names it is to be found by.
            scope: Where it applies, a path such as ``project/alpha``; ``""`` is everywhere.
            session: Conversation it belongs to.
            actor: Who said it.
            role: Chat role of who said it: ``user``, ``assistant``, ``tool`` ...
            source: Where it comes from; a trust class or a ``Source``; None for the user. What
                comes from a tool, the web or an import is quarantined until ``approve``.
            tags: Labels to filter by.
            metadata: A JSON object of your own.
            occurred_at: When it happened or was said, with a time zone; None for now.
            valid_until: When it stops holding, with a time zone.
            expires_in: Seconds, or a timedelta, after which it is not found any more.
            pinned: Never fades; goes to the long tier if no tier is given.
            supersedes: Ids of memories whose place it takes.
            related: Ids of memories to link it to.
            id: Your own id, 1 to 128 characters; makes a retry harmless. What is quarantined or
                was rejected keeps no id from what counts: that takes its place.
            replace: If ``id`` is taken, put this in the place of what is there, whatever its
                status: the earlier state stays in the history, and what was forgotten, superseded
                or expired begins anew. Putting the same again makes no new version. What is
                quarantined replaces only what is from an untrusted source too and not approved.

        Returns:
            The memory as stored.

        Raises:
            InvalidInput: If a value cannot be accepted; nothing was written.
            IdConflict: If ``id`` is taken by another content, and not to be replaced.
            SecretFound: If it holds a secret and ``Config.secrets`` says to refuse it.
            UntrustedSource: If it would be a rule, be pinned or replace what counts, and ``source``
                is not trusted.
            NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
            StoreError: If it could not be written; see its children.
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
        return self._memory(self._engine.add(self._namespace, [draft], replace=replace)[0])

    def add_many(
        self, items: Iterable[str | Mapping[str, Any] | Draft], *, replace: bool = False
    ) -> list[Memory]:
        """Remember several things in one transaction: all of them, or none.

        Args:
            items: Texts, mappings with the arguments of ``add``, or drafts.
            replace: As for ``add``; each needs an ``id``, and of several with one id the last
                counts.

        Returns:
            The memories as stored, in order.

        Raises:
            InvalidInput: If one of them cannot be accepted; it names its position.
            IdConflict: If an ``id`` is taken by another content, and not to be replaced.
            SecretFound: As for ``add``.
            UntrustedSource: As for ``add``.
            StoreError: If they could not be written.
        """
        drafts = drafts_of(items)
        check_flag("replace", replace)
        if not drafts:
            return []
        rows = self._engine.add(self._namespace, drafts, replace=replace)
        return [self._memory(row) for row in rows]

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
        """Find the memories that bear on a query, best first.

        Any text is a valid query, in any language; nothing in it is read as syntax.

        Args:
            query: What is looked for, in plain words.
            k: Most hits to return, 1 to 10,000; None for as many as the question wants: more
                for a list, a count, a comparison, an order or a summary; see ``RetrieveConfig``.
                Asking for more never changes the hits that come first, nor their order; more may
                be folded into one.
            match: ``"auto"`` prefers memories whose key or alias the query names; ``"names"``
                returns only those; ``"text"`` takes no notice of names.
            tiers: Look in these tiers only.
            kinds: Return these kinds only.
            scope: One path or several; memories that apply there: at it, below it, above it.
            within: One path or several; memories at it or below it.
            session: One session or several.
            tags: Memories that carry all of these.
            any_tags: Memories that carry one of these at least.
            where: Metadata keys with the value each must have, or a list to choose from; None is
                a null or no such key.
            ids: Only these memories, at most 100,000.
            since: Earliest ``occurred_at``, inclusive.
            until: Latest ``occurred_at``, exclusive.
            as_of: Answer with what held at this moment.
            min_score: Drop hits below this score, [0, 1].
            cutoff: Drop hits below this share of the best hit's score, [0, 1].
            tokens: Return only as many hits, in order, as fit this many tokens. For a question
                that wants several memories a long one counts with its ``passage`` alone.
            count_tokens: How to count them; None for one token in four characters.
            include_superseded: Also return memories whose place a newer one took.
            include_quarantined: Also return what untrusted sources say and nobody approved yet.
            fold: Let one hit stand for all that say the same words; False returns each.
            wait: Seconds to wait, at most, until what was added before can be found by its meaning
                too, which takes a moment; up to a day. What time does not suffice for is found by
                its words, and named in ``missing``. 0 neither waits nor says so.
            record: Note in the log what was retrieved.

        Returns:
            Hits, best first; ``missing`` names what could not be asked.

        Raises:
            InvalidInput: If an argument other than the text cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        from memento.retrieve.search import Request  # noqa: PLC0415 - needs NumPy, used from here on

        check_flag("record", record)
        engine = self._engine
        now = engine.now()
        request = Request.checked(
            query,
            k=k,
            match=match,
            min_score=min_score,
            cutoff=cutoff,
            tokens=tokens,
            count_tokens=count_tokens,
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
        engine.query_begins()
        try:
            found = engine.searcher.search(self._namespace, request)
        finally:
            engine.query_ends()
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
        """Find memories by a vector of yours, nearest first: no words, no weighing, no folding.

        ``retrieve`` finds more, and is what to use where there is a text to look for.

        Args:
            vector: (dim,) of the store's own embedder, see ``embed``; of any length but 0.
            k: Most hits to return, 1 to 10,000.
            min_score: Drop hits below this cosine, [0, 1].
            wait: Seconds to wait, at most, until what was added before is embedded; up to a day.
            record: Note in the log what was retrieved.
            filters: See ``memento.filters.Filtering``.

        Returns:
            Hits whose ``score`` is the cosine, [0, 1]; ``missing`` says so if memories are still
            to be embedded and could not be asked.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            EmbeddingMismatch: If the vector, or what is stored, comes from another embedder.
            TierUnavailable: If this manager has no embedder.
            StoreError: If the ledger cannot be read.
        """
        check_flag("record", record)
        engine = self._engine
        asked = filtering(engine.now(), filters)
        if check_seconds("wait", wait):
            engine.settle(self._namespace, wait)
        engine.query_begins()
        try:
            found = engine.searcher.nearest(
                self._namespace, vector, k=k, min_score=min_score, filters=asked
            )
        finally:
            engine.query_ends()
        if record and found.hits:
            engine.accessed(self._namespace, [hit.id for hit in found.hits])
        return found

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts with the embedder of this manager, as its memories are.

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
            raise InvalidInput("embedder", "is None: this memory has nothing to embed with")
        return embedding.embed(texts)

    def prompt(
        self,
        query: str,
        k: int | None = None,
        *,
        tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        ids: bool = False,
        **filters: Any,
    ) -> str:
        """Return what is remembered about a query as a block to paste into any prompt.

        Each memory is one escaped record between tags that no stored text can close or forge,
        under a line that says it is data; see ``memento.prompt``.

        Args:
            query: What is looked for, in plain words.
            k: Most memories to show, 1 to 10,000; None for as many as the question wants.
            tokens: Most tokens of the whole block, >= 1; None for no limit. For a question that
                wants several memories only the passage of a long one is shown.
            count_tokens: How to count them; None for one token in four characters.
            ids: Whether each record names its id.
            filters: Any other argument of ``retrieve``, such as ``scope`` or ``kinds``.

        Returns:
            The block; ``""`` if nothing was found.

        Raises:
            InvalidInput: If an argument other than the query cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        found = self.retrieve(query, k, tokens=tokens, count_tokens=count_tokens, **filters)
        nonce = prompt.new_nonce()
        return prompt.render(found, nonce=nonce, tokens=tokens, count_tokens=count_tokens, ids=ids)

    def get(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return one memory by id, whatever its status.

        Raises:
            NotFound: If this namespace has no such id.
            StoreUnusable: If it was damaged on the disk.
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
            id: Which one.
            text: New text.
            kind: New kind.
            importance: New importance, [0, 1].
            scope: New scope.
            tags: New tags, in place of all there are.
            metadata: New metadata, in place of all there is.
            pinned: Whether it never fades.
            valid_until: When it stops holding; None for never.
            expires_in: Time to live from now; None for ever.
            add_aliases: Names to add.
            remove_aliases: Names to take away.
            source: Who says so, a trust class; None for the user. The memory is trusted no more
                than that from then on.

        Returns:
            The memory as it is now.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If a value cannot be accepted, or the memory is forgotten.
            UntrustedSource: If it would be a rule or be pinned, and its source or ``source`` is
                not trusted; or if ``source`` is not, and the memory is not in quarantine.
        """
        corrections = correct.Corrections(
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
        return self._change(
            id, lambda c, ns: correct.update(c, ns, id, corrections, now=now, config=config)
        )

    def forget(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Hide a memory at once; ``restore`` brings it back.

        Raises:
            NotFound: If this namespace has no such id.
        """
        now = self._engine.now()
        return self._change(id, lambda c, ns: correct.forget(c, ns, id, now=now), makes_room=True)

    def forget_many(self, **filters: Unpack[Filtering]) -> Ids:
        """Hide every memory that fits the filters, in one transaction: all of them, or none.

        Args:
            filters: See ``memento.filters.Filtering``; one at least, so that nothing is lost by
                leaving it out. ``within=""`` is everything.

        Returns:
            Ids of what was forgotten, in order of arrival; ``restore`` brings each back.

        Raises:
            InvalidInput: If a filter cannot be accepted, or none is given.
        """
        if all(value is None for value in filters.values()):
            raise InvalidInput("filters", 'are none; for everything say within=""')
        now = self._engine.now()
        asked = filtering(now, filters)
        return self._change_many(
            lambda c, ns: correct.forget_many(c, ns, asked, now=now), makes_room=True
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

        Text, versions, words, vectors, links, events and every copy in the store's folder go;
        nothing brings them back. See ``forget`` for what can be undone. Memories of any status are
        meant. The Chroma folder is removed and made again in the background.

        Args:
            ids: One id or several.
            source: In place of ids: all whose ``source.uri`` is this, or is what is left of it
                without its secrets.
            session: In place of ids: all of this session.
            everything: In place of ids: all of this namespace.
            derived: Erase what names one of them among its ``source.parents``, too, and what was
                derived from that in turn: it may say the same.
            dry_run: Only say what would be erased.
            timeout: Longest wait for other processes that have the store open to do their part,
                seconds, >= 0.

        Returns:
            The receipt. Where it names something ``pending``, that is done by the process that is
            in the way, or by the next one that opens the store.

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
        """Forget what has expired. It is not found any more; this takes it out of the indexes too.

        Returns:
            Ids of what was forgotten, in order of arrival.
        """
        now = self._engine.now()
        return self._change_many(lambda c, ns: correct.sweep(c, ns, now=now), makes_room=True)

    def touch(self, ids: str | Sequence[str], expires_in: timedelta | float | None) -> Ids:
        """Set anew when memories expire, in one transaction; no version, no change of time.

        Args:
            ids: One id or several, at most 100,000.
            expires_in: Time to live from now; None for ever.

        Returns:
            Ids of what was touched: what is hidden, or expired already, stays so.

        Raises:
            NotFound: If this namespace lacks one of the ids; nothing was changed.
            InvalidInput: If it is no time to live.
        """
        now = self._engine.now()
        named = [check_id(one, "ids") for one in several("ids", ids, most=MAX_IDS)]
        if self._engine.ledger.find_namespace(self._namespace) is None:
            raise NotFound(named[0])
        return self._change_many(lambda c, ns: correct.touch(c, ns, named, expires_in, now=now))

    def restore(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Bring a forgotten memory back; if its slot was filled meanwhile, as superseded.

        Raises:
            NotFound: If this namespace has no such id.
        """
        return self._change(id, lambda c, ns: self._restore(c, ns, id))

    def quarantine(
        self, *, newest_first: bool = False, limit: int = 100, offset: int = 0
    ) -> Memories:
        """List what untrusted sources say and nobody has approved or rejected yet.

        Args:
            newest_first: Turn the order of arrival round.
            limit: Most memories to return, 1 to 1,000,000.
            offset: How many to pass over first, >= 0.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        return self.list(
            status=Status.QUARANTINED, newest_first=newest_first, limit=limit, offset=offset
        )

    def approve(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Let a quarantined memory be found; it takes the place of what it supersedes.

        Where it comes from stays known: it can be no rule and cannot be pinned. Leave this verb to
        people; an agent that may approve is as open as one without quarantine.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it was rejected or forgotten, or is derived from one that waits itself.
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
        """Hide everything from a source, and what was derived from it; see ``restore_source``.

        Args:
            uri: The address, as in ``Source.uri``.
            dry_run: Change nothing; only say what would be hidden.

        Returns:
            The memories that are hidden by this call, or would be, in order of arrival.

        Raises:
            InvalidInput: If ``uri`` is no address.
        """
        check_flag("dry_run", dry_run)
        address, now = self._address(uri), self._engine.now()
        if dry_run:
            return [
                memory
                for memory in self._of_source(address)
                if memory.status is not Status.FORGOTTEN
            ]
        rows = self._change_rows(
            lambda c, ns: quarantine.disown(c, ns, address, now=now), makes_room=True
        )
        return [self._memory(row) for row in rows]

    def restore_source(self, uri: str) -> Memories:
        """Undo ``forget_source``: each memory gets the status back that it had.

        What was forgotten or rejected by itself stays so.

        Raises:
            InvalidInput: If ``uri`` is no address.
        """
        address = self._address(uri)

        def job(connection: Connection, ns: int) -> list[Row]:
            hidden = quarantine.disowned(connection, ns, address)
            return [self._restore(connection, ns, one) for one in hidden]

        return [self._memory(row) for row in self._change_rows(job)]

    def move(self, id: str, tier: Tier | str) -> Memory:  # noqa: A002 - the field's own name
        """Put a memory into another tier.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If there is no such tier.
        """
        now, ring = self._engine.now(), self._engine.config.short.capacity
        return self._change(id, lambda c, ns: correct.move(c, ns, id, tier, now=now, ring=ring))

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
            kinds: These kinds only.
            tiers: These tiers only.
            pinned: Only pinned ones (True), or only others (False).
            status: ``active`` (the default), ``superseded``, ``forgotten``, or several.
            session: One session or several.
            tags: Memories that carry all of these.
            any_tags: Memories that carry one of these at least.
            where: Metadata keys with the value each must have, or a list to choose from; None is
                a null or no such key.
            ids: Only these memories, at most 100,000.
            since: Earliest ``occurred_at``, inclusive.
            until: Latest ``occurred_at``, exclusive.
            order: ``arrival``, or ``occurred`` for the order of ``occurred_at``.
            newest_first: Turn the order round.
            limit: Most memories to return, 1 to 1,000,000.
            offset: How many to pass over first, >= 0.

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
                one are not counted.
            filters: See ``memento.filters.Filtering``.

        Returns:
            Scope, tag and so on to the number of active memories with it, in order of name. The
            sum over scopes is the number of memories.

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
            n: Most memories to return; None for all the ring holds.
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

    def stats(self) -> Stats:
        """Count what this namespace holds, and what the store still owes its indexes."""
        engine = self._engine
        return lineage.stats(
            engine.ledger,
            engine.ledger.find_namespace(self._namespace),
            now=engine.now(),
            trouble=engine.indexer.trouble,
            long=engine.long_state(),
        )

    def backup(self, file: str | Path, *, overwrite: bool = False) -> Backup:
        """Write the whole store, every namespace of it, into one file; others may go on writing.

        The file is private, on the disk and looked at when this returns; ``memento.backup.restore``
        makes a store of it again.

        Args:
            file: Name of the backup, outside the store's folder.
            overwrite: Take the place of a file that is there.

        Raises:
            InvalidInput: If the file would be in the store's own folder.
            TargetExists: If there is such a file already.
            StoreError: If it cannot be written, or the store is damaged.
        """
        engine = self._engine
        return back_up(engine.ledger, file, now=engine.now(), overwrite=overwrite)

    def export(
        self,
        target: str | Path | IO[str] | IO[bytes],
        *,
        vectors: bool = False,
        all_namespaces: bool = False,
        overwrite: bool = False,
    ) -> Exported:
        """Write this namespace as JSON Lines, as of one moment; others may go on writing.

        Everything ``import_from`` needs to rebuild it elsewhere is in it: every field of every
        memory of every status, earlier states, links and events.

        Args:
            target: Name of a file, which becomes private, or an open stream of text or bytes.
            vectors: Write the vectors of the embedder in use, too, so that they need not be made
                again; some 2 kB a memory.
            all_namespaces: Write every namespace of the store.
            overwrite: Take the place of a file that is there.

        Raises:
            TargetExists: If there is such a file already.
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
        """Take in what ``export`` wrote, in one transaction: all of it, or nothing.

        Memories keep their ids, times and order. One that is here already stays as it is, so that
        importing twice adds nothing. Where two active memories fill one slot, the one that holds
        from later on supersedes the other.

        A file is somebody else's unless you say otherwise: what its memories say now passes the
        same door as ``add``. None is trusted more than the file, and what is not trusted waits in
        ``quarantine``; secrets are taken out; none is a rule or pinned; their past, their events
        and their vectors stay behind, and so do those that are superseded or forgotten. With
        ``trust="user"`` the file is your own backup: everything is taken as it says, and the store
        is what it was.

        Args:
            source: Name of a file, or an open stream of text or bytes.
            all_namespaces: Put each memory into the namespace it comes from; otherwise the export
                of one namespace, whichever, is put into this one.
            trust: How far the file is trusted at most; ``"user"`` for your own.

        Raises:
            ArchiveDamaged: If it is cut off, changed, or no export.
            ArchiveFromTheFuture: If it is in a newer format.
            InvalidInput: If it holds several namespaces and ``all_namespaces`` is not given, or a
                value that cannot be accepted; names the line.
            IdConflict: If an id belongs to another memory here.
            SecretFound: If it is not your own, holds a secret, and these are to be refused.
            StoreError: If it could not be written.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        believed = member(Trust, "trust", trust)
        return self._engine.import_from(source, None if everything else self._namespace, believed)

    def doctor(self, *, repair: bool = True) -> Findings:
        """Look for damage in the whole store.

        Args:
            repair: Mend what is derived from the memories; they themselves are never changed.

        Returns:
            One finding for each thing looked at; all is well when every one is ``ok``.
        """
        return self._engine.examine(repair=repair)

    def reindex(self, *, wait: bool = False, timeout: float | None = None) -> int:
        """Embed everything anew with the embedder in use, after it was changed.

        Args:
            wait: Return when it is done.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.

        Returns:
            How many memories are to be embedded.

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
            wait: Wait until every memory is embedded and the long tier knows it.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.

        Returns:
            False if something is still owed: time ran out, or an index cannot be reached
            (``stats().trouble`` says why).

        Raises:
            InvalidInput: If the timeout is no time.
            StoreError: If the store cannot be read.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        return self._engine.flush(wait=check_flag("wait", wait), timeout=limit)

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

    def _memory(self, row: Row) -> Memory:
        return to_memory(row, self._namespace)

    def _read(self, rows: Iterable[Row]) -> Memories:
        """Turn rows as they were read into memories.

        Raises:
            StoreUnusable: If one is damaged.
        """
        return [to_memory(sound(row), self._namespace) for row in rows]

    def _restore(self, connection: Connection, ns: int, memory_id: str) -> Row:
        config, now = self._engine.config, self._engine.now()
        ring, untrusted = config.short.capacity, config.untrusted
        return correct.restore(connection, ns, memory_id, now=now, ring=ring, untrusted=untrusted)

    def _address(self, uri: str) -> str:
        """Spell an address as it is kept."""
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

    def _change_many(self, job: Any, *, makes_room: bool = False) -> Ids:
        return [row.id for row in self._change_rows(job, makes_room=makes_room)]

    def _change_rows(self, job: Any, *, makes_room: bool = False) -> Sequence[Row]:
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return ()
        rows: Sequence[Row] = self._engine.ledger.write(lambda c: job(c, ns), makes_room=makes_room)
        self._engine.changed(ns, rows)
        return rows
