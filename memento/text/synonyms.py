"""Other words for everyday things: a question about the "boss" means the "manager".

A small vector model places such words near each other only in some sentences, and a short note
offers it little else. The table, ``lexicon/synonyms.en.toml``, holds words of daily life that
people exchange; it is not a thesaurus. A match by another word counts half. English only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import permutations
from pathlib import Path

_TABLE = Path(__file__).with_name("lexicon") / "synonyms.en.toml"
_ENDINGS = ("s", "es", "d", "ed", "ing", "er")


@cache
def _table() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return each word with its synonyms, as tuples of words."""
    import tomllib  # noqa: PLC0415 - must not load with memento

    found: dict[str, dict[tuple[str, ...], None]] = {}
    groups: str = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["groups"]
    for line in groups.splitlines():
        for one, other in _pairs(line.replace("'", " ")):
            if len(one) == 1:
                found.setdefault(one[0], {})[other] = None
    return {word: tuple(ways) for word, ways in found.items()}


def _pairs(line: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield pairs of synonyms, both as tuples of words."""
    head, _, rest = line.rpartition(":")
    ways = [tuple(way.split()) for way in rest.split(",")]
    if head:
        for way in ways:
            yield (head,), way
            yield way, (head,)
    else:
        yield from permutations(ways, 2)


def _bases(word: str) -> Iterator[str]:
    """Yield a word and what may be its base form."""
    yield word
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 - "is" is no plural
            yield word[: -len(ending)]
            if ending == "ing":
                yield f"{word[:-3]}e"


@lru_cache(maxsize=2048)  # most questions have the same few words
def others(word: str) -> tuple[tuple[str, ...], ...]:
    """Return other ways to say a folded word, each a tuple of words; none for most words.

    >>> ("manager",) in others("boss"), others("quark")
    (True, ())
    """
    table = _table()
    return next((table[base] for base in _bases(word) if base in table), ())
