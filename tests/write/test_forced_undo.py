"""A forced undo ends: it tries each later change once, and never a change that it made itself."""

from __future__ import annotations

from datetime import timedelta

from memento import MemoryManager
from memento.ledger import changes
from memento.testing import ManualClock

HOUR = timedelta(hours=1)


def test_a_forced_undo_does_not_undo_its_own_changes(tmp_path, monkeypatch):
    """To settle a slot may change a memory again, which then stands in the way."""
    made, finish = [], changes.finish

    def counted(*args, **named):
        made.append(finish(*args, **named))
        assert len(made) < 20, "the undo does not end"
        return made[-1]

    clock = ManualClock()
    with MemoryManager(tmp_path, embedder=None, clock=clock) as memory:
        old = memory.add("The gate code is 1904", key="gate", occurred_at=clock() - HOUR)
        memory.update(old.id, scope="yard")
        rescoped = memory.changes()[0].number
        new = memory.add("The gate code is 2010", key="gate")
        memory.update(new.id, valid_until=clock() + HOUR)
        memory.update(old.id, valid_until=clock() + HOUR)
        monkeypatch.setattr(changes, "finish", counted)
        undone = memory.undo(rescoped, force=True)
        assert set(map(changes.number_of, made)) == set(undone.changes)
        assert [one.ok for one in memory.store.doctor()].count(False) == 0
        assert len([one for one in memory.list() if (one.key, one.scope) == ("gate", "")]) == 1
