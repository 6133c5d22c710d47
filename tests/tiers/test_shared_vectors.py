"""Several machines, one ledger on a server: each finds by meaning what the others stored."""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np
import pytest

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.ledger.opening import open_ledger
from memento.retrieve import vector_search
from memento.testing import ManualClock

QUICK = Config(index=IndexConfig(start_seconds=0.01, poll_seconds=0.05))
SUBJECTS = ("ferry", "boat", "ship"), ("loaf", "bread", "bun"), ("vale", "dell", "glen")
"""Words of one meaning each, in turns."""


class Meanings:
    """An embedder for which the words of a subject are one; it counts the texts it embeds."""

    name, dim = "meanings", 16

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        """Embed texts: the subject, and a little of the text itself."""
        self.texts += texts
        return np.stack([self._one(text) for text in texts])

    def _one(self, text):
        row = np.zeros(self.dim, np.float32)
        for at, words in enumerate(SUBJECTS):
            row[at] = sum(text.split().count(word) for word in words)
        row[4 + len(text) % 12] += 0.1
        return row / np.linalg.norm(row)


@pytest.fixture
def machine(address, tmp_path, monkeypatch):
    """Open the store as one more machine would, with a cache folder of its own."""
    with ExitStack() as opened:

        def make(name):
            monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / name))
            memory = MemoryManager(
                address, embedder=Meanings(), config=QUICK, clock=ManualClock(), namespace="team"
            )
            return opened.enter_context(memory)

        yield make


def by_meaning(memory, question):
    """Return the best hit of a question that shares no word with it, and what is missing."""
    found = memory.retrieve(question, k=1, wait=10)
    return found[0].text if found else None, found.missing


def test_each_machine_finds_what_another_stored(machine):
    """What one machine stores, another finds by meaning, in either direction."""
    one, other = machine("one"), machine("other")
    one.add("we take the ferry")
    assert by_meaning(other, "which boat") == ("we take the ferry", {})
    other.add("we bake a loaf")
    assert by_meaning(one, "any bread") == ("we bake a loaf", {})
    assert by_meaning(machine("third"), "a bun") == ("we bake a loaf", {})
    assert {path.name for path in one.store.root.iterdir()}.isdisjoint({"chroma", "ledger.db"})


def test_each_machine_keeps_a_file_of_its_own(machine, monkeypatch):
    """With many vectors each machine has its file, and none makes those of the others invalid."""
    monkeypatch.setattr(vector_search, "TAIL", 40)
    machines = [machine(name) for name in ("one", "two", "three")]
    machines[0].add_many([f"we take the ferry number {n}" for n in range(80)])
    machines[0].flush(wait=True)
    for _ in range(2):
        for one in machines:
            assert "ferry" in by_meaning(one, "ship")[0]
    files = [one.store.root / "derived" / f"{number}.vectors" for one in machines for number in [1]]
    written = [path.stat().st_ino for path in files]
    for turn, one in enumerate(machines):
        one.add(f"we bake a loaf {turn}")
        assert "loaf" in by_meaning(machine(f"again {turn}"), "any bread")[0]
    again = [machine(name) for name in ("one", "two", "three")]
    assert all("loaf" in by_meaning(one, "a bun")[0] for one in again)
    assert [path.stat().st_ino for path in files] == written


def test_what_is_erased_is_found_by_no_machine(machine):
    """An erasure on one machine takes the memory from the answers of all."""
    one, other = machine("one"), machine("other")
    doomed = one.add("we take the ferry")
    one.add("we bake a loaf")
    assert by_meaning(other, "ship")[0] == doomed.text
    receipt = one.store.erase(doomed.id)
    assert receipt.complete
    assert any("caches" in what for what in receipt.not_reached)
    assert doomed.text not in [hit.text for hit in other.retrieve("ship ferry")]


def test_machines_share_a_backlog(machine):
    """Each text is embedded once, whoever stored it, and no machine waits for another."""
    machines = [machine(name) for name in ("one", "two", "three")]
    for one in machines:
        one._engine.embedding.warm()
    embedders = [one._engine._spec for one in machines]
    before = sum(len(one.texts) for one in embedders)
    machines[0].add_many([f"we take the ferry number {n}" for n in range(160)])
    machines[0].flush(wait=True)
    assert sum(len(one.texts) for one in embedders) - before == 160


def test_a_claim_is_of_one_machine_until_it_ends(machine):
    """Others get the rest, and all of it afterwards; nobody waits."""
    one, other = machine("one")._engine.ledger, machine("other")._engine.ledger
    with one.claimed(range(4)) as mine, other.claimed(range(2, 6)) as rest:
        assert (mine, rest) == ([0, 1, 2, 3], [4, 5])
    with other.claimed(range(6)) as mine:
        assert mine == [*range(6)]


def test_a_claim_of_a_machine_that_died_ends(machine, monkeypatch):
    """It is free after its lease, and what the dead one would do late takes it from nobody."""
    one, other = machine("one")._engine.ledger, machine("other")._engine.ledger
    monkeypatch.setattr("memento.ledger.pg.store.LEASE_SECONDS", 0.2)
    end = time.monotonic() + 60
    with one.claimed(["a", "b"]) as frozen:
        assert frozen == ["a", "b"]
        monkeypatch.setattr("memento.ledger.pg.store.LEASE_SECONDS", 60.0)
        while True:
            with other.claimed(["b"]) as taken:
                if taken:
                    break
            assert time.monotonic() < end
        late = other.claimed(["b"])
        assert late.__enter__() == ["b"]
    with one.claimed(["a", "b"]) as mine:
        assert mine == ["a"]
    late.__exit__(None, None, None)


def test_a_claim_keeps_nothing_that_is_erased(address):
    """It holds no connection and no snapshot, for which the server would keep what is deleted."""
    query = (
        "SELECT count(*), count(backend_xmin) FROM pg_stat_activity"
        " WHERE state = 'idle in transaction'"
    )
    ledger = open_ledger(address)
    try:
        for _ in range(8):  # also once the driver has prepared it
            with ledger.claimed(["tidy"]) as mine:
                assert (mine, ledger.read(lambda s: s.execute(query).fetchone())) == (
                    ["tidy"],
                    (0, 0),
                )
    finally:
        ledger.close()


def test_chores_are_of_one_machine_at_a_time(machine):
    """While one folds events and sleeps, another leaves it alone, and does so when it is over."""
    one, other = machine("one")._engine, machine("other")._engine
    end = time.monotonic() + 60

    def left_alone():
        with one.ledger.claimed(["tidy"]) as mine:
            return bool(mine) and not other.background.tidy()

    for happens in (left_alone, other.background.tidy):  # a thread of theirs may be at it first
        while not happens():
            assert time.monotonic() < end
            time.sleep(0.05)
