"""One namespace never sees another's, on any surface, and answers as if it were alone."""

from __future__ import annotations

import inspect

import harness_isolation
import pytest

from memento import MemoryManager
from memento.ledger import memories, predicate
from memento.ledger.filters import filters_of
from memento.testing import HashEmbedder
from memento.verbs.sessions import Sessions


@pytest.mark.parametrize(
    ("part", "leak"), [(MemoryManager, "list"), (Sessions, "recent"), (MemoryManager, "get")]
)
def test_the_machine_notices_a_leak_on_one_surface(tmp_path, monkeypatch, part, leak):
    """Whichever surface forgets the namespace, the machine says so: it looks at each."""
    honest = getattr(part, leak)
    others: list[object] = []

    def leaky(self, *given, **options):
        others.append(self)
        return honest(others[len(others) // 2], *given, **options)

    monkeypatch.setattr(part, leak, leaky)
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        try:
            found = harness_isolation.crossing(memory, [], examples=30, steps=15, number=1)
        except Exception as error:  # noqa: BLE001 - a leak may also break the machine's own steps
            found = repr(error)
    assert found


def test_one_predicate_decides_who_sees_what():
    """Every condition of a listing begins with the namespace, whatever else was asked."""
    narrow = filters_of(0, tag="x", where={"a": 1}, ids="i", key="k", source="web")
    for filters in (filters_of(0), narrow):
        sql, values = predicate.predicate(7, filters)
        assert sql.lstrip("+").startswith("ns = ? AND ")
        assert values[0] == 7
    for name in ("select", "matching"):
        assert "predicate(ns, filters)" in inspect.getsource(getattr(memories, name))


def test_near_duplicates_fold_within_a_namespace_only(tmp_path):
    """A hit stands for its own near-duplicates, never for a neighbour's."""
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as memory:
        ids = {}
        for label in ("a", "b"):
            view = memory.of(label)
            ids[label] = {
                view.add("the heron stands at the lake", "long", session="1").id,
                view.add("The heron stands at the lake.", "long", session="2").id,
            }
        memory.flush(wait=True)
        for label in ("a", "b"):
            found = memory.of(label).retrieve("where does the heron stand?", 10)
            assert {one for hit in found for one in (hit.id, *hit.folded)} == ids[label]


def test_novelty_and_importance_are_ones_own(tmp_path):
    """A text that a neighbour has said before is as new here as any other."""
    text = "Zephyrine calibrates the turbine at Quillon harbour"
    with MemoryManager(tmp_path / "alone", embedder=None) as memory:
        alone = memory.of("b").add(text).importance
    with MemoryManager(tmp_path / "shared", embedder=None) as memory:
        for n in range(20):
            memory.of("a").add(f"{text} {n}")
        assert memory.of("b").add(text).importance == alone
        assert memory.of("b").add(f"{text} again").importance < alone
