"""Rerankers: models that read query and memory together and reorder the best candidates.

Both require sentence-transformers and run a model for each candidate, which takes ten to a hundred
times as long as retrieval alone. See ``memento.protocols.Reranker`` to write your own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento.embed.checked import at_least
from memento.embed.sentence_transformers import failing_as, load_model
from memento.errors import RerankerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_EDGE = 1
"""Special tokens at both ends of the input of a BERT model."""


class LateInteraction:
    """Reranker that compares every token of the query with every token of the memory.

    The score is the mean, over the tokens of the query, of the largest cosine to a token of the
    memory. It works with any embedding model, such as the one that embeds the memories.

    Source: Khattab & Zaharia, ColBERT: Efficient and Effective Passage Search via Contextualized
    Late Interaction over BERT, SIGIR 2020; here with a model that was not trained for it.

    Args:
        model: Name on the Hugging Face Hub, or a folder; see ``SentenceTransformerEmbedder``.
        device: ``"cpu"``, ``"cuda"`` ...; None lets sentence-transformers choose.
        kept: Number of texts whose token vectors stay in RAM, >= 0; about 20 KB each.

    Raises:
        MissingExtra: If sentence-transformers is not installed.
        EmbedderError: If the model cannot be loaded.
        InvalidInput: If ``kept`` is below 0.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, kept: int = 1000) -> None:
        at_least("kept", kept, 0)
        self._model = load_model(str(model), device)
        self._most = kept
        self._kept: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._lock = threading.Lock()
        self._reading = threading.Lock()  # a tokenizer keeps its settings between calls

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts, in [-1, 1]; see ``memento.protocols.Reranker``."""
        (asked,) = self._tokens([query])
        told = self._known(texts)
        return np.array([_closeness(asked, told[text]) for text in texts], np.float32)

    def _known(self, texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
        """Return the token vectors of texts, from the cache where possible."""
        with self._lock:
            told = {text: self._kept[text] for text in texts if text in self._kept}
        unread = [text for text in dict.fromkeys(texts) if text not in told]
        if unread:
            told |= dict(zip(unread, self._tokens(unread), strict=True))
        with self._lock:
            for text in texts:
                self._kept[text] = told[text]
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return told

    def _tokens(self, texts: Sequence[str]) -> list[NDArray[np.float16]]:
        """Return the (tokens, dim) unit vectors of each text, cut to the window of the model."""
        with failing_as(RerankerError, "late interaction failed"), self._reading:
            found = self._model.encode(
                list(texts), output_value="token_embeddings", show_progress_bar=False
            )
        return [_unit(one.float().cpu().numpy()[_EDGE:-_EDGE]) for one in found]


class CrossEncoderReranker:
    """Reranker that reads query and memory together with a sentence-transformers cross-encoder.

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        device: ``"cpu"``, ``"cuda"`` ...; None lets sentence-transformers choose.
        batch_size: Number of pairs per run of the model, >= 1.

    Raises:
        MissingExtra: If sentence-transformers is not installed.
        RerankerError: If the model cannot be loaded.
        InvalidInput: If ``batch_size`` is below 1.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, batch_size: int = 16
    ) -> None:
        at_least("batch_size", batch_size, 1)
        self._model = load_model(str(model), device, "CrossEncoder", RerankerError)
        self._reading = threading.Lock()  # see above
        self._batch_size = batch_size

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts; see ``memento.protocols.Reranker``."""
        pairs = [(query, text) for text in texts]
        with failing_as(RerankerError, "the cross-encoder failed"), self._reading:
            scores = self._model.predict(
                pairs, batch_size=self._batch_size, show_progress_bar=False
            )
        return np.asarray(scores, np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float16]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), np.float16)


def _closeness(asked: NDArray[np.float16], told: NDArray[np.float16]) -> float:
    if not len(asked) or not len(told):
        return 0.0
    cosines = asked.astype(np.float32) @ told.astype(np.float32).T
    return float(cosines.max(axis=1).mean())
