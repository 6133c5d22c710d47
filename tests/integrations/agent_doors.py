"""The ways of the frameworks to memory, without a model that costs.

Each function returns what asks for ``text``, at once, if the framework can, and awaited; and what
writes it.
"""

# ruff: noqa: PLC0415 - each framework may be absent

from __future__ import annotations

import asyncio
from importlib.util import find_spec


def is_here(module):
    """Return whether a module could be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def langchain_retriever(manager, text="tea", **options):
    """Ask the retriever, which only reads."""
    from memento_langchain import MementoRetriever

    made = MementoRetriever(manager=manager, **options)
    return lambda: made.invoke(text), lambda: made.ainvoke(text), lambda: manager.add(text)


def langchain_tools(manager, text="tea", **options):
    """Use the tools that recall and remember."""
    from memento_langchain import memory_tools

    made = {tool.name: tool for tool in memory_tools(manager, **options)}
    recall, remember, asked = made["recall"], made["remember"], {"query": text}
    return (
        lambda: recall.invoke(asked),
        lambda: recall.ainvoke(asked),
        lambda: remember.invoke({"text": f"{text} is green"}),
    )


def langchain_middleware(manager, text="tea", context=None, **options):
    """Run an agent whose model is told what is remembered, without and with saving."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    from memento_langchain import MementoMiddleware

    def agent(*, save):
        ours = MementoMiddleware(manager, save=save, **options)
        return create_agent(FakeListChatModel(responses=["yes"]), middleware=[ours])

    reading, writing, turn = agent(save=False), agent(save=True), {"messages": [("user", text)]}
    return (
        lambda: reading.invoke(turn, context=context),
        lambda: reading.ainvoke(turn, context=context),
        lambda: writing.invoke(turn, context=context),
    )


def langgraph_store(manager, text="tea", **options):
    """Search the store, in which there is an item, and put one."""
    from memento_langgraph import MementoStore

    made = MementoStore(manager, **options)

    def put():
        made.put(("a",), "k", {"text": f"{text} is blue"})

    if not (manager.store.closed or manager.store.read_only):
        put()
    return (
        lambda: made.search(("a",), query=text),
        lambda: made.asearch(("a",), query=text),
        put,
    )


def crewai_memory(manager, text="tea", root=None, **options):
    """Use CrewAI's memory over all tiers, as a crew does."""
    from memento_crewai import MementoCrewMemory

    made = MementoCrewMemory(manager, root, **options)
    return lambda: made.recall(text), lambda: made.arecall(text), lambda: made.remember(text)


def openai_agents(manager, text="tea", **options):
    """Give the filter a call of the model, and the session an item."""
    from agents.run_config import CallModelData, ModelInputData

    from memento_openai_agents import MementoRecall, MementoSession

    item = {"role": "user", "content": text}
    recall = MementoRecall(manager, **options)
    session = MementoSession("s", manager)

    async def ask():
        return await recall(CallModelData(ModelInputData([item], None), None, "x"))

    return None, ask, lambda: asyncio.run(session.add_items([item]))


def openai_session(manager, text="tea"):
    """Read a session of the SDK, and write it."""
    from memento_openai_agents import MementoSession

    session = MementoSession("s", manager)
    item = {"role": "user", "content": text}
    return None, session.get_items, lambda: asyncio.run(session.add_items([item]))


def agent_framework(manager, text="tea", **options):
    """Run an agent whose client answers nothing, with and without saving."""
    from agent_framework import Agent, BaseChatClient, ChatMiddlewareLayer, ChatResponse, Message

    from memento_agent_framework import MementoContextProvider

    class Client(ChatMiddlewareLayer, BaseChatClient):
        def _inner_get_response(self, *, messages, **_):
            async def answer():
                return ChatResponse(messages=[Message("assistant", [messages[-1].text])])

            return answer()

    reading = MementoContextProvider(manager, save=False, **options)
    writing = MementoContextProvider(manager, **options)

    async def run(provider):
        return (await Agent(client=Client(), context_providers=[provider]).run(text)).text

    return None, lambda: run(reading), lambda: asyncio.run(run(writing))


def agent_framework_history(manager, text="tea"):
    """Read a history of the framework, and write it."""
    from agent_framework import Message

    from memento_agent_framework import MementoHistoryProvider

    history = MementoHistoryProvider(manager)
    said = [Message("user", [text])]
    return (
        None,
        lambda: history.get_messages("s"),
        lambda: asyncio.run(history.save_messages("s", said)),
    )


def haystack(manager, text="tea", **options):
    """Run the hooks on a state as an agent has it."""
    from haystack.components.agents.state.state import State
    from haystack.dataclasses import ChatMessage

    from memento_haystack import memory_hooks

    hooks = memory_hooks(manager, **options)
    (recall,), (keep,) = hooks["before_llm"], hooks["after_run"]

    def state():
        said = [ChatMessage.from_user(text)]
        schema = {"messages": {"type": list[ChatMessage]}, "hook_context": {"type": dict}}
        return State(schema, {"messages": said, "hook_context": {"session": "s"}})

    def ask():
        mine = state()
        recall.run(mine)
        return [one.text for one in mine.get("messages")]

    async def aask():
        mine = state()
        await recall.run_async(mine)
        return [one.text for one in mine.get("messages")]

    return ask, aask, lambda: keep.run(state())


def haystack_documents(manager, text="tea", **options):
    """Ask the retriever, and write a document."""
    from haystack import Document

    from memento_haystack import MementoDocumentStore, MementoRetriever

    store = MementoDocumentStore(manager, **options)
    retriever = MementoRetriever(store)
    return (
        lambda: retriever.run(text),
        lambda: retriever.run_async(text),
        lambda: store.write_documents([Document(content=text)]),
    )


def llama_index(manager, text="tea", **options):
    """Read a block, without and with saving."""
    from llama_index.core.llms import ChatMessage

    from memento_llama_index import MementoBlock

    said = [ChatMessage(text, role="user")]
    reading = MementoBlock(manager, save=False, **options)
    writing = MementoBlock(manager, **options)
    return None, lambda: reading.aget(said), lambda: asyncio.run(writing.aput(said))


def llama_index_retriever(manager, text="tea", **options):
    """Ask the retriever."""
    from memento_llama_index import MementoRetriever

    retriever = MementoRetriever(manager, **options)
    return (
        lambda: [str(one.text) for one in retriever.retrieve(text)],
        lambda: retriever.aretrieve(text),
        lambda: manager.add(text),
    )


def strands(manager, text="tea", **options):
    """Search the store, and add to it, as the ``MemoryManager`` of Strands does."""
    from memento_strands import MementoStore

    store = MementoStore(manager, session="s", **options)
    return None, lambda: store.search(text), lambda: asyncio.run(store.add(text))


def google_adk(manager, text="tea", **options):
    """Ask the service for a user, of whom it has a memory, and add one."""
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types

    from memento_google_adk import MementoMemoryService

    service = MementoMemoryService(manager, **options)
    user = {"app_name": manager.store.namespace[0], "user_id": "u"}
    said = MemoryEntry(content=types.Content(role="user", parts=[types.Part(text=text)]))

    async def ask():
        return str(await service.search_memory(**user, query=text))

    def write():
        return asyncio.run(service.add_memory(**user, memories=[said]))

    if not (manager.store.closed or manager.store.read_only):
        manager.of(*user.values()).add(text)
    return None, ask, write


def pydantic_ai(manager, text="tea", **options):
    """Run an agent that answers what it is shown, with and without saving."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from memento_pydantic_ai import MementoCapability

    def answer(messages, _):
        return ModelResponse(parts=[TextPart(str(messages))])

    reading = MementoCapability(manager, save=False, **options)
    writing = MementoCapability(manager, **options)

    async def run(capability):
        agent = Agent(FunctionModel(answer), capabilities=[capability])
        return (await agent.run(text)).output

    return None, lambda: run(reading), lambda: asyncio.run(run(writing))


NEEDS = {
    langchain_retriever: ("langchain_core", "langchain"),
    langchain_tools: ("langchain_core", "langchain"),
    langchain_middleware: ("langchain", "langchain"),
    langgraph_store: ("langgraph", "langgraph"),
    crewai_memory: ("crewai", "crewai"),
    strands: ("strands.memory", "strands"),
    google_adk: ("google.adk.memory", "google-adk"),
    pydantic_ai: ("pydantic_ai.capabilities", "pydantic-ai"),
    openai_agents: ("agents.run_config", "openai-agents"),
    openai_session: ("agents.run_config", "openai-agents"),
    agent_framework: ("agent_framework", "agent-framework"),
    agent_framework_history: ("agent_framework", "agent-framework"),
    haystack: ("haystack", "haystack"),
    haystack_documents: ("haystack", "haystack"),
    llama_index: ("llama_index.core", "llama-index"),
    llama_index_retriever: ("llama_index.core", "llama-index"),
}
"""Each way to the module it needs, and the extra that brings it."""
HISTORIES = (openai_session, agent_framework_history)
"""Those that search nothing."""
