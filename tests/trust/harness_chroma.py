"""Damage to the Chroma folder: the host lives, answers at once, and the index comes back by itself.

Every case is a copy of one sound store, damaged in its way, and a process that opens it
(`chroma_user`): it may not die, has to answer rightly at once, and once the index is back, Chroma
alone has to give the same ten best as before. The memories share no word with the questions, so
full text cannot stand in. The null control is the same host with the guards taken away.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import child_environment
from trust_result import TrustResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOST = Path(__file__).with_name("chroma_user.py")
ROWS = 1_200
"""Above Chroma's sync threshold of 1,000, so that there is an index on disk to damage."""
LATE = 0.04
"""Share of the rows that the older copy of the index lacks: too few for any sample to show."""
SECONDS = 180
"""Time limit of one host."""

Damage = "Callable[[Store], None]"


@dataclass(frozen=True, slots=True)
class Store:
    """A store on disk, and how its index looked earlier.

    Attributes:
        root: The store.
        earlier: A copy of the Chroma folder and its stamp from before the last rows.
        other: Another store, of the same embedder and size.
        dice: Where random bytes come from.
    """

    root: Path
    earlier: Path
    other: Path
    dice: random.Random

    @property
    def chroma(self) -> Path:
        """The Chroma folder."""
        return self.root / "chroma"

    def file(self, name: str) -> Path:
        """Return the one file of this name in the Chroma folder."""
        (found,) = [path for path in self.chroma.rglob(name) if path.is_file()]
        return found

    @property
    def segment(self) -> Path:
        """The folder of the index."""
        return self.file("header.bin").parent


def garble(name: str, share: float = 0.5, size: int = 256) -> Damage:
    """Write noise over some bytes of a file."""

    def act(store: Store) -> None:
        path = store.file(name)
        data = bytearray(path.read_bytes())
        start = int(len(data) * share)
        noise = store.dice.randbytes(min(size, len(data) - start))
        data[start : start + len(noise)] = noise
        path.write_bytes(data)

    return act


def tear(name: str, share: float) -> Damage:
    """Keep only the first part of a file."""

    def act(store: Store) -> None:
        path = store.file(name)
        os.truncate(path, int(path.stat().st_size * share))

    return act


def remove(name: str) -> Damage:
    """Remove a file."""
    return lambda store: store.file(name).unlink()


def no_folder(store: Store) -> None:
    """Remove the Chroma folder."""
    shutil.rmtree(store.chroma)


def empty_folder(store: Store) -> None:
    """Remove all that is in it."""
    no_folder(store)
    store.chroma.mkdir()


def no_segment(store: Store) -> None:
    """Remove the folder of the index."""
    shutil.rmtree(store.segment)


def extra_segment(store: Store) -> None:
    """Put a second index beside the first, as if two had written."""
    shutil.copytree(store.segment, store.segment.with_name("0" * 8 + store.segment.name[8:]))


def older_copy(store: Store) -> None:
    """Put the folder and its stamp back as they were before the last rows."""
    no_folder(store)
    shutil.copytree(store.earlier / "chroma", store.chroma)
    shutil.copy2(store.earlier / "chroma.json", store.root)


def older_segment(store: Store) -> None:
    """Put only the index back as it was."""
    name = store.segment.name
    no_segment(store)
    shutil.copytree(store.earlier / "chroma" / name, store.chroma / name)


def of_another_store(store: Store) -> None:
    """Put another store's folder and stamp in its place."""
    no_folder(store)
    shutil.copytree(store.other / "chroma", store.chroma)
    shutil.copy2(store.other / "chroma.json", store.root)


def forbidden(store: Store) -> None:
    """Let nobody into the folder."""
    store.chroma.chmod(0)


def read_only(store: Store) -> None:
    """Let nobody write in it."""
    for path in [*store.chroma.rglob("*"), store.chroma]:
        path.chmod(0o500 if path.is_dir() else 0o400)


def a_file(store: Store) -> None:
    """Put a file in the folder's place."""
    no_folder(store)
    store.chroma.write_text("not a folder")


def rows_gone(store: Store) -> None:
    """Empty the tables of Chroma's database in which it keeps what it was given."""
    with sqlite3.connect(store.file("chroma.sqlite3")) as database:
        for name in ("embeddings", "embeddings_queue"):
            database.execute(f"DELETE FROM {name}")
    database.close()


OTHER_DIMENSION = """
import sys, chromadb, numpy
client = chromadb.PersistentClient(sys.argv[1])
(name,) = [collection.name for collection in client.list_collections()]
client.delete_collection(name)
made = client.create_collection(name, embedding_function=None)
made.upsert(ids=[f"m{n}" for n in range(1200)], embeddings=numpy.random.rand(1200, 8))
client.close()
"""
FOREIGN_COLLECTION = """
import sys, chromadb, numpy
client = chromadb.PersistentClient(sys.argv[1])
made = client.create_collection("theirs", embedding_function=None)
made.upsert(ids=["a", "b"], embeddings=numpy.random.rand(2, 5))
client.close()
"""


def by_client(code: str) -> Damage:
    """Let the Chroma client of another program work on the folder."""

    def act(store: Store) -> None:
        command = [sys.executable, "-W", "ignore", "-c", code, str(store.chroma)]
        subprocess.run(command, check=True, env=child_environment())

    return act


@dataclass(frozen=True, slots=True)
class Case:
    """One way to damage the folder.

    Attributes:
        damage: Does it.
        when: ``before`` the store is opened; ``open``: while it is; ``held``: nothing is damaged,
            another process owns the folder, and is killed once the host has answered.
        silent: Whether Chroma would answer wrongly without a word, so that the control has to.
        quick: Whether the quick form has it.
    """

    damage: Damage
    when: str = "before"
    silent: bool = False
    quick: bool = False


CASES = {
    "folder removed": Case(no_folder),
    "folder emptied": Case(empty_folder),
    "folder is a file": Case(a_file),
    "folder forbidden": Case(forbidden, quick=True),
    "folder read-only": Case(read_only),
    "folder removed while open": Case(no_folder, "open"),
    "held by another process": Case(lambda _: None, "held"),
    "index folder removed": Case(no_segment, silent=True, quick=True),
    "a second index folder": Case(extra_segment),
    "index metadata removed": Case(remove("index_metadata.pickle"), silent=True),
    "index metadata torn": Case(tear("index_metadata.pickle", 0.5)),
    "header corrupt": Case(garble("header.bin", 0.0)),
    "header removed": Case(remove("header.bin")),
    "vectors corrupt": Case(garble("data_level0.bin")),
    "vectors torn": Case(tear("data_level0.bin", 0.5), quick=True),
    "links corrupt": Case(garble("link_lists.bin")),
    "lengths emptied": Case(tear("length.bin", 0.0)),
    "database corrupt": Case(garble("chroma.sqlite3", size=4096)),
    "database torn": Case(tear("chroma.sqlite3", 0.5)),
    "database emptied": Case(tear("chroma.sqlite3", 0.0)),
    "rows gone from the database": Case(rows_gone, silent=True),
    "vectors of another dimension": Case(by_client(OTHER_DIMENSION)),
    "a foreign collection beside ours": Case(by_client(FOREIGN_COLLECTION)),
    "an older copy with its stamp": Case(older_copy, silent=True, quick=True),
    "an older index folder": Case(older_segment),
    "another store's folder": Case(of_another_store, silent=True),
}


@dataclass(slots=True)
class Tally:
    """The output of the hosts.

    Attributes:
        died: Cases in which the host crashed or hung.
        wrong_at_once: In which its first answers were not the right ones.
        wrong_after: In which Chroma's answers were not those from before.
        not_back: In which the index did not come back, or was not asked.
        slowest: Longest time in seconds from opening to 20 answers.
        details: What went wrong.
    """

    died: int = 0
    wrong_at_once: int = 0
    wrong_after: int = 0
    not_back: int = 0
    slowest: float = 0.0
    details: list[str] = field(default_factory=list)

    @property
    def failures(self) -> int:
        """Everything that should be 0, together."""
        return self.died + self.wrong_at_once + self.wrong_after + self.not_back

    def count(self, name: str, said: dict[str, Any] | str, right: dict[str, Any]) -> None:
        """Add what one host said; a string is how it died."""
        if isinstance(said, str):
            self.died += 1
            self.details.append(f"{name}: {said}")
            return
        self.slowest = max(self.slowest, said["seconds"])
        wrong = sum(a != b for a, b in zip(said["after"], right["after"], strict=True))
        first = sum(a != b for a, b in zip(said["at_once"], right["at_once"], strict=True))
        back = said["state"] == "ready" and not said["backlog"]
        self.wrong_at_once += bool(first)
        self.wrong_after += bool(wrong)
        self.not_back += not back or said["by_chroma"] < len(said["after"])
        if first or wrong or not back or said["by_chroma"] < len(said["after"]):
            self.details.append(
                f"{name}: {first} wrong at once, {wrong} of {len(said['after'])} wrong afterwards,"
                f" {said['by_chroma']} answered by Chroma, {said['state']}"
            )


def damaged_chroma(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Damage the Chroma folder in every way; the host must live and the index come back."""
    questions = 200 if full else 20
    cases = {name: case for name, case in CASES.items() if full or case.quick}
    sound = make_store(folder, random.Random(seed), other=full)
    right = ask(sound.root, questions)
    assert not isinstance(right, str), f"the sound store does not answer: {right}"
    assert all(len(found) == 10 for found in right["after"]), "not ten for each question"
    tally, control = Tally(), Tally()
    tally.count("nothing", right, right)
    for name, case in cases.items():
        tally.count(name, tried(sound, folder, case, questions), right)
    silent = {name: case for name, case in cases.items() if case.silent}
    for name, case in silent.items():
        control.count(name, tried(sound, folder, case, questions, control=True), right)
    return TrustResult(
        name="damaged Chroma folder",
        promise="No answer is lost if the Chroma folder is missing, truncated, corrupt, outdated or"
        " held by another process: the host process survives and finds everything at once, and the"
        " index is rebuilt automatically with the same ten best hits.",
        cases=len(cases),
        failures=tally.failures,
        control="without checking the stamp, the probe and the health check; only cases in which"
        " Chroma raises no error",
        control_failed=control.died + control.wrong_after == len(silent),
        seed=seed,
        figures={
            "kinds of damage": ", ".join(cases),
            "questions after each damage": questions,
            "memories": ROWS,
            "host died or hung": tally.died,
            "wrong at once": tally.wrong_at_once,
            "different ten best hits afterwards": tally.wrong_after,
            "index not rebuilt": tally.not_back,
            "longest time from opening to 20 answers": f"{tally.slowest:.1f} s",
            "control": f"{control.wrong_after} of {len(silent)} silently wrong,"
            f" {control.died} died",
        },
        details=(*tally.details, *(f"control: {said}" for said in control.details)),
    )


def make_store(folder: Path, dice: random.Random, *, other: bool) -> Store:
    """Make the sound store, the copy of its index before the last rows, and maybe another store."""
    root, earlier, strange = folder / "sound", folder / "earlier", folder / "other"
    _run(root, "--build", "--rows", str(int(ROWS * (1 - LATE))))
    shutil.copytree(root, earlier)
    _run(root, "--build", "--rows", str(ROWS))
    if other:
        _run(strange, "--build", "--rows", str(ROWS), "--start", str(ROWS))
    return Store(root, earlier, strange, dice)


def tried(
    sound: Store, folder: Path, case: Case, questions: int, *, control: bool = False
) -> dict[str, Any] | str:
    """Try a case on a copy of the sound store; returns what its host said."""
    root = folder / "damaged"
    shutil.copytree(sound.root, root)
    try:
        store = Store(root, sound.earlier, sound.other, sound.dice)
        if case.when == "before":
            case.damage(store)
            return ask(root, questions, *(["--control"] * control))
        if case.when == "held":
            with holder(root) as owner:
                return ask(root, questions, "--held", meanwhile=owner.kill)
        said = ask(root, questions, "--open", meanwhile=lambda: case.damage(store))
        return said if isinstance(said, str) else ask(root, questions)
    finally:
        _clear(root)


def _clear(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(root)


@contextmanager
def holder(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that owns the Chroma folder, having it open."""
    command = [sys.executable, str(HOST), str(root), "--open"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=child_environment(), **pipes) as owner:  # type: ignore[call-overload]
        try:
            assert owner.stdout.readline() == b"open\n"
            yield owner
        finally:
            owner.kill()


def ask(
    root: Path, questions: int, *options: str, meanwhile: Callable[[], object] | None = None
) -> dict[str, Any] | str:
    """Run a host over a store.

    Args:
        root: The store.
        questions: How many it asks.
        options: Further ones for the host.
        meanwhile: Done when the host says so; it goes on afterwards.

    Returns:
        What it said, or how it died.
    """
    command = [sys.executable, str(HOST), str(root), "--questions", str(questions), *options]
    child = subprocess.Popen(
        command,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        if meanwhile is not None and child.stdout.readline() == b"open\n":  # type: ignore[union-attr]
            meanwhile()
        out, err = child.communicate(b"\n", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return f"hung for {SECONDS} s"
    if child.returncode < 0:
        return f"died of {signal.Signals(-child.returncode).name}"
    if child.returncode:
        return f"failed: {err.decode('utf-8', 'replace').strip().splitlines()[-1:]}"
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    return said


def _run(root: Path, *options: str) -> None:
    command = [sys.executable, str(HOST), str(root), *options]
    subprocess.run(command, check=True, env=child_environment())


HARNESSES = (damaged_chroma,)
