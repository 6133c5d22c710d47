"""memento in Haystack's agents: what their models are given, and what is kept."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("haystack", reason="pip install 'agent-memento[haystack]'")

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import create_tool_from_function

from memento.errors import InvalidInput, StoreClosed
from memento_haystack import memory_hooks
from memento_haystack._hooks import MementoKeep

FACT = "I am allergic to nuts."
ASKED = "What am I allergic to?"


@component
class Scripted:
    """Answers in turn; then "Noted."."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.seen = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None):  # noqa: ARG002
        """Note the request, and answer."""
        self.seen.append([(one.role.value, one.text) for one in messages])
        said = self._answers.pop(0) if self._answers else "Noted."
        if isinstance(said, ToolCall):
            return {"replies": [ChatMessage.from_assistant(tool_calls=[said])]}
        return {"replies": [ChatMessage.from_assistant(said)]}


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


CALL = ToolCall("weather", {"city": "Oslo"}, "c1")


def agent_of(model, memory, **options):
    """Make an agent with a memory."""
    return Agent(
        chat_generator=model,
        tools=[create_tool_from_function(weather)],
        system_prompt="You help.",
        hooks=memory_hooks(memory, **options),
    )


def run(model, text, memory, session="s", **options):
    """Run one turn of a new agent."""
    context = {"session": session, "user": "ann"}
    agent = agent_of(model, memory, **options)
    return agent.run([ChatMessage.from_user(text)], hook_context=context)


def test_behind_the_users_message_and_not_in_the_result(memory):
    """A tool's loop sees the same block; the caller gets the conversation alone."""
    memory.add(FACT)
    model = Scripted(CALL, "Nuts.")
    done = run(model, ASKED, memory)
    first, second = model.seen
    assert first[1] == ("user", ASKED)
    assert "nuts" in first[2][1]
    assert second[:3] == first
    roles = [one.role.value for one in done["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert not any("<memories" in (one.text or "") for one in done["messages"])


@pytest.mark.parametrize("way", ["run", "run_async"])
def test_each_turn_is_kept_once(memory, way):
    """However often the conversation is given; tools and the system are not kept."""
    agent = agent_of(Scripted(CALL, "Sunny."), memory)
    talk = []
    for text in (FACT, "And Oslo?"):
        done = getattr(agent, way)(
            [*talk, ChatMessage.from_user(text)], hook_context={"session": "s"}
        )
        done = asyncio.run(done) if way == "run_async" else done
        talk = [one for one in done["messages"] if not one.is_from("system")]
    kept = [(one.role, one.text) for one in memory.list(session="s")]
    assert kept == [
        ("user", FACT),
        ("assistant", "Sunny."),
        ("user", "And Oslo?"),
        ("assistant", "Noted."),
    ]


def test_the_policy_stands_behind_the_system_prompt(memory):
    """For the calls of the model alone."""
    memory.add("Answer in Dutch", kind="rule")
    model = Scripted(CALL, "Zonnig.")
    done = run(model, "Hello!", memory, policy=True)
    for request in model.seen:
        assert [role for role, _ in request[:3]] == ["system", "system", "user"]
        assert "Answer in Dutch" in request[1][1]
    assert "Dutch" not in str([one.text for one in done["messages"]])


def test_the_context_of_the_hooks_names_the_user(memory):
    """One agent serves all; nobody's memory is read for a run that names nobody."""
    memory.of("acme", "ann").add(FACT)
    model = Scripted()
    run(model, ASKED, memory, namespace=lambda context: ("acme", context["user"]))
    assert "nuts" in str(model.seen)
    agent = agent_of(Scripted(), memory, namespace=lambda context: context.get("user"))
    with pytest.raises(InvalidInput):
        agent.run([ChatMessage.from_user(ASKED)])


def test_it_comes_back_from_a_file(memory):
    """Store, namespace and options; a function cannot be written."""
    hook = MementoKeep(memory.of("acme", "ann"), observe=True)
    written = hook.to_dict()
    again = MementoKeep.from_dict(written)
    assert again.to_dict() == written
    again._memory.manager.close()
    with pytest.raises(InvalidInput, match="namespace"):
        MementoKeep(memory, namespace=str).to_dict()


def test_trouble_has_its_type(memory):
    """A closed store, and what is no manager."""
    with pytest.raises(InvalidInput, match="manager"):
        memory_hooks(None)
    agent = agent_of(Scripted(), memory)
    memory.close()
    with pytest.raises(StoreClosed):
        agent.run([ChatMessage.from_user(ASKED)])
