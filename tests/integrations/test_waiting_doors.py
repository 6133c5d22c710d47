"""Every adapter that searches takes ``wait``, checks it, and holds no thread meanwhile."""

from __future__ import annotations

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import agent_doors
import pytest
from agent_doors import is_here
from stuck import FAST, MINUTE, Stuck

from memento import MemoryManager, frameworks
from memento.testing import HashEmbedder
from memento.verbs.store import Store
from memento.views import View

TEXT = "the kettle is blue"


@pytest.fixture(autouse=True)
def crewai_warns():
    """CrewAI's packages set attributes on each other while they are imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        yield


def storage(manager, **options):
    """Ask CrewAI's storage."""
    from memento_crewai import MementoStorage  # noqa: PLC0415

    made = MementoStorage(manager, **options)
    vector = HashEmbedder().embed(["kettle"])[0].tolist()
    return (lambda: made.search(vector)), (lambda: made.asearch(vector))


def searching(way):
    """Make a door of a way of ``agent_doors``."""

    def door(manager, **options):
        ask, aask, _ = way(manager, "kettle", **options)
        return ask or (lambda: asyncio.run(aask())), aask

    door.__name__ = way.__name__
    return door


NEEDS = {storage: "crewai"} | {
    searching(way): module
    for way, (module, _) in agent_doors.NEEDS.items()
    if way not in agent_doors.HISTORIES
}
DOORS = [
    pytest.param(
        door,
        id=door.__name__,
        marks=pytest.mark.skipif(not is_here(needed), reason=f"{needed} is not installed"),
    )
    for door, needed in NEEDS.items()
]


@pytest.fixture
def stuck():
    """An embedder that is let go at the end, so that the store can close."""
    made = Stuck()
    yield made
    made.go.set()


@pytest.fixture
def manager(tmp_path, stuck):
    """A store with one memory that is not embedded."""
    with MemoryManager(tmp_path / "m", embedder=stuck, config=FAST) as made:
        made.add(TEXT, "long")
        yield made
        stuck.go.set()


@pytest.mark.parametrize("door", DOORS)
def test_without_a_wait_nothing_is_waited_for(door, manager):
    """With 0, an answer comes though the embedder stands still, also if awaited."""
    ask, aask = door(manager, wait=0)
    ask()
    asyncio.run(asyncio.wait_for(aask(), MINUTE))


@pytest.mark.parametrize("door", DOORS)
def test_the_wait_is_the_one_given(door, manager, monkeypatch):
    """The ``wait`` given to the adapter reaches the search."""
    waits = []
    for part, verb in ((View, "retrieve"), (Store, "nearest")):
        original = getattr(part, verb)

        def noted(self, *args, original=original, **kwargs):
            waits.append(kwargs.get("wait", 0))
            return original(self, *args, **kwargs)

        monkeypatch.setattr(part, verb, noted)

    async def settled(_memory, seconds, **_):
        waits.append(seconds)
        return 0.0

    monkeypatch.setattr(frameworks, "settle", settled)  # of those that are asynchronous only
    ask, _ = door(manager, wait=0.25)
    ask()
    assert 0.25 in waits


@pytest.mark.parametrize("door", DOORS)
def test_a_coroutine_holds_no_thread_while_it_waits(door, manager, stuck):
    """Five of them wait on a pool of one thread, which is free for others."""

    async def talk():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        _, aask = door(manager, wait=3600)
        asking = [asyncio.create_task(asyncio.wait_for(aask(), MINUTE)) for _ in range(5)]
        wishes = manager._engine.indexer.wishes
        while len(wishes._wishes) < 5:  # noqa: ASYNC110 - a state of another thread
            await asyncio.sleep(0.001)
        assert await asyncio.to_thread(lambda: "free") == "free"
        assert not any(task.done() for task in asking)
        stuck.go.set()
        await asyncio.gather(*asking)

    asyncio.run(asyncio.wait_for(talk(), MINUTE))


@pytest.mark.parametrize("door", DOORS)
def test_a_wait_that_is_no_time_is_refused(door, manager):
    """When the adapter is made, not at the first question."""
    for wait in (-1, 86_401, float("nan"), "5", True):
        with pytest.raises(ValueError, match="wait"):
            door(manager, wait=wait)


@pytest.mark.skipif(find_spec("langchain_classic") is None, reason="is not installed")
def test_the_memory_of_a_classic_chain_takes_it_too(manager):
    """It is sync only: LangChain runs it in a thread."""
    from memento_langchain import MementoMemory  # noqa: PLC0415

    assert TEXT in MementoMemory(manager=manager, wait=0).load_memory_variables(
        {"input": "kettle"}
    ).get("history", "")
    with pytest.raises(ValueError, match="wait"):
        MementoMemory(manager=manager, wait=-1)
