"""Salvage: a new store of what is whole, the damaged one beside it, and nothing wrong in either."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from memento.cli import main
from memento.errors import ArchiveDamaged, StoreBusy, StoreError, StoreFromTheFuture, StoreUnusable
from memento.ledger import schema
from memento.ledger.lite import sqlite, swap
from memento.ledger.lite.file_pages import Pages, committed, values, varint
from memento.upkeep.backup import restore, salvage

EVERY = {"status": ["active", "superseded", "forgotten"], "limit": 10_000}


@pytest.fixture
def filled(open_memory):
    """A closed store with some of everything, and what it held."""
    memory = open_memory()
    for n in range(40):
        memory.add(f"note {n} " + "word " * (n * 97 % 1500), id=f"n{n}", key=f"k{n % 9}")
    memory.update("n39", text="changed " + "x" * 9000, tags=["t"])
    memory.forget("n39")
    memory.of("acme", "rami").add("théy keep this", id="o1")
    held = {m.id: m for m in memory.list(**EVERY)}
    history = {memory_id: states(memory, memory_id) for memory_id in held}
    memory.close()
    return memory.store.root, held, history


def states(memory, memory_id):
    """Return the history of a memory; a salvaged store does not know which changes made it."""
    return [replace(one, change=None, by=None) for one in memory.changes.history(memory_id)]


def damage(root, old, new):
    """Write other bytes of the same length over every occurrence in the ledger."""
    path = root / "ledger.db"
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new))


def test_of_a_sound_store_everything_is_kept(filled, open_memory):
    """Every field of every memory, of every namespace and status, and its history."""
    root, held, history = filled
    done = salvage(root)
    assert (done.kept, done.lost, done.changed) == (len(held) + 1, 0, ())
    memory = open_memory(root)
    assert {m.id: m for m in memory.list(**EVERY)} == held
    assert {memory_id: states(memory, memory_id) for memory_id in held} == history
    assert memory.of("acme", "rami").get("o1").text == "théy keep this"
    assert all(finding.ok for finding in memory.store.doctor())
    assert memory.add("new").seq > max(m.seq for m in held.values())


def test_a_changed_memory_is_left_behind_and_named(filled, open_memory):
    """It is neither kept nor silently gone; the damaged store holds it still, as it was."""
    root, held, _ = filled
    damage(root, b"note 3 word", b"note 7 sord")
    size = (root / "ledger.db").stat().st_size
    done = salvage(root)
    assert (done.kept, done.lost, done.changed) == (len(held), 1, ("n3",))
    assert {m.id for m in open_memory(root).list(**EVERY)} == held.keys() - {"n3"}
    aside = (done.aside / "ledger.db").read_bytes()
    assert len(aside) == size
    assert b"note 7 sord" in aside
    assert done.aside.parent == root.parent


def test_a_changed_earlier_state_is_named_and_left_behind(filled, open_memory):
    """History is checked as well: what it shows is what was."""
    root, held, _ = filled
    start = held["n39"].text[:3].encode()
    assert start == b"cha"
    damage(root, b"note 39 word", b"NOTE 39 word")
    memory = open_memory(root)
    found = {f.check: f.detail for f in memory.store.doctor(repair=False) if not f.ok}
    assert "earlier states of" in found["history"]
    assert "n39" in found["history"]
    memory.close()
    salvage(root)
    assert all("NOTE" not in v.text for v in open_memory(root).changes.history("n39"))


def test_a_schema_that_is_no_text_is_damage_and_no_riddle(filled, open_memory, capsys):
    """One flipped bit in a word of the schema: a typed error from every door, and all is saved."""
    root, held, _ = filled
    damage(root, b"CREATE TABLE events", b"CREATE \xd4ABLE events")
    with pytest.raises(StoreUnusable, match="damaged"):
        open_memory(root)
    with pytest.raises(ArchiveDamaged):
        restore(root / "ledger.db", root.parent / "restored")
    for command in ("list", "doctor"):
        assert main([command, "--root", str(root)]) == 4
        assert "is damaged" in capsys.readouterr().err
    assert salvage(root).lost == 0
    assert {m.id: m for m in open_memory(root).list(**EVERY)} == held


def test_what_is_still_in_the_log_is_saved(open_memory, tmp_path):
    """A store that was killed is read with its write-ahead log, whatever is in the file."""
    memory = open_memory()
    memory.add("in the file")
    memory._engine.ledger.checkpoint()
    memory.add("in the log")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        shutil.copy(memory.store.root / name, copy / name)
    with (copy / "ledger.db").open("r+b") as file:
        file.write(bytes(100))
    assert salvage(copy).lost == 0
    assert {m.text for m in open_memory(copy).list()} == {"in the file", "in the log"}


def test_what_was_erased_does_not_come_back(filled, open_memory):
    """A line about the erasure outweighs whatever a page may still hold."""
    root, _, _ = filled
    memory = open_memory(root)
    ledger = memory._engine.ledger
    docid = ledger.read(lambda c: c.execute("SELECT min(docid) FROM memories").fetchone()[0])
    ledger.write(lambda c: c.execute("INSERT INTO erased VALUES (?, 1, 99)", (docid,)))
    seq = memory.list(**EVERY)[0].seq
    memory.close()
    assert salvage(root).lost == 0
    assert seq not in {m.seq for m in open_memory(root).list(**EVERY)}


def test_memories_without_the_name_of_their_namespace_are_kept(filled, open_memory):
    """They are put where their number tells, not into anybody's namespace."""
    root, held, _ = filled
    damage(root, b'["default"]', b'["default",')
    assert salvage(root).kept == len(held) + 1
    memory = open_memory(root)
    assert memory.list(**EVERY) == []
    assert {m.id for m in memory.of("salvaged", "1").list(**EVERY)} == held.keys()


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", StoreUnusable), (b"Dear diary\n" * 900, StoreUnusable), (None, StoreUnusable)],
    ids=["empty", "a diary", "no ledger"],
)
def test_where_there_is_nothing_to_save_nothing_changes(tmp_path, content, error):
    """Another program's file, or none, is left as it is."""
    root = tmp_path / "store"
    root.mkdir()
    if content is not None:
        (root / "ledger.db").write_bytes(content)
    with pytest.raises(error):
        salvage(root)
    assert [p.name for p in tmp_path.iterdir()] == ["store"]
    assert content is None or (root / "ledger.db").read_bytes() == content


def test_a_store_from_the_future_is_refused(filled):
    """This code cannot know what is whole in it."""
    root, _, _ = filled
    data = bytearray((root / "ledger.db").read_bytes())
    data[60:64] = (schema.SCHEMA_VERSION + 1).to_bytes(4, "big")
    (root / "ledger.db").write_bytes(data)
    with pytest.raises(StoreFromTheFuture):
        salvage(root)


@pytest.mark.parametrize("knows", [True, False], ids=["at once", "two renames"])
def test_a_swap_that_fails_leaves_the_old_store(filled, monkeypatch, knows, open_memory):
    """Whichever rename fails, the store is at its place and nothing else is left."""
    root, held, _ = filled
    real = type(root).rename

    def fails(path, target):
        if ".aside-" in str(target) or not path.name.startswith("."):
            raise OSError(5, "I/O")
        return real(path, target)

    with monkeypatch.context() as patch:
        if not knows:
            patch.setattr(swap, "_exchange", lambda *_: False)
        patch.setattr(type(root), "rename", fails)
        with pytest.raises(StoreError):
            salvage(root)
    assert [p.name for p in root.parent.iterdir()] == [root.name]
    assert len(open_memory(root).list(**EVERY)) == len(held)


def test_without_an_exchange_two_renames_do(filled, monkeypatch):
    """Where the system cannot exchange two names."""
    root, held, _ = filled
    monkeypatch.setattr(swap, "_exchange", lambda *_: False)
    assert salvage(root).kept == len(held) + 1


def test_the_command_says_what_it_did(filled, capsys):
    """Exit status 1 and the ids if anything was lost; 0 if all was saved; 4 without a store."""
    root, held, _ = filled
    damage(root, b"note 3 word", b"note 7 sord")
    assert main(["doctor", "--salvage", "--root", str(root)]) == 1
    said = capsys.readouterr().out
    assert f"{len(held)} memories kept, 1 lost" in said
    assert "n3 was changed" in said
    assert main(["doctor", "--salvage", "--root", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lost"] == 0
    assert main(["doctor", "--salvage", "--root", str(root / "none")]) == 4


def test_one_damaged_row_does_not_stop_a_search(filled, open_memory):
    """The other rows are found after damage to any of its columns, and doctor names it."""
    root, _, _ = filled
    memory = open_memory(root)
    ledger = memory._engine.ledger
    for change in ("tier = 'shirt'", "aliases = '[\"a'", "importance = x'00'", "tags = 5"):
        ledger.write(lambda c, change=change: c.execute(f"UPDATE memories SET {change}"
                                                        " WHERE id = 'n31'"))  # fmt: skip
        fresh = open_memory(root)
        assert "n33" in [hit.id for hit in fresh.retrieve("note 33", k=3)]
        assert not all(f.ok for f in fresh.store.doctor(repair=False)) or change.startswith("tier")
        fresh.close()


def test_bytes_that_are_no_record_are_refused():
    """The parser believes no length and no type."""
    for payload in (b"\x09\x00", b"\x02\x0a", b"\x03\x06\x06abc", b"\x02\x01"):
        with pytest.raises((ValueError, IndexError)):
            values(payload)
    assert varint(b"\xff" * 9, 0) == (-1, 9)
    assert values(b"\x06\x00\x08\x09\x07\x01" + b"\x3f\xf0" + bytes(6) + b"\xff") == (
        None, 0, 1, 1.0, -1,
    )  # fmt: skip


def test_a_log_is_believed_up_to_its_last_whole_commit(open_memory):
    """A changed byte ends it; what comes after is not taken."""
    memory = open_memory()
    memory.add("one")
    log = memory.store.root / "ledger.db-wal"
    first = len(committed(log.read_bytes(), 4096))
    memory.add("two")
    data = bytearray(log.read_bytes())
    whole = committed(bytes(data), 4096)
    assert len(whole) >= first > 0
    data[40] ^= 1
    assert committed(bytes(data), 4096) == {}
    assert committed(b"", 4096) == {}
    assert Pages(memory.store.root / "ledger.db").count >= len(whole)


def test_a_cycle_of_free_pages_ends(tmp_path):
    """A damaged list of free pages is no endless loop."""
    page = bytearray(b"SQLite format 3\0".ljust(100, b"\0"))
    page[16:18] = (4096).to_bytes(2, "big")
    page[32:36] = (2).to_bytes(4, "big")
    trunk = (2).to_bytes(4, "big") + (10**9).to_bytes(4, "big")
    path = tmp_path / "file"
    path.write_bytes(bytes(page).ljust(4096, b"\0") + trunk.ljust(4096, b"\0"))
    assert 2 in Pages(path).free()
    assert list(Pages(path).records()) == []


def test_an_earlier_state_in_no_tier_is_left_out(filled, open_memory):
    """The checksum does not cover the tier; what is not one is damage all the same."""
    root, held, _ = filled
    with sqlite.sqlite3.connect(root / "ledger.db") as file:
        file.execute("UPDATE versions SET tier = 'anhrng' WHERE reason = 'updated'")
    file.close()
    assert salvage(root).kept == len(held) + 1
    states = [state.text for state in open_memory().changes.history("n39")]
    assert len(states) == 2  # before it was forgotten, and after
    assert all(text.startswith("changed") for text in states)


def test_a_garbled_index_makes_up_no_losses(filled):
    """A row that only one index knows is not a memory: each memory is in two at least."""
    root, held, _ = filled
    file = sqlite.sqlite3.connect(root / "ledger.db")
    file.execute("CREATE TABLE corrupt (ns, id, docid, PRIMARY KEY (ns, id, docid)) WITHOUT ROWID")
    file.execute("INSERT INTO corrupt VALUES (1, 'nobody', (1 << 40) + 28518)")
    file.commit()
    file.close()
    assert salvage(root).lost == 0
    assert len(held) == salvage(root).kept - 1


def test_an_erased_id_in_an_earlier_state_leaves_that_state_whole(open_memory):
    """Taking an id out of the history is no damage to it."""
    memory = open_memory()
    old = memory.add("tea", key="drink")
    new = memory.add("coffee", key="drink")
    memory.forget(old.id)  # its earlier state names the one that took its place
    memory.store.erase(new.id)
    assert all(finding.ok for finding in memory.store.doctor())
    assert salvage_after_closing(memory).versions == len(open_memory().changes.history(old.id)) - 1


def salvage_after_closing(memory):
    """Salvage a store that is no longer open."""
    memory.close()
    return salvage(memory.store.root)


def test_a_store_that_is_open_here_is_refused_before_it_is_read(open_memory):
    """To read its file and close it would drop the locks by which others see that it is in use."""
    memory = open_memory()
    memory.add("one")
    root = memory.store.root
    with pytest.raises(StoreBusy, match="close it first"):
        salvage(root)
    assert [path.name for path in root.parent.iterdir()] == [root.name]
    assert "locks" not in [found.check for found in memory.store.doctor()]


@pytest.mark.parametrize("spare", [0, 100], ids=["between pages", "within a page"])
def test_a_file_that_was_cut_off_is_said_to_be_short(filled, spare, capsys):
    """Memories on missing pages leave no trace, so their number is said to be unknown."""
    root, _, _ = filled
    file = root / "ledger.db"
    size = file.stat().st_size // 4096
    with file.open("r+b") as stream:
        stream.truncate((size // 2) * 4096 + spare)
    assert main(["doctor", "--salvage", "--root", str(root)]) == 1
    said = capsys.readouterr().out
    assert f"pages missing from the file: {size - size // 2}; an unknown number" in said
    assert "kept, at least" in said
    assert Pages(file).missing == 0


def test_pages_that_are_still_in_the_log_are_not_missing(open_memory, tmp_path):
    """A store that was killed keeps its newest pages in the log, and none of them is lost."""
    memory = open_memory()
    memory._engine.ledger.checkpoint()
    for n in range(50):
        memory.add(f"in the log {n} " + "word " * 200)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        shutil.copy(memory.store.root / name, copy / name)
    done = salvage(copy)
    assert (done.kept, done.lost, done.missing_pages) == (50, 0, 0)
