"""Group commit: many threads, one transaction, and each job answers for itself alone."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from words_said import said, say

from memento.errors import StoreBusy, StoreClosed, StoreError
from memento.ledger import group as writer_module
from memento.ledger.lite import sqlite


def together(writer, jobs):
    """Run jobs from a thread each while the first holds the lead; returns results and errors."""
    leading, go = threading.Event(), threading.Event()

    def first(_connection):
        leading.set()
        go.wait(60)

    with ThreadPoolExecutor(len(jobs) + 1) as pool:
        head = pool.submit(writer.run, first)
        assert leading.wait(60)
        futures = [pool.submit(writer.run, job) for job in jobs]
        while len(writer._waiting) < len(jobs):
            threading.Event().wait(0.001)
        go.set()
        head.result(60)
        return [future.exception(30) or future.result() for future in futures]


def counted(connection):
    """Count the transactions a connection begins."""
    begun = []
    connection.set_trace_callback(lambda text: begun.append(text) if "BEGIN" in text else None)
    return begun


def test_a_job_returns_its_result_once_it_is_committed(writer, connection):
    """An uncontended job runs in its caller's thread, in a transaction of its own."""
    thread = writer.run(lambda c: (say("hello")(c), threading.get_ident())[1])
    assert thread == threading.get_ident()
    assert said(connection) == ["hello"]
    assert not connection.in_transaction


def test_sixteen_threads_share_one_commit(writer, connection):
    """Jobs that wait are taken into one transaction, and each gets its own answer."""
    begun = counted(connection)
    answers = together(writer, [say(f"w{n}") for n in range(16)])
    assert answers == [f"w{n}" for n in range(16)]
    assert len(begun) == 2  # the leader's, and one for all sixteen
    assert sorted(said(connection)) == sorted(answers)


def test_no_caller_carries_out_the_job_of_a_background_thread(writer, connection):
    """It runs in its own thread and transaction, though callers wait to write at the same time."""
    leading, go = threading.Event(), threading.Event()

    def chore():
        writer_module.commit_separately()
        return threading.get_ident(), writer.run(lambda c: (say("chore")(c), threading.get_ident()))

    def first(_connection):
        leading.set()
        go.wait(60)

    begun = counted(connection)
    with ThreadPoolExecutor(3) as pool:
        head = pool.submit(writer.run, first)
        assert leading.wait(60)
        behind = pool.submit(chore)
        while not writer._holders:
            threading.Event().wait(0.001)
        other = pool.submit(writer.run, say("other"))
        while not writer._waiting:
            threading.Event().wait(0.001)
        go.set()
        head.result(60)
        own, (_, ran_in) = behind.result(60)
        assert other.result(60) == "other"
    assert ran_in == own
    assert said(connection) == ["chore", "other"]  # in the order they came
    assert len(begun) == 3


def test_a_background_thread_lets_those_pass_who_wait(writer, connection):
    """One that commits job after job would else keep everybody waiting until it is done."""

    def chore():
        writer_module.commit_separately()

        def until_one_waits(c):
            say("chore")(c)
            begun.set()
            while not writer._waiting:
                threading.Event().wait(0.001)

        writer.run(until_one_waits)
        for word in ("second", "third"):
            writer.run(say(word))

    begun = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        behind = pool.submit(chore)
        assert begun.wait(60)
        assert pool.submit(writer.run, say("caller")).result(60) == "caller"
        behind.result(60)
    assert said(connection) == ["chore", "caller", "second", "third"]


def test_a_background_thread_does_not_wait_for_who_gave_up(writer, connection, monkeypatch):
    """A caller that was interrupted on its way is no longer in the queue."""
    entered, give_up = threading.Event(), threading.Event()

    def interrupted(_ticket):
        entered.set()
        give_up.wait(60)
        raise KeyboardInterrupt

    def chore():
        writer_module.commit_separately()
        return writer.run(say("chore"))

    monkeypatch.setattr(writer, "_lead_or_wait", interrupted)
    with ThreadPoolExecutor(2) as pool:
        caller = pool.submit(writer.run, say("never"))
        assert entered.wait(60)
        behind = pool.submit(chore)
        while not writer._turn._waiters:
            threading.Event().wait(0.001)
        give_up.set()
        assert isinstance(caller.exception(60), KeyboardInterrupt)
        assert behind.result(60) == "chore"
    assert said(connection) == ["chore"]


def test_a_background_thread_learns_that_the_store_is_closed(writer):
    """As every other thread does."""

    def chore():
        writer_module.commit_separately()
        writer.run(say("late"))

    writer.close()
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(chore).exception(60), StoreClosed)


def test_one_failing_job_leaves_the_others_committed(writer, connection):
    """A job that raises among a group undoes its own changes and nobody else's."""

    def fail(connection):
        say("never")(connection)
        raise ValueError("mine alone")

    answers = together(writer, [say("a"), fail, say("b"), say("a"), say("c")])
    assert answers[0] == "a"
    assert isinstance(answers[1], ValueError)
    assert isinstance(answers[3], StoreError)  # the word is there already: SQLite's own complaint
    assert sorted(said(connection)) == ["a", "b", "c"]


@pytest.mark.parametrize("background", [False, True])
def test_a_single_failing_job_writes_nothing(writer, connection, background):
    """Alone in its transaction, a job that raises leaves no trace, whichever thread it is of."""

    def fail():
        if background:
            writer_module.commit_separately()
        writer.run(lambda c: (say("never")(c), int("mine")))

    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="mine"):
        pool.submit(fail).result(60)
    assert said(connection) == []
    assert writer.run(say("next")) == "next"


def test_more_threads_than_a_group_holds_all_get_their_answer(writer, connection, monkeypatch):
    """A leader whose own job is beyond the first group goes on until that job is done."""
    monkeypatch.setattr(writer_module, "MAX_GROUP", 3)
    answers = together(writer, [say(f"w{n}") for n in range(20)])
    assert answers == [f"w{n}" for n in range(20)]
    assert len(said(connection)) == 20


def test_when_sqlite_gives_up_the_whole_group_everybody_learns(writer, connection):
    """A group rolled back by SQLite itself is an error for each member, and nothing is kept."""
    answers = together(writer, [say("a"), lambda c: (c.execute("ROLLBACK"), int("lost")), say("b")])
    assert all(isinstance(answer, Exception) for answer in answers)
    assert said(connection) == []
    assert writer.run(say("next")) == "next"


def test_an_interrupted_leader_tells_those_it_led(writer, connection):
    """Ctrl-C in the leading thread reaches its caller; the others get a typed error."""

    def interrupt(_connection):
        raise KeyboardInterrupt

    answers = together(writer, [interrupt, say("b")])
    interrupted = [a for a in answers if isinstance(a, KeyboardInterrupt)]
    told = [a for a in answers if isinstance(a, StoreError)]
    assert (len(interrupted), len(told)) in {(1, 1), (0, 2)}  # (0, 2): the other one led
    assert said(connection) == []
    assert writer.run(say("next")) == "next"


def test_another_process_that_keeps_the_lock_is_a_busy_store(writer, connection, tmp_path):
    """Past the time limit a write is StoreBusy, and nothing of it was written."""
    other = sqlite.connect(tmp_path / "ledger.db", busy_seconds=1, writable=True)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="another process"):
        writer.run(say("too late"))
    other.execute("ROLLBACK")
    other.close()
    assert writer.run(say("in time")) == "in time"
    assert said(connection) == ["in time"]


def test_those_who_wait_when_it_closes_are_told(writer):
    """Closing lets the job in hand finish; who comes later gets StoreClosed."""
    leading, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(3) as pool:
        head = pool.submit(writer.run, lambda _c: (leading.set(), go.wait(60))[1])
        assert leading.wait(60)
        closing = pool.submit(writer.close)
        go.set()
        assert head.result(60) is True
        closing.result(60)
    with pytest.raises(StoreClosed):
        writer.run(say("late"))
    writer.fold()  # nothing to do any more, and no error


def test_who_wants_the_writer_alone_comes_before_the_next_commit(writer):
    """A thread that writes without pause does not keep erasing and checkpoints waiting."""
    order, writing = [], threading.Event()

    def write(_connection):
        order.append("write")
        writing.set()
        while not writer._turn._waiters and "alone" not in order:
            time.sleep(0)  # until the other thread waits

    def write_on():
        for _ in range(50):
            writer.run(write)

    busy = threading.Thread(target=write_on)
    busy.start()
    assert writing.wait(60)
    writer.alone(lambda _connection: order.append("alone"))
    busy.join()
    assert order.index("alone") == 1
    assert order.count("write") == 50


def test_an_interrupted_wait_for_the_writer_lets_the_others_go(writer, monkeypatch):
    """A thread that stops waiting for it blocks no other thread."""
    writer.hold(writer)

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(writer._turn, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer.alone(lambda _connection: None)
    monkeypatch.undo()
    writer.release(writer)
    assert writer.run(say("tea")) == "tea"


def test_a_checkpoint_folds_the_log_and_waits_its_turn(writer, connection):
    """It takes the lead like any job, so that it never meets a transaction."""
    writer.run(say("hello"))
    leading, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        head = pool.submit(writer.run, lambda _c: (leading.set(), go.wait(60))[1])
        assert leading.wait(60)
        folding = pool.submit(writer.fold)
        go.set()
        head.result(60)
        folding.result(60)
    assert connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("said_by_sqlite", "ours"),
    [
        ("database or disk is full", "StorageFull"),
        ("attempt to write a readonly database", "ReadOnlyStore"),
        ("database is locked", "StoreBusy"),
        ("database disk image is malformed", "StoreUnusable"),
        ("file is not a database", "StoreUnusable"),
        ("unable to open database file", "StoreUnusable"),
        ("disk I/O error", "StorageFailed"),
        ("Cannot operate on a closed database.", "StoreClosed"),
        ("something new", "StoreError"),
    ],
)
def test_what_sqlite_says_is_said_in_our_words(tmp_path, said_by_sqlite, ours):
    """Each of SQLite's complaints has one error of ours, with the path it concerns."""
    error = sqlite.explain(tmp_path / "ledger.db", sqlite.sqlite3.OperationalError(said_by_sqlite))
    assert type(error).__name__ == ours
    assert str(tmp_path) in str(error)
