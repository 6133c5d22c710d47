"""Trouble has the same type through every framework: never a silent "no memory"."""

# ruff: noqa: PLC0415 - each framework may be absent

from __future__ import annotations

import asyncio
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import agent_doors
import pytest

from memento import MemoryManager
from memento.base.display import data
from memento.errors import InvalidScope, MementoError, NotFound, ReadOnlyStore, StoreClosed
from memento.testing import HashEmbedder

BAD = "a\nb"
"""No label of a namespace, and no segment of a scope."""


@dataclass(frozen=True)
class Door:
    """One way of a framework to memory.

    Attributes:
        module: What has to be importable.
        extra: What brings it.
        make: Makes the reading call and the writing call over a manager.
        elsewhere: Uses a namespace or scope that cannot be one, through the framework.
    """

    module: str
    extra: str
    make: Callable[[MemoryManager], tuple[Callable[[], Any], Callable[[], Any]]]
    elsewhere: Callable[[MemoryManager], Any]


def history(manager):
    """A chain with the messages of a session."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.runnables.history import RunnableWithMessageHistory

    from memento_langchain import MementoChatMessageHistory

    chain = RunnableWithMessageHistory(
        FakeListChatModel(responses=["ok"]),
        lambda session: MementoChatMessageHistory(session, manager),
    )

    def talk():
        return chain.invoke("tea", {"configurable": {"session_id": "s"}})

    return lambda: MementoChatMessageHistory("s", manager).messages, talk


def classic(manager):
    """The memory of a classic chain."""
    from langchain_classic.chains import ConversationChain
    from langchain_core.language_models.fake import FakeListLLM

    from memento_langchain import MementoMemory

    memory = MementoMemory(manager=manager, session="s")
    chain = ConversationChain(llm=FakeListLLM(responses=["ok"]), memory=memory)
    return (
        lambda: memory.load_memory_variables({"input": "tea"}),
        lambda: chain.invoke({"input": "tea"}),
    )


def crew_installed(manager):
    """CrewAI's own memory with the store installed under it, as a crew calls it."""
    from crewai.memory.unified_memory import Memory

    from memento_crewai import MementoEmbeddingFunction, install, uninstall

    install(manager)
    memory = Memory(embedder=MementoEmbeddingFunction(manager))
    uninstall()
    return (
        lambda: memory.recall("tea", depth="shallow"),
        lambda: memory.remember("tea", scope="/", categories=[], importance=0.5),
    )


def crew_storage(manager, scope="/crew"):
    """The storage under CrewAI's own memory."""
    from crewai.memory.types import MemoryRecord

    from memento_crewai import MementoStorage

    storage = MementoStorage(manager)
    return (
        lambda: storage.list_records(scope),
        lambda: storage.save([MemoryRecord(content="tea", scope=scope)]),
    )


def put_elsewhere(manager):
    """Put under a namespace too deep for any scope."""
    from memento_langgraph import MementoStore

    MementoStore(manager).put(("a",) * 200, "k", {"x": 1})


def use_elsewhere(manager):
    """Run an agent whose context names no namespace."""
    ask, *_ = agent_doors.langchain_middleware(manager, namespace=str, context=BAD)
    ask()


ELSEWHERE = {
    agent_doors.langchain_middleware: use_elsewhere,
    agent_doors.langgraph_store: put_elsewhere,
    agent_doors.crewai_memory: lambda m: agent_doors.crewai_memory(m, root="/a/../b"),
}
"""How a way names a namespace or scope by itself; else its manager does."""


def agents_door(way):
    """Make a door of a way of ``agent_doors``."""
    module, extra = agent_doors.NEEDS[way]

    def make(manager):
        ask, aask, write = way(manager)
        return ask or (lambda: asyncio.run(aask())), write

    return Door(module, extra, make, ELSEWHERE.get(way, lambda manager: make(manager.of(BAD))))


DOORS = {
    "history": Door("langchain_core", "langchain", history, lambda m: history(m.of(BAD))),
    "classic": Door(
        "langchain_classic", "langchain-classic", classic, lambda m: classic(m.of(BAD))
    ),
    "crew installed": Door("crewai", "crewai", crew_installed, lambda m: crew_installed(m.of(BAD))),
    "crew storage": Door(
        "crewai", "crewai", crew_storage, lambda m: crew_storage(m, "/a/../b")[0]()
    ),
} | {way.__name__: agents_door(way) for way in agent_doors.NEEDS}


@pytest.fixture(params=DOORS)
def door(request):
    """Each way to memory whose framework is here."""
    found = DOORS[request.param]
    if not agent_doors.is_here(found.module):
        pytest.skip(f"{found.module} is not installed: pip install 'agent-memento[{found.extra}]'")
    with warnings.catch_warnings():  # the frameworks' own on import, and what they filter there
        warnings.simplefilter("ignore")
        importlib.import_module(found.module)
        if found.module == "crewai":
            importlib.import_module("memento_crewai._memory")
        if found.module == "langchain_classic":
            importlib.import_module("langchain_classic.chains")
    return found


@pytest.fixture
def manager(open_memory):
    """A store with something in it."""
    opened = open_memory(embedder=HashEmbedder(64))
    opened.add("tea comes from Assam", scope="crew")
    return opened


pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
    if importlib.util.find_spec("langchain_core")
    else "ignore:none"
)


def test_all_is_well_before(door, manager):
    """Reading and writing work: what fails below fails for its own reason."""
    read, write = door.make(manager)
    read()
    write()


def test_closed(door, manager):
    """A closed store raises StoreClosed for every caller, to read or to write."""
    read, write = door.make(manager)
    manager.close()
    for use in (read, write):
        with pytest.raises(StoreClosed) as caught:
            use()
        assert caught.value.path == manager.store.root


def test_read_only(door, manager, open_memory, freeze):
    """A store that cannot be written still reads, and raises ReadOnlyStore at a write."""
    manager.flush(wait=True)
    manager.close()
    freeze(manager.store.root)
    manager = open_memory(embedder=HashEmbedder(64))
    read, write = door.make(manager)
    with pytest.raises(ReadOnlyStore):
        write()
    if door is not DOORS["history"]:  # it says so when it is made, see its docstring
        read()


def test_a_namespace_nobody_wrote_to(door, manager):
    """It comes to be by writing: reading shows nothing of another, and writing changes no other."""
    read, write = door.make(manager.of("nobody"))
    assert "Assam" not in repr(data(read()))
    write()
    assert "Assam" not in repr(data(read()))
    assert [one.text for one in manager.list()] == ["tea comes from Assam"]


@pytest.mark.skipif(
    not importlib.util.find_spec("crewai"), reason="pip install 'agent-memento[crewai]'"
)
@pytest.mark.parametrize("name", ["memory", "storage"])
def test_a_memory_of_a_namespace_nobody_wrote_to(manager, name):
    """Where a memory is named by its id, one that is not there is NotFound."""
    from crewai.memory.types import MemoryRecord

    from memento_crewai import MementoCrewMemory, MementoStorage

    elsewhere, known = manager.of("nobody"), manager.list()[0].id
    changes = {
        "memory": lambda: MementoCrewMemory(elsewhere).update(known, "x"),
        "storage": lambda: MementoStorage(elsewhere).update(MemoryRecord(id=known, content="x")),
    }
    with pytest.raises(NotFound):
        changes[name]()


def test_a_namespace_that_cannot_be_one(door, manager):
    """Not well formed is an error that names it, not an empty memory."""
    with pytest.raises(InvalidScope) as caught:
        door.elsewhere(manager)
    assert isinstance(caught.value, MementoError)
