"""If a model, a message or the disk does not work, no message is lost or blocks another one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from memento import AsyncMemoryManager
from memento.errors import StorageFull, StoreBusy, SynthesisFailed
from memento.learning import model_later as waiting_thread
from memento.learning import reading
from memento.ledger import model_rows
from memento.testing import ManualClock, ScriptedLLM, SlowLLM
from tests.llm.waiting_stores import (
    SAID,
    SAID_TOO,
    happenings_of,
    learnt,
    pointing,
    store,
    waiting,
)


@pytest.mark.parametrize("reason", ["unreachable", "refused", "timeout"])
def test_an_outage_gives_no_message_up(tmp_path, reason):
    """They wait until the model is back; meanwhile it is asked ever more seldom."""
    clock, down = ManualClock(), True

    def model(task):
        if down:
            raise SynthesisFailed(reason, "no network", calls=1)
        return pointing(task)

    llm = ScriptedLLM(model)
    with store(tmp_path, llm, clock) as memory:
        for number in range(10):
            memory.observe(f"The bakery number {number} is below my flat.", session="s")
        for _ in range(24 * 60):
            memory._engine.background.attendant.finish(20)
            clock.advance(timedelta(minutes=1))
        assert (len(llm.tasks), {one["attempts"] for one in waiting(memory)}) == (7, {0})
        down = False
        clock.advance(timedelta(days=2))
        memory.flush(wait=True)
        assert (len(learnt(memory)), waiting(memory)) == (10, [])


def test_short_processes_give_no_message_up_in_an_outage(tmp_path):
    """Nor does one message that always fails keep the others from their turn."""
    clock = ManualClock()

    def model(task):
        if "POISON" in task.data:
            raise SynthesisFailed("timeout", "too slow", calls=1)
        return pointing(task)

    with store(tmp_path, ScriptedLLM(model), clock) as memory:
        bad = memory.observe("POISON stands below my flat.", session="s").turns[0].id
        memory.observe(SAID, session="s")
    for _ in range(5):
        with store(tmp_path, ScriptedLLM(model), clock) as memory:
            memory.flush(wait=True)
            clock.advance(timedelta(hours=1))
            left = [one["attempts"] for one in waiting(memory)]
    assert left == [1]  # the only one that came after a reply to another message
    with store(tmp_path, ScriptedLLM(model), clock) as memory:
        assert learnt(memory) == {SAID}
        for number in range(4):  # where the others have a reply, it is the message that fails
            memory.observe(f"The bakery number {number} is below my flat.", session="s")
            memory.flush(wait=True)
            clock.advance(timedelta(days=2))
            memory.flush(wait=True)
        assert "llm_failed" in happenings_of(memory, bad)


def test_a_model_that_is_slower_for_one_message_blocks_no_namespace(tmp_path):
    """Messages of all namespaces are shown in the order in which they came."""
    clock, order = ManualClock(), []

    def model(task):
        order.append("one" if "number 1" in task.data else "two")
        return pointing(task)

    with store(tmp_path, ScriptedLLM(model), clock) as memory:
        one, two = memory.of("one"), memory.of("two")
        for number in range(3):
            one.observe(f"The bakery number 1{number} is below my flat.", session="s")
            clock.advance(timedelta(seconds=1))
            two.observe(f"The bakery number 2{number} is below my flat.", session="s")
            clock.advance(timedelta(seconds=1))
        memory.flush(wait=True)
        assert order == ["one", "two"] * 3


def broken(monkeypatch, error):
    """Let the detector fail for some words."""
    usual = reading.find

    def find(text, **settings):
        if "POISON" in text:
            raise error
        return usual(text, **settings)

    monkeypatch.setattr(reading, "find", find)


ERRORS = (ValueError("a bug"), StoreBusy("store", "it is busy"), RecursionError())
ERROR_NAMES = ("a bug", "a busy store", "too deep")


@pytest.mark.parametrize("error", ERRORS, ids=ERROR_NAMES)
def test_a_message_that_cannot_be_read_stops_no_other(tmp_path, monkeypatch, error):
    """Of no namespace; it is given up in the end."""
    clock = ManualClock()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        bad = memory.observe("POISON stands below my flat.", session="s").turns[0].id
        memory.observe(SAID, session="s")
        other = memory.of("other")
        other.observe(SAID_TOO, session="s")
        broken(monkeypatch, error)
        for _ in range(8):
            assert memory.flush(wait=True, timeout=20)
            clock.advance(timedelta(hours=6))
        assert (learnt(memory), learnt(other)) == ({SAID}, {SAID_TOO})
        if not isinstance(error, StoreBusy):
            assert (waiting(memory), "llm_failed" in happenings_of(memory, bad)) == ([], True)


def test_a_damaged_turn_stops_no_other(tmp_path):
    """The messages of other namespaces are shown at once."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        memory.of("one").observe(SAID, session="s")
        query = "UPDATE memories SET source_parents = '{{{' WHERE docid = ?"
        row = (waiting(memory)[0]["docid"],)
        memory._engine.ledger.write(lambda c: c.execute(query, row))
        memory.of("two").observe(SAID_TOO, session="s")
        assert memory.flush(wait=True, timeout=20)
        assert learnt(memory.of("two")) == {SAID_TOO}


def test_the_thread_outlives_any_error(tmp_path, monkeypatch):
    """It rests and goes on; a flush ends, also that of an asynchronous manager."""
    clock = ManualClock()
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        memory.observe(SAID, session="s")
        config = memory.store.config
    model_of = waiting_thread.model_of
    monkeypatch.setattr(waiting_thread, "model_of", lambda _config: 1 / 0)

    async def flushed():
        path = tmp_path / "store"
        async with AsyncMemoryManager(path, embedder=None, clock=clock, config=config) as memory:
            return await asyncio.wait_for(memory.flush(wait=True), 20)

    before = threading.active_count()
    assert asyncio.run(flushed()) in (True, False)
    assert threading.active_count() < before + 5
    with store(tmp_path, ScriptedLLM(pointing), clock) as memory:
        assert memory.flush(wait=True, timeout=20)
        assert [(one["attempts"], one["token"]) for one in waiting(memory)] == [(0, 0)]
        monkeypatch.setattr(waiting_thread, "model_of", model_of)
        clock.advance(timedelta(minutes=1))
        memory.flush(wait=True)
        assert learnt(memory) == {SAID}


def test_what_cannot_be_written_is_asked_for_seldom(tmp_path, monkeypatch):
    """A full disk does not use up the limits of the day; afterwards all is learnt."""
    clock, model = ManualClock(), ScriptedLLM(pointing)
    with store(tmp_path, model, clock) as memory:
        for said in (SAID, SAID_TOO):
            memory.observe(said, session="s")

        def full(*_args, **_options):
            raise StorageFull("store", "no room")

        with monkeypatch.context() as patched:
            patched.setattr(memory._engine, "add", full)
            for _ in range(600):
                memory._engine.background.attendant.finish(20)
                clock.advance(timedelta(minutes=1))
        assert len(model.tasks) == 6
        clock.advance(timedelta(days=1))
        memory.flush(wait=True)
        assert (learnt(memory), waiting(memory)) == ({SAID, SAID_TOO}, [])


def test_a_message_too_large_for_the_day_keeps_no_other_back(tmp_path):
    """The limits hold for each; the others are shown as far as they allow it."""
    clock, model = ManualClock(), ScriptedLLM(pointing)
    with store(tmp_path, model, clock, tokens_a_day=4300, attempts=1) as memory:
        long = " ".join(f"My aunt {k} eats soup with bread in her flat." for k in range(40))
        memory.observe(long, session="s")
        memory.observe(SAID, session="s")
        memory.flush(wait=True)
        assert SAID in learnt(memory)
        assert (len(model.tasks), len(waiting(memory))) == (1, 1)


def test_closing_over_a_request_costs_one_request(tmp_path):
    """Not all that was counted before it was sent; and no thread is left that waits for it."""
    slow = SlowLLM([{"items": []}])
    with store(tmp_path, slow, attempts=4) as memory:
        memory.observe(SAID, session="s")
        assert not memory.flush(wait=True, timeout=0.01)
        assert slow.asked.wait(20)
        thread = memory._engine.background.attendant._thread
        reserved = memory.store.usage().total
    assert not thread.is_alive()
    with store(tmp_path, ScriptedLLM(pointing), quiet_seconds=1e6) as memory:
        used = memory.store.usage().total
        assert (reserved.calls, used.calls, used.failures) == (4, 1, 0)
        assert used.tokens_out == reserved.tokens_out // 4
        assert used.seconds < 20
    slow.released.set()


def test_a_model_that_flushes_does_not_wait_for_itself(tmp_path):
    """The flush returns at once and says that not all is done."""
    flushed = []

    def model(task):
        flushed.append(memory.flush(wait=True))
        return pointing(task)

    with store(tmp_path, ScriptedLLM(model)) as memory:
        memory.observe(SAID, session="s")
        assert memory.flush(wait=True, timeout=20)
        assert (flushed, learnt(memory)) == ([False], {SAID})


def test_a_look_reads_no_row_that_is_not_due(tmp_path, monkeypatch):
    """However many namespaces have messages that came just now."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        for number in range(5):
            memory.of(f"n{number}").observe(SAID, session="s")
        read, usual = [], model_rows._read
        monkeypatch.setattr(model_rows, "_read", lambda *row: read.append(row) or usual(*row))
        memory._engine.background.attendant.look()
        assert read == []


NATIVE = """
import sys, threading, time, warnings
from memento import Config, MemoryManager
from memento.config import LLMConfig
from memento.learning import model_later
from memento.testing import ScriptedLLM

warnings.simplefilter("ignore")
begun = threading.Event()

def load(_config):
    begun.set()
    time.sleep(1.0)
    print("loaded", flush=True)

model_later.model_of = load
llm = LLMConfig(model=ScriptedLLM([{"items": []}]), background=True, quiet_seconds=0.0)
memory = MemoryManager(sys.argv[1], embedder=None, config=Config(llm=llm))
memory.flush(wait=True, timeout=0.01)
assert begun.wait(20)
memory.close()
print("closed", flush=True)
"""


def test_the_end_of_a_process_waits_for_a_thread_that_loads(tmp_path, pytestconfig):
    """Which it would abort if it is inside a library; ``close`` does not wait for it."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        memory.observe(SAID, session="s")
    command = [sys.executable, "-c", NATIVE, str(tmp_path / "store")]
    done = subprocess.run(
        command, check=False, timeout=60, cwd=pytestconfig.rootpath, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()) == (0, ["closed", "loaded"]), done.stderr
