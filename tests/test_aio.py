"""AsyncMemoryManager is MemoryManager, awaited."""

import asyncio
import copy
import inspect
import pickle
import threading
from importlib import import_module

import anyio
import pytest

from memento import Config, MemoryManager
from memento.aio import AsyncMemoryManager, AsyncPart
from memento.errors import InvalidInput, NotFound, StoreClosed, TierUnavailable
from memento.views import Part


def public(cls):
    """Name what a class offers."""
    return {name for name in dir(cls) if not name.startswith("_")}


def parts(manager, kind, homes):
    """Find the parts of a manager by what its properties return, in these modules."""
    found = {
        name: vars(import_module(homes.format(name)))[one.fget.__annotations__["return"]]
        for name, one in inspect.getmembers(manager, lambda each: isinstance(each, property))
        if name[0] != "_"
    }
    assert all(issubclass(one, kind) for one in found.values())
    return found


PARTS = parts(MemoryManager, Part, "memento.verbs.{}")
TWINS = {MemoryManager: AsyncMemoryManager} | {
    plain: parts(AsyncMemoryManager, AsyncPart, "memento.aio")[name]
    for name, plain in PARTS.items()
}
METHODS = [
    (plain, name)
    for plain in TWINS
    for name, _ in inspect.getmembers(plain, inspect.isfunction)
    if not name.startswith("_") and name != "of"
]


def open_async(tmp_path, **options):
    """Open a store without an embedder."""
    return AsyncMemoryManager(tmp_path / "m", embedder=None, **options)


@pytest.mark.parametrize("plain", TWINS)
def test_names_are_the_same(plain):
    """Every public name of the one is a public name of the other."""
    assert public(TWINS[plain]) == public(plain)


@pytest.mark.parametrize(("plain", "name"), METHODS)
def test_signatures_are_the_same(plain, name):
    """Each method takes the same parameters with the same defaults, and is to be awaited."""
    method = getattr(TWINS[plain], name)
    ours, theirs = (inspect.signature(m) for m in (method, getattr(plain, name)))
    assert str(ours).replace("'Async", "'") == str(theirs)
    assert inspect.iscoroutinefunction(inspect.unwrap(method, stop=lambda f: f is method))
    assert method.__doc__.startswith(f"Like ``{plain.__name__}.{name}``")
    assert method.__qualname__ == f"{TWINS[plain].__name__}.{name}"


def test_the_parts_are_of_the_same_store_and_namespace(tmp_path):
    """A part has the namespace of its manager, can be copied and cannot be pickled."""

    async def look():
        async with open_async(tmp_path) as memory:
            rami = memory.of("rami")
            assert (rami.store.namespace, rami.store.root) == (("rami",), memory.store.root)
            for view in (rami, *(getattr(rami, name) for name in PARTS)):
                assert "rami" in repr(view)
                assert copy.deepcopy(view) is view
                with pytest.raises(InvalidInput, match="cannot be pickled"):
                    pickle.dumps(view)
            page = await rami.add("The museum opens at nine", source="web")
            assert [one.id for one in await rami.quarantine.list()] == [page.id]
            assert await memory.quarantine.list() == []
            assert (await rami.quarantine.approve(page.id)).status == "active"

    asyncio.run(look())


def test_construction_is_the_same():
    """Both are made with the same arguments."""
    assert inspect.signature(AsyncMemoryManager) == inspect.signature(MemoryManager)
    ours, theirs = (inspect.signature(c.of) for c in (AsyncMemoryManager, MemoryManager))
    assert ours.parameters == theirs.parameters


def test_every_method_answers_as_its_namesake(tmp_path):
    """One round through all methods gives what the sync manager sees afterwards."""

    async def round_trip():
        async with open_async(tmp_path) as memory:
            kept = await memory.add("the kettle is blue", "short", session="s")
            (other,) = await memory.add_many(["the teapot is green"])
            assert (await memory.retrieve("kettle"))[0].id == kept.id
            assert "the kettle is blue" in await memory.prompt("kettle")
            assert (await memory.get(kept.id)).text == "the kettle is blue"
            assert (await memory.update(kept.id, text="the kettle is red")).version == 2
            assert [one.id for one in await memory.sessions.recent(session="s")] == [kept.id]
            assert (await memory.update(kept.id, tier="medium")).tier == "medium"
            assert (await memory.forget(other.id)).status == "forgotten"
            assert (await memory.restore(other.id)).status == "active"
            assert len(await memory.list()) == 2
            assert len(await memory.changes.history(kept.id)) == 3
            assert await memory.insight.related(kept.id) == []
            assert (await memory.store.stats()).memories == 2
            assert await memory.store.counts("scope") == {"": 2}
            assert await memory.store.touch(other.id, 60) == [other.id]
            assert await memory.store.sweep() == await memory.forget_many(session="nobodys") == []
            assert not memory.store.read_only
            assert memory.store.clock().tzinfo is not None
            assert memory.store.config == Config()
            with pytest.raises(InvalidInput):
                await memory.store.embed(["no embedder here"])
            with pytest.raises(TierUnavailable):
                await memory.store.nearest([1.0])
            assert all(finding.ok for finding in await memory.store.doctor())
            assert await memory.flush(wait=True)
            with pytest.raises(InvalidInput):
                await memory.store.reindex()
            with pytest.raises(NotFound):
                await memory.get("nobody")
            assert not memory.store.closed
            assert "open" in repr(memory)
            assert memory.store.root == tmp_path / "m"
        assert memory.store.closed
        with pytest.raises(StoreClosed):
            await memory.add("too late")
        return kept.id

    memory_id = asyncio.run(round_trip())
    with MemoryManager(tmp_path / "m", embedder=None) as memory:
        assert memory.get(memory_id).text == "the kettle is red"


def test_five_hundred_at_once(tmp_path):
    """500 adds and as many questions in flight together: all are answered, nothing is lost."""

    async def crowd():
        async with open_async(tmp_path) as memory:
            adds = (memory.add(f"note number {n}", "medium") for n in range(500))
            asks = (memory.retrieve(f"number {n}", k=1, record=False) for n in range(50))
            answers = await asyncio.gather(*adds, *asks)
            assert len({one.id for one in answers[:500]}) == 500
            stored = await memory.list(limit=1000)
            assert {one.text for one in stored} == {f"note number {n}" for n in range(500)}

    asyncio.run(crowd())


def test_the_loop_is_free_while_a_call_blocks(tmp_path):
    """While one call waits in its thread, the event loop runs other work."""

    async def both():
        entered, leave = threading.Event(), threading.Event()

        async with open_async(tmp_path) as memory:
            ledger = memory._sync._engine.ledger

            def hold(_connection):
                entered.set()
                leave.wait(30)

            holding = asyncio.create_task(asyncio.to_thread(ledger.write, hold))
            await asyncio.to_thread(entered.wait, 30)
            adding = asyncio.create_task(memory.add("the kettle is blue"))
            assert await memory.list() == []  # answered while the writer is held up
            assert not adding.done()
            leave.set()
            await holding
            assert (await adding).text == "the kettle is blue"

    asyncio.run(both())


def test_a_block_is_left_although_the_task_is_cancelled_at_every_await(tmp_path):
    """As a web server does when its client goes away: sessions end, and managers close."""

    async def cancelled(number):
        root = tmp_path / str(number)
        with anyio.CancelScope() as scope:
            async with (
                AsyncMemoryManager(root, embedder=None) as memory,
                await memory.sessions.start("s", goal="g") as work,
            ):
                await work.checkpoint(next=["a"])
                scope.cancel()
                await asyncio.sleep(60)
        return memory

    async def several():
        every = [await cancelled(number) for number in range(10)]
        for _ in range(500):
            if all(one.store.closed for one in every):
                break
            await asyncio.sleep(0.01)
        return every

    assert all(one.store.closed for one in asyncio.run(several()))
    for number in range(10):
        with MemoryManager(tmp_path / str(number), embedder=None) as memory:
            assert memory.sessions.resume().session.id == "s"


def test_a_cancelled_add_is_there_or_not(tmp_path):
    """Cancelling in mid-flight leaves whole memories only, and nothing locked."""

    async def cancel_half():
        async with open_async(tmp_path) as memory:
            tasks = [asyncio.create_task(memory.add(f"note {n}", "medium")) for n in range(100)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            kept = {one.text for one in answers if not isinstance(one, BaseException)}
            assert kept >= {f"note {n}" for n in range(1, 100, 2)}
            await memory.add("afterwards")
        return kept

    kept = asyncio.run(cancel_half())
    with MemoryManager(tmp_path / "m", embedder=None) as memory:
        assert all(finding.ok for finding in memory.store.doctor(repair=False))
        assert {one.text for one in memory.list(limit=200)} >= kept | {"afterwards"}


def test_one_manager_serves_several_loops(tmp_path):
    """Nothing is bound to the loop it was made in."""
    memory = open_async(tmp_path)
    for n in range(3):
        asyncio.run(memory.add(f"note {n}"))
    assert len(asyncio.run(memory.list())) == 3
    asyncio.run(memory.close())
    asyncio.run(memory.close())


def test_a_turn_of_several_answers_is_awaited(tmp_path):
    """Its answers share in the outcome; one that an exception ends has none."""

    async def talk():
        async with open_async(tmp_path) as memory:
            kept = await memory.add("Deploys go through the blue pipeline")
            async with await memory.feedback.loop("s7") as turn:
                await turn.retrieve("how do deploys go?")
                right = await turn.outcome(0.8, "Deploys go through the green pipeline")
            broken = await memory.feedback.loop()
            await broken.__aexit__(KeyError, KeyError(), None)
            other = await memory.feedback.open_loop()
            await other.retrieve("how do deploys go?")
            shared = await memory.feedback.finalize(other, -1.0)
            worth = (await memory.feedback.strength(kept.id)).worth
            return right.text, turn.closed, broken.closed, other.closed, kept.id in shared, worth

    text, *closed, shared, worth = asyncio.run(talk())
    assert text == "Deploys go through the green pipeline"
    assert closed == [True] * 3
    assert shared
    assert worth < 0.16  # the second outcome was bad
