"""The power fails at any moment: is every acknowledged change there, and none half?

A child runs a script through the public interface while `faultshim.c` logs what it does to files.
For random moments of that log, the states are rebuilt that a disk may then be in: what was synced
is there; of the rest each file has nothing, a part in order, any 512-byte sectors, or all, and
a name that was made, changed or removed may be so or not until its folder was synced. Each state
is opened and compared with what the script had acknowledged.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import script
import shim
from trust_result import TrustResult

from memento import MemoryManager
from memento.errors import MementoError
from memento.ledger.lite import sqlite
from memento.tiers import ring

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = {False: 40, True: 160}
STATES = {False: 60, True: 1_000}
"""States a run looks at, by whether it is the full form; a control gets a third."""
SECTOR = 512
HOW = ("nothing", "prefix", "sectors", "sectors", "all")


@dataclass(slots=True)
class Node:
    """A file or folder: what is on the disk for certain, and what is on its way there."""

    folder: bool = False
    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[str, int, bytes]] = field(default_factory=list)

    def sync(self) -> None:
        """Make certain all that is on its way."""
        for change in self.pending:
            apply(self.synced, change)
        self.pending.clear()

    def content(self, rng: random.Random) -> bytes:
        """Return what may be found after the power failed."""
        content, how = bytearray(self.synced), rng.choice(HOW)
        if how == "prefix":
            kept = self.pending[: rng.randint(0, len(self.pending))]
        else:
            kept = self.pending if how != "nothing" else []
        for change in kept:
            if how == "sectors":
                for part in sectors(change):
                    if rng.random() < 0.6:
                        apply(content, part)
            else:
                apply(content, change)
        return bytes(content)


def apply(content: bytearray, change: tuple[str, int, bytes]) -> None:
    """Write or truncate."""
    kind, offset, data = change
    end = offset + len(data)
    if kind == "T" and len(content) > offset:
        del content[offset:]
    content.extend(bytes(max(0, end - len(content))))
    content[offset:end] = data


def sectors(change: tuple[str, int, bytes]) -> Iterator[tuple[str, int, bytes]]:
    """Cut a write into what a disk writes at once."""
    kind, offset, data = change
    if kind == "T":
        yield change
    for at in range(0, len(data), SECTOR):
        yield kind, offset + at, data[at : at + SECTOR]


class Disk:
    """A file system after a part of the log: names and contents, certain and on their way."""

    def __init__(self) -> None:
        self.names: dict[str, Node] = {}
        self.synced_names: dict[str, Node] = {}
        self.pending_names: list[tuple[str, Node | None]] = []
        self.open: dict[int, Node] = {}
        self.acknowledged = 0

    def step(self, record: shim.Record) -> None:
        """Let one call happen."""
        kind, file, offset, data = record
        match kind:
            case "N":
                self.acknowledged = offset
            case "O":
                name = data.decode()
                if name not in self.names and name:
                    self.name(name, Node(folder=bool(offset)))
                if name:
                    self.open[file] = self.names[name]
            case "W" | "T":
                self.open[file].pending.append((kind, offset, data))
            case "S":
                self.open[file].sync()
            case _:
                self.step_names(kind, data.decode())

    def step_names(self, kind: str, name: str) -> None:
        """Let a call happen that is about names."""
        match kind:
            case "D":
                self.sync_folder(name)
            case "M":
                self.name(name, Node(folder=True))
            case "R":
                old, new = name.split("\0")
                self.name(new, self.names[old])
                self.name(old, None)
            case "U":
                self.name(name, None)

    def name(self, name: str, node: Node | None) -> None:
        """Give a file a name, or take a name away."""
        self.pending_names.append((name, node))
        change_name(self.names, name, node)

    def sync_folder(self, folder: str) -> None:
        """Make certain the names in a folder."""
        waiting, self.pending_names = self.pending_names, []
        for name, node in waiting:
            if name.rpartition("/")[0] == folder:
                change_name(self.synced_names, name, node)
            else:
                self.pending_names.append((name, node))

    def write_to(self, target: Path, rng: random.Random) -> None:
        """Make a state the disk may be in. Names change in order, as in a journal."""
        names = dict(self.synced_names)
        for name, node in self.pending_names[: rng.randint(0, len(self.pending_names))]:
            change_name(names, name, node)
        target.mkdir()
        for name, node in sorted(names.items()):  # a folder before what is in it
            path = target / name.removeprefix("/")
            if not path.parent.exists() or name.endswith("-shm"):
                continue  # its folder's own name is lost; or SQLite makes it again
            if node.folder:
                path.mkdir()
            else:
                path.write_bytes(node.content(rng))


def change_name(names: dict[str, Node], name: str, node: Node | None) -> None:
    """Set or remove a name."""
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


# --- the child whose files are logged


def work(root: Path, log: Path, count: int, seed: int, control: str) -> None:
    """Run the script and note the number of each step that returned."""
    if control == "synchronous=OFF":
        sqlite._WRITER = ("synchronous=OFF",)
    if control == "snapshot in place":
        ring.write_atomically = lambda path, data, **_: path.write_bytes(data)
    library = shim.Shim()
    library.log(log)
    memory = MemoryManager(root / "store", embedder=None)
    for number, step in enumerate(script.steps(count, seed), start=1):
        script.do(memory, step)
        library.note(number)
    memory.close()


# --- the parent


def logged(folder: Path, library: Path, count: int, seed: int, control: str) -> list[shim.Record]:
    """Run the child and return its log."""
    root, log = folder / "live", folder / "log"
    for old in (root, log):
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    root.mkdir()
    subprocess.run(
        [sys.executable, __file__, str(root), str(log), str(count), str(seed), control],
        env=shim.environment(library, root),
        check=True,
    )
    return shim.records(log)


def look_at(root: Path, before: script.State, later: script.State) -> list[str]:
    """Open a state and say what is wrong with it.

    Args:
        root: The store folder.
        before: What it must hold if the step in hand was not done.
        later: What it may hold instead, if it was.
    """
    if not (root / "ledger.db").exists():
        return [f"lost: {len(before)} memories, the ledger itself"] if before else []
    try:
        with MemoryManager(root, embedder=None) as memory:
            found = script.held(memory)
            wrong = [] if found in (before, later) else [difference(found, before)]
            wrong += script.complaints(memory)
            memory.add("written after the power came back")
    except MementoError as error:
        return [f"unreadable: {error}"]
    return wrong + [f"set aside: {path.name}" for path in root.glob("short.json.bad-*")]


def difference(found: script.State, wanted: script.State) -> str:
    """Say how many memories differ, and name one."""
    wrong = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))
    lost = [k for k in wrong if k not in found]
    return f"lost: {len(lost)}, otherwise wrong: {len(wrong) - len(lost)}, such as {wrong[0]}"


def cut(
    folder: Path, library: Path, *, full: bool, seed: int, control: str = ""
) -> tuple[int, list[str]]:
    """Cut the power at random moments; returns the number of states and what was wrong."""
    rng, disk, at, wrong, states = random.Random(seed), Disk(), 0, [], shim.in_memory(folder)
    records = logged(folder, library, STEPS[full], seed, control)
    expected = script.states(script.steps(STEPS[full], seed))
    count = STATES[full] // 3 if control else STATES[full]
    for moment in sorted(rng.randrange(len(records) + 1) for _ in range(count)):
        while at < moment:
            disk.step(records[at])
            at += 1
        target = states / "state"
        disk.write_to(target, rng)
        done = disk.acknowledged
        later = expected[min(done + 1, len(expected) - 1)]
        found = look_at(target / "store", expected[done], later)
        wrong += [f"cut at call {moment} of {len(records)}: {what}" for what in found]
        shutil.rmtree(target)
    shutil.rmtree(states)
    return count, wrong


CONTROLS = {"synchronous=OFF": "lost:", "snapshot in place": "set aside:"}
"""The fault of each control, and the finding that must name it."""
CONTROL_TRIES = 10
"""Runs of a control, each cut at other moments, until it shows what it does wrong."""


def shows(control: str, said: list[str]) -> bool:
    """Tell whether a control did wrong what it must."""
    return any(CONTROLS[control] in line for line in said)


def broken(folder: Path, library: Path, control: str, *, full: bool, seed: int) -> list[str]:
    """Run a control until it fails as it must; returns what was wrong in its last run."""
    said: list[str] = []
    for number in range(CONTROL_TRIES):
        said = cut(folder, library, full=full, seed=seed + number, control=control)[1]
        if shows(control, said):
            break
    return said


def power_cut(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Cut the power at random moments of a script of changes, and look at what is left."""
    result = {
        "name": "power cut (simulated)",
        "promise": "Every acknowledged change survives a power cut, and no change is half applied.",
        "control": "the same with " + "; with the ".join(CONTROLS),
        "seed": seed,
    }
    library = shim.build(folder)
    if library is None:
        return TrustResult(**result, cases=0, failures=0, skipped=shim.NO_COMPILER)
    cases, wrong = cut(folder, library, full=full, seed=seed)
    said = {c: broken(folder, library, c, full=full, seed=seed) for c in CONTROLS}
    unseen = [c for c in CONTROLS if not shows(c, said[c])]
    return TrustResult(
        **result,
        cases=cases,
        failures=len(wrong),
        control_failed=not unseen,
        figures={f"broken states, {c}": len(lines) for c, lines in said.items()},
        details=tuple(wrong[:10] + [f"control {c} passed" for c in unseen]),
    )


HARNESSES = (power_cut,)

if __name__ == "__main__":
    work(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
