"""Takes away what only Linux has, before memento is imported: a plugin for pytest.

``ABSENT`` names what is absent, joined with commas. Alone it leads a short life of a store:

    ABSENT=proc,renameat2 python tests/elsewhere.py FOLDER
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import io
import os
import struct
import sys
import tempfile
from pathlib import Path


def _without_paths(start: str) -> None:
    """Let no path below one be opened, listed or read."""

    def guarded(call):
        def run(path=".", *args, **kwargs):
            if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(start):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            return call(path, *args, **kwargs)

        return run

    io.open = builtins.open = guarded(builtins.open)
    for name in ("open", "listdir", "readlink", "stat", "scandir"):
        setattr(os, name, guarded(getattr(os, name)))


def _without_names(module, *names: str) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def _without_functions(*names: str) -> None:
    """Let the C library not have some functions."""
    load = ctypes.CDLL

    class Library:
        def __init__(self, name, **options):
            self._real = load(name, **options)

        def __getattr__(self, name):
            if name in names:
                raise AttributeError(name)
            return getattr(self._real, name)

    ctypes.CDLL = lambda name, **options: (Library if name is None else load)(name, **options)


def _without_hard_links() -> None:
    def link(*_args, **_kwargs):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    os.link = link


def _with_locks_that_meet() -> None:
    """Let ``flock`` conflict with the locks that SQLite takes, as on BSD and macOS."""
    flock, lock_now, lock_later = fcntl.flock, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW

    def lock(file, how):
        number = file if isinstance(file, int) else file.fileno()
        kind = {fcntl.LOCK_SH: fcntl.F_RDLCK, fcntl.LOCK_EX: fcntl.F_WRLCK}
        asked = kind.get(how & ~fcntl.LOCK_NB, fcntl.F_UNLCK)
        call = lock_now if how & fcntl.LOCK_NB else lock_later
        try:
            fcntl.fcntl(number, call, struct.pack("@hhqqi0q", asked, os.SEEK_SET, 0, 0, 0))
        except OSError as error:
            if error.errno != errno.EBADF:  # else a folder, or opened to be read
                raise
            flock(number, how)

    fcntl.flock = lock


def _with_full_fsync() -> None:
    """Let a file have to be synced with a call of its own, which a folder does not know."""
    call, fsync = fcntl.fcntl, os.fsync
    fcntl.F_FULLFSYNC = 51

    def full(number, what, *args):
        if what != fcntl.F_FULLFSYNC:
            return call(number, what, *args)
        if os.path.isdir(f"/dev/fd/{number}"):  # noqa: PTH112
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        return fsync(number)

    fcntl.fcntl = full


ABSENCES = {
    "proc": lambda: _without_paths("/proc"),
    "dev_fd": lambda: _without_paths("/dev/fd"),
    "renameat2": lambda: _without_functions("renameat2"),
    "malloc_trim": lambda: _without_functions("malloc_trim"),
    "O_DIRECTORY": lambda: _without_names(os, "O_DIRECTORY"),
    "calls_of_linux": lambda: _without_names(
        os, "O_TMPFILE", "O_PATH", "O_NOATIME", "fdatasync", "posix_fadvise", "posix_fallocate",
        "sched_getaffinity", "sendfile", "copy_file_range", "memfd_create", "pidfd_open", "splice",
        "eventfd", "getxattr", "listxattr", "process_cpu_count",
    ),
    "hard_links": _without_hard_links,
    "pysqlite3": lambda: sys.modules.__setitem__("pysqlite3", None),
    "locks_apart": _with_locks_that_meet,
    "plain_fsync": _with_full_fsync,
    "locks_of_open_files": lambda: _without_names(
        fcntl, "F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"
    ),
}  # fmt: skip
"""What only Linux has, or has otherwise, to what takes it away."""


def take_away(names: str) -> None:
    """Take away what is named; memento must not be loaded yet."""
    tempfile._O_TMPFILE_WORKS = "calls_of_linux" not in names  # it looked when it was imported
    assert not names or "memento.manager" not in sys.modules
    for name in filter(None, names.split(",")):
        ABSENCES[name]()
    if "locks_apart" in names:
        from memento.base import files  # noqa: PLC0415 - after the patches

        files.LOCKS_APART = False


def live(root: Path, *, index: str) -> None:
    """Lead a short life: write, ask, change, back up, restore in place, export, erase, fork."""
    from memento import Config, MemoryManager  # noqa: PLC0415 - after the patches
    from memento.testing import HashEmbedder  # noqa: PLC0415
    from memento.upkeep.backup import restore, salvage  # noqa: PLC0415

    config = Config(long_index=index)
    store, saved = root / "store", root / "saved.db"
    with MemoryManager(store, embedder=HashEmbedder(), config=config) as memory:
        first = memory.add("Rami is allergic to nuts", "long")
        memory.keep([{"role": "user", "content": "The hotel is the Miramar"}], session="s")
        memory.sessions.start("s", goal="travel").checkpoint(next=["tickets"])
        assert memory.flush(wait=True)
        assert memory.retrieve("what is Rami allergic to?")[0].id == first.id
        memory.store.backup(saved)
        second = memory.add("Rami eats no shrimps", "long")
        memory.store.export(root / "all.jsonl")
        if (child := os.fork()) == 0:
            os._exit(memory.get(second.id).text != second.text)
        assert os.waitpid(child, 0)[1] == 0
        memory.store.erase(ids=[second.id])
        assert memory.flush(wait=True)  # what waits to be indexed is a finding too
        assert [one for one in memory.store.doctor() if not one.ok] == []
    restored = restore(saved, store, set_aside=True)
    assert restored.aside.is_dir()
    salvage(store)
    with MemoryManager(store, embedder=HashEmbedder(), config=config) as memory:
        assert memory.get(first.id) == first
        assert memory.store.import_from(root / "all.jsonl", trust="user").memories == 1
        assert memory.sessions.resume() is not None


if __name__ == "__main__":
    take_away(os.environ["ABSENT"])
    live(Path(sys.argv[1]), index=sys.argv[2])
else:
    take_away(os.environ.get("ABSENT", ""))
