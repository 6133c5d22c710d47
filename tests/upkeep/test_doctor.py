"""doctor and stats: damage is found, named, and mended where it can be made again."""

from __future__ import annotations

import io
import random
import re
from datetime import timedelta

import pytest
from beside import write_sql

from memento.check import MOST_NAMED
from memento.errors import ArchiveDamaged, StoreClosed, StoreError, StoreUnusable
from memento.ledger import checks
from memento.ledger.lite import fulltext, library
from memento.ledger.lite import store as ledger_module
from memento.testing import HashEmbedder
from memento.upkeep.backup import salvage


def report(memory, *, repair=False):
    """Return what is not well, by check."""
    return {f.check: f for f in memory.store.doctor(repair=repair) if not f.ok or f.repaired}


@pytest.fixture
def filled(memory):
    """A store with some of everything."""
    memory.add_many(f"note {n} about something of no importance" for n in range(30))
    memory.add("first", key="k")
    memory.update(memory.add("second", key="k", tags=["t"]).id, text="third")
    memory.forget(memory.add("fourth", "short", session="s").id)
    return memory


def test_a_healthy_store_is_well(filled):
    """Every check passes, in a fixed order, before and after reopening connections."""
    found = filled.store.doctor()
    assert [f.check for f in found] == [
        "sqlite",
        "ledger",
        "memories",
        "namespaces",
        "history",
        "links and events",
        "changes",
        "sessions",
        "scopes",
        "full text",
        "derived rows",
        "dynamics",
        "claims",
    ]
    assert all(f.ok and not f.repaired for f in found)
    assert filled.store.doctor() == found


def test_a_tier_that_is_none_is_damage(filled):
    """Of a memory and of an earlier state: named, and a typed error instead of a ValueError."""
    (one,) = [m for m in filled.list() if m.version > 1]
    write_sql(filled, "UPDATE versions SET tier = 'anhrng' WHERE version = 1")
    assert one.id in report(filled)["history"].detail
    with pytest.raises(StoreUnusable, match=one.id):
        filled.changes.history(one.id)
    write_sql(filled, "UPDATE memories SET tier = 'anhrng' WHERE id = ?", one.id)
    assert one.id in report(filled)["memories"].detail
    with pytest.raises(StoreUnusable, match=one.id):
        filled.get(one.id)


def page_of(memory, docid):
    """Find the page of ``ledger.db`` that holds a row, when the log is folded."""
    ledger = memory._engine.ledger
    assert ledger.fold_log(1.0)
    (text,) = ledger.read(
        lambda c: c.execute("SELECT id || text FROM memories WHERE docid = ?", (docid,)).fetchone()
    )
    content = (memory.store.root / "ledger.db").read_bytes()
    pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
    (number,) = [n for n, page in enumerate(pages) if text.encode() in page]
    return number, pages[number]


def put_page(root, number, page):
    """Overwrite a page of a closed store."""
    with (root / "ledger.db").open("r+b") as file:
        file.seek(number * 4096)
        file.write(page)


@pytest.mark.parametrize("lost", ["update", "forget", "update, and its earlier state"])
def test_a_page_of_an_earlier_day_is_stale(open_memory, lost):
    """A lost write is named though every checksum is right, and no index is made to fit it."""
    memory = open_memory()
    ids = [memory.add(f"note {n} about a kettle {'x' * 300}", id=f"note-{n}").id for n in range(40)]
    memory.flush()
    docid = memory.get(ids[20]).seq | 1 << 40
    number, old = page_of(memory, docid)
    if lost == "forget":
        memory.forget(ids[20])
    else:
        memory.update(ids[20], text=f"note 20 about a teapot {'x' * 300}")
    if "earlier" in lost:
        write_sql(memory, "DELETE FROM versions")
        write_sql(memory, "DELETE FROM backlog")
    memory.flush()
    assert page_of(memory, docid)[0] == number
    assert report(memory) == {}, "the control: nothing is wrong before the page is put back"
    memory.close()
    put_page(memory.store.root, number, old)
    again = open_memory()
    check = "full text" if "earlier" in lost else "memories"
    for repair in (False, True):
        found = report(again, repair=repair)
        assert ids[20] in found[check].detail
        assert "stale" in found[check].detail
        assert not found.get("full text", found[check]).repaired
    again.close()
    if "earlier" not in lost:
        assert salvage(memory.store.root).changed == (ids[20],)
        mended = open_memory()
        mended.add("note 20 about a teapot", id=ids[20])
        assert report(mended) == {}


@pytest.mark.parametrize("other", [2, 66])
def test_a_memory_with_another_owner_is_damage(filled, tmp_path, other):
    """Its number says one namespace, its row id another: named, and no backup is made of it."""
    filled.of("bob").add("bob's")
    one = filled.list()[0].id
    write_sql(filled, "PRAGMA foreign_keys=OFF")
    write_sql(filled, "UPDATE memories SET ns = ? WHERE id = ?", other, one)
    assert one in report(filled)["memories"].detail
    with pytest.raises(ArchiveDamaged, match=one):
        filled.store.backup(tmp_path / "b.db")
    assert filled.store.export(io.BytesIO()).damaged == (one,)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE namespaces SET labels = '[\"eve\"]' WHERE ns = 1", "labels of namespace 1"),
        ("UPDATE namespaces SET labels = '[\"eve\"' WHERE ns = 1", "labels of namespace 1"),
        ("UPDATE namespaces SET ns = 7 WHERE ns = 2", "namespace 2 is missing"),
        ("DELETE FROM namespaces WHERE ns = 2", "namespace 2 is missing"),
        ("UPDATE meta SET name = 'namespace:x' WHERE name = 'namespace:1'", None),
    ],
)
def test_labels_that_were_changed_are_damage(filled, open_memory, tmp_path, change, problem):
    """They would hand one's memories to another: named, not backed up, and salvage does not."""
    filled.of("bob").add("bob's", id="b")
    write_sql(filled, "PRAGMA foreign_keys=OFF")
    write_sql(filled, change)
    found = report(filled)
    if problem is None:
        assert found == {}
        return
    assert problem in found["namespaces"].detail
    with pytest.raises(ArchiveDamaged, match=problem):
        filled.store.backup(tmp_path / "b.db")
    filled.close()
    salvage(filled.store.root)
    memory = open_memory()
    assert memory.of("eve").list() == []
    assert report(memory) == {}
    (left,) = memory.of("salvaged", "2").list() or memory.of("bob").list()
    assert left.id == "b"


def test_labels_that_the_index_garbles_are_damage(filled, open_memory):
    """A namespace that is not found by its labels would seem empty."""
    filled.close()
    path, old, new = filled.store.root / "ledger.db", b'["default"]', b'["defauly"]'
    data = path.read_bytes()
    copies = [at.start() for at in re.finditer(re.escape(old), data)]
    assert len(copies) == 2  # the table's, and the index's
    for at in copies:
        path.write_bytes(data[:at] + new + data[at + len(old) :])
        with open_memory() as memory:
            assert "namespace 1 were changed" in report(memory)["namespaces"].detail


def test_labels_that_cannot_be_read_are_a_typed_error(filled):
    """Of an export of all namespaces as well."""
    write_sql(filled, "UPDATE namespaces SET labels = '[' WHERE ns = 1")
    with pytest.raises(StoreUnusable, match="labels of namespace 1"):
        filled.store.export(io.BytesIO(), all_namespaces=True)


def test_an_index_that_lost_its_vectors_is_noticed_and_made_anew(open_memory):
    """Asked for what it holds, if it is open; doctor says so, and the index comes back."""
    memory = open_memory(embedder=HashEmbedder(8))
    memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(20))
    assert memory.flush(wait=True, timeout=60)
    assert "index" in {f.check for f in memory.store.doctor() if f.ok}
    long = memory._engine._long
    long.remove(
        memory.store.namespace, [one.id for one in memory.list(limit=20)]
    )  # behind its back
    for _ in range(2):
        assert "are not found by a search for themselves" in report(memory)["index"].detail
    assert report(memory, repair=True)["index"].repaired
    memory.add("one more", "long")
    assert memory.flush(wait=True, timeout=60)
    assert "index" not in report(memory)
    assert "started empty" in long.reason


def test_a_connection_that_saw_an_older_index_raises_no_false_alarm(memory):
    """Reading first, writing then, looking after: the index is sound and doctor says so."""
    memory.add("first")
    memory.retrieve("first")
    memory.add("second")
    assert report(memory) == {}


def test_sixteen_changed_bytes_on_the_disk_are_noticed(filled, open_memory):
    """quick_check passes over them; the row's checksum does not. Nothing is changed by looking."""
    kept = filled.add("the combination is 4711-4711-4711-1", "long")
    filled.close()
    path = filled.store.root / "ledger.db"
    path.write_bytes(path.read_bytes().replace(b"4711-4711-4711-1", b"1234-1234-1234-1"))
    memory = open_memory()
    found = report(memory, repair=True)
    assert kept.id in found["memories"].detail
    assert "ledger" not in found
    assert set(report(memory)) == {"memories"}


def test_many_changed_rows_are_counted_and_some_named(filled):
    """The detail stays short."""
    write_sql(filled, "UPDATE memories SET text = text || '!'")
    detail = report(filled)["memories"].detail
    assert detail.startswith("33 changed outside memento: ")
    assert len(re.findall(r"[0-9a-f]{8}-", detail)) == MOST_NAMED
    assert detail.endswith(
        " ...; `memento doctor --salvage` makes a new ledger of all intact memories"
    )


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories_fts_content SET c1 = 'other' WHERE id = (SELECT max(docid) FROM memories)",
        "DELETE FROM memories_fts WHERE rowid = (SELECT max(docid) FROM memories)",
        "DELETE FROM memories_fts",
        "UPDATE memories_fts_data SET block = zeroblob(length(block)) WHERE id > 10",
        "UPDATE memories_fts_data SET block = x'00' WHERE id = 10",
        "DELETE FROM memories_fts_data WHERE id > 10",
    ],
    ids=["other words", "one row", "all rows", "zeroed", "structure", "segments lost"],
)
def test_full_text_is_mended(filled, damage):
    """However it was damaged it is named, then made again from the memories, and found by again."""
    kept = filled.add("a zebra crossing", "long")
    filled.flush()
    filled._engine.indexer.stop(10)  # in quiet moments it would stumble over the damage too
    write_sql(filled, damage)
    assert set(report(filled)) == {"full text"}
    mended = report(filled, repair=True)["full text"]
    assert (mended.ok, mended.repaired) == (True, True)
    assert report(filled) == {}
    assert [hit.id for hit in filled.retrieve("zebra")] == [kept.id]


def test_rows_without_their_memory_are_removed(filled):
    """Whatever table they are in."""
    for sql in (
        "INSERT INTO backlog VALUES (99, 1, 'embed')",
        "INSERT INTO embedders VALUES (1, 'x', 1)",
        "INSERT INTO embeddings VALUES (99, 1, 1, x'00')",
        "INSERT INTO memories_fts (rowid, head) VALUES (99, 'stray')",
    ):
        write_sql(filled, sql)
    detail = report(filled)["derived rows"].detail
    assert "1 in backlog, 1 in embeddings, 1 in memories_fts" in detail
    assert report(filled, repair=True)["derived rows"].repaired
    assert report(filled) == {}


def test_vectors_that_nobody_owes_are_owed_again(open_memory):
    """With an embedder: rows that have no vector and no line in the backlog."""
    memory = open_memory(embedder=HashEmbedder(16))
    memory._engine.indexer.stop(10)
    memory.add_many(["a", "b"])
    assert report(memory) == {}
    assert (
        "2 waiting to be embedded" in {f.check: f.detail for f in memory.store.doctor()}["vectors"]
    )
    memory.flush()
    write_sql(memory, "DELETE FROM backlog")
    assert "2 memories have no vector" in report(memory)["vectors"].detail
    assert report(memory, repair=True)["vectors"].repaired
    assert memory.store.stats().backlog == {"embed": 2}


def test_damage_that_stands_in_the_way_is_a_finding_too(filled, monkeypatch):
    """One check that cannot be done does not keep the others from being done."""

    def broken(_connection):
        raise StoreError("ledger.db", "the disk reported an I/O error")

    monkeypatch.setattr(checks, "changed_rows", broken)
    found = report(filled)
    assert set(found) == {"memories"}
    assert "I/O error" in found["memories"].detail


def test_a_closed_store_is_not_a_finding(filled):
    """StoreClosed is the caller's mistake, not damage."""
    filled.close()
    with pytest.raises(StoreClosed):
        filled.store.doctor()


def test_garbled_pages_never_raise_anything_else(filled, open_memory):
    """With forty corrupt files doctor reports, or opening is a typed error. The process lives."""
    filled.close()
    path = filled.store.root / "ledger.db"
    whole = path.read_bytes()
    rng, noticed = random.Random(7), 0
    for _ in range(40):
        data = bytearray(whole)
        at = rng.randrange(100, len(data) - 512)
        data[at : at + 512] = rng.randbytes(512)
        path.write_bytes(data)
        memory = None
        try:
            memory = open_memory()
            noticed += not all(f.ok for f in memory.store.doctor(repair=False))
            memory.list(limit=1000)
            memory.retrieve("note", k=100)
            memory.sessions.recent(session="s")
        except StoreError:
            noticed += 1
        finally:
            if memory is not None:
                memory.close()
            for litter in filled.store.root.glob("ledger.db-*"):
                litter.unlink()
    assert noticed >= 5  # the rest hit bytes that nothing uses
    path.write_bytes(whole)


def test_an_old_sqlite_is_mentioned(memory, monkeypatch):
    """One that can lose a race between processes: well, but said."""
    monkeypatch.setattr(library, "library_version", lambda: (3, 40, 1))
    first = memory.store.doctor()[0]
    assert first.ok
    assert "3.40.1 has a race condition" in first.detail
    assert "pysqlite3" in first.detail


def test_full_text_agrees_after_every_kind_of_change(memory):
    """Adding, changing, hiding and bringing back leave the index as it should be."""
    kept = [memory.add(text, tags=["x"], key=key) for text, key in (("a b", None), ("c d", "k"))]
    memory.update(kept[0].id, text="東京 is far", tags=["y"], add_aliases=["z"])
    memory.forget(kept[1].id)
    memory.restore(kept[1].id)
    memory.add("e f", key="k")
    ledger = memory._engine.ledger
    assert ledger.read(checks.unindexed_rows) == (0, [])
    assert ledger.write(lambda c: c.words.intact())
    assert ledger.quick_check() == []


def test_stats_count_what_is_there(open_memory, clock):
    """It shows active memories by tier, hidden by status, the backlog, and the file sizes."""
    memory = open_memory(embedder=HashEmbedder(16))
    memory._engine.indexer.stop(10)
    memory.add("a", "short")
    memory.add("b", "medium")
    memory.add("c", "long", expires_in=60)
    memory.add("old", key="k")
    memory.add("new", "long", key="k")
    memory.forget(memory.add("gone").id)
    stats = memory.store.stats()
    assert stats.tiers == {"short": 1, "medium": 1, "long": 2}
    assert stats.memories == 4
    hidden = {status: count for status, count in stats.hidden.items() if count}
    assert hidden == {"superseded": 1, "forgotten": 1}
    assert stats.backlog == {"embed": 5, "drop": 1}
    assert (stats.embedders, stats.trouble, stats.long) == ({}, {}, "cold")
    assert stats.ledger_bytes > 10_000
    clock.advance(timedelta(minutes=2))
    assert memory.store.stats().tiers["long"] == 1
    assert memory.of("nobody").store.stats().memories == 0


@pytest.mark.parametrize("version", [(3, 44, 0), (3, 43, 2)])
def test_a_doctor_that_finds_nothing_writes_nothing(memory, monkeypatch, version):
    """It reads only, so that no writer waits for it, unless SQLite is too old for that."""
    if ledger_module.library_version() < version:
        pytest.skip("this SQLite checks the full text as a writer only")
    memory.add_many(f"note {n}" for n in range(100))
    memory.flush(wait=True)
    memory._engine.indexer.stop(10)
    writes, write = [], ledger_module.LiteLedger.write

    def noted(ledger, job, **how):
        writes.append(job)
        return write(ledger, job, **how)

    monkeypatch.setattr(ledger_module.LiteLedger, "write", noted)
    monkeypatch.setattr(ledger_module, "library_version", lambda: version)
    assert all(found.ok for found in memory.store.doctor())
    assert len(writes) == (version < fulltext.CHECKED_AS_READ)
