"""memento in Pydantic AI: what its models are given, and what is kept."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pydantic_ai.capabilities", reason="pip install 'agent-memento[pydantic-ai]'")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from memento.errors import InvalidInput, StoreClosed
from memento_pydantic_ai import MementoCapability

FACT = "I am allergic to nuts."
ASKED = "What am I allergic to?"


def run(memory, text, *answers, history=None, **options):
    """Run one turn; return what the model was sent, and the result."""
    left, seen = list(answers), []

    def think(messages, info):
        parts = [part for one in messages for part in one.parts]
        seen.append(
            (info.instructions, [str(part.content) for part in parts if hasattr(part, "content")])
        )
        return ModelResponse(parts=[left.pop(0) if left else TextPart("Noted.")])

    agent = Agent(
        FunctionModel(think),
        instructions="You help.",
        capabilities=[MementoCapability(memory, **options)],
    )
    agent.tool_plain(name="weather")(lambda: "sunny")
    return seen, asyncio.run(agent.run(text, message_history=history, conversation_id="s"))


def test_the_block_is_in_the_request_alone_and_stays(memory):
    """A tool's loop sees the same block, and the history none."""
    memory.add(FACT)
    seen, done = run(memory, ASKED, ToolCallPart("weather", {}), TextPart("Nuts."))
    (_, first), (_, second) = seen
    assert first[0] == ASKED
    assert "allergic to nuts" in first[1]
    assert second[:2] == first
    assert "allergic to nuts" not in str(done.all_messages())


def test_the_policy_ends_the_instructions(memory):
    """The user's rules stand behind the agent's own instructions, in each request."""
    memory.add("Answer in Dutch", kind="rule")
    seen, _ = run(memory, "Hello!", ToolCallPart("weather", {}), policy=True)
    for instructions, _ in seen:
        assert instructions.startswith("You help.")
        assert instructions.count("Answer in Dutch") == 1


def test_what_is_kept(memory):
    """The words of the user and the model, each once however the history is given; no tool's."""
    _, done = run(memory, FACT, ToolCallPart("weather", {}))
    run(memory, "And now?", history=done.all_messages())
    kept = [(one.role, one.text) for one in memory.list(session="s")]
    noted = ("assistant", "Noted.")
    assert kept == [("user", FACT), noted, ("user", "And now?"), noted]


def test_save_and_speaker(memory):
    """It can recall only; and the prompts of an agent that is a tool are not the user's word."""
    run(memory, FACT, save=False)
    assert memory.list() == []
    run(memory, FACT, speaker="agent")
    assert {one.source.kind for one in memory.list()} == {"agent"}


def test_mistakes_of_the_program_are_raised(memory):
    """Bad arguments, and a closed store."""
    with pytest.raises(InvalidInput, match="save"):
        MementoCapability(memory, save="yes")
    memory.close()
    with pytest.raises(StoreClosed):
        run(memory, ASKED)
