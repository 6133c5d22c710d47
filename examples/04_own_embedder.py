"""Your own embedder: an object with a name, a dimension and ``embed``.

Shows the contract, and that a store does not mix the vectors of two embedders: with another one
search uses words alone until ``reindex``.

Prints:

    found by: meaning, text
    another embedder: found by text; missing: ['long']
    after reindex: found by meaning, text
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from memento import MemoryManager, Retrieval


class LetterEmbedder:
    """Counts letters: just enough to show the interface."""

    def __init__(self, alphabet: str) -> None:
        self.name = f"letters-{alphabet}"  # the identity: vectors of two names never mix
        self.dim = len(alphabet)
        self._alphabet = alphabet

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length."""
        counts = [[1 + text.lower().count(letter) for letter in self._alphabet] for text in texts]
        rows = np.array(counts, np.float32)
        lengths: NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / lengths


def ways(found: Retrieval) -> str:
    """Name the ways of looking that proposed the best hit."""
    return ", ".join(sorted(found[0].ranks))


QUERY = "zebra crossing"
with TemporaryDirectory() as root:
    with MemoryManager(root, embedder=LetterEmbedder("abcdefghijklm")) as memory:
        memory.add("The zebra crossing is repainted on Monday", "long")
        memory.flush(wait=True)
        print("found by:", ways(memory.retrieve(QUERY)))

    with MemoryManager(root, embedder=LetterEmbedder("nopqrstuvwxyz")) as memory:
        found = memory.retrieve(QUERY)
        print(f"another embedder: found by {ways(found)}; missing: {list(found.missing)}")
        memory.store.reindex(wait=True)
        print("after reindex: found by", ways(memory.retrieve(QUERY)))
