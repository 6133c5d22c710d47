"""An embedder that stands still, for tests of calls that wait for it."""

import threading

from memento import Config
from memento.config import IndexConfig
from memento.testing import HashEmbedder

FAST = Config(index=IndexConfig(start_seconds=0.0, poll_seconds=0.01, retry_seconds=0.01))
MINUTE = 60.0


class Stuck(HashEmbedder):
    """An embedder of memories that stands still until it is let go; queries are embedded."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()

    def embed(self, texts):
        """Wait, then embed."""
        assert self.go.wait(MINUTE)
        return super().embed(texts)

    def embed_queries(self, texts):
        """Embed at once."""
        return super().embed(texts)
