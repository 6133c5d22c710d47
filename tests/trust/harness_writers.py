"""Many processes with many threads write to one store: nothing lost, nothing twice, nobody starves.

And one verb that changes many memories does not keep the others waiting: it takes the writer for a
few at a time, and looks for secrets before. One that concerns the whole file, as an erasure or the
doctor, reads it as a reader or takes a few pages at a time. The control does all in one piece.

One of the processes is killed half way. The controls show that the gate is what it depends on:
without it, a store that does not wait for SQLite's lock is refused; and a writer that acknowledges
before it adds loses what the killed one had in hand.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import script
import shim
import writers
from trust_result import TrustResult
from writers import Held

from memento import Config, MemoryManager, engine
from memento.claims.settings import Conflicts
from memento.errors import MementoError
from memento.ledger import erasure
from memento.ledger.lite import fulltext, sqlite
from memento.ledger.lite import store as ledger_module
from memento.ledger.lite.gate import Gate
from memento.types import Trust
from memento.upkeep import import_lines
from memento.write import change

SIZES = {False: (3, 4, 1.5), True: (4, 16, 60.0)}
"""Processes, threads in each, and seconds; by whether it is the full form."""
LONGEST = 5.0
"""Seconds no add may take, in the full form."""
LONGEST_HELD = 1.0
"""Seconds no verb may hold the writer, in the full form."""
MANY = {False: 4_000, True: 40_000}
"""Memories that the verbs change, an eighth of them those of a source; by the form."""
BITTEN = ("update", "touch", "import_from", "forget_source", "restore_source", "forget_many")
"""Verbs that may meet any number of memories, or a text of any length."""
MARKING = "erase of a namespace"
"""One that also does, and first writes down a number for each memory, in one transaction."""
MOST_STEPS = {"doctor": 20, "erase of one": 150}
"""Most thousands of steps of SQLite in one transaction, in the quick form, of verbs that concern
the whole file, however few memories they meet."""
ALONE = Config(conflicts=Conflicts(pairs=0))
"""Settings in which the background thread compares no statements: else it counts with the verb."""
MOST_ROWS = 1_900
CAUGHT_UP = 40 * fulltext.MOST_WAITING
"""Rows of its own tables that the full text changes when the adds beside a verb make it catch up,
in the full form; the quick form keeps it from that."""
"""Most rows, of all tables, that one transaction may change: some seven for each of a bite."""
MOST_SEARCHED = 10_000
"""Most characters that may be looked through for secrets while others wait: those of an add."""
CONTROLS = {"no gate": "errors", "early acknowledgement": "lost"}
"""The findings of which each control must have at least one."""
CONTROL_TRIES = 10
"""Times each control is run at most, until it fails as it must."""


# --- a child


def work(root: Path, number: int, threads: int, control: str) -> None:
    """Add from many threads until told to end; print each id once it is acknowledged."""
    if control == "no gate":
        ledger_module.BUSY_SECONDS = 0.0
        Gate.enter = Gate.leave = lambda _gate: None
    memory = MemoryManager(root, embedder=None)
    errors: collections.Counter[str] = collections.Counter()
    ended, longest = threading.Event(), [0.0] * threads

    def one(thread: int) -> None:
        made = 0
        while not ended.is_set():
            made += 1
            memory_id = f"p{number}t{thread}n{made}"
            if control == "early acknowledgement":
                say(memory_id)
            began = time.perf_counter()
            try:
                memory.add(f"{memory_id} and so on", "medium", id=memory_id)
            except MementoError as error:
                errors[f"{type(error).__name__}: {error}"] += 1
                continue
            longest[thread] = max(longest[thread], time.perf_counter() - began)
            if control != "early acknowledgement":
                say(memory_id)

    pool = [threading.Thread(target=one, args=(n,)) for n in range(threads)]
    say("ready")
    sys.stdin.readline()
    for thread in pool:
        thread.start()
    sys.stdin.readline()
    ended.set()
    for thread in pool:
        thread.join()
    memory.close()
    say(json.dumps({"errors": errors, "longest": max(longest)}))


def say(line: str) -> None:
    """Print a line in one piece."""
    os.write(1, f"{line}\n".encode())


# --- the parent


def at_once(folder: Path, *, full: bool, seed: int, control: str = "") -> dict[str, Any]:
    """Let them all write at once; returns counts of what went wrong, and how long an add took."""
    processes, threads, seconds = SIZES[full]
    root, out = folder / f"store {control}", folder / f"said {control}"
    out.mkdir()
    MemoryManager(root, embedder=None).close()
    children = []
    for number in range(processes):
        with (out / str(number)).open("wb") as file:
            command = [sys.executable, __file__, root, str(number), str(threads), control]
            children.append(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=file, env=shim.environment()
                )
            )
    for number in range(processes):
        while (out / str(number)).stat().st_size == 0:
            time.sleep(0.01)
    for child in children:
        tell(child)
    time.sleep(seconds / 2)
    victim = children[seed % processes]
    victim.send_signal(signal.SIGKILL)
    time.sleep(seconds / 2)
    for child in children:
        if child is not victim:
            tell(child)
        child.wait()
        child.stdin.close()
    return compare(root, [path.read_text().split("\n") for path in sorted(out.iterdir())])


def tell(child: subprocess.Popen[bytes]) -> None:
    """Give the sign to begin, or to end."""
    child.stdin.write(b"\n")
    child.stdin.flush()


def compare(root: Path, said: list[list[str]]) -> dict[str, Any]:
    """Look at what was said and what is there."""
    import_lines = [line for process in said for line in process[:-1]]
    reports = [json.loads(line) for line in import_lines if line.startswith("{")]
    told = collections.Counter(line for line in import_lines if line.startswith("p"))
    with MemoryManager(root, embedder=None) as memory:
        held = collections.Counter(m.id for m in memory.list(limit=1_000_000))
        unwell = script.complaints(memory)
    return {
        "acknowledged": len(told),
        "lost": sorted(told.keys() - held.keys()),
        "twice": [memory_id for memory_id, times in held.items() if times > 1],
        "errors": [error for report in reports for error in report["errors"]],
        "unwell": unwell,
        "unfinished": len(said) - 1 - len(reports),
        "longest": max(report["longest"] for report in reports),
    }


def wrong_in(found: dict[str, Any], *, full: bool) -> list[str]:
    """Say what broke the promise."""
    wrong = [f"lost: {memory_id}" for memory_id in found["lost"]]
    wrong += [f"twice: {memory_id}" for memory_id in found["twice"]]
    wrong += found["errors"] + found["unwell"]
    wrong += ["a process that was not killed did not end well"] * found["unfinished"]
    if full and found["longest"] > LONGEST:
        wrong.append(f"an add took {found['longest']:.1f} s")
    return wrong


def many_writers(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Write from several processes and threads, one process killed half way."""
    found = at_once(folder, full=full, seed=seed)
    wrong = wrong_in(found, full=full)
    refused, early = (failed(folder, control, sign, seed) for control, sign in CONTROLS.items())
    processes, threads, seconds = SIZES[full]
    return TrustResult(
        name=f"{processes} processes with {threads} threads each, one killed",
        promise="No memory is lost or stored twice, no writer is refused, and no add takes over"
        f" {LONGEST:g} s.",
        cases=found["acknowledged"],
        failures=len(wrong),
        control="without the gate, writers are refused; acknowledging before adding, memories are"
        " lost",
        control_failed=bool(refused and early),
        seed=seed,
        figures={
            "seconds": seconds,
            "longest add, in seconds": round(found["longest"], 3),
            "adds per second": round(found["acknowledged"] / seconds),
            "lost when acknowledged early": len(early),
        },
        details=tuple(wrong[:10]),
    )


def failed(folder: Path, control: str, sign: str, seed: int) -> list[str]:
    """Run a control until it fails as it must; returns what was wrong with it."""
    for number in range(CONTROL_TRIES):
        place = folder / f"try {number}"
        place.mkdir(exist_ok=True)
        if found := at_once(place, full=False, seed=seed + number, control=control)[sign]:
            return list(found)
    return []


def no_verb_holds_the_writer(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Import, forget, change, erase and examine while another thread adds."""
    most_waiting = fulltext.MOST_WAITING if full else 1 << 30  # else adds count among the steps
    with (
        mock.patch.object(sqlite, "WHOLE_PAGES", -1),  # as if it were a large ledger
        mock.patch.object(fulltext, "MOST_WAITING", most_waiting),
    ):
        found = held_by_verbs(folder / "store", MANY[full])
    wrong = too_much_in(found, MANY[full], full=full)
    with in_one_piece():
        held = held_by_verbs(folder / "control", MANY[False])
        control = too_much_in(held, MANY[False], full=False)
    return TrustResult(
        name="verbs that change many memories",
        promise="No transaction changes more than one batch or searches for secrets; the writer is "
        f"held for at most {LONGEST_HELD:g} s, and no add takes over {LONGEST:g} s.",
        cases=MANY[full] * len(found),
        failures=len(wrong),
        control="each verb in a single transaction that also searches for secrets",
        control_failed=len(control) == len(found),
        seed=seed,
        figures={
            "memories": MANY[full],
            "verb that held the writer longest": max(found, key=lambda name: found[name].seconds),
            "longest time the writer was held, in seconds": round(
                max(one.seconds for one in found.values()), 3
            ),
            "longest add, in seconds": round(max(one.longest_add for one in found.values()), 3),
            "maximum rows changed at once": max(
                one.rows for name, one in found.items() if name != MARKING
            ),
        },
        details=tuple(wrong[:10]),
    )


def held_by_verbs(root: Path, rows: int) -> dict[str, Held]:
    """Run each verb over so many memories while another thread adds; tell what was held."""
    found: dict[str, Held] = {}
    with MemoryManager(root, embedder=None, config=ALONE) as memory:
        writers.fill(memory, rows)
        export = root.with_suffix(".jsonl")
        memory.store.export(export)
        for name, verb in writers.verbs(memory, rows, export).items():
            if name in (*MOST_STEPS, MARKING) or name.split()[0].rstrip(",") in BITTEN:
                memory.flush(wait=True)  # so that the background thread has little to merge
                with writers.watched() as held, writers.adding(memory) as adds:
                    verb()
                held.longest_add = max(adds)
                found[name] = held
    return found


def too_much_in(found: dict[str, Held], rows: int, *, full: bool) -> list[str]:
    """Say which verbs broke the promise; by the clock in the full form only."""
    return [
        f"{name}: {held}"
        for name, held in found.items()
        if held.rows > MOST_ROWS + (rows if name == MARKING else 0) + (CAUGHT_UP if full else 0)
        or held.searched > MOST_SEARCHED
        or (not full and held.steps > MOST_STEPS.get(name, held.steps))
        or (full and (held.seconds > LONGEST_HELD or held.longest_add > LONGEST))
    ]


@contextmanager
def in_one_piece() -> Iterator[None]:
    """Be the control: one transaction a verb, and secrets looked for inside it."""
    accept, update = change.accept, change.update

    def late(work: Any, memory_id: str, asked: Any) -> Any:
        return update(work, memory_id, accept(asked.corrections, **asked.how))

    def not_yet(corrections: Any, **how: Any) -> SimpleNamespace:
        return SimpleNamespace(corrections=corrections, how=how, author=Trust.USER, verb="update")

    with (
        mock.patch.object(engine, "BITE", 1 << 60),
        mock.patch.object(import_lines, "BITE", 1 << 60),
        mock.patch.object(import_lines, "BITE_BYTES", 1 << 60),
        mock.patch.object(change, "accept", not_yet),
        mock.patch.object(change, "update", late),
        mock.patch.object(fulltext, "CHECKED_AS_READ", (1 << 30,)),
        mock.patch.object(sqlite, "WHOLE_PAGES", 1 << 60),
        mock.patch.object(erasure, "FEW", 1 << 60),
    ):
        yield


HARNESSES = (many_writers, no_verb_holds_the_writer)
TIMED = HARNESSES

if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
