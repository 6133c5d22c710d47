"""The sixth promise of ``contract``: a commit whose answer is lost is never repeated."""

from __future__ import annotations

import threading
from functools import partial

import postgres
import pytest
from cut_wire import Wire

from memento import MemoryManager, Source
from memento.errors import CommitUnknown, MementoError, StoreBusy, StoreError, UntrustedSource
from memento.ledger import meta, namespaces
from memento.ledger.opening import open_ledger
from memento.tiers.indexer import Indexer

psycopg = pytest.importorskip("psycopg")
writer = pytest.importorskip("memento.ledger.pg.writer")

STATEMENTS = 6
"""Of an ``add``: begin with its locks, look for new words, for a repeat and for the newest row,
insert, and commit."""
QUESTION = 5
TOGETHER = STATEMENTS - 2
"""Of several: what is looked for is one message."""


@pytest.fixture
def ledger(address):
    """A ledger of it."""
    opened = open_ledger(address)
    yield opened
    opened.close()


@pytest.fixture
def wire():
    """A wire to the server."""
    made = Wire(postgres.server().folder)
    yield made
    made.remove()


@pytest.fixture
def memory(address, wire, monkeypatch):
    """A manager whose wire can be cut, with one memory, and nobody who works in the background."""
    monkeypatch.setattr(Indexer, "start", lambda _: None)
    there = address.replace(str(postgres.server().folder), str(wire.folder))
    with MemoryManager(there, embedder=None) as made:
        made.add("the first note")
        made.add("the second one, of a namespace that is known")
        yield made


@pytest.fixture
def held(address):
    """Count the memories of a text, by another way."""
    with psycopg.connect(address.split("&")[0], autocommit=True) as connection:
        query = "SELECT count(*) FROM memento.memories WHERE text = %s"
        yield lambda text: connection.execute(query, (text,)).fetchone()[0]


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "unanswered"])
def test_a_wire_cut_at_any_statement_of_an_add(memory, wire, held, done):
    """Each is there once if it was acknowledged, and not at all if it was refused."""
    outcomes, at = [], 0
    while True:
        text = f"the heron{at}{done} in the garden"
        wire.cut(at, done=done)
        try:
            memory.add(text)
            outcomes.append(True)
        except CommitUnknown:
            pytest.fail("the server is there, and says what became of it")
        except StoreError:
            outcomes.append(False)
        assert held(text) == outcomes[-1]
        if not wire.heal():
            break
        memory.add(text)
        assert held(text) == 1
        at += 1
    assert at >= STATEMENTS, "the driver says more when it prepares a statement"
    assert outcomes.count(False) >= STATEMENTS - 1


@pytest.mark.parametrize("done", [False, True], ids=["unheard", "unanswered"])
def test_a_wire_cut_at_the_commit(memory, wire, held, done):
    """The server is asked, and it is known whether it was done."""
    wire.cut(b"COMMIT", done=done)
    if done:
        memory.add("a late note")
    else:
        with pytest.raises(StoreError, match="nothing was written"):
            memory.add("a late note")
    assert wire.heal()
    assert held("a late note") == done


def test_one_of_which_nobody_knows_is_named(memory, wire, held, monkeypatch):
    """By the ids with which it can be added again, and is there once."""
    monkeypatch.setattr(writer, "DOUBT_SECONDS", 0.0)
    for done in (True, False):
        text = f"a note that was{' not' * (not done)} written"
        wire.cut(b"COMMIT", done=done)
        with pytest.raises(CommitUnknown) as caught:
            memory.add(text)
        assert caught.value.transaction.isdecimal()
        assert held(text) == done
        (memory_id,) = caught.value.ids
        assert memory.add(text, id=memory_id).id == memory_id
        assert held(text) == 1


def together(memory, wire, *calls):
    """Let calls wait for one commit; returns what each returned or raised, in order."""
    queue, holder, outcomes = memory._engine.ledger._writer, object(), {}

    def carry_out(at, call):
        try:
            outcomes[at] = call()
        except MementoError as error:
            outcomes[at] = error

    queue.hold(holder)
    threads = [threading.Thread(target=carry_out, args=one) for one in enumerate(calls)]
    for one in threads:
        one.start()
    while len(queue._waiting) < len(calls):
        threads[0].join(0.01)
    wire.statements = 0
    queue.release(holder)
    for one in threads:
        one.join(60)
    return [outcomes[at] for at in range(len(calls))]


@pytest.mark.parametrize("size", [2, 16, 200])
def test_adds_that_wait_are_one_write(memory, wire, held, size):
    """Of fewer messages than one add, however many they are."""
    texts = [f"note {number} about subject {number % 7}" for number in range(size)]
    made = together(memory, wire, *(partial(memory.add, text) for text in texts))
    assert wire.statements == TOGETHER
    assert [one.text for one in made] == texts
    assert [held(text) for text in texts] == [1] * size
    assert {one.id for one in made} < {one.id for one in memory.list(limit=999)}


def test_what_comes_while_a_write_waits_for_its_locks_is_of_that_write(memory, held):
    """So of many threads none commits alone, since it was the first."""
    queue, threads = memory._engine.ledger._writer, []
    begin, groups = queue._begin, []

    def slow(connection, spaces):
        if not threads:
            threads.append(threading.Thread(target=memory.add, args=("one more",)))
            threads[0].start()
            while not queue._waiting:
                threads[0].join(0.01)
        groups.append(spaces)
        return begin(connection, spaces)

    queue._begin = slow
    memory.add("a late note")
    threads[0].join(60)
    assert [held("a late note"), held("one more")] == [1, 1]
    assert len(groups) == 1


def test_a_question_after_a_write_is_five_messages(memory, wire):
    """It begins, asks what is new and who shares, for the words and for the rows, and ends."""
    for number in range(8):  # then every statement is prepared
        memory.add(f"the heron {number} in the garden")
        memory.retrieve("heron", record=False)
    memory.add("a heron by the pond")
    wire.statements = 0
    assert memory.retrieve("pond", record=False)[0].text == "a heron by the pond"
    assert wire.statements == QUESTION


def test_one_that_fails_among_those_fails_alone(memory, wire):
    """What cannot be done together is done apart."""
    page = {"kind": "rule", "source": Source(kind="web", uri="https://example.com/page")}
    texts = [f"note {number}" for number in range(5)]
    calls = [partial(memory.add, text) for text in texts]
    *made, failed = together(memory, wire, *calls, partial(memory.add, "a", **page))
    assert isinstance(failed, UntrustedSource)
    assert [one.text for one in made] == texts
    assert len(memory.list()) == len(texts) + 2


def test_a_repeat_among_those_is_one_memory(memory, wire, held):
    """As it is if one comes after the other."""
    made = together(memory, wire, *(partial(memory.add, "the same note") for _ in range(5)))
    assert len({one.id for one in made}) == held("the same note") == 1


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
            kept = [one.id for one in after.list(limit=100_000)]
        assert len(kept) == len(set(kept))
        assert set(acknowledged) <= set(kept)
        memory.close()
    finally:
        server.remove()


def test_a_lock_that_is_not_free_is_told_as_such(address):
    """Whatever it is a lock on, as somebody else set a limit."""
    base = address.split("&")[0]
    with psycopg.connect(base) as other, psycopg.connect(base, autocommit=True) as admin:
        admin.execute("ALTER ROLE memento SET lock_timeout = '10ms'")
        try:
            with MemoryManager(f"{address}&application_name=hurried", embedder=None) as hurried:
                other.execute("LOCK TABLE memento.namespaces IN EXCLUSIVE MODE")
                with pytest.raises(StoreBusy, match="lock_timeout"):
                    hurried.add("a note")
        finally:
            admin.execute("ALTER ROLE memento RESET lock_timeout")


@pytest.mark.parametrize("verb", ["read", "write"])
def test_a_server_compiles_no_statement(ledger, verb):
    """A table without an index counts as so dear to read that a server would, for half a second."""
    ns = ledger.write(lambda s: namespaces.number(s, ("one",)))
    named = {"read": {"space": ns}, "write": {"spaces": [ns]}}[verb]
    query = "EXPLAIN ANALYZE SELECT model FROM embedders WHERE name || dim = 'x'"
    plan = getattr(ledger, verb)(lambda s: s.execute(query).fetchall(), **named)
    assert "JIT" not in str(plan)
