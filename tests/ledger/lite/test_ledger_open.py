"""Opening a store: a new one, one that is there, and all that must be refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from memento import MemoryManager
from memento.errors import (
    InvalidInput,
    MementoError,
    ReadOnlyStore,
    StorageFull,
    StoreBusy,
    StoreError,
    StoreFromTheFuture,
    StoreUnusable,
)
from memento.ledger import schema
from memento.ledger.lite import sqlite, upgrade
from memento.ledger.lite import store as ledger_module
from memento.upkeep.backup import restore

is_root = os.geteuid() == 0


def contents(folder):
    """Digest every file of a folder but SQLite's shared memory, which says nothing."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if not path.name.endswith("-shm")
    }


def sqlite_file(folder, *statements, leave_log=False):
    """Make a ledger file by other means than ours."""
    folder.mkdir(exist_ok=True)
    script = "import sqlite3, os\nc = sqlite3.connect('ledger.db', isolation_level=None)\n"
    script += "".join(f"c.execute({text!r})\n" for text in statements)
    script += "os._exit(0)" if leave_log else "c.close()"
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


def run(script, *, env=None, check=True):
    """Run a script in a process of its own; returns what it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_new_store_has_every_table_and_our_marks(open_memory):
    """Opening an empty folder makes the schema, stamped with our application id and version."""
    root = open_memory().store.root
    file = sqlite.sqlite3.connect(root / "ledger.db")
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
    assert {"memories", "versions", "events", "links", "embeddings", "backlog", "meta"} <= tables
    assert file.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    assert file.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


def test_an_empty_file_becomes_a_store(tmp_path, open_memory):
    """A file of no bytes, as a crash at birth leaves it, is a store without memories."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "ledger.db").touch()
    assert open_memory().add("it works").seq == 1


def test_commits_are_made_with_full_synchronisation(memory):
    """The writing connection runs with synchronous=FULL, without which power cuts lose rows."""
    assert memory._engine.ledger.write(lambda c: c.execute("PRAGMA synchronous").fetchone()) == (2,)


@pytest.mark.parametrize("leave_log", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_store_from_the_future_is_refused_untouched(tmp_path, open_memory, mode, leave_log):
    """A newer schema is refused naming both versions, and no byte of it changes."""
    folder = tmp_path / "store"
    sqlite_file(
        folder,
        f"PRAGMA journal_mode={mode}",
        f"PRAGMA application_id={schema.APPLICATION_ID}",
        "PRAGMA user_version=99",
        "CREATE TABLE memories (later)",
        leave_log=leave_log,
    )
    before = contents(folder)
    with pytest.raises(StoreFromTheFuture, match=r"99.*upgrade") as caught:
        open_memory()
    assert (caught.value.found, caught.value.known) == (99, schema.SCHEMA_VERSION)
    after = contents(folder)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    "marks",
    [(), ("PRAGMA application_id=7",), ("PRAGMA user_version=1",), ("PRAGMA journal_mode=wal",)],
    ids=["plain", "its id", "its version", "wal"],
)
def test_another_programs_file_is_refused_untouched(tmp_path, open_memory, marks):
    """An SQLite file that is not ours is never written to, not even into WAL mode."""
    folder = tmp_path / "store"
    sqlite_file(folder, *marks, "CREATE TABLE theirs (x)")
    before = contents(folder)
    with pytest.raises(StoreUnusable, match="another program"):
        open_memory()
    assert contents(folder)["ledger.db"] == before["ledger.db"]


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path, open_memory):
    """A text file called ledger.db is left as it is."""
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "ledger.db").write_text("Dear diary\n" * 1000)
    before = contents(folder)
    with pytest.raises(StoreUnusable, match="not a memento ledger"):
        open_memory()
    assert contents(folder) == before


def test_a_truncated_file_is_a_typed_error(tmp_path, open_memory):
    """However much of the file is cut off, opening and reading raise our errors or work."""
    whole = open_memory(tmp_path / "whole")
    whole.add_many(f"fact {n} about something longer" for n in range(60))
    whole.close()
    data = (whole.store.root / "ledger.db").read_bytes()
    refused = 0
    for part, size in enumerate([50, 100, 1000, 4096, 5000, len(data) // 2, len(data) - 9]):
        folder = tmp_path / str(part)
        folder.mkdir()
        (folder / "ledger.db").write_bytes(data[:size])
        try:
            cut = open_memory(folder)
            cut.list(limit=1000)
            cut.store.doctor()
        except StoreError:
            refused += 1
    assert refused >= 5


def test_a_ledger_that_is_a_folder_is_unusable(tmp_path, open_memory):
    """A folder where the ledger file should be is a typed error."""
    (tmp_path / "store" / "ledger.db").mkdir(parents=True)
    with pytest.raises(StoreUnusable):
        open_memory()


def test_a_root_that_is_a_file_or_under_one_is_unusable(tmp_path, open_memory):
    """The error says to give a folder."""
    (tmp_path / "file").write_text("hello")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreUnusable, match="folder"):
            open_memory(root)
    assert (tmp_path / "file").read_text() == "hello"


@pytest.mark.parametrize("root", ["a\0b", "x" * 5000], ids=["nul", "too long"])
def test_a_root_that_is_no_path_is_a_typed_error(open_memory, root):
    """A path that the operating system refuses is an error in our words."""
    with pytest.raises((StoreError, InvalidInput)):
        open_memory(root)


def test_a_relative_root_stays_where_it_is(tmp_path, monkeypatch, open_memory):
    """Changing the working folder does not move the store, for no thread."""
    monkeypatch.chdir(tmp_path)
    memory = open_memory("here")
    memory.add("found again", "short")
    monkeypatch.chdir("/")
    memory.flush()
    memory.close()
    assert [m.text for m in open_memory(tmp_path / "here").list()] == ["found again"]
    assert (tmp_path / "here" / "short.json").exists()


def test_everything_is_private_under_any_umask(tmp_path):
    """Folder 0700, files 0600, though the process lets everybody in."""
    printed = run(f"""
        import os
        from pathlib import Path
        os.umask(0)
        from memento import MemoryManager
        root = Path({str(tmp_path)!r}) / "deep" / "store"
        with MemoryManager(root, embedder=None) as memory:
            memory.add("secret", "short")
            memory.flush()
            for path in [root, *sorted(root.iterdir())]:
                print(path.name, oct(path.stat().st_mode & 0o777))
    """)
    modes = dict(line.split() for line in printed.splitlines())
    assert modes.pop("store") == "0o700"
    assert set(modes) == {
        "ledger.db",
        "ledger.db-wal",
        "ledger.db-shm",
        "short.json",
        "writer.lock",
        "reserve",
    }
    assert set(modes.values()) == {"0o600"}


def test_a_failed_first_schema_leaves_an_empty_file(open_memory, monkeypatch):
    """A crash in the first migration leaves no half of it; the next opening makes it whole."""
    broken = schema.SCHEMA + "\nCREATE TABLE broken (;\n"
    monkeypatch.setattr(schema, "SCHEMA", broken)
    with pytest.raises(StoreError):
        open_memory()
    monkeypatch.undo()
    assert open_memory().add("whole now").seq == 1


def test_a_migration_that_was_interrupted_is_rolled_back(open_memory, monkeypatch):
    """Even an interruption from outside leaves the old schema, ready to be migrated again."""

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "missing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_memory()
    monkeypatch.undo()
    assert open_memory().add("whole now").seq == 1


def test_of_two_first_openings_one_migrates(tmp_path, open_memory, monkeypatch):
    """A process that finds the schema made while it waited for the lock makes nothing."""
    answers = iter([0, schema.SCHEMA_VERSION])
    connection = open_memory()._engine.ledger._connect_writer()._connection
    monkeypatch.setattr(upgrade, "check_version", lambda *_: next(answers))
    upgrade.migrate(connection, tmp_path)
    assert not connection.in_transaction
    connection.close()


@pytest.mark.skipif(not is_root, reason="mounting needs root")
class TestMounted:
    """On a medium of its own: too small, or read-only."""

    @pytest.fixture
    def small_disk(self, tmp_path):
        """A megabyte of memory, mounted for one test."""
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False
        )
        if mounted.returncode:
            pytest.skip("mounting is not allowed here")
        yield disk
        subprocess.run(["umount", "-l", disk], check=True)

    def test_a_full_disk_loses_nothing(self, small_disk, open_memory):
        """StorageFull is raised, what was acknowledged is read, and with room all goes on."""
        memory = open_memory(small_disk / "store")
        kept = until_full(memory)
        assert [m.id for m in memory.list(limit=5000)] == kept
        assert memory.retrieve("note").hits
        with pytest.raises(StorageFull):
            memory.add_many(["y" * 60000, "z" * 60000])
        (small_disk / "store" / "short.json").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
        assert memory.add("room again").text == "room again"
        assert len(memory.list(limit=5000)) == len(kept) + 1

    def test_closing_on_a_full_disk_does_not_raise(self, small_disk, open_memory, caplog):
        """The snapshot cannot be written; the store closes, says so, and opens again later."""
        memory = open_memory(small_disk / "store")
        memory.add("a turn " + "x" * 3000, "short")
        (small_disk / "filler").write_bytes(b"")
        fill(small_disk / "filler")
        memory.close()
        assert memory.store.closed
        assert "without writing the access log and the snapshot" in caplog.text
        (small_disk / "filler").unlink()
        assert len(open_memory(small_disk / "store").sessions.recent()) == 1

    def test_no_room_for_a_new_store_is_a_full_disk(self, small_disk, open_memory):
        """A store that cannot even be born says why."""
        fill(small_disk / "filler")
        with pytest.raises(StorageFull):
            open_memory(small_disk / "store")

    def test_a_read_only_medium_is_read(self, small_disk, open_memory):
        """Reading works where nothing can be written; every write is a ReadOnlyStore."""
        first = open_memory(small_disk / "store")
        kept = first.add("written before", "short")
        first.close()
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        memory = open_memory(small_disk / "store")
        assert memory.get(kept.id).text == "written before"
        assert [hit.id for hit in memory.retrieve("written")] == [kept.id]
        assert [m.id for m in memory.sessions.recent()] == [kept.id]
        for write in (
            lambda: memory.add("no"),
            lambda: memory.forget(kept.id),
            lambda: memory.of("other").add("no"),
        ):
            with pytest.raises(ReadOnlyStore):
                write()
        assert all(finding.ok for finding in memory.store.doctor())
        assert memory.flush(wait=True, timeout=60)
        memory.close()
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)

    def test_a_read_only_medium_is_backed_up(self, small_disk, tmp_path, open_memory):
        """To another place, and what is there is in it."""
        first = open_memory(small_disk / "store")
        kept = first.add("written before")
        first.close()
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        memory = open_memory(small_disk / "store")
        assert memory.store.backup(tmp_path / "back.db").memories == 1
        memory.close()
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
        restore(tmp_path / "back.db", tmp_path / "again")
        assert open_memory(tmp_path / "again").get(kept.id).text == "written before"

    def test_a_damaged_snapshot_on_a_read_only_medium_is_no_error(self, small_disk, open_memory):
        """It cannot be moved aside; the ring comes from the ledger all the same."""
        first = open_memory(small_disk / "store")
        first.add("written before", "short")
        first.close()
        (first.store.root / "short.json").write_text("{")
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        assert len(open_memory(small_disk / "store").sessions.recent()) == 1
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)

    def test_an_unfolded_log_on_a_read_only_medium_is_not_overlooked(
        self, small_disk, tmp_path, open_memory
    ):
        """Rather than answer without the newest memories, a copy with its log is refused."""
        memory = open_memory(tmp_path / "live")
        memory.add("still in the log")
        folder = small_disk / "copy"
        folder.mkdir()
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(memory.store.root / name, folder / name)
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        with pytest.raises((StoreUnusable, ReadOnlyStore)):
            open_memory(folder)
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)

    def test_no_store_on_a_read_only_medium_says_so(self, small_disk, open_memory):
        """Nothing there and nothing can be made: ReadOnlyStore, not a crash."""
        (small_disk / "empty").mkdir()
        (small_disk / "empty" / "ledger.db").touch()
        (small_disk / "folder").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        for root in ("none", "empty", "folder"):
            with pytest.raises(ReadOnlyStore):
                open_memory(small_disk / root)
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)


def until_full(memory):
    """Add until the disk is full; returns the ids that were acknowledged."""
    kept = []
    with pytest.raises(StorageFull):  # noqa: PT012 - which add it is that fails is not known
        for n in range(2000):
            kept += [memory.add(f"note {n} " + "x" * 2000, "short", id=f"n{n}").id]
    return kept


def fill(path):
    """Write until the disk is full."""
    with path.open("ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


@pytest.mark.skipif(not is_root, reason="only root can become somebody else")
def test_somebody_else_reads_or_is_refused_in_our_words(open_memory):
    """Without the right to write a store is read-only; without any right it is a typed error."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is not for others
        Path(name).chmod(0o755)
        if not all(one.stat().st_mode & 0o001 for one in Path(name).parents):
            pytest.skip("the folder of temporary files is closed to other users")
        shared, closed = Path(name, "shared"), Path(name, "closed")
        for folder in (shared, closed):
            memory = open_memory(folder)
            memory.add("for all to read")
            memory.close()
        printed = as_somebody_else(shared, closed)
    assert printed.splitlines() == ["['for all to read']", "ReadOnlyStore", "ReadOnlyStore"]


def as_somebody_else(shared, closed):
    """Open one store that may be read and one that may not, as another user."""
    shared.chmod(0o755)
    (shared / "ledger.db").chmod(0o644)
    return run(f"""
        import os, tempfile
        from memento import MemoryManager
        from memento.errors import MementoError
        # load what is needed later: the code itself may be where only its owner can read
        with tempfile.TemporaryDirectory() as own, MemoryManager(own, embedder=None) as memory:
            memory.add("mine")
            memory.list()
        os.setgid(65534), os.setuid(65534)
        try:
            memory = MemoryManager({str(shared)!r}, embedder=None)
            print([m.text for m in memory.list()])
            memory.add("mine")
        except MementoError as error:
            print(type(error).__name__)
        try:
            MemoryManager({str(closed)!r}, embedder=None)
        except MementoError as error:
            print(type(error).__name__)
    """)


def test_a_file_size_limit_is_a_typed_error_and_loses_nothing(tmp_path):
    """When the system lets the log grow no further, what was acknowledged stays readable."""
    printed = run(f"""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        from memento import MemoryManager
        from memento.errors import StoreError
        memory = MemoryManager({str(tmp_path / "store")!r}, embedder=None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
        kept = 0
        try:
            for n in range(3000):
                memory.add(f"note {{n}} " + "x" * 1000)
                kept += 1
        except StoreError as error:
            print(type(error).__name__)
        print(kept > 10, len(memory.list(limit=5000)) == kept)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        memory.add("room again")
        print(len(memory.list(limit=5000)) == kept + 1)
        memory.close()
    """)
    assert printed.splitlines() == ["StorageFull", "True True", "True"]


def test_an_opening_that_fails_leaves_no_file_open(tmp_path):
    """A refused store leaves no descriptor behind."""
    folder = tmp_path / "store"
    sqlite_file(folder, "CREATE TABLE theirs (x)")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(MementoError):
            MemoryManager(folder, embedder=None)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_replaced_while_it_is_opened_is_not_written_to(tmp_path, open_memory, monkeypatch):
    """A write into a file that has no name any more is refused; opening again works."""
    open_memory().close()
    path = tmp_path / "store" / "ledger.db"
    connect = ledger_module.connect

    def replacing(*args, **options):
        if options["writable"]:
            shutil.copy(path, path.with_name("new"))
            path.with_name("new").replace(path)
        return connect(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "connect", replacing)
        with pytest.raises(StoreBusy, match="open it again"):
            open_memory()
    assert open_memory().add("well").seq == 1
