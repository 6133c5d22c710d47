"""Does an acknowledged checkpoint survive kill -9, and does ``resume`` name the task?

    python benchmarks/durability.py --checkpoints [500] [--seed 1] [--max-ms 600] [--control]

A child process begins one session after the other, each with a goal, a turn and a checkpoint, and
tells the parent the number of each session once ``checkpoint`` returned. It is killed with SIGKILL
at a random moment, and a new child goes on in the same store, until as many checkpoints as asked
for are acknowledged. Then the store is opened and every acknowledged session is resumed. It also
prints how long ``checkpoint``, ``resume`` and a bare ``add`` take beside each other.

``--control`` acknowledges each checkpoint a little before it is made: there it must lose some.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory

from common import child_environment, table

from memento import MemoryManager

START_SECONDS = 60.0
"""Longest wait for the first checkpoint of a child."""
BEHIND_SECONDS = 0.02
"""Time between acknowledging and noting in the control."""
TIMED = 300
"""Calls of each verb that are timed."""
DEARER = 3.0
"""Largest p95 of ``checkpoint``, in multiples of that of ``add``."""
SLOWEST_RESUME = 0.050
"""Largest p95 of ``resume``, seconds."""


def goal_of(number: int) -> str:
    """Return the goal that only this session has."""
    return f"finish task{number}x of the migration"


def step_of(number: int) -> str:
    """Return the next step that only this session has."""
    return f"run step{number}x and look at its output"


def write(root: str, first: int, pipe: int, *, control: bool) -> None:
    """Note checkpoints until killed; tell the number of each once it is durable."""
    memory = MemoryManager(root, embedder=None)
    for number in count(first):
        name = f"task-{number}"
        memory.sessions.start(name, goal=goal_of(number))
        memory.add(f"please go on with {number}", session=name, role="user")
        if control:
            os.write(pipe, f"{number}\n".encode())
            time.sleep(BEHIND_SECONDS)
        memory.sessions.checkpoint(name, done=[f"step{number}y"], next=[step_of(number)])
        if not control:
            os.write(pipe, f"{number}\n".encode())


@dataclass(slots=True)
class Tally:
    """The counts over all kills.

    Attributes:
        kills: Children that were killed.
        acknowledged: Checkpoints acknowledged.
        lost: Of these, the ones that were gone.
        unnamed: Sessions whose block does not name the goal and the next step.
        uninterrupted: Sessions that do not count as interrupted.
        troubles: Checks of doctor that were not well.
    """

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    unnamed: int = 0
    uninterrupted: int = 0
    troubles: int = 0

    @property
    def failures(self) -> int:
        """Everything that should be 0, together."""
        return self.lost + self.unnamed + self.uninterrupted + self.troubles


def run(options: argparse.Namespace, script: str) -> Tally:
    """Kill children until enough checkpoints are acknowledged, then look at them."""
    tally, dice = Tally(), random.Random(options.seed)
    with TemporaryDirectory(prefix="memento-checkpoints-") as root:
        known: list[int] = []
        while len(known) < options.checkpoints:
            first = known[-1] + 2 if known else 0
            known += _kill(root, first, dice.uniform(0, options.max_ms / 1e3), options, script)
            tally.kills += 1
        tally.acknowledged = len(known)
        with MemoryManager(root, embedder=None) as memory:
            for number in known:
                _look(memory, number, tally)
            tally.troubles = sum(not one.ok for one in memory.store.doctor())
    return tally


def _kill(
    root: str, first: int, delay: float, options: argparse.Namespace, script: str
) -> list[int]:
    """Start a writer and kill it; returns what it acknowledged."""
    reader, writer = os.pipe()
    command = [sys.executable, script, "--checkpoints", "--write", root, str(first), str(writer)]
    command += ["--control"] * options.control
    process = subprocess.Popen(command, pass_fds=[writer], env=child_environment())
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        select.select([pipe], [], [], START_SECONDS)
        time.sleep(delay)
        process.kill()
        said = pipe.read()
    if process.wait() != -signal.SIGKILL:
        raise SystemExit("the writer ended by itself")
    return [int(number) for number in said.decode().split()]


def _look(memory: MemoryManager, number: int, tally: Tally) -> None:
    """Resume one session, and count what is wrong with it."""
    found = memory.sessions.resume(f"task-{number}")
    if found is None or found.checkpoint is None or found.checkpoint.next != (step_of(number),):
        tally.lost += 1
        return
    named = goal_of(number) in found.text and step_of(number) in found.text
    tally.unnamed += not named
    tally.uninterrupted += found.session.state != "interrupted"


def timed() -> dict[str, float]:
    """Return the p95 of each verb, seconds, called in turn on one store."""
    taken: dict[str, list[float]] = {"add": [], "checkpoint": [], "resume": []}
    with TemporaryDirectory() as root, MemoryManager(root, embedder=None) as memory:
        work = memory.sessions.start("s", goal="measure")
        for n in range(TIMED):
            taken["add"].append(_seconds(partial(memory.add, f"a bare note number {n}")))
            memory.add(f"turn {n}", session="s", role="user")
            note = partial(work.checkpoint, done=[f"step {n}"], next=["the next"])
            taken["checkpoint"].append(_seconds(note))
            taken["resume"].append(_seconds(lambda: memory.sessions.resume("s")))
    return {verb: statistics.quantiles(each, n=20)[-1] for verb, each in taken.items()}


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main(options: argparse.Namespace, script: str) -> int:
    """Run, print the counts, and tell whether all of it held."""
    if options.write:
        root, first, pipe = options.write
        write(root, int(first), int(pipe), control=options.control)
    tally = run(options, script)
    print(table(["kill -9", "count"], [(name, str(n)) for name, n in asdict(tally).items()]))
    if options.control:
        print("the control loses checkpoints" if tally.lost else "THE CONTROL LOST NONE")
        return 0 if tally.lost else 1
    p95 = timed()
    print(table(["verb", "p95 ms"], [(verb, f"{1e3 * s:.2f}") for verb, s in p95.items()]))
    dear = p95["checkpoint"] / p95["add"]
    print(f"checkpoint costs {dear:.2f} of a bare add (at most {DEARER})")
    slow = dear > DEARER or p95["resume"] > SLOWEST_RESUME
    return 1 if tally.failures or slow else 0
