"""Of many namespaces only those asked last stay in RAM; none is the worse for it."""

from __future__ import annotations

import gc
import tracemalloc

from shelves import Shelf

from memento.retrieve.cache import AROUND, Kept
from memento.retrieve.columns import Roster


def of_size(count):
    """Make the outlines of so many memories."""
    roster, shelf = Roster(), Shelf()
    roster.apply([shelf.row(f"note {n}", docid=shelf.first + n) for n in range(count)])
    return roster


FEW = of_size(4).nbytes + AROUND


def filled(kept, ns, count):
    """Ask for a namespace that turns out to have so many memories."""
    held = kept.hold((ns, ()))
    held.roster = of_size(count)
    kept.make_room((ns, ()))
    return held


def test_those_asked_least_recently_are_let_go():
    """Past the limit the oldest question's namespace goes, and comes back empty."""
    kept = Kept(2 * FEW)
    first, second = filled(kept, 1, 4), filled(kept, 2, 4)
    assert kept.hold((1, ())) is first
    filled(kept, 3, 4)
    assert len(kept) == 2
    assert kept.hold((1, ())) is first
    assert kept.hold((2, ())) is not second


def test_the_one_asked_last_stays_however_large():
    """A namespace above the limit is not thrown away while it is in use."""
    kept = Kept(2 * FEW)
    filled(kept, 1, 4)
    large = filled(kept, 2, 500)
    assert large.roster.nbytes + AROUND > 2 * FEW
    assert kept.hold((2, ())) is large
    assert len(kept) == 1


def test_one_let_go_meanwhile_is_not_counted():
    """An entry that goes while another thread updates it does not count for ever."""
    kept = Kept(2 * FEW)
    slow = kept.hold((1, ()))
    filled(kept, 2, 500)
    assert len(kept) == 1
    slow.roster.apply([Shelf().row("late", docid=1)])
    kept.make_room((1, ()))
    again = filled(kept, 3, 5)
    assert kept.hold((3, ())) is again


def test_many_users_are_answered_from_little_room(open_memory, monkeypatch):
    """With room for a few, every namespace answers as it would alone, again and again."""
    memory = open_memory(embedder=None)
    monkeypatch.setattr(memory._engine.searcher, "_kept", Kept(20 * FEW))
    for n in range(60):
        memory.of(f"user{n}").add(f"user {n} keeps a parrot called Polly{n}")
    for _ in range(2):
        for n in range(60):
            (hit,) = memory.of(f"user{n}").retrieve("who keeps a parrot?")
            assert hit.text.endswith(f"Polly{n}")
    assert len(memory._engine.searcher._kept) <= 20


def test_small_namespaces_are_counted_with_what_is_around_them(memory):
    """The count of many small ones is the memory they take, within a fifth."""
    views = [memory.of(f"user{n}") for n in range(80)]
    for view in views:
        view.add("my colour is green")
        view.store.stats()
    views[0].retrieve("colour", record=False)
    memory.flush()
    searcher = memory._engine.searcher
    searcher._kept = Kept(10**9)
    tracemalloc.start()
    try:
        for view in views:
            view.retrieve("colour", record=False)
        counted = searcher._kept._bytes
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        searcher._kept = Kept(10**9)
        gc.collect()
        freed = held - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.8 < counted / freed < 1.25
