"""Managers of one folder in one process: what they share, and when it is released."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memento import Config, MemoryManager
from memento.config import ShortConfig
from memento.errors import StoreClosed
from memento.testing import HashEmbedder, ManualClock, ScriptedLLM
from tests.tiers.test_backlog import SOON

CALLS = {
    "nothing": lambda _memory: None,
    "add": lambda memory: memory.add("note"),
    "retrieve": lambda memory: memory.retrieve("note"),
    "a view": lambda memory: memory.of("other").add("note"),
    "a store": lambda memory: memory.store.stats(),
}


def files():
    """Count the open files of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def released(engine):
    """Wait until a store is closed; tell whether it is."""
    thread = engine.indexer._thread
    if thread is not None:
        thread.join(SOON)
    with engine._closing:  # the thread of another store may be closing it
        return engine.ledger.closed


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize("embedder", [None, HashEmbedder(8)])
def test_dropped_managers_keep_nothing(tmp_path, call, embedder):
    """Neither on folders of their own, nor all on one, nor with settings of their own."""
    for where in (lambda n: tmp_path / f"{n}", lambda _n: tmp_path / "one"):
        before = None
        for n in range(20):
            call(MemoryManager(where(n), embedder=embedder))
            if n == 5:
                before = files(), threading.active_count()
        assert files() <= before[0] + 24
        assert threading.active_count() <= before[1] + 6


def test_a_dropped_manager_is_closed_though_no_other_is_opened(tmp_path):
    """Its own thread finds out; what it had taken in is on the disk."""
    memory = MemoryManager(tmp_path, embedder=None)
    memory.add("kept")
    engine = memory._engine
    del memory
    gc.collect()
    assert released(engine)
    with MemoryManager(tmp_path, embedder=None) as again:
        assert [one.text for one in again.list()] == ["kept"]


@pytest.mark.parametrize(
    "part", [lambda m: m.of("x"), lambda m: m.store, lambda m: m.quarantine, lambda m: m.list]
)
def test_whoever_has_a_part_of_a_manager_holds_the_store(tmp_path, part):
    """A view of another namespace, a view of the store, or one of its methods."""
    memory = MemoryManager(tmp_path, embedder=None)
    memory.add("kept")
    engine, kept = memory._engine, part(memory)
    del memory
    gc.collect()
    with MemoryManager(tmp_path / "other", embedder=None):  # looks for what was dropped
        assert not engine.ledger.closed
    del kept
    gc.collect()
    assert released(engine)


def test_a_model_in_the_background_keeps_no_store_open(tmp_path):
    """It has the views that it needs, and they hold nothing."""
    from memento.config import LLMConfig  # noqa: PLC0415

    config = Config(llm=LLMConfig(model=ScriptedLLM([]), background=True))
    memory = MemoryManager(tmp_path, embedder=None, config=config)
    memory.add("kept")
    engine = memory._engine
    assert engine.background.attendant is not None
    del memory
    gc.collect()
    assert released(engine)


def test_many_managers_of_one_folder_share_it(tmp_path, caplog):
    """All write and find at the same time, none stands in another's way, and nothing is logged."""
    embedder = HashEmbedder(8)
    with ThreadPoolExecutor(8) as pool, caplog.at_level(logging.WARNING):
        made = list(pool.map(lambda _n: MemoryManager(tmp_path, embedder=embedder), range(40)))
        list(pool.map(lambda pair: pair[1].add(f"note {pair[0]}", "long"), enumerate(made)))
        assert all(one.flush(wait=True, timeout=SOON) for one in made)
    assert len({one._engine for one in made}) == 1
    assert all(len(one.list(limit=100)) == 40 for one in made)
    for one in made:
        one.close()
    assert not caplog.records


def test_a_closed_manager_leaves_the_others_open(tmp_path):
    """It and its views say that they are closed; the last one closes the files."""
    first, second = (MemoryManager(tmp_path, embedder=None) for _ in range(2))
    view = first.of("x")
    first.close()
    first.close()
    assert first.store.closed
    assert view.store.closed
    assert not second.store.closed
    assert "closed" in repr(first)
    for call in (first.list, view.list, first.store.stats, lambda: first.add("x")):
        with pytest.raises(StoreClosed):
            call()
    second.add("goes on")
    engine = second._engine
    second.close()
    assert engine.ledger.closed


OTHERS = {
    "config": {"config": Config(short=ShortConfig(capacity=3))},
    "embedder": {"embedder": HashEmbedder(8)},
    "clock": {"clock": ManualClock()},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))
def test_another_setting_makes_a_store_of_its_own(tmp_path, other, caplog):
    """Both write and read the same memories, as two processes do, and no line is logged."""
    options = {"embedder": HashEmbedder(8)}
    with (
        MemoryManager(tmp_path, **options) as first,
        MemoryManager(tmp_path, **options | other) as second,
    ):
        assert first._engine is not second._engine
        first.add("of the first", "long")
        second.add("of the second", "long")
        flushed = [one.flush(wait=True, timeout=SOON) for one in (first, second)]
        assert any(flushed)  # of the one that feeds Chroma
        assert len(first.list()) == len(second.list()) == 2
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_folder_that_was_replaced_is_opened_anew(tmp_path):
    """The manager that is there writes into files that nobody will open."""
    first = MemoryManager(tmp_path / "store", embedder=None)
    first.add("old")
    (tmp_path / "store").rename(tmp_path / "away")
    with MemoryManager(tmp_path / "store", embedder=None) as second:
        assert second.list() == []
    first.close()


def test_a_forked_child_shares_what_its_parent_opened(tmp_path):
    """Each closes its own."""
    memory = MemoryManager(tmp_path, embedder=None)
    memory.add("of the parent", "short")
    pid = os.fork()
    if pid == 0:
        with MemoryManager(tmp_path, embedder=None) as mine:
            mine.add("of the child", "short")
            ring = [one.text for one in mine.sessions.recent()]
        memory.add("after it")
        memory.close()
        os._exit(0 if memory.store.closed and ring == ["of the parent", "of the child"] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(memory.list()) == 3
    memory.close()


ENDS = """
import sys
from memento import MemoryManager
kept = [MemoryManager(f"{sys.argv[1]}/{n}") for n in range(4)]
for memory in kept:
    memory.observe("My name is Alexandra.", session="a")
    memory.add("last words", "short")
"""


def test_a_program_that_ends_without_close_closes_its_stores_and_says_nothing(tmp_path):
    """Its threads may be loading Chroma, which the interpreter does not allow any more."""
    done = subprocess.run(
        [sys.executable, "-c", ENDS, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    for n in range(4):
        assert "last words" in (tmp_path / f"{n}/short.json").read_text()
