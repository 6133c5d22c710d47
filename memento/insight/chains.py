"""Search for chains of facts that lead from the names in a question over shared names.

A beam search. Each fact of a chain answers the next phrases of the question, see ``asking``; how
well is told by their meaning and by the words that they share. Pure, but for the two functions that
it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from memento.insight.asking import MOST_JOINED, Asked, Start
from memento.insight.index import Fact, NameIndex

if TYPE_CHECKING:
    Likeness = Callable[[Sequence[str]], Mapping[str, Sequence[float]]]
    Visible = Callable[[Sequence[int]], set[int]]

PATHS = 10
"""Paths that are followed from each fact to the next."""
CANDIDATES = 60
"""Most facts that are looked at for one name; of a name in more facts, those with words of the
question, then the newest."""
SHARED = 0.3
"""Weight of shared words beside likeness of meaning."""
ONWARD = 0.3
"""Added for a fact that speaks of the name by which it was reached: the name comes first in it."""
UNRELATED = 0.3
"""Fit of a fact that says nothing of what the phrase asks: less is worse than no answer to it."""
JOINED = 0.5
"""Weight of each further phrase that one fact answers beside the first."""
A_LINK = 0.3
"""Cost of a fact that only links two others and answers no phrase."""


@dataclass(frozen=True, slots=True)
class Step:
    """A fact of a path, the name by which it was reached, and how well it fits its phrases."""

    name: str
    fact: Fact
    fit: float


@dataclass(frozen=True, slots=True)
class Path:
    """Facts in order; each shares a name with the one before.

    Attributes:
        start: The name of the question from which it leads.
        steps: The facts.
        answered: Number of phrases that they answer.
        total: Sum of the fits above ``UNRELATED``, each times its phrases.
    """

    start: Start
    steps: tuple[Step, ...] = ()
    answered: int = 0
    total: float = 0.0

    @property
    def score(self) -> float:
        """Fit with the question, per phrase; compares within one question only."""
        return self.total / self.start.size

    @property
    def facts(self) -> frozenset[int]:
        """Row ids of its facts."""
        return frozenset(step.fact.docid for step in self.steps)


class Search:
    """One search for chains.

    Args:
        index: The names of the namespace.
        asked: The question.
        likeness: Returns how alike in meaning relations are to each text of the question; not of
            all relations.
        visible: Returns which row ids may be shown.

    Attributes:
        older: Row id of a fact to the visible row ids that say the same of another value.
    """

    def __init__(
        self, index: NameIndex, asked: Asked, likeness: Likeness, visible: Visible
    ) -> None:
        self._index, self._asked = index, asked
        self._likeness, self._visible = likeness, visible
        self._seen: dict[int, bool] = {}
        self._fits: dict[str, list[float]] = {}
        self._stems = frozenset[str]().union(*asked.stems)
        self.older: dict[int, list[int]] = {}

    def best(self, hops: int, k: int) -> list[Path]:
        """Return the best chains, best first; none is a part of another."""
        beam = [Path(start) for start in self._asked.starts]
        found: list[Path] = []
        for _ in range(hops):
            beam = nlargest(PATHS, self._longer(beam), key=_rank)
            found += beam
        chosen: list[Path] = []
        for path in sorted(found, key=_rank, reverse=True):
            facts = path.facts
            if not any(facts <= one.facts or one.facts <= facts for one in chosen):
                chosen.append(path)
            if len(chosen) == k:
                break
        return chosen

    def _longer(self, beam: Sequence[Path]) -> Iterator[Path]:
        """Yield every path that is one fact longer than one of the beam."""
        ways = [(path, name, self._proposed(path, name)) for path in beam for name in _on(path)]
        self._look({docid for _, _, docids in ways for docid in docids})
        facts = self._index.facts
        fresh = [
            (path, name, facts[docid])
            for path, name, docids in ways
            for docid in docids
            if self._is_newest(docid)
        ]
        self._weigh([fact for _, _, fact in fresh])
        for path, name, fact in fresh:
            yield from self._with(path, name, fact)

    def _proposed(self, path: Path, name: str) -> list[int]:
        """Return facts that have a name; of many, those with words of the question."""
        facts, on_path = self._index.facts, path.facts
        docids = [docid for docid in self._index.holders.get(name, ()) if docid not in on_path]
        if len(docids) <= CANDIDATES:
            return docids

        def worth(docid: int) -> tuple[int, bool, int]:
            reading = facts[docid].reading
            return len(self._stems & reading.stems), reading.names[0] == name, docid

        return nlargest(CANDIDATES, docids, key=worth)

    def _look(self, docids: set[int]) -> None:
        """Find out which of some facts, and of those like them, may be shown."""
        alike, facts = self._index.alike, self._index.facts
        for docid in list(docids):
            like = facts[docid].reading.like
            if like and len(alike[like]) > 1:
                docids.update(alike[like])
        unknown = sorted(docids - self._seen.keys())
        shown = self._visible(unknown) if unknown else set()
        self._seen.update((docid, docid in shown) for docid in unknown)

    def _is_newest(self, docid: int) -> bool:
        """Tell whether a fact may be shown, and no newer one says the same of another value."""
        if not self._seen[docid]:
            return False
        facts = self._index.facts
        like = facts[docid].reading.like
        if not like:
            return True
        group = [one for one in self._index.alike[like] if self._seen[one]]
        newest = max(group, key=lambda one: facts[one].age)
        if newest != docid:
            return False
        value = facts[docid].reading.value
        self.older[docid] = sorted(one for one in group if facts[one].reading.value != value)
        return True

    def _weigh(self, facts: Sequence[Fact]) -> None:
        """Compare the relations of facts with the phrases of the question."""
        order = sorted(facts, key=lambda one: (-len(self._stems & one.reading.stems), -one.docid))
        fresh = {
            one.reading.relation: one.reading.stems
            for one in order
            if one.reading.relation not in self._fits
        }
        known = self._likeness(list(fresh))
        for relation, said in fresh.items():
            shared = [len(asked & said) / max(1, len(asked)) for asked in self._asked.stems]
            alike = known.get(relation, shared)
            self._fits[relation] = [
                SHARED * words + (1 - SHARED) * meaning
                for words, meaning in zip(shared, alike, strict=True)
            ]

    def _with(self, path: Path, name: str, fact: Fact) -> Iterator[Path]:
        """Yield a path with one more fact, which answers the next phrases or only links."""
        fits, start, at = self._fits[fact.reading.relation], path.start, path.answered
        onward = ONWARD * (fact.reading.names[0] == name)
        for end in range(at + 1, min(at + MOST_JOINED, start.size) + 1):
            fit = fits[start.parts[at, end]] + onward
            total = path.total + (1 + JOINED * (end - at - 1)) * (fit - UNRELATED)
            yield Path(start, (*path.steps, Step(name, fact, fit)), end, total)
        if at < start.size:
            step = Step(name, fact, 0.0)
            yield Path(start, (*path.steps, step), at, path.total - A_LINK)


def _on(path: Path) -> Sequence[str]:
    """Return the names from which a path may go on."""
    if not path.steps:
        return [path.start.name]
    used = {step.name for step in path.steps}
    return [name for name in path.steps[-1].fact.reading.names if name not in used]


def _rank(path: Path) -> tuple[float, int, int]:
    """Return what orders paths: of those that fit as well the shortest, then the newest."""
    return round(path.score, 9), -len(path.steps), path.steps[-1].fact.docid
