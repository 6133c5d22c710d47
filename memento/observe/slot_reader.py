"""Reads what a statement settles about its speaker.

A small transformer tells for each token whether it belongs to the value of one of
``personal.SLOTS``, or to what no longer holds. It shares the word embeddings and the tokenizer of
the default embedder. ``scripts/train_slots.py`` trains and builds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memento.embed.onnx import MINILM
from memento.embed.session import REPAIR, OnnxModel, packaged
from memento.errors import EmbedderError
from memento.observe.mask import HIDDEN, hide
from memento.observe.personal import SLOTS, Personal

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANIFEST = MINILM / "slots.json"
STATEMENT_TOKENS = 96
"""Maximum tokens that are read of a statement, as in training."""
_WITHIN_AT = 0.35
"""Minimum probability of the other tokens of a value."""
_WORD = re.compile(r"[^\s,;:()\"]+")
_EDGE = " \t\n.,;:!?()\"'" + HIDDEN
_KEPT = 256
"""Number of statements of which the answer is kept: one is read when it is learned, and again when
it is compared with the next about the same."""


class SlotReader:
    """Reads statements; several threads may use one. Made by ``SlotReader.load``."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        self.read = lru_cache(_KEPT)(self._read)

    @classmethod
    def load(cls) -> SlotReader:
        """Return the reader of the package; its weights are read with the first statement.

        Raises:
            EmbedderError: If its manifest is missing or damaged.
        """
        return _loaded()

    def _read(self, text: str) -> tuple[Personal, ...]:
        """Return what a statement in English settles, see ``slots.told``.

        Raises:
            EmbedderError: If a file of the model is missing or damaged.
        """
        model = self._model.loaded()
        said = model.tokenizer.encode(hide(text), add_special_tokens=False)
        logits = model.run([model.first, *said.ids[:STATEMENT_TOKENS], model.last])[0]
        return tuple(found_in(text, said.offsets[:STATEMENT_TOKENS], logits[:-1]))


def found_in(
    text: str, places: Sequence[tuple[int, int]], logits: NDArray[np.float32]
) -> list[Personal]:
    """Return what a statement settles, the surest first.

    Args:
        text: The statement.
        places: Start and end of each token in it.
        logits: (1 + tokens, 1 + 2 * slots) of a first, wordless token and of each token: that it
            tells nothing, that it is in the value of each slot, and that it names what each no
            longer is.
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances = (powers / powers.sum(axis=1, keepdims=True)).T.tolist()
    columns = ((slot, ended) for ended in (False, True) for slot in SLOTS)
    found = [
        Personal(slot, words, chance, ended)
        for (slot, ended), (first, *each) in zip(columns, chances[1:], strict=True)
        for words, chance in _said(text, places, first if ended else 0.0, each)
    ]
    return sorted(found, key=lambda one: -one.probability)


def _said(
    text: str, places: Sequence[tuple[int, int]], nameless: float, chances: Sequence[float]
) -> Iterator[tuple[str, float]]:
    """Yield the words of a column and their probability, if it says anything."""
    surest = max(chances, default=0.0)
    if nameless >= _WITHIN_AT and nameless > surest:
        yield "", nameless
    elif surest >= _WITHIN_AT and (words := _words(text, places, chances, chances.index(surest))):
        yield words, surest


def _words(text: str, places: Sequence[tuple[int, int]], chances: Sequence[float], at: int) -> str:
    """Return the whole words of the tokens around the surest one that belong to it."""
    first = last = at
    while first > 0 and chances[first - 1] >= _WITHIN_AT:
        first -= 1
    while last + 1 < len(chances) and chances[last + 1] >= _WITHIN_AT:
        last += 1
    start, end = places[first][0], places[last][1]
    for word in _WORD.finditer(text):
        if word.start() < start < word.end():
            start = word.start()
        if word.start() < end < word.end():
            end = word.end()
    return " ".join(text[start:end].strip(_EDGE).split())


@cache
def _loaded() -> SlotReader:
    manifest, model = packaged(MANIFEST)
    if tuple(manifest.get("slots", ())) != SLOTS:
        raise EmbedderError(f"{MANIFEST}: belongs to another version; {REPAIR}")
    return SlotReader(model)
