"""A stand-in for the ledger and its indexer, small enough to read: it knows every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memento.errors import TierUnavailable
from memento.tiers.long_tier import LongTier

if TYPE_CHECKING:
    from pathlib import Path

DIM = 8
NS = ("acme", "rami")


def unit_vectors(n: int, seed: int = 0) -> np.ndarray:
    """Make n random directions."""
    rows = np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class FileMark:
    """Keeps the mark in a file beside the folder, as the ledger does in its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str | None:
        """Return the mark last written."""
        return self._path.read_text() if self._path.exists() else None

    def write(self, mark: str) -> None:
        """Keep this mark."""
        self._path.touch(mode=0o600)
        self._path.write_text(mark)


class Feeder:
    """Knows n rows of one namespace, feeds them to tiers and counts resets."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder = folder
        self.ids = [f"id{i:05d}" for i in range(n)]
        self.vectors = unit_vectors(n)
        self.resets: list[str] = []

    def samples(self) -> list:
        """Return every 50th row."""
        return [(NS, self.ids[i], self.vectors[i]) for i in range(0, len(self.ids), 50)]

    def tier(self, *, identity: str = "hash-8") -> LongTier:
        """Make a tier over the folder."""
        mark = FileMark(self.folder.with_name("mark"))
        return LongTier(
            self.folder,
            identity=identity,
            samples=self.samples,
            on_reset=self.resets.append,
            mark=mark.read,
            set_mark=mark.write,
        )

    def feed(self, tier: LongTier) -> None:
        """Feed it all."""
        tier.upsert(NS, self.ids, self.vectors, [{}] * len(self.ids))

    def lost(self, tier: LongTier) -> list[str]:
        """List rows, among 200 spread over all, that are not their own nearest."""
        step = max(1, len(self.ids) // 200)
        return [
            self.ids[i]
            for i in range(0, len(self.ids), step)
            if tier.search(NS, self.vectors[i], 1)[0][0] != self.ids[i]
        ]


def refusal(act, *args) -> str:
    """Return what TierUnavailable says when the call refuses, as it must."""
    try:
        act(*args)
    except TierUnavailable as error:
        return str(error)
    raise AssertionError("it was not refused")
