"""A store that is no longer at its path: each verb says so, and nothing is written elsewhere."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing

import pytest

from memento import MemoryManager
from memento.errors import StoreGone
from memento.ledger.lite.library import DatabaseError
from memento.ledger.lite.store import LiteLedger
from memento.testing import HashEmbedder


@pytest.fixture
def gone(open_memory, tmp_path):
    """A manager whose folder was renamed; the new place is ``tmp_path / "moved"``."""
    memory = open_memory(tmp_path / "store")
    memory.add("before", "short", id="before")
    (tmp_path / "store").rename(tmp_path / "moved")
    return memory


def test_an_add_fails_and_says_what_happened(gone, tmp_path):
    """The error names the folder, the file, and what to do next."""
    with pytest.raises(StoreGone, match="open a new MemoryManager") as caught:
        gone.add("into nothing")
    assert caught.value.root == tmp_path / "store"
    assert caught.value.happened == "ledger.db was removed or moved away"


def test_no_refused_add_is_in_the_file_that_left(gone, tmp_path):
    """Nothing is written into a file that left before the call and that nobody may open again."""
    for n in range(5):
        with pytest.raises(StoreGone):
            gone.add(f"into nothing {n}")
    with MemoryManager(tmp_path / "moved", embedder=None) as moved:
        assert [one.text for one in moved.list()] == ["before"]


@pytest.mark.parametrize(
    "verb",
    [
        lambda memory: memory.get("before"),
        lambda memory: memory.list(),
        lambda memory: memory.sessions.recent(),
        lambda memory: memory.retrieve("before"),
        lambda memory: memory.forget("before"),
        lambda memory: memory.store.erase("before"),
        lambda memory: memory.store.stats(),
        lambda memory: memory.store.backup(memory.store.root.with_name("backup.db")),
    ],
)
def test_every_verb_says_so(gone, verb):
    """Reading, changing and backing up alike."""
    with pytest.raises(StoreGone):
        verb(gone)


def test_the_doctor_names_it_and_nothing_else(gone):
    """Not a full disk, not a missing table."""
    assert [found.check for found in gone.store.doctor() if not found.ok] == ["store"]


def test_closing_is_quiet_and_writes_nothing_into_the_store_that_came(gone, tmp_path):
    """The snapshot, the log and the index of a store that left do not land in another one."""
    with MemoryManager(tmp_path / "store", embedder=HashEmbedder(8)) as other:
        other.add("of the other", "short")
    before = {path: path.read_bytes() for path in (tmp_path / "store").glob("*.json")}
    gone.close()
    assert {path: path.read_bytes() for path in (tmp_path / "store").glob("*.json")} == before


def test_the_folder_put_back_is_used_again(gone, tmp_path):
    """After the folder is put back, adding goes on; the refused memory is not in it."""
    with pytest.raises(StoreGone):
        gone.add("too early", id="early")
    (tmp_path / "moved").rename(tmp_path / "store")
    assert gone.add("in time").text == "in time"
    assert [one.text for one in gone.list()] == ["before", "in time"]


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_the_log_alone_is_missed_too(open_memory, tmp_path, suffix):
    """Another process would begin a log of its own; what goes into ours would be lost."""
    memory = open_memory(tmp_path / "store")
    memory.add("before")
    (tmp_path / "store" / f"ledger.db{suffix}").unlink()
    with pytest.raises(StoreGone, match=f"ledger.db{suffix} was removed"):
        memory.add("after")


def test_a_folder_deleted_before_the_first_write_is_noticed(open_memory, tmp_path):
    """No matter whether the writing connection was made before or after."""
    memory = open_memory(tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StoreGone):
        memory.add("the first")
    assert not (tmp_path / "store" / "ledger.db").exists()


@pytest.mark.parametrize("verb", ["read", "write"])
def test_a_log_that_was_removed_is_not_called_damage(tmp_path, verb):
    """Without its log, the file has pages of two times; SQLite calls that malformed."""

    def read_two_times(_connection):
        (tmp_path / "ledger.db-wal").unlink()
        raise DatabaseError("database disk image is malformed")

    with closing(LiteLedger(tmp_path)) as ledger:
        ledger.write(lambda connection: connection.execute("CREATE TABLE kept (one)"))
        with pytest.raises(StoreGone, match=r"ledger\.db-wal was removed"):
            getattr(ledger, verb)(read_two_times)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")
@pytest.mark.parametrize(
    ("touch", "named"),
    [(lambda file: file.read_bytes(), True), (lambda file: file.stat(), False)],
    ids=["read", "looked at"],
)
def test_the_doctor_names_locks_that_are_lost(open_memory, tmp_path, touch, named):
    """A file that something in the process closed has no lock any more, as others see it."""
    memory = open_memory(tmp_path / "store")
    memory.add("before")
    touch(tmp_path / "store" / "ledger.db")
    assert ("locks" in [found.check for found in memory.store.doctor()]) is named
