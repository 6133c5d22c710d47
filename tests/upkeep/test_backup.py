"""Backing up under load, restoring whole, and restoring to a moment."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from beside import sound
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.config import ShortConfig
from memento.errors import (
    ArchiveDamaged,
    InvalidInput,
    MomentUnknown,
    NothingToUndo,
    StoreBusy,
    StoreError,
    StoreFromTheFuture,
    StoreGone,
    TargetExists,
)
from memento.ledger import checks
from memento.ledger.lite import sqlite, store, swap
from memento.testing import HashEmbedder, ManualClock
from memento.upkeep.backup import restore, salvage

STORES = Path(__file__).parents[1] / "ledger" / "stores"
EVERY = ["active", "superseded", "forgotten"]


def dump(memory):
    """Read all a store holds, but for the revisions, which tell only what came before what."""

    def job(connection):
        rows = [row.values()[:2] + row.values()[3:-1] for row in checks.rows(connection)]
        fulltext = connection.execute("SELECT rowid, * FROM memories_fts ORDER BY rowid")
        versions = connection.execute(
            "SELECT docid, version, text, status, tier, until, reason, earlier FROM versions"
        )
        links = connection.execute("SELECT * FROM links")
        events = connection.execute("SELECT ns, at, kind, docid, detail FROM events ORDER BY event")
        return rows, *(part.fetchall() for part in (fulltext, versions, links, events))

    return memory._engine.ledger.read(job)


def test_a_backup_is_the_store(memory, open_memory, tmp_path):
    """Every row, version, link and event of every namespace is in the restored store."""
    memory.add("The kettle is blue", "long", key="kettle", id="one")
    memory.add("The kettle is red", "long", key="kettle", related="one")
    memory.update("one", tags=["kitchen"])
    memory.of("acme", "rami").add("The door code is 4711", session="s")
    memory.forget("one")
    memory.flush()
    before = dump(memory)
    kept = memory.store.backup(tmp_path / "b.db")
    assert (kept.path, kept.memories) == (tmp_path / "b.db", 3)
    assert kept.bytes == kept.path.stat().st_size

    done = restore(kept.path, tmp_path / "copy")
    assert (done.root, done.memories) == (tmp_path / "copy", 3)
    assert (done.taken_at, done.moment, done.aside) == (kept.taken_at, None, None)
    copy = open_memory(tmp_path / "copy")
    assert dump(copy) == before
    assert sound(copy)
    copy.restore("one")  # it is a store like any other


def test_a_backup_taken_under_load_holds_all_that_was_acknowledged(memory, open_memory, tmp_path):
    """Four threads write throughout; each backup is sound and has every add that had returned."""
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(who):
        n = 0
        while not stop.is_set():
            acknowledged.append(memory.add(f"{who} writes line {n} of many", "medium").id)
            n += 1

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    copies = []
    for n in range(5):
        owed = set(acknowledged)
        memory.store.backup(tmp_path / f"{n}.db")
        copies.append((tmp_path / f"{n}.db", owed))
    stop.set()
    for thread in threads:
        thread.join()
    for file, owed in copies:
        restore(file, file.with_suffix(""))
        copy = open_memory(file.with_suffix(""))
        assert owed <= {found.id for found in copy.list(limit=1_000_000)}
        assert sound(copy)


@pytest.mark.parametrize("verb", ["backup", "export"])
def test_what_is_written_is_private_and_overwrites_nothing_unasked(memory, tmp_path, verb):
    """Mode 0600 under any umask, no draft beside it; a file that is there stays, unless asked."""
    memory.add("a")
    write = getattr(memory.store, verb)
    old = os.umask(0)
    try:
        write(tmp_path / "b")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    (tmp_path / "b").write_text("mine")
    for taken in (tmp_path / "b", tmp_path):
        with pytest.raises(TargetExists):
            write(taken)
    assert (tmp_path / "b").read_text() == "mine"
    assert write(tmp_path / "b", overwrite=True).memories == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "store"]


@pytest.mark.parametrize("name", ["b.db", "ledger.db"])
@pytest.mark.parametrize("verb", ["backup", "export"])
@pytest.mark.parametrize("where", ["itself", "a link to the folder", "a link inside"])
def test_a_file_in_the_stores_own_folder_is_refused(memory, tmp_path, name, verb, where):
    """It would be lost with the store, erasing would miss it, and it could replace the ledger."""
    memory.add("a")
    folder = memory.store.root
    if where == "a link to the folder":
        (tmp_path / "link").symlink_to(memory.store.root)
        folder = tmp_path / "link"
    if where == "a link inside" and name != "ledger.db":
        (memory.store.root / name).symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidInput, match="store's own folder"):
        getattr(memory.store, verb)(folder / name, overwrite=True)
    assert [one.text for one in memory.list()] == ["a"]


@pytest.mark.parametrize("verb", ["backup", "export"])
def test_what_is_not_a_file_is_never_replaced(memory, tmp_path, verb):
    """A device or a pipe that others use stays, also at the end of a link; a file is replaced."""
    memory.add("a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with pytest.raises(TargetExists, match="not a file"):
            getattr(memory.store, verb)(tmp_path / name, overwrite=True)
    assert (tmp_path / "link").is_fifo()
    (tmp_path / "plain").write_text("mine")
    getattr(memory.store, verb)(tmp_path / "plain", overwrite=True)
    assert "mine" not in (tmp_path / "plain").read_text(errors="replace")


def test_a_backup_where_none_can_be_written_leaves_nothing(memory, tmp_path):
    """A folder that is not there is a typed error."""
    memory.add("a")
    with pytest.raises(Exception, match="No such file") as caught:
        memory.store.backup(tmp_path / "absent" / "b.db")
    assert isinstance(caught.value.__cause__, OSError)


def test_a_store_is_never_taken_the_place_of_unasked(memory, open_memory, tmp_path):
    """TargetExists; set aside on demand, and then whole at its new place."""
    memory.add("old", id="old")
    memory.store.backup(tmp_path / "b.db")
    memory.add("newer", id="newer")
    memory.close()
    with pytest.raises(TargetExists, match="set the store aside"):
        restore(tmp_path / "b.db", tmp_path / "store")
    done = restore(tmp_path / "b.db", tmp_path / "store", set_aside=True)
    assert [found.id for found in open_memory(tmp_path / "store").list()] == ["old"]
    assert [found.id for found in open_memory(done.aside).list()] == ["old", "newer"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.db", "store", done.aside.name]


def test_a_store_in_use_is_not_set_aside(memory, tmp_path):
    """StoreBusy, and the store goes on where it was."""
    memory.add("a")
    memory.store.backup(tmp_path / "b.db")
    with pytest.raises(StoreBusy, match="close it first"):
        restore(tmp_path / "b.db", memory.store.root, set_aside=True)
    memory.add("b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db", "store"]


def test_who_opens_a_store_that_is_just_set_aside_writes_nothing(memory, open_memory, monkeypatch):
    """Between the look and the exchange the writer is ours; after it, the files are gone."""
    root, backup = memory.store.root, memory.store.root.with_name("b.db")
    memory.add("old", id="old")
    memory.store.backup(backup)
    memory.close()
    exchange, opened = swap._change_places, []

    def in_between(*places):
        opened.append(open_memory(root))
        with pytest.raises(StoreBusy):
            opened[0].add("lost", id="lost")
        exchange(*places)

    monkeypatch.setattr(swap, "_change_places", in_between)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    done = restore(backup, root, set_aside=True)
    with pytest.raises(StoreGone):
        opened[0].add("also lost", id="also lost")
    assert open_memory(root).add("new", id="new").id == "new"
    assert "lost" not in {one.id for one in open_memory(done.aside).list()}


def killed(memory, monkeypatch, moment):
    """Let a restore be killed before or after the exchange; returns its backup and what it left."""
    root, file = memory.store.root, memory.store.root.with_name("b.db")
    memory.add("in the backup")
    memory.store.backup(file)
    memory.add("later")
    memory.close()
    exchange = swap._exchange

    def die(*folders):
        if moment == "after":
            assert exchange(*folders)
        os._exit(7)

    with monkeypatch.context() as patched:
        patched.setattr(swap, "_exchange", die)
        child = os.fork()
        if not child:
            restore(file, root, set_aside=True)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    (left,) = (path for path in root.parent.iterdir() if path.suffix == ".tmp")
    return file, left


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_restore_killed_beside_the_exchange_is_made_good(
    memory, open_memory, monkeypatch, moment
):
    """The next one removes a store that never came to its place, and names the old one."""
    root = memory.store.root
    file, left = killed(memory, monkeypatch, moment)
    restore(file, root, set_aside=True)
    assert not left.exists()
    old = [path for path in root.parent.iterdir() if path.is_dir() and path != root]
    texts = [{one.text for one in open_memory(path).list()} for path in old]
    assert {"in the backup", "later"} in texts


def test_opening_names_the_store_that_a_killed_restore_had_replaced(
    memory, open_memory, monkeypatch, caplog
):
    """It gets the name of a store that was set aside, and the log says so."""
    root = memory.store.root
    _, left = killed(memory, monkeypatch, "after")
    assert [one.text for one in open_memory(root).list()] == ["in the backup"]
    (aside,) = root.parent.glob(f"{root.name}.aside-*")
    assert not left.exists()
    assert str(aside) in caplog.text
    assert {one.text for one in open_memory(aside).list()} == {"in the backup", "later"}


def test_a_replaced_store_is_left_to_the_restore_that_lives(memory, monkeypatch):
    """Opening the new store between the exchange and the renaming does not rename the old one."""
    memory.add("in the backup")
    file, root = memory.store.root.with_name("b.db"), memory.store.root
    memory.store.backup(file)
    memory.close()
    exchange = swap._exchange

    def meanwhile(*folders):
        done = exchange(*folders)
        swap.finish(root.resolve())
        return done

    monkeypatch.setattr(swap, "_exchange", meanwhile)
    done = restore(file, root, set_aside=True)
    assert list(root.parent.glob(f"{root.name}.aside-*")) == [done.aside]


def test_doctor_names_what_a_killed_restore_did_not_finish(memory, open_memory, monkeypatch):
    """The store that never came to its place has a hidden name; the finding says what it is."""
    root = memory.store.root
    _, left = killed(memory, monkeypatch, "before")
    findings = {one.check: one for one in open_memory(root).store.doctor()}
    assert left.name in findings["beside the store"].detail
    assert all(one.ok for one in findings.values())


def test_a_store_that_another_process_builds_is_left_to_it(memory, tmp_path, monkeypatch):
    """Two restores to one place: neither removes what the other is just building."""
    memory.add("in the backup")
    memory.store.backup(tmp_path / "b.db")
    memory.close()
    change_places, building = swap._change_places, []

    def meanwhile(*folders):
        building.extend(path for path in tmp_path.iterdir() if path.suffix == ".tmp")
        swap._remove_unbuilt(memory.store.root)
        assert building[0].is_dir()
        change_places(*folders)

    monkeypatch.setattr(swap, "_change_places", meanwhile)
    restore(tmp_path / "b.db", memory.store.root, set_aside=True)
    assert len(building) == 1
    assert not building[0].exists()


def test_a_damaged_store_is_set_aside_as_it_is(memory, open_memory, tmp_path):
    """A store that cannot be opened can still be restored over; not a byte of it is touched."""
    memory.add("a")
    memory.store.backup(tmp_path / "b.db")
    memory.close()
    (memory.store.root / "ledger.db").write_bytes(b"garbage" * 1000)
    done = restore(tmp_path / "b.db", memory.store.root, set_aside=True)
    assert (done.aside / "ledger.db").read_bytes() == b"garbage" * 1000
    assert len(open_memory(memory.store.root).list()) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"code is 4711", b"code is 4712"), (b'"actor": null', b'"actor"; null')],
    ids=["text", "JSON"],
)
def test_a_damaged_earlier_state_is_refused(memory, tmp_path, old, new):
    """A former text of a memory is part of the backup: one changed letter of it is damage."""
    memory.add("The code is 4711", id="x")
    memory.update("x", text="The code is 9999")
    memory.store.backup(tmp_path / "b.db")
    data = (tmp_path / "b.db").read_bytes()
    assert data.count(old) == 1
    (tmp_path / "b.db").write_bytes(data.replace(old, new))
    with pytest.raises(ArchiveDamaged, match="earlier state of memory 'x'"):
        restore(tmp_path / "b.db", tmp_path / "copy")
    assert not (tmp_path / "copy" / "ledger.db").exists()


def test_a_damaged_backup_is_refused_and_makes_no_store(memory, tmp_path):
    """Cut off anywhere, or something else entirely: ArchiveDamaged, and no folder is left."""
    memory.add_many(f"the kettle number {n} is blue" for n in range(200))
    whole = memory.store.backup(tmp_path / "b.db").path.read_bytes()
    bad = [whole[:size] for size in (0, 10, 100, 4096, len(whole) // 2, len(whole) - 1)]
    for n, content in enumerate([*bad, b"Dear diary\n" * 1000]):
        file = tmp_path / f"bad{n}"
        file.write_bytes(content)
        with pytest.raises(ArchiveDamaged) as caught:
            restore(file, tmp_path / "new" / "copy")
        assert caught.value.path == file
        assert not (tmp_path / "new").exists()
    with pytest.raises(ArchiveDamaged, match="not a file"):
        restore(tmp_path / "absent", tmp_path / "copy")


def test_a_failed_restore_leaves_a_folder_that_was_there(memory, tmp_path, clock):
    """Only the folders that it made itself are removed, whatever the error was."""
    done = memory.store.backup(tmp_path / "b.db")
    (tmp_path / "mine").mkdir()
    for folder in ("mine", "new"):
        with pytest.raises(MomentUnknown):
            restore(done.path, tmp_path / folder, at=clock() + timedelta(days=900))
    assert list((tmp_path / "mine").iterdir()) == []
    assert not (tmp_path / "new").exists()


def test_a_backup_of_a_damaged_store_names_the_store_and_what_helps(memory, tmp_path):
    """Its own unfinished file is of no interest, and no backup is left."""
    memory.add("the kettle is blue", id="x")
    memory._engine.ledger.write(lambda c: c.execute("UPDATE memories SET text = 'red'"))
    with pytest.raises(ArchiveDamaged, match="memory 'x' was changed") as caught:
        memory.store.backup(tmp_path / "b.db")
    assert caught.value.path == memory.store.root
    assert str(caught.value).startswith(f"{memory.store.root}: is damaged")
    assert "`memento doctor --salvage`" in str(caught.value)
    assert ".tmp" not in str(caught.value)
    assert not (tmp_path / "b.db").exists()


def test_a_text_changed_on_the_disk_is_never_restored(memory, open_memory, tmp_path):
    """Wherever in the file a text is changed, the backup is refused or the change is in no use."""
    memory.add_many(f"the kettle number {n} is blue" for n in range(200))
    whole = memory.store.backup(tmp_path / "b.db").path.read_bytes()
    before = dump(memory)
    places = [found.start() for found in re.finditer(b"the kettle number 17 is", whole)]
    refused = 0
    for at in places:
        file = tmp_path / f"{at}.db"
        file.write_bytes(whole[:at] + b"tea" + whole[at + 3 :])
        try:
            restore(file, tmp_path / str(at))
        except ArchiveDamaged:
            refused += 1
        else:  # what SQLite left in the unused part of a page
            assert dump(open_memory(tmp_path / str(at))) == before
    assert refused == 2  # the memory, and the copy that the full text has


def test_a_plain_copy_of_a_ledger_is_a_backup_too(memory, open_memory, tmp_path):
    """Copied with its log after a crash, nothing of the log is missing."""
    memory.add("in the log")
    (tmp_path / "crashed").mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        shutil.copy(memory.store.root / name, tmp_path / "crashed" / name)
    done = restore(tmp_path / "crashed" / "ledger.db", tmp_path / "copy")
    assert done.taken_at is None
    assert [found.text for found in open_memory(tmp_path / "copy").list()] == ["in the log"]


def test_a_backup_from_the_future_is_refused(memory, tmp_path):
    """Both versions are named, no store is made."""
    memory.store.backup(tmp_path / "b.db")
    file = sqlite.sqlite3.connect(tmp_path / "b.db", isolation_level=None)
    file.execute("PRAGMA user_version=99")
    file.close()
    with pytest.raises(StoreFromTheFuture, match="99"):
        restore(tmp_path / "b.db", tmp_path / "copy")


def test_the_long_tier_comes_back_by_itself(open_memory, tmp_path):
    """Opened with an embedder, the restored store makes its Chroma folder from stored vectors."""
    memory = open_memory(embedder=HashEmbedder(64))
    memory.add_many({"text": f"the kettle number {n} is blue", "tier": "long"} for n in range(20))
    assert memory.flush(wait=True)
    memory.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "copy")

    class Counting(HashEmbedder):
        texts = 0

        def embed(self, texts):
            Counting.texts += len(texts)
            return super().embed(texts)

    copy = open_memory(tmp_path / "copy", embedder=Counting(64))
    assert copy.retrieve("kettle 7")
    assert copy.flush(wait=True)
    assert (copy.store.root / "chroma").is_dir()
    assert copy._engine._long.count(("default",)) == 20
    assert Counting.texts < 20  # the query and the warm-up: no memory was embedded again


# Back to a moment

WORDS = st.sampled_from(["tea", "door", "plan", "blue"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "add",
                "add",
                "update",
                "retag",
                "forget",
                "restore",
                "move",
                "replace",
                "put",
                "undo",
                "undo",
            ]
        ),
        st.integers(0, 30),
        st.lists(WORDS, min_size=1, max_size=2).map(" ".join),
        st.sampled_from(["short", "short", "medium", "long"]),
        st.sampled_from([None, "k"]),
    ),
    min_size=1,
    max_size=14,
)


def take(memory, step):
    """Take one step; what cannot be done is passed over."""
    what, at, text, tier, key = step
    known = memory.list(status=EVERY)
    one = known[at % len(known)].id if known else None
    if what == "add" or one is None:
        related = [one] if one and at % 3 == 0 and not memory.list(tag=[text]) else []
        memory.add(text if at % 5 else f"{text} {at}", tier, key=key, related=related, session="s")
    elif what == "update" and memory.get(one).status != "forgotten":
        memory.update(one, text=f"{text} now", importance=at / 30)
    elif what == "retag" and memory.get(one).status != "forgotten":
        memory.update(one, tags=[text], add_aliases=[text], expires_in=10_000.0 + at)
    elif what == "forget":
        memory.forget(one)
    elif what == "restore" and memory.get(one).status != "superseded":
        memory.restore(one)
    elif what == "move":
        memory.update(one, tier=tier)
    elif what == "put":
        memory.add(text, tier, id=one, key=key, session=text, replace=True)
    elif what == "undo" and (made := memory.changes.list(limit=1)):
        with suppress(NothingToUndo):
            memory.undo(made[0].number)
    elif what == "replace":
        memory.add(f"{text} instead of {len(known)}", tier, supersedes=one)


def comparable(dumped):
    """Leave out what carries no time: links between memories that were there already."""
    rows, fulltext, versions, links, events = dumped
    return rows, fulltext, versions, [link for link in links if link[2] == "supersedes"], events


@settings(max_examples=20)
@given(steps=STEPS)
@example([  # the undo takes away the link of supersession
    ("add", 1, "tea", "medium", "k"), ("add", 1, "door", "medium", "k"),
    ("undo", 0, "tea", "medium", None),
])  # fmt: skip
@example([  # the redo makes the link again
    ("add", 0, "tea", "short", None), ("replace", 0, "tea", "short", None),
    ("undo", 0, "tea", "short", None), ("undo", 0, "tea", "short", None),
])  # fmt: skip
@example([  # what a replaced memory had superseded keeps its link
    *[("add", 0, "tea", "short", None)] * 4, *[("add", 0, "tea", "short", "k")] * 2,
    ("update", 0, "tea", "short", None), ("put", 10, "tea", "short", None),
])  # fmt: skip
@example([  # the repeat keeps a memory for good that was to expire
    ("add", 0, "tea", "medium", None), ("retag", 0, "tea", "short", None),
    ("add", 0, "tea", "medium", None),
])  # fmt: skip
def test_a_store_set_back_is_the_store_as_it_was(tmp_path_factory, steps):
    """After any history, set back to any moment of it: rows, versions, full text, events."""
    folder = tmp_path_factory.mktemp("moment")
    clock, config = ManualClock(), Config(short=ShortConfig(capacity=50))
    seen = []
    with MemoryManager(folder / "store", embedder=None, clock=clock, config=config) as memory:
        for step in steps:
            clock.advance(timedelta(minutes=1))
            take(memory, step)
            memory.flush(wait=True)  # what full text knows is part of what is compared
            seen.append((clock(), comparable(dump(memory))))
        memory.store.backup(folder / "b.db")
    for n, (moment, expected) in enumerate(seen):
        restore(folder / "b.db", folder / str(n), at=moment + timedelta(seconds=0))
        with MemoryManager(folder / str(n), embedder=None, clock=clock, config=config) as copy:
            copy.flush(wait=True)
            assert comparable(dump(copy)) == expected
            assert sound(copy)


def test_a_turn_pushed_out_of_the_ring_later_is_in_the_ring_again(open_memory, tmp_path, clock):
    """The ring of a moment is shown, though what it pushes out keeps no version."""
    config = Config(short=ShortConfig(capacity=2))
    memory = open_memory(config=config)
    moments = []
    for n in range(4):
        clock.advance(timedelta(minutes=1))
        memory.add(f"turn {n}", "short", session="s")
        moments.append((clock(), [found.text for found in memory.sessions.recent(session="s")]))
    memory.store.backup(tmp_path / "b.db")
    for n, (moment, ring) in enumerate(moments):
        restore(tmp_path / "b.db", tmp_path / str(n), at=moment)
        copy = open_memory(tmp_path / str(n), config=config)
        assert [found.text for found in copy.sessions.recent(session="s")] == ring


def test_what_is_set_back_to_an_imported_state_can_be_salvaged(open_memory, tmp_path, clock):
    """A state that another store kept is no sign of damage in this one."""
    there = open_memory(tmp_path / "there")
    kept = there.add("first")
    clock.advance(timedelta(seconds=10))
    moment = clock()
    clock.advance(timedelta(seconds=10))
    there.update(kept.id, text="second")
    there.store.export(tmp_path / "export.jsonl")
    here = open_memory(tmp_path / "here")
    here.store.import_from(tmp_path / "export.jsonl", trust="user")
    here.store.backup(tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "back", at=moment)
    assert salvage(tmp_path / "back").kept == 1
    assert [one.text for one in open_memory(tmp_path / "back").list()] == ["first"]


def test_vectors_are_kept_where_the_text_is_the_same(open_memory, tmp_path, clock):
    """After a reset, only the memories reworded since need a vector."""
    memory = open_memory(embedder=HashEmbedder(8))
    memory.add("stays", "long", id="a")
    memory.add("changes", "long", id="b")
    before = clock()
    clock.advance(timedelta(minutes=1))
    memory.update("b", text="has changed")
    memory.flush(wait=True)
    memory.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "copy", at=before)
    copy = open_memory(tmp_path / "copy")
    assert copy.get("b").text == "changes"
    assert copy.store.stats().backlog == {"embed": 1}
    assert sum(copy.store.stats().embedders.values()) == 1


def test_a_moment_after_the_backup_is_unknown(memory, tmp_path, clock):
    """MomentUnknown names how far the backup reaches; so does a moment without time zone."""
    memory.add("a")
    kept = memory.store.backup(tmp_path / "b.db")
    with pytest.raises(MomentUnknown) as caught:
        restore(tmp_path / "b.db", tmp_path / "copy", at=clock() + timedelta(seconds=1))
    assert caught.value.latest == kept.taken_at
    with pytest.raises(InvalidInput, match="time zone"):
        restore(tmp_path / "b.db", tmp_path / "copy", at=clock().replace(tzinfo=None))


def test_a_backup_without_a_descriptor_says_what_the_system_says(memory, tmp_path, monkeypatch):
    """Its module is read from the disk at the first backup, which takes a descriptor."""
    memory.add("a")

    def no_descriptor():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("memento.upkeep.backup.backup_tool", no_descriptor)
    with pytest.raises(StoreError, match="Too many open files"):
        memory.store.backup(tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()
