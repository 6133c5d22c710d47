"""Answer questions by chains of memories that share names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from memento.check import check_count
from memento.errors import InvalidInput
from memento.filters import Filtering, filtering
from memento.insight.chains import UNRELATED
from memento.insight.reason import CONTRADICTS, Found, Reader
from memento.insight.values import Chain, Conflict, Reasoning
from memento.language.plain import plain
from memento.types import Memory, Retrieval
from memento.views import View

if TYPE_CHECKING:
    from memento.insight.chains import Path

MOST_HOPS = 6
"""Most memories of a chain."""
MOST_CHAINS = 100
"""Most chains of an answer."""


class Finds(Protocol):
    """The part of the manager that a mixin needs to search."""

    def retrieve(self, query: str, k: int | None, /, **options: Any) -> Retrieval:
        """Find memories."""
        ...


class Reasons(View):
    """Verbs of the manager that combine memories."""

    def reason(
        self, question: str, *, hops: int = 3, k: int = 5, **filters: Unpack[Filtering]
    ) -> Reasoning:
        """Find chains of memories that bear on a question which no single memory answers.

        A chain begins with a memory that has a name from the question, and each next memory shares
        a name with the one before. Of active memories that say the same about different last names
        or values only the newest is followed; the others are reported as conflicts. Nothing is
        generated: every step is a stored memory.

        The first question about a namespace reads its memories once; the names are then kept in
        RAM and follow every change. Nothing is recorded.

        Args:
            question: The question, in plain words.
            hops: Most memories of a chain, 1 to 6.
            k: Most chains, 1 to 100; also the number of hits if there is no chain.
            filters: Only memories that match; see ``Filtering``.

        Returns:
            The chains, best first. If the question has no name that a memory has, or nothing leads
            on from it, ``hits`` has what ``retrieve`` finds instead.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     _ = memory.add("Nina Park leads the billing team at Northwind")
        ...     _ = memory.add("The office of Northwind is in Utrecht")
        ...     found = memory.reason("In which city is the office of the company of Nina Park?")
        ...     [fact.text for fact in found.chains[0].facts]
        ['Nina Park leads the billing team at Northwind', 'The office of Northwind is in Utrecht']
        """
        if not isinstance(question, str):
            raise InvalidInput("question", f"must be a string, not {type(question).__name__}")
        check_count("hops", hops, most=MOST_HOPS)
        check_count("k", k, most=MOST_CHAINS)
        asked = self._looked(filtering(self._engine.now(), filters, Reasons.reason))
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return Reasoning(question, hits=self._flat(question, k, filters))
        engine = self._engine
        reader = Reader(engine.ledger, engine.names, engine.embedding, ns, asked)
        found = reader.chains(plain(question), hops, k)
        if not found.paths:
            return Reasoning(question, found.names, hits=self._flat(question, k, filters))
        shown = {docid: self._memory(row) for docid, row in found.rows.items()}
        return Reasoning(
            question,
            found.names,
            tuple(_chain(path, shown) for path in found.paths),
            _conflicts(found, shown),
            found.gaps,
        )

    def _flat(self, question: str, k: int, filters: Filtering) -> Retrieval:
        return cast("Finds", self).retrieve(question, k, record=False, shared=False, **filters)


def _chain(path: Path, shown: Mapping[int, Memory]) -> Chain:
    """Describe a chain."""
    steps = path.steps
    return Chain(
        tuple(shown[step.fact.docid] for step in steps),
        tuple(step.name for step in steps),
        round(min(1.0, max(0.0, path.score + UNRELATED)), 4),
    )


def _conflicts(found: Found, shown: Mapping[int, Memory]) -> tuple[Conflict, ...]:
    """Describe what contradicts memories of the chains."""
    return tuple(
        Conflict(shown[docid], tuple(shown[one] for one in group), reason)
        for reason, groups in (("other value", found.older), (CONTRADICTS, found.against))
        for docid, group in groups.items()
    )
