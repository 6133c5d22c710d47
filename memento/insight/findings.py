"""The values that insight returns: chains of evidence and overviews. Immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memento.base import display
from memento.base.display import one_line
from memento.types import Evidence, Memory, Related, Retrieval, SlotValue, Version


@dataclass(frozen=True, slots=True)
class Chain:
    """Memories linked by shared names, starting from a name in the question.

    Attributes:
        facts: The memories, in order; the last one is the answer.
        names: For each memory, the name that led to it, in lower case and without accents. The
            first name is in the question, and each subsequent name is in the previous memory.
        confidence: How well the chain fits the question, [0, 1]; comparable only between chains for
            the same question.
    """

    facts: tuple[Memory, ...]
    names: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """A memory in a chain that is contradicted by other memories.

    Attributes:
        memory: The memory in the chain.
        others: Visible memories that contradict it.
        reason: ``other value`` if they are older and give a different value for the same thing;
            ``contradicts`` if they are linked as contradictory.
    """

    memory: Memory
    others: tuple[Memory, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The result of ``insight.reason``.

    Attributes:
        question: The original question.
        names: The names in the question that appear in memories.
        chains: Chains of evidence, best first; no chain is part of another.
        conflicts: Memories in the chains that are contradicted by other memories.
        gaps: Words in the question that no chain covers.
        hits: The result of ``retrieve`` if there is no chain; otherwise None.
    """

    question: str
    names: tuple[str, ...] = ()
    chains: tuple[Chain, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[str, ...] = ()
    hits: Retrieval | None = None

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.explain()

    @property
    def answer(self) -> Memory | None:
        """The memory at the end of the first chain; the first hit if there is no chain."""
        if self.chains:
            return self.chains[0].facts[-1]
        return self.hits[0].memory if self.hits else None

    def explain(self) -> str:
        """Return the chains, conflicts and gaps as lines of text."""
        lines = [one_line(self.question)]
        for number, chain in enumerate(self.chains, start=1):
            lines.append(f"{number}. confidence {chain.confidence:.2f}")
            lines += [
                f"   {name} → {one_line(fact.text)}  [{fact.id}]"
                for name, fact in zip(chain.names, chain.facts, strict=True)
            ]
        for one in self.conflicts:
            said = "; ".join(f"{one_line(other.text)} [{other.id}]" for other in one.others)
            lines.append(f"conflict ({one.reason}): {one_line(one.memory.text)} | {said}")
        if self.gaps:
            lines.append(f"not covered: {', '.join(self.gaps)}")
        if self.hits is not None:
            why = "no chain over its names" if self.names else "no known name in the question"
            lines.append(f"{why}; found without chains:")
            lines += [f"   {one_line(hit.text)}  [{hit.id}]" for hit in self.hits]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Moment:
    """An event in a memory's history, or an event that the memory describes.

    Attributes:
        at: When it happened, UTC.
        what: The type of event: ``occurred`` if something happened or was said, ``recorded`` if the
            memory was stored, or the ``Reason`` why one of its states ended.
        memory: The memory in its current state.
        text: Its text at that time.
    """

    at: datetime
    what: str
    memory: Memory
    text: str

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Lineage:
    """A memory's sources and the memories derived from it.

    Attributes:
        memory: The memory.
        parents: The memories from which it was derived, unless they are missing, forgotten or
            quarantined.
        lost: Ids of the other parents.
        derived: Visible memories that were derived from it, in order of arrival.
        versions: Its states, oldest first.
        links: The memories that are linked to it.
        evidence: Verdicts on it, oldest first.
    """

    memory: Memory
    parents: tuple[Memory, ...]
    lost: tuple[str, ...]
    derived: tuple[Memory, ...]
    versions: tuple[Version, ...]
    links: tuple[Related, ...]
    evidence: tuple[Evidence, ...]

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """Return the report as text, one finding per line."""
        lines = [f"{one_line(self.memory.text)}  [{self.memory.id}]"]
        lines += [f"from: {one_line(one.text)}  [{one.id}]" for one in self.parents]
        lines += [f"from: [{one}], which is not stored or not visible" for one in self.lost]
        lines += [
            f"until {one.until:%Y-%m-%d %H:%M} ({one.reason}): {one_line(one.text)}"
            for one in self.versions
            if one.until is not None
        ]
        lines += [
            f"{one.relation} {'→' if one.outgoing else '←'} {one_line(one.memory.text)}"
            for one in self.links
        ]
        lines += [f"led to: {one_line(one.text)}  [{one.id}]" for one in self.derived]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory in a dossier.

    Attributes:
        memory: The memory.
        turns: The visible memories from which it was derived.
        earlier: Earlier values of its slot, oldest first.
        until: When the last statement learned from the memory was superseded; see ``Hit.until``.
    """

    memory: Memory
    turns: tuple[Memory, ...]
    earlier: tuple[SlotValue, ...]
    until: datetime | None = None

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Dossier:
    """What is known about a topic: memories and their sources.

    Attributes:
        topic: The original topic.
        entries: The memories, most relevant first. If an entry was derived from a turn, the turn
            appears only in that entry.
        confidence: Estimated probability that the store contains anything about the topic, [0, 1].
    """

    topic: str
    entries: tuple[Entry, ...]
    confidence: float

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """Return the report as text, one finding per line."""
        lines = [one_line(self.topic)]
        for entry in self.entries:
            held = "" if entry.until is None else f"until {entry.until:%Y-%m-%d}: "
            lines.append(f"- {held}{one_line(entry.memory.text)}  [{entry.memory.id}]")
            lines += [f"    said: {one_line(turn.text)}  [{turn.id}]" for turn in entry.turns]
            lines += [
                f"    until {value.until:%Y-%m-%d}: {one_line(value.memory.text)}"
                for value in entry.earlier
                if value.until is not None
            ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Health:
    """The problems found in a namespace or a scope.

    Attributes:
        active: Number of active memories.
        kinds: Number of active memories, by kind.
        without_source: Number of active memories without a session, an actor or a source.
        quarantined: Number of memories waiting for approval.
        conflicts: Pairs of active memories that contradict each other.
        overdue: Active memories that are no longer valid or are past their due date.
        unused: Number of memories older than 30 days that have never been returned.
        oldest_rule: The active, unconfirmed rule that has gone unchanged the longest, or None.
        junk: Number of forgotten memories by source address, for each source that has three or
            more.
        scopes: Number of active memories, by scope.
        signals: Number of active memories that ``observe`` learned, by signal.
    """

    active: int
    kinds: Mapping[str, int]
    without_source: int
    quarantined: int
    conflicts: tuple[tuple[Memory, Memory], ...]
    overdue: tuple[Memory, ...]
    unused: int
    oldest_rule: Memory | None
    junk: Mapping[str, int]
    scopes: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, int] = field(default_factory=dict)

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """Return the report as text, one finding per line."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        lines = [f"{self.active} active memories" + (f": {kinds}" if kinds else "")]
        lines.append(f"{self.without_source} without a session, a speaker or an address")
        lines.append(f"{self.quarantined} quarantined")
        if self.signals:
            learnt = ", ".join(f"{count} {signal}" for signal, count in self.signals.items())
            lines.append(f"learnt: {learnt}")
        lines.append(f"{self.unused} not shown for 30 days or more")
        lines += [f"conflict: {one_line(a.text)} | {one_line(b.text)}" for a, b in self.conflicts]
        lines += [f"overdue: {one_line(one.text)}" for one in self.overdue]
        if self.oldest_rule is not None:
            lines.append(f"oldest unconfirmed rule: {one_line(self.oldest_rule.text)}")
        lines += [f"often forgotten: {uri} ({count})" for uri, count in self.junk.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Wonder:
    """A gap in the memories.

    Attributes:
        kind: ``conflict``, ``unanswered``, ``overdue``, ``slot``, ``stale`` or ``name``.
        question: What to ask.
        memories: The memories that reveal the gap.
    """

    kind: str
    question: str
    memories: tuple[Memory, ...]

    __repr__ = display.brief
