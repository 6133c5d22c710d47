"""The detector: which class of statement a sentence is, and how likely.

A linear model over the sentence's vector of the model in the package and its n-grams, and a second
one over the n-grams alone for a store without an embedder. ``scripts/train_detector.py`` makes the
weights. English only; the other languages have cue tables.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.embed import embed_checked
from memento.errors import EmbedderError, InvalidInput
from memento.observe import cues, features
from memento.observe.anchors import licenses
from memento.observe.language import ENGLISH
from memento.observe.mask import HIDDEN
from memento.observe.signals import Detection, Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memento.protocols import Embedder

WEIGHTS = Path(__file__).parent / "detector.npz"
MANIFEST = Path(__file__).parent / "detector.json"
NEXT_AT = 0.25
"""Minimum probability of a class that is taken because the likelier ones have no licence."""
NOTHING = "nothing"
"""Name of the class of sentences that hold nothing to store."""
_REPAIR = "reinstall agent-memento, or run scripts/train_detector.py"


@dataclass(frozen=True, slots=True)
class _Head:
    """One linear model: logits = (inputs @ weights) * scale + bias."""

    weights: NDArray[np.float32]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]

    def probabilities(self, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return (n, classes): rows of probabilities."""
        logits = (inputs @ self.weights) * self.scale + self.bias
        powers = np.exp(logits - logits.max(axis=1, keepdims=True)).astype(np.float64)
        shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return shares


class Detector:
    """Judges sentences. Make one with ``Detector.load``; it may be used by several threads."""

    def __init__(
        self, classes: Sequence[str], embedder: str, meaning: float, full: _Head, ngrams: _Head
    ) -> None:
        self._classes = [None if name == NOTHING else Signal(name) for name in classes]
        self._embedder, self._meaning = embedder, meaning
        self._full, self._ngrams = full, ngrams

    @classmethod
    def load(cls) -> Detector:
        """Return the detector of the package; its weights are read once a process.

        Raises:
            EmbedderError: If the weights are missing, damaged or of another version.
        """
        return _loaded()

    def detect(
        self,
        texts: Sequence[str],
        *,
        embedder: Embedder | None = None,
        language: str = ENGLISH,
    ) -> list[Detection]:
        """Judge sentences.

        Args:
            texts: Sentences, quoted parts hidden; see ``mask.hide``.
            embedder: The model in the package, or None to judge by n-grams alone.
            language: ISO 639-1 code of the sentences.

        Returns:
            One detection for each sentence, in order. In a language without a table all are
            "nothing".

        Raises:
            InvalidInput: If ``embedder`` is not the model that the detector was trained with.
            EmbedderError: If the embedder fails.
        """
        if language != ENGLISH:
            return [_by_cues(text, language) for text in texts]
        if not texts:
            return []
        shown = [shown_as(text) for text in texts]
        return [
            self._judge(text, shares)
            for text, shares in zip(shown, self._shares(shown, embedder), strict=True)
        ]

    def chances(
        self, texts: Sequence[str], *, embedder: Embedder | None = None
    ) -> list[dict[Signal, float]]:
        """Return the probability of each class for English sentences.

        Args:
            texts: Sentences as ``shown_as`` returns them.
            embedder: The model in the package, or None to judge by n-grams alone.

        Raises:
            InvalidInput: If ``embedder`` is not the model that the detector was trained with.
            EmbedderError: If the embedder fails.
        """
        return [
            {
                signal: float(share)
                for signal, share in zip(self._classes, shares, strict=True)
                if signal is not None
            }
            for shares in (self._shares([*texts], embedder) if texts else ())
        ]

    def _shares(self, shown: list[str], embedder: Embedder | None) -> NDArray[np.float64]:
        grams = np.stack([features.vector(text) for text in shown])
        if embedder is None:
            return self._ngrams.probabilities(grams)
        if embedder.name != self._embedder:
            raise InvalidInput(
                "embedder", f"must be {self._embedder!r}, not {embedder.name!r}, or None"
            )
        meanings = embed_checked(embedder, shown) * np.float32(self._meaning)
        return self._full.probabilities(np.hstack([meanings, grams]))

    def _judge(self, text: str, shares: NDArray[np.float64]) -> Detection:
        """Take the likeliest class that the wording permits."""
        likeliest = np.argsort(-shares, kind="stable")
        first = self._classes[likeliest[0]]
        if first is None:
            return Detection(None, float(shares[likeliest[0]]), licensed=True)
        refused: list[str] = []
        for at in likeliest:
            signal, share = self._classes[at], float(shares[at])
            if share < NEXT_AT:
                break
            if signal is not None and licenses(signal, text):
                return Detection(signal, share, licensed=True, reasons=(*refused, "model"))
            refused.append(f"no licence for {signal}" if signal else "nothing is likelier")
        return Detection(first, float(shares[likeliest[0]]), licensed=False, reasons=(*refused,))


def shown_as(text: str) -> str:
    """Return a sentence as the detector reads it: each hidden part as one word.

    >>> shown_as(f"Never commit {HIDDEN * 2} files")
    'Never commit X files'
    """
    while HIDDEN * 2 in text:
        text = text.replace(HIDDEN * 2, HIDDEN)
    return text.replace(HIDDEN, "X").strip() or "X"


def _by_cues(text: str, language: str) -> Detection:
    signal = cues.load(language).signal(text) if language in cues.LANGUAGES else None
    if signal is None:
        return Detection(None, cues.CERTAIN, licensed=True)
    return Detection(signal, cues.CERTAIN, licensed=True, reasons=(f"cue:{language}:{signal}",))


@cache
def _loaded() -> Detector:
    try:
        manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
        held = WEIGHTS.read_bytes()
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{WEIGHTS}: cannot be read ({error}); {_REPAIR}") from error
    return from_bytes(held, manifest)


def from_bytes(held: bytes, manifest: dict[str, Any]) -> Detector:
    """Make a detector of the bytes of its weights.

    Args:
        held: A file as ``scripts/train_detector.py`` writes it.
        manifest: Its ``sha256``, ``features``, ``meaning``, ``embedder`` and ``classes``.

    Raises:
        EmbedderError: If the bytes are not those that the manifest names, or their features are
            of another version.
    """
    if hashlib.sha256(held).hexdigest() != manifest["sha256"]:
        raise EmbedderError(f"{WEIGHTS}: damaged: its sha256 does not match; {_REPAIR}")
    if manifest["features"] != features.VERSION:
        raise EmbedderError(f"{WEIGHTS}: made for different features; {_REPAIR}")
    with np.load(io.BytesIO(held), allow_pickle=False) as arrays:
        full, ngrams = (
            _Head(
                arrays[f"{name}_weights"].astype(np.float32),
                arrays[f"{name}_scale"],
                arrays[f"{name}_bias"],
            )
            for name in ("full", "ngrams")
        )
    return Detector(manifest["classes"], manifest["embedder"], manifest["meaning"], full, ngrams)
