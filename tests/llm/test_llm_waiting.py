"""With a model in the background nothing waits for it, and nothing that waits is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memento import Config, MemoryManager
from memento.config import LLMConfig, ObserveConfig
from memento.errors import InvalidInput
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


def test_the_call_does_not_wait(tmp_path):
    """It returns while the model thinks; what the model points at is learnt afterwards."""
    model = SlowLLM([pointing_at(SAID)])
    with store(tmp_path, model) as memory:
        seen = memory.observe(f"My name is Ada. {SAID}", session="s")
        assert (seen.pending, seen.model.calls) == (1, 0)
        assert "1 messages wait for the model" in seen.explain()
        assert learnt(memory) == {"My name is Ada."}
        assert memory.store.usage().waiting == 1
        model.released.set()
        assert memory.flush(wait=True)
        assert learnt(memory) == {"My name is Ada.", SAID}
        assert memory.store.usage().waiting == 0
        (one,) = (one for one in memory.list() if one.text == SAID)
        assert one.source.parents == (seen.turns[0].id,)
        assert one.source.model == model.name
        memory.undo(run=seen.change)
        assert learnt(memory) == set()


def test_each_message_has_a_request_of_its_own(tmp_path):
    """In the order in which they came."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        said = [f"The bakery number {number} is below my flat." for number in range(9)]
        for one in said:
            memory.observe(one, session="s")
        memory.flush(wait=True)
        assert len(model.tasks) == memory.store.usage().total.calls == 9
        assert all(one in task.data for one, task in zip(said, model.tasks, strict=True))
        assert learnt(memory) == {*said}


def test_after_a_pause_they_are_shown(tmp_path):
    """The pause of each begins when it came, by the clock of the store."""
    clock, model = ManualClock(), ScriptedLLM(pointing)
    with store(tmp_path, model, clock) as memory:
        memory.observe(SAID, session="s")
        clock.advance(timedelta(seconds=19))
        memory.observe(SAID_TOO, session="s")
        memory._engine.background.attendant.look()
        assert model.tasks == []
        clock.advance(timedelta(seconds=1))
        until_nothing_waits(memory, but=1)
        assert (len(model.tasks), learnt(memory)) == (1, {SAID})
        clock.advance(timedelta(seconds=19))
        until_nothing_waits(memory)
        assert (len(model.tasks), learnt(memory)) == (2, {SAID, SAID_TOO})


def test_the_end_of_a_session_needs_no_pause(tmp_path):
    """The messages of the session are shown at once, those of others with them."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        with memory.sessions.start("s", goal="bake"):
            memory.observe(SAID, session="s")
        until_nothing_waits(memory)
        assert SAID in learnt(memory)


def test_a_reply_that_cannot_be_read_is_asked_for_again_and_then_given_up(tmp_path):
    """Three times; the turn and what is sure stay, and the log says so."""
    clock, model = ManualClock(), FailingLLM("invalid")
    with store(tmp_path, model, clock) as memory:
        seen = memory.observe(f"My name is Ada. {SAID}", session="s")
        for tries in (1, 2, 3):
            memory.flush(wait=True)
            assert memory.store.usage().total.failures == tries
            memory.flush(wait=True)  # nothing is due before the pause is over
            assert memory.store.usage().total.failures == tries
            clock.advance(timedelta(minutes=20))
        assert waiting(memory) == []
        assert learnt(memory) == {"My name is Ada."}
        assert "llm_failed" in happenings_of(memory, seen.turns[0].id)


def test_a_failure_that_passes_costs_nothing(tmp_path):
    """The message is shown once the model answers again."""
    clock, model = ManualClock(), ScriptedLLM([ValueError("x"), pointing_at(SAID)])
    with store(tmp_path, model, clock) as memory:
        memory.observe(SAID, session="s")
        memory.flush(wait=True)
        assert learnt(memory) == set()
        clock.advance(timedelta(minutes=2))
        memory.flush(wait=True)
        assert (learnt(memory), waiting(memory)) == ({SAID}, [])


def test_past_the_budget_they_wait_for_the_next_day(tmp_path):
    """However many days that takes: a limit is no failure."""
    clock, model = ManualClock(), ScriptedLLM(pointing)
    with store(tmp_path, model, clock, calls_a_day=1, attempts=1) as memory:
        for day in range(5):
            memory.observe(f"Bakery {day} is below my flat.", session="s")
            memory.flush(wait=True)
            memory.observe(f"Pharmacy {day} is below my flat.", session="s")
            memory.flush(wait=True)
            assert len(model.tasks) == len(waiting(memory)) == day + 1
            clock.advance(timedelta(days=1))
        for _ in range(5):
            memory.flush(wait=True)
            clock.advance(timedelta(days=1))
        assert len(learnt(memory)) == 10
        assert max(one.calls for one in memory.store.usage().days.values()) == 1


@pytest.mark.parametrize("seconds", [30.0, 1e8])
def test_two_processes_do_not_show_the_same(tmp_path, seconds):
    """The messages that one has taken are left alone until its note runs out."""
    clock, slow, other = ManualClock(), SlowLLM([pointing_at(SAID)]), ScriptedLLM(pointing)
    limits = {"seconds": seconds, "seconds_a_day": 1e9}
    with (
        store(tmp_path, slow, clock, **limits) as first,
        store(tmp_path, other, clock, **limits) as second,
    ):
        first.observe(SAID, session="s")
        assert first.flush(wait=True, timeout=0.01) is not None
        assert slow.asked.wait(20)
        second.flush(wait=True)
        assert other.tasks == []
        slow.released.set()
        until_nothing_waits(first)
        assert learnt(second) == {SAID}


def test_what_is_hidden_meanwhile_teaches_nothing(tmp_path):
    """A turn that was forgotten or erased is not sent."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        one = memory.observe(SAID, session="s")
        other = memory.observe(SAID_TOO, session="s")
        memory.forget(one.turns[0].id)
        memory.store.erase(ids=[other.turns[0].id])
        memory.flush(wait=True)
        assert (model.tasks, waiting(memory), learnt(memory)) == ([], [], set())


def test_an_observation_that_is_repeated_waits_once(tmp_path):
    """And not at all once the model saw it."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        for _ in range(3):
            seen = memory.observe(SAID, session="s", id="1")
        assert len(waiting(memory)) == 1
        memory.flush(wait=True)
        seen = memory.observe(SAID, session="s", id="1")
        assert (seen.pending, waiting(memory), len(model.tasks)) == (0, [], 1)


def test_what_is_not_stored_is_shown_at_once(tmp_path):
    """There is no turn that could wait."""
    model = ScriptedLLM(pointing)
    with store(tmp_path, model) as memory:
        seen = memory.observe(SAID, keep=False)
        assert (seen.pending, seen.model.sent, learnt(memory)) == (0, 1, {SAID})


def test_a_correction_in_the_background_replaces_what_the_model_names(tmp_path):
    """As it does when the call waits: the two ways leave the same behind."""
    left = []
    for background in (False, True):
        model = ScriptedLLM(naming)
        llm = LLMConfig(model=model, background=background)
        config = Config(observe=ObserveConfig(mode="assist"), llm=llm)
        root = tmp_path / str(background)
        with MemoryManager(root, embedder=None, clock=ManualClock(), config=config) as memory:
            memory.add("The stand-up of the team is at nine.", kind="fact")
            memory.observe("No, the meeting of the team is at ten.", session="s")
            memory.flush(wait=True)
            rows = memory.list(status=None, limit=100)
            left.append(sorted((one.text, one.kind.value, one.status.value) for one in rows))
    assert left[0] == left[1]


def naming(task):
    """Answer with every sentence as a correction of the first memory."""
    data = json.loads(task.data.removeprefix("<data>\n").removesuffix("\n</data>"))
    found = [
        {
            "turn": one["turn"],
            "quote": said,
            "class": "correction",
            "replaces": 0 if one["memories"] else None,
            "condition": None,
        }
        for one in data["messages"]
        for said in one["sentences"]
    ]
    return {"items": found}


def test_the_settings_are_checked():
    """A pause below zero, or a flag that is no flag, is refused."""
    for wrong in ({"quiet_seconds": -1}, {"background": 1}):
        with pytest.raises(InvalidInput):
            LLMConfig(**wrong)


CHILD = """
import os, signal, sys
from memento import Config, MemoryManager
from memento.config import LLMConfig
from memento.config import ObserveConfig
from memento.testing import ScriptedLLM

model = ScriptedLLM(lambda _task: os.kill(os.getpid(), signal.SIGKILL))
llm = LLMConfig(model=model, background=True, attempts=1, seconds=1.0)
config = Config(observe=ObserveConfig(mode="full"), llm=llm)
memory = MemoryManager(sys.argv[1], embedder=None, config=config)
memory.observe(sys.argv[2], session="s", id="1")
if sys.argv[3] == "asked":
    memory.flush(wait=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["before", "asked"])
def test_a_kill_loses_nothing_that_waits(tmp_path, when):
    """The next process shows it, once, though nobody observes it again."""
    root = tmp_path / "store"
    command = [sys.executable, "-c", CHILD, str(root), SAID, when]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    model = ScriptedLLM(pointing)
    llm = LLMConfig(model=model, background=True, seconds=1.0)
    config = Config(observe=ObserveConfig(mode="full"), llm=llm)
    with MemoryManager(root, embedder=None, config=config, clock=ahead) as memory:
        until_nothing_waits(memory)
        assert (learnt(memory), len(model.tasks)) == ({SAID}, 1)
        assert memory.store.usage().total.calls == (2 if when == "asked" else 1)


def ahead():
    """Tell the time of an hour ahead, when no note of a dead process holds any more."""
    return datetime.now(UTC) + timedelta(hours=1)


def test_what_only_the_model_learnt_of_one_call_is_one_run(tmp_path):
    """The messages of another call have a run of their own."""
    with store(tmp_path, ScriptedLLM(pointing)) as memory:
        memory.observe(messages=[{"role": "user", "content": one} for one in (SAID, SAID_TOO)])
        memory.observe("The florist below my flat opens at ten.")
        memory.flush(wait=True)
        assert len(learnt(memory)) == 3
        taught = [one for one in memory.changes.list() if one.run is not None]
        assert len({one.run for one in taught}) == 2
        memory.undo(run=min(one.run for one in taught))
        assert learnt(memory) == {"The florist below my flat opens at ten."}


def test_a_waiting_message_keeps_the_day_of_its_speaker(tmp_path):
    """The offset of the moment that the caller gave outlasts the wait for the model."""
    said = "The plumber turns up at the flat tomorrow."
    here = timezone(timedelta(hours=-4))
    reply = pointing_at(said)
    reply["items"][0]["class"] = "plan"
    with store(tmp_path, ScriptedLLM([reply])) as memory:
        memory.observe(said, occurred_at=datetime(2026, 4, 22, 22, 30, tzinfo=here), keep=True)
        memory.flush(wait=True)
        due = [one.due_at for one in memory.list() if one.due_at is not None]
        assert due == [datetime(2026, 4, 23, 23, 59, tzinfo=here)]
