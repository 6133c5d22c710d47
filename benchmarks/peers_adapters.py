"""The memories that ``peers.py`` compares, each behind the same few methods.

An adapter is what somebody would write who read the peer's documentation and wants to store texts
and find them again. All get vectors from memento's embedder, through their own seam, so that only
the memory differs. No peer is imported before it is asked for: they are not installed together.
"""

from __future__ import annotations

import os
import sqlite3
import tomllib
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from memento.embed.onnx import default_embedder  # early: some peers change where is looked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DIM = 384
EVERYTHING = 1_000_000
"""More memories than any store here holds."""

Item = dict[str, Any]


class Adapter(Protocol):
    """The calls that the protocol makes on a memory."""

    def version(self) -> str:
        """Return the version of the peer."""

    def open(self, folder: str, now: str | None) -> None:
        """Open the store in a folder, made if absent; ``now`` is the time of asking, if known."""

    def add(self, item: Item) -> None:
        """Store one text, as an agent does turn by turn."""

    def add_many(self, items: Sequence[Item]) -> None:
        """Store many texts in the fastest way there is."""

    def settle(self) -> None:
        """Wait until everything stored is found in every way."""

    def retrieve(self, query: str, k: int) -> list[str]:
        """Return the ids of the items found, best first."""

    def count(self) -> int:
        """Return how many memories the store holds."""

    def close(self) -> None:
        """Close the store."""


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Embed texts with the model that comes with memento.

    Where ``PEERS_VECTORS`` names a file, what was embedded once is read from there: where only
    what is found matters, every peer would make the same vectors again.
    """
    kept = os.environ.get("PEERS_VECTORS")
    if kept is None:
        vectors: list[list[float]] = default_embedder().embed(list(texts)).tolist()
        return vectors
    with closing(sqlite3.connect(kept, timeout=60)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")
        return [_kept(connection, text) for text in texts]


def _kept(connection: sqlite3.Connection, text: str) -> list[float]:
    """Return the vector of a text, made now if it is not kept."""
    embedder = default_embedder()
    key = sha256(f"{embedder.name} {text}".encode()).hexdigest()
    row = connection.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
    if row is None:
        row = (embedder.embed([text])[0].tobytes(),)
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, *row))
        connection.commit()
    vector: list[float] = np.frombuffer(row[0], np.float32).tolist()
    return vector


def spoken(item: Item) -> str:
    """Return what a memory without a field for the speaker is given: who said it, and what."""
    return f"{item['actor']}: {item['text']}" if item.get("actor") else str(item["text"])


class Base:
    """Common to most peers: nothing to wait for, nothing to close."""

    package: str
    """Distribution whose version is the peer's."""

    def version(self) -> str:
        """Return the version of the distribution."""
        return version(self.package)

    def add_many(self, items: Sequence[Item]) -> None:
        """Add one by one: there is no other way."""
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Store one text."""
        self.add_many([item])

    def settle(self) -> None:
        """Nothing to wait for: an add returns when all is done."""

    def close(self) -> None:
        """Nothing to close."""


class Memento(Base):
    """memento with its defaults; speaker, session and time go into their fields."""

    def version(self) -> str:
        """Return the version of the tree: it is imported from there, not installed."""
        project = Path(__file__).parent.parent / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])

    def open(self, folder: str, now: str | None) -> None:
        """Open a store."""
        from memento import MemoryManager  # noqa: PLC0415 - not every environment can

        moment = datetime.fromisoformat(now) if now else None
        clock = None if moment is None else lambda: moment
        self._memory = MemoryManager(root=folder, clock=clock)
        self._items: dict[str, str] = {}

    def add(self, item: Item) -> None:
        """Store one text."""
        kept = self._memory.add(item["text"], **self.fields(item))
        self._items[kept.id] = item["id"]

    def add_many(self, items: Sequence[Item]) -> None:
        """Store many in one transaction."""
        drafts = [{"text": self.text(item), **self.fields(item)} for item in items]
        for item, kept in zip(items, self._memory.add_many(drafts), strict=True):
            self._items.setdefault(kept.id, item["id"])

    def text(self, item: Item) -> str:
        """Return the text of a memory."""
        return str(item["text"])

    def fields(self, item: Item) -> dict[str, Any]:
        """Return what is known beside the text."""
        if not item.get("session"):
            return {}
        at = item.get("at")
        return {
            "kind": "episode",
            "session": item["session"],
            "actor": item.get("actor"),
            "role": item.get("role"),
            "occurred_at": datetime.fromisoformat(at) if at else None,
        }

    def settle(self) -> None:
        """Wait until every memory has its vector and is in the index."""
        self._memory.flush(wait=True)

    def retrieve(self, query: str, k: int) -> list[str]:
        """Find, with words and vectors."""
        return [self._items[hit.id] for hit in self._memory.retrieve(query, k)]

    def count(self) -> int:
        """Count the memories."""
        return self._memory.store.stats().memories

    def close(self) -> None:
        """Close the store."""
        self._memory.close()


class MementoText(Memento):
    """memento given the same bare strings as the others: no session, no time, no field at all."""

    def text(self, item: Item) -> str:
        """Return what the others get."""
        return spoken(item)

    def fields(self, item: Item) -> dict[str, Any]:  # noqa: ARG002 - that is the point
        """Return nothing."""
        return {}


def langchain_embeddings() -> Any:
    """Return memento's embedder as LangChain and LangGraph want it."""
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415 - not everywhere

    class Same(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embed(texts)

        def embed_query(self, text: str) -> list[float]:
            return embed([text])[0]

    return Same()


class LangchainChroma(Base):
    """LangChain's Chroma on disk."""

    package = "langchain-chroma"

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - knows no time
        """Open a collection."""
        from langchain_chroma import Chroma  # noqa: PLC0415 - see above

        self._store = Chroma("bench", langchain_embeddings(), persist_directory=folder)

    def add_many(self, items: Sequence[Item]) -> None:
        """Store texts in one call."""
        self._store.add_texts([spoken(item) for item in items], ids=[item["id"] for item in items])

    def retrieve(self, query: str, k: int) -> list[str]:
        """Find by vector."""
        return [str(found.id) for found in self._store.similarity_search(query, k=k)]

    def count(self) -> int:
        """Count the ids in the collection."""
        return len(self._store.get(include=[])["ids"])


class LanggraphMemory(Base):
    """LangGraph's InMemoryStore with a vector index."""

    package = "langgraph"
    space = ("bench",)

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - keeps nothing on disk
        """Make a store."""
        from langgraph.store.memory import InMemoryStore  # noqa: PLC0415 - see above

        self._store: Any = InMemoryStore(index=self.index())

    @staticmethod
    def index() -> Any:
        """Return the settings of the vector index."""
        return {"dims": DIM, "embed": langchain_embeddings(), "fields": ["text"]}

    def add(self, item: Item) -> None:
        """Put one value."""
        self._store.put(self.space, item["id"], {"text": spoken(item)})

    def add_many(self, items: Sequence[Item]) -> None:
        """Put many in one batch."""
        from langgraph.store.base import PutOp  # noqa: PLC0415 - see above

        self._store.batch([PutOp(self.space, item["id"], {"text": spoken(item)}) for item in items])

    def retrieve(self, query: str, k: int) -> list[str]:
        """Find by vector."""
        return [found.key for found in self._store.search(self.space, query=query, limit=k)]

    def count(self) -> int:
        """Count the values in the namespace."""
        return len(self._store.search(self.space, limit=EVERYTHING))


class LanggraphSqlite(LanggraphMemory):
    """LangGraph's SqliteStore with a vector index."""

    package = "langgraph-checkpoint-sqlite"

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - knows no time
        """Open the file as ``SqliteStore.from_conn_string`` does.

        By hand because many Pythons come with an SQLite that cannot load sqlite-vec.
        """
        from langgraph.store.sqlite import SqliteStore  # noqa: PLC0415 - see above
        from pysqlite3 import dbapi2  # noqa: PLC0415 - see above

        connection = dbapi2.connect(
            str(Path(folder) / "store.db"), check_same_thread=False, isolation_level=None
        )
        self._store = SqliteStore(connection, index=self.index())
        self._store.setup()
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Mem0(Base):
    """mem0 with ``infer=False``: its default store, Qdrant in a folder, and no LLM."""

    package = "mem0ai"
    user = "bench"

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - knows no time
        """Open a store. The key is never used: an LLM is made but not called."""
        from mem0 import Memory  # noqa: PLC0415 - see above
        from mem0.embeddings.base import EmbeddingBase  # noqa: PLC0415 - see above

        class Same(EmbeddingBase):  # type: ignore[misc, unused-ignore]
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
                return embed([text])[0]

            def embed_batch(self, texts: list[str], memory_action: str = "add") -> Any:  # noqa: ARG002
                return embed(texts)

        no_key = {"config": {"api_key": "unused"}}
        place = {"path": str(Path(folder) / "qdrant"), "embedding_model_dims": DIM, "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(Path(folder) / "history.db"),
                "llm": {"provider": "openai", **no_key},
                "embedder": {"provider": "openai", **no_key},
            }
        )
        self._memory.embedding_model = Same()
        self._items: dict[str, str] = {}

    def add_many(self, items: Sequence[Item]) -> None:
        """Store messages in one call; mem0 takes them one after the other."""
        messages = [{"role": item.get("role") or "user", "content": spoken(item)} for item in items]
        kept = self._memory.add(messages, user_id=self.user, infer=False)["results"]
        for item, result in zip(items, kept, strict=True):
            self._items[result["id"]] = item["id"]

    def retrieve(self, query: str, k: int) -> list[str]:
        """Find as mem0 does by default."""
        found = self._memory.search(query, top_k=k, filters={"user_id": self.user})
        return [self._items[result["id"]] for result in found["results"]]

    def count(self) -> int:
        """Count the user's memories."""
        found = self._memory.get_all(filters={"user_id": self.user}, top_k=EVERYTHING)
        return len(found["results"])


class Mem0Words(Mem0):
    """mem0 with its keyword half, which needs spaCy's model and fastembed's, both downloaded."""

    def open(self, folder: str, now: str | None) -> None:
        """Open a store; refuse if the keyword half does not load, for mem0 goes on without."""
        from mem0.utils.spacy_models import get_nlp_lemma  # noqa: PLC0415 - see above

        super().open(folder, now)
        if get_nlp_lemma() is None:
            raise RuntimeError("spaCy's en_core_web_sm cannot be downloaded")
        if self._memory.vector_store._get_bm25_encoder() is None:  # noqa: SLF001 - no other sign
            raise RuntimeError("fastembed's Qdrant/bm25 cannot be downloaded")


class MemPalace(Base):
    """MemPalace: one drawer per text, through the collection that its miners and its server use."""

    package = "mempalace"

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - knows no time
        """Open a palace."""
        from mempalace import embedding  # noqa: PLC0415 - see above
        from mempalace.palace import get_collection  # noqa: PLC0415 - see above

        embedding._build_ef_class = same_for_chroma  # noqa: SLF001 - its own downloads the model
        self._folder = folder
        self._drawers = get_collection(folder)

    def add_many(self, items: Sequence[Item]) -> None:
        """File drawers in one call."""
        filed = datetime.now().isoformat()  # noqa: DTZ005 - as MemPalace itself does
        self._drawers.upsert(
            ids=[item["id"] for item in items],
            documents=[spoken(item) for item in items],
            metadatas=[
                {
                    "wing": "bench",
                    "room": item.get("session") or "general",
                    "source_file": item.get("session") or "",
                    "chunk_index": n,
                    "filed_at": filed,
                }
                for n, item in enumerate(items)
            ],
        )

    def retrieve(self, query: str, k: int) -> list[str]:
        """Find as its server does by default: vectors, ranked again with BM25."""
        from mempalace.searcher import search_memories  # noqa: PLC0415 - see above

        found = search_memories(query, self._folder, n_results=k)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [hit["drawer_id"] for hit in found["results"]]

    def count(self) -> int:
        """Count the drawers."""
        return int(self._drawers.count())


def same_for_chroma() -> Any:
    """Return a class of Chroma's that embeds with memento's model.

    It bears the name of the one it stands for, whose model is the same in full precision.
    """
    from chromadb.api.types import EmbeddingFunction  # noqa: PLC0415 - not everywhere

    class Same(EmbeddingFunction):  # type: ignore[type-arg, unused-ignore]
        def __init__(self, **options: Any) -> None:
            """Take no notice of what is meant for another runtime."""

        def __call__(self, input: Sequence[str]) -> Any:  # noqa: A002 - Chroma's name
            import numpy as np  # noqa: PLC0415 - see above

            return [np.asarray(vector, dtype=np.float32) for vector in embed(input)]

        @staticmethod
        def name() -> str:
            return "default"

        def get_config(self) -> dict[str, Any]:
            return {}

        @classmethod
        def build_from_config(cls, config: dict[str, Any]) -> Same:  # noqa: ARG003 - Chroma's
            return cls()

    return Same


class Neuromemory(Base):
    """neuromemory-ai with an embedder, which it recommends."""

    package = "neuromemory-ai"
    vectors = True

    def open(self, folder: str, now: str | None) -> None:  # noqa: ARG002 - takes the system's
        """Open a file."""
        from engram import Memory  # noqa: PLC0415 - see above
        from engram.embeddings.base import BaseEmbeddingAdapter  # noqa: PLC0415 - see above

        class Same(BaseEmbeddingAdapter):  # type: ignore[misc, unused-ignore]
            _dimension = DIM

            def embed(self, texts: list[str]) -> list[list[float]]:
                return embed(texts)

        path = str(Path(folder) / "engram.db")
        self._memory = Memory(path, embedding=Same() if self.vectors else None)
        self._items: dict[str, str] = {}

    def add(self, item: Item) -> None:
        """Store one text."""
        self._items[self._memory.add(spoken(item))] = item["id"]

    def retrieve(self, query: str, k: int) -> list[str]:
        """Recall."""
        return [self._items[found["id"]] for found in self._memory.recall(query, limit=k)]

    def count(self) -> int:
        """Count the memories."""
        return len(self._memory)

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


class NeuromemoryWords(Neuromemory):
    """neuromemory-ai as it comes: full text alone."""

    vectors = False


ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "memento": Memento,
    "memento-text": MementoText,
    "langchain-chroma": LangchainChroma,
    "langgraph-memory": LanggraphMemory,
    "langgraph-sqlite": LanggraphSqlite,
    "mem0": Mem0,
    "mem0-words": Mem0Words,
    "mempalace": MemPalace,
    "neuromemory": Neuromemory,
    "neuromemory-words": NeuromemoryWords,
}
