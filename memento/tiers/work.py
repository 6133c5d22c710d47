"""Do the work of the backlog: embed texts and store their vectors, and hand those on to the index.

A text that the embedder refuses delays no other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.ledger import vectors
from memento.ledger.contract import Ledger
from memento.ledger.vectors import Owed
from memento.tiers.refused import Refused
from memento.tiers.waiting import Wishes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("memento.tiers.indexer")

UNFIT = (EmbedderError, InvalidInput, MissingExtra)
"""Errors of an embedder that cannot work: broken, misnamed or not installed."""


OPS = ("index", "drop")
"""Operations of the backlog that the index is owed."""


class Embedding(Protocol):
    """The part of the embedder that the indexer uses: vectors, and the number they get."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...  # noqa: D102 - see Embedder

    def warm(self) -> None: ...  # noqa: D102 - loads what embed() needs

    def model(self) -> int: ...  # noqa: D102 - number in the ledger


class Work:
    """Turns lines of the backlog into stored vectors. Thread-safe.

    Args:
        ledger: The ledger with the backlog and the vectors.
        embedding: The embedder.
        wishes: The questions that wait for vectors.
        refused: The texts that the embedder refused.
    """

    def __init__(
        self, ledger: Ledger, embedding: Embedding, wishes: Wishes, refused: Refused
    ) -> None:
        self._ledger = ledger
        self._embedding = _Contained(embedding)
        self._wishes = wishes
        self._refused = refused

    def model(self) -> int:
        """Return the number of the embedder."""
        return self._embedding.model()

    def ready(self) -> int:
        """Load what embedding needs; return the number of the embedder."""
        model = self._embedding.model()
        self._embedding.warm()
        return model

    def do(self, model: int, lines: Sequence[Owed]) -> None:
        """Embed some texts, store their vectors and tell the questions that wait for them.

        Raises:
            EmbedderError: If the embedder takes no text at all.
        """
        made = self._embedded(lines)
        self._ledger.write(lambda c: vectors.store(c, model, made))
        self._wishes.embedded(line.docid for line, _ in made)

    def _embedded(self, bite: Sequence[Owed]) -> list[tuple[Owed, bytes]]:
        """Embed a batch; if that fails, each text alone, so that one bad text delays no other.

        Raises:
            EmbedderError: If it embeds no text at all: the fault is the embedder's, not a text's.
        """
        try:
            made = self._embedding.embed([spoken(line) for line in bite])
        except UNFIT as error:
            if len(bite) == 1:
                self._embedding.embed(["Does the embedder take any text?"])
                self._refuse(bite[0], error)
                return []
            return [pair for line in bite for pair in self._embedded([line])]
        return [(line, made[at].tobytes()) for at, line in enumerate(bite)]

    def _refuse(self, line: Owed, error: Exception) -> None:
        """Skip a text until this process ends; full text still finds it."""
        self._refused.note(line, error)
        log.warning(
            "the embedder refused a text (%s); see store.stats().trouble of its namespace",
            type(error).__name__,
        )
        self._wishes.ring()


class Index(Protocol):
    """The part of the long tier that the indexer uses."""

    def upsert(  # noqa: D102 - see LongTier
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[dict[str, str | int]],
    ) -> None: ...

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None: ...  # noqa: D102


def tell(ledger: Ledger, index: Index, lines: Sequence[Owed], model: int) -> None:
    """Bring the index to the present state of some memories.

    Args:
        ledger: The ledger with the vectors.
        index: The open index.
        lines: Lines of the backlog, in order of row ids.
        model: Number of the embedder whose vectors it holds.
    """
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


class _Contained:
    """An embedder that ends no thread: it may raise SystemExit, and some libraries do.

    No signal handler runs in a background thread, so nobody else meant it.
    """

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with _contained():
            return self._embedding.embed(texts)

    def warm(self) -> None:
        with _contained():
            self._embedding.warm()

    def model(self) -> int:
        with _contained():
            return self._embedding.model()


@contextmanager
def _contained() -> Iterator[None]:
    try:
        yield
    except Exception:  # the indexer knows what to do about it
        raise
    except BaseException as error:  # such as SystemExit: foreign code must not end the thread
        raise EmbedderError(f"the embedder raised {type(error).__name__}: {error}") from error


def spoken(line: Owed) -> str:
    """Compose the text to embed for a memory: the speaker and the text."""
    return f"{line.speaker}: {line.text}" if line.speaker else line.text
