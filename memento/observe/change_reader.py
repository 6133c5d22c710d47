"""Whether a later statement of a person changes an earlier one, as a model reads it.

People rarely say that something changed: "I caved, just fish" changes "no meat obviously". A small
transformer reads both and gives the probability that whoever knows both should go by the later one.
It shares the word embeddings and the tokenizer of the default embedder.
``scripts/train_changes.py`` trains and builds it. English only.
"""

from __future__ import annotations

from functools import cache
from math import exp

from memento.embed.onnx import MINILM
from memento.embed.session import OnnxModel, packaged

MANIFEST = MINILM / "changes.json"
STATEMENT_TOKENS = 64
"""Maximum tokens that are read of each statement, as in training."""


class ChangeReader:
    """Reads pairs of statements; several threads may use one. Made by ``ChangeReader.load``."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model

    @classmethod
    def load(cls) -> ChangeReader:
        """Return the reader of the package; its weights are read with the first pair.

        Raises:
            EmbedderError: If its manifest is missing or damaged.
        """
        return _loaded()

    def probability(self, older: str, newer: str) -> float:
        """Return how probable it is that a later statement changes an earlier one, (0, 1).

        Raises:
            EmbedderError: If a file of the model is missing or damaged.
        """
        model = self._model.loaded()
        first, second = (
            model.tokenizer.encode(text, add_special_tokens=False).ids[:STATEMENT_TOKENS]
            for text in (older, newer)
        )
        ids = [model.first, *first, model.last, *second, model.last]
        stays, changes = model.run(ids)[0, 0].tolist()
        return 1 / (1 + exp(stays - changes))


@cache
def _loaded() -> ChangeReader:
    return ChangeReader(packaged(MANIFEST)[1])
