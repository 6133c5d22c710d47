"""Files that are replaced whole, and names that outlast a power cut."""

from __future__ import annotations

import fcntl

import pytest

from memento.base import files
from memento.base.files import new_file, remove_drafts, remove_litter, sync_name, write_atomically
from memento.errors import ReadOnlyStore, StorageFull, StoreError


class TestWriteAtomically:
    """A file is replaced whole or not at all."""

    def test_a_failure_leaves_the_old_content_and_no_litter(self, tmp_path, monkeypatch):
        """When the disk refuses at any step, nothing changed."""
        path = tmp_path / "file"
        write_atomically(path, b"old")
        for step, error in (("fsync", OSError(28, "full")), ("fsync", OSError(5, "I/O"))):
            monkeypatch.setattr(
                files.os, step, lambda *_, error=error: (_ for _ in ()).throw(error)
            )
            with pytest.raises(StorageFull if error.errno == 28 else StoreError):
                write_atomically(path, b"new")
            monkeypatch.undo()
            assert path.read_bytes() == b"old"
            assert list(tmp_path.iterdir()) == [path]

    def test_where_writing_is_forbidden_it_says_so(self, tmp_path, monkeypatch):
        """A folder that may not be written is a ReadOnlyStore."""

        def refuse(*_, **__):
            raise PermissionError(13, "no")

        monkeypatch.setattr(files.os, "open", refuse)
        with pytest.raises(ReadOnlyStore):
            write_atomically(tmp_path / "file", b"new")

    def test_file_and_folder_are_synced_in_order(self, tmp_path, monkeypatch):
        """First the content, then the rename, then the folder that holds the name."""
        seen = []
        fsync = files.os.fsync
        monkeypatch.setattr(
            files.os, "fsync", lambda fd: (seen.append((tmp_path / "f").exists()), fsync(fd))
        )
        write_atomically(tmp_path / "f", b"x")
        assert seen == [False, True]
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


class TestLitter:
    """The remains that a killed process left of a file it was about to replace."""

    def test_what_nobody_writes_is_removed(self, tmp_path):
        """Only temporary files of that name, and the file itself stays."""
        for name in ("short.json", "short.json.0a1b2c3d.tmp", "other.json.0a1b2c3d.tmp"):
            (tmp_path / name).touch()
        remove_litter(tmp_path / "short.json")
        assert {p.name for p in tmp_path.iterdir()} == {"short.json", "other.json.0a1b2c3d.tmp"}

    def test_what_somebody_writes_stays(self, tmp_path):
        """Another process about to rename its file still finds it."""
        with (tmp_path / "short.json.0a1b2c3d.tmp").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            remove_litter(tmp_path / "short.json")
            assert len(list(tmp_path.iterdir())) == 1

    def test_opening_a_store_removes_it(self, open_memory):
        """A kill in the middle of a snapshot leaves nothing behind for long."""
        memory = open_memory()
        memory.close()
        litter = memory.store.root / "short.json.0badcafe.tmp"
        litter.write_bytes(b"half a snapsh")
        open_memory()
        assert not litter.exists()


def test_a_folder_we_may_only_pass_through_is_no_error(tmp_path, monkeypatch):
    """Its names cannot be synced by us; everything else still can."""

    def refuse(_folder):
        raise PermissionError(13, "no")

    monkeypatch.setattr(files, "sync_folder", refuse)
    sync_name(tmp_path / "store")


class TestNewFile:
    """A file that is made whole or not at all."""

    def test_what_another_is_writing_stays(self, tmp_path):
        """The next writer of a file removes what is abandoned, not what is being written."""
        path = tmp_path / "kept.db"
        abandoned = tmp_path / ".kept.db.0123abcd.tmp"
        for name in (abandoned, abandoned.with_name(f"{abandoned.name}-journal")):
            name.write_bytes(b"x")
        other = tmp_path / ".other.db.0123abcd.tmp"
        other.write_bytes(b"x")
        with new_file(path, overwrite=True) as first, new_file(path, overwrite=True) as second:
            assert sorted(tmp_path.iterdir()) == sorted([first, second, other])
            second.write_bytes(b"second")
            first.write_bytes(b"first")
        assert sorted(tmp_path.iterdir()) == sorted([path, other])

    @pytest.mark.parametrize("clean", [remove_litter, remove_drafts])
    def test_one_taken_for_abandoned_is_made_again(self, tmp_path, monkeypatch, clean):
        """Cleaning up just as the draft is made does no harm to its writer."""
        flock, path = fcntl.flock, tmp_path / "file"
        first = iter([True])

        def late(file, how):
            if next(first, False):
                clean(path)
            flock(file, how)

        monkeypatch.setattr(files.fcntl, "flock", late)
        if clean is remove_litter:
            write_atomically(path, b"whole")
        else:
            with new_file(path) as draft:
                draft.write_bytes(b"whole")
        assert path.read_bytes() == b"whole"
        assert list(tmp_path.iterdir()) == [path]

    def test_where_there_are_no_locks_it_is_written_all_the_same(self, tmp_path, monkeypatch):
        """Some file systems have none; then nothing is ever taken for abandoned."""

        def refuse(*_):
            raise OSError(37, "no locks")

        monkeypatch.setattr(files.fcntl, "flock", refuse)
        (tmp_path / ".file.0123abcd.tmp").write_bytes(b"x")
        with new_file(tmp_path / "file") as draft:
            draft.write_bytes(b"whole")
        assert len(list(tmp_path.iterdir())) == 2


def test_the_file_goes_into_the_folder_that_was_checked(tmp_path):
    """Another folder gets the name just after the check: nothing is written there."""
    folder, other = tmp_path / "store", tmp_path / "other"
    folder.mkdir()
    other.mkdir()

    def swap():
        folder.rename(tmp_path / "moved")
        other.rename(folder)

    write_atomically(folder / "file", b"mine", check=swap)
    assert (tmp_path / "moved" / "file").read_bytes() == b"mine"
    assert list(folder.iterdir()) == []


def test_a_check_that_fails_leaves_everything_as_it_was(tmp_path):
    """Its error is raised as it is."""

    def refuse():
        raise StoreError(tmp_path, "another store")

    with pytest.raises(StoreError, match="another store"):
        write_atomically(tmp_path / "file", b"new", check=refuse)
    assert list(tmp_path.iterdir()) == []
