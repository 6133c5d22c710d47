"""The values that cross memento's doors: memories, drafts, hits and their vocabulary.

Plain data, immutable where it is handed out. No I/O and no import of anything heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, overload


class Tier(StrEnum):
    """Where a memory is kept."""

    SHORT = "short"
    """The newest turns of a session, in a ring buffer in RAM."""
    MEDIUM = "medium"
    """Full text: what left the ring buffer, or was put here."""
    LONG = "long"
    """Worth keeping: found by meaning."""


class Kind(StrEnum):
    """What a memory is."""

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


class Status(StrEnum):
    """Whether a memory counts."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A newer memory took its place; hidden, kept, shown on request."""
    FORGOTTEN = "forgotten"
    """Hidden by ``forget``; ``restore`` brings it back."""
    QUARANTINED = "quarantined"
    """From an untrusted source; hidden until ``approve``, found on request."""


class Trust(StrEnum):
    """Where a memory comes from, which decides how far it is trusted.

    The user is trusted most, then the agent; the other three are trusted alike.
    """

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"

    @staticmethod
    def least(classes: Iterable[Trust]) -> Trust:
        """Return the least trusted of some classes; of equals the first.

        >>> Trust.least([Trust.USER, Trust.WEB, Trust.TOOL]).value
        'web'
        """
        return max(classes, key=lambda one: {Trust.USER: 0, Trust.AGENT: 1}.get(one, 2))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory comes from.

    Attributes:
        kind: Class of the origin; decides trust. Of a memory derived from others it is the least
            trusted of its own and theirs.
        uri: Address of the document or tool, if any.
        model: Name of the model that derived the memory, if one did.
        parents: Ids of the memories it was derived from.
    """

    kind: Trust = Trust.USER
    uri: str | None = None
    model: str | None = None
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as the ledger holds it.

    Attributes:
        id: Identifier, unique in its namespace; a UUIDv7 unless the caller chose one.
        seq: Position in the ledger's order of arrival, >= 1. Order by this, never by a clock.
        namespace: Labels that decide who may see it.
        text: What is remembered.
        tier: Where it is kept.
        kind: What it is.
        status: Whether it counts.
        scope: Where it applies, a path such as ``project/alpha``; ``""`` is everywhere.
        session: Conversation it belongs to, or None.
        actor: Who said it, or None.
        role: Chat role of who said it (``user``, ``assistant``, ``tool`` ...), or None.
        key: The slot it fills, such as ``user/editor``, or None.
        aliases: Other names it is to be found by.
        importance: [0, 1].
        tags: Labels to filter by.
        metadata: JSON object of the caller's.
        source: Where it comes from.
        pinned: Never fades.
        occurred_at: When it happened or was said, UTC.
        created_at: When the ledger took it, UTC.
        updated_at: When it last changed, UTC.
        valid_from: Start of the time in which it holds, UTC.
        valid_until: End of that time (exclusive), or None for open.
        expires_at: From then on it is not found any more, or None.
        superseded_by: Id of the memory that took its place, or None.
        reinforced: How often the same content arrived again, >= 0.
        version: 1 for the first text; each ``update`` adds one.
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
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None
    expires_at: datetime | None
    superseded_by: str | None
    reinforced: int
    version: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory not yet accepted: the arguments of ``add`` as one value.

    See ``MemoryManager.add`` for the meaning of each field.
    """

    text: str
    tier: Tier | str | None = None
    kind: Kind | str = Kind.FACT
    importance: float | None = None
    key: str | None = None
    aliases: Sequence[str] = ()
    scope: str = ""
    session: str | None = None
    actor: str | None = None
    role: str | None = None
    source: Source | Trust | str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    valid_until: datetime | None = None
    expires_in: timedelta | float | None = None
    pinned: bool = False
    supersedes: str | Sequence[str] = ()
    related: str | Sequence[str] = ()
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a memory.

    Attributes:
        version: Number of that state, from 1.
        text: Its text.
        status: Its status.
        tier: Its tier.
        until: When it was replaced, UTC; None for the present one.
        reason: What replaced it: ``updated``, ``replaced``, ``superseded``, ``forgotten``,
            ``restored``, ``moved``; ``present`` for the present one.
    """

    version: int
    text: str
    status: Status
    tier: Tier
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found by ``retrieve``.

    Attributes:
        memory: The memory.
        score: Relevance within this answer, [0, 1], larger is better.
        confidence: Estimated chance that this memory bears on the query, [0, 1].
        terms: Name of each piece of evidence to what it added to the score before scaling.
        ranks: Name of each way of looking to the rank it gave (1 is first); absent if not proposed.
        folded: Ids of near-identical memories this hit stands for.
        passage: What of a long text bears on the query, where it wants several memories within a
            token budget and only this part was counted; else None.
        signs: What the confidence was read from: ``cosine`` to the query; ``cover``, the share of
            its words, by rarity; ``share`` of the evidence of all candidates; ``fit``, the share
            of the evidence there could be.
    """

    memory: Memory
    score: float
    confidence: float
    terms: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    folded: tuple[str, ...] = ()
    passage: str | None = None
    signs: Mapping[str, float] = field(default_factory=dict)

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
        """Tier the memory is kept in."""
        return self.memory.tier

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The caller's metadata of the memory."""
        return self.memory.metadata

    def explain(self) -> str:
        """Say in a few lines why this memory was found, strongest evidence first."""
        lines = [f"score {self.score:.3f}, confidence {self.confidence:.2f}, {self.tier} tier"]
        if self.ranks:
            found = ", ".join(f"{name} #{rank}" for name, rank in sorted(self.ranks.items()))
            lines.append(f"found by {found}")
        strongest = sorted(self.terms.items(), key=lambda term: (-abs(term[1]), term[0]))
        lines += [f"  {value:+.2f}  {name}" for name, value in strongest if value]
        if self.folded:
            lines.append(f"stands for {len(self.folded)} near-identical more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Retrieval(Sequence[Hit]):
    """The answer of ``retrieve``: hits, best first, and what is to be known about them.

    Attributes:
        query: The query as given.
        hits: The hits, best first.
        missing: Names of the tiers that could not be asked, or ``reranker``, with the reason;
            ``ledger`` if memories were left out that are damaged on the disk.
        confidence: Estimated chance that the answer is among the hits, [0, 1]; 0 if none.
        took: Seconds spent by stage: ``embed`` the query, ``rank``, ``read`` the rows, ``total``.
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

    def explain(self) -> str:
        """Say why each hit was found and which tiers could not be asked."""
        blocks = [
            f"{rank}. {hit.text}\n{hit.explain()}" for rank, hit in enumerate(self.hits, start=1)
        ] or ["nothing found"]
        blocks += [f"not asked: {tier} ({why})" for tier, why in sorted(self.missing.items())]
        return "\n\n".join(blocks)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing ``doctor`` looked at.

    Attributes:
        check: Name of the check.
        ok: Whether all was well.
        detail: What was found, in one sentence.
        repaired: Whether ``doctor`` mended it.
    """

    check: str
    ok: bool
    detail: str
    repaired: bool = False
