"""A long turn is forgotten, restored and erased by the one id that its caller was given."""

from __future__ import annotations

import pytest

from memento import MemoryManager, Status
from memento.errors import LockedMemory

LONG = "".join(f"Crate {number} stands on the quay at noon.\n" for number in range(3_000))


@pytest.fixture(params=["lite", "pg"])
def kept(request, tmp_path, clock):
    """One open store, on each engine."""
    root = request.getfixturevalue("address") if request.param == "pg" else tmp_path
    with MemoryManager(root, embedder=None, clock=clock) as made:
        yield made


def said(memory, **options):
    """Add a long turn, and something that only looks like a part of it; return the turn."""
    turn = memory.add(LONG, "short", session="quay", role="user", **options)
    assert turn.metadata["parts"] > 100
    memory.add("A note about the crates", id="note", metadata={"turn": turn.id, "part": 2})
    return turn


def listed(memory, **options):
    """Return the ids of what is stored."""
    return {one.id for one in memory.list(limit=1_000, **options)}


@pytest.mark.parametrize("options", [{}, {"id": "log"}, {"kind": "episode"}])
def test_a_turn_is_erased_whole(kept, options):
    """The receipt lists every part, and so does the dry run."""
    turn = said(kept, **options)
    every = listed(kept) - {"note"}
    planned = kept.store.erase(turn.id, dry_run=True)
    done = kept.store.erase(turn.id)
    assert set(planned.ids) == set(done.ids) == every
    assert done.ids[0] == turn.id
    assert done.derived == ()
    assert listed(kept) == {"note"}


def test_a_part_is_erased_alone(kept):
    """And what is left of the turn still is one."""
    turn = said(kept)
    second, third = [one.id for one in kept.list(session="quay", limit=3)][1:]
    assert kept.store.erase([second, third]).ids == (second, third)
    kept.store.erase(turn.id)
    assert listed(kept) == {"note"}


def test_a_turn_is_forgotten_and_restored_whole(kept):
    """In one change, which can be undone."""
    turn = said(kept)
    every = listed(kept) - {"note"}
    assert kept.forget(turn.id).id == turn.id
    assert listed(kept) == {"note"}
    assert listed(kept, status=Status.FORGOTTEN) == every
    assert kept.restore(turn.id).status is Status.ACTIVE
    assert listed(kept) == every | {"note"}
    kept.undo(kept.changes.list(limit=1)[0].number)
    assert listed(kept) == {"note"}


def test_a_part_that_the_user_locked_keeps_the_turn(memory):
    """As it would keep a memory of one part; nothing is hidden."""
    turn = said(memory)
    second = memory.list(session="quay", limit=2)[1]
    memory.update(second.id, lock="user")
    before = listed(memory)
    with pytest.raises(LockedMemory):
        memory.forget(turn.id)
    assert listed(memory) == before


def test_a_number_that_a_caller_made_up_is_not_searched_for(memory):
    """Only parts that are stored take time."""
    memory.add("Part of nothing", id="a", metadata={"part": 1, "parts": 10**15})
    assert memory.store.erase("a").ids == ("a",)
