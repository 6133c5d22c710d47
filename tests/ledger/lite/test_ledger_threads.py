"""One ledger under many threads, across forks and from several processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from memento import MemoryManager
from memento.errors import MementoError, StoreBusy, StoreClosed
from memento.ledger.lite import fulltext, sqlite
from memento.ledger.lite import root as root_module
from memento.ledger.lite import store as ledger_module

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def in_thread(work):
    """Run work in a thread of its own and return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


def in_child(work):
    """Run work in a forked child; returns whether it came through."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - told to the parent by the exit code
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def test_threads_that_come_and_go_leave_no_connections(memory):
    """The connection of a thread that ended serves the next one."""
    memory.add("hello")
    for _ in range(40):
        in_thread(memory.list)
    assert len(memory._engine.ledger._readers) <= 3


def test_threads_at_work_have_a_connection_each(memory):
    """Readers do not wait for one another."""
    memory.add("hello")
    met = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(memory._engine.ledger.read, lambda _c: met.wait(60)) for _ in range(4)]
        assert sorted(read.result(60) for read in reads) == [0, 1, 2, 3]


def test_a_failing_read_leaves_the_connection_usable(memory):
    """An exception in a job ends its transaction."""
    memory.add("one")
    with pytest.raises(ZeroDivisionError):
        memory._engine.ledger.read(lambda _c: 1 // 0)
    memory._engine.ledger.read(lambda c: c.execute("COMMIT"))  # as SQLite does on some errors
    assert len(memory.list()) == 1


def test_closing_under_load_is_clean(open_memory):
    """Threads that read and add while the store closes get their answer or StoreClosed."""
    memory = open_memory()
    memory.add_many(f"note {n}" for n in range(50))
    started = threading.Barrier(9)
    odd = []

    def work(n):
        started.wait(60)
        try:
            while True:
                memory.add(f"more {n} {os.urandom(4).hex()}")
                memory.list(limit=1000)
                memory.sessions.recent()
        except StoreClosed:
            pass
        except BaseException as error:  # noqa: BLE001 - any other is the finding
            odd.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    started.wait(60)
    closers = [threading.Thread(target=memory.close) for _ in range(2)]
    for thread in closers:
        thread.start()
    for thread in (*threads, *closers):
        thread.join(30)
    assert odd == []
    assert memory.store.closed


def test_sixteen_threads_lose_nothing(memory):
    """Every acknowledged add is there once, in one order without gaps or repeats."""
    with ThreadPoolExecutor(16) as pool:
        added = list(pool.map(lambda n: memory.add(f"note {n}", session=f"s{n % 3}"), range(160)))
    stored = memory.list(limit=1000)
    assert {m.id for m in stored} == {m.id for m in added}
    assert len({m.seq for m in stored}) == 160


def test_a_forked_child_adds_and_the_parent_goes_on(open_memory):
    """Parent and child write after a fork; both find everything, nothing twice."""
    memory = open_memory()
    memory.add("before", "short")

    def child():
        memory.add("from the child", "short")
        assert [m.text for m in memory.sessions.recent()] == ["before", "from the child"]
        assert memory.retrieve("child").hits
        memory.close()

    assert in_child(child)
    memory.add("from the parent", "short")
    assert [m.text for m in memory.sessions.recent()] == [
        "before",
        "from the child",
        "from the parent",
    ]
    assert all(finding.ok for finding in memory.store.doctor())


def test_a_fork_inside_a_thread_while_others_write_is_safe(memory):
    """Locks held by threads that are not in the child do not stop it."""
    stop = threading.Event()

    def write():
        while not stop.is_set():
            memory.add(os.urandom(8).hex())

    writers = [threading.Thread(target=write) for _ in range(3)]
    for thread in writers:
        thread.start()
    try:
        came_through = [
            in_child(lambda n=n: (memory.add(f"child {n}"), memory.list())) for n in range(5)
        ]
    finally:
        stop.set()
        for thread in writers:
            thread.join(30)
    assert came_through == [True] * 5
    texts = {m.text for m in memory.list(limit=100_000)}
    assert {f"child {n}" for n in range(5)} <= texts


def test_a_child_of_a_closed_store_finds_it_closed(memory):
    """A fork does not open what the parent closed."""
    memory.close()

    def child():
        with pytest.raises(StoreClosed):
            memory.add("no")

    assert in_child(child)


def test_the_child_of_a_child_writes_too(memory):
    """Forking twice is no different."""
    memory.add("grandparent")
    assert in_child(lambda: (memory.add("parent"), in_child(lambda: memory.add("child")) or 1 / 0))
    assert {m.text for m in memory.list()} == {"grandparent", "parent", "child"}


ADD_FIFTY = """
import sys
from memento import MemoryManager
memory = MemoryManager(sys.argv[1], embedder=None)
print(*(memory.add(f"{sys.argv[2]} {n}", session=sys.argv[2]).id for n in range(50)))
memory.close()
"""


DIE_YOUNG = """
import os, signal, sys
from memento import MemoryManager
memory = MemoryManager(sys.argv[1], embedder=None)
for tier in ("short", "medium", "long"):
    memory.add(f"kept in {tier}", tier)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_adding_at_once_lose_nothing(tmp_path, open_memory):
    """Four processes on a store that none of them had made: all ids there, all seq distinct."""
    root = tmp_path / "store"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ADD_FIFTY, root, f"p{n}"],
            env=ENV,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    ended = [process.communicate(timeout=120) for process in running]
    assert [errors for _, errors in ended] == [""] * 4
    acknowledged = {memory_id for printed, _ in ended for memory_id in printed.split()}
    memory = open_memory(root)
    stored = memory.list(limit=1000)
    assert len(acknowledged) == 200
    assert {m.id for m in stored} == acknowledged
    assert len({m.seq for m in stored}) == 200
    assert all(finding.ok for finding in memory.store.doctor())


def test_many_first_openings_at_once_all_succeed(tmp_path, open_memory):
    """Turning a new file into a store is waited for, not refused as locked."""
    together = threading.Barrier(6)
    for attempt in range(8):
        root = tmp_path / f"new{attempt}"

        def first(root=root):
            together.wait(30)
            return open_memory(root).add("hello").seq

        with ThreadPoolExecutor(6) as pool:
            opened = [pool.submit(first) for _ in range(6)]
            assert {one.result(60) for one in opened} == {1}


def test_a_store_that_is_made_during_the_look_is_no_remnant(tmp_path, open_memory, monkeypatch):
    """Another process makes the ledger and its log between the look at one and at the other."""
    remains, made = root_module._remains, []

    def late(root):
        if not made:
            made.append(root)
            open_memory(root).add("theirs")
        return remains(root)

    root = tmp_path / "new"
    root.mkdir()
    monkeypatch.setattr(root_module, "_remains", late)
    assert open_memory(root).add("ours").seq == 2


def test_a_file_that_stays_locked_is_a_busy_store(tmp_path, open_memory, monkeypatch):
    """Waiting ends at the time limit, with a typed error."""
    root = tmp_path / "store"
    root.mkdir()
    other = sqlite.sqlite3.connect(root / "ledger.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(ledger_module, "BUSY_SECONDS", 0.02)
    with pytest.raises(StoreBusy):
        open_memory()
    with pytest.raises(StoreBusy):
        sqlite.connect(root / "ledger.db", busy_seconds=0.02, writable=True)
    other.close()
    assert open_memory().add("hello").seq == 1


def test_one_process_sees_what_another_adds(open_memory):
    """Rings, lists and searches follow a write of another process at once."""
    memory = open_memory()
    memory.add("mine", "short", session="p9")
    assert len(memory.sessions.recent(session="p9")) == 1
    memory.retrieve("mine")
    subprocess.run([sys.executable, "-c", ADD_FIFTY, memory.store.root, "p9"], env=ENV, check=True)
    assert len(memory.list(session="p9")) == 51
    assert memory.retrieve("p9 17", session="p9")[0].text == "p9 17"


def test_an_add_that_returned_survives_sigkill(tmp_path, open_memory):
    """A process killed right after the answer has lost nothing, in any tier."""
    subprocess.run([sys.executable, "-c", DIE_YOUNG, tmp_path / "store"], env=ENV, check=False)
    memory = open_memory()
    assert [m.tier for m in memory.list()] == ["short", "medium", "long"]
    assert [m.text for m in memory.sessions.recent()] == ["kept in short"]
    assert all(finding.ok for finding in memory.store.doctor())


@pytest.mark.parametrize("method", ["of", "repr"])
def test_a_closed_store_still_says_what_it_is(memory, method):
    """Making a view and printing need no open file."""
    memory.close()
    assert "closed" in repr(memory.of("other") if method == "of" else memory)


def test_every_method_of_a_closed_store_says_so(memory):
    """StoreClosed from whatever reads or writes; closing again does nothing."""
    kept = memory.add("hello", "short")
    memory.close()
    memory.close()
    calls = {
        "add": lambda: memory.add("x"),
        "add_many": lambda: memory.add_many(["x"]),
        "retrieve": lambda: memory.retrieve("hello"),
        "get": lambda: memory.get(kept.id),
        "update": lambda: memory.update(kept.id, text="y"),
        "forget": lambda: memory.forget(kept.id),
        "restore": lambda: memory.restore(kept.id),
        "move": lambda: memory.update(kept.id, tier="long"),
        "list": memory.list,
        "recent": memory.sessions.recent,
        "history": lambda: memory.changes.history(kept.id),
        "stats": memory.store.stats,
        "doctor": memory.store.doctor,
        "flush": memory.flush,
        "of": lambda: memory.of("other").list(),
    }
    answers = {}
    for name, call in calls.items():
        with pytest.raises(MementoError) as caught:
            call()
        answers[name] = type(caught.value)
    assert answers == dict.fromkeys(calls, StoreClosed)


def test_a_fork_waits_for_a_search_in_the_index_in_memory(tmp_path, monkeypatch):
    """SQLite's own locks are shared by all connections: one held now stays so in the child."""
    look_up, inside, go, out = fulltext.look_up, threading.Event(), threading.Event(), []

    def slow(connection, *rest):
        if isinstance(connection, sqlite.Connection):
            return look_up(connection, *rest)
        inside.set()
        assert go.wait(60)
        out.append("left")
        return look_up(connection, *rest)

    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.add("tea in the garden")
        monkeypatch.setattr(fulltext, "look_up", slow)
        ledger = memory._engine.ledger

        def let_go():
            while (
                not go.is_set() and not ledger._lock.locked()
            ):  # the fork has begun to take what it must hold
                time.sleep(0.001)
            go.set()

        threads = [threading.Thread(target=memory.retrieve, args=("tea",))]
        threads[0].start()
        assert inside.wait(60)
        threads.append(threading.Thread(target=let_go))
        threads[1].start()
        ledger.hold_still()
        seen = list(out)
        ledger.go_on()
        go.set()
        for thread in threads:
            thread.join()
    assert seen == ["left"]
