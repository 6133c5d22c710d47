"""The disk refuses at the n-th call, for every n: a typed error, nothing lost, and on it goes.

A child runs a script of 25 operations through the public interface while `faultshim.c` lets one
call fail, or that one and all later ones. After each failure the store must have raised the right
error, hold what it held before, answer questions, and do the operation once the fault is gone.

Beside that, small file systems are filled to the last byte: forgetting has to go on there.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import script
import shim
from trust_result import TrustResult

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.errors import MementoError, StorageFailed, StorageFull
from memento.ledger.lite import sqlite
from memento.ledger.lite.reserve import Reserve
from memento.ledger.lite.writer import Writer
from memento.retrieve import searcher

STEPS = 25
KINDS = {"W": "write", "S": "sync", "T": "truncate", "R": "rename", "O": "make", "U": "remove"}
ERRORS = {errno.ENOSPC: StorageFull, errno.EIO: StorageFailed}
LASTING = {errno.ENOSPC: "WTOM", errno.EIO: "WSTROUM"}
"""The operations that a full and a broken disk refuse."""
PASSING = frozenset({"StorageFull", "StorageFailed", "StoreUnusable"})
"""Errors that may be raised if the fault is over before anybody can look at it."""
STRIDE = {"W": 421, "S": 37}
"""In the quick form, every so many cases of a kind; of the others, every nineteenth."""
QUIET = Config(index=IndexConfig(start_seconds=86_400.0), close_seconds=0.0)
"""Without the background thread, so that the n-th call is always the same."""
CONTROLS = 12
"""Cases the control is put to, spread over all of the script: some of its calls come after the last
commit, where nothing can be lost."""
CONTROL = "a store that treats a refused commit as successful"


SIZES = {False: ("12m",), True: ("12m", "24m", "40m", "80m")}
"""Disks that are filled to the last byte."""
FORGOTTEN = 100
"""Memories of 3 kB forgotten there, one after the other."""
ERASED = 10
"""Memories erased there after that, in one call."""
NO_MOUNT = "a file system of a limited size cannot be mounted here"


class Case(NamedTuple):
    """Which call fails, how, and whether it stays so."""

    kind: str
    nth: int
    error: int
    sticky: bool

    def __str__(self) -> str:
        lasting = " and later" if self.sticky else ""
        return f"{errno.errorcode[self.error]} at {KINDS[self.kind]} {self.nth}{lasting}"


# --- the child: forks once for each case


def work(folder: Path, seed: int, wanted: list[Case], *, control: bool) -> None:
    """Run cases, one in each forked process; print what each found."""
    library, steps = shim.Shim(), script.steps(STEPS, seed)
    assert searcher.Searcher  # loaded here, once for all
    if control:
        Writer._commit = careless
    for case in wanted:
        child = os.fork()
        if child == 0:
            found: dict[str, Any] = {"case": case}
            try:
                found |= Run(folder / "store", library, steps).through(case)
            except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
                found["wrong"] = [traceback.format_exc().splitlines()[-1]]
            os.write(1, f"{json.dumps(found)}\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
        shutil.rmtree(folder / "store", ignore_errors=True)


def careless(writer: Writer, group: list[Any]) -> None:
    """Commit as the control does: what SQLite says of it is not listened to."""
    try:
        writer._transact(group)
    except sqlite.Error:
        return


class Run:
    """One pass through the script with a fault in it."""

    def __init__(self, root: Path, library: shim.Shim, steps: list[script.Step]) -> None:
        self.root, self.library, self.steps = root, library, steps
        self.memory: MemoryManager | None = None
        self.state: script.State = {}
        self.wrong: list[str] = []
        self.raised: list[str] = []

    def through(self, case: Case) -> dict[str, Any]:
        """Go through the script; returns how many calls there were and what went wrong."""
        later = LASTING[case.error] if case.sticky else ""
        self.library.arm(case.kind, case.nth, case.error, later=later)
        calls = 0
        for step in (script.Step("open"), *self.steps, script.Step("close")):
            if self.tried(step):
                continue
            self.look_around(case)
            calls = max(calls, self.library.disarm())
            if not self.tried(step):
                self.wrong.append(f"{step.verb} fails though the fault is gone: {self.raised[-1]}")
                break
        calls = max(calls, self.library.disarm())
        if not self.wrong:
            self.look_afresh()
        return {"calls": calls, "raised": self.raised, "wrong": self.wrong}

    def tried(self, step: script.Step) -> bool:
        """Do one operation; False if it raised."""
        try:
            if step.verb == "open":
                self.memory = MemoryManager(self.root, embedder=None, config=QUIET)
            elif step.verb == "close":
                self.memory.close()
            else:
                script.do(self.memory, step)
        except MementoError as error:
            self.raised.append(f"{type(error).__name__}: {error}")
            return False
        self.state = script.after(self.state, step)
        return True

    def look_around(self, case: Case) -> None:
        """Right after a failure: the right error was raised, nothing changed, reading works."""
        right = {ERRORS[case.error].__name__} if case.sticky else PASSING
        if self.raised[-1].partition(":")[0] not in right:
            self.wrong.append(f"{case}: raised {self.raised[-1]}")
        if self.memory is None:
            return
        try:
            if script.held(self.memory) != self.state:
                self.wrong.append(f"{case}: what is held changed though {self.raised[-1]}")
            self.memory.retrieve("harbour kettle", record=False)
        except MementoError as error:
            self.wrong.append(f"{case}: reading fails: {error}")

    def look_afresh(self) -> None:
        """Open the store again and compare."""
        with MemoryManager(self.root, embedder=None, config=QUIET) as memory:
            found = script.held(memory)
            lost = [k for k, kept in self.state.items() if found.get(k) != kept]
            if lost or len(found) != len(self.state):
                self.wrong.append(f"lost or changed: {lost[:3]} of {len(self.state)}")
            self.wrong += script.complaints(memory)
            memory.add("written when all is well again")


# --- the parent


def through(
    folder: Path, library: Path, seed: int, wanted: list[Case], *, control: bool = False
) -> list[dict[str, Any]]:
    """Run cases in a child; returns what each found."""
    root = shim.in_memory(folder)
    try:
        done = subprocess.run(
            [sys.executable, __file__, str(root), str(seed), str(int(control))],
            env=shim.environment(library, root),
            input=json.dumps(wanted),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(root)
    return [json.loads(line) for line in done.stdout.splitlines()]


def cases(folder: Path, library: Path, *, full: bool, seed: int) -> list[Case]:
    """List what to try: count the calls of each kind, then let each of them fail."""
    counting = [Case(kind, 0, errno.EIO, sticky=False) for kind in KINDS]
    counted = [found["calls"] for found in through(folder, library, seed, counting)]
    return [
        Case(kind, nth, error, sticky)
        for kind, calls in zip(KINDS, counted, strict=True)
        for at, (nth, error, sticky) in enumerate(
            product(range(1, calls + 1), ERRORS, (False, True))
        )
        if full or at % STRIDE.get(kind, 19) == 0
    ]


def failing_calls(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let the n-th call fail, for every n."""
    told = {
        "name": "full disk, I/O error at the n-th call",
        "promise": "A full or failing disk raises a typed error: nothing is lost, reading"
        " works, and"
        " writing works again once the disk does.",
        "control": CONTROL,
        "seed": seed,
    }
    library = shim.build(folder)
    if library is None:
        return TrustResult(**told, cases=0, failures=0, skipped=shim.NO_COMPILER)
    wanted = cases(folder, library, full=full, seed=seed)
    found = through(folder, library, seed, wanted)
    wrong = [f"{Case(*one['case'])}: {what}" for one in found for what in one["wrong"]]
    wrong += ["a case was not run"] * (len(wanted) - len(found))
    writes = [case for case in wanted if case.kind in "WS"]
    careless_ones = writes[:: max(1, len(writes) // CONTROLS)]
    failed = any(
        one["wrong"] for one in through(folder, library, seed, careless_ones, control=True)
    )
    return TrustResult(
        **told,
        cases=len(wanted),
        failures=len(wrong),
        control_failed=failed,
        figures={
            "operations per script": STEPS,
            "cases that raised an error": sum(bool(one.get("raised")) for one in found),
        },
        details=tuple(wrong[:10]),
    )


# --- a disk that is really full


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """Mount a file system of a size in MiB; None where that is not possible."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        limited = shutil.disk_usage(folder).total <= int(size.removesuffix("m")) << 20
        yield folder if limited else None  # a sandbox may mount it without a limit
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def add_until_full(memory: MemoryManager) -> list[str]:
    """Add until the disk refuses; returns the ids that were acknowledged."""
    kept: list[str] = []
    try:
        while True:
            kept.append(memory.add(f"memory {len(kept)} {'x' * 3000}", id=f"m{len(kept)}").id)
    except StorageFull:
        return kept


def take_all(disk: Path) -> None:
    """Be another program that takes every byte that is left."""
    with (disk / "filler").open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


def hidden(memory: MemoryManager, ids: list[str]) -> int:
    """Forget one after the other; returns how many could be."""
    for done, memory_id in enumerate(ids):
        try:
            memory.forget(memory_id)
        except StorageFull:
            return done
    return len(ids)


def erased(memory: MemoryManager, ids: list[str]) -> list[str]:
    """Erase in one call; returns what is wrong with what is left."""
    try:
        done = memory.store.erase(ids, timeout=0)
    except StorageFull as error:
        return [f"nothing can be erased: {error}"]
    left = {one.id for one in memory.list(limit=100_000)} & set(ids)
    unsaid = not done.complete and not done.pending
    return [f"{len(left)} are left of what was erased"] * bool(left) + ["no step is named"] * unsaid


def traces(root: Path, ids: list[str]) -> list[str]:
    """Name the files that hold the text of a memory of `add_until_full`.

    Another program reads them: to close a ledger here would drop the locks of the store that has it
    open.
    """
    texts = [f"memory {memory_id.removeprefix('m')} xxx".encode() for memory_id in ids]
    files = [path for path in root.rglob("*") if path.is_file()]
    return [
        path.name
        for path in files
        if (held := bytes_of(path)) and any(text in held for text in texts)
    ]


def bytes_of(path: Path) -> bytes:
    """Read a file in a process of its own."""
    return subprocess.run(["cat", str(path)], capture_output=True, check=True).stdout


def on_full_disk(disk: Path) -> tuple[int, list[str]]:
    """Fill a disk, forget and erase on it, reopen, make room.

    Returns:
        How many were forgotten, and faults.
    """
    wrong = []
    memory = MemoryManager(disk / "store", embedder=None, config=QUIET)
    kept = add_until_full(memory)
    take_all(disk)
    forgotten = hidden(memory, kept[:FORGOTTEN])
    doomed = kept[FORGOTTEN : FORGOTTEN + ERASED]
    if not traces(disk / "store", doomed):
        wrong.append("the texts to be erased are not found before")
    refused = erased(memory, doomed)
    wrong += refused
    held = len(kept) - forgotten - (0 if refused else len(doomed))
    if len(memory.list(limit=100_000)) != held:
        wrong.append("reading on the full disk shows something else than what is held")
    memory.close()
    with MemoryManager(disk / "store", embedder=None, config=QUIET) as memory:
        if len(memory.list(limit=100_000)) != held:
            wrong.append("memories are lost after reopening on the full disk")
        command = ["mount", "-o", "remount,size=400m", str(disk)]
        subprocess.run(command, capture_output=True, check=True)
        memory.add("there is room again")
        if not memory.store.erase(kept[: FORGOTTEN // 2], timeout=60).complete:
            wrong.append("an erasure is not finished though there is room again")
        if named := traces(disk / "store", doomed + kept[: FORGOTTEN // 2]):
            wrong.append(f"erased texts are in {', '.join(named)}")
        wrong += script.complaints(memory)
    return forgotten, wrong


def full_disk(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Fill small disks to the last byte, forget and erase on them; then without a reserve."""
    wrong, forgotten = [], {}
    told = {
        "name": "a disk that is full to the last byte",
        "promise": f"Nothing is lost, reading works, and {FORGOTTEN} memories are forgotten one by"
        f" one without a free byte; then {ERASED} are erased, and in no file once there is room.",
        "control": "a store that reserves no space",
        "seed": seed,
    }
    for size in SIZES[full]:
        with small_disk(folder / size, size) as disk:
            if disk is None:
                return TrustResult(**told, cases=0, failures=0, skipped=NO_MOUNT)
            forgotten[size], said = on_full_disk(disk)
        wrong += [f"{size}: {one}" for one in said]
        if forgotten[size] < FORGOTTEN:
            wrong.append(f"{size}: {forgotten[size]} were forgotten, then the disk was full")
    with small_disk(folder / "control", "12m") as disk, mock.patch.object(Reserve, "keep"):
        assert disk is not None
        least, _ = on_full_disk(disk)
    return TrustResult(
        **told,
        cases=len(forgotten) * FORGOTTEN,
        failures=len(wrong),
        control_failed=least < FORGOTTEN,
        figures={f"forgotten on {size}": count for size, count in forgotten.items()},
        details=tuple(wrong[:10]),
    )


HARNESSES = (failing_calls, full_disk)

if __name__ == "__main__":
    given = [Case(*case) for case in json.load(sys.stdin)]
    work(Path(sys.argv[1]), int(sys.argv[2]), given, control=sys.argv[3] == "1")
