"""The use of models is shown, in Python, awaited and on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from memento import AsyncMemoryManager, Config, MemoryManager
from memento.cli import main
from memento.config import LLMConfig, ObserveConfig
from memento.errors import InvalidInput
from memento.testing import FailingLLM, ManualClock, ScriptedLLM

ITEM = {"turn": 0, "quote": "I live in Porto.", "class": "identity"}
OPEN = {"items": [ITEM | {"replaces": None, "condition": None}]}


def config(model, **limits):
    """Return settings with a model."""
    return Config(observe=ObserveConfig(mode="full"), llm=LLMConfig(model=model, **limits))


def test_what_was_used_is_shown(tmp_path):
    """By model and by day, with what is left of today."""
    clock, settings = ManualClock(), config(ScriptedLLM(lambda _: {"items": []}), calls_a_day=5)
    with MemoryManager(tmp_path, embedder=None, clock=clock, config=settings) as memory:
        assert memory.store.usage().total.calls == 0
        memory.observe("The shop is open.", session="s")
        clock.advance(timedelta(days=1))
        memory.observe("The shop is closed.", session="s")
        memory.observe("The shop is far.", session="s")
        used = memory.store.usage()
        assert (used.total.calls, list(used.models), used.calls_left) == (3, ["scripted"], 3)
        assert {day: one.calls for day, one in used.days.items()} == {
            "2025-01-01": 1, "2025-01-02": 2,
        }  # fmt: skip
        assert used.tokens_left == 200_000 - sum(
            (used.days["2025-01-02"].tokens_in, used.days["2025-01-02"].tokens_out)
        )
        assert memory.store.usage(datetime(2025, 1, 2, 23, tzinfo=UTC)).total.calls == 2
        later = memory.store.usage(datetime(2025, 1, 3, tzinfo=UTC))
        assert (later.total.calls, later.calls_left) == (0, 3)
        with pytest.raises(InvalidInput, match="since"):
            memory.store.usage(datetime(2025, 1, 1))  # noqa: DTZ001 - without a zone on purpose


def test_a_spent_limit_is_a_trouble_of_the_day(tmp_path):
    """``stats`` names it until midnight."""
    clock, settings = ManualClock(), config(ScriptedLLM(lambda _: {"items": []}), calls_a_day=1)
    with MemoryManager(tmp_path, embedder=None, clock=clock, config=settings) as memory:
        assert "llm" not in memory.store.stats().trouble
        memory.observe("The shop is open.", session="s")
        assert "calls_a_day" in memory.store.stats().trouble["llm"]
        assert "llm" not in memory.of("other").store.stats().trouble
        clock.advance(timedelta(days=1))
        assert "llm" not in memory.store.stats().trouble


async def test_awaited(tmp_path):
    """The same, and a failure is counted."""
    async with AsyncMemoryManager(tmp_path, embedder=None, config=config(FailingLLM())) as memory:
        seen = await memory.observe("The shop is open.", session="s")
        assert seen.model.failure == "unreachable"
        assert (await memory.store.usage()).total.failures == 1


def test_on_the_command_line(tmp_path, monkeypatch, capsys, server):
    """The environment names the model; the mode is given for one call."""
    for name, value in {
        "MEMENTO_ROOT": str(tmp_path / "store"),
        "MEMENTO_EMBEDDER": "none",
        "MEMENTO_LLM_MODEL": "openai:stub",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-0123456789abcdef",
    }.items():
        monkeypatch.setenv(name, value)
    said = "The bakery below my flat opens at five."
    server.script = [{"items": [ITEM | {"quote": said, "class": "fact"}]}]
    assert main(["observe", "--user", said, "--mode", "full"]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert "1 requests, 11 tokens sent, 7 received" in out
    assert main(["stats", "--usage"]) == 0
    assert "openai:stub: 1 requests, 11 tokens sent, 7 received" in capsys.readouterr().out
    assert main(["stats", "--usage", "--json", "--since", "2020-01-01"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["calls"] == 1
    monkeypatch.setenv("MEMENTO_OBSERVE_MODE", "full")
    server.script = [(401, {})]
    assert main(["observe", "--user", "The shop is far.", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["failure"] == "refused"
    monkeypatch.delenv("MEMENTO_LLM_MODEL")
    assert main(["observe", "--user", "The shop is near."]) == 2
