"""One look at the folder does for the files in it, and no change of them is missed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memento.errors import StoreError, StoreGone
from memento.ledger.lite import presence
from memento.ledger.lite.presence import LOG, Presence

LOG_FILE, SHARED = LOG


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the path of a ledger file with its log beside it."""
    root = tmp_path / "store"
    root.mkdir()
    path = root / "ledger.db"
    for name in (path.name, path.name + LOG_FILE, path.name + SHARED):
        (root / name).write_bytes(b"x")
    return path


def settle(watched: Presence) -> None:
    """Look until the folder has been still long enough to be taken at its word."""
    end = time.monotonic() + 10
    while watched._seen is None and time.monotonic() < end:
        time.sleep(0.01)
        watched.check()
    assert watched._seen is not None, "this file system's times are too coarse for the test"


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """List the paths that are looked at."""
    looked: list[bytes] = []
    real = os.stat

    def stat(path: bytes, **given: object) -> os.stat_result:
        looked.append(path)
        return real(path, **given)  # type: ignore[arg-type]  # passed on as it came

    with monkeypatch.context() as patched:
        patched.setattr(presence.os, "stat", stat)
        yield looked


def remove(path: Path) -> None:
    """Delete it."""
    path.unlink()


def move(path: Path) -> None:
    """Give it another name in the same folder."""
    path.rename(path.with_name("moved"))


def replace(path: Path) -> None:
    """Put another file in its place."""
    other = path.with_name("other")
    other.write_bytes(b"x")
    other.replace(path)


@pytest.mark.parametrize("happens", [remove, move, replace])
@pytest.mark.parametrize("ending", ["", *LOG])
def test_what_happens_to_a_file_is_seen_at_the_next_look(
    store: Path, ending: str, happens: Callable[[Path], None]
) -> None:
    """The folder was trusted before; its time tells."""
    watched = Presence(store, beside=LOG)
    settle(watched)

    happens(store.with_name(store.name + ending))

    with pytest.raises(StoreGone):
        watched.check()
    with pytest.raises(StoreGone):  # and at each look after it
        watched.check()


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.004, 0.02])
def test_a_file_that_goes_right_after_another_change_is_missed(store: Path, pause: float) -> None:
    """Two changes within one tick of the file system's clock have the same time."""
    for _ in range(20):
        watched = Presence(store, beside=LOG)
        store.with_name("short.json").write_bytes(b"x")  # makes the time of the folder fresh
        watched.check()
        time.sleep(pause)
        watched.check()
        log = store.with_name(store.name + LOG_FILE)
        log.unlink()

        with pytest.raises(StoreGone):
            watched.check()

        log.write_bytes(b"x")
        store.with_name("short.json").unlink()


def test_a_folder_that_is_still_is_looked_at_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four looks would cost a tenth of an add."""
    watched = Presence(store, beside=LOG)
    settle(watched)

    with counted(monkeypatch) as looked:
        watched.check()

    assert looked == [os.fsencode(store.parent)]


def test_the_files_are_looked_at_once_in_a_while_all_the_same(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system may keep no such time, and a mount changes none."""
    watched = Presence(store, beside=LOG)
    settle(watched)
    later = time.monotonic_ns() + presence.TRUSTED
    monkeypatch.setattr(presence.time, "monotonic_ns", lambda: later)

    with counted(monkeypatch) as looked:
        watched.check()

    assert [os.fsdecode(path) for path in looked] == [
        str(store.parent), *(str(store) + ending for ending in ("", *LOG)),
    ]  # fmt: skip


def test_a_time_in_whole_milliseconds_is_not_trusted(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within the same second would look alike."""
    watched = Presence(store, beside=LOG)
    settle(watched)
    monkeypatch.setattr(presence, "_COARSE", 1)  # every time is a multiple of it
    watched._seen = None

    with counted(monkeypatch) as looked:
        watched.check()
        watched.check()

    assert len(looked) == 2 * (1 + 1 + len(LOG))


def test_another_folder_in_its_place_is_told(store: Path) -> None:
    """Its files have the right names and are others."""
    watched = Presence(store, beside=LOG)
    settle(watched)
    root = store.parent
    root.rename(root.with_name("moved"))
    root.mkdir()
    for path in root.with_name("moved").iterdir():
        (root / path.name).write_bytes(path.read_bytes())

    with pytest.raises(StoreGone, match="replaced by another file"):
        watched.check()


def test_a_ledger_that_is_a_link_is_looked_at_where_it_lies(store: Path) -> None:
    """The folder of the link says nothing of the file."""
    elsewhere = store.parent.with_name("elsewhere")
    elsewhere.mkdir()
    link = elsewhere / store.name
    link.symlink_to(store)
    watched = Presence(link, beside=LOG)
    for _ in range(3):
        watched.check()
        time.sleep(0.06)

    store.with_name(store.name + LOG_FILE).unlink()

    with pytest.raises(StoreGone):
        watched.check()


def test_a_folder_that_may_not_be_read_is_an_error_of_the_store(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's own error is not shown to the caller."""
    watched = Presence(store)
    real = os.stat

    def stat(path: bytes, **given: object) -> os.stat_result:
        if path == os.fsencode(store.parent):
            raise PermissionError(13, "Permission denied", os.fsdecode(path))
        return real(path, **given)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(presence.os, "stat", stat)

    with pytest.raises(StoreError, match=r"[Pp]ermission"):
        watched.check()
