"""The sixth promise of ``contract``: a commit whose answer is lost is never repeated."""

from __future__ import annotations

import threading

import postgres
import pytest

from memento import MemoryManager
from memento.errors import CommitUnknown, StoreError
from memento.ledger import meta
from memento.ledger.opening import open_ledger

psycopg = pytest.importorskip("psycopg")
writer = pytest.importorskip("memento.ledger.pg.writer")


@pytest.fixture
def address(tmp_path, monkeypatch):
    """The address of an empty store."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    address = postgres.server().address()
    yield address
    postgres.wipe(address)


@pytest.fixture
def ledger(address):
    """A ledger of it."""
    opened = open_ledger(address)
    yield opened
    opened.close()


@pytest.fixture
def cut(monkeypatch):
    """Cut the next connection that sends a statement, before or after the server has done it."""
    execute = psycopg.Connection.execute

    def at(statement, *, done):
        left = [statement]

        def cutting(self, asked, *rest, **options):
            if not left or not asked.startswith(left[0]):
                return execute(self, asked, *rest, **options)
            left.clear()
            if done:
                execute(self, asked, *rest, **options)
            self.close()
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(psycopg.Connection, "execute", cutting)

    return at


def told(ledger):
    """Return what the last write left."""
    return ledger.read(lambda s: meta.get(s, "told"))


def test_a_commit_that_was_made_is_acknowledged(ledger, cut):
    """Though its answer was lost, and the job runs once."""
    runs = []
    cut("COMMIT", done=True)
    ledger.write(lambda s: (runs.append(1), meta.put(s, "told", 1)))
    assert (told(ledger), runs) == (1, [1])


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "UPDATE written", "COMMIT"])
def test_one_that_was_not_made_is_an_error(ledger, cut, statement):
    """Wherever the connection is cut, nothing is half written, and the next write is made."""
    cut(statement, done=False)
    with pytest.raises(StoreError) as caught:
        ledger.write(lambda s: meta.put(s, "told", 1))
    assert not isinstance(caught.value, CommitUnknown)
    assert told(ledger) is None
    ledger.write(lambda s: meta.put(s, "told", 2))
    assert told(ledger) == 2


def test_one_of_which_nobody_knows_is_named(ledger, cut, monkeypatch):
    """With the number of the transaction, by which an administrator can ask."""
    monkeypatch.setattr(writer, "DOUBT_SECONDS", 0.0)
    cut("COMMIT", done=True)
    with pytest.raises(CommitUnknown) as caught:
        ledger.write(lambda s: meta.put(s, "told", 1))
    assert caught.value.transaction.isdecimal()


def test_a_store_of_a_newer_memento_is_left_alone(ledger, address):
    """As a file is."""
    from memento.errors import StoreFromTheFuture  # noqa: PLC0415 - of this test alone

    ledger.write(lambda s: meta.put(s, "schema", 99))
    try:
        with pytest.raises(StoreFromTheFuture):
            open_ledger(address)
    finally:
        ledger.write(lambda s: meta.put(s, "schema", 1))


def test_what_was_acknowledged_outlives_the_server(tmp_path, monkeypatch):
    """The server is killed while threads add, and started again: none is lost, none twice."""
    if reason := postgres.missing():
        pytest.skip(reason)
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(writer, "DOUBT_SECONDS", 0.0)
    server, acknowledged, stop = postgres.Server(), [], threading.Event()
    try:
        memory = MemoryManager(server.address(), embedder=None)

        def add(thread):
            for number in range(10_000):
                if stop.is_set():
                    return
                try:
                    acknowledged.append(memory.add(f"note {thread} {number}").id)
                except StoreError:
                    return

        threads = [threading.Thread(target=add, args=(one,)) for one in range(4)]
        for one in threads:
            one.start()
        while len(acknowledged) < 50:
            stop.wait(0.01)
        server.stop()
        stop.set()
        for one in threads:
            one.join(60)
        server.start()
        with MemoryManager(f"{server.address()}&application_name=after", embedder=None) as after:
            kept = [one.id for one in after.list()]
        assert len(kept) == len(set(kept))
        assert set(acknowledged) <= set(kept)
        memory.close()
    finally:
        server.remove()
