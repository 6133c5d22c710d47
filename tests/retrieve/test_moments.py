"""A question reads the state of its namespace again only if something was written."""

from __future__ import annotations

import threading

import pytest

from memento import MemoryManager
from memento.ledger.links import Linked
from memento.retrieve import vector_search
from memento.testing import HashEmbedder

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def memory(tmp_path):
    """A store with one memory that has its vector."""
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.add("Ada keeps bees behind the mill")
        memory.flush(wait=True)
        yield memory


def ask(memory, query="who keeps bees?"):
    """Return the texts that a question finds."""
    return [hit.text for hit in memory.retrieve(query, k=10, record=False)]


def quiet(memory):
    """Ask until nothing is written between two questions."""
    engine = memory._engine
    for _ in range(500):
        before = engine.ledger.moment()
        ask(memory)
        if engine.ledger.moment() == before:
            return
    pytest.fail("something is written all the time")


def test_a_second_question_does_not_follow_the_ledger(memory, monkeypatch):
    """Without a write in between, the state of the first question is used again."""
    quiet(memory)
    followed = []
    searcher = memory._engine.searcher
    real = searcher._follow_all
    monkeypatch.setattr(
        searcher, "_follow_all", lambda *a, **k: followed.append(1) or real(*a, **k)
    )
    ask(memory)
    ask(memory)
    assert followed == []
    memory.add("Otis keeps bees in the orchard")
    assert len(ask(memory)) == 2
    assert followed


def test_what_another_manager_writes_is_found_at_once(memory, tmp_path):
    """Another connection's write changes the moment."""
    quiet(memory)
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as other:
        for n in range(20):
            other.add(f"Rami keeps bees on roof {n}", id=f"roof-{n}")
            assert f"Rami keeps bees on roof {n}" in ask(memory, f"bees on roof {n}")
            other.forget(f"roof-{n}")
            assert f"Rami keeps bees on roof {n}" not in ask(memory, f"bees on roof {n}")


def test_each_thread_finds_what_the_others_wrote(memory):
    """Moments of different threads are not mixed up."""
    quiet(memory)
    missed = []

    def work(name):
        for n in range(15):
            text = f"{name} keeps bees in hive {n}"
            memory.add(text)
            if text not in ask(memory, text):
                missed.append(text)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("Ada", "Lena", "Kenji")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missed == []


def test_a_blank_question_does_not_keep_vectors_from_the_next(memory):
    """A blank question follows the rows without their vectors."""
    memory.add("The hives stand behind the old mill")
    memory.flush(wait=True)
    ask(memory, " ")
    found = memory.retrieve("hives behind a mill", k=5, record=False)
    assert all("meaning" in hit.ranks for hit in found)


def test_a_file_of_vectors_that_was_just_written_is_opened(tmp_path, monkeypatch):
    """Derived files are written without a change of the ledger."""
    monkeypatch.setattr(vector_search, "TAIL", 20)
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.add_many([f"Ada writes down line {n} of the log" for n in range(50)])
        memory.flush(wait=True)
        first, second = ask(memory, "line 7 of the log"), ask(memory, "line 7 of the log")
        assert first == second
        memory.add("Otis rubs out line 7 of the log")
        memory.flush(wait=True)
        assert "Otis rubs out line 7 of the log" in ask(memory, "line 7 of the log")


@pytest.mark.parametrize(
    ("flagged", "may"), [(frozenset(), False), (frozenset([7]), True), (None, True)]
)
def test_only_a_memory_of_a_flagged_pair_can_conflict(flagged, may):
    """Many flagged pairs are not listed, so any memory may be of one."""
    assert Linked(flagged).may_conflict([5, 7, 9]) is may
