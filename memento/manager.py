"""``MemoryManager``, the object that applications use.

Each method checks its arguments and calls the module that holds the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from memento.admit.draft import drafts_of
from memento.base.clock import system_clock
from memento.base.home import default_root
from memento.base.lazy import later
from memento.base.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.check import (
    MAX_TOKENS,
    PROMPT_TOKENS,
    TALK_TOKENS,
    WAIT,
    check_count,
    check_flag,
    check_moment,
    check_progress,
    check_query,
    check_seconds,
    member,
)
from memento.config import Config
from memento.errors import InvalidInput
from memento.holding import hold
from memento.ledger.filters import Filtering, Retrieving, check_known_at, check_names, filtering
from memento.settings import load
from memento.types import (
    Draft,
    Kind,
    KindName,
    LockName,
    Match,
    Memories,
    Memory,
    Retrieval,
    Source,
    Status,
    StatusName,
    Tier,
    TierName,
    Trust,
    TrustName,
    Undone,
)
from memento.views import Part, View
from memento.write import change

if TYPE_CHECKING:
    from memento import conversation, learning
    from memento.conversation import Messages
    from memento.conversation.turns import Recalled
    from memento.learning import model_later
    from memento.ledger import past
    from memento.observe.values import Observation
    from memento.prompt import choosing, rendering
    from memento.protocols import Clock, Embedder, Progress, Reranker, TokenCounter
    from memento.verbs import (
        changes,
        documents,
        feedback,
        insight,
        listing,
        quarantine,
        rules,
        scopes,
        sessions,
        sleep,
        slots,
        store,
    )
    from memento.verbs.changes import Changes
    from memento.verbs.documents import Documents
    from memento.verbs.feedback import Feedback
    from memento.verbs.insight import Insight
    from memento.verbs.quarantine import Quarantine
    from memento.verbs.rules import Rules
    from memento.verbs.scopes import Scopes
    from memento.verbs.sessions import Sessions
    from memento.verbs.sleep import Sleep
    from memento.verbs.slots import Slots
    from memento.verbs.store import Store
else:
    conversation = later("memento.conversation")
    learning = later("memento.learning")
    model_later = later("memento.learning.model_later")
    past = later("memento.ledger.past")
    choosing = later("memento.prompt.choosing")
    rendering = later("memento.prompt.rendering")
    changes, documents, feedback, insight, listing, quarantine = [
        later(f"memento.verbs.{name}")
        for name in ("changes", "documents", "feedback", "insight", "listing", "quarantine")
    ]
    rules, scopes, sessions, sleep, slots, store = [
        later(f"memento.verbs.{name}")
        for name in ("rules", "scopes", "sessions", "sleep", "slots", "store")
    ]

KEEP = change.KEEP
Ids = list[str]
"""Named here, because inside the class ``list`` is a method."""


class MemoryManager(Part):
    """Stores, finds and corrects what an agent should remember.

    The store is a folder on disk that several processes can open at the same time. All methods are
    thread-safe. Use the manager as a context manager, or call ``close``; an unreferenced manager is
    closed automatically.

    Every method raises ``InvalidInput``, without writing anything, if an argument is invalid;
    ``NotFound`` if the namespace does not contain the specified id; and ``StoreError`` if the store
    cannot be read or written. The methods below list only additional errors.

    Which method to call:

    - to store one statement or several: ``add``, ``add_many``
    - to store a conversation and learn from it: ``observe``; without learning: ``keep``
    - to store a document or an export: ``documents``
    - to find memories: ``retrieve``; as text for a prompt: ``prompt``
    - to find memories for the next turn of a chat: ``recall``
    - to look up memories: ``get`` by id, ``value`` by key, ``list`` by filter
    - to change a memory: ``update`` for its fields, ``correct`` if it is wrong
    - to hide memories and restore them: ``forget``, ``forget_many``, ``restore``, ``undo``
    - to wait for background work, and to close the store: ``flush``, ``close``
    - to switch to another namespace: ``of``
    - to back up, export or erase: ``store``; for everything else, see the other properties

    Managers opened on the same folder in one process share files, threads and caches if they have
    the same settings, embedder, clock and reranker. Otherwise, they work independently, like
    separate processes, and one of them updates Chroma for all of them.

    Args:
        root: The store folder, which is created if it does not exist. If None, the first of:
            ``$MEMENTO_ROOT``; ``agent_memory`` in the current folder or a parent folder;
            ``memento`` in the user's data folder.
        namespace: The namespace to use, as one or more labels. A manager can access only its own
            namespace; ``of`` returns a view of another namespace.
        config: All settings; None to load them from the environment, the store's ``memento.toml``
            and the user's ``memento.toml``. See ``memento.settings.load``.
        embedder: ``"default"`` for the bundled model, ``"sentence-transformers:NAME"``,
            ``"openai:MODEL"``, an object with ``name``, ``dim`` and ``embed``, or None to disable
            semantic search.
        clock: A callable that returns the current time (timezone-aware); None for the system clock.
        reranker: An object with ``score`` that reorders the best candidates, such as
            ``memento.embed.rerankers.LateInteraction``; or None.

    Raises:
        InvalidInput: If the embedder is not supported or requires an API key that is not set, or if
            the reranker does not implement its protocol.
        MissingExtra: If the embedder or the settings require a package that is not installed.
        InvalidScope: If a namespace label is malformed.
        StoreUnusable: If the root is not a folder, or contains something other than a store.
        StoreFromTheFuture: If a newer version of memento wrote the store.
        ReadOnlyStore: If the store does not exist and cannot be created.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
    ...     kept = memory.add("Rami is allergic to nuts", "long")
    ...     memory.retrieve("what is Rami allergic to?")[0].text
    'Rami is allergic to nuts'
    """

    def __init__(
        self,
        root: str | Path | None = None,
        *,
        namespace: str | Sequence[str] = DEFAULT_NAMESPACE,
        config: Config | None = None,
        embedder: str | Embedder | None = "default",
        clock: Clock | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        labels = parse_namespace(namespace)
        root = default_root() if root is None else root
        config = load(root).config if config is None else config
        clock = system_clock if clock is None else clock
        super().__init__(View(hold(root, config, embedder, clock, reranker), labels))
        if config.llm.background:
            model_later.attend(self._view.engine)

    def of(self, *labels: str) -> MemoryManager:
        """Return a view of another namespace in the same store.

        Views share the store and its resources, so closing any view closes all of them.

        Args:
            labels: One or more labels, such as ``of("acme", "rami")``.
        """
        memory = object.__new__(type(self))
        Part.__init__(memory, View(self._view.hold, parse_namespace(labels)))
        return memory

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
        """Store text as a memory, which is on disk when ``add`` returns.

        Identical content is stored once, and a long conversation turn in parts; see ``Draft``, also
        for what happens when sources of different trust disagree, and for ids.

        Args:
            text: Text to store; must not be empty.
            tier: ``short``, ``medium`` or ``long``; None to choose by importance.
            kind: Kind of statement; see ``Kind``.
            importance: Importance, [0, 1]; None to estimate it (see ``memento.admit.importance``).
            key: The slot it fills, such as ``user/editor``. A new value supersedes the current one,
                which stays in the history. A value with an earlier ``occurred_at`` goes straight
                into the history.
            aliases: Other names by which it can be found.
            scope: Scope in which it applies, a path such as ``project/alpha``; ``""`` means
                everywhere.
            session: The conversation it belongs to.
            actor: Name of the person or agent who said it.
            role: Chat role of the speaker: ``user``, ``assistant``, ``tool`` ...
            source: Where it comes from: a trust class or a ``Source``; None for the user. A memory
                from a tool, the web or an import is quarantined until it is approved.
            tags: Labels to filter by.
            metadata: A JSON object with custom fields.
            occurred_at: When it happened or was said (timezone-aware); None for now.
            valid_until: When it stops being true (timezone-aware).
            expires_in: Seconds or a timedelta after which it expires and is no longer found.
            pinned: Whether to protect it from fading. If True, the default tier is ``long``.
            supersedes: Ids of memories that it replaces, unless a more trusted source wrote them.
            related: Ids of memories to link it to.
            id: A custom id of 1 to 128 characters, which makes retries safe.
            signal: How the statement was recognised in a conversation; set by ``observe``.
            condition: When a rule applies, in plain language.
            due_at: When a plan is due (timezone-aware).
            replace: Replace the memory with this ``id``, if there is one, regardless of its status.
                Its earlier state stays in the history.

        Returns:
            The memory as stored, after any merge, or the first part of a turn that was split.

        Raises:
            IdConflict: If ``id`` belongs to different content and ``replace`` is False.
            SecretFound: If the content contains a secret and ``Config.secrets`` is ``"reject"``.
            UntrustedSource: If an untrusted ``source`` would add a rule, pin a memory or replace an
                active one.
            LockedMemory: If the memory would replace a locked memory.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     vim = memory.add("Rami uses Vim", kind="preference", key="rami/editor")
        ...     helix = memory.add("Rami uses Helix", kind="preference", key="rami/editor")
        ...     memory.get(vim.id).status.value, memory.get(helix.id).status.value
        ('superseded', 'active')
        """
        check_flag("replace", replace)
        draft = Draft(
            text=text, tier=tier, kind=kind, importance=importance, key=key, aliases=aliases,
            scope=scope, session=session, actor=actor, role=role, source=source, tags=tags,
            metadata={} if metadata is None else metadata, occurred_at=occurred_at,
            valid_until=valid_until, expires_in=expires_in, pinned=pinned, supersedes=supersedes,
            related=related, id=id, signal=signal, condition=condition, due_at=due_at,
        )  # fmt: skip
        return self._view.add([draft], replace=replace)[0]

    def add_many(
        self,
        items: Iterable[str | Mapping[str, Any] | Draft],
        *,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Memories:
        """Store several texts in a single transaction; if one fails, none is stored.

        The transaction blocks other writers for about 0.1 s per thousand texts, so split large
        batches into several calls.

        Args:
            items: Texts, mappings with the arguments of ``add``, or drafts. An item with both a
                ``source.uri`` and an ``id`` is treated as a re-read of its source: sentences that
                were erased, forgotten or reworded in the store are omitted, and an item with no
                text left is not stored.
            replace: As for ``add``. Each item requires an ``id``; of several items with the same
                id, the last one takes precedence.
            progress: Called about every hundred items with the number of items checked and the
                total, and again with the total as both arguments when all items are on disk; see
                ``memento.protocols.Progress``. If it raises an exception before then, nothing is
                written. A turn that is split counts as several items.

        Returns:
            The memories as stored, one per item, in order; see ``add`` for long turns.

        Raises:
            InvalidInput: If an item is invalid; the error message gives its position.
            IdConflict, LockedMemory, SecretFound, UntrustedSource: As for ``add``.
        """
        check_progress(progress)
        drafts = drafts_of(items)
        check_flag("replace", replace)
        if not drafts:
            return Memories()
        return self._view.add(drafts, replace=replace, progress=progress, again=True)

    def observe(
        self,
        user: str | None = None,
        assistant: str | None = None,
        *,
        messages: Messages | None = None,
        session: str | None = None,
        scope: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        source: Source | Trust | TrustName | None = None,
        keep: bool = True,
        turn_id: str | None = None,
        mode: str | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name, as in Memory.id
    ) -> Observation:
        """Store a conversation turn and learn from what the user says.

        The turns are stored the same way as with ``keep``. Statements worth remembering in the
        user's messages become memories: facts about the user, preferences, rules, corrections,
        decisions and plans.
        Each memory keeps the user's wording and has the turn as its parent. A new value for a slot
        supersedes the old one. To undo everything that a call learned, pass ``Observation.change``
        to ``undo``.

        In the default mode, ``off``, no language model is used. In the other modes, a model can
        select additional sentences from the user's messages. The model never writes text, and
        nothing is lost if it fails. With ``LLMConfig.background``, the call does not wait for the
        model: messages are queued in the ledger and sent later. ``Observation.pending`` counts
        them.

        Observing the same turn again changes nothing, except that a turn the language model has not
        yet seen is sent to it. A turn is identified by its session and ``id``, or, without an id,
        by its session and text if it is the speaker's last turn there. Erased and forgotten turns
        are skipped, as with ``keep``.

        Args:
            user: The user's message.
            assistant: The assistant's answer. It is stored and provides context for the user's next
                message, but nothing is learned from it.
            messages: Turns in order, as for ``keep``, instead of ``user`` and ``assistant``.
            session: Name of the conversation.
            scope: Scope of the conversation; ``""`` means everywhere. None selects the session's
                scope, or a scope defined with ``scopes.define`` that the user mentions. What users
                say about themselves always applies everywhere.
            actor: Name of the user.
            occurred_at: When it was said (timezone-aware); None for now. Dates such as "on Friday"
                are resolved relative to this time.
            source: Source of the messages with the role ``user``; None for the user. Nothing is
                learned from any other source.
            keep: Whether to store the turns.
            turn_id: With ``keep=False``, the id of the memory that contains the user's message.
            mode: ``off``, ``assist`` or ``full`` (see ``ObserveConfig``); None for
                ``Config.observe.mode``. When the model is called, the turns and all confidently
                detected statements are already on disk.
            id: Id of the user's message in the conversation.

        Raises:
            InvalidInput: If the mode requires a language model and ``Config.llm`` does not specify
                a usable one.
            MissingExtra: If the language model's package is not installed.
            SecretFound: As for ``add``.
            TurnErased: If a turn was erased while it was being stored; nothing was stored.
        """
        return learning.Learning(self._view).observe(
            user,
            assistant,
            messages=messages,
            session=session,
            scope=scope,
            actor=actor,
            occurred_at=occurred_at,
            source=source,
            keep=keep,
            turn_id=turn_id,
            mode=mode,
            id=id,
        )

    def keep(
        self,
        messages: Messages,
        *,
        session: str | None = None,
        speaker: Trust | str = Trust.USER,
        now: bool = True,
    ) -> Memories:
        """Store conversation turns, each exactly once, no matter how often they are passed.

        A turn is identified by its session and ``id``. Without an id, it is identified by its text
        and the number of earlier occurrences of that text, so pass the conversation from its
        beginning. With neither a session nor an id, identical texts from the same role are stored
        once.

        If a known id arrives with new text, the memory is corrected, and the earlier text stays in
        the history. If an untrusted source edits an approved memory, the edit is quarantined
        separately. Edits to turns that the user locked are ignored.

        No text is rejected: invalid characters are replaced, a turn longer than 16,000 characters
        is split into parts, blocks that memento rendered for a prompt are omitted, and payloads
        such as images in ``data:`` URIs are replaced with a short note.

        An erased or forgotten turn is not stored again. The how-to guide on erasing explains how
        repeats are distinguished from new messages.

        The role determines the trust class: ``user`` gets the class in ``speaker``; ``tool``, and
        variants such as ``function`` or ``TOOL``, get the class ``tool`` and are therefore
        quarantined by default; any other role gets the class ``agent``.

        Args:
            messages: The turns in order: ``Turn`` objects, strings (messages from the user), or
                messages in the format of a chat API or framework, with ``role`` and ``content`` or
                ``type`` and ``parts``, and an optional ``id`` and ``name``. Messages without a
                speaker or in an unknown format are rejected. Only text blocks are stored; for files
                and tool results in a message, see ``documents.add`` and ``add(source=...)``.
            session: Name of the conversation; any string.
            speaker: Trust class of the turns with the role ``user``. Use ``agent`` if another agent
                writes them, as in a subagent; they are then not presented as the user's.
            now: Whether the turns from the user's last message on are being said now; False if all
                were said before, so that one that was forgotten since is not stored again.

        Returns:
            The memories, in order: one per turn, several for a long turn, and none for a blank or
            erased turn.

        Raises:
            SecretFound: As for ``add``.
        """
        return conversation.keep(self._view, messages, session=session, speaker=speaker, now=now)

    def recall(
        self,
        messages: Messages,
        *,
        session: str | None = None,
        k: int = 8,
        tokens: int | None = TALK_TOKENS,
        min_confidence: float | None = None,
        fold: bool = True,
        diverse: bool = False,
        wait: float = WAIT,
        record: bool = True,
        filters: Filtering | None = None,
    ) -> Recalled:
        """Find memories relevant to the user's last message and render them as a prompt block.

        The search uses the last message and, with less weight, the user's last three messages
        together, so it handles both follow-ups, such as "And the sister?", and changes of subject.
        The block is empty if the message is a greeting or thanks, or if no memory is likely to
        answer it.

        Messages that are still in the conversation are omitted, so pass the same ``session`` and
        messages as to ``keep``. Identical texts are shown once, even if several people wrote them.
        Of several near-identical texts, the newest is shown first and the others come last. The
        user's earlier questions come after statements and make up at most a quarter of the results,
        unless there is nothing else to show.

        Args:
            messages: The conversation so far, as for ``keep``, ending with the message to answer. A
                single string is a query outside any conversation.
            session: Name of the conversation; memories from all sessions are searched.
            k: Maximum number of memories, 1 to 10,000.
            tokens: Maximum number of tokens in the block, as for ``prompt``; None for no limit.
            min_confidence: Minimum probability that a hit is an answer, [0, 1]; None for
                ``prompt_confidence``.
            fold: Show identical texts once and near-duplicates last; False to show each separately.
            diverse: Prefer memories with different meanings over the best matches, so several
                agents' reports of the same thing do not crowd out other results.
            wait: As for ``retrieve``.
            record: Record in the event log which memories the block shows.
            filters: Return only memories that match; see ``Filtering``. ``without`` excludes
                memories in addition to those in the conversation.

        Returns:
            The block and the hits that it shows.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     for text in ("Bob repairs harps", "Bob's sister is Ines", "Lena's sister is Carla"):
        ...         fact = memory.add(text, "long")
        ...     talk = ["Tell me about Bob.", "And the sister?"]
        ...     memory.recall(talk, session="monday").hits[0].text
        "Bob's sister is Ines"
        """
        return conversation.recall(
            self._view,
            messages,
            session=session,
            k=k,
            tokens=tokens,
            min_confidence=min_confidence,
            fold=fold,
            diverse=diverse,
            wait=wait,
            record=record,
            filters=filters,
        )

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
        wait: float = WAIT,
        record: bool = True,
        shared: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Find the memories that are relevant to a query, best first.

        Args:
            query: The query, in any natural language; there is no special syntax.
            k: Maximum number of hits, 1 to 10,000. If None, the number depends on the query: more
                hits are returned for a list, a count, a comparison, a sequence or a summary (see
                ``RetrieveConfig``). A larger ``k`` only appends hits, though earlier hits may list
                more ids in ``folded``.
            match: ``"auto"`` ranks memories first if the query contains their key or an alias;
                ``"names"`` returns only those memories; ``"text"`` ignores keys and aliases.
            as_of: Return only memories that were valid at this moment, including any that have
                since been superseded, with their text at that time.
            known_at: Return what this call would have returned at this moment, including memories
                that have since been forgotten, but not memories that have been erased or that are
                or were in quarantine. With ``as_of``, return what was known at this moment about
                the moment in ``as_of``. The query is not logged. A memory whose text has since
                changed is found by keyword search but not by semantic search.
            min_score: Drop hits below this score, [0, 1].
            min_confidence: Return nothing if the probability that the hits contain an answer is
                below this value, [0, 1]. The probability is low for greetings, thanks and unrelated
                questions.
            cutoff: Drop hits whose score is below this fraction of the best score, [0, 1].
            tokens: Return only as many hits, in order, as fit within this many tokens. For a long
                memory, only the ``passage`` relevant to the query is counted; see
                ``RetrieveConfig.long``.
            count_tokens: A callable that counts the tokens in a text. None selects the tokenizer of
                a local embedder, such as the default one; for other embedders, tokens are estimated
                from characters.
            include_superseded: Also return superseded memories. Questions about the past may return
                them anyway.
            include_archived: Also return archived memories. An archived memory is returned anyway
                if the query contains its key or an alias.
            include_quarantined: Also return unapproved memories from untrusted sources.
            fold: Return a single hit for all memories from the same speaker that differ only in
                case, spacing, filler words or the final period; False to return each separately.
            wait: Maximum number of seconds, up to a day, to wait until the newest memories in the
                namespace or in ``session`` (up to 1,024 memories and 16,384 characters) are
                embedded, so semantic search can find them. Memories that are not embedded in time
                are found only by keyword search and are reported in ``missing``. With 0, the call
                answers at once, and they are reported only if they are the majority.
            record: Record in the event log which memories were retrieved.
            shared: Also search scopes that other namespaces share with this one (see
                ``scopes.share``), unless ``known_at``, ``as_of`` or ``session`` is given.
                ``Hit.shared`` marks such hits.
            filters: Return only memories that match: ``scope``, ``within``, ``kind``, ``tag`` and
                more; see ``Filtering``.

        Returns:
            Hits, best first; ``missing`` lists the parts of the search that were unavailable.

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
        return self._view.retrieve(
            query, k, match=match, as_of=as_of, known_at=known_at, min_score=min_score,
            min_confidence=min_confidence, cutoff=cutoff, tokens=tokens, count_tokens=count_tokens,
            include_superseded=include_superseded, include_archived=include_archived,
            include_quarantined=include_quarantined, fold=fold, wait=wait, record=record,
            shared=shared, **filters,
        )  # fmt: skip

    def prompt(
        self,
        query: str,
        k: int | None = None,
        *,
        tokens: int | None = PROMPT_TOKENS,
        count_tokens: TokenCounter | None = None,
        show_ids: bool = False,
        **options: Unpack[Retrieving],
    ) -> str:
        """Find the memories that are relevant to a query and render them as a block for a prompt.

        Each memory is rendered as an escaped record. A notice before the records states that they
        are data, and stored text can neither close nor forge the tags around the block; see
        ``memento.prompt.rendering``. The most relevant memories are shown. Of two by the same
        speaker that share a word of content, the later one comes first, unless the query asks for a
        former value, or for a time and nothing else.

        For a memory longer than 1,000 characters (``RetrieveConfig.long``), the block shows only
        the one or two relevant passages, with ``…`` in place of omitted text. A shorter memory is
        shortened only if it would not fit otherwise. If ``tokens`` is very small, the notice is
        shorter; below about 40, the block is empty and a warning is logged.

        Args:
            query: The query, in natural language.
            k: Maximum number of memories, 1 to 10,000. If None, the number depends on the query; if
                the answer's confidence is at most 0.5, only two memories and any others of similar
                confidence are shown. Otherwise, up to two more are shown that may change one of the
                first two.
            tokens: Maximum number of tokens in the whole block, >= 1; None for no limit. If the
                query needs several memories, less of each is shown; see ``RetrieveConfig.passage``.
            count_tokens: As for ``retrieve``.
            show_ids: Whether to show the id of each memory.
            options: Any other arguments of ``retrieve``, such as ``scope``. Here,
                ``min_confidence`` defaults to ``prompt_confidence``.

        Returns:
            The block; ``""`` if no memory is likely to answer the query, or none fits.
        """
        check_names(options, Retrieving, MemoryManager.prompt)
        options.setdefault("min_confidence", self._view.prompt_confidence)
        if tokens is not None:
            check_count("tokens", tokens, most=MAX_TOKENS)
        record = check_flag("record", options.get("record", True))
        record = record and options.get("known_at") is None
        past = any(options.get(name) is not None for name in ("as_of", "known_at"))
        options["record"] = False  # only what the block shows is recorded
        usual = choosing.usual(check_query(query), self._view.config.retrieve)
        found = self.retrieve(query, max(usual, choosing.AMONG) if k is None else k, **options)
        if k is None:
            found = replace(found, hits=choosing.chosen(found, usual))
        block = rendering.compose(
            found,
            nonce=rendering.new_nonce(),
            tokens=tokens,
            count_tokens=count_tokens or self._view.engine.count_tokens,
            ids=show_ids,
            cut=self._view.cut_for(found, budget=tokens is not None),
            zone=self._view.config.zone,
            query=found.query,
            against={} if past else self._view.contradicted(found),
        )
        if record and block.shown:
            self._view.engine.accessed(self._view.namespace, list(block.shown))
        return block.text

    def get(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return a memory by id, regardless of its status."""
        return self._view.get(id)

    def list(
        self,
        *,
        status: Status | StatusName | Sequence[Status | StatusName] | None = None,
        order: Literal["arrival", "occurred"] = "arrival",
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        **filters: Unpack[Filtering],
    ) -> Memories:
        """List memories in order, without ranking.

        Args:
            status: One or more of ``active`` (the default), ``superseded``, ``archived``,
                ``forgotten`` and ``quarantined``.
            order: ``arrival``, or ``occurred`` to sort by ``occurred_at``.
            newest_first: Reverse the order.
            limit: Maximum number of memories to return, 1 to 1,000,000.
            offset: Number of memories to skip, >= 0.
            as_of: As for ``retrieve``; superseded memories are included unless ``status`` is given.
            known_at: As for ``retrieve``.
            filters: See ``Filtering``.
        """
        return listing.list(
            self._view,
            status=status,
            order=order,
            newest_first=newest_first,
            limit=limit,
            offset=offset,
            as_of=as_of,
            known_at=known_at,
            **filters,
        )

    def value(
        self,
        key: str,
        *,
        scope: str = "",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Memory | None:
        """Return the memory that fills a slot.

        A value with a future ``occurred_at`` takes effect at that time. Until then, the previous
        value is returned, although it is already superseded.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Scope of the slot; only this exact scope is searched.
            as_of: Return the value and its text as of this moment (timezone-aware); None for now.
            known_at: As for ``retrieve``.

        Returns:
            The memory; None if the slot is empty. Forgotten, quarantined and expired memories never
            fill a slot.
        """
        slot = slots.slot_of(self._view, key, scope)
        now = self._view.engine.now()
        moment = None if as_of is None else check_moment("as_of", as_of)
        known = check_known_at(known_at, now)
        found = self._view.ask(lambda c, ns: past.value(c, ns, slot, moment, known, now=now))
        return None if found is None else self._view.memory(found)

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
        tier: Tier | TierName = KEEP,
        lock: LockName | None = KEEP,
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Change a memory in place; the earlier version stays in the history.

        Args:
            id: Id of the memory.
            text: New text.
            kind: New kind.
            importance: New importance, [0, 1].
            scope: New scope.
            tags: New tags, which replace all current tags.
            metadata: New metadata, which replaces the current object.
            pinned: Whether to protect the memory from fading. Only the user's memories can be
                pinned.
            valid_until: When it stops being true; None for never.
            condition: When it applies, in plain language; None for always.
            due_at: When it is due; None for no due date.
            expires_in: Time to live from now; None for no expiry.
            add_aliases: Aliases to add.
            remove_aliases: Aliases to remove.
            tier: The tier to move the memory to.
            lock: ``user`` protects the memory from all changes except erasure until it is unlocked,
                removes its expiry and defers feedback on it. ``promoted`` allows changes, but only
                the user can replace the memory until two verdicts from different days or sources
                report that it is wrong. None unlocks the memory. Only the user's memories can be
                locked, and at most 100 of them with ``user``.
            source: Trust class of the person or program that makes the change; None for the user.
                The memory cannot be trusted more than this source from then on. If the user changes
                the text of an accepted memory, its trust class becomes ``user``.

        Returns:
            The memory in its current state.

        Raises:
            InvalidInput: If the memory is forgotten.
            LockedMemory: If the user locked the memory and ``lock`` does not unlock it.
            TooManyLocks: If 100 memories are already locked.
            UntrustedSource: If ``source`` is untrusted or less trusted than the memory, or if a
                memory from an untrusted source would become a rule or be pinned.
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
            "tier": tier,
            "lock": lock,
            "source": source,
        }
        return self._view.update(id, corrections)

    def correct(
        self,
        id: str,  # noqa: A002 - the field's own name
        text: str,
        *,
        source: Source | Trust | TrustName | None = None,
        occurred_at: datetime | None = None,
    ) -> Memory:
        """Replace a wrong memory with a new one.

        The old memory is superseded and stays in the history; ``undo`` restores it. The new memory
        inherits the scope, session, key, aliases, kind, importance, tier, tags, metadata and
        speaker, as well as a rule's condition and, unless the text gives a different date, a plan's
        due date. To fix a typo, use ``update``, which changes the memory in place.

        Args:
            id: Id of the memory; it must be active.
            text: The correct statement.
            source: Source of the correction; None for the user. If the source is untrusted, the new
                memory is quarantined and replaces the old one once approved. If it is less trusted
                than the old memory, both remain active until the user resolves the conflict.
            occurred_at: When the statement became true (timezone-aware); None for now.

        Returns:
            The new memory.

        Raises:
            InvalidInput: If the memory is not active, has expired, or already has this text.
            LockedMemory: If a lock protects the memory from this source.
            SecretFound, UntrustedSource: As for ``add``.
        """
        return changes.correct(self._view, id, text, source=source, occurred_at=occurred_at)

    def forget(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Hide a memory; ``restore`` makes it active again.

        If the memory is the first part of a long turn, the other parts are hidden and restored with
        it.

        Args:
            id: The memory.
            source: Trust class of the person or program that hides it; None for the user.

        Raises:
            LockedMemory: If the user locked the memory, or another part of the turn.
            UntrustedSource: If ``source`` is untrusted or less trusted than the memory.
        """
        return self._view.forget(
            id, Trust.USER if source is None else member(Trust, "source", source)
        )

    def forget_many(self, **filters: Unpack[Filtering]) -> Ids:
        """Hide every memory that matches the filters.

        Each transaction hides a few hundred memories, so other writers never wait long. If the call
        is interrupted, repeat it to hide the rest. Memories added during the call are not included.

        Args:
            filters: See ``Filtering``. At least one filter is required, as a safeguard; an empty
                ``where`` or ``without`` is none, and ``within=""`` matches everything.

        Returns:
            Ids of the hidden memories, in order of arrival, for use with ``restore``.

        Raises:
            LockedMemory: If the user locked one of the memories; nothing is hidden. Exclude it with
                ``without``, or unlock it.
        """
        now = self._view.engine.now()
        given = filtering(now, filters, MemoryManager.forget_many)
        if not given.narrow and filters.get("within") is None:
            raise InvalidInput(
                "filters",
                'no filters were specified; pass at least one, or within="" for all memories',
            )
        asked = self._view.looked(given)
        hidden = self._view.change_rows(
            lambda c, ns: change.to_forget(c, ns, asked),
            lambda work, some: change.forget_those(work, some, asked),
            verb="forget_many",
            makes_room=True,
            now=now,
        )
        return [row.id for row in hidden]

    def restore(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Restore a forgotten memory; it becomes superseded if its slot has since been filled.

        A memory that had expired comes back without an expiry. An active or quarantined memory is
        not changed.

        Raises:
            InvalidInput: If the memory is superseded rather than forgotten. Use ``slots.revert`` to
                return to the previous value of a slot; otherwise, add the text again.
        """
        return self._view.restore(id)

    def undo(
        self, change: int | None = None, *, run: int | None = None, force: bool = False
    ) -> Undone:
        """Undo a change, except where later changes depend on it.

        Memories and links that the change altered return to their earlier state. Memories that it
        added are forgotten, and links that it added are removed. An undo is itself a change, so
        undoing it redoes the original. Memories that were approved or rejected return to
        quarantine. Erasures and feedback cannot be undone.

        ``Undone.left`` lists memories that were left unchanged because a later change altered them,
        another memory now fills their slot, their successor is hidden or no longer exists, they
        would leave quarantine, the user locked them (and the lock itself is not being undone), or
        they would exceed the limit of 100 locked memories.

        Args:
            change: Number of the change; see ``changes.list``.
            run: Number of a run to undo instead: all of its changes, newest first, each in its own
                transaction.
            force: Also undo later changes that would prevent the undo.

        Raises:
            InvalidInput: Unless exactly one of ``change`` and ``run`` is given.
            NothingToUndo: If the change does not exist, was already undone, or affected only
                memories that no longer exist.
        """
        return changes.undo(self._view, change, run=run, force=force)

    def flush(
        self, *, wait: bool = False, timeout: float | None = None, progress: Progress | None = None
    ) -> bool:
        """Write the short tier's snapshot and, optionally, wait for the indexes.

        You do not need to call this method to save memories; they are on disk when ``add`` returns.

        Args:
            wait: Wait until every memory in the store is embedded and indexed.
            timeout: Maximum number of seconds to wait, up to a day; None for no limit.
            progress: With ``wait``, called about every half second with the number of this
                namespace's memories indexed since the call began and the total; see
                ``memento.protocols.Progress``.

        Returns:
            False if work remains because the timeout expired or an index is not working (see
            ``store.stats().trouble``). Texts in other namespaces that the embedder rejected are
            ignored.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        return self._view.engine.flush(
            self._view.namespace,
            wait=check_flag("wait", wait),
            timeout=limit,
            progress=check_progress(progress),
        )

    def close(self) -> None:
        """Close the store for all views of this manager; calling this again does nothing.

        Other managers that this process opened on the same folder stay open, and the files are
        closed with the last of them.
        """
        self._view.hold.close()

    @property
    def changes(self) -> Changes:
        """Methods that list changes, compare two moments and show a memory's history."""
        return changes.Changes(self._view)

    @property
    def documents(self) -> Documents:
        """Methods that store documents of any length in parts."""
        return documents.Documents(self._view)

    @property
    def feedback(self) -> Feedback:
        """Methods that rate memories and report the resulting belief and strength."""
        return feedback.Feedback(self._view)

    @property
    def insight(self) -> Insight:
        """Methods for timelines, snapshots, lineage, dossiers, health and chains of evidence."""
        return insight.Insight(self._view)

    @property
    def quarantine(self) -> Quarantine:
        """Methods that list, approve and reject memories from untrusted sources."""
        return quarantine.Quarantine(self._view)

    @property
    def rules(self) -> Rules:
        """Methods that store an agent's rules and compile them for its prompt."""
        return rules.Rules(self._view)

    @property
    def scopes(self) -> Scopes:
        """Methods that list, define, merge and share the scopes in which memories apply."""
        return scopes.Scopes(self._view)

    @property
    def sessions(self) -> Sessions:
        """Methods that start, checkpoint, resume and end work sessions."""
        return sessions.Sessions(self._view)

    @property
    def sleep(self) -> Sleep:
        """Methods that tidy up the store, list stale memories and archive memories."""
        return sleep.Sleep(self._view)

    @property
    def slots(self) -> Slots:
        """Methods for inspecting the history and conflicts of single-valued keys."""
        return slots.Slots(self._view)

    @property
    def store(self) -> Store:
        """Methods for the whole store, such as statistics, backup, export, erasure and checks."""
        return store.Store(self._view)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
