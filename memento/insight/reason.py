"""Find chains of evidence for a question in one namespace. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memento.insight import names
from memento.insight.asking import Asked, asked
from memento.insight.chains import Path, Search
from memento.insight.index import NameIndex, NameIndexes
from memento.language.words import words
from memento.ledger import links, memories
from memento.ledger.contract import Ledger, Session
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, is_sound

if TYPE_CHECKING:
    from memento.tiers.embedder import StoreEmbedder

CONTRADICTS = "contradicts"
"""Relation of a link between memories that cannot both be true."""
_READ = 4000
"""Characters of a question that are read."""
EMBEDDED = 48
"""Most relations that one question embeds; those of earlier questions are known."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search for chains.

    Attributes:
        names: Folded names in the question.
        paths: The chains, best first.
        rows: Row id to row, of every memory that is shown.
        older: Row id on a chain to visible rows that say the same of another value.
        against: Row id on a chain to visible rows with a link that says they contradict it.
        gaps: Words of the question that no chain covers.
    """

    names: tuple[str, ...]
    paths: Sequence[Path]
    rows: Mapping[int, Row]
    older: Mapping[int, Sequence[int]]
    against: Mapping[int, Sequence[int]]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """One namespace, and the filters that say which of its memories may be seen."""

    ledger: Ledger
    indexes: NameIndexes
    embedding: StoreEmbedder | None
    ns: int
    filters: Filters

    def chains(self, question: str, hops: int, k: int) -> Found:
        """Search for chains.

        Of the question only the first characters are read, as by ``retrieve``.
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
        """Return the row ids that were asked for; None for all."""
        if not self.filters.ids:
            return None
        found = self.ledger.read(lambda c: memories.docids_of(c, self.ns, self.filters.ids))
        return set(found.values())

    def _visible(self, docids: Sequence[int], allowed: set[int] | None) -> set[int]:
        wanted = [one for one in docids if allowed is None or one in allowed]
        asked = replace(self.filters, ids=())
        return self.ledger.read(lambda c: memories.fitting_docids(c, self.ns, asked, wanted))

    def _rows(self, docids: Sequence[int]) -> dict[int, Row]:
        asked = replace(self.filters, ids=())
        return self.ledger.read(lambda c: memories.fitting_all(c, self.ns, asked, docids))

    def _likeness(
        self, index: NameIndex, texts: Sequence[str], relations: Sequence[str]
    ) -> dict[str, list[float]]:
        """Compare relations with parts of a question; without an embedder nothing is alike."""
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
        rows = self._rows(sorted({*on_chains, *_all_in(before), *_all_in(linked)}))
        seen = {docid: row for docid, row in rows.items() if is_sound(row)}
        whole = [path for path in paths if path.facts <= seen.keys()]
        said = _stems_of([seen[docid].text for path in whole for docid in path.facts])
        return Found(
            tuple(start.name for start in wanted.starts),
            whole,
            seen,
            _shown(before, seen),
            _shown(linked, seen),
            tuple(word for word in wanted.telling if word[: names.STEM] not in said),
        )


def _stems_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the first letters of the words of some texts."""
    return frozenset([word[: names.STEM] for text in texts for word in words(text)])


def _against(session: Session, docid: int) -> list[int]:
    """Return the row ids of the memories that contradict one."""
    return [
        src + dst - docid
        for src, dst, relation in links.linked(session, docid)
        if relation == CONTRADICTS
    ]


def _all_in(groups: Mapping[int, Sequence[int]]) -> set[int]:
    return {docid for group in groups.values() for docid in group}


def _shown(groups: Mapping[int, Sequence[int]], seen: Mapping[int, Row]) -> dict[int, list[int]]:
    kept = {docid: [one for one in group if one in seen] for docid, group in groups.items()}
    return {docid: group for docid, group in kept.items() if group and docid in seen}
