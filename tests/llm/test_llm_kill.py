"""A process that dies while a model works leaves the turn, and what was counted."""

from __future__ import annotations

import signal
import subprocess
import sys

from memento import Config, MemoryManager
from memento.config import LLMConfig, ObserveConfig
from memento.testing import ScriptedLLM
from tests.llm.waiting_stores import SAID

CHILD = """
import os, signal, sys
from memento import Config, MemoryManager
from memento.config import LLMConfig
from memento.config import ObserveConfig
from memento.testing import ScriptedLLM

model = ScriptedLLM(lambda _task: os.kill(os.getpid(), signal.SIGKILL))
config = Config(observe=ObserveConfig(mode="full"), llm=LLMConfig(model=model, attempts=1))
memory = MemoryManager(sys.argv[1], embedder=None, config=config)
memory.observe(f"My name is Ada. {sys.argv[2]}", session="s", id="1")
"""


def test_a_kill_between_turn_and_reply_loses_nothing(tmp_path):
    """The turn and what is sure are there; the model sees the turn once when it comes again."""
    ran = subprocess.run([sys.executable, "-c", CHILD, str(tmp_path), SAID], check=False)
    assert ran.returncode == -signal.SIGKILL
    item = {"turn": 0, "quote": SAID, "class": "fact", "replaces": None, "condition": None}
    model = ScriptedLLM(lambda _task: {"items": [item]})
    config = Config(observe=ObserveConfig(mode="full"), llm=LLMConfig(model=model))
    with MemoryManager(tmp_path, embedder=None, config=config) as memory:
        assert memory.value("user/name").text == "My name is Ada."
        assert memory.store.usage().total.calls == 1
        for _ in range(2):
            seen = memory.observe(f"My name is Ada. {SAID}", session="s", id="1")
        assert (seen.known, len(model.tasks)) == (True, 1)
        learnt = [one.text for one in memory.list() if one.signal is not None]
        assert sorted(learnt) == ["My name is Ada.", SAID]
        assert memory.store.usage().total.calls == 2
