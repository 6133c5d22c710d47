"""A store whose files are removed, moved or replaced while it is open acknowledges nothing more.

Four threads add while the files leave, each in one of the ways files leave: the folder deleted,
its files or the log alone deleted, the folder renamed, another store put in its place. No add that
began after that may be acknowledged, and one that was acknowledged must be in the file that left.

Alone: ``python benchmarks/trust.py --full --only gone``.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from trust_result import TrustResult

from memento import MemoryManager
from memento.errors import StoreError, StoreGone
from memento.ledger.lite.presence import Presence

ROUNDS = {False: 1, True: 40}
"""Times each way is tried."""
THREADS = 4
LATEST = 0.1
"""Longest time after which the files leave, seconds."""
AFTER = 20
"""Adds that each thread tries once they have left."""


def delete_folder(root: Path) -> None:
    """As ``rm -rf`` does, and as often as it takes: somebody may be writing into it."""
    while root.exists():
        shutil.rmtree(root, ignore_errors=True)


def delete_files(root: Path) -> None:
    """Delete the ledger and its log, and leave the rest."""
    for path in root.glob("ledger.db*"):
        path.unlink(missing_ok=True)


def delete_log(root: Path) -> None:
    """Delete the log alone, as cleaners and ``rsync --delete`` do."""
    for path in root.glob("ledger.db-*"):
        path.unlink(missing_ok=True)


def rename_folder(root: Path) -> None:
    """Give the folder another name."""
    root.rename(root.with_name("moved"))


def replace_folder(root: Path) -> None:
    """Put another store in its place."""
    fill(root.with_name("other"))
    rename_folder(root)
    root.with_name("other").rename(root)


def replace_file(root: Path) -> None:
    """Replace this ledger with another one, as tools that synchronise do."""
    fill(root.with_name("other"))
    (root.with_name("other") / "ledger.db").replace(root / "ledger.db")


WAYS: tuple[Callable[[Path], None], ...] = (
    delete_folder, delete_files, delete_log, rename_folder, replace_folder, replace_file,
)  # fmt: skip


def fill(root: Path) -> None:
    """Make a store that holds something."""
    with MemoryManager(root, embedder=None) as memory:
        memory.add("of the other store", id="other")


@dataclass
class Seen:
    """The answers that the threads of one round got.

    Attributes:
        left: Set once the files have left.
        acknowledged: Id to whether its add began after that.
        refused: Kinds of errors raised once they had left, to how often.
    """

    left: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[str, bool] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)


def adding(memory: MemoryManager, name: int, seen: Seen) -> None:
    """Add until the files have left, and some times more."""
    tries = n = 0
    while tries < AFTER:
        late = seen.left.is_set()  # before the add begins
        n, tries = n + 1, tries + late
        try:
            memory.add(f"memory {n} of thread {name}", id=f"{name}-{n}")
        except StoreError as error:
            if late:
                kind = type(error).__name__
                seen.refused[kind] = seen.refused.get(kind, 0) + 1
        else:
            seen.acknowledged[f"{name}-{n}"] = late


def one_round(root: Path, leave: Callable[[Path], None], delay: float) -> list[str]:
    """Let the files leave while threads add; returns what was acknowledged or said wrongly."""
    seen = Seen()
    memory = MemoryManager(root, embedder=None)
    memory.add("before", "short", id="before")
    threads = [
        threading.Thread(target=adding, args=(memory, name, seen)) for name in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(delay)
    leave(root)
    here = digests(root)
    seen.left.set()
    for thread in threads:
        thread.join()
    too_late = [one for one, late in seen.acknowledged.items() if late]
    wrong = [f"{one} was acknowledged after that" for one in too_late]
    wrong += [f"refused as {kind}" for kind in seen.refused if kind != StoreGone.__name__]
    said = [found.check for found in memory.store.doctor() if not found.ok]
    wrong += [] if said == ["store"] else [f"doctor complains of {said}"]
    memory.close()
    if leave is replace_folder and (found := digests(root)) != here:
        names = sorted(name for name, _ in here.items() ^ found.items())
        wrong.append(f"the store that came was written to: {', '.join(names)}")
    return wrong + lost(root.with_name("moved"), seen)


def digests(root: Path) -> dict[str, str]:
    """Digest every file of a folder but SQLite's shared memory and an empty log.

    They say nothing: SQLite makes both when it opens a file, before anybody can see which it is.
    """
    held = {
        path.name: path.read_bytes()
        for path in root.glob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }
    return {
        name: hashlib.sha256(data).hexdigest()
        for name, data in held.items()
        if data or not name.endswith("-wal")
    }


def lost(moved: Path, seen: Seen) -> list[str]:
    """Look for what was acknowledged in the folder that left, if it still has a name."""
    if not moved.exists():
        return []
    with MemoryManager(moved, embedder=None) as memory:
        found = {one.id for one in memory.list(limit=100_000)}
    return [f"{one} is lost" for one in seen.acknowledged if one not in found]


def files_that_leave(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let the files leave in every way; then again with a store that does not look."""
    dice = random.Random(seed)
    wrong = []
    rounds = [(way, number) for number in range(ROUNDS[full]) for way in WAYS]
    for way, number in rounds:
        place = folder / f"{way.__name__}{number}"
        place.mkdir()
        said = one_round(place / "store", way, dice.uniform(0, LATEST))
        wrong += [f"{way.__name__}, round {number}: {one}" for one in said]
        shutil.rmtree(place)
    (folder / "control").mkdir()
    with mock.patch.object(Presence, "check"):
        failed = bool(one_round(folder / "control" / "store", delete_folder, 0.05))
    return TrustResult(
        name="files removed, moved or replaced while open",
        promise="An add is acknowledged only if it is in the ledger at the store's path at that"
        " moment; if the store was removed, moved or replaced, both add and doctor report it.",
        cases=len(rounds),
        failures=len(wrong),
        control="a store that does not check its path",
        control_failed=failed,
        seed=seed,
        figures={
            "ways": len(WAYS),
            "threads": THREADS,
            "adds attempted afterwards": AFTER * THREADS,
        },
        details=tuple(wrong[:10]),
    )


HARNESSES = (files_that_leave,)
