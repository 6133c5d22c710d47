"""One owner per Chroma folder, across processes, kills and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest
from long_support import NS, Feeder, refusal

from memento.tiers.folder import FolderLock
from memento.tiers.long_tier import LongState


@contextmanager
def process(code, folder):
    """Run code in another Python; ends with it dead."""
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *(p for p in sys.path if p)])}
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


OWNER = """
    import sys
    from pathlib import Path
    from long_support import Feeder
    feeder = Feeder(Path(sys.argv[1]), 150)
    tier = feeder.tier()
    tier.open()
    feeder.feed(tier)
    print("ready", flush=True)
    sys.stdin.readline()
    tier.close()
    print("closed", flush=True)
    sys.stdin.readline()
"""


def test_another_process_owns_it_until_it_closes_or_dies(tmp_path):
    """Not the owner: it names who is. After its kill -9: ours, and all rows found."""
    feeder = Feeder(tmp_path / "chroma", 150)
    tier = feeder.tier()
    with process(OWNER, feeder.folder) as owner:
        assert owner.stdout.readline() == "ready\n"
        assert f"process {owner.pid} owns the Chroma folder" in refusal(tier.open)
        assert tier.state is LongState.COLD
        assert str(owner.pid) in refusal(tier.search, NS, feeder.vectors[0], 1)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    tier.open()
    assert feeder.resets == []
    assert feeder.lost(tier) == []
    tier.close()
    with process(OWNER, feeder.folder) as owner:
        assert owner.stdout.readline() == "ready\n"
        again = feeder.tier()
        refusal(again.open)
        owner.stdin.write("\n")
        owner.stdin.flush()
        assert owner.stdout.readline() == "closed\n"
        again.open()
        assert again.count(NS) == 150
        again.close()


def test_a_second_tier_in_one_process_is_refused(tmp_path):
    """Two managers on one folder exclude each other even in one process."""
    feeder = Feeder(tmp_path / "chroma", 10)
    first, second = feeder.tier(), feeder.tier()
    first.open()
    assert "another memory of this process" in refusal(second.open)
    assert second.state is LongState.COLD
    first.close()
    second.open()
    assert second.state is LongState.READY
    second.close()


FORKING = """
    import os, sys
    from pathlib import Path
    from long_support import NS, Feeder, refusal
    from memento.tiers.long_tier import LongState
    feeder = Feeder(Path(sys.argv[1]), 10)
    tier = feeder.tier()
    tier.open()
    feeder.feed(tier)
    hold, let_go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(let_go)
        os.read(hold, 1)  # until the parent has closed and opened again
        assert tier.state is LongState.COLD
        for act in (tier.open, lambda: tier.count(NS)):
            assert "before it was forked" in refusal(act)
        tier.close()
        fresh = feeder.tier()
        assert "process" in refusal(fresh.open)  # the parent's, for now
        sys.exit(7)  # an orderly exit, which frees every object
    tier.close()
    again = feeder.tier()
    again.open()  # the child's copy of the lock does not keep the folder
    assert again.count(NS) == 10
    os.close(let_go)
    status = os.waitpid(child, 0)[1]
    assert again.count(NS) == 10
    again.close()
    assert feeder.resets == ["new"]
    print("child ended with", os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_owns_nothing_touches_nothing_and_ends(tmp_path):
    """After fork the child refuses, keeps nobody out, and its interpreter exits without hanging."""
    with process(FORKING, tmp_path / "chroma") as parent:
        out, _ = parent.communicate(timeout=120)
    assert out == "child ended with 7\n"


ORPHAN = """
    import os, sys
    from pathlib import Path
    from long_support import NS, Feeder, refusal
    from memento.tiers.long_tier import LongState
    feeder = Feeder(Path(sys.argv[1]), 10)
    tier = feeder.tier()
    tier.open()
    child = os.fork()
    if child:
        tier.close()
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    while True:  # until the parent has let go
        fresh = feeder.tier()
        said = refusal(fresh.open)
        if "when this process was forked" in said:
            break
    assert fresh.state is LongState.COLD
    assert not fresh._lock.held
"""


def test_a_forked_child_never_opens_a_path_its_parent_had_open(tmp_path):
    """Chroma blocks for ever on such a path even when it is free, so the child does not open it."""
    with process(ORPHAN, tmp_path / "chroma") as parent:
        assert parent.wait(timeout=120) == 0


def test_closing_while_chromadb_is_imported_leaves_no_owner(tmp_path, monkeypatch):
    """close() does not wait for the import, and the importing thread does not take the folder."""
    feeder = Feeder(tmp_path / "chroma", 10)
    tier = feeder.tier()
    monkeypatch.setattr("memento.tiers.long_tier.load", tier.close)  # the import takes that long
    assert "the store is closed" in refusal(tier.open)
    assert tier.state is LongState.COLD
    other = feeder.tier()
    monkeypatch.undo()
    other.open()
    assert feeder.resets == ["new"]
    other.close()


def test_who_cannot_own_the_folder_is_spared_the_import(tmp_path, monkeypatch):
    """Chromadb takes a second to import and 100 MB; a process that comes second needs neither."""
    owner = FolderLock(tmp_path / "chroma.lock")
    assert owner.acquire()
    monkeypatch.setattr("memento.tiers.long_tier.load", lambda: pytest.fail("it was imported"))
    tier = Feeder(tmp_path / "chroma", 10).tier()
    assert "another memory of this process" in refusal(tier.open)
    owner.release()


def test_a_chromadb_that_cannot_be_imported_is_no_damage(tmp_path, monkeypatch):
    """The folder stays as it is, unowned and not counted as opened."""
    feeder = Feeder(tmp_path / "chroma", 10)
    monkeypatch.setitem(sys.modules, "chromadb", None)
    tier = feeder.tier()
    assert "cannot be imported" in refusal(tier.open)
    assert (tier.state, feeder.resets) == (LongState.COLD, [])
    assert [path.name for path in tmp_path.iterdir()] == ["chroma.lock"]


LEAVING = """
    import sys, threading
    from pathlib import Path
    from memento import MemoryManager
    from memento.tiers import indexer

    class Slow:  # an embedder whose library is loading when the interpreter ends
        name, dim = "slow", 2
        def embed(self, texts):
            loading.set()
            gone.wait(60)
            print("came out of its library", flush=True)
            raise RuntimeError("too late")

    loading, gone = threading.Event(), threading.Event()
    memory = MemoryManager(root=Path(sys.argv[1]), embedder=Slow())
    memory.add("a note", "long")
    loading.wait(60)
    memory.close()
    join = threading.Thread.join
    def joining(self, timeout=None):
        if self.name == "memento-indexer":
            gone.set()
        join(self, timeout)
    threading.Thread.join = joining
"""


def test_the_interpreter_waits_for_a_thread_it_left_loading(tmp_path):
    """A thread stopped inside the C++ of a runtime would abort the process (SIGABRT)."""
    with process(LEAVING, tmp_path / "store") as child:
        out, _ = child.communicate(timeout=120)
    assert (child.returncode, out) == (0, "came out of its library\n")


def test_the_lock_is_exclusive_private_and_reusable(tmp_path):
    """A flock on a 0600 file that stays: one holder at a time, released by release()."""
    path = tmp_path / "chroma.lock"
    first, second = FolderLock(path), FolderLock(path)
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == f"{os.getpid()}\n"
    first.release()
    first.release()
    assert second.acquire()
    second.release()


@pytest.mark.parametrize(
    ("text", "name"),
    [("12345\n", "process 12345"), ("", "another process"), ("x", "another process")],
)
def test_the_holder_is_named_as_far_as_known(tmp_path, text, name):
    """A lock file without a pid still gives a sentence."""
    path = tmp_path / "chroma.lock"
    path.write_text(text)
    assert FolderLock(path).holder() == name


def test_a_lock_file_that_cannot_be_used_is_a_clear_answer(tmp_path):
    """A folder in the lock's place makes the tier unavailable, with the reason."""
    (tmp_path / "chroma.lock").mkdir()
    tier = Feeder(tmp_path / "chroma", 10).tier()
    assert "lock file cannot be used" in refusal(tier.open)
    assert tier.state is LongState.COLD
