"""A full disk: reading works, hiding works, and room that is there again is used."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from memento import background
from memento.errors import ReadOnlyStore, StorageFailed, StorageFull, StoreUnusable
from memento.ledger.lite import reserve as reserve_module
from memento.ledger.lite import sqlite
from memento.ledger.lite.reserve import SIZE, Reserve


@pytest.fixture
def reserve(tmp_path):
    """The reserve of an empty folder."""
    return Reserve(tmp_path)


def test_room_is_kept_and_given_back(reserve, tmp_path):
    """It takes real blocks, private to the owner, and gives them all back, once."""
    assert not reserve.kept
    reserve.keep()
    reserve.keep()
    found = (tmp_path / "reserve").stat()
    assert (found.st_size, found.st_mode & 0o777) == (SIZE, 0o600)
    assert found.st_blocks * 512 >= SIZE
    assert reserve.give_back()
    assert not reserve.kept
    assert not reserve.give_back()
    reserve.keep()
    assert reserve.kept


def test_nothing_is_taken_from_a_disk_that_is_nearly_full(reserve, monkeypatch):
    """Keeping room aside must not be what fills the disk."""
    monkeypatch.setattr(reserve_module, "SHARE", 1 << 62)
    reserve.keep()
    assert not reserve.kept


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOENT])
def test_where_nothing_can_be_kept_nothing_fails(reserve, monkeypatch, code):
    """The reserve is a help, not a condition; a bug of ours is not passed over."""

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(reserve_module.os, "write", refuse)
    reserve.keep()
    assert not reserve.kept


def test_doctor_says_when_no_room_is_kept(memory, monkeypatch):
    """A store on a nearly full disk is not well."""
    assert all(finding.ok for finding in memory.store.doctor())
    memory._engine.ledger._reserve.give_back()
    monkeypatch.setattr(reserve_module, "SHARE", 1 << 62)
    assert [f.check for f in memory.store.doctor() if not f.ok] == ["reserve"]


def test_room_given_back_is_taken_again_in_a_quiet_moment(memory):
    """Once the disk has room again the reserve is there for the next time."""
    ledger = memory._engine.ledger
    ledger._reserve.give_back()
    memory._engine.background.tidy()
    assert not ledger.reserve_trouble


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        (errno.EDQUOT, StorageFull),
        (errno.EFBIG, StorageFull),
        (errno.EROFS, ReadOnlyStore),
        (errno.EIO, StorageFailed),
    ],
)
@pytest.mark.parametrize("said", ["disk I/O error", "unable to open database file"])
def test_what_sqlite_leaves_open_the_system_is_asked(tmp_path, monkeypatch, code, ours, said):
    """A quota and a read-only file system are ``disk I/O error`` to SQLite, and not to us."""
    path = tmp_path / "ledger.db"
    path.touch()

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(sqlite.os, "pwrite", refuse)
    error = sqlite.explain(path, sqlite.sqlite3.OperationalError(said))
    assert type(error) is ours
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_system_knows_nothing_of_stays_what_sqlite_said(tmp_path):
    """Where a page can be written, or there is no file, SQLite's word stands."""
    for path in (tmp_path / "ledger.db", tmp_path / "none.db"):
        (tmp_path / "ledger.db").touch()
        for said, ours in (("disk I/O error", StorageFailed), ("unable to open", StoreUnusable)):
            error = sqlite.explain(path, sqlite.sqlite3.OperationalError(said))
            assert type(error) is ours


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    if os.geteuid():
        pytest.skip("mounting needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]
    if subprocess.run(command, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Take every byte that is left."""
    with (folder / "filler").open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    assert os.statvfs(folder).f_bavail == 0


class TestFullDisk:
    """Not a byte is free."""

    def test_a_store_is_opened_and_read(self, disk, open_memory):
        """The reserve pays for what SQLite has to make before it can read."""
        first = open_memory(disk / "store")
        kept = first.add("written before", "short")
        first.close()
        fill(disk)
        memory = open_memory(disk / "store")
        assert (
            [m.id for m in memory.list()] == [m.id for m in memory.sessions.recent()] == [kept.id]
        )
        assert [hit.id for hit in memory.retrieve("written")] == [kept.id]
        assert not memory.store.read_only

    def test_memories_can_be_hidden(self, disk, open_memory):
        """Adding is StorageFull; forgetting, by id or by filter, is paid from the reserve."""
        memory = open_memory(disk / "store")
        ids = [memory.add(f"note {n}", tags=["t"]).id for n in range(4)]
        fill(disk)
        with pytest.raises(StorageFull):
            memory.add_many("x" * 9000 for _ in range(200))
        fill(disk)
        memory.forget(ids[0])
        assert memory.forget_many(tag=["t"]) == ids[1:]
        assert memory.list() == []

    def test_without_a_reserve_it_is_read_all_the_same(self, disk, open_memory):
        """And written again, without opening it again, when there is room."""
        first = open_memory(disk / "store")
        kept = first.add("written before")
        first.close()
        (disk / "store" / "reserve").unlink()
        fill(disk)
        memory = open_memory(disk / "store")
        assert memory.list() == [memory.get(kept.id)] == [kept]
        assert memory.retrieve("written").hits
        for _ in range(2):
            with pytest.raises(StorageFull):
                memory.add("no room")
            assert memory.list() == [kept]
        (disk / "filler").unlink()
        memory.add("room again")
        assert [m.text for m in memory.list()] == ["written before", "room again"]
        assert not memory.store.read_only


def test_folding_the_log_takes_no_more_than_half_of_the_reserve():
    """The background thread folds before the file would grow by more than the reserve can pay."""
    assert background.UNFOLDED <= SIZE // 2
