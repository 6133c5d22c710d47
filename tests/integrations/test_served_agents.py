"""Agents whose memory a service holds: each turn is kept once, and what is said is learned."""

from __future__ import annotations

import asyncio

import pytest

from memento import MemoryManager, Turn, connect
from memento.frameworks import AgentMemory
from tests.served import served


@pytest.fixture
def far(tmp_path):
    """A store, and a client of the service that has it open."""
    with (
        MemoryManager(tmp_path / "store") as memory,
        served(memory) as (url, _),
        connect(url) as client,
    ):
        yield memory, client


def texts(memory):
    """Return the texts of the turns that are kept, in order."""
    return [one.text for one in memory.list(limit=100) if one.role]


@pytest.mark.parametrize("thread", ["monday", None])
def test_a_pydantic_agent_keeps_its_turns(thread, far):
    """Its run ends well, and a second one adds only what is new."""
    ai = pytest.importorskip("pydantic_ai")
    models = pytest.importorskip("pydantic_ai.models.test")
    from memento_pydantic_ai import MementoCapability  # noqa: PLC0415 - after the check

    memory, client = far
    agent = ai.Agent(
        models.TestModel(custom_output_text="Noted."),
        capabilities=[MementoCapability(client)],
    )
    said = ["I am allergic to nuts.", "I live in Porto."]
    for text in said:
        asyncio.run(agent.run(text, conversation_id=thread))
    assert [one for one in texts(memory) if one != "Noted."] == said


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_langchain_agent_keeps_its_turns(way, far):
    """With the middleware, on a client of a service as on a manager."""
    agents = pytest.importorskip("langchain.agents")
    fakes = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    from langchain_core.messages import AIMessage  # noqa: PLC0415 - after the check

    from memento_langchain import MementoMiddleware  # noqa: PLC0415 - as above

    memory, client = far
    model = fakes.GenericFakeChatModel(messages=iter([AIMessage("Noted."), AIMessage("So be it.")]))
    agent = agents.create_agent(model, middleware=[MementoMiddleware(client)])
    thread = {"configurable": {"thread_id": "monday"}}
    talk = [("user", "I am allergic to nuts.")]
    for then in ("I live in Porto.", None):
        asked = {"messages": talk}
        ran = (
            agent.invoke(asked, thread)
            if way == "sync"
            else asyncio.run(agent.ainvoke(asked, thread))
        )
        talk = [*ran["messages"], ("user", then)]
    assert texts(memory) == ["I am allergic to nuts.", "Noted.", "I live in Porto.", "So be it."]


@pytest.mark.parametrize("where", ["far", "near"])
@pytest.mark.parametrize("session", ["monday", None])
def test_what_is_new_is_learned_once(where, session, far):
    """The same through a service as beside it: also of a message that was edited."""
    memory, client = far
    agent = AgentMemory(client if where == "far" else memory, observe=True)
    talk = [Turn("I live in Porto.", "user")]
    for more in ("I'm vegan.", "Thanks!"):
        agent.store(talk, session)
        talk = [*talk, Turn("Noted.", "assistant"), Turn(more, "user")]
    agent.store(talk, session)
    assert memory.value("user/home").text == "I live in Porto."
    assert memory.value("user/diet").text == "I'm vegan."
    learned = [one.text for one in memory.list(limit=100) if one.role is None]
    assert sorted(learned) == ["I live in Porto.", "I'm vegan."]
    if session is None:
        return
    (home,) = [one for one in memory.list() if one.role and "Porto" in one.text]
    memory.forget(home.id)
    agent.store(talk, session, now=False)
    assert "I live in Porto." not in texts(memory)
    agent.store([Turn("I work at Acme.", "user", id="m1")], session)
    agent.store([Turn("I work at Initech.", "user", id="m1")], session)
    assert "Initech" in memory.value("user/employer").text
