"""The embedder of one store: loaded on first use, and never mixed with another one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from memento.base.forks import whole
from memento.embed import embed_checked, resolve
from memento.errors import EmbeddingMismatch
from memento.ledger import vectors
from memento.ledger.contract import Ledger, Moment, Transaction
from memento.protocols import LocalEmbedder
from memento.text.words import estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Embedder

CACHED_QUERIES = 1024
"""Query vectors kept in RAM, 1.5 kB each with 384 dimensions."""

CANARY = "A heron stands in the reeds and waits for the morning ferry."
"""A text whose vector is stored with the embedder's name: other weights give another vector."""

SAME = 0.9
"""Minimum cosine of two vectors of one text with the same weights. Another processor, runtime or
precision stays above it (0.99 for int8 against float32); vectors of other weights are unrelated."""


class StoreEmbedder:
    """Embeds for one ledger and guards the identity of its vectors. Thread-safe.

    ``spec`` is any setting that ``memento.embed.resolve`` accepts, except None.
    """

    def __init__(self, ledger: Ledger, spec: str | Embedder) -> None:
        self._ledger = ledger
        self._spec = spec
        self._lock, self._singing = threading.Lock(), threading.Lock()
        self._embedder: Embedder | None = None
        self._warm = False
        self._sung: NDArray[np.float32] | None = None
        self._recognised: int | None = None
        self._told: tuple[Moment | None, tuple[str | None, int | None]] | None = None
        self._kept = False
        self._queries: OrderedDict[tuple[int | None, str], NDArray[np.float32]] = OrderedDict()

    @property
    def identity(self) -> str:
        """Name and dimension of the embedder in use."""
        return f"{self.loaded().name} ({self.dim})"

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self.loaded().dim

    def loaded(self) -> Embedder:
        """Return the embedder; it is created on first use."""
        if self._embedder is None:
            with whole(), self._lock:
                if self._embedder is None:
                    embedder = resolve(self._spec)
                    assert embedder is not None  # noqa: S101 - only None resolves to None
                    self._embedder = embedder
        return self._embedder

    def model(self) -> int:
        """Return the number under which this embedder's vectors are stored.

        Raises:
            EmbeddingMismatch: If the store's vectors come from an embedder with another name.
        """
        embedder, identity = self.loaded(), self.identity
        stored, model = self._working(embedder)  # another process may reindex
        if stored is None:

            def adopt_if_first(connection: Transaction) -> None:
                if vectors.current_embedder(connection) is None:
                    vectors.set_embedder(connection, identity)

            self._ledger.write(adopt_if_first)
            stored, model = self._working(embedder)
        if stored != identity:
            raise EmbeddingMismatch(str(stored), identity)
        if model is None:
            model = self._ledger.write(
                lambda c: vectors.embedder_id(c, embedder.name, embedder.dim)
            )
        return model

    def known_model(self, moment: Moment | None = None) -> int | None:
        """Return the model number, or None if no vectors of this embedder are stored; no writing.

        Given the present ``moment`` of the ledger, the result is cached until the next write.

        Raises:
            EmbeddingMismatch: If the store's vectors come from another embedder or other weights.
            EmbedderError: If the embedder fails while its weights are checked.
        """
        embedder = self._embedder or self.loaded()
        told = self._told
        if told is None or moment is None or told[0] != moment:
            told = self._told = moment, self._working(embedder)
        stored, model = told[1]
        identity = f"{embedder.name} ({embedder.dim})"
        if stored is not None and stored != identity:
            raise EmbeddingMismatch(stored, identity)
        if model is not None and model != self._recognised:
            self._recognise(model, keep=False)
        return model

    def adopt(self) -> int:
        """Make this the embedder of the store, and queue every row that lacks its vector."""
        embedder, identity = self.loaded(), self.identity
        _, known = self._working(embedder)
        changed = known is not None and self._likeness(known) < SAME

        def job(connection: Transaction) -> int:
            if changed and known is not None:
                vectors.retire(connection, known)
            vectors.set_embedder(connection, identity)
            model = vectors.embedder_id(connection, embedder.name, embedder.dim)
            if changed:  # at once, so that a process with the earlier weights notices
                vectors.set_canary(connection, model, self._canary().tobytes())
            return vectors.owe_embedding(connection, model)

        return self._ledger.write(job)

    def warm(self) -> None:
        """Load the model, so that the first text does not wait for it, and check its weights.

        Raises:
            EmbeddingMismatch: If the store's vectors come from other weights of the same name.
        """
        model = self.model()
        if model != self._recognised or not self._kept:
            self._recognise(model, keep=True)

    def _working(self, embedder: Embedder) -> tuple[str | None, int | None]:
        return self._ledger.read(lambda c: vectors.working(c, embedder.name, embedder.dim))

    def _recognise(self, model: int, *, keep: bool) -> None:
        """Compare the embedder with a vector it made before; once per process.

        Two threads may do so at once, and wait for each other only to embed one text. ``keep``
        stores that vector if the store has none yet.
        """
        if (likeness := self._likeness(model)) < SAME:
            raise EmbeddingMismatch(
                self.identity,
                f"{self.identity} with different weights (cosine {likeness:.2f} for one text)",
            )
        if keep and not self._ledger.read_only:
            vector = self._canary().tobytes()
            self._ledger.write(lambda c: vectors.set_canary(c, model, vector))
        self._recognised, self._kept = model, keep or self._kept

    def _likeness(self, model: int) -> float:
        """Return the cosine of the stored and the present vector of `CANARY`; 1 without one."""
        import numpy as np  # noqa: PLC0415 - must not load with memento

        before = self._ledger.read(lambda c: vectors.canary(c, model))
        if before is None:
            return 1.0
        return float(self._canary() @ np.frombuffer(before, np.float32))

    def _canary(self) -> NDArray[np.float32]:
        with whole(), self._singing:  # of several threads, one embeds the text
            if self._sung is None:
                self._sung = self.embed([CANARY])[0]
            return self._sung

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
        """Embed texts and check the answer against the contract; see ``embed.embed_checked``."""
        with nullcontext() if self._warm else whole():  # the first text loads libraries
            made = embed_checked(self.loaded(), texts, queries=queries)
        self._warm = True
        return made

    def count_tokens(self, text: str) -> int:
        """Count the tokens that a text takes in a prompt; `EmbedderError` if it cannot be loaded.

        This is the number of word pieces by the embedder's tokenizer, but at least the estimate of
        ``memento.text.words``, because the tokenizer counts a long word in an unknown script as one
        piece. For an embedder that is not local, it is the estimate.
        """
        least = estimate(text)
        embedder = self.loaded()
        if not hasattr(embedder, "count_tokens"):  # isinstance of a protocol would take 20 µs
            return least
        with nullcontext() if self._warm else whole():  # the first text loads libraries
            return max(least, int(embedder.count_tokens(text)))

    def nearness(
        self, query: str, asker: int | None
    ) -> Callable[[Sequence[str]], Sequence[float]] | None:
        """Return a function that scores texts by their cosine to a query; None if it is slow.

        Only a local embedder is fast: others are called over a network.
        """
        if not isinstance(self.loaded(), LocalEmbedder):
            return None
        return lambda texts: (self.embed(texts) @ self.query(query, asker)).tolist()

    def query(self, text: str, asker: int | None) -> NDArray[np.float32]:
        """Embed a query, (dim,) float32, unit length; repeated ones come from a cache.

        A namespace (``asker``) only gets those that it asked for itself: a quick answer would tell
        it what another one has asked.
        """
        key = (asker, text)
        with self._lock:
            if key in self._queries:
                self._queries.move_to_end(key)
                return self._queries[key]
        encodable = text.encode(errors="replace").decode()  # a query may hold any character
        vector: NDArray[np.float32] = self.embed([encodable], queries=True)[0]
        with self._lock:
            self._queries[key] = vector
            while len(self._queries) > CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector
