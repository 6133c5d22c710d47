"""Two plain indexes to compare with: a cosine over vectors, and BM25 over words. Nothing else.

Both hold everything that was said, as a list of texts would: they know neither status nor slots nor
time. Texts are numbered in the order added; equal scores go by that order.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class Vectors:
    """Ranks texts by the cosine of their vector to that of the query.

    Args:
        embed: Turns texts into rows of unit length.
    """

    def __init__(self, embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
        self._embed = embed
        self._vectors: list[NDArray[np.float32]] = []

    def add(self, texts: Sequence[str]) -> None:
        """Index further texts."""
        self._vectors += list(self._embed(texts))

    def rank(self, query: str, k: int) -> list[int]:
        """Return the numbers of the k nearest texts, nearest first."""
        cosines = np.stack(self._vectors) @ self._embed([query])[0]
        return [int(n) for n in np.argsort(-cosines, kind="stable")[:k]]


class Words:
    """Ranks texts by the ``bm25`` of SQLite's FTS5: default tokenizer, any word of the query."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE said USING fts5(text)")
        self._held = 0

    def add(self, texts: Sequence[str]) -> None:
        """Index further texts."""
        rows = list(enumerate(texts, self._held))
        self._database.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", rows)
        self._held += len(rows)

    def rank(self, query: str, k: int) -> list[int]:
        """Return the numbers of the k best texts that share a word with the query, best first."""
        words = dict.fromkeys(_WORD.findall(query.lower()))
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        found = self._database.execute(
            "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said), rowid LIMIT ?",
            (asked, k),
        )
        return [int(n) for (n,) in found]

    def close(self) -> None:
        """Free the database."""
        self._database.close()
