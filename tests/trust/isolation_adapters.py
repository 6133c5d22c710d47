"""Each adapter asked for all it shows of one namespace; see ``harness_isolation``."""

from __future__ import annotations

import asyncio
import importlib.util
import warnings
from collections.abc import Callable
from hashlib import blake2b
from itertools import cycle
from typing import Any

from memento import MemoryManager
from memento.errors import EmbedderError, TierUnavailable

# ruff: noqa: PLC0415 - each framework may be absent


def is_here(module: str) -> bool:
    """Return whether a module could be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def there() -> list[str]:
    """List the ways in whose framework is installed."""
    return [name for name, (package, _) in WAYS.items() if is_here(package)]


def absent() -> list[str]:
    """List the frameworks that are not installed."""
    return sorted({package for package, _ in WAYS.values() if not is_here(package)})


def ask(way: str, view: MemoryManager, query: str, sign: str) -> object:
    """Write something signed and read everything back, errors included."""
    with warnings.catch_warnings():  # the frameworks' own
        warnings.simplefilter("ignore")
        try:
            return WAYS[way][1](view, query, sign)
        except (EmbedderError, TierUnavailable) as error:
            return str(error)


def _settle(view: MemoryManager) -> None:
    """Wait for what was written; else a busy machine finds it by words only."""
    view.flush(wait=True, timeout=60.0)


def _history(view: MemoryManager, query: str, sign: str) -> object:
    from langchain_core.messages import HumanMessage

    from memento_langchain import MementoChatMessageHistory, MementoRetriever

    history = MementoChatMessageHistory("s", view)
    history.add_messages([HumanMessage(f"{query} {sign}")])
    _settle(view)
    return [history.messages, MementoRetriever(manager=view, k=50).invoke(query)]


def _tools(view: MemoryManager, query: str, sign: str) -> object:
    from memento_langchain import memory_tools

    tools = {tool.name: tool for tool in memory_tools(view)}
    remembered = tools["remember"].invoke({"text": f"{query} {sign}"})
    _settle(view)
    return [
        remembered,
        tools["recall"].invoke({"query": query, "k": 50}),
        tools["search"].invoke({"k": 50}),
    ]


def _middleware(view: MemoryManager, query: str, sign: str) -> object:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from memento_langchain import MementoMiddleware

    shown: list[Any] = []

    class Noting(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            shown.append(messages)
            return super()._generate(messages, *args, **options)

    model = Noting(messages=(AIMessage(f"Noted, {sign}") for _ in cycle("x")))
    agent = create_agent(model, middleware=[MementoMiddleware(view, k=50)])
    return [agent.invoke({"messages": [("user", f"{query} {sign}")]}), shown]


def _classic(view: MemoryManager, query: str, sign: str) -> object:
    from memento_langchain import MementoMemory

    memory = MementoMemory(manager=view, session="s", k=50)
    memory.save_context({"input": f"{query} {sign}"}, {"output": f"Noted, {sign}"})
    _settle(view)
    return memory.load_memory_variables({"input": query})


def _store(view: MemoryManager, query: str, sign: str) -> object:
    from memento_langgraph import MementoStore

    store = MementoStore(view)
    store.put(("users",), "k", {"text": f"{query} {sign}"})
    _settle(view)
    return [
        store.get(("users",), "k"),
        store.search((), query=query, limit=50),
        store.search((), limit=50),
        store.list_namespaces(),
    ]


def _crew(view: MemoryManager, query: str, sign: str) -> object:
    from crewai.events.event_bus import crewai_event_bus

    from memento_crewai import MementoCrewMemory

    with crewai_event_bus.scoped_handlers():  # its panels would be taken for the result
        memory = MementoCrewMemory(view)
        memory.remember(f"{query} {sign}")
        _settle(view)
        return [memory.recall(query, limit=50), memory.list_records(), memory.info("/")]


def _storage(view: MemoryManager, query: str, sign: str) -> object:
    from crewai.memory.types import MemoryRecord

    from memento_crewai import MementoStorage

    storage = MementoStorage(view)
    storage.save([MemoryRecord(content=f"{query} {sign}")])
    _settle(view)
    listed = [storage.list_records(), storage.get_scope_info("/"), storage.count()]
    try:
        return [*listed, storage.search(view.store.embed([query])[0].tolist(), limit=50)]
    except (EmbedderError, TierUnavailable) as error:
        return [*listed, str(error)]


def _openai_agents(view: MemoryManager, query: str, sign: str) -> object:
    from agents.run_config import CallModelData, ModelInputData

    from memento_openai_agents import MementoRecall, MementoSession

    async def talk() -> object:
        session = MementoSession("s", view)
        await session.add_items([{"role": "user", "content": f"{query} {sign}"}])
        _settle(view)
        asked = ModelInputData([{"role": "user", "content": query}], None)
        given = await MementoRecall(view, k=50)(CallModelData(asked, None, None))
        return [await session.get_items(), given.input]

    return asyncio.run(talk())


def _agent_framework(view: MemoryManager, query: str, sign: str) -> object:
    from agent_framework import Agent, BaseChatClient, ChatMiddlewareLayer, ChatResponse, Message

    from memento_agent_framework import MementoContextProvider, MementoHistoryProvider

    class Client(ChatMiddlewareLayer, BaseChatClient):
        def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
            async def answer() -> Any:
                return ChatResponse(messages=[Message("assistant", [messages[-1].text])])

            return answer()

    async def talk() -> object:
        history = MementoHistoryProvider(view)
        await history.save_messages("s", [Message("user", [f"{query} {sign}"])])
        _settle(view)
        agent = Agent(client=Client(), context_providers=[MementoContextProvider(view, k=50)])
        said = await agent.run(query)
        return [[one.text for one in await history.get_messages("s")], said.text]

    return asyncio.run(talk())


def _haystack(view: MemoryManager, query: str, sign: str) -> object:
    from haystack import Document
    from haystack.components.agents.state.state import State
    from haystack.dataclasses import ChatMessage

    from memento_haystack import MementoDocumentStore, MementoRetriever, memory_hooks

    store = MementoDocumentStore(view)
    store.write_documents([Document(content=f"{query} {sign}")])
    _settle(view)
    schema = {"messages": {"type": list[ChatMessage]}, "hook_context": {"type": dict}}
    state = State(schema, {"messages": [ChatMessage.from_user(query)], "hook_context": {}})
    memory_hooks(view, k=50)["before_llm"][0].run(state)
    found = MementoRetriever(store, top_k=50).run(query)
    return [store.filter_documents(), found, [one.text for one in state.get("messages")]]


def _llama_index(view: MemoryManager, query: str, sign: str) -> object:
    from llama_index.core.llms import ChatMessage

    from memento_llama_index import MementoBlock, MementoRetriever

    async def talk() -> object:
        block = MementoBlock(view, k=50)
        await block.aput([ChatMessage(f"{query} {sign}", role="user")])
        _settle(view)
        return await block.aget([ChatMessage(query, role="user")])

    found = MementoRetriever(view, k=50).retrieve(query)
    return [asyncio.run(talk()), [one.to_dict() for one in found]]


def _strands(view: MemoryManager, query: str, sign: str) -> object:
    from memento_strands import MementoStore

    async def talk() -> object:
        store = MementoStore(view, k=50)
        await store.add(f"{query} {sign}")
        _settle(view)
        return [one.content for one in await store.search(query)]

    return asyncio.run(talk())


def _google_adk(view: MemoryManager, query: str, sign: str) -> object:
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types

    from memento_google_adk import MementoMemoryService

    async def talk() -> object:
        service = MementoMemoryService(view, k=50)
        name = blake2b(repr(view.store.namespace).encode(), digest_size=16).hexdigest()
        user = {"app_name": "app", "user_id": name}  # a user for each namespace of the harness
        said = types.Content(role="user", parts=[types.Part(text=f"{query} {sign}")])
        await service.add_memory(**user, memories=[MemoryEntry(content=said)])
        _settle(view.of(*user.values()))
        return str(await service.search_memory(**user, query=query))

    return asyncio.run(talk())


def _pydantic_ai(view: MemoryManager, query: str, sign: str) -> object:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from memento_pydantic_ai import MementoCapability

    def answer(messages: object, _: object) -> ModelResponse:
        return ModelResponse(parts=[TextPart(f"{messages} {sign}")])

    agent = Agent(FunctionModel(answer), capabilities=[MementoCapability(view, k=50)])
    return asyncio.run(agent.run(query)).output


WAYS: dict[str, tuple[str, Callable[[MemoryManager, str, str], object]]] = {
    "history and retriever": ("langchain_core", _history),
    "tools": ("langchain_core", _tools),
    "store": ("langgraph", _store),
    "middleware": ("langchain", _middleware),
    "classic memory": ("langchain_classic", _classic),
    "crew memory": ("crewai", _crew),
    "crew storage": ("crewai", _storage),
    "openai agents": ("agents.run_config", _openai_agents),
    "agent framework": ("agent_framework", _agent_framework),
    "haystack": ("haystack", _haystack),
    "llama index": ("llama_index.core", _llama_index),
    "strands": ("strands.memory", _strands),
    "google adk": ("google.adk.memory", _google_adk),
    "pydantic ai": ("pydantic_ai.capabilities", _pydantic_ai),
}
"""Name of a way in to the package it needs, and what asks it."""

LIGHT = ("history and retriever", "store")
"""Those that load fast."""
