"""Messages that wait for a language model stay right in processes that end, fork or fail."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from memento import Draft
from memento.ledger import model_rows
from memento.testing import FailingLLM, ManualClock, ScriptedLLM, SlowLLM
from tests.llm.waiting_stores import (
    SAID,
    SAID_TOO,
    happenings_of,
    learnt,
    pointing,
    pointing_at,
    store,
    until_nothing_waits,
    waiting,
)


def begun(memory, slow):
    """Let the model be asked, and return while it thinks."""
    assert not memory.flush(wait=True, timeout=0.01)
    assert slow.asked.wait(20)


def long_message(number):
    """Return a message that fills most of a request."""
    return f"My aunt {number} has a flat. " + " ".join(
        f"My aunt number {number}{place} always eats soup with bread and butter and cheese in the"
        " kitchen of her house on Mondays and often on Fridays too, and I usually bring a cake."
        for place in range(25)
    )


def test_closing_over_a_request_is_no_attempt(tmp_path):
    """However often it happens, the message is shown in the end."""
    clock = ManualClock()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        memory.observe(SAID, session="s")
    for _ in range(4):
        slow = SlowLLM([{"items": []}])
        with store(tmp_path, slow, clock) as memory:
            begun(memory, slow)
        slow.released.set()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        assert [(one["attempts"], one["token"]) for one in waiting(memory)] == [(0, 0)]
        memory.flush(wait=True)
        assert learnt(memory) == {SAID}


def test_close_waits_for_the_request(tmp_path):
    """For as long as it waits for the indexer; so short processes get on too."""
    asked = threading.Event()

    def after_the_close_began(_task):
        asked.set()
        while not attendant._stopped:
            asked.wait(0.01)
        return pointing_at(SAID)

    memory = store(tmp_path, ScriptedLLM(after_the_close_began), close_seconds=20.0)
    attendant = memory._engine.background.attendant
    memory.observe(SAID, session="s")
    assert not memory.flush(wait=True, timeout=0.01)
    assert asked.wait(20)
    memory.close()
    with store(tmp_path, FailingLLM()) as memory:
        assert (learnt(memory), waiting(memory)) == ({SAID}, [])


def turns_of(model):
    """Return the first sentences of the messages that a model was shown, for each request."""
    read = [json.loads(task.data[7:-8]) for task in model.tasks]
    return [[one["sentences"][0] for one in task["messages"]] for task in read]


def test_messages_of_several_requests_are_taken_one_request_at_a_time(tmp_path):
    """So the time for which a process has them is enough, and no other process shows them too."""
    clock, others = ManualClock(), []

    def slow(task):
        clock.advance(timedelta(seconds=25))
        if len(model.tasks) == 3:
            other = ScriptedLLM(pointing)
            with store(tmp_path, other, clock) as second:
                second.flush(wait=True)
            others.append(other)
        return pointing(task)

    model = ScriptedLLM(slow)
    with store(tmp_path, model, clock) as memory:
        for number in range(4):
            memory.observe(long_message(number), session="s")
        memory.flush(wait=True)
        until_nothing_waits(memory)
        told = [one for tasks in (*turns_of(model), *turns_of(others[0])) for one in tasks]
        assert len(told) == len(set(told)) == 4
        count = "SELECT count(*) FROM events WHERE kind = 'reinforced'"
        assert memory._engine.ledger.read(lambda c: c.execute(count).fetchone()) == (0,)


def test_a_process_that_was_too_slow_writes_nothing(tmp_path):
    """Another one took its message meanwhile; a sentence is learnt once."""
    clock, slow = ManualClock(), SlowLLM([pointing_at(SAID)])
    with store(tmp_path, slow, clock) as first:
        seen = first.observe(SAID, session="s")
        begun(first, slow)
        clock.advance(timedelta(hours=1))
        with store(tmp_path, ScriptedLLM(pointing), clock) as second:
            second.flush(wait=True)
            assert learnt(second) == {SAID}
        slow.released.set()
        first.flush(wait=True)
        (one,) = (one for one in first.list() if one.signal is not None)
        assert happenings_of(first, one.id).count("learned") == 1
        assert happenings_of(first, seen.turns[0].id).count("observed") == 2


@pytest.mark.parametrize("messages", [long_message, lambda number: f"My aunt {number} has a flat."])
def test_a_message_that_the_model_cannot_read_fails_alone(tmp_path, messages):
    """Neither the messages of its request nor those of others are given up with it."""
    clock = ManualClock()

    def reading(task):
        if "POISON" in task.data:
            raise ValueError("unreadable")
        return pointing(task)

    with store(tmp_path, ScriptedLLM(reading), clock) as memory:
        bad = memory.observe("My aunt POISON has a house. " + messages(1), session="s")
        memory.observe(messages(2), session="s")
        memory.observe(SAID, session="s")
        for _ in range(4):
            memory.flush(wait=True)
            clock.advance(timedelta(minutes=30))
        assert waiting(memory) == []
        assert {SAID, "My aunt 2 has a flat."} <= learnt(memory)
        assert "llm_failed" in happenings_of(memory, bad.turns[0].id)
        assert memory.store.usage().total.failures == 3


@pytest.mark.parametrize("before_the_reply", [False, True])
@pytest.mark.parametrize("change", ["update", "forget", "undo", "expire"])
def test_a_changed_turn_teaches_nothing(tmp_path, change, before_the_reply):
    """Whether it changed before the model was asked or while it thought."""
    clock, slow = ManualClock(), SlowLLM(pointing)
    with store(tmp_path, slow, clock) as memory:
        seen = memory.observe(f"My name is Ada. {SAID}", session="s")
        if before_the_reply:
            begun(memory, slow)
        changed(memory, seen, change, clock)
        slow.released.set()
        memory.flush(wait=True)
        until_nothing_waits(memory)
        assert SAID not in learnt(memory)
        assert bool(slow.tasks) == before_the_reply


def changed(memory, seen, change, clock):
    """Change the turn of an observation, or take back what it taught."""
    turn = seen.turns[0].id
    if change == "update":
        memory.update(turn, text="The bakery is closed.")
    elif change == "forget":
        memory.forget(turn)
    elif change == "undo":
        memory.undo(run=seen.change)
    else:
        memory.update(turn, expires_in=timedelta(minutes=1))
        clock.advance(timedelta(minutes=1))


@pytest.mark.parametrize("what", ["ids", "session", "everything", "many"])
def test_an_erasure_removes_what_waits(tmp_path, what):
    """At once, without a model, and while one thinks."""
    slow = SlowLLM(pointing)
    with store(tmp_path, slow) as memory:
        turns = [memory.observe(f"Bakery {k} is below my flat.", session="s").turns[0].id
                 for k in range(3)]  # fmt: skip
        other = memory.of("other").observe(SAID, session="s")
        begun(memory, slow)
        if what == "ids":
            memory.store.erase(turns)
        elif what == "session":
            memory.store.erase(session="s")
        else:
            memory.add_many([Draft(f"Note {k}") for k in range(200 if what == "many" else 0)])
            memory.store.erase(everything=True)
        assert memory.store.usage().waiting == 0
        assert [one["docid"] >> 40 for one in waiting(memory)] == [2]
        slow.released.set()
        memory.flush(wait=True)
        assert learnt(memory) == set()
        assert learnt(memory.of("other")) == {other.turns[0].text}


def test_an_edited_message_is_shown_as_it_is_now(tmp_path):
    """The words that it had before are not."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        memory.observe(SAID, session="s", id="1")
        memory.observe(SAID_TOO, session="s", id="1")
        memory.flush(wait=True)
        assert (learnt(memory), waiting(memory)) == ({SAID_TOO}, [])


def test_when_very_many_wait_the_call_does_not_wait_either(tmp_path, monkeypatch):
    """Later ones are shown to no model, and the observation says so."""
    monkeypatch.setattr(model_rows, "MOST", 2)
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        seen = [memory.observe(f"Bakery {k} is below my flat.", session="s") for k in range(3)]
        assert [one.pending for one in seen] == [1, 1, 0]
        assert (seen[2].model.failure, seen[2].model.unsent) == ("full", 1)
        assert "are waiting for the language model" in seen[2].explain()
        assert model.tasks == []
        memory.flush(wait=True)
        assert memory.observe("Bakery 2 is below my flat.", session="s").pending == 1


def test_messages_that_are_put_off_are_not_read(tmp_path, monkeypatch):
    """A look for messages passes over those that wait for tomorrow, in every namespace."""
    clock, model = ManualClock(), ScriptedLLM(pointing)
    with store(tmp_path, model, clock, calls_a_day=1, attempts=1) as memory:
        for name in ("one", "two", "three"):
            for number in range(2):
                memory.of(name).observe(f"Bakery {number} is below my flat.", session="s")
        memory.flush(wait=True)
        assert (len(model.tasks), len(waiting(memory))) == (3, 3)
        read, usual = [], model_rows._read
        monkeypatch.setattr(model_rows, "_read", lambda *row: read.append(row) or usual(*row))
        assert memory.flush(wait=True)
        assert (read, len(model.tasks)) == ([], 3)
        clock.advance(timedelta(days=1))
        memory.flush(wait=True)
        assert (len(model.tasks), waiting(memory)) == (6, [])


DAMAGE = {
    "a moment after all years": {"at": 10**30},
    "a moment before all years": {"at": -(10**18)},
    "no such change": {"run": 99999},
    "a number too large": {"answered": 10**25},
    "a place that is not a number": {"unplaced": {"²": 5}},
    "a place with many digits": {"unplaced": {"9" * 5000: 5}},
    "not a flag": {"hurried": "x"},
    "attempts below zero": {"attempts": -5},
    "no such namespace": {"docid": 1 << 60},
    "a key too many": {"more": 1},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_row_harms_no_other(tmp_path, damage):
    """It is dropped, or the message is shown; the messages after it are shown."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        memory.observe(SAID, session="s")
        memory.observe(SAID_TOO, session="s")
        first = waiting(memory)[0]
        value = json.dumps({**first, **damage}, sort_keys=True)
        overwritten(memory, first["docid"], f"{first['due']:019d} {value}")
        assert memory.flush(wait=True, timeout=20)
        assert (waiting(memory), learnt(memory) - {SAID}) == ([], {SAID_TOO})


def overwritten(memory, docid, value):
    """Write another value into the row of a message."""
    query = "UPDATE meta SET value = ? WHERE name = ?"
    row = (value, f"llm task {docid:019d}")
    memory._engine.ledger.write(lambda c: c.execute(query, row))


@pytest.mark.parametrize("value", ["[" * 100_000, "5", 5, "null", f"{'9' * 19} {{}}"])
def test_a_row_of_something_else_is_dropped(tmp_path, value):
    """No look at such a row fails."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        memory.observe(SAID, session="s")
        memory.observe(SAID_TOO, session="s")
        overwritten(memory, waiting(memory)[0]["docid"], value)
        assert memory.flush(wait=True, timeout=20)
        assert (waiting(memory), learnt(memory)) == ([], {SAID_TOO})


def test_without_a_usable_model_they_wait(tmp_path):
    """An error that is not a failure of the model is not an attempt; the next try has a pause."""
    clock = ManualClock()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        memory.observe(SAID, session="s")
        memory._engine.config.llm.model.complete = None  # its reply would be an "error"
        object.__setattr__(memory._engine.config.llm, "model", None)
        assert memory.flush(wait=True, timeout=20)
        assert [one["attempts"] for one in waiting(memory)] == [0]
        assert not memory._engine.background.attendant.busy()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        memory.flush(wait=True)
        assert learnt(memory) == {SAID}


FORKED = """
import os, sys, threading, warnings
from memento import Config, MemoryManager
from memento.config import LLMConfig
from memento.config import ObserveConfig
from memento.observe.reader import Reader
from memento.protocols import Reply
from tests.llm.waiting_stores import SAID, SAID_TOO, learnt, pointing
from tests.observe.stand_in import StandIn

Reader.load = StandIn

warnings.simplefilter("ignore")
parent, asked, released = os.getpid(), threading.Event(), threading.Event()

class Model:
    name = "model"

    def complete(self, task):
        if os.getpid() == parent:
            asked.set()
            released.wait()
        return Reply(pointing(task), "model")

config = Config(observe=ObserveConfig(mode="full"), llm=LLMConfig(model=Model(), background=True))
memory = MemoryManager(sys.argv[1], embedder=None, config=config)
memory.observe(SAID, session="s")
memory.flush(wait=True, timeout=0.01)
asked.wait()
other = memory.of("other")
other.observe(SAID_TOO, session="s")
child = os.fork()
if child == 0:
    done = memory.flush(wait=True)
    os._exit(0 if done and learnt(other) == {SAID_TOO} and memory.store.usage().waiting == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
released.set()
assert memory.flush(wait=True)
assert (learnt(memory), learnt(other)) == ({SAID}, {SAID_TOO})
memory.close()
"""


def test_a_child_that_was_forked_during_a_request_shows_what_waits(tmp_path, pytestconfig):
    """It neither waits for the request of its parent nor takes the message of that."""
    command = [sys.executable, "-c", FORKED, str(tmp_path / "store")]
    done = subprocess.run(
        command, check=False, timeout=60, cwd=pytestconfig.rootpath, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_message_that_ends_processes_is_given_up(tmp_path):
    """After the third of them; the store is usable again, and the log says why."""
    clock = ManualClock()
    for died in range(4):
        slow = SlowLLM(pointing)
        with store(tmp_path, slow, clock) as memory:
            if not died:
                turn = memory.observe(SAID, session="s").turns[0].id
            memory.flush(wait=True, timeout=0.01)
            until_asked_or_given_up(memory, slow)
            memory._engine.background.attendant._taken = None  # as if the process ended here
        slow.released.set()
        clock.advance(timedelta(hours=1))
        assert slow.asked.is_set() == (died < 3)
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        assert (waiting(memory), learnt(memory)) == ([], set())
        assert "llm_failed" in happenings_of(memory, turn)


def until_asked_or_given_up(memory, slow):
    """Wait for either, which the thread of the model does."""
    for _ in range(1000):
        if not waiting(memory) or slow.asked.wait(0.02):
            return
    raise AssertionError("the message is neither shown nor given up")
