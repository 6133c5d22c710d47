"""A store moves to another engine and back: nothing is lost, whatever interrupts it."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from memento import MemoryManager
from memento.errors import InvalidInput, StoreError
from memento.testing import HashEmbedder

KILLED = """
import os, signal, sys
from memento import MemoryManager
from memento.testing import HashEmbedder

def told(done, total):
    if total and done > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

with MemoryManager(sys.argv[1], embedder=HashEmbedder(8)) as memory:
    memory.store.move(sys.argv[2], progress=told)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """What is derived of a database is in the test's folder."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))


def filled(root, count=30):
    """Fill a store with memories of every kind of history, in two namespaces."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        for labels in (("x",), ("y", "z")):
            view = memory.of(*labels)
            kept = [
                view.add(f"{labels[0]} took ferry {n}", ("short", "medium", "long")[n % 3],
                         session=f"s{n % 2}", key=f"k/{n % 5}" if n % 4 == 0 else None)
                for n in range(count)
            ]  # fmt: skip
            view.forget(kept[3].id)
            view.update(kept[5].id, text="another text")
            view.observe(user="My favourite editor is vim. Always use tabs.")
            view.retrieve("which ferry")
        assert memory.flush(wait=True)
    return root


def exported(root):
    """Return the lines of an export of all, without the first and last, which name the moment."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        memory.flush(wait=True)
        held = io.BytesIO()
        memory.store.export(held, all_namespaces=True, vectors=True)
    return held.getvalue().splitlines()[1:-1]


def moved(root, to):
    """Move a store."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        return memory.store.move(to)


def test_there_and_back(tmp_path, address):
    """Exports before and after the round trip are the same, byte for byte."""
    before = exported(filled(tmp_path / "a"))
    there = moved(tmp_path / "a", address)
    assert (there.namespaces, there.memories) == (
        2,
        sum(b'"type": "memory"' in one for one in before),
    )
    assert exported(address) == before
    assert moved(address, tmp_path / "b").sha256 == there.sha256
    assert exported(tmp_path / "b") == exported(tmp_path / "a") == before
    assert not list(tmp_path.rglob("*.moving-*"))


def test_a_move_that_was_killed_goes_on(tmp_path, address):
    """After ``kill -9`` in the middle, the next move finishes it, and the two are the same."""
    before = exported(filled(tmp_path / "a", 400))
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a", address], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert 0 < len(exported(address)) < len(before)
    moved(tmp_path / "a", address)
    assert exported(address) == before
    assert not list(tmp_path.rglob("*.moving-*"))


def test_a_store_with_memories_is_no_place(tmp_path):
    """Two stores are not mixed, and none is moved to itself."""
    filled(tmp_path / "a", 6)
    filled(tmp_path / "b", 6)
    with pytest.raises(InvalidInput, match="contains memories"):
        moved(tmp_path / "a", tmp_path / "b")
    with pytest.raises(InvalidInput, match="is this store"):
        moved(tmp_path / "a", tmp_path / "a")


def test_what_is_written_meanwhile_is_noticed(tmp_path):
    """A memory that came after the copy was made is not left behind unsaid."""
    filled(tmp_path / "a", 6)
    with MemoryManager(tmp_path / "a", embedder=None) as memory:
        late = []

        def told(_done, total):
            if total and not late:
                late.append(memory.add("came late"))

        with pytest.raises(StoreError, match="differs"):
            memory.store.move(tmp_path / "b", progress=told)
    with suppress(FileNotFoundError):
        assert not list(tmp_path.rglob("*.moving-*"))


def test_the_command(tmp_path, address):
    """``memento export --move-to`` moves a store there, and with --root back."""
    filled(tmp_path / "a", 6)
    for root, to in ((str(tmp_path / "a"), address), (address, str(tmp_path / "b"))):
        args = ["-m", "memento", "export", "--move-to", to, "--root", root]
        said = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr
        assert "copied and verified: 18 memories in 2 namespaces" in said.stdout
