"""An exception raised by a signal handler, at any moment it may come, leaves the ledger usable.

Python runs a signal handler where a function begins and where a call has returned. A profiling
hook is told of the same moments, so each is tried in turn, without any signal.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count

import pytest
from words_said import said, say

from memento import engine
from memento.base.forks import ForkGate
from memento.errors import StoreError, StoreGone
from memento.ledger.lite import sqlite
from memento.ledger.lite.gate import Gate


def interrupted_at(at: int, work: Callable[[], object], kind=KeyboardInterrupt) -> bool:
    """Do some work, interrupted at its moment of this number; False if it ended before."""
    moments, reached = count(), []

    def hook(_frame, event, _arg):
        if event in {"call", "c_return"} and next(moments) == at:
            sys.setprofile(None)
            reached.append(at)
            raise kind

    sys.setprofile(hook)
    try:
        work()
    except kind:
        pass
    finally:
        sys.setprofile(None)
    return bool(reached)


def moments(work: Callable[[int], object], kind=KeyboardInterrupt) -> Iterator[int]:
    """Do some work again and again, each time interrupted one moment later."""
    for at in count():
        if not interrupted_at(at, lambda at=at: work(at), kind):
            assert at > 3
            return
        yield at


class Told(sqlite.Connection):
    """A connection after one of whose statements a signal handler raises, once."""

    statement, kind = "", KeyboardInterrupt

    def execute(self, sql, *given):
        """Execute, and then be interrupted."""
        made = super().execute(sql, *given)
        if self.statement and sql.startswith(self.statement):
            self.statement = ""
            raise self.kind
        return made


@pytest.fixture
def told(monkeypatch):
    """Each connection that is opened from now on can be interrupted after a statement."""
    monkeypatch.setattr(sqlite, "Connection", Told)
    return Told


@pytest.fixture
def connection(told, connection):
    """The writing connection, as one that can be interrupted."""
    assert isinstance(connection, told)
    return connection


def within(seconds, work):
    """Do some work in another thread, which must not hang; returns its result or its error."""
    answers: list[object] = []

    def run():
        try:
            answers.append(work())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            answers.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert answers, "it hangs"
    return answers[0]


def led(writer, connection, statement, kind, between=lambda: None):
    """Write two jobs in one commit, interrupted after a statement; the answers of both threads."""
    leading, go = threading.Event(), threading.Event()
    answers: dict[str, object] = {}

    def write(word):
        try:
            answers[word] = writer.run(say(word))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            answers[word] = error

    head = threading.Thread(
        target=writer.run, args=(lambda _: (leading.set(), go.wait(30)),), daemon=True
    )
    head.start()
    assert leading.wait(30)
    writing = [threading.Thread(target=write, args=(word,), daemon=True) for word in ("a", "b")]
    for thread in writing:
        thread.start()
    while len(writer._waiting) < 2:
        threading.Event().wait(0.001)

    def arm(word):
        connection.statement, connection.kind = statement, kind
        between()
        return word

    writer._waiting[0].job = lambda c, job=writer._waiting[0].job: arm(job(c))
    go.set()
    for thread in [head, *writing]:
        thread.join(30)
    return sorted(answers.values(), key=lambda answer: isinstance(answer, kind))


def test_a_write_interrupted_at_any_moment_leaves_the_next_one_free(writer, connection, tmp_path):
    """No transaction stays open, no process is locked out, and no write is half done."""
    kept = set()

    def write(at):
        kept.add(writer.run(say(f"w{at}")))

    for at in moments(write):
        assert not connection.in_transaction, at
        assert not writer._waiting, at
        other = Gate(tmp_path / "ledger.db", 0.0)
        other.enter()
        other.leave()
        other.close()
        kept.add(within(30, lambda at=at: writer.run(say(f"next{at}"))))
        assert f"next{at}" in kept, at
    assert kept <= set(said(connection))


@pytest.mark.parametrize("verb", ["alone", "fold", "fold if room"])
def test_work_alone_interrupted_at_any_moment_lets_the_next_writer_go(writer, connection, verb):
    """Compaction, erasing and checkpoints end their hold however they end."""

    def work(_at):
        if verb == "alone":
            writer.alone(lambda c: (c.execute("BEGIN IMMEDIATE"), c.execute("COMMIT")))
        else:
            writer.fold(if_room=verb == "fold if room")

    for at in moments(work):
        assert not connection.in_transaction, at
        assert within(30, lambda at=at: writer.run(say(f"{at}"))) == f"{at}"


class Timeout(Exception):
    """An exception that a handler of SIGALRM may raise."""


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Timeout])
def test_a_commit_that_returned_is_acknowledged_whatever_came_after(writer, connection, kind):
    """The interrupted thread learns of the interrupt; the other gets its result."""
    other, interrupted = led(writer, connection, "COMMIT", kind)
    assert isinstance(interrupted, kind)
    assert other in {"a", "b"}
    assert set(said(connection)) == {"a", "b"}
    assert writer.run(say("next")) == "next"


def test_a_commit_whose_file_is_gone_is_not_acknowledged(writer, connection, tmp_path):
    """An interrupt after COMMIT does not skip the look whether the files are in their place."""
    path = tmp_path / "ledger.db"
    other, _ = led(
        writer, connection, "COMMIT", KeyboardInterrupt, lambda: path.rename(tmp_path / "away")
    )
    assert isinstance(other, StoreGone)
    (tmp_path / "away").rename(path)


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "SAVEPOINT", "RELEASE"])
def test_nothing_was_written_is_said_only_if_so(writer, connection, statement):
    """Interrupted before COMMIT, the group is rolled back, and those in it are told."""
    connection.statement = statement
    word, error = "alone", None
    try:
        writer.run(say(word))
    except KeyboardInterrupt as raised:
        error = raised
    assert (error is None) == (statement in {"SAVEPOINT", "RELEASE"})
    assert set(said(connection)) == (set() if error else {word})
    other, _ = led(writer, connection, "RELEASE", KeyboardInterrupt)
    assert isinstance(other, StoreError)
    assert "nothing was written" in str(other)
    assert not set(said(connection)) & {"a", "b"}


def test_a_commit_of_unknown_end_may_have_been_written(writer, connection, monkeypatch):
    """Interrupted twice, after COMMIT and in the look that follows, nothing is promised."""

    def interrupted():
        raise KeyboardInterrupt

    other, _ = led(
        writer,
        connection,
        "COMMIT",
        KeyboardInterrupt,
        lambda: monkeypatch.setattr(writer._presence, "check", interrupted),
    )
    monkeypatch.undo()
    assert isinstance(other, StoreError)
    assert "may have been written" in str(other)
    assert set(said(connection)) == {"a", "b"}


def test_a_read_interrupted_at_any_moment_leaves_no_snapshot_open(memory):
    """The next read of the thread begins a transaction of its own, and sees what is new."""
    memory.add("tea")
    ledger = memory._engine.ledger
    for at in moments(lambda _: ledger.read(lambda c: c.execute("SELECT 1").fetchone())):
        assert not ledger._reader().connection.in_transaction, at
        assert within(30, ledger.moment)
        assert ledger.read(lambda c: c.execute("SELECT count(*) FROM memories").fetchone()) == (1,)


def test_a_read_within_a_read_shares_its_snapshot(memory):
    """A finalizer or a signal handler that reads does not end the snapshot it came in."""
    memory.add("tea")
    ledger = memory._engine.ledger
    (reader,) = [ledger._reader()]

    def outer(connection):
        assert ledger.read(lambda c: c is connection)
        return connection.in_transaction

    assert ledger.read(outer)
    assert not reader.connection.in_transaction


def test_whole_work_interrupted_at_any_moment_leaves_the_gate_free():
    """No lock stays with the interrupted thread, and a fork waits for nobody who is gone."""
    gate = ForkGate()

    def work(_at):
        with gate.whole():
            pass

    def fork():
        shut = gate.shut(until=float("inf"))
        gate.reopen()
        return shut

    for at in moments(work):
        assert within(30, fork) is True, at


def test_the_read_path_enters_the_fork_gate_only_to_load(open_memory, monkeypatch):
    """A second store of a process has nothing to load, and nothing to be interrupted in."""
    open_memory().retrieve("tea")
    entered: list[int] = []
    monkeypatch.setattr(engine, "whole", lambda: entered.append(1) or nullcontext())
    open_memory().retrieve("tea")
    assert not entered
    monkeypatch.delitem(sys.modules, "memento.retrieve.searcher")
    open_memory().retrieve("tea")
    assert entered == [1]
