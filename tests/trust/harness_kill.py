"""kill -9 at chosen calls: inside snapshot, migration, reindex, forget, erase, close.

A child does one thing to a store and is killed just before its n-th call that changes a file; for
every n, in the quick form for some. What is left must open, hold what it held before that thing or
after it and nothing between, be well in doctor's eyes, and do the thing when asked again.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import script
import shim
from harness_iofault import QUIET
from trust_result import TrustResult

from memento import MemoryManager
from memento.errors import NotFound
from memento.testing import HashEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = "WSTROUM"
POINTS = {False: 3, True: 400}
"""Most moments at which each thing is killed; spread over all of its calls."""
STEPS = 30
OLD_STORES = Path(__file__).parents[1] / "ledger" / "stores"
DOOMED = ("m0", "m1", "m3")
GONE = [
    step.arguments[1].encode()
    for step in script.steps(STEPS, 1)
    if step.verb in {"add", "update"} and step.arguments[0] in DOOMED
]
"""Texts that an erasure leaves nowhere; whole ones, as the reserve is noise and holds any word."""


# --- what is done, and to what


def filled(root: Path) -> None:
    """Make a store with some of everything."""
    with MemoryManager(root, embedder=None, config=QUIET) as memory:
        for step in script.steps(STEPS, 1):
            script.do(memory, step)


def old(root: Path) -> None:
    """Take a store of the first schema."""
    root.mkdir()
    (root / "ledger.db").write_bytes(gzip.decompress((OLD_STORES / "schema-1.db.gz").read_bytes()))


def embedded(root: Path) -> None:
    """Make a store whose vectors come from another embedder."""
    with MemoryManager(root, embedder=HashEmbedder(16)) as memory:
        for n in range(20):
            memory.add(f"note {n}", "short", id=f"m{n}")
        memory.flush(wait=True, timeout=60)


def snapshot(memory: MemoryManager) -> None:
    """Write the ring to its file."""
    memory.add("for the ring", "short", id="new")
    memory.flush()


def forget(memory: MemoryManager) -> None:
    """Hide several memories at once."""
    memory.forget_many(ids=list(DOOMED))


def forget_singly(memory: MemoryManager) -> None:
    """Hide several memories one by one: what a store without transactions would do."""
    for memory_id in DOOMED:
        memory.forget(memory_id)


def erase(memory: MemoryManager) -> None:
    """Take several memories out of every file."""
    try:
        memory.erase(list(DOOMED))
    except NotFound:
        memory.flush(wait=True, timeout=10)  # gone before; the files may still be owed something


def nothing(_memory: MemoryManager) -> None:
    """Open and close: all that is to be done happens there."""


def reindex(memory: MemoryManager) -> None:
    """Make another embedder the store's."""
    memory.reindex()


THINGS: dict[str, tuple[Callable[[Path], None], Callable[[MemoryManager], None]]] = {
    "snapshot": (filled, snapshot),
    "migration": (old, nothing),
    "reindex": (embedded, reindex),
    "forget": (filled, forget),
    "erase": (filled, erase),
    "close": (filled, nothing),
}
CONTROL = {"forget singly": (filled, forget_singly)}


# --- the child that forks the ones to be killed


def work(folder: Path, name: str, points: int) -> None:
    """Do a thing, killed at some of its calls; print what each kill left."""
    library = shim.Shim()
    prepare, thing = {**THINGS, **CONTROL}[name]
    base, store = folder / "base", folder / "store"
    in_child(lambda: prepare(base))
    (base / "reserve").unlink(missing_ok=True)
    before = in_child(lambda: look(fresh(base, store), name))
    calls = in_child(lambda: perform(fresh(base, store), name, thing, library, 0))
    after = in_child(lambda: look(store, name))
    stride = max(1, calls // points)
    for nth in range(1, calls + 1, stride):
        fresh(base, store)
        if in_child(lambda nth=nth: perform(store, name, thing, library, nth)) is not None:
            said = ["it was not killed"]
        else:
            said = in_child(lambda: judge(store, name, thing, before, after))
        wrong = ["the checking process died"] if said is None else said
        os.write(1, f"{json.dumps({'thing': name, 'nth': nth, 'wrong': wrong})}\n".encode())


def in_child(job: Callable[[], Any]) -> Any:
    """Run a job in a forked process; returns what it returned, None if it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            said = json.dumps(job(), default=str)
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            said = json.dumps([traceback.format_exc().splitlines()[-1]])
        with os.fdopen(writer, "w") as pipe:
            pipe.write(said)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else json.loads(said)


def fresh(base: Path, store: Path) -> Path:
    """Make a copy to work on."""
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(base, store)
    return store


def opened(root: Path, name: str) -> MemoryManager:
    """Open a store as the thing needs it."""
    embedder = HashEmbedder(32) if name == "reindex" else None
    return MemoryManager(root, embedder=embedder, config=QUIET)


def perform(
    root: Path, name: str, thing: Callable[[MemoryManager], None], library: shim.Shim, nth: int
) -> int:
    """Do the thing under the fault library; returns how many calls it took."""
    library.arm(CALLS, nth, shim.KILL)
    with opened(root, name) as memory:
        thing(memory)
    return library.disarm()


def look(root: Path, name: str) -> Any:
    """Read what a store holds, and what it owes to its embedder."""
    with opened(root, name) as memory:
        return [script.held(memory), memory.stats().backlog if name == "reindex" else None]


def judge(
    root: Path, name: str, thing: Callable[[MemoryManager], None], before: Any, after: Any
) -> list[str]:
    """Open what a kill left and say what is wrong with it."""
    wrong = []
    with opened(root, name) as memory:
        wrong += script.complaints(memory)
    found = json.loads(json.dumps(look(root, name)))
    if found not in (before, after):
        wrong.append("what is held is neither what was before nor what comes after")
    with opened(root, name) as memory:
        thing(memory)
    if json.loads(json.dumps(look(root, name))) != after:
        wrong.append("doing it again does not lead where it should")
    wrong += [f"left behind: {p.name}" for p in root.iterdir() if p.suffix in {".tmp", ".bad"}]
    if name == "erase":
        files = {path.name: path.read_bytes() for path in root.iterdir()}
        wrong += [f"still in {p}" for p in files if any(text in files[p] for text in GONE)]
    return wrong


# --- the parent


def killed_in(folder: Path, library: Path, name: str, points: int) -> list[dict[str, Any]]:
    """Kill inside one thing; returns what each kill left."""
    root = shim.in_memory(folder)
    try:
        done = subprocess.run(
            [sys.executable, __file__, str(root), name, str(points)],
            env=shim.environment(library, root),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(root)
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_inside(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Kill a process inside everything that takes more than one write."""
    told = {
        "name": f"kill -9 inside {', '.join(THINGS)}",
        "promise": "What is left is the store as it was before or as it is after, and well.",
        "control": "forgetting several memories one by one",
        "seed": seed,
    }
    library = shim.build(folder)
    if library is None:
        return TrustResult(**told, cases=0, failures=0, skipped=shim.NO_COMPILER)
    found = {name: killed_in(folder, library, name, POINTS[full]) for name in THINGS}
    kills = [kill for kills in found.values() for kill in kills]
    wrong = [f"{k['thing']}, call {k['nth']}: {what}" for k in kills for what in k["wrong"]]
    control = killed_in(folder, library, next(iter(CONTROL)), 12)
    return TrustResult(
        **told,
        cases=len(kills),
        failures=len(wrong),
        control_failed=any(kill["wrong"] for kill in control),
        figures={f"kills in {name}": len(kills) for name, kills in found.items()},
        details=tuple(wrong[:10]),
    )


HARNESSES = (killed_inside,)

if __name__ == "__main__":
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    work(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
