"""The values that insight returns: chains of evidence and what the past looks like. Immutable."""

from __future__ import annotations

from dataclasses import dataclass

from memento.display import one_line
from memento.types import Memory, Retrieval


@dataclass(frozen=True, slots=True)
class Chain:
    """Memories that lead from a name in the question to others over shared names.

    Attributes:
        facts: The memories, in order; the last one is where the chain leads.
        names: For each memory the name by which it was reached: the first is in the question, each
            other one is also in the memory before. In small letters, without accents.
        confidence: How well the chain fits the question, [0, 1]; compares chains of one question.
    """

    facts: tuple[Memory, ...]
    names: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """A memory of a chain that others contradict.

    Attributes:
        memory: The memory of the chain.
        others: Visible memories that say something else.
        reason: ``other value`` if they say the same about another last name or value and are older;
            ``contradicts`` if a link of that name joins them.
    """

    memory: Memory
    others: tuple[Memory, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The answer of ``reason``.

    Attributes:
        question: The question as given.
        names: The names in it that memories have.
        chains: Chains of evidence, best first; none is a part of another.
        conflicts: Memories of the chains that others contradict.
        gaps: Words of the question that no chain covers.
        hits: What ``retrieve`` finds, if there is no chain; else None.
    """

    question: str
    names: tuple[str, ...] = ()
    chains: tuple[Chain, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[str, ...] = ()
    hits: Retrieval | None = None

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
