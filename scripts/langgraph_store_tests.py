"""Run LangGraph's own tests of its stores against ``MementoStore``.

LangGraph tests ``InMemoryStore``, ``SqliteStore`` and ``AsyncSqliteStore`` in its repository. This
runs those files with ``MementoStore`` in their place, over the embeddings that the tests bring.
``docs/how-to/langgraph.md`` names what fails and why.

    git clone https://github.com/langchain-ai/langgraph
    python scripts/langgraph_store_tests.py langgraph            as MementoStore is by default
    python scripts/langgraph_store_tests.py langgraph --all      with index={"all": True}

It needs ``pip install ".[langgraph]" pytest pytest-asyncio pytest-mock``; other arguments are
pytest's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FOLDERS = ("checkpoint", "checkpoint-sqlite")
THEIRS = ("test_store.py", "test_async_store.py", "embed_test_utils.py")
CONFTEST = '''
import os, sys, tempfile
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import pytest
from langgraph.store import memory

from memento import MemoryManager
from memento_langgraph import MementoStore

OPEN = []


class Embedder:
    """The embeddings of a test, as memento takes them."""

    def __init__(self, theirs, dims):
        self.name, self.dim, self._theirs = f"theirs-{dims}", dims, theirs

    def embed(self, texts):
        embed = getattr(self._theirs, "embed_documents", self._theirs)
        return np.asarray(embed(list(texts)), dtype=np.float32)


class Store(MementoStore):
    """MementoStore, with what the tests of other stores do before they begin."""

    def __init__(self, *, index=None, ttl=None):
        config = dict(index or {})
        embedder = Embedder(config["embed"], config["dims"]) if index else None
        folder = tempfile.TemporaryDirectory()
        manager = MemoryManager(folder.name, embedder=embedder)
        OPEN.append((manager, folder))
        fields = config.get("fields", config.get("text_fields"))
        mine = {"all": bool(os.environ["ALL"]), "fields": fields} if index else None
        kept = {k: v for k, v in (ttl or {}).items() if k in ("default_ttl", "refresh_on_read")}
        super().__init__(manager, index=mine, ttl=kept or None)

    @classmethod
    @contextmanager
    def from_conn_string(cls, _, *, index=None, ttl=None):
        yield cls(index=index, ttl=ttl)

    def setup(self):
        pass


class AsyncStore(Store):
    """The same, awaited."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _, *, index=None, ttl=None):
        yield cls(index=index, ttl=ttl)

    async def setup(self):
        pass


def module(name, **parts):
    made = ModuleType(name)
    made.__dict__.update(parts)
    sys.modules[name] = made


memory.InMemoryStore = Store
module("langgraph.store.sqlite", SqliteStore=Store, AsyncSqliteStore=AsyncStore)
internals = "NS_MATCH_FUNCTION BaseSqliteStore SqliteIndexConfig _escape_glob_literal"
names = [*internals.split(), "_namespace_match_pattern"]
module("langgraph.store.sqlite.base", **{name: MagicMock() for name in names})


@pytest.fixture(autouse=True)
def closing():
    yield
    while OPEN:
        manager, folder = OPEN.pop()
        manager.close()
        folder.cleanup()
'''


def main() -> int:
    """Run the tests; return the exit status of pytest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path, help="folder of LangGraph's repository")
    parser.add_argument("--all", action="store_true", help='with index={"all": True}')
    options, more = parser.parse_known_args()
    status = 0
    for name in FOLDERS:
        with tempfile.TemporaryDirectory() as folder:
            tests = Path(folder, "tests")
            tests.mkdir()
            for source in (options.checkout / "libs" / name / "tests").iterdir():
                if source.name in THEIRS:
                    shutil.copy(source, tests)
            Path(tests, "conftest.py").write_text(CONFTEST, encoding="utf-8")
            Path(tests, "__init__.py").touch()
            environment = os.environ | {
                "ALL": "1" * options.all,
                "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE / "integrations"), folder]),
            }
            settings = ["-q", "--asyncio-mode=auto", "-W", "ignore", "-p", "no:cacheprovider"]
            print(f"libs/{name}", flush=True)
            words = [sys.executable, "-m", "pytest", *settings, *more, "tests"]
            ran = subprocess.run(words, cwd=folder, env=environment, check=False)
            status = status or ran.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
