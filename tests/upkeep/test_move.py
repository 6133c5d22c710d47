"""A store moves to another engine and back: nothing is lost, whatever interrupts it."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from memento import MemoryManager
from memento.errors import InvalidInput, StoreError
from memento.ledger import namespaces
from memento.testing import HashEmbedder
from memento.upkeep import move

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
    before = exported(filled(tmp_path / "a", 250))
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a", address], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert 0 < len(exported(address)) < len(before)
    moved(tmp_path / "a", address)
    assert exported(address) == before
    assert not list(tmp_path.rglob("*.moving-*"))


@pytest.mark.parametrize("turns", [1, 3])
def test_an_erased_turn_stays_away_from_the_other_store(tmp_path, address, turns):
    """Whoever keeps the conversation again brings none of it back, and the next move neither."""
    said = [{"role": "user", "content": f"my passport number is {n}"} for n in range(3)]
    with MemoryManager(tmp_path / "a", embedder=None) as memory:
        kept = memory.keep(said, session="s")
        memory.store.erase([one.id for one in kept[:turns]])
    with MemoryManager(address, embedder=None) as empty:
        empty._engine.ledger.write(namespaces.make)  # as a policy or a session does
    moved(tmp_path / "a", address)
    moved(address, tmp_path / "c")
    for root in (address, tmp_path / "c"):
        with MemoryManager(root, embedder=None) as memory:
            memory.keep(said, session="s")
            assert [one.text for one in memory.list()] == [one["content"] for one in said[turns:]]


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


class Interrupted(Exception):
    """Somebody stopped a move."""


def stopped(_done, total):
    """Stop a move once it writes."""
    if total:
        raise Interrupted


@pytest.mark.parametrize("by_link", [False, True])
def test_an_erasure_names_what_an_interrupted_move_left(tmp_path, by_link):
    """Its file holds the erased text; the receipt says so, even if the folder is a link."""
    root = filled(tmp_path / "a", 6)
    if by_link:
        root = tmp_path / "elsewhere" / "link"
        root.parent.mkdir()
        root.symlink_to(tmp_path / "a")
    with MemoryManager(root, embedder=None).of("x") as memory:
        memory.add("the code of the safe is 4711", id="safe")
        with pytest.raises(Interrupted):
            memory.store.move(tmp_path / "b", progress=stopped)
        (file,) = tmp_path.glob("a.moving-*.jsonl")
        assert b"4711" in file.read_bytes()
        assert any(str(file) in one for one in memory.store.erase("safe", dry_run=True).not_reached)
        assert any(str(file) in one for one in memory.store.erase("safe").not_reached)


@pytest.mark.parametrize("change", ["erase", "forget", "add"])
def test_an_interrupted_move_of_a_store_that_changed_starts_anew(tmp_path, change):
    """What was erased meanwhile is not brought to the target by the file from before."""
    to = tmp_path / "b"
    with MemoryManager(tmp_path / "a", embedder=None) as memory:
        memory.add("the ferry leaves at nine", id="ferry")
        memory.add("the code of the safe is 4711", id="safe")
        with pytest.raises(Interrupted):
            memory.store.move(to, progress=stopped)
        if change == "erase":
            memory.store.erase("safe")
        elif change == "forget":
            memory.forget("safe")
        else:
            memory.add("one more")
        with pytest.raises(InvalidInput, match="contains memories"):
            memory.store.move(to)
        assert not list(tmp_path.glob("*.moving-*"))
        shutil.rmtree(to)
        memory.store.move(to)
    with MemoryManager(to, embedder=None) as there:
        found = {one.id: one.text for one in there.list(status=["active", "forgotten"])}
    assert ("safe" in found) == (change != "erase")


def test_an_interrupted_move_goes_on_though_vectors_came_meanwhile(tmp_path):
    """Vectors made after the file was written do not make it stale."""
    to = tmp_path / "b"
    with MemoryManager(tmp_path / "a", embedder=None) as memory:
        memory.add_many([f"ferry {n}" for n in range(300)])
        with pytest.raises(Interrupted):
            memory.store.move(to, progress=stopped)
    with MemoryManager(tmp_path / "a", embedder=HashEmbedder(8)) as memory:
        assert memory.flush(wait=True)
        assert memory.store.move(to).memories == 300
    assert exported(to) == exported(tmp_path / "a")


def test_a_move_that_is_refused_leaves_no_file(tmp_path, monkeypatch):
    """A repeat would be refused too, so the memories do not stay behind as text."""
    with MemoryManager(tmp_path / "a", embedder=None) as memory:
        memory.add("the code of the safe is 4711")
        monkeypatch.setattr(move, "import_from", refused)
        with pytest.raises(InvalidInput, match="cannot be"):
            memory.store.move(tmp_path / "b")
    assert not list(tmp_path.glob("*.moving-*"))


def refused(*_args, **_how):
    """Refuse an import."""
    raise InvalidInput("line 2", "cannot be")


def test_the_command(tmp_path, address):
    """``memento export --move-to`` moves a store there, and with --root back."""
    filled(tmp_path / "a", 6)
    for root, to in ((str(tmp_path / "a"), address), (address, str(tmp_path / "b"))):
        args = ["-m", "memento", "export", "--move-to", to, "--root", root]
        said = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr
        assert "copied and verified: 18 memories in 2 namespaces" in said.stdout
