"""The values that memento takes and returns: memories, drafts, hits and their vocabulary.

Plain data; returned values are immutable. No I/O and no heavy imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from memento.base import display
from memento.errors import MissingExtra

if TYPE_CHECKING:
    from pandas import DataFrame

TierName: TypeAlias = Literal["short", "medium", "long"]
KindName: TypeAlias = Literal[
    "fact",
    "preference",
    "rule",
    "decision",
    "procedure",
    "episode",
    "relation",
    "emotion",
    "opinion",
    "context",
    "question",
    "article",
    "plan",
]
StatusName: TypeAlias = Literal["active", "superseded", "archived", "forgotten", "quarantined"]
LockName: TypeAlias = Literal["promoted", "user"]
TrustName: TypeAlias = Literal["user", "agent", "tool", "web", "import"]
Match: TypeAlias = Literal["auto", "names", "text"]
Tallied: TypeAlias = Literal["scope", "tag", "kind", "tier", "session", "actor", "key"]
"""The values of the enumerations below, of ``retrieve(match=...)`` and of ``store.counts(by=...)``,
for type checkers: a misspelt name is an error before the program runs."""


class Tier(StrEnum):
    """The part of the store in which a memory is kept."""

    SHORT = "short"
    """The newest turns of a session, in a ring buffer in RAM."""
    MEDIUM = "medium"
    """Full-text search: turns that left the ring buffer, and memories added to this tier."""
    LONG = "long"
    """Memories worth keeping: found by words and by meaning."""


class Kind(StrEnum):
    """The kind of statement that a memory contains."""

    FACT = "fact"
    PREFERENCE = "preference"
    RULE = "rule"
    DECISION = "decision"
    PROCEDURE = "procedure"
    EPISODE = "episode"
    RELATION = "relation"
    EMOTION = "emotion"
    OPINION = "opinion"
    CONTEXT = "context"
    QUESTION = "question"
    ARTICLE = "article"
    PLAN = "plan"
    """Something that is to happen or to be done; ``due_at`` says when."""


class Status(StrEnum):
    """Whether a memory is active, or why it is hidden."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """Replaced by a newer memory; hidden, but kept in the history."""
    ARCHIVED = "archived"
    """Set aside because it is no longer used; found on request, or by its key or an alias."""
    FORGOTTEN = "forgotten"
    """Hidden by ``forget``; ``restore`` brings it back."""
    QUARANTINED = "quarantined"
    """From an untrusted source; hidden until ``approve``, found on request."""


class Trust(StrEnum):
    """Trust class of a memory's source, which determines how much the memory is trusted.

    The user is trusted most, followed by the agent; the other three are trusted equally.
    """

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"

    @staticmethod
    def least(classes: Iterable[Trust]) -> Trust:
        """Return the least trusted of some classes; among equals the first.

        >>> Trust.least([Trust.USER, Trust.WEB, Trust.TOOL]).value
        'web'
        """
        return max(classes, key=Trust.rank_of)

    @staticmethod
    def rank_of(trust: str) -> int:
        """Return the place of a class in the order of trust: 0 is trusted most.

        >>> [Trust.rank_of(one) for one in ("user", "agent", "tool", "web", "import")]
        [0, 1, 2, 2, 2]
        """
        return {"user": 0, "agent": 1}.get(trust, 2)

    @staticmethod
    def outranks(one: str, other: str) -> bool:
        """Return whether the first of two classes is trusted more than the second.

        This one rule decides which memories give way: an author can neither supersede, change, hide
        nor cast doubt on what outranks them. Only the user, who can approve anything, outranks all
        others.

        >>> Trust.outranks("user", "agent"), Trust.outranks("web", "tool")
        (True, False)
        """
        return Trust.rank_of(one) < Trust.rank_of(other)


class Reason(StrEnum):
    """Why a state of a memory ended; the glossary explains each reason."""

    UPDATED = "updated"
    REPLACED = "replaced"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    RETURNED = "returned"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    FOLDED = "folded"
    """Another memory says the same and now stands for both."""
    UNFOLDED = "unfolded"
    MOVED = "moved"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    APPROVED = "approved"
    REJECTED = "rejected"
    DISOWNED = "disowned"
    DISTRUSTED = "distrusted"
    """The memory was quarantined because a parent that arrived later is untrusted."""
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    INHERITED = "inherited"
    """Like DISTRUSTED, but the memory had been approved before: only its trust fell."""
    WITHDRAWN = "withdrawn"
    UNDONE = "undone"
    """The change that had made it was undone."""
    PRESENT = "present"
    """This is the current state, which has not ended."""


class Event(StrEnum):
    """A kind of event in the log; the glossary explains each kind."""

    UPDATED = "updated"
    REPLACED = "replaced"
    TOUCHED = "touched"
    REINFORCED = "reinforced"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    RETURNED = "returned"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    MOVED = "moved"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    APPROVED = "approved"
    REJECTED = "rejected"
    DISOWNED = "disowned"
    DISTRUSTED = "distrusted"
    INHERITED = "inherited"
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    REDACTED = "redacted"
    RETRIEVED = "retrieved"
    USED = "used"
    CONFIRMED = "confirmed"
    IGNORED = "ignored"
    WRONG = "wrong"
    HARMFUL = "harmful"
    FOLDED = "folded"
    UNFOLDED = "unfolded"
    REPLAYED = "replayed"
    OUTCOME = "outcome"
    RETRACTED = "retracted"
    DOUBTED = "doubted"
    WITHDRAWN = "withdrawn"
    UNDONE = "undone"
    ERASED = "erased"
    OBSERVED = "observed"
    LEARNED = "learned"
    CORRECTED = "corrected"
    FORGET_ASKED = "forget_asked"
    PRAISED = "praised"
    FAULTED = "faulted"
    LLM_FAILED = "llm_failed"
    SHARED = "shared"
    UNSHARED = "unshared"


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a memory.

    Attributes:
        kind: Trust class. For a derived memory, the least trusted class among its own source and
            its parents.
        uri: Address of the document or tool, if any.
        model: Name of the model that derived the memory, if any.
        parents: Ids of the memories from which it was derived.
    """

    kind: Trust = Trust.USER
    uri: str | None = None
    model: str | None = None
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory.

    Attributes:
        id: Identifier, unique in its namespace; a UUIDv7 unless the caller chose one.
        seq: Position in the order of arrival, >= 1. Sort by this rather than by a timestamp.
        namespace: Labels that determine who can see it.
        text: The text.
        tier: Tier in which it is stored.
        kind: Kind of statement.
        status: Whether it is active, or why it is hidden.
        scope: Scope in which it applies, a path such as ``project/alpha``; ``""`` means everywhere.
        session: Conversation that it belongs to, or None.
        actor: Name of the person or agent who said it, or None.
        role: Chat role of the speaker (``user``, ``assistant``, ``tool`` ...), or None.
        key: The slot it fills, such as ``user/editor``, or None.
        aliases: Alternative names that can be used to find it.
        importance: [0, 1].
        tags: Labels to filter by.
        metadata: A JSON object with the caller's custom fields.
        source: Source of the memory.
        pinned: Whether it never fades.
        lock: ``user`` if nothing may change it until it is unlocked, ``promoted`` if only the user
            may replace it, or None.
        occurred_at: When it happened or was said, UTC.
        created_at: When it was stored, UTC.
        updated_at: When it last changed, UTC.
        valid_from: When it became true, UTC.
        valid_until: When it stops being true (exclusive), or None for no end.
        expires_at: When it expires and is no longer found, or None.
        superseded_by: Id of the memory that replaced it, or None.
        reinforced: How often the same content arrived again, >= 0.
        version: 1 for the first text; each ``update``, each merged repeat, and each undo of one
            adds one. A quarantined memory with the id of an erased one that was quarantined begins
            at a higher number.
        signal: How ``observe`` recognised it in a conversation, such as ``preference`` or ``todo``;
            None if ``observe`` did not learn it.
        condition: When a rule applies, such as ``when I ask about recipes``, or None for always.
        due_at: When a plan is due, UTC, or None.
    """

    id: str
    seq: int
    namespace: tuple[str, ...]
    text: str
    tier: Tier
    kind: Kind
    status: Status
    scope: str
    session: str | None
    actor: str | None
    role: str | None
    key: str | None
    aliases: tuple[str, ...]
    importance: float
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    source: Source
    pinned: bool
    lock: LockName | None
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None
    expires_at: datetime | None
    superseded_by: str | None
    reinforced: int
    version: int
    signal: str | None = None
    condition: str | None = None
    due_at: datetime | None = None

    def __hash__(self) -> int:
        # Equal memories have equal ids. The metadata cannot be hashed.
        return hash((self.namespace, self.id))

    def __repr__(self) -> str:
        status = "" if self.status is Status.ACTIVE else f" {self.status}"
        about = f"{self.tier} {self.kind}{status}"
        return f"<Memory {display.cut(self.id)} {about} {display.cut(self.text)!r}>"

    def _repr_html_(self) -> str:
        """Return a table of the fields that are set, for notebooks."""
        said = {name: display.spelt(value) for name, value in self.to_dict().items()}
        return display.table("", (), [row for row in said.items() if row[1]])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object: moments in ISO 8601, enumerations as strings."""
        return display.fields(self)


class Memories(list[Memory]):
    """A list of memories that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """Return a table of the memories, for notebooks."""
        title = f"{len(self)} {'memory' if len(self) == 1 else 'memories'}"
        return display.table(title, _ROW, [_row(one) for one in self])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a flat JSON object for each memory."""
        return [one.to_dict() for one in self]

    def to_pandas(self) -> DataFrame:
        """Return a table with a row for each memory and a column for each field.

        Raises:
            MissingExtra: If pandas is not installed.
        """
        return _frame(self.to_dicts(), [one.name for one in fields(Memory)])


_ROW = ("id", "tier", "kind", "key", "when", "text")
"""Columns of a table of memories."""


def _row(one: Memory) -> tuple[str, ...]:
    """Return the cells of a memory in a table."""
    when = one.occurred_at.strftime("%Y-%m-%d")
    return (one.id, str(one.tier), str(one.kind), one.key or "", when, one.text)


def _frame(rows: list[dict[str, Any]], columns: Sequence[str]) -> DataFrame:
    """Return a pandas DataFrame; it has all columns even without rows."""
    try:
        import pandas  # noqa: ICN001, PLC0415 - the package may be absent
    except ImportError as error:
        raise MissingExtra("pandas", "pandas") from error
    return pandas.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not stored yet: the arguments of ``add`` in a single object.

    See ``MemoryManager.add`` for the meaning of each field.

    Identical content is stored once per namespace, scope, slot, session, actor, role and condition.
    Adding it again returns the existing memory, increments ``Memory.reinforced`` and merges the
    arguments: the higher tier and importance and the later expiry win, the memory is pinned if
    either is, and tags, aliases and metadata are combined, up to 64 of each. The history keeps the
    earlier states of up to 64 repeats. A repeat from a less trusted source is counted but not
    merged. Texts with different values of ``occurred_at`` are stored separately, as are turns in a
    session (memories in the short tier or of kind ``episode``) without ``occurred_at``.

    Text longer than ``Config.limits.text_chars`` is rejected unless it is a conversation turn
    (with a ``session``, a ``role`` or the kind ``episode``, and without a ``key``) and
    ``replace`` is False. A long turn is split into parts of up to 1,000 characters. The first
    part is returned; the others are linked to it (``related``) and stored in the medium tier or
    above. The ``metadata`` of each part contains ``part`` and ``parts``. For other long texts,
    use ``documents.add``.

    A value for a ``key`` from a source that is less trusted than that of the current value is
    stored without the key, and ``slots.conflicts`` lists both until the user resolves the conflict.
    A memory in ``supersedes`` that a more trusted source wrote stays active and conflicts with the
    new one.

    With an ``id``, a retry does not count as a repeat and merges only arguments that were missing
    from the first call. A trusted memory can take over the id of a quarantined or rejected memory.
    Adding the same text with the id of a forgotten, archived, superseded or expired memory restores
    that memory with the status a new memory would have.

    With ``replace``, the memory that has the ``id`` becomes active again if it was forgotten,
    superseded or expired. Identical content does not create a new version. A less trusted source
    cannot replace a memory; an untrusted source can replace only unapproved memories from untrusted
    sources.
    """

    text: str
    tier: Tier | TierName | None = None
    kind: Kind | KindName = Kind.FACT
    importance: float | None = None
    key: str | None = None
    aliases: Sequence[str] = ()
    scope: str = ""
    session: str | None = None
    actor: str | None = None
    role: str | None = None
    source: Source | Trust | TrustName | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    valid_until: datetime | None = None
    expires_in: timedelta | float | None = None
    pinned: bool = False
    supersedes: str | Sequence[str] = ()
    related: str | Sequence[str] = ()
    id: str | None = None
    signal: str | None = None
    condition: str | None = None
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A memory that is linked to another memory.

    Attributes:
        memory: The memory at the other end of the link.
        relation: ``related``, from ``add(related=...)``; ``supersedes``, a memory and one that it
            replaced; ``proposes``, a quarantined memory and one that it will replace once approved;
            ``contradicts`` and ``echoes``, two statements that were compared, the later one first;
            ``resolved``, a pair whose conflict was resolved; ``quotes``, an article and a memory
            that it quotes. Imported links may have other names.
        outgoing: True if the link leads to ``memory`` from the memory whose id was passed, False if
            it leads the other way. For ``supersedes``, True means that the memory whose id was
            passed supersedes ``memory``.
    """

    memory: Memory
    relation: str
    outgoing: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """The first hits of an answer, from which memento learns when one of them gets feedback.

    Attributes:
        ids: Their ids, best first; those that the query names are left out.
        sums: Evidence for each, in nats, before past use is taken into account.
        uses: How much past use adds for each, in nats, [0, 2).
    """

    ids: tuple[str, ...]
    sums: tuple[float, ...]
    uses: tuple[float, ...]


_EXACT = "exact"
_NAMED = "the query names its key or an alias: before all hits that are not named"
_LITERAL = "it has the exact quotation or identifier: before all hits that do not"
BECAUSE = {
    "window": "the query's words, in this and in neighbouring turns",
    "cover": "share of the query's words that it contains",
    "meaning": "close in meaning",
    "own_meaning": "close in meaning by itself",
    "session_meaning": "its conversation is close in meaning",
    "speaker": "said by the person asked about",
    "calendar": "said around the time asked about",
    "said_date": "mentions the time asked about",
    "when": "has a word about time",
    "digit": "has a number",
    "first_person": "speaks in the first person",
    "user": "not said by an assistant or a tool",
    "opens": "opens its conversation",
    "standing": "a standing instruction",
    "form": "has the kind of answer asked for",
    "answers": "follows a question like this one",
    "importance": "important",
    "use": "used often or lately",
    "belief": "confirmed or doubted",
    "worth": "worth keeping",
    "associated": "used together with other hits",
    "levelled": "lead reduced, because past use outweighs small differences",
    "reranked": "rated as an answer by the reranker",
}
"""Each kind of evidence in words; the names are those of `RetrieveConfig.weights`."""
BLOCK = "\N{FULL BLOCK}"
_TELLING = 0.01  # evidence below this is not worth a line
_BY_NAME = 0.5  # value of `exact` above which the query names a memory
_REASONS = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found by ``retrieve``.

    Attributes:
        memory: The memory.
        score: Relevance within this answer, [0, 1]; larger is better.
        confidence: Estimated probability that this memory answers the query, [0, 1].
        terms: Contribution of each piece of evidence to the score, before scaling. ``use``,
            ``belief``, ``worth``, ``associated`` and ``levelled`` (in nats) affect only the order,
            not the score.
        ranks: The searches that found this memory, each with the memory's rank in the results (1 is
            first).
        folded: Ids of near-identical memories that this hit represents.
        passage: The relevant part of a long text, if there was a token budget and only this part
            was counted; otherwise None. ``…`` marks omitted text.
        signs: The values from which the confidence is computed: ``cosine`` to the query; ``cover``,
            the share of the query's words in the memory, weighted by rarity; ``share`` of the
            evidence of all candidates; ``fit``, the share of the greatest possible evidence;
            ``unknown``, the share of the query's words that no memory contains; ``noise``, the
            cosine expected for the nearest of the same number of unrelated memories.
        newer: Id of a newer memory about the same thing, which may have replaced it, or None.
        until: If all statements learned from this message have been superseded, when the last of
            them was, UTC; ``newer`` is then the memory that superseded it. Otherwise, None.
        belief: Estimated probability that the memory is correct, (0, 1), based on its source and
            feedback; see ``feedback.belief``. None for queries with ``known_at``.
        fading: Whether it has faded because it has not been used for a long time. This does not
            affect how easily it is found.
        beside: The first hits in the same result, for use by ``feedback``; not displayed.
        conflicts: Ids of memories among the sixteen best hits that contradict it; see
            ``slots.conflicts``.
        shared: Whether it is shared by another namespace, which ``memory.namespace`` then
            identifies.
    """

    memory: Memory
    score: float
    confidence: float
    terms: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    folded: tuple[str, ...] = ()
    passage: str | None = None
    signs: Mapping[str, float] = field(default_factory=dict)
    newer: str | None = None
    until: datetime | None = None
    belief: float | None = None
    fading: bool = False
    beside: Beside | None = field(default=None, repr=False, compare=False)
    conflicts: tuple[str, ...] = ()
    shared: bool = False

    @property
    def id(self) -> str:
        """Identifier of the memory."""
        return self.memory.id

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.memory.text

    @property
    def tier(self) -> Tier:
        """Tier in which the memory is stored."""
        return self.memory.tier

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata of the memory, as specified by the caller."""
        return self.memory.metadata

    def __repr__(self) -> str:
        sure = f"{self.score:.2f} confidence {self.confidence:.2f}"
        return f"<Hit {sure} {display.cut(self.id)} {self.tier} {display.cut(self.text)!r}>"

    def _repr_html_(self) -> str:
        """Return a table of one row, for notebooks."""
        return display.table("", _COLUMNS, [_cells(1, self)])

    def to_dict(self) -> dict[str, Any]:
        """Return a flat JSON object: the score, the memory's fields, and why it was found."""
        said = {
            one.name: display.data(getattr(self, one.name))
            for one in fields(self)
            if one.name not in _NESTED
        }
        return {"score": said.pop("score"), **self.memory.to_dict(), **said}

    def explain(self, after: Hit | None = None) -> str:
        """Explain in a few lines why this memory was found, strongest evidence first.

        These are the words that ``memento retrieve --explain`` prints.

        Args:
            after: The next hit; if given, the last line says why this hit comes before it.
        """
        lines = [self._certainty(), *self._evidence()]
        return "\n".join(lines if after is None else [*lines, self._lead(after)])

    def _certainty(self) -> str:
        """Return the line with the confidence and its reasons."""
        signs = self.signs
        told = [
            f"cosine {signs['cosine']:.2f}" if "cosine" in signs else "",
            f"{signs['cover']:.0%} of the query's words" if "cover" in signs else "",
            f"{signs['share']:.0%} of all evidence" if "share" in signs else "",
            f"{signs['unknown']:.0%} of the words unknown" if signs.get("unknown") else "",
        ]
        ranks = ", ".join(f"{name} #{rank}" for name, rank in sorted(self.ranks.items()))
        parts = [
            ", ".join(filter(None, told)),
            f"found by {ranks}" if ranks else "",
            f"represents {len(self.folded)} more with the same content" if self.folded else "",
            f"a newer one exists: {self.newer}" if self.newer else "",
            f"in conflict with {', '.join(self.conflicts)}" if self.conflicts else "",
        ]
        return f"{self.confidence:.0%} sure: {'; '.join(filter(None, parts))}"

    def _evidence(self) -> Iterator[str]:
        """Yield a line for each piece of evidence, from the most positive to the most negative."""
        if named := self.terms.get(_EXACT):
            yield _NAMED if named > _BY_NAME else _LITERAL
        pieces = [
            (name, value)
            for name, value in self.terms.items()
            if name != _EXACT and abs(value) >= _TELLING
        ]
        for name, value in sorted(pieces, key=lambda piece: (-piece[1], piece[0])):
            bar = (BLOCK * round(2 * value)).ljust(7)
            yield f"{value:+.2f} {bar} {BECAUSE.get(name, name)}"

    def _lead(self, after: Hit) -> str:
        """Return the line on why it ranks before the next hit."""
        if (self.terms.get(_EXACT) or 0) > (after.terms.get(_EXACT) or 0):
            return "before the next: the query names it"
        gaps = {
            name: self.terms.get(name, 0) - after.terms.get(name, 0)
            for name in self.terms.keys() | after.terms.keys()
            if name != _EXACT
        }
        first = sorted(gaps.items(), key=lambda gap: (-gap[1], gap[0]))[:_REASONS]
        told = [f"{BECAUSE.get(name, name)} ({gap:+.2f})" for name, gap in first if gap >= _TELLING]
        if sum(gaps.values()) < 0 or not told:
            return "before the next: newer than a similar one, or not a question"
        return f"before the next: {'; '.join(told)}"


_NESTED = ("memory", "beside")
"""Fields of a hit that its flat object leaves out, or takes apart."""
_COLUMNS = ("", "score", "confidence", "tier", "when", "text")
"""Columns of a table of hits."""


def _cells(rank: int, hit: Hit) -> tuple[str, ...]:
    """Return the cells of a hit in a table."""
    when = hit.memory.occurred_at.strftime("%Y-%m-%d")
    return (
        str(rank),
        f"{hit.score:.2f}",
        f"{hit.confidence:.2f}",
        str(hit.tier),
        when,
        hit.passage or hit.text,
    )


@dataclass(frozen=True, slots=True)
class Retrieval(Sequence[Hit]):
    """The result of ``retrieve``: hits, best first, and information about the search.

    Attributes:
        query: The original query.
        hits: The hits, best first.
        missing: The parts of the search that were unavailable, each with the reason: a tier or
            ``reranker``; ``long`` also while most memories are not yet embedded and are found only
            by keyword search; ``ledger`` if damaged memories were omitted.
        confidence: Estimated probability that the hits contain an answer, [0, 1]; 0 if there are
            none.
        took: Duration of each stage in seconds: ``embed`` (the query), ``rank``, ``read`` (the
            rows) and ``total``.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 0.0
    took: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        first = f", first {display.cut(self.hits[0].text)!r}" if self.hits else ""
        lacks = f", missing {', '.join(sorted(self.missing))}" if self.missing else ""
        return f"<Retrieval {display.cut(self.query)!r}: {self._count()}{first}{lacks}>"

    def __str__(self) -> str:
        lines = [f"{display.cut(self.query)}: {self._count()}"]
        lines += [
            f"{rank:>2}. {hit.score:.2f}  {hit.tier:<6}  {display.cut(hit.passage or hit.text)}"
            for rank, hit in enumerate(self.hits, start=1)
        ]
        lines += [f"missing {part}: {why}" for part, why in sorted(self.missing.items())]
        return "\n".join(lines)

    def _count(self) -> str:
        number = len(self.hits)
        sure = f", confidence {self.confidence:.2f}" if number else ""
        return f"{number} {'hit' if number == 1 else 'hits'}{sure}"

    def _repr_html_(self) -> str:
        """Return a table of the hits, for notebooks."""
        lacks = "".join(f"; missing {part}: {why}" for part, why in sorted(self.missing.items()))
        rows = [_cells(rank, hit) for rank, hit in enumerate(self.hits, start=1)]
        return display.table(f"{self.query}: {self._count()}{lacks}", _COLUMNS, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object: information about the search, and the hits."""
        return {
            "query": self.query,
            "confidence": self.confidence,
            "missing": dict(self.missing),
            "took": dict(self.took),
            "hits": self.to_dicts(),
        }

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a flat JSON object for each hit, best first; see ``Hit.to_dict``."""
        return [hit.to_dict() for hit in self.hits]

    def to_pandas(self) -> DataFrame:
        """Return a table with a row for each hit, best first, and a column for each field.

        Raises:
            MissingExtra: If pandas is not installed.
        """
        own = [one.name for one in fields(Hit) if one.name not in ("score", *_NESTED)]
        return _frame(self.to_dicts(), ["score", *(one.name for one in fields(Memory)), *own])

    def explain(self) -> str:
        """Explain why each hit was found and which tiers could not be searched."""
        blocks = [
            f"{rank}. {hit.text}\n{hit.explain(*self.hits[rank : rank + 1])}"
            for rank, hit in enumerate(self.hits, start=1)
        ]
        blocks += [f"not asked: {tier} ({why})" for tier, why in sorted(self.missing.items())]
        return "\n\n".join([*blocks, self.sure()])

    def sure(self) -> str:
        """Describe how likely the hits are to contain an answer."""
        found = f"{self.confidence:.0%} sure that an answer is among them"
        return found if self.hits else "nothing found"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a single ``doctor`` check.

    Attributes:
        check: Name of the check.
        ok: Whether the check found nothing wrong.
        detail: The result in one sentence.
        repaired: Whether ``doctor`` repaired it.
    """

    check: str
    ok: bool
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a memory.

    Attributes:
        version: Number of this state, from 1.
        text: Its text.
        status: Its status.
        tier: Its tier.
        until: When it was replaced by the next state, UTC; None for the current state.
        reason: Why this state ended, as a value of ``Reason``. The content changed: ``updated``,
            ``merged``, ``replaced``, ``moved``. The status changed: ``superseded``, ``archived``,
            ``unarchived``, ``forgotten``, ``disowned`` (forgotten with its source, or because its
            message was edited and no longer contains it), ``restored``, ``approved``, ``rejected``.
            A parent arrived late: the memory was quarantined (``distrusted``) or, if already
            approved, only lost trust (``inherited``). The memory that superseded it was quarantined
            or disowned: ``returned``. The change that made it was undone: ``undone``. The current
            state has the reason ``present``.
        id: Id of the memory.
        valid_from: Start of the period in which this state is true, UTC; None for states stored
            under schema 1.
        valid_until: End of that period (exclusive), UTC; None if open.
        change: Number of the change that ended it (see ``changes``); None for the current state and
            for states that predate schema 9 or were imported.
        by: Trust class of the person or program that made that change, or None.
    """

    version: int
    text: str
    status: Status
    tier: Tier
    until: datetime | None
    reason: str
    id: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    change: int | None = None
    by: Trust | None = None

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A value of a slot and the period in which it was current.

    Attributes:
        memory: The memory, which is active or superseded.
        since: When it became current, UTC.
        until: When it stopped being current (exclusive), UTC; None if open.
        reason: Why it ended: ``superseded`` by another memory, or ``ended`` because its validity
            ended. ``present`` if it is current; ``planned`` if it takes effect later; ``withdrawn``
            if it was planned, but replaced before it took effect.
    """

    memory: Memory
    since: datetime
    until: datetime | None
    reason: str

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Change:
    """A call that changed at least one memory, or a sleep.

    Attributes:
        number: Its number in the namespace, for use with ``undo``; later changes have larger
            numbers.
        at: When it happened, UTC.
        kind: The method that was called, such as ``add``, ``correct`` or ``forget_many``.
        by: Trust class of the caller.
        run: Number of the call's first change if the call made several changes; otherwise, None.
        rev_from: First of the namespace's revision numbers that it used.
        rev_to: Last revision number that it used. Less than ``rev_from`` for a sleep that only
            replayed memories or scaled down links, and for the undo of such a sleep.
        changed: Ids of the memories that it changed, in order of arrival; for a sleep that changed
            none, those that it replayed or whose links it scaled down.
        added: Ids of the memories that it added, in order of arrival.
        undone_by: Number of the change that undid it; None if it was not undone, or if the undo was
            itself undone.
        undoes: Number of the change that it undid; None if it is not an undo.
    """

    number: int
    at: datetime
    kind: str
    by: Trust
    run: int | None
    rev_from: int
    rev_to: int
    changed: tuple[str, ...]
    added: tuple[str, ...]
    undone_by: int | None
    undoes: int | None

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of ``undo``.

    Attributes:
        changes: Numbers of the changes that this call made, in order; to redo, undo one of them.
            Empty if nothing was undone.
        undone: Numbers of the changes that were undone, in order.
        memories: Ids of the memories that were reverted or hidden, or whose replay or scaled links
            were undone, in order of arrival.
        left: Ids of memories that were not changed, each with the number of the change that
            prevented it, or None.
    """

    changes: tuple[int, ...]
    undone: tuple[int, ...]
    memories: tuple[str, ...]
    left: Mapping[str, int | None] = field(default_factory=dict)

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes between two moments, as memory ids mapped to (before, after).

    Each memory is listed once, under its later state. Quarantined memories are not listed.

    Attributes:
        since: The earlier moment, UTC.
        until: The later moment, UTC.
        added: Memories that were not recorded before; ``before`` is None.
        changed: Memories whose content changed, or that entered or left quarantine.
        superseded: Memories that were superseded.
        archived: Memories that were archived.
        forgotten: Memories that were hidden.
        restored: Memories that are active again.
        more: Id to pass as ``after`` to compare the remaining memories; None if there are no more.
    """

    since: datetime
    until: datetime
    added: Mapping[str, tuple[None, Memory]]
    changed: Mapping[str, tuple[Memory, Memory]]
    superseded: Mapping[str, tuple[Memory, Memory]]
    archived: Mapping[str, tuple[Memory, Memory]]
    forgotten: Mapping[str, tuple[Memory, Memory]]
    restored: Mapping[str, tuple[Memory, Memory]]
    more: str | None = None

    __repr__ = display.brief

    def __iter__(self) -> Iterator[tuple[str, Memory | None, Memory]]:
        """Yield (id, before, after) of every memory that differs, in order of arrival."""
        hidden = (self.superseded, self.archived, self.forgotten)
        parts = (self.added, self.changed, *hidden, self.restored)
        found = [(name, *states) for part in parts for name, states in part.items()]
        yield from sorted(found, key=lambda one: one[2].seq)

    def __bool__(self) -> bool:
        return any(True for _ in self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of feedback on a memory.

    Attributes:
        event: Number of the event, for use with ``feedback.retract``; numbers are not sequential.
        at: When it was given, UTC.
        verdict: ``used``, ``confirmed``, ``ignored``, ``wrong`` or ``harmful``; ``outcome`` of a
            loop; ``reinforced`` if the same content arrived again.
        source: Who gave it; None if unknown.
        note: The reason, or None.
        retracted: Whether it was retracted.
    """

    event: int
    at: datetime
    verdict: str
    source: Trust | None
    note: str | None
    retracted: bool


@dataclass(frozen=True, slots=True)
class Belief:
    """How likely a memory is to be correct, given its source and feedback.

    Attributes:
        id: Identifier of the memory.
        mean: Estimated probability that it is correct, (0, 1).
        prior: The same probability before any feedback: 0.8 for the user, 0.67 for an agent, 0.5
            for others.
        supporting: Evidence that it is correct, as a count > 0.
        opposing: Evidence that it is wrong, as a count > 0.
        evidence: All feedback on it, oldest first, including retracted feedback and feedback that
            has no effect (from tools, the web and imports).
    """

    id: str
    mean: float
    prior: float
    supporting: float
    opposing: float
    evidence: tuple[Evidence, ...]

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Strength:
    """How much a memory has been used, and how far it has faded.

    Attributes:
        id: Identifier of the memory.
        uses: Weighted number of uses, >= 0: each use counts as 1, and each time it was shown as
            0.1.
        used_at: When it was last used, UTC; None if never.
        need: Odds that it will be needed, >= 0, estimated from how often and how recently it was
            used.
        use: The effect of ``need`` on ranking, nats, [0, 2); 0 if it was never used.
        retention: Fraction that is still retained, [0, 1]. It falls with each day on which the
            namespace was used but the memory was not.
        stability: Number of such days after which 37 % is retained. It grows with each use after an
            interval.
        short: Short-term strength, [0, 2]; fades within weeks.
        long: Long-term strength, >= 0; grows from the short-term strength.
        worth: Mean outcome of the answers it contributed to, [-1, 1]; 0 if unknown.
    """

    id: str
    uses: float
    used_at: datetime | None
    need: float
    use: float
    retention: float
    stability: float
    short: float
    long: float
    worth: float

    __repr__ = display.brief
