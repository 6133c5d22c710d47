"""Making a manager: what it accepts, what it costs, and what a copy of it is."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from memento import AsyncMemoryManager, MemoryManager
from memento.base.layout import LEDGER
from memento.errors import InvalidInput, MissingExtra, StoreUnusable
from memento.ledger.lite import presence
from memento.testing import HashEmbedder
from memento.tiers.ring import ShortTier
from memento.upkeep.erase import Eraser


@pytest.fixture
def _no_key(monkeypatch):
    """Run without what names a server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


class Nameless:
    """Embeds, and has no name."""

    dim = 3

    def embed(self, texts):
        """Never called."""
        raise NotImplementedError


@pytest.mark.usefixtures("_no_key")
@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        ("foo", "'foo' is not one of"),
        ("", "is not one of"),
        ("Default", "is not one of"),
        ("openai", "is not one of"),
        ("openai:", "is not one of"),
        ("sentence-transformers:", "is not one of"),
        ("openai:text-embedding-3-small", "OPENAI_API_KEY"),
        (7, "int is not one of"),
        (Nameless(), "Nameless is not one of"),
        (HashEmbedder, "type is not one of"),
    ],
)
@pytest.mark.parametrize("kind", [MemoryManager, AsyncMemoryManager])
def test_an_embedder_that_does_not_exist_is_refused_at_once(tmp_path, kind, embedder, said):
    """A typo is told when the memory is made, with what there is; no folder is left behind."""
    with pytest.raises(InvalidInput, match=said):
        kind(tmp_path / "store", embedder=embedder)
    assert not (tmp_path / "store").exists()


def test_a_model_of_unknown_length_is_refused_at_once(tmp_path, monkeypatch):
    """The key is there, but nothing tells how long the vectors of the model are."""
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    with pytest.raises(InvalidInput, match="text-embedding-3-small"):
        MemoryManager(tmp_path / "store", embedder="openai:x")


def test_a_package_that_is_missing_is_named_at_once(tmp_path, monkeypatch):
    """With the line that installs it."""
    monkeypatch.setattr("memento.embed.checked.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match="pip install"):
        MemoryManager(tmp_path / "store", embedder="sentence-transformers:any")


@pytest.mark.parametrize(("owner", "part"), [(ShortTier, "load"), (Eraser, "finish")])
def test_one_that_could_not_be_made_leaves_nothing_open(tmp_path, monkeypatch, owner, part):
    """Also while the error is kept, which holds on to all that was made."""
    damaged = StoreUnusable(tmp_path, "the ledger is damaged")
    monkeypatch.setattr(owner, part, Mock(side_effect=damaged))
    with pytest.raises(StoreUnusable) as raised:
        MemoryManager(tmp_path, embedder=None)
    assert raised.value is damaged
    assert not presence.is_open(tmp_path / LEDGER)


def test_making_one_loads_nothing_heavy(tmp_path):
    """No model and no client of a server, whichever embedder is named."""
    program = (
        "import os, sys; os.environ['OPENAI_API_KEY'] = 'k'; from memento import MemoryManager\n"
        "for n, name in enumerate(['default', 'openai:text-embedding-3-small']):\n"
        f"    MemoryManager({str(tmp_path)!r} + f'/store{{n}}', embedder=name).close()\n"
        "print([x for x in ('httpx', 'onnxruntime', 'chromadb') if x in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_view_of_the_same_store(memory, way):
    """Frameworks copy what they are given: both see and close the one store."""
    view = way(memory.of("a", "b"))
    kept = view.add("said to the copy")
    assert (type(view), view.store.namespace, view.store.root) == (
        MemoryManager,
        ("a", "b"),
        memory.store.root,
    )
    assert memory.of("a", "b").get(kept.id) == kept
    assert way({"deep": [memory]})["deep"][0].store.root == memory.store.root
    view.close()
    assert memory.store.closed


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])
def test_a_copy_of_the_one_for_asyncio_is_a_view_too(tmp_path, way):
    """The same for ``AsyncMemoryManager``."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "store", embedder=None) as memory:
            kept = await way(memory).add("said to the copy")
            assert await memory.get(kept.id) == kept

    asyncio.run(talk())


@pytest.mark.parametrize("kind", [MemoryManager, AsyncMemoryManager])
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_an_open_store_cannot_be_pickled(tmp_path, kind, protocol):
    """The error says what to do instead."""
    made = kind(tmp_path / "store", embedder=None)
    with pytest.raises(InvalidInput, match="open it again from its root"):
        pickle.dumps(made, protocol)
    (made if kind is MemoryManager else made._sync).close()


@pytest.mark.parametrize("address", ["unix:/run/m.sock", "http://host:8765", "HTTPS://host"])
def test_the_address_of_a_service_is_no_folder(tmp_path, monkeypatch, address):
    """The error names what takes it, and no folder of that name is made."""
    monkeypatch.chdir(tmp_path)
    for root in (address, Path(address)):
        with pytest.raises(InvalidInput, match=r"memento\.connect"):
            MemoryManager(root)
    assert not list(tmp_path.iterdir())
