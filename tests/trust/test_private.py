"""Nothing leaves the machine, and nobody else on it can read what is kept."""

from __future__ import annotations

import stat

import harness_private

from memento import MemoryManager
from memento.testing import HashEmbedder


def test_without_strace_a_hook_counts(tmp_path, monkeypatch):
    """Where strace is missing Python's own sockets are counted, and the control still fails."""
    monkeypatch.setattr(harness_private.shutil, "which", lambda _name: None)
    called, how = harness_private.sockets(tmp_path / "control", "hash", more=("--call-home",))
    assert how == "a hook in Python"
    assert len(called) == 1  # the call home, and nothing else


def test_a_mode_that_others_can_use_is_noticed():
    """The measure itself: any bit for group or others counts."""
    modes = {"a": "100600", "b": "40700", "c": "100640", "d": "40701"}
    assert harness_private.readable(modes) == ["c 100640", "d 40701"]


def test_a_store_that_was_opened_up_is_closed_again(tmp_path):
    """After its folder, Chroma's and all files were made open to everybody, as by a copy."""
    root = tmp_path / "store"
    write(root, "first")
    for path in [root, *root.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    write(root, "second")
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    inside = [root / "chroma", *(root / "chroma").rglob("*")]
    assert harness_private.readable({str(p): f"{p.stat().st_mode:o}" for p in inside}) == []


def test_no_mode_is_changed_through_a_link(tmp_path):
    """A link that was planted in Chroma's folder changes neither mode nor content of its target."""
    root, mine = tmp_path / "store", tmp_path / "mine.txt"
    write(root, "first")
    mine.write_text("my own")
    mine.chmod(0o644)
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    (root / "chroma" / "link").symlink_to(mine)
    (root / "chroma" / "folder").symlink_to(folder)
    write(root, "second")
    assert (stat.S_IMODE(mine.stat().st_mode), mine.read_text()) == (0o644, "my own")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def write(root, said):
    """Open a store, feed Chroma something new, and close it."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        memory.add_many([{"text": f"{said} {n}", "tier": "long"} for n in range(5)])
        assert memory.flush(wait=True)
