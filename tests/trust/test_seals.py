"""Links, events and how an earlier state ended are held against what was written, like memories."""

from __future__ import annotations

import io
import itertools

import pytest

from memento import MemoryManager, Status
from memento.errors import ArchiveDamaged, StoreUnusable
from memento.ledger import memories
from memento.upkeep.backup import restore, salvage

DAMAGE = {
    "links": [
        "src = dst, dst = src", "relation = 'proposes' WHERE relation = 'related'", "weight = 0.5",
        "seal = x'00'",
    ],
    "events": [
        "ns = 9", "at = at + 1", "kind = 'approved'", "docid = docid - 1",
        "detail = '{\"by\": \"theirs\"}'", "seal = 'x'",
    ],
    "versions": ["until = until + 1", "reason = 'approved'", "version = 7"],
}  # fmt: skip
CASES = [(table, change) for table, changes in DAMAGE.items() for change in changes]
CHECKS = {"links": "links and events", "events": "links and events", "versions": "history"}


@pytest.fixture
def memory(tmp_path):
    """A store with some of everything, all of it sound."""
    with MemoryManager(tmp_path / "store", embedder=None) as manager:
        manager.add("Rami drinks tea", key="drink", id="tea")
        manager.add("Rami drinks milk", key="drink", id="milk", related="tea")
        manager.add("Rami drinks beer", key="drink", id="beer", source="web", supersedes="milk")
        manager.add("gone", id="gone")
        manager.forget("gone")
        assert all(found.ok for found in manager.store.doctor())
        yield manager


def garble(memory, table, change):
    """Change rows of a table behind memento's back."""
    memory._engine.ledger.write(lambda c: c.execute(f"UPDATE OR REPLACE {table} SET {change}"))


def wrong(memory):
    """Name what doctor finds wrong."""
    return {found.check for found in memory.store.doctor(repair=False) if not found.ok}


@pytest.mark.parametrize(("table", "change"), CASES)
def test_doctor_and_backup_notice(memory, tmp_path, table, change):
    """Whichever column was changed; a backup of it is refused."""
    garble(memory, table, change)
    assert wrong(memory) == {CHECKS[table]}
    with pytest.raises(ArchiveDamaged):
        memory.store.backup(tmp_path / "file")


@pytest.mark.parametrize(("table", "change"), CASES)
def test_an_export_and_a_salvage_leave_it_out(memory, tmp_path, table, change):
    """No damaged line gets into another store; every memory does."""
    garble(memory, table, change)
    memory.store.export(stream := io.StringIO())
    with MemoryManager(tmp_path / "copy", embedder=None) as copy:
        copy.store.import_from(io.StringIO(stream.getvalue()), trust="user")
        assert wrong(copy) == set()
        assert len(copy.list(status=list(Status))) == 4
    memory.close()
    assert salvage(memory.store.root).kept == 4
    with MemoryManager(memory.store.root, embedder=None) as whole:
        assert wrong(whole) == set()
        assert len(whole.list(status=list(Status))) == 4


def test_a_garbled_ending_decides_nothing(memory):
    """A forgotten memory does not come back as approved; a moment and a history say so."""
    memory.add("a page", id="page", source="web")
    memory.forget("page")
    garble(memory, "versions", "status = 'active' WHERE reason = 'forgotten'")
    assert memory.restore("page").status is Status.QUARANTINED
    with pytest.raises(StoreUnusable, match="'page'"):
        memory.changes.history("page")


def test_a_garbled_link_hands_over_no_place(memory):
    """The proposal of a page to replace a memory is believed only as it was written."""
    garble(memory, "links", "weight = 0.5")
    with pytest.raises(StoreUnusable, match=r"link of .*'beer'"):
        memory.quarantine.approve("beer")
    assert memory.get("beer").status is Status.QUARANTINED
    assert memory.get("milk").status is Status.ACTIVE


def test_every_change_keeps_them_whole(memory, tmp_path):
    """Approving, erasing, restoring to a moment, export and import: doctor is content with each."""
    memory.quarantine.approve("beer")
    memory.update("beer", text="Rami drinks cider")
    memory.retrieve("Rami", 5)
    memory.flush()
    then = memory.store.clock()
    memory.store.erase("tea")
    assert wrong(memory) == set()
    memory.restore("gone")
    memory.store.backup(tmp_path / "file")
    restore(tmp_path / "file", tmp_path / "past", at=then)
    memory.store.export(stream := io.StringIO())
    with (
        MemoryManager(tmp_path / "past", embedder=None) as past,
        MemoryManager(tmp_path / "copy", embedder=None) as copy,
    ):
        copy.store.import_from(io.StringIO(stream.getvalue()), trust="user")
        for one, ledger in itertools.product((past, copy), ("links", "events")):
            assert wrong(one) == set()
            held = one._engine.ledger.read(
                lambda c, t=ledger: c.execute(f"SELECT count(*), count(seal) FROM {t}").fetchone()
            )
            assert held[0] == held[1] > 0
        row = copy._engine.ledger.read(lambda c: memories.by_id(c, 1, "beer"))
        states = copy._engine.ledger.read(lambda c: memories.states(c, row.docid))
        assert all('"ended"' in state.earlier for state in states)
