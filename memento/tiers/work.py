"""Do the work of the backlog: embed texts and store their vectors, and hand those on to the index.

A text that the embedder refuses delays no other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, cast

from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.ledger import vectors
from memento.ledger.checks import Sees
from memento.ledger.contract import Ledger
from memento.ledger.schema import SEQ_BITS
from memento.ledger.vectors import Owed
from memento.tiers.queue import Wishes

if TYPE_CHECKING:
    from memento.tiers.long_tier import Index
    from memento.tiers.store_embedder import StoreEmbedder

log = logging.getLogger("memento.tiers.indexer")

UNFIT = (EmbedderError, InvalidInput, MissingExtra)
"""Errors of an embedder that cannot work: broken, misnamed or not installed."""

OPS = ("index", "drop")
"""Operations of the backlog for the index."""

MAX_REASON = 300
"""Characters of an embedder's message that are kept; one may quote a whole text."""

Line = tuple[int, int]
"""Row id and revision; a new text of the same memory is tried again."""


class Refused:
    """The texts that the embedder refused in this process, and that still lack a vector."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._why: dict[Line, tuple[str, str]] = {}  # the memory's id, and the reason

    def __len__(self) -> int:
        return len(self._why)

    def __contains__(self, line: Owed) -> bool:
        return (line.docid, line.rev) in self._why

    def lines(self) -> set[Line]:
        """Return the lines to skip, some of which may have changed since."""
        return set(self._why)

    def note(self, line: Owed, error: Exception) -> None:
        """Record the error of a line of the backlog, which is skipped from now on."""
        self._why[line.docid, line.rev] = line.id, f"{error}"[:MAX_REASON]

    def clear(self) -> None:
        """Let every text be tried again."""
        self._why.clear()

    def owed(self) -> list[Line]:
        """List the lines that still lack a vector; drop those changed or erased since."""
        if not (known := list(self._why)):
            return []
        still = self._ledger.read(lambda c: vectors.still_owed(c, known))
        for line in set(known).difference(still):
            self._why.pop(line, None)
        return still

    def told(self, sees: Sees) -> str | None:
        """Describe the refused texts in the namespaces that a caller sees; None without any.

        It names the newest memory, not the one tried last: that would depend on the backlog of
        other namespaces.
        """
        lines = sorted(line for line in self.owed() if sees(line[0] >> SEQ_BITS))
        mine = [one for line in lines if (one := self._why.get(line))]
        if not mine:
            return None
        return f"texts refused: {len(mine)}, most recently {mine[-1][0]}: {mine[-1][1]}"

    def unseen(self, sees: Sees) -> int:
        """Count the refused texts in namespaces that a caller does not see."""
        return sum(not sees(docid >> SEQ_BITS) for docid, _ in self.owed())


class Work:
    """Turns lines of the backlog into stored vectors; needs an embedder. Thread-safe.

    ``embedded`` is told the namespaces that got vectors.
    """

    def __init__(
        self,
        ledger: Ledger,
        embedding: StoreEmbedder | None,
        wishes: Wishes,
        refused: Refused,
        embedded: Callable[[Iterable[int]], None],
    ) -> None:
        self._ledger, self._embedding = ledger, cast("StoreEmbedder", embedding)
        self._embedded_in = embedded
        self.wishes, self._refused = wishes, refused

    def still(self, docids: Sequence[int]) -> list[Owed]:
        """Return the lines of some memories that still lack a vector and were not refused."""
        found = self._ledger.read(lambda c: vectors.lines_of(c, docids, ("embed",)))
        return [line for line in found if line not in self._refused]

    def model(self) -> int:
        """Return the number of the embedder."""
        with _contained():
            return self._embedding.model()

    def ready(self) -> int:
        """Load what embedding needs; return the number of the embedder."""
        model = self.model()
        with _contained():
            self._embedding.warm()
        return model

    def do(self, model: int, lines: Sequence[Owed]) -> None:
        """Embed some texts, store their vectors and tell the questions that wait for them.

        Raises:
            EmbedderError: If the embedder refuses every text.
        """
        made = self._embedded(lines)
        spaces = {line.ns for line in lines}
        self._ledger.write(lambda c: vectors.store(c, model, made), spaces=spaces)
        self._embedded_in(spaces)
        self.wishes.embedded(line.docid for line, _ in made)

    def _embedded(self, lines: Sequence[Owed]) -> list[tuple[Owed, bytes]]:
        """Embed a batch; if that fails, each text alone, so that one bad text delays no other.

        Raises:
            EmbedderError: If it refuses even a harmless text: the fault is not in the text.
        """
        try:
            with _contained():
                made = self._embedding.embed(
                    [f"{o.speaker}: {o.text}" if o.speaker else o.text for o in lines]
                )
        except UNFIT as error:
            if len(lines) > 1:
                return [pair for line in lines for pair in self._embedded([line])]
            with _contained():
                self._embedding.embed(["Does the embedder take any text?"])
            self._refused.note(lines[0], error)  # until this process ends; full text finds it
            log.warning(
                "the embedder rejected a text (%s); see store.stats().trouble for its namespace",
                type(error).__name__,
            )
            self.wishes.ring()
            return []
        return [(line, made[at].tobytes()) for at, line in enumerate(lines)]


@contextmanager
def _contained() -> Iterator[None]:
    """Turn exceptions such as SystemExit, which some libraries raise, into `EmbedderError`.

    Signal handlers never run in a background thread, so no user meant to end it.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception):  # the indexer handles it
            raise
        raise EmbedderError(f"the embedder raised {type(error).__name__}: {error}") from error


def tell(ledger: Ledger, index: Index, lines: Sequence[Owed], model: int) -> None:
    """Bring the open index of one embedder up to date with lines, which are sorted by row id."""
    import numpy as np  # noqa: PLC0415 - must not load with memento

    wanted = [line.docid for line in lines if line.op == "index"]
    held = ledger.read(lambda c: vectors.read(c, wanted, model))
    for ns, group in groupby(lines, key=lambda line: line.ns):
        owed, labels = list(group), ledger.labels(ns)
        keep = [line for line in owed if line.op == "index" and line.docid in held]
        if keep:
            matrix = np.stack([np.frombuffer(held[line.docid], np.float32) for line in keep])
            tiers: list[dict[str, str | int]] = [{"tier": line.tier} for line in keep]
            index.upsert(labels, [line.id for line in keep], matrix, tiers)
        if gone := [line.id for line in owed if line.op == "drop"]:
            index.remove(labels, gone)
