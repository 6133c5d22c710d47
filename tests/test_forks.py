"""A fork and what would stay locked in its child keep out of each other's way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import memento.ledger.lite.store  # noqa: F401 - it registers what a fork waits for
from memento import MemoryManager
from memento.base import forks
from memento.base.forks import ForkGate

SLOW = """
import builtins
builtins.importing.set()
builtins.forking.wait(1)
"""
"""A module whose import takes until somebody forked, or a second: a fork is always in between."""

HOST = """
import builtins, os, sys, threading, time
from memento import MemoryManager
from memento.testing import HashEmbedder

class Slow(HashEmbedder):
    def embed(self, texts):
        import slow_module
        return super().embed(texts)

builtins.importing, builtins.forking = threading.Event(), threading.Event()
memory = MemoryManager(sys.argv[1], embedder=Slow(8))
memory.add("said by the parent")
assert builtins.importing.wait(30)
child = os.fork()
if not child:
    assert len(memory.store.embed(["what did the parent say?"])) == 1
    os._exit(0 if len(memory.retrieve("said by the parent")) == 1 else 4)
builtins.forking.set()
print(child, flush=True)
_, status = os.waitpid(child, 0)
memory.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""

AUDIT = """
import json, sys, threading
import memento.base.forks as forks
from memento import MemoryManager
from memento.testing import HashEmbedder

unguarded = []

class Noting:
    def find_spec(self, name, path=None, target=None):
        thread = threading.current_thread()
        ours = thread.name in ("memento-indexer", "memento-express")
        if ours and not forks.gate._working[thread.ident]:
            unguarded.append(name)

sys.meta_path.insert(0, Noting())
embedder = HashEmbedder(8) if sys.argv[2] == "hash" else sys.argv[2]
before = len(sys.modules)
with MemoryManager(sys.argv[1], embedder=embedder) as memory:
    memory.add("to be indexed", "long")
    assert not memory.retrieve("indexed", wait=60).missing
    assert memory.flush(wait=True, timeout=60)
    state = memory.store.stats().long
    memory.add("another", "long")
    assert memory.flush(wait=True, timeout=60)
print(json.dumps({"unguarded": unguarded, "state": state, "loaded": len(sys.modules) - before}))
"""


def run(folder: Path, program: str, *given: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, and end it and its children if they hang."""
    command = [sys.executable, "-P", "-c", textwrap.dedent(program), str(folder / "store"), *given]
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    child = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        err += "it hung"
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def test_a_child_forked_during_an_import_of_the_background_thread_can_ask(tmp_path):
    """The fork waits for the import; else its lock would be held in the child for ever."""
    (tmp_path / "slow_module.py").write_text(SLOW)
    done = run(tmp_path, HOST)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("embedder", ["hash", "default"])
def test_the_background_thread_imports_nothing_that_a_fork_may_cut_in_two(tmp_path, embedder):
    """Every module that it loads, Chroma's hundreds too, is loaded under the guard."""
    done = run(tmp_path, AUDIT, embedder)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["unguarded"], seen["state"]) == ([], "ready")
    assert seen["loaded"] > 300


SETTLING = """
import os, sys, time
from memento import MemoryManager
memory = MemoryManager(sys.argv[1], embedder=None)
memory.add("I live in Ghent")  # the background thread loads what compares and tidies up
time.sleep(float(sys.argv[2]))
if os.fork() == 0:
    memory.add("I live in Turku now")
    memory.observe("I live in Porto now.", session="talk")
    memory.sleep.run()
    os._exit(0)
pid, status = os.wait()
memory.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("delay", [0, 0.02, 0.04, 0.06, 0.1])
def test_a_child_forked_while_parts_are_loaded_can_use_them(tmp_path, delay):
    """No part, and nothing that it reads at its first use, is half there in the child."""
    done = run(tmp_path, SETTLING, str(delay))
    assert done.returncode == 0, done.stderr


def test_a_thread_that_forks_while_it_is_loading_does_not_wait_for_itself():
    """Some libraries start a child when they are imported, some embedders a pool."""
    with forks.whole():
        child = os.fork()
        if not child:
            with forks.whole():
                os._exit(7)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_the_loading_of_others_is_nothing_to_a_child():
    """Only the thread that forked is in it, so that it can fork at once itself."""
    gate, inside, leave = ForkGate(), threading.Event(), threading.Event()
    other = threading.Thread(target=_stay, args=(gate, inside, leave))
    other.start()
    assert inside.wait(30)
    with gate.whole():
        assert gate.shut(until=0.0)  # as a fork that has waited long enough
        gate.reopen_in_child()
        assert gate.shut(until=float("inf"))
        gate.reopen()
    leave.set()
    other.join()


def test_nobody_begins_while_it_is_shut(caplog):
    """From there on a fork is sure of what it copies."""
    gate, inside, leave = ForkGate(), threading.Event(), threading.Event()
    leave.set()
    assert gate.shut(until=float("inf"))
    other = threading.Thread(target=_stay, args=(gate, inside, leave))
    other.start()
    assert not inside.is_set()
    gate.reopen()
    other.join()
    assert inside.is_set()
    assert not caplog.records


def test_a_fork_does_not_wait_for_ever(caplog, monkeypatch):
    """An import that needs what the forking thread holds would never end; the log names it."""
    monkeypatch.setattr(forks, "FORK_SECONDS", 0.0)
    inside, leave = threading.Event(), threading.Event()
    other = threading.Thread(target=_stay, args=(forks.gate, inside, leave))
    other.start()
    assert inside.wait(30)
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    leave.set()
    other.join()
    assert "forked while another thread was loading" in caplog.text


def test_threads_that_load_and_fork_at_once_all_come_through():
    """Each waits for the others only; none holds anything meanwhile that another needs."""
    codes: list[int] = []

    def load_and_fork() -> None:
        for _ in range(10):
            with forks.whole():
                time.sleep(0)
            child = os.fork()
            if not child:
                os._exit(0)
            codes.append(os.waitpid(child, 0)[1])

    threads = [threading.Thread(target=load_and_fork, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert codes == [0] * 40


def _stay(gate: ForkGate, inside: threading.Event, leave: threading.Event) -> None:
    with gate.whole():
        inside.set()
        leave.wait(30)


COPYING = """
import os, signal, sys, threading
from pathlib import Path
from memento import MemoryManager
from memento.ledger.lite import copying
from memento.upkeep.backup import restore

root, step = Path(sys.argv[1]), sys.argv[2]
real, inside, left = getattr(copying, step), threading.Event(), threading.Event()

def noted(*given, **named):
    if threading.current_thread() is threading.main_thread():
        return real(*given, **named)
    inside.set()
    try:
        return real(*given, **named)
    finally:
        left.set()

memory = MemoryManager(root / "store", embedder=None)
memory.add_many(f"said by the parent {n}" for n in range(2000))
memory.store.backup(root / "first.db")
setattr(copying, step, noted)
if step == "fetch":
    thread = threading.Thread(target=restore, args=(root / "first.db", root / "new"))
else:
    thread = threading.Thread(target=memory.store.backup, args=(root / "new.db",))
thread.start()
assert inside.wait(30)
child = os.fork()
if not child:
    signal.alarm(30)
    memory.add("said by the child")
    memory.store.backup(root / "child.db")
    os._exit(0 if left.is_set() else 4)
_, status = os.waitpid(child, 0)
thread.join()
memory.close()
if step != "fetch":
    assert restore(root / "new.db", root / "new").memories == 2000
with MemoryManager(root / "new", embedder=None) as copy:
    assert len(copy.list(limit=3000)) == 2000
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("step", ["copy", "inspect", "fetch"])
def test_a_fork_waits_for_a_copy_of_the_store(tmp_path, step):
    """A child forked during a backup or a restore can go on, and the copy is whole."""
    host = [sys.executable, "-c", COPYING, str(tmp_path), step]
    done = subprocess.run(host, timeout=120, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


OUTLIVED = """
import os, subprocess, sys, time
os.register_at_fork(after_in_child=lambda: time.sleep(float(sys.argv[2])))
from memento import MemoryManager

OTHER = '''
import sys
from memento import MemoryManager
memory = MemoryManager(sys.argv[1], embedder=None)
memory.add("said by a stranger")
print("ready", flush=True)
sys.stdin.readline()
memory.add("said by a stranger, later")
print(len(memory.list()), flush=True)
memory.close()
'''
memory = MemoryManager(sys.argv[1], embedder=None)
memory.add("said by the parent")
closed, close = os.pipe()
child = os.fork()
if child:
    memory.close()
    os.write(close, b"!")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.read(closed, 1)
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
other = subprocess.Popen([sys.executable, "-c", OTHER, sys.argv[1]], **pipes)
assert other.stdout.readline() == "ready\\n"
for n in range(20):
    memory.add(f"said by the child {n}")
assert other.communicate("\\n", timeout=30)[0] == "23\\n"
memory.add("said by the child at last")
checks = {one.check: one.ok for one in memory.store.doctor()}
assert all(checks.values()) and "locks" not in checks, checks
os._exit(0)
"""


@pytest.mark.parametrize("seconds", ["0", "0.5"])
def test_a_child_that_outlives_its_parent_shares_the_store_with_others(tmp_path, seconds):
    """SQLite counts the parent's connections in the child, and takes no lock there by itself.

    The parent closes the store at once; it waits for a child that is slow to begin.
    """
    done = run(tmp_path, OUTLIVED, seconds)
    assert done.returncode == 0, done.stderr
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        assert len(memory.list()) == 24
