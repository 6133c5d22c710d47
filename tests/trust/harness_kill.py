"""kill -9 at chosen calls: inside import, restore, salvage, backup, forget, erase and others.

A child does one thing to a store and is killed just before its n-th call that changes a file; for
every n, in the quick form for some. The store must open, hold in every field its values from before
that thing or after it and nothing between, be well in doctor's eyes, and do the thing when asked
again. Of a verb that works in bites, the first bites may be done, each of them whole. A change
of files beside the store (`kill_things`) leaves the earlier file or the new one; and a store that
is replaced by another is somewhere, whole.
"""

from __future__ import annotations

import importlib
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
from kill_things import CONTROLS, GONE, THINGS, Thing, held, opened, store_of
from trust_result import TrustResult

from memento.base.files import unfinished
from memento.base.layout import DERIVED, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CALLS = "WSTROUM"
POINTS = {False: 2, True: 400}
"""Most moments at which each thing is killed; spread over all of its calls."""
CONTROL_POINTS = 6


# --- the child that forks the ones to be killed


def work(folder: Path, points: int, known: Mapping[str, Thing]) -> None:
    """Do things, each killed at some of its calls; print what each kill left."""
    library, made = shim.Shim(), dict[Any, Path]()
    for name, thing in known.items():
        if thing.prepare not in made:
            base = made[thing.prepare] = folder / f"base {len(made)}"
            base.mkdir()
            for module in in_child(lambda base=base, thing=thing: prepared(base, thing)):
                importlib.import_module(module)
        killed_at_some(folder, made[thing.prepare], name, thing, points, library)


def prepared(base: Path, thing: Thing) -> list[str]:
    """Make what there is before, and name the modules it took.

    The process that forks the children imports them once, so that each child need not.
    """
    known = set(sys.modules)
    thing.prepare(base)
    (store_of(base) / "reserve").unlink(missing_ok=True)
    return [name for name in sys.modules if name not in known and name.startswith("memento.")]


def killed_at_some(
    folder: Path, base: Path, name: str, thing: Thing, points: int, library: shim.Shim
) -> None:
    """Do one thing to copies of what there is before, killed at some of its calls."""
    place = folder / "work"
    before = in_child(lambda: look(fresh(base, place), thing))
    calls = in_child(lambda: perform(fresh(base, place), thing, library, 0))
    after = in_child(lambda: look(place, thing))
    for nth in moments(calls, points):
        fresh(base, place)
        if in_child(lambda nth=nth: perform(place, thing, library, nth)) is not None:
            said = ["it was not killed"]
        else:
            said = in_child(lambda: judge(place, name, thing, before, after))
        wrong = ["the checking process died"] if said is None else said
        os.write(1, f"{json.dumps({'thing': name, 'nth': nth, 'wrong': wrong})}\n".encode())


def moments(calls: int, points: int) -> list[int]:
    """Choose calls at which to kill, spread over all of them: the last one is among them."""
    count = min(calls, points)
    return [calls - calls * at // count for at in range(count)]


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


def fresh(base: Path, place: Path) -> Path:
    """Make a copy to work on."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base, place)
    return place


def perform(folder: Path, thing: Thing, library: shim.Shim, nth: int) -> int:
    """Do the thing under the fault library; returns how many calls it took."""
    library.arm(CALLS, nth, shim.KILL)
    thing.do(folder)
    return library.disarm()


def look(folder: Path, thing: Thing) -> list[Any]:
    """Read what the store holds, what it owes to its embedder, and what is beside it."""
    root = store_of(folder)
    found, owed = held(root, thing.dim), 0
    if thing.dim:
        with opened(root, thing.dim) as memory:
            owed = memory.store.stats().backlog
    return [found, owed, thing.besides(folder)]


def judge(folder: Path, name: str, thing: Thing, before: list[Any], after: list[Any]) -> list[str]:
    """Open what a kill left and say what is wrong with it."""
    wrong = unwell(store_of(folder))
    found = as_told(look(folder, thing))
    if found not in (before, after) and not is_between(thing, found, before, after):
        wrong.append("what is held is neither what was before nor what comes after")
    if thing.keeps_old and before[0] not in kept(folder):
        wrong.append("the store that was there is nowhere whole")
    thing.do(folder)
    if as_told(look(folder, thing)) != after:
        wrong.append("doing it again does not lead where it should")
    wrong += unwell(store_of(folder), thing.dim)
    wrong += [f"left behind: {path.name}" for path in litter(folder)]
    if gone := GONE.get(name):
        files = {path.name: path.read_bytes() for path in store_of(folder).iterdir()}
        wrong += [f"still in {p}" for p in files if any(text in files[p] for text in gone)]
    return wrong


def as_told(found: list[Any]) -> list[Any]:
    """Return what a child would have told of it."""
    told: list[Any] = json.loads(json.dumps(found))
    return told


def unwell(root: Path, dim: int = 0) -> list[str]:
    """Say what is not well in a store, if there is one."""
    if not (root / LEDGER).exists():
        return []
    with opened(root, dim) as memory:
        return script.complaints(memory)


def is_between(thing: Thing, found: list[Any], before: list[Any], after: list[Any]) -> bool:
    """Tell whether a thing may leave this when it is cut off."""
    return thing.between is not None and thing.between(found[0], before[0], after[0])


def kept(folder: Path) -> list[Any]:
    """Read every store that is in a folder."""
    roots = [path for path in folder.iterdir() if (path / LEDGER).exists()]
    return as_told([held(root) for root in roots])


def litter(folder: Path) -> list[Path]:
    """List what is unfinished in a folder and in its store; a whole store is not."""
    root = store_of(folder)
    every = [*root.iterdir(), *(root / DERIVED).glob("*")]
    spoilt = [path for path in every if path.suffix in {".tmp", ".bad"}]
    return spoilt + [path for path in unfinished(folder) if not (path / LEDGER).exists()]


# --- the parent


def killed_in(
    folder: Path, library: Path, names: Iterable[str], points: int, script: Path = Path(__file__)
) -> dict[str, list[dict[str, Any]]]:
    """Kill inside things that a script knows; returns what each kill left, by thing."""
    root, found = shim.in_memory(folder), {name: list[dict[str, Any]]() for name in names}
    try:
        done = subprocess.run(
            [sys.executable, str(script), str(root), str(points), *found],
            env=shim.environment(library, root),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(root)
    for line in done.stdout.splitlines():
        kill = json.loads(line)
        found[kill["thing"]].append(kill)
    return found


def killed_inside(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Kill a process inside everything that takes more than one write."""
    told = {
        "name": f"kill -9 inside {len(THINGS)} verbs",
        "promise": "After the kill, the store is undamaged and in the state before the operation,"
        " after it, or after a whole number of its batches.",
        "control": f"each of: {', '.join(CONTROLS)}",
        "seed": seed,
    }
    library = shim.build(folder)
    if library is None:
        return TrustResult(**told, cases=0, failures=0, skipped=shim.NO_COMPILER)
    found = killed_in(folder, library, THINGS, POINTS[full])
    kills = [kill for kills in found.values() for kill in kills]
    wrong = [f"{k['thing']}, call {k['nth']}: {what}" for k in kills for what in k["wrong"]]
    controls = killed_in(folder, library, CONTROLS, CONTROL_POINTS).values()
    return TrustResult(
        **told,
        cases=len(kills),
        failures=len(wrong),
        control_failed=all(any(kill["wrong"] for kill in kills) for kills in controls),
        figures={f"kills in {name}": len(kills) for name, kills in found.items()},
        details=tuple(wrong[:10]),
    )


HARNESSES = (killed_inside,)

if __name__ == "__main__":
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    every = {**THINGS, **CONTROLS}
    work(Path(sys.argv[1]), int(sys.argv[2]), {name: every[name] for name in sys.argv[3:]})
