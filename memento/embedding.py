"""The embedder of one store: loaded when first needed, and never mixed with another."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memento.embed import embed_checked, resolve
from memento.errors import EmbeddingMismatch
from memento.ledger import vectors
from memento.ledger.ledger import Ledger
from memento.ledger.sqlite import Connection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Embedder

CACHED_QUERIES = 1024
"""Query vectors kept in RAM, 1.5 kB each with 384 dimensions."""


class StoreEmbedder:
    """Embeds for one ledger and guards the identity of its vectors. Safe from any thread.

    Args:
        ledger: Whose vectors they are.
        spec: What ``memento.embed.resolve`` accepts, other than None.
    """

    def __init__(self, ledger: Ledger, spec: str | Embedder) -> None:
        self._ledger = ledger
        self._spec = spec
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._model: int | None = None
        self._warm = False
        self._queries: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    @property
    def identity(self) -> str:
        """Name and dimension of the embedder in use."""
        embedder = self.loaded()
        return f"{embedder.name} ({embedder.dim})"

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self.loaded().dim

    def loaded(self) -> Embedder:
        """Return the embedder, making it on first use."""
        with self._lock:
            if self._embedder is None:
                embedder = resolve(self._spec)
                assert embedder is not None  # noqa: S101 - only None resolves to None
                self._embedder = embedder
            return self._embedder

    def model(self) -> int:
        """Return the number under which this embedder's vectors are stored.

        Raises:
            EmbeddingMismatch: If the store's vectors come from another one.
        """
        embedder, identity = self.loaded(), self.identity
        stored = self._ledger.read(vectors.current_embedder)  # another process may reindex
        if stored is None:
            self._ledger.write(lambda c: _adopt_if_first(c, identity))
            stored = self._ledger.read(vectors.current_embedder)
        if stored != identity:
            raise EmbeddingMismatch(str(stored), identity)
        if self._model is None:
            self._model = self._ledger.write(
                lambda c: vectors.embedder_id(c, embedder.name, embedder.dim)
            )
        return self._model

    def known_model(self) -> int | None:
        """Return the number if vectors of this embedder are stored, without writing.

        Raises:
            EmbeddingMismatch: If the store's vectors come from another one.
        """
        embedder, identity = self.loaded(), self.identity
        stored = self._ledger.read(vectors.current_embedder)
        if stored is not None and stored != identity:
            raise EmbeddingMismatch(stored, identity)
        if self._model is None:
            self._model = self._ledger.read(
                lambda c: vectors.find_embedder(c, embedder.name, embedder.dim)
            )
        return self._model

    def adopt(self) -> int:
        """Make this embedder the store's, and owe a vector to every row that has none of it.

        Returns:
            How many rows are owed one.
        """
        embedder, identity = self.loaded(), self.identity

        def job(connection: Connection) -> tuple[int, int]:
            vectors.set_embedder(connection, identity)
            model = vectors.embedder_id(connection, embedder.name, embedder.dim)
            return model, vectors.owe_embedding(connection, model)

        self._model, owed = self._ledger.write(job)
        return owed

    def warm(self) -> None:
        """Load the model, so that the first text does not wait for it."""
        if not self._warm:
            self.embed(["warm"])
            self._warm = True

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
        """Embed texts, holding the embedder to its contract; see ``embed.embed_checked``."""
        return embed_checked(self.loaded(), texts, queries=queries)

    def query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, (dim,) float32, unit length; repeated ones come from a cache."""
        with self._lock:
            if text in self._queries:
                self._queries.move_to_end(text)
                return self._queries[text]
        vector: NDArray[np.float32] = self.embed([_encodable(text)], queries=True)[0]
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector


def _adopt_if_first(connection: Connection, identity: str) -> None:
    if vectors.current_embedder(connection) is None:
        vectors.set_embedder(connection, identity)


def _encodable(text: str) -> str:
    """Put a question mark for what has no encoding: a query may hold anything."""
    return text.encode(errors="replace").decode()
