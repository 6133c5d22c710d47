"""A coroutine that waits for the indexer holds no thread meanwhile."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

import pytest
from stuck import FAST, MINUTE, Stuck

from memento.aio import GLANCE, AsyncMemoryManager, settle
from memento.errors import InvalidInput
from memento.testing import HashEmbedder


def with_one_thread(talk):
    """Run a coroutine on a loop whose default pool has a single thread."""

    async def run():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        return await asyncio.wait_for(talk(), MINUTE)

    return asyncio.run(run())


@pytest.fixture
def stuck():
    """An embedder that is let go at the end, so that the store can close."""
    made = Stuck()
    yield made
    made.go.set()


async def many_wait(memory, stuck, call, ready):
    """Let ten calls wait; meanwhile the only thread does something else; then let them go."""
    waiting = [asyncio.create_task(call(n)) for n in range(10)]
    while not ready():  # noqa: ASYNC110 - a state of another thread
        await asyncio.sleep(0.001)
    assert await asyncio.to_thread(lambda: "free") == "free"
    assert not any(task.done() for task in waiting)
    assert (await memory.store.stats()).backlog["embed"]
    stuck.go.set()
    return await asyncio.gather(*waiting)


@pytest.mark.parametrize("verb", ["retrieve", "store.nearest", "prompt", "recall"])
def test_questions_hold_no_thread_while_they_wait(tmp_path, stuck, verb):
    """Ten of them wait on a pool of one thread, which is free for others; all are answered."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=stuck, config=FAST) as memory:
            await memory.add("the kettle is blue", "long")
            query = "kettle"
            if verb == "store.nearest":
                query = HashEmbedder().embed(["kettle"])[0]
            wishes = memory._sync._engine.indexer.wishes
            return await many_wait(
                memory,
                stuck,
                lambda _: attrgetter(verb)(memory)(query, wait=3600),
                lambda: len(wishes._wishes) == 10,
            )

    for found in with_one_thread(talk):
        if verb == "prompt":
            assert "the kettle is blue" in found
        else:
            hits = found.hits if verb == "recall" else found
            assert hits[0].text == "the kettle is blue"
            assert not found.missing


def test_flush_holds_no_thread_while_it_waits(tmp_path, stuck):
    """The same for the whole backlog; it returns what the sync flush would."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=stuck, config=FAST) as memory:
            await memory.add("the kettle is blue", "long")
            begun = []

            async def flush(n):
                begun.append(n)
                return await memory.flush(wait=True)

            assert not await memory.flush(wait=True, timeout=0.01)
            return await many_wait(memory, stuck, flush, lambda: len(begun) == 10)

    assert with_one_thread(talk) == [True] * 10


def test_reindex_waits_without_a_thread(tmp_path):
    """It says how many memories were embedded again, when they are."""

    async def talk():
        async with AsyncMemoryManager(
            tmp_path / "m", embedder=HashEmbedder(16), config=FAST
        ) as memory:
            await memory.add("the kettle is blue", "long")
            assert await memory.flush(wait=True)
        async with AsyncMemoryManager(
            tmp_path / "m", embedder=HashEmbedder(32), config=FAST
        ) as memory:
            assert await memory.store.reindex(wait=True) == 1
            assert (await memory.store.stats()).embedders == {"hash-32 (32)": 1}

    with_one_thread(talk)


def test_what_is_not_there_in_time_is_reported(tmp_path, stuck):
    """As for the sync manager."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=stuck, config=FAST) as memory:
            await memory.add("the kettle is blue", "long")
            found = await memory.retrieve("kettle", wait=0.05)
            assert "1 memory is waiting to be embedded" in found.missing["long"]
            glance = await settle(memory._sync, 0.05)
            assert memory._sync.retrieve("kettle", wait=glance).missing
            stuck.go.set()
            glance = await settle(memory._sync, MINUTE)
            assert not memory._sync.retrieve("kettle", wait=glance).missing
            assert 0 < glance <= GLANCE
            assert await settle(memory._sync, 0) == 0

    with_one_thread(talk)


def test_a_cancelled_question_is_waited_for_by_nobody(tmp_path, stuck):
    """The indexer forgets it, and ringing for a loop that is closed harms nobody."""
    wishes = []

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=stuck, config=FAST) as memory:
            await memory.add("the kettle is blue", "long")
            asking = asyncio.create_task(memory.retrieve("kettle", wait=3600))
            known = memory._sync._engine.indexer.wishes
            while not known:  # noqa: ASYNC110 - a state of another thread
                await asyncio.sleep(0.001)
            wishes.extend(known._wishes)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert not known
            stuck.go.set()

    with_one_thread(talk)
    wishes[0].ring()


@pytest.mark.parametrize("wait", [-1, 86_401, float("nan"), "5", True])
def test_a_wait_that_is_no_time_is_refused(tmp_path, wait):
    """At every coroutine that waits."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=None) as memory:
            for call in (
                memory.retrieve("tea", wait=wait),
                memory.store.nearest([1.0], wait=wait),
                memory.prompt("tea", wait=wait),
                settle(memory._sync, wait),
            ):
                with pytest.raises(InvalidInput, match="wait"):
                    await call
            with pytest.raises(InvalidInput, match="session"):
                await settle(memory._sync, 1, session="")

    with_one_thread(talk)


@pytest.mark.parametrize("given", [{"wait": 1}, {"wait": True, "timeout": -1}, {"timeout": "5"}])
def test_a_flush_is_checked_as_the_sync_one(tmp_path, given):
    """Wrong arguments are errors before anything is waited for."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=None) as memory:
            with pytest.raises(InvalidInput):
                await memory.flush(**given)

    with_one_thread(talk)


def test_without_an_embedder_nothing_is_waited_for(tmp_path):
    """Nothing would come."""

    async def talk():
        async with AsyncMemoryManager(tmp_path / "m", embedder=None) as memory:
            await memory.add("the kettle is blue")
            assert await settle(memory._sync, 3600) == GLANCE
            assert len(await memory.retrieve("kettle", wait=3600)) == 1

    with_one_thread(talk)
