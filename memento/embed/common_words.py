"""The common English words, from the vocabulary of the model in the package."""

from __future__ import annotations

import json
import logging
from functools import cache

from memento.embed.onnx import MINILM

log = logging.getLogger("memento.embed.common_words")


def is_common(word: str) -> bool:
    """Return whether a lower-case word is common in English, so hardly a typing error.

    Names count as common, but plurals and rare words do not.
    """
    return word in _common()


_ENDINGS = ("s", "es", "d", "ed", "ing", "er", "ly")


def is_form_of_common(word: str) -> bool:
    """Return whether a lower-case word is a common word or an inflected form of one."""
    return is_common(word) or any(
        word.endswith(ending) and is_common(word[: -len(ending)]) for ending in _ENDINGS
    )


@cache
def _common() -> frozenset[str]:
    """Read the vocabulary once; it takes 15 ms. Without the file, no word is common."""
    try:
        held = json.loads((MINILM / "tokenizer.json").read_bytes())["model"]["vocab"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the vocabulary of the model in the package cannot be read: %s", error)
        return frozenset()
    return frozenset(word for word in held if word.isalpha())
