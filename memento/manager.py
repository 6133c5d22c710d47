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
    check_count,
    check_flag,
    check_moment,
    check_progress,
    check_seconds,
    member,
)
from memento.config import Config
from memento.errors import InvalidInput
from memento.holding import hold
from memento.ledger.filters import (
    Filtering,
    Retrieving,
    check_known_at,
    check_names,
    filtering,
)
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
    from memento.prompt import rendering
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

    Everything is in one folder on disk, which several processes may open. All methods are
    thread-safe. Use the manager as a context manager, or call ``close``; a manager without
    references is closed automatically.

    Which method to call:

    - to store one statement, or many: ``add``, ``add_many``
    - to store a conversation and learn from it: ``observe``; to only store it: ``keep``
    - to store a document or an export: ``documents``
    - to find memories: ``retrieve``; as text for a prompt: ``prompt``
    - to find them for the next turn of a chat: ``recall``
    - to look up: ``get`` by id, ``value`` by key, ``list`` by filter
    - to change: ``update`` for fields, ``correct`` for what is wrong
    - to hide and bring back: ``forget``, ``forget_many``, ``restore``, ``undo``
    - to wait for the background, and to end: ``flush``, ``close``
    - for another user: ``of``

    The parts: ``store`` (backup, export, erase, statistics), ``documents``, ``changes`` (history),
    ``slots`` (values by key, conflicts), ``rules``, ``sessions``, ``scopes``, ``quarantine``,
    ``feedback``, ``insight`` (timeline, dossier) and ``sleep`` (tidy up).

    Managers that a process opens on the same folder share files, threads and caches if their
    ``config`` is equal and their embedder, clock and reranker are the same objects or names. Other
    managers work side by side like two processes; then one of them feeds Chroma for all.

    Args:
        root: The store folder; created if missing. None for the default: ``$MEMENTO_ROOT``,
            else the folder ``agent_memory`` here or above, else ``memento`` in the user's data
            folder.
        namespace: Who can see these memories: one label or several. A manager sees only its own
            namespace; ``of`` returns a view of another.
        config: Settings, all of them; None for those of the store's ``memento.toml``, the user's
            and the environment, see ``memento.settings.load``.
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
        """Return a view of another namespace of the same store.

        The views share the store and its resources; closing one closes all.

        Args:
            labels: One label or several, such as ``of("acme", "rami")``.
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
        """Store a text as a memory. When ``add`` returns, the memory is on disk.

        Identical content in the same namespace, scope, slot and session, by the same actor and
        role, is stored once. Adding it again returns the existing memory, counts a reinforcement
        (``Memory.reinforced`` > 0 shows a repeat) and merges the arguments into it: the higher
        tier, the larger importance, the later expiry and a pin win; tags, aliases and metadata are
        combined, up to 64 of each. The earlier state stays in the history (``merged``), for up to
        64 repeats. A repeat from a less trusted source is only counted; see
        ``memento.write.merge``. Texts from different moments (``occurred_at``) are stored
        separately. So are identical turns of a session, in the short tier or of kind ``episode``,
        that have no ``occurred_at``.

        A text of more than ``Config.limits.text_chars`` characters is refused, unless it is a turn
        of a conversation (it has a ``session`` or a ``role``, or is of kind ``episode``, and has no
        ``key``). Such a turn is stored in parts of up to 1,000 characters. The first part is
        returned; the others are linked to it (``related``) and go to the medium tier or above, so
        that they do not push the conversation out of the ring buffer. The ``metadata`` of each
        contains ``part`` and ``parts``. ``replace`` does not split. For other long texts, use
        ``documents.add``.

        Args:
            text: Text to store; not empty, at most ``Config.limits.text_chars`` characters unless
                it is a turn.
            tier: ``short``, ``medium`` or ``long``; None to choose by importance.
            kind: Kind of statement, see ``Kind``.
            importance: [0, 1]; None to estimate it, see ``memento.admit.importance``.
            key: The slot it fills, such as ``user/editor``. A new value for a slot supersedes the
                current one, which stays in the history. A value with an earlier ``occurred_at``
                than the current one goes straight into the history. If the source is trusted less
                than that of the current value, the memory is stored without the key, and
                ``slots.conflicts`` lists both until the user settles them.
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
            expires_in: Seconds or a timedelta, after which it is no longer found.
            pinned: Whether it never fades; a pinned memory goes to the long tier if no tier is
                given.
            supersedes: Ids of memories that it replaces. A memory of a more trusted source stays,
                in conflict with this one.
            related: Ids of memories to link it to.
            id: Your own id, 1 to 128 characters. It makes retries safe: a retry is not counted as a
                repeat, and merges only arguments that the first call did not have. A trusted memory
                may take over the id of a quarantined or rejected one. Adding the same text under
                the id of a forgotten, archived, superseded or expired memory brings that memory
                back with the status of a new one.
            signal: How the statement was recognised in a conversation; set by ``observe``.
            condition: When a rule applies, in words. The same text with another condition is
                another memory.
            due_at: When a plan is due, with a time zone.
            replace: If ``id`` is taken, replace the memory that has it, whatever its status. The
                earlier state stays in the history, and a forgotten, superseded or expired memory
                becomes active again. Replacing with identical content makes no new version. A less
                trusted source cannot replace a memory; an untrusted one can replace only unapproved
                memories of untrusted sources.

        Returns:
            The memory as stored, after merging; for a turn in parts, the first part.

        Raises:
            InvalidInput: If a value cannot be accepted; nothing was written.
            IdConflict: If ``id`` is taken by a memory with other content and ``replace`` is False.
            SecretFound: If it contains a secret and ``Config.secrets`` is ``"reject"``.
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
        return self._view.add([draft], replace=replace)[0]

    def add_many(
        self,
        items: Iterable[str | Mapping[str, Any] | Draft],
        *,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Memories:
        """Store several texts in one transaction: all of them, or none.

        Other writers wait for it, about 0.1 s for a thousand texts, so split large numbers into
        several calls.

        Args:
            items: Texts, mappings with the arguments of ``add``, or drafts.
            replace: As for ``add``; each item needs an ``id``, and if several have the same id, the
                last one wins.
            progress: Called about every hundred items with the number of items checked and the
                total, and once with the total twice when all are on disk; see
                ``memento.protocols.Progress``. If it raises before that, nothing is written. A turn
                that is split counts as several items.

        Returns:
            The memories as stored, one per item, in order; see ``add`` for turns that are too long.
            An item with a ``source.uri`` and an ``id`` is treated as re-read from its source:
            sentences that were erased, forgotten or reworded here in the meantime are left out, and
            an item with nothing left is not stored.

        Raises:
            InvalidInput: If an item cannot be accepted; the message names its position.
            IdConflict: If an ``id`` is taken by a memory with other content and ``replace`` is
                False.
            SecretFound: As for ``add``.
            UntrustedSource: As for ``add``.
            StoreError: If they could not be written.
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
        """Store a turn of a conversation and learn from what the user says.

        The turns are stored as with ``keep``. Statements in the user's messages that are worth
        keeping become memories: facts about the user, preferences, rules, corrections, decisions
        and plans. Each is stored in the user's own words, with the turn as its parent. A new value
        for a slot supersedes the old one. ``undo`` of ``Observation.change`` takes back everything
        that a call learned.

        In the default mode, ``off``, no language model is used. In the other modes, a model may
        point at more of the user's sentences; it writes no text, and nothing is lost if it fails.

        Observing the same turn again changes nothing. A turn is identified by its session and
        ``id``, or, without an id, by its session and text if it is the speaker's last turn there.
        If a language model has not seen the turn yet, it is sent it now. Erased and forgotten turns
        are left out, as with ``keep``.

        With ``LLMConfig.background``, the call does not wait for the model: ``Observation.pending``
        messages wait in the ledger and are sent to it later.

        Args:
            user: The user's message.
            assistant: The assistant's answer. It is stored, and the user's next message in the
                session is read as a reply to it, but nothing is learned from it.
            messages: Turns in order, as for ``keep``, instead of ``user`` and ``assistant``.
            session: Name of the conversation.
            scope: Scope of the conversation; ``""`` is everywhere. None for the session's scope, or
                for a scope named with ``scopes.define`` that the user mentions. Statements of users
                about themselves apply everywhere.
            actor: Name of the user.
            occurred_at: When it was said, with a time zone; None for now. Dates such as "on Friday"
                are relative to it.
            source: Who speaks in the role of the user; None for the user. Nothing is learned from
                any other source.
            keep: Whether to store the turns.
            turn_id: With ``keep=False``: id of the memory that contains the user's message.
            mode: ``off``, ``assist`` or ``full``, see ``ObserveConfig``; None for
                ``Config.observe.mode``. With a language model, the call waits for its reply; by
                then, the turns and all certain statements are on disk.
            id: Id of the user's message in its conversation.

        Raises:
            InvalidInput: If an argument cannot be accepted, or the mode needs a language model and
                ``Config.llm`` names none that can be used.
            MissingExtra: If the package of the language model is not installed.
            NotFound: If ``turn_id`` is not a memory of this namespace.
            SecretFound: If a text contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If it could not be written; nothing was stored.
            TurnErased: If a turn was erased while it was being written; nothing was stored.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     for said in ("I live in Utrecht.", "I live in Porto now."):
        ...         seen = memory.observe(said, "Will do.", session="monday")
        ...     memory.value("user/home").text
        'I live in Porto now.'
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
    ) -> Memories:
        """Store the turns of a conversation, each exactly once, however often you pass it.

        A turn is identified by its session and ``id``. Without an id, it is identified by its text
        and how often that was said before, so pass the conversation from its beginning. With
        neither a session nor an id, identical texts of a role are stored once.

        If a known id has new text, the memory is corrected, and the earlier text stays in the
        history. If an untrusted source edits an approved memory, the edit is quarantined beside it.
        Edits of turns that the user locked are ignored.

        No text is refused: characters that cannot be stored become the replacement character, and a
        turn of more than 16,000 characters is stored in parts. Blocks that memento rendered for a
        prompt are left out, and payloads, such as a picture as a ``data:`` URI, become a short
        note.

        An erased or forgotten turn stays away when it is passed again, even with an earlier version
        of its text. A new message is stored, whatever its words: one with another id or other
        words, or, without an id, the user's last message with what follows it. The exception is a
        last message after the same turns as when it was erased, which cannot be told from a retry.
        With neither a session nor an id, the last message is always new, and what comes before it
        is not.

        The role decides the trust: ``user`` counts as ``speaker``, ``tool`` as a tool, so it is
        quarantined by default, and everything else as an agent. Other spellings of ``tool``, such
        as ``function`` and ``TOOL``, count as ``tool``.

        Args:
            messages: The turns in order: ``Turn`` objects, strings (from the user), or messages as
                chat APIs and frameworks represent them, with ``role`` and ``content`` or ``type``
                and ``parts``, and optional ``id`` and ``name``; see the how-to on conversations.
                Messages without a speaker, or in an unknown format, are refused. Only text blocks
                are stored; for files and tool results in a message, see ``documents.add`` and
                ``add(source=...)``.
            session: Name of the conversation; any string.
            speaker: Who writes the turns with the role ``user``: ``agent`` if it is another agent,
                as in a subagent. These turns are then not shown as the user's.

        Returns:
            The memories, in order: one per turn, several for a long one, none for a blank or an
            erased one.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            SecretFound: If a text contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If they could not be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     talk = [{"role": "user", "content": "My bike is red.", "id": "1"}]
        ...     for _ in range(2):
        ...         kept = memory.keep(talk, session="monday")
        ...     [one.text for one in memory.list()]
        ['My bike is red.']
        """
        return conversation.keep(self._view, messages, session=session, speaker=speaker)

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
        wait: float = 0.0,
        record: bool = True,
        filters: Filtering | None = None,
    ) -> Recalled:
        """Find memories for the user's last message, as a block for the prompt.

        The search uses the last message and, with less weight, the user's last three messages
        together. This handles both follow-ups, such as "And the sister?", and changes of subject.
        After thanks or a greeting, or if no memory is likely to answer, the block is empty.

        Messages that are still in the conversation are left out, so pass the same ``session`` and
        messages as to ``keep``. Identical texts are shown once, even if several people said them;
        of near-identical texts, the newest comes first and the others last. The user's earlier
        questions come after statements and take at most a quarter of the places, unless there is
        nothing else to show.

        Args:
            messages: The conversation so far, as for ``keep``; it ends with the message to answer.
                A single string is a question outside any conversation.
            session: Name of the conversation. Memories of every session are found.
            k: Maximum number of memories, 1 to 10,000.
            tokens: Maximum number of tokens in the block, as for ``prompt``; None for no limit.
            min_confidence: Minimum probability that a hit is an answer, [0, 1]; None for
                ``prompt_confidence``.
            fold: Show identical texts once, and near-duplicates last; False shows each separately.
            diverse: Prefer memories that differ in meaning over the best matches, so that what
                several agents report in different words takes only one place.
            wait: As for ``retrieve``.
            record: Record in the event log which memories the block shows.
            filters: Only memories that match; see ``Filtering``. ``without`` excludes more memories
                than those of the conversation.

        Returns:
            The block, and the hits it shows.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreError: If the ledger cannot be read.

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
        wait: float = 0.0,
        record: bool = True,
        shared: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Find the memories that are relevant to a query, best first.

        Any text is a valid query, in any language; it has no special syntax.

        Args:
            query: The query, in plain words.
            k: Maximum number of hits to return, 1 to 10,000; None for as many as the query needs:
                more for a list, a count, a comparison, an order or a summary; see
                ``RetrieveConfig``. A larger ``k`` only appends hits: the earlier ones and their
                order stay the same, though they may list more ids in ``folded``.
            match: ``"auto"`` puts memories whose key or alias the query names first; ``"names"``
                returns only those; ``"text"`` ignores names.
            as_of: Only memories that were valid at this moment, with the text that they had then,
                including memories superseded since.
            known_at: Return what this call would have returned at this moment, from what had been
                recorded by then, including memories that have been forgotten since. Erased memories
                are gone, and memories that are or were in quarantine are left out. Combined with
                ``as_of``, it returns what was known at this moment about that one. The query is not
                logged. A memory whose text has changed since is found by its earlier words, but not
                by meaning.
            min_score: Drop hits below this score, [0, 1].
            min_confidence: Return nothing if the probability that the hits contain an answer is
                below this, [0, 1], as it is for greetings, thanks and questions about other things.
            cutoff: Drop hits below this share of the best hit's score, [0, 1].
            tokens: Return only as many hits, in order, as fit into this many tokens. For a long
                memory, only the ``passage`` relevant to the query is counted; see
                ``RetrieveConfig.long``.
            count_tokens: Counts the tokens of a text; None for the tokenizer of a local embedder,
                such as the default one, or else an estimate from the characters of the text.
            include_superseded: Also return superseded memories. Questions about the past may return
                them anyway.
            include_archived: Also return archived memories. Those that the query names are returned
                anyway.
            include_quarantined: Also return unapproved memories from untrusted sources.
            fold: Return one hit for all memories by one speaker that differ only in case, spacing,
                filler words or the final full stop; False returns each separately.
            wait: Maximum number of seconds to wait until recently added memories can be found by
                meaning; up to a day. The call waits for the newest memories of the namespace, or of
                ``session``, up to 1,024 memories and 16,384 characters, which are embedded before
                all others. Memories that are not embedded in time are found by words only and
                reported in ``missing``. With 0, the call does not wait, and reports such memories
                only if they are the majority.
            record: Record in the event log which memories were retrieved.
            shared: Also search scopes that other namespaces share with this one, see
                ``scopes.share``; not with ``known_at``, ``as_of`` or ``session``. ``Hit.shared``
                marks such hits.
            filters: Only memories that match: ``scope``, ``within``, ``kind``, ``tag`` and more;
                see ``Filtering``.

        Returns:
            Hits, best first; ``missing`` lists the parts of the search that were unavailable.

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
        return self._view.retrieve(
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

        Each memory is one escaped record between tags that stored text can neither close nor forge,
        below a line that says that it is data; see ``memento.prompt.rendering``.

        From a memory of more than 1,000 characters (``RetrieveConfig.long``), the block shows the
        one or two relevant passages, with ``…`` for omitted text. A shorter memory is cut only if
        it does not fit otherwise. A very small budget gets a shorter notice; below about 40 tokens,
        the block is empty and a warning is logged.

        Args:
            query: The query, in plain words.
            k: Maximum number of memories to show, 1 to 10,000; None for as many as the query needs,
                and hardly more than two if no answer is likelier than 0.5.
            tokens: Maximum number of tokens in the whole block, >= 1; None for no limit. If the
                query needs several memories, less is shown of each; see ``RetrieveConfig.passage``.
            count_tokens: Counts the tokens of a text; None for the tokenizer of a local embedder,
                such as the default one, or else an estimate from the characters of the text.
            show_ids: Whether to show the id of each memory.
            options: Any other argument of ``retrieve``, such as ``scope`` or ``min_score``. Here,
                ``min_confidence`` defaults to ``prompt_confidence``.

        Returns:
            The block; ``""`` if no memory is likely to answer the query, or none fits.

        Raises:
            InvalidInput: If an argument other than the query cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        check_names(options, Retrieving, MemoryManager.prompt)
        options.setdefault("min_confidence", self._view.prompt_confidence)
        if tokens is not None:
            check_count("tokens", tokens, most=MAX_TOKENS)
        record = check_flag("record", options.get("record", True))
        record = record and options.get("known_at") is None
        past = any(options.get(name) is not None for name in ("as_of", "known_at"))
        options["record"] = False  # only what the block shows is recorded
        found = self.retrieve(query, k, **options)
        if k is None:
            found = replace(found, hits=rendering.likely(found.hits, found.confidence))
        block = rendering.compose(
            found,
            nonce=rendering.new_nonce(),
            tokens=tokens,
            count_tokens=count_tokens or self._view.engine.count_tokens,
            ids=show_ids,
            cut=self._view.cut_for(found, budget=tokens is not None),
            zone=self._view.config.zone,
            against={} if past else self._view.contradicted(found),
        )
        if record and block.shown:
            self._view.engine.accessed(self._view.namespace, list(block.shown))
        return block.text

    def get(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return one memory by id, whatever its status.

        Raises:
            NotFound: If this namespace has no such id.
            StoreUnusable: If the memory was damaged on the disk.
        """
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
            status: ``active`` (the default), ``superseded``, ``archived``, ``forgotten``,
                ``quarantined``, or several of these.
            order: ``arrival``, or ``occurred`` for the order of ``occurred_at``.
            newest_first: Reverse the order.
            limit: Maximum number of memories to return, 1 to 1,000,000.
            offset: Number of memories to skip first, >= 0.
            as_of: Only memories that were valid at this moment, with the text that they had then;
                unless ``status`` says otherwise, superseded ones as well.
            known_at: List what this call would have listed at this moment; see ``retrieve``.
            filters: See ``Filtering``.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If a memory, or its state of then, is damaged.
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
        """Return the memory that holds a slot.

        A value with a future date (``occurred_at``) holds the slot only from then on. Until then,
        the previous value is returned, although it is already superseded.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Scope of the slot; only this exact scope is searched.
            as_of: The moment at which the value must hold, with a time zone; None for now. For
                another moment, the memory has the text that it had then.
            known_at: Return what this call would have returned at this moment; see ``retrieve``.

        Returns:
            The memory; None if nothing holds the slot. A forgotten, quarantined or expired memory
            does not hold a slot, at any moment.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If the memory is damaged.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     vim = memory.add("Rami uses Vim", key="rami/editor")
        ...     helix = memory.add("Rami uses Helix", key="rami/editor")
        ...     memory.value("rami/editor").text, memory.value("rami/shell")
        ('Rami uses Helix', None)
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
            tags: New tags, which replace all current ones.
            metadata: New metadata, which replaces the current object.
            pinned: Whether it never fades. Only the user's memories can be pinned.
            valid_until: When it stops being true; None for never.
            condition: When it applies, in words; None for always.
            due_at: When it is due; None for no date.
            expires_in: Time to live from now; None for no expiry.
            add_aliases: Names to add.
            remove_aliases: Names to remove.
            tier: The tier to move it to.
            lock: ``user``: nothing changes it until it is unlocked, its expiry is removed, and
                feedback on it waits. ``promoted``: it can be changed, but only the user can replace
                it, until two verdicts from different days or sources say that it is wrong. None
                unlocks it. Only the user's memories can be locked, at most 100 of them as ``user``.
                ``store.erase`` removes locked memories, too.
            source: Who makes the change, a trust class; None for the user. From then on, the memory
                is trusted no more than this source. An accepted memory whose text the user changes
                becomes the user's.

        Returns:
            The memory as it is now.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it, and ``lock`` does not say otherwise.
            TooManyLocks: If 100 are locked already.
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

        The old memory is superseded and stays in the history; ``undo`` brings it back. The new one
        takes over its scope, session, key, aliases, kind, importance, tier, tags, metadata and
        speaker, the condition of a rule, and the date of a plan unless the text gives another one.
        To fix a typo, use ``update``, which changes the memory in place.

        Args:
            id: Id of the memory; it must be active.
            text: The correct statement.
            source: Who makes the correction; None for the user. If the source is not trusted, the
                new memory is quarantined and replaces the old one once approved. If it is trusted
                less than the old memory, both stay, in conflict, until the user settles them.
            occurred_at: Since when the statement is right, with a time zone; None for now.

        Returns:
            The new memory.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If a value cannot be accepted, or the memory is not active, has expired,
                or already says this.
            LockedMemory: If the memory is locked against this source.
            SecretFound: As for ``add``.
            UntrustedSource: As for ``add``.
            StoreError: If it could not be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     wrong = memory.add("Rami lives in Rome", tags=["home"])
        ...     right = memory.correct(wrong.id, "Rami lives in Oslo")
        ...     right.tags, memory.get(wrong.id).status.value
        (('home',), 'superseded')
        """
        return changes.correct(self._view, id, text, source=source, occurred_at=occurred_at)

    def forget(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Hide a memory; ``restore`` brings it back.

        Args:
            id: The memory.
            source: Who hides it, a trust class; None for the user.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it.
            UntrustedSource: If ``source`` is not trusted, or is trusted less than the memory.
        """
        return self._view.forget(
            id, Trust.USER if source is None else member(Trust, "source", source)
        )

    def forget_many(self, **filters: Unpack[Filtering]) -> Ids:
        """Hide every memory that matches the filters.

        Each transaction hides a few hundred, so that other writers never wait long. If the call is
        interrupted, repeat it to hide the rest. Memories added during the call are not included.

        Args:
            filters: See ``Filtering``. At least one is required, as a safeguard; ``within=""``
                matches everything.

        Returns:
            Ids of the hidden memories, in order of arrival; ``restore`` brings each back.

        Raises:
            InvalidInput: If a filter cannot be accepted, or no filter is given.
            LockedMemory: If the user locked one of them; then nothing is hidden. Exclude it with
                ``without``, or unlock it.
        """
        if all(value is None for value in filters.values()):
            raise InvalidInput(
                "filters", 'no filters given; pass at least one, or within="" for all memories'
            )
        now = self._view.engine.now()
        asked = self._view.looked(filtering(now, filters, MemoryManager.forget_many))
        hidden = self._view.change_rows(
            lambda c, ns: change.to_forget(c, ns, asked),
            lambda work, some: change.forget_those(work, some, asked),
            verb="forget_many",
            makes_room=True,
            now=now,
        )
        return [row.id for row in hidden]

    def restore(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Bring back a forgotten memory, as superseded if its slot has been filled since.

        An active or quarantined memory is not changed.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is superseded and was not forgotten. Use ``slots.revert`` to bring
                back the previous value of a slot; otherwise, add the text again.
        """
        return self._view.change(id, lambda work: change.restore(work, id), verb="restore")

    def undo(
        self, change: int | None = None, *, run: int | None = None, force: bool = False
    ) -> Undone:
        """Undo a change, except where later changes build on it.

        Each memory that the change altered returns to its earlier state, each memory that it added
        is forgotten, and links likewise. An undo is itself a change, so undoing it redoes the
        original. What was approved or rejected waits in quarantine again. Erasures and feedback are
        not undone.

        A memory is left as it is, and listed in ``Undone.left``, if a later change altered it,
        another memory holds its slot now, its successor is hidden or gone, it would leave
        quarantine, the user locked it and the lock itself is not being undone, or it would become
        the 101st locked memory.

        Args:
            change: Number of the change, see ``changes.list``.
            run: A run to undo instead: all its changes, newest first, each in its own transaction.
            force: Also undo later changes that stand in the way.

        Raises:
            InvalidInput: If not exactly one of ``change`` and ``run`` is given.
            NothingToUndo: If there is no such change, it was already undone, or nothing from it
                exists any more.
            StoreUnusable: If an earlier state is damaged.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     old = memory.add("Rami uses Vim", key="rami/editor")
        ...     new = memory.add("Rami uses Helix", key="rami/editor")
        ...     done = memory.undo(memory.changes.list()[0].number)
        ...     memory.value("rami/editor").text, memory.get(new.id).status.value
        ('Rami uses Vim', 'forgotten')
        """
        return changes.undo(self._view, change, run=run, force=force)

    def flush(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> bool:
        """Write the snapshot of the short tier, and optionally wait for the indexes.

        You do not need it to save memories: they are on disk when ``add`` returns.

        Args:
            wait: Wait until every memory of the store is embedded and indexed.
            timeout: Maximum number of seconds to wait, up to a day; None for no limit.
            progress: With ``wait``, called about every half second with the number of this
                namespace's memories indexed since the call, and the number it waits for; see
                ``memento.protocols.Progress``.

        Returns:
            False if work is left: the time ran out, or an index does not work (see
            ``store.stats().trouble``). Texts of other namespaces that the embedder refused are
            ignored.

        Raises:
            InvalidInput: If the timeout is not a number of seconds.
            StoreError: If the store cannot be read.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        return self._view.engine.flush(
            self._view.namespace,
            wait=check_flag("wait", wait),
            timeout=limit,
            progress=check_progress(progress),
        )

    def close(self) -> None:
        """Close the store for all views of this manager. Calling it again does nothing.

        Other managers that this process has on the folder stay open; the last one closes the files.
        """
        self._view.hold.close()

    @property
    def changes(self) -> Changes:
        """Changes to memories: list them, compare two moments, or see a memory's history."""
        return changes.Changes(self._view)

    @property
    def documents(self) -> Documents:
        """Documents of any length, stored in parts."""
        return documents.Documents(self._view)

    @property
    def feedback(self) -> Feedback:
        """Feedback on memories, and the belief and strength computed from it."""
        return feedback.Feedback(self._view)

    @property
    def insight(self) -> Insight:
        """Overviews: timelines, snapshots, lineage, dossiers, health and chains of evidence."""
        return insight.Insight(self._view)

    @property
    def quarantine(self) -> Quarantine:
        """Memories from untrusted sources: list, approve or reject them, or hide a whole source."""
        return quarantine.Quarantine(self._view)

    @property
    def rules(self) -> Rules:
        """An agent's standing instructions: add rules and build the policy for a prompt."""
        return rules.Rules(self._view)

    @property
    def scopes(self) -> Scopes:
        """Scopes in which memories apply: list, define, merge and share them."""
        return scopes.Scopes(self._view)

    @property
    def sessions(self) -> Sessions:
        """Work sessions: start, checkpoint, resume and end them."""
        return sessions.Sessions(self._view)

    @property
    def sleep(self) -> Sleep:
        """Maintenance: tidy up the store, list stale memories, and archive memories."""
        return sleep.Sleep(self._view)

    @property
    def slots(self) -> Slots:
        """Keys with one value at a time: their history and conflicts."""
        return slots.Slots(self._view)

    @property
    def store(self) -> Store:
        """The store itself: statistics, backup, export, erasure, checks and reindexing."""
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
