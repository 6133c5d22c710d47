"""Stores whose language model works in the background, and looks at what waits in them."""

from __future__ import annotations

import json
import threading

from memento import Config, MemoryManager
from memento.config import LLMConfig, ObserveConfig
from memento.testing import ManualClock

SAID = "The bakery below my flat smells nice today."
SAID_TOO = "The pharmacy below my flat looks empty today."
"""What any reader leaves, also that of a process that a test starts."""


def data_of(task):
    """Return what a model is shown."""
    return json.loads(task.data.removeprefix("<data>\n").removesuffix("\n</data>"))


def pointing(task):
    """Answer as a model that points at every sentence about a flat."""
    return shown_to(task, about="flat")


def shown_to(task, about=""):
    """Answer as a model that points at every sentence that has a word."""
    found = [
        {"turn": one["turn"], "quote": said, "class": "fact", "replaces": None, "condition": None}
        for one in data_of(task)["messages"]
        for said in one["sentences"]
        if about in said
    ]
    return {"items": found}


def store(tmp_path, model, clock=None, close_seconds=0.0, **limits):
    """Open a store whose model works in the background."""
    llm = LLMConfig(model=model, background=True, **limits)
    config = Config(observe=ObserveConfig(mode="full"), llm=llm, close_seconds=close_seconds)
    clock = ManualClock() if clock is None else clock
    return MemoryManager(tmp_path / "store", embedder=None, clock=clock, config=config)


def learnt(memory):
    """Return the texts that were learnt."""
    return {one.text for one in memory.list(limit=1000) if one.signal is not None}


def waiting(memory):
    """Return the messages that wait."""
    query = "SELECT value FROM meta WHERE name LIKE 'llm task %' ORDER BY name"
    rows = memory._engine.ledger.read(lambda c: c.execute(query).fetchall())
    return [json.loads(value[19:]) for (value,) in rows]


def until_nothing_waits(memory, but=0):
    """Wait for the background thread, which needs nobody to call it."""
    done = threading.Event()
    for _ in range(1000):
        if len(waiting(memory)) <= but:
            return
        done.wait(0.02)
    raise AssertionError("messages wait for ever")


def pointing_at(said):
    """Return a reply that points at one sentence of the first message."""
    item = {"turn": 0, "quote": said, "class": "fact", "replaces": None, "condition": None}
    return {"items": [item]}


def happenings_of(memory, memory_id):
    """Return the words of the log about a memory."""
    query = "SELECT events.kind FROM events JOIN memories USING (docid) WHERE id = ?"
    found = memory._engine.ledger.read(lambda c: c.execute(query, (memory_id,)).fetchall())
    return [kind for (kind,) in found]
