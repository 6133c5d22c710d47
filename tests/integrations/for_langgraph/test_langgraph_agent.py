"""MementoStore in a real agent, whose tools put and search through the runtime."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langgraph", reason="pip install 'agent-memento[langgraph]'")
pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from memento import MemoryManager
from memento.errors import InvalidInput, StoreClosed
from memento.testing import HashEmbedder
from memento_langchain import MementoMiddleware
from memento_langgraph import MementoStore


class FakeModel(GenericFakeChatModel):
    """Says what it is given; a real one would be ``init_chat_model(...)``."""

    def bind_tools(self, tools, **options):  # noqa: ARG002 - the answers are scripted
        """Take the tools; the answers that use them are scripted."""
        return self


@tool
def keep(fact: str, runtime: ToolRuntime) -> str:
    """Keep a fact about the user."""
    runtime.store.put(("users", "ada"), fact, {"fact": fact})
    return "kept"


@tool
def look(query: str, runtime: ToolRuntime) -> str:
    """Look something up about the user."""
    found = runtime.store.search(("users", "ada"), query=query, limit=1)
    return found[0].value["fact"]


@tool
async def alook(query: str, runtime: ToolRuntime) -> str:
    """Look something up about the user."""
    found = await runtime.store.asearch(("users", "ada"), query=query, limit=1)
    return found[0].value["fact"]


def calls(name, **args):
    """Script a model that calls one tool and then stops."""
    call = {"name": name, "args": args, "id": "1", "type": "tool_call"}
    return FakeModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


def run(model, store, tools):
    """Run one turn of a new agent; returns the tool's answer."""
    agent = create_agent(model, tools, store=store)
    return agent.invoke({"messages": [("user", "go")]})["messages"][-2].content


def test_tools_put_and_search_across_agents_and_openings(tmp_path):
    """A tool of one agent finds the items of another's tool, also after the store was closed."""
    with MemoryManager(tmp_path, embedder=None) as manager:
        put = calls("keep", fact="Ada's bike is a red Brompton")
        assert run(put, MementoStore(manager), [keep]) == "kept"
    with MemoryManager(tmp_path, embedder=None) as manager:
        query = calls("look", query="Which bike does Ada ride?")
        assert "Brompton" in run(query, MementoStore(manager), [look])
        again = create_agent(calls("alook", query="bike"), [alook], store=MementoStore(manager))
        answer = asyncio.run(again.ainvoke({"messages": [("user", "go")]}))
        assert "Brompton" in answer["messages"][-2].content


def test_a_closed_store_is_told_through_the_agent(open_memory):
    """The tool's StoreClosed ends the run; it is no message to the model."""
    manager = open_memory()
    store = MementoStore(manager)
    manager.close()
    with pytest.raises(StoreClosed):
        run(calls("keep", fact="x"), store, [keep])


def test_one_store_serves_each_user_of_the_run(open_memory):
    """The user is in the settings of the run; sync or async, nobody sees another's items."""
    manager = open_memory()
    store = MementoStore(manager, namespace=lambda _, settings: ("acme", settings["user"]))

    async def wait_for(agent, settings):
        return await agent.ainvoke({"messages": [("user", "go")]}, settings)

    for user in (7, "bob"):
        settings = {"configurable": {"user": user}}
        agent = create_agent(calls("keep", fact=f"the bike of {user}"), [keep], store=store)
        agent.invoke({"messages": [("user", "go")]}, settings)
        for name, used in (("look", look), ("alook", alook)):
            agent = create_agent(calls(name, query="bike"), [used], store=store)
            answer = asyncio.run(wait_for(agent, settings))
            assert answer["messages"][-2].content == f"the bike of {user}"
    assert len(manager.of("acme", "7", "langgraph").list()) == 1
    assert manager.of(*manager.store.namespace, "langgraph").list() == []
    with pytest.raises(KeyError):  # outside of a run nobody is named
        store.get(("users", "ada"), "x")
    with pytest.raises(InvalidInput, match="namespace"):
        MementoStore(manager, namespace="acme")


@pytest.mark.parametrize("shown", [False, True])
def test_the_middleware_shows_items_if_the_store_is_to_be_shown(open_memory, shown):
    """Over one manager, of the user of the run alone; by default each sees only what is its own."""

    def namespace(_, settings):
        return "acme", settings["user"]

    manager = open_memory(embedder=HashEmbedder(64))
    store = MementoStore(manager, namespace=namespace, shown=shown)
    ours = MementoMiddleware(manager, namespace=namespace, save=False)
    for user in ("ada", "bob"):
        agent = create_agent(calls("keep", fact=f"{user} has a red bike"), [keep], store=store)
        agent.invoke({"messages": [("user", "go")]}, {"configurable": {"user": user}})
    seen = []

    class Model(FakeModel):
        def _generate(self, messages, *args, **options):
            seen.append(messages[-1].text)
            return super()._generate(messages, *args, **options)

    agent = create_agent(Model(messages=iter([AIMessage("ok")])), middleware=[ours])
    turn = {"messages": [("user", "which bike has ada?")]}
    agent.invoke(turn, {"configurable": {"user": "ada"}})
    assert ("ada has a red bike" in seen[0]) is shown
    assert "bob has" not in seen[0]
