"""Recognise by its meaning what belongs to an area of life, such as health.

"Delete what you know about my health" has no word in common with "I take metformin twice a day". A
statement belongs to an area if it is near to the examples of that area, and less near to those of
the others (``observe/areas.toml``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from memento.observe.asked import root
from memento.observe.nouns import KIN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST, LEAD = 0.33, 0.08
"""Minimum cosine of a statement to examples of its area, and its lead over other areas."""
MAYBE = 0.25
"""Minimum cosine of what may belong to an area, if no other one is clearly nearer."""
FAMILY = root("family")
_FIRST = re.compile(r"\b(?:i|im|ive|me|my|mine|myself|we|our|us)\b", re.IGNORECASE)
_KIN = "|".join(
    (
        *KIN[: KIN.index("manager")],
        r"grand\w+",
        "sons|daughters|children|kids|parents|cousin|aunt|uncle",
    )
)
_OTHERS = re.compile(
    rf"\b(?:he|she|they|him|his|her|their|my (?:\w+ )?(?:{_KIN}))\b", re.IGNORECASE
)

Embed: TypeAlias = "Callable[[Sequence[str]], NDArray[np.float32]]"
"""Turns texts into vectors, (n, dim) float32, unit length."""


@cache
def _areas() -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    """Return the names of each area, without endings, and its examples."""
    text = files("memento.observe").joinpath("areas.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)["area"]
    return tuple((frozenset(map(root, one["name"].split())), tuple(one["told"])) for one in read)


def is_of_others(text: str) -> bool:
    """Return whether a text is about one of the user's people, or somebody named before it."""
    return _OTHERS.search(text) is not None


def named(words: Sequence[str]) -> int | None:
    """Return the area if a request names nothing else, or None.

    Args:
        words: Words that say what it means, without endings.
    """
    if not words:
        return None
    return next((at for at, (names, _) in enumerate(_areas()) if names.issuperset(words)), None)


def told_of(area: int) -> str:
    """Return the examples of an area, as one text to search with."""
    return "; ".join(_areas()[area][1])


def belonging(area: int, texts: Sequence[str], embed: Embed) -> Iterator[tuple[bool, float]]:
    """Yield for each statement whether it surely belongs to an area, and its cosine; 0 if far off.

    Args:
        area: The area.
        texts: Statements, each of one sentence.
        embed: The embedder.
    """
    names, _ = _areas()[area]
    glosses = [(at, one) for at, (_, told) in enumerate(_areas()) for one in told]
    nearness = embed(texts) @ embed([one for _, one in glosses]).T
    ours = [place for place, (at, _) in enumerate(glosses) if at == area]
    others = [place for place, (at, _) in enumerate(glosses) if at != area]
    own, other = nearness[:, ours].max(axis=1), nearness[:, others].max(axis=1)
    for text, near, rival in zip(texts, own.tolist(), other.tolist(), strict=True):
        kin = is_of_others(text)
        if FAMILY in names:
            sure = kin and " my " in f" {text.casefold()}"
        else:
            mine = not kin and bool(_FIRST.search(text) or text[:1].islower())
            sure = mine and near >= LEAST and near - rival >= LEAD
        yield sure, near if sure or (near >= MAYBE and near >= rival - LEAD) else 0.0
