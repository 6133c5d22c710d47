"""The gate: writers of several processes take turns in the order they came."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from memento.errors import StoreBusy, StoreError
from memento.ledger.lite.gate import Gate


@pytest.fixture
def ledger(tmp_path):
    """A file where the ledger would be."""
    path = tmp_path / "ledger.db"
    path.touch()
    return path


@pytest.fixture
def gate(ledger):
    """Make gates of one store, each as another process would have it; closed at the end."""
    made = []

    def make(seconds=30.0):
        made.append(Gate(ledger, seconds))
        return made[-1]

    yield make
    for one in made:
        one.close()


def queued(gate):
    """Wait until a gate stands in the queue for good: its waiting thread has begun."""
    while gate._wait is None:
        threading.Event().wait(0.001)
    other = os.open(gate._ledger.parent, os.O_RDONLY)
    try:
        while True:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(other, fcntl.LOCK_UN)
    finally:
        os.close(other)


def test_one_at_a_time(gate):
    """While one is inside another is not let in, and it is as soon as the first leaves."""
    first, second = gate(), gate(0.05)
    first.enter()
    with pytest.raises(StoreBusy, match="another process"):
        second.enter()
    second.leave()
    first.leave()
    second._seconds = 30.0  # a busy machine may take longer than the wait that was to fail
    second.enter()
    second.leave()


def test_one_that_wants_in_again_comes_after_those_who_wait(gate):
    """Leaving and entering at once does not overtake: no writer keeps another one waiting."""
    greedy, patient = gate(), gate()
    order = []

    def wait():
        patient.enter()
        order.append("patient")
        patient.leave()

    greedy.enter()
    waiting = threading.Thread(target=wait)
    waiting.start()
    queued(patient)
    greedy.leave()
    greedy.enter()
    order.append("greedy")
    greedy.leave()
    waiting.join(30)
    assert order == ["patient", "greedy"]


def test_a_wait_given_up_lets_the_turn_go_by(gate):
    """A caller that timed out does not hold up the others when its turn comes after all."""
    first, second, third = gate(), gate(0.02), gate()
    first.enter()
    with pytest.raises(StoreBusy):
        second.enter()
    second.leave()
    first.leave()
    third.enter()
    third.leave()


def test_a_wait_given_up_may_be_taken_up_again(gate):
    """A second try goes on waiting where the first left off."""
    first, second = gate(), gate(0.02)
    first.enter()
    for _ in range(3):
        with pytest.raises(StoreBusy):
            second.enter()
        second.leave()
    second._seconds = 30.0
    waiting = threading.Thread(target=second.enter)
    waiting.start()
    first.leave()
    waiting.join(30)
    with pytest.raises(StoreBusy):
        gate(0.02).enter()
    second.leave()


def test_an_interrupted_wait_holds_nothing_up(gate, monkeypatch):
    """Ctrl-C while waiting leaves the queue to the others."""
    first, second, third = gate(), gate(), gate()
    first.enter()

    def interrupted(_self, _timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            second._enter_queue()
    second.leave()
    first.leave()
    third.enter()
    third.leave()


def test_without_another_thread_to_wait_in_it_is_a_typed_error(gate, monkeypatch):
    """A system that gives no more threads is no endless wait."""
    first, second = gate(), gate()
    first.enter()

    def refused(_self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.raises(StoreError, match=r"new thread"):
            second.enter()
    second.leave()
    first.leave()
    second.enter()
    second.leave()


def test_a_killed_process_opens_the_gate(gate, ledger):
    """The kernel lets go for it."""
    script = f"""
        import time
        from pathlib import Path
        from memento.ledger.lite.gate import Gate
        gate = Gate(Path({str(ledger)!r}), 30.0)
        gate.enter()
        print("inside", flush=True)
        time.sleep(600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    ) as process:
        assert process.stdout.readline() == b"inside\n"
        mine = gate(0.02)
        with pytest.raises(StoreBusy):
            mine.enter()
        process.kill()
    mine._seconds = 30.0
    mine.enter()
    mine.leave()


def test_a_forked_child_keeps_no_lock_alive(gate):
    """The locks of the parent end with the parent, though a child lives on."""
    held, other = gate(), gate(0.02)
    held.enter()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        held.forget()
        os.read(reader, 1)
        os._exit(0)
    with pytest.raises(StoreBusy):
        other.enter()
    held.close()  # as the kernel does when the parent dies
    held.__init__(held._ledger, 30.0)
    other._seconds = 30.0
    other.enter()
    other.leave()
    os.write(writer, b"x")
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


def test_no_room_for_the_lock_file_is_a_typed_error(ledger):
    """A folder in its place, or no ledger at all."""
    ledger.with_name("writer.lock").mkdir()
    with pytest.raises(StoreError):
        Gate(ledger, 1.0)
    with pytest.raises(StoreError):
        Gate(ledger / "none", 1.0)


def test_many_threads_each_with_a_gate_lose_no_turn(gate):
    """A counter that only one at a time may touch comes out exact."""
    counter = [0]

    def work():
        mine = gate()
        for _ in range(50):
            mine.enter()
            seen = counter[0]
            counter[0] = seen + 1
            mine.leave()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counter == [300]
