"""``MemoryManager``, the object that applications use.

Each method checks its arguments and calls the module that holds the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from memento import conversation
from memento.admit.draft import drafts_of
from memento.base.clock import system_clock
from memento.base.home import default_root
from memento.base.lazy import later
from memento.base.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.check import (
    MAX_TOKENS,
    check_count,
    check_flag,
    check_moment,
    check_progress,
    check_seconds,
    member,
)
from memento.config import Config
from memento.conversation import Messages
from memento.conversation.turns import Recalled
from memento.errors import InvalidInput
from memento.holding import hold
from memento.learning import Learning
from memento.ledger import past
from memento.ledger.filters import (
    Filtering,
    Retrieving,
    check_known_at,
    check_names,
    filtering,
)
from memento.observe.values import Observation
from memento.prompt import rendering
from memento.types import (
    Draft,
    Kind,
    KindName,
    LockName,
    Match,
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
from memento.verbs import listing
from memento.verbs.changes import Changes
from memento.verbs.correcting import correct
from memento.verbs.documents import Documents
from memento.verbs.feedback import Feedback
from memento.verbs.insight import Insight
from memento.verbs.quarantine import Quarantine
from memento.verbs.rules import Rules
from memento.verbs.scopes import Scopes
from memento.verbs.session_handle import TOKENS
from memento.verbs.sessions import Sessions
from memento.verbs.sleep import Sleep
from memento.verbs.slots import Slots, slot_of
from memento.verbs.store import Store
from memento.verbs.undoing import undo
from memento.views import Memories, Part, View
from memento.write import change

if TYPE_CHECKING:
    from memento.learning import model_later
    from memento.protocols import Clock, Embedder, Progress, Reranker, TokenCounter
else:
    model_later = later("memento.learning.model_later")

KEEP = change.KEEP
Ids = list[str]
"""Named here, because inside the class ``list`` is a method."""


class MemoryManager(Part):
    """Remembers, finds and corrects what an agent should know.

    One folder on disk holds everything; several processes may open it. Every method may be called
    from any thread. Use it as a context manager, or call ``close``; a manager that nobody refers to
    any more is closed soon.

    Managers that one process has on one folder share files, threads and caches if their ``config``
    is equal and embedder, clock and reranker are the same objects or names. Others work beside each
    other like two processes; then one of them feeds Chroma for all.

    Args:
        root: Folder of the store; created if missing. None for the default: ``$MEMENTO_ROOT``,
            else the folder ``agent_memory`` here or above, else one of the user's data folder.
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
        root: str | Path | None = None,
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
        root = default_root() if root is None else root
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
        and ``parts``. ``replace`` does not split. For any other long text use ``documents.add``.

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
                key, and the two are among ``slots.conflicts`` until the user settles them.
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
        return self._view.add([draft], replace=replace)[0]

    def add_many(
        self,
        items: Iterable[str | Mapping[str, Any] | Draft],
        *,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Memories:
        """Remember several texts in one transaction: all of them, or none.

        Other writers wait during it, about 0.1 s for a thousand: split a large number into several
        calls.

        Args:
            items: Texts, mappings with the arguments of ``add``, or drafts.
            replace: As for ``add``; each item needs an ``id``, and if several have the same id, the
                last one wins.
            progress: Called with the number of items that are checked and of all items, about every
                hundred, and with the total twice when all are on the disk; see
                ``memento.protocols.Progress``. If it raises before that, nothing was written. A
                turn in parts counts as its parts.

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
        check_progress(progress)
        drafts = drafts_of(items)
        check_flag("replace", replace)
        if not drafts:
            return []
        return self._view.add(drafts, replace=replace, progress=progress)

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
        """Learn from a turn of a conversation; nothing that was said is lost.

        The turns are kept as ``keep`` does it. From the messages of the user, and from nothing
        else, statements that are worth it become memories: who the user is, preferences, rules,
        corrections, decisions, plans. A statement is stored in the user's own words and names its
        turn as its parent. Another value of the same slot supersedes the one before; ``undo`` of
        ``Observation.change`` takes back all that one call learnt.

        In the mode ``off``, the default, no language model is asked. In the others it may point at
        further sentences of the user; it writes no text, and a failure of it loses nothing.

        Observing the same turn twice changes nothing the second time: a turn is known by its
        session and ``id``, or else by its session and text if it is the last of its speaker there.
        A language model that did not see it then is shown it now. A turn that was erased or
        forgotten is left out, as ``keep`` does it.

        With ``LLMConfig.background`` the call does not wait for the model: ``Observation.pending``
        messages wait in the ledger and are shown to it later.

        Args:
            user: Message of the user.
            assistant: The answer of the assistant to it. It is kept; the next message of the user
                in the session is read as an answer to it. Nothing is learnt from it.
            messages: Turns in order, as for ``keep``, instead of ``user`` and ``assistant``.
            session: Name of the conversation.
            scope: Where it takes place, a path; ``""`` is everywhere. None for that of the session,
                or for the scope named with ``scopes.define`` that the words of the user name.
                Statements of the user about themselves apply everywhere.
            actor: Name of the user.
            occurred_at: When it was said, with a time zone; None for now. Dates such as "on Friday"
                are read from there.
            source: Who writes as the user; None for the user. From any other source nothing is
                learnt.
            keep: Whether to store the turns.
            turn_id: With ``keep=False``: id of the memory that holds the message of the user.
            mode: ``off``, ``assist`` or ``full``, see ``ObserveConfig``; None for
                ``Config.observe.mode``. With a language model the call waits for its reply, after
                the turns and all that is sure are on the disk.
            id: Id of the user's message in its conversation.

        Raises:
            InvalidInput: If an argument cannot be accepted, or the mode needs a language model and
                ``Config.llm`` names none that can be used.
            MissingExtra: If the package of the language model is not installed.
            NotFound: If ``turn_id`` is no memory of this namespace.
            SecretFound: If a text holds a secret and ``Config.secrets`` says to refuse it.
            StoreError: If it could not be written; then nothing was.
            TurnErased: If a turn was erased while it was written; then nothing was.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     for said in ("I live in Utrecht.", "I live in Porto now."):
        ...         seen = memory.observe(said, "Will do.", session="monday")
        ...     memory.value("user/home").text
        'I live in Porto now.'
        """
        return Learning(self._view).observe(
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
        """Keep the turns of a conversation, each exactly once, however often it is given.

        A turn is known by its session and its ``id``. Without an id it is known by its text and by
        how often that was said before, so give the conversation from its beginning. With neither a
        session nor an id, equal texts of one role are stored once.

        A turn that is edited, that is, has other words under its id, corrects its memory; the
        earlier words stay in the history. The edit of an untrusted source is quarantined beside a
        memory that was approved, and the edit of a turn that the user locked is left out.

        Nothing in a text is refused: a NUL or half of a surrogate pair becomes the replacement
        character, and a turn of more than 16,000 characters is kept in pieces. A block that memento
        rendered for a prompt is no part of what is said, and a payload, such as a picture as a
        ``data:`` URI, becomes a short note.

        A turn that was erased or forgotten stays away when it is given again, also in words that
        its message said earlier. A new message is stored, whatever its words: one with another id
        or other words, and without an id the last message of the user with what follows it, unless
        it stands behind the same turns as when it was taken out: then nobody can tell it from a
        retry. With neither a session nor an id the last message is always new, and what stands
        before it is given again.

        A turn is trusted as far as who wrote it: ``user`` as ``speaker``, ``tool`` as a tool, so it
        is quarantined by default, and everything else as an agent. Other names and spellings of
        ``tool``, such as ``function`` and ``TOOL``, are the same to this.

        Args:
            messages: The turns in order: ``Turn``, texts of the user, or mappings as chat APIs and
                frameworks have them: ``role`` and ``content``, ``type`` and ``parts``, also with
                ``id`` and ``name``; see the how-to on conversations. One that does not say who
                speaks, or holds words where none are known to be, is refused. Only blocks of text
                are kept: a file or a tool's result among the blocks is not what the speaker says,
                see ``documents.add`` and ``add(source=...)``.
            session: Name of the conversation; any string.
            speaker: Who writes the turns of the role ``user``: ``agent`` if it is another agent, as
                in a subagent. These turns are then not shown as the user's.

        Returns:
            The memories, in order: one per turn, several for a long one, none for a blank or an
            erased one.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            SecretFound: If a text holds a secret and ``Config.secrets`` says to refuse it.
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
        tokens: int | None = TOKENS,
        min_confidence: float | None = None,
        fold: bool = True,
        diverse: bool = False,
        wait: float = 0.0,
        record: bool = True,
        filters: Filtering | None = None,
    ) -> Recalled:
        """Find what bears on the last message of the user, as a block for the prompt.

        The query is the last message, and beside it the last three messages of the user, which
        weigh less: so "And the sister?" is understood, and so is a new subject. After thanks or a
        greeting, and if nothing is likely to be an answer, the block is empty.

        Turns that the conversation shows are left out; give the same ``session`` and messages as to
        ``keep``. Equal texts are shown once, even if several people said them; of texts that say
        nearly the same the newest comes first and the others last. Earlier questions of the user
        come after statements, in at most a quarter of the places, and more only if they are free.

        Args:
            messages: The conversation so far, as for ``keep``; it ends with what is to be answered.
                One text is a question outside any conversation: it shows nothing that could be left
                out.
            session: Name of the conversation; memories of every session are found.
            k: Most memories, 1 to 10,000.
            tokens: Most tokens of the block, as for ``prompt``; None for no limit.
            min_confidence: Least chance that an answer is among them, [0, 1]; None for
                ``prompt_confidence``.
            fold: Show equal texts once, and near repetitions last; False shows each by itself.
            diverse: Give the places to memories that differ from each other in meaning, instead of
                to the best ones: what several agents report in other words then takes one place.
            wait: As for ``retrieve``.
            record: Record in the event log which memories the block shows.
            filters: Only memories that match; see ``Filtering``. ``without`` names memories that
                are shown already, beside those of the conversation.

        Returns:
            The block, and what was found.

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
        options.setdefault("min_confidence", self._view.prompt_confidence)
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
            limit: Most memories to return, 1 to 1,000,000.
            offset: Number of memories to skip first, >= 0.
            as_of: Only memories that were valid at this moment, with the text that they had then;
                unless ``status`` says otherwise, superseded ones too.
            known_at: List what this call would have listed at this moment, as it was recorded; see
                ``retrieve``.
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

        A value that was told for a later moment (``occurred_at``) holds the slot only from then on;
        until then it is the value before, although that is already superseded.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Scope of the slot, exactly; outer scopes are not looked at.
            as_of: The moment at which it must hold, with a time zone; None for now. For another
                moment, the memory has the text that it had then.
            known_at: The value that this call would have returned at this moment, as it was
                recorded; see ``retrieve``.

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
        slot = slot_of(self._view, key, scope)
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
        """Change a memory; its earlier version stays in its history.

        Args:
            id: Id of the memory.
            text: New text.
            kind: New kind.
            importance: New importance, [0, 1].
            scope: New scope.
            tags: New tags, which replace all present ones.
            metadata: New metadata, which replaces the present object.
            pinned: Whether it never fades; only what the user said can be pinned.
            valid_until: When it stops being true; None for never.
            condition: When it applies, in words; None for always.
            due_at: When it is due; None for no date.
            expires_in: Time to live from now; None for ever.
            add_aliases: Names to add.
            remove_aliases: Names to remove.
            tier: The tier that it moves to.
            lock: ``user``: nothing changes it until it is unlocked, and it loses its expiry;
                verdicts on it wait. ``promoted``: it may be changed, but replaced by the user only,
                until two verdicts of different days or sources say it is wrong. None unlocks it.
                Only what the user said can be locked, at most 100 memories as ``user``;
                ``store.erase`` removes it all the same.
            source: Origin of the change, a trust class; None for the user. From then on the memory
                is trusted no more than that.

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
        """Replace what a memory says by a new memory, which takes its place.

        The old memory is superseded and stays in the history; ``undo`` brings it back. The new one
        has its scope, session, key, aliases, kind, importance, tier, tags, metadata and speaker,
        the condition of a rule, and the date of a plan unless the text names another one.
        ``update`` changes a memory in place instead, and is for a slip of the pen.

        Args:
            id: Id of the memory; it must be active.
            text: What is right.
            source: Who says so; None for the user. If they are not trusted, the new memory is
                quarantined and takes the place once it is approved; if they are trusted less than
                the old memory, both stay, in conflict, until the user settles them.
            occurred_at: Since when it is right, with a time zone; None for now.

        Returns:
            The new memory.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If a value cannot be accepted, the memory is not active or has expired, or
                it says so already.
            LockedMemory: If the memory is locked against who says so.
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
        return correct(self._view, id, text, source=source, occurred_at=occurred_at)

    def forget(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Hide a memory at once; ``restore`` brings it back.

        Args:
            id: The memory.
            source: Who wants it hidden, a trust class; None for the user.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it.
            UntrustedSource: If ``source`` is not trusted, or less than the memory.
        """
        return self._view.forget(
            id, Trust.USER if source is None else member(Trust, "source", source)
        )

    def forget_many(self, **filters: Unpack[Filtering]) -> Ids:
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
        """Bring a forgotten memory back; as superseded if its slot has been filled since.

        An active or quarantined memory stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is superseded and was not forgotten. ``slots.revert`` makes the
                value before in a slot hold again; for another one, add its text again.
        """
        return self._view.change(id, lambda work: change.restore(work, id), verb="restore")

    def undo(
        self, change: int | None = None, *, run: int | None = None, force: bool = False
    ) -> Undone:
        """Undo a change: set back what it did, as far as nothing else changed it since.

        Each memory that the change altered gets the state it had before, and each that came with it
        is forgotten; links likewise. All of it is new history, a change like any other: undoing the
        undo is redo. Erasures, verdicts of the quarantine and feedback are not undone.

        A memory is left as it is, and named in ``Undone.left``, if a later change altered it, if
        another memory holds its slot by now, if its successor is hidden or gone, if it would pass
        the border of the quarantine, if the user locked it and the lock is not what is undone, or
        if it would be locked again and 100 are locked already.

        Args:
            change: Number of the change, see ``changes.list``.
            run: A run instead: all its changes, the newest first, each in its own transaction.
            force: Undo first the later changes that stand in the way.

        Raises:
            InvalidInput: If not exactly one of ``change`` and ``run`` is given.
            NothingToUndo: If there is no such change, it was undone, it is a verdict, or nothing
                of it is there any more.
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
        return undo(self._view, change, run=run, force=force)

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
        return self._view.engine.flush(
            self._view.namespace,
            wait=check_flag("wait", wait),
            timeout=limit,
            progress=check_progress(progress),
        )

    def close(self) -> None:
        """Write the snapshot and close the store, for all views of this manager. Idempotent.

        Other managers that this process has on the folder go on; the last one closes the files.
        """
        self._view.hold.close()

    @property
    def changes(self) -> Changes:
        """What changed, and how; what differs between two moments."""
        return Changes(self._view)

    @property
    def documents(self) -> Documents:
        """Texts of any length, kept in parts."""
        return Documents(self._view)

    @property
    def feedback(self) -> Feedback:
        """Say how good memories were; how credible and how strong they are."""
        return Feedback(self._view)

    @property
    def insight(self) -> Insight:
        """Timeline, snapshot, lineage, dossier, health, chains of evidence."""
        return Insight(self._view)

    @property
    def quarantine(self) -> Quarantine:
        """Memories from untrusted sources: list, approve, reject; hide a source."""
        return Quarantine(self._view)

    @property
    def rules(self) -> Rules:
        """What an agent should heed: state rules, compile a policy."""
        return Rules(self._view)

    @property
    def scopes(self) -> Scopes:
        """Where memories apply: list, define, merge, share."""
        return Scopes(self._view)

    @property
    def sessions(self) -> Sessions:
        """The work of a session: start, checkpoint, resume."""
        return Sessions(self._view)

    @property
    def sleep(self) -> Sleep:
        """Tidy up after the day; what is stale; the archive."""
        return Sleep(self._view)

    @property
    def slots(self) -> Slots:
        """Earlier values of a slot, and statements that conflict."""
        return Slots(self._view)

    @property
    def store(self) -> Store:
        """The care of the store: statistics, backup, export, erase, doctor, reindex."""
        return Store(self._view)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
