"""Of many namespaces only those asked last stay in RAM; none is the worse for it."""

from __future__ import annotations

from dataclasses import replace

from shelves import Shelf

from memento import Config
from memento.retrieve.config import RetrieveConfig
from memento.retrieve.kept import Kept


def filled(kept, ns, count):
    """Ask for a namespace that turns out to have so many memories."""
    held = kept.hold(ns)
    shelf = Shelf()
    held.roster.apply([shelf.row(f"note {n}", docid=shelf.first + n) for n in range(count)])
    kept.make_room(ns)
    return held


def test_those_asked_least_recently_are_let_go():
    """Past the limit the oldest question's namespace goes, and comes back empty."""
    kept = Kept(10)
    first, second = filled(kept, 1, 4), filled(kept, 2, 4)
    assert kept.hold(1) is first
    filled(kept, 3, 4)
    assert len(kept) == 2
    assert kept.hold(1) is first
    assert kept.hold(2) is not second


def test_the_one_asked_last_stays_however_large():
    """A namespace above the limit is not thrown away while it is in use."""
    kept = Kept(10)
    filled(kept, 1, 4)
    large = filled(kept, 2, 50)
    assert kept.hold(2) is large
    assert len(kept) == 1


def test_one_let_go_meanwhile_is_not_counted():
    """What another thread is still bringing up to date when it goes does not count for ever."""
    kept = Kept(10)
    slow = kept.hold(1)
    filled(kept, 2, 11)
    assert len(kept) == 1
    slow.roster.apply([Shelf().row("late", docid=1)])
    kept.make_room(1)
    again = filled(kept, 3, 5)
    assert kept.hold(3) is again


def test_a_thousand_users_are_answered_from_little_room(open_memory):
    """With room for a few, every namespace answers as it would alone, again and again."""
    memory = open_memory(
        embedder=None, config=replace(Config(), retrieve=replace(RetrieveConfig(), kept=20))
    )
    for n in range(60):
        memory.of(f"user{n}").add(f"user {n} keeps a parrot called Polly{n}")
    for _ in range(2):
        for n in range(60):
            (hit,) = memory.of(f"user{n}").retrieve("who keeps a parrot?")
            assert hit.text.endswith(f"Polly{n}")
    assert len(memory._engine.searcher._kept) <= 20
