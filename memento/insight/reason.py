"""Find chains of evidence for a question in one namespace. Reads only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING

from memento.insight import names
from memento.insight.name_index import Fact, NameIndex, NameIndexes
from memento.insight.names import Span, folded, stems
from memento.ledger import links, memories
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, is_sound
from memento.text.words import META_WORDS, STOP_WORDS, words

if TYPE_CHECKING:
    from memento.tiers.store_embedder import StoreEmbedder

    Likeness = Callable[[Sequence[str]], Mapping[str, Sequence[float]]]
    Visible = Callable[[Sequence[int]], set[int]]

MOST_NAMES = 3
"""Maximum number of names in a question from which chains start."""
MOST_PHRASES = 6
"""Maximum number of phrases of a question; those farthest from the name are joined into one."""
MOST_JOINED = 3
"""Maximum number of phrases that one fact may answer together."""

_WORD = re.compile(r"(?P<word>[^\W_]+(?:['\u2019](?!s\b)[^\W_]+)?)(?P<whose>['\u2019]s?\b)?")
_LEADING = frozenset(["of", "by", "to", "for", "with", "from", "in", "at", "on", "about"])


@dataclass(frozen=True, slots=True)
class Start:
    """The phrases of a question, seen from one name.

    Attributes:
        name: The folded name.
        size: Number of phrases, >= 1.
        parts: (first phrase, end before) to the index of their joined text in ``Asked.texts``.
    """

    name: str
    size: int
    parts: Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, prepared for a search for chains.

    Attributes:
        starts: One for each name.
        texts: Phrases, single and joined with the next ones.
        stems: The stems of the words of each text.
        telling: The content words of the question, without its names.
    """

    starts: tuple[Start, ...]
    texts: tuple[str, ...]
    stems: tuple[frozenset[str], ...]
    telling: tuple[str, ...]


def asked(question: str, spans: Sequence[Span]) -> Asked:
    """Prepare a question: what does it ask about the names in it?

    >>> question = "In which city is the bank of Omar?"
    >>> asked(question, [Span("omar", 29, 33)]).texts
    ('bank', 'bank city', 'city')
    """
    texts: dict[str, int] = {}
    starts = []
    for span in dict.fromkeys(spans[:MOST_NAMES]):
        phrases = _outwards(question, span, spans) or [question]
        phrases = [*phrases[: MOST_PHRASES - 1], " ".join(phrases[MOST_PHRASES - 1 :])]
        phrases = [one for one in phrases if one]
        parts = {
            (at, end): texts.setdefault(" ".join(phrases[at:end]), len(texts))
            for at in range(len(phrases))
            for end in range(at + 1, min(at + MOST_JOINED, len(phrases)) + 1)
        }
        starts.append(Start(span.name, len(phrases), parts))
    rest = _blank(question, spans)
    return Asked(
        tuple(starts),
        tuple(texts),
        tuple(stems(text) for text in texts),
        tuple(dict.fromkeys(filter(_tells, words(rest)))),
    )


def _outwards(question: str, name: Span, spans: Sequence[Span]) -> list[str]:
    """Return the phrases around a name in the order in which they apply to it."""
    rest = _blank(question, spans)
    left, right = rest[: name.start], rest[name.end :]
    before, after = list(_phrases(left))[::-1], list(_phrases(right))
    last = [match["word"].casefold() for match in _WORD.finditer(left)][-1:]
    described = not _LEADING.isdisjoint(last)  # "the bank of Omar"
    return [*before, *after] if described else [*after, *before]


def _blank(question: str, spans: Sequence[Span]) -> str:
    """Return a question with its names replaced by spaces, of the same length."""
    for span in spans:
        question = question[: span.start] + " " * (span.end - span.start) + question[span.end :]
    return question


def _phrases(text: str) -> Iterator[str]:
    """Yield the runs of content words, in order."""
    run: list[str] = []
    for match in _WORD.finditer(text):
        if _tells(match["word"]):
            run.append(match["word"])
        if run and (match["whose"] or run[-1] != match["word"]):
            yield " ".join(run)
            run = []
    if run:
        yield " ".join(run)


def _tells(word: str) -> bool:
    said = folded(word)
    return bool(said) and said not in STOP_WORDS and said not in META_WORDS


PATHS = 10
"""Maximum number of paths that are extended at each hop."""
CANDIDATES = 60
"""Maximum number of facts considered for one name; if it has more, those that share words with the
question come first, then the newest."""
SHARED = 0.3
"""Weight of shared words; the rest is that of similarity of meaning."""
ONWARD = 0.3
"""Bonus for a fact about the name by which it was reached: the name comes first in it."""
UNRELATED = 0.3
"""Fit of an unrelated fact; a path gains only by what a fact's fit exceeds this."""
JOINED = 0.5
"""Weight of each phrase after the first that one fact answers."""
A_LINK = 0.3
"""Cost of a fact that only links two others and answers no phrase."""

CONTRADICTS = "contradicts"
"""Relation of a link between memories that cannot both be true."""
_READ = 4000
"""Characters of a question that are read."""
EMBEDDED = 48
"""Maximum number of new relations that one question embeds; earlier ones are cached."""


@dataclass(frozen=True, slots=True)
class Step:
    """A fact of a path, the name by which it was reached, and its fit; 0 if it only links."""

    name: str
    fact: Fact
    fit: float


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of facts from a name of the question; each shares a name with the one before.

    Attributes:
        answered: Number of phrases that they answer.
        total: Sum of the fits above ``UNRELATED``, weighted by the number of phrases, less
            ``A_LINK`` for each fact that only links.
    """

    start: Start
    steps: tuple[Step, ...] = ()
    answered: int = 0
    total: float = 0.0

    @property
    def score(self) -> float:
        """Fit per phrase; comparable only within one question."""
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
        likeness: Maps relations to their cosine with each text of the question; may leave some out.
        visible: Returns which row ids may be shown.

    Attributes:
        older: Row id of a fact to the visible rows that give another value for the same thing.
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
        """Return the best ``k`` chains of up to ``hops`` facts; none is part of another."""
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
        """Yield every path that extends one of the beam by one fact."""
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
        """Return facts with a name that are not on the path, at most ``CANDIDATES``."""
        facts, on_path = self._index.facts, path.facts
        docids = [docid for docid in self._index.holders.get(name, ()) if docid not in on_path]
        if len(docids) <= CANDIDATES:
            return docids

        def worth(docid: int) -> tuple[int, bool, int]:
            reading = facts[docid].reading
            return len(self._stems & reading.stems), reading.names[0] == name, docid

        return nlargest(CANDIDATES, docids, key=worth)

    def _look(self, docids: set[int]) -> None:
        """Look up which of the facts, and of facts like them, are visible."""
        alike, facts = self._index.alike, self._index.facts
        for docid in list(docids):
            like = facts[docid].reading.like
            if like and len(alike[like]) > 1:
                docids.update(alike[like])
        unknown = sorted(docids - self._seen.keys())
        shown = self._visible(unknown) if unknown else set()
        self._seen.update((docid, docid in shown) for docid in unknown)

    def _is_newest(self, docid: int) -> bool:
        """Return whether a fact is visible and the newest of its like; note the older values."""
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
        """Compute how well the relations of facts fit the phrases of the question."""
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
        """Yield the path extended by a fact that answers the next phrases, or that only links."""
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
    """Return the names by which a path can be extended."""
    if not path.steps:
        return [path.start.name]
    used = {step.name for step in path.steps}
    return [name for name in path.steps[-1].fact.reading.names if name not in used]


def _rank(path: Path) -> tuple[float, int, int]:
    """Return the sort key of a path: its score; among equals the shortest, then the newest."""
    return round(path.score, 9), -len(path.steps), path.steps[-1].fact.docid


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search for chains.

    Attributes:
        rows: Row id to row, of every memory that is shown.
        older: Row id on a chain to visible rows that give another value for the same thing.
        against: Row id on a chain to visible rows that are linked to it by ``contradicts``.
        gaps: Words in the question that no chain covers.
    """

    names: tuple[str, ...]
    paths: Sequence[Path]
    rows: Mapping[int, Row]
    older: Mapping[int, Sequence[int]]
    against: Mapping[int, Sequence[int]]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """Searches one namespace for chains among the memories that pass the filters."""

    ledger: Ledger
    indexes: NameIndexes
    embedding: StoreEmbedder | None
    ns: int
    filters: Filters

    def chains(self, question: str, hops: int, k: int) -> Found:
        """Search for chains.

        Only the first 4,000 characters of the question are read, as by ``retrieve``.
        """
        question = question[:_READ]
        index = self.indexes.hold(self.ns)
        with index.lock:
            self.indexes.follow(self.ns, index)
            wanted = asked(question, names.asked(question, index.holders))
            allowed = self._allowed()
            search = Search(
                index,
                wanted,
                lambda relations: self._likeness(index, wanted.texts, relations),
                lambda docids: self._visible(docids, allowed),
            )
            paths = search.best(hops, k)
        return self._found(wanted, paths, search.older)

    def _allowed(self) -> set[int] | None:
        """Return the row ids of the filter ``ids``; None without that filter."""
        if not self.filters.ids:
            return None
        found = self.ledger.read(
            lambda c: memories.docids_of(c, self.ns, self.filters.ids), space=self.ns
        )
        return set(found.values())

    def _visible(self, docids: Sequence[int], allowed: set[int] | None) -> set[int]:
        wanted = [one for one in docids if allowed is None or one in allowed]
        return self.ledger.read(
            lambda c: memories.fitting_docids(c, self.ns, self.filters, wanted), space=self.ns
        )

    def _likeness(
        self, index: NameIndex, texts: Sequence[str], relations: Sequence[str]
    ) -> dict[str, list[float]]:
        """Return the cosines of relations with the texts of a question; {} without an embedder."""
        embedding = self.embedding
        if embedding is None or not relations or not texts:
            return {}
        known = index.vectors(relations, embedding.embed, EMBEDDED)
        said = index.vectors(texts, embedding.embed, len(texts))
        return {
            relation: [float(vector @ said[text]) for text in texts]
            for relation, vector in known.items()
        }

    def _found(
        self, wanted: Asked, paths: Sequence[Path], older: Mapping[int, Sequence[int]]
    ) -> Found:
        on_chains = sorted({docid for path in paths for docid in path.facts})
        before = {docid: older[docid] for docid in on_chains if older.get(docid)}
        linked = self.ledger.read(lambda c: {one: _against(c, one) for one in on_chains})
        beside = chain.from_iterable((*before.values(), *linked.values()))
        docids = sorted({*on_chains, *beside})
        rows = self.ledger.read(
            lambda c: memories.fitting(c, self.ns, self.filters, docids), space=self.ns
        )
        seen = {row.docid: row for row in rows if is_sound(row)}
        whole = [path for path in paths if path.facts <= seen.keys()]
        said = {
            word[: names.STEM]
            for path in whole
            for docid in path.facts
            for word in words(seen[docid].text)
        }
        return Found(
            tuple(start.name for start in wanted.starts),
            whole,
            seen,
            _shown(before, seen),
            _shown(linked, seen),
            tuple(word for word in wanted.telling if word[: names.STEM] not in said),
        )


def _against(session: Transaction, docid: int) -> list[int]:
    """Return the row ids that are linked to a memory by ``contradicts``."""
    return [
        src + dst - docid
        for src, dst, relation in links.linked(session, docid)
        if relation == CONTRADICTS
    ]


def _shown(groups: Mapping[int, Sequence[int]], seen: Mapping[int, Row]) -> dict[int, list[int]]:
    kept = {docid: [one for one in group if one in seen] for docid, group in groups.items()}
    return {docid: group for docid, group in kept.items() if group and docid in seen}
