"""Is what was acknowledged still there after kill -9?

    python benchmarks/durability.py [--rounds 30] [--seed 1] [--embedder hash|default|none]
                                    [--max-ms 600] [--control] [--json OUT]
                                    [--checkpoints [500]]
    python benchmarks/durability.py --engine pg [--kills 30] [--seed 1] [--control] [--json OUT]

Each round a child process adds memories to all tiers through the public interface and tells the
parent every id that ``add`` returned. It is killed with SIGKILL at a random moment: while it opens
the store, while it adds, while the index is being fed. Rounds are run until as many as asked for
were killed after something was acknowledged; the others are checked as well, and counted apart.
After each, a fresh process checks the store:

    every acknowledged memory is there, with its text   every check of doctor() is well
    full text finds the newest of them by a word        the backlog drains, all vectors are there

The exit status is 0 if all of it held in every round, else 1.

``--control`` shows that the bench can fail: its child acknowledges each id a little before it
calls ``add``, as a buffer that is written behind would.
There the exit status is 0 only if losses were seen. (SQLite with synchronous=OFF would be no
control: the kernel keeps what a killed process wrote. That takes a power cut.)

``--checkpoints`` asks the same of checkpoints instead; see ``checkpoints.py``. ``--engine pg``
kills a whole PostgreSQL server; see ``durability_server.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import checkpoints
import durability_server
from common import EMBEDDERS, child_environment, embedder_named, table, unindexed, write_json
from corpus import Corpus

from memento import MemoryManager
from memento.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

TIERS = ("short", "medium", "long", None)
BATCH_EVERY = 10
"""Every so many adds one is an ``add_many`` of BATCH memories, acknowledged together."""
BATCH = 20
EARLY = 0.2
"""Share of the rounds in which the child is killed without waiting for its first memory."""
EARLY_SECONDS = 0.6
MOST_EARLY = 2
"""Most rounds run, in multiples of those asked for: a bench that never counts one must end."""
START_SECONDS = 60.0
"""Longest wait for the first memory of a child."""
FRESH_EVERY = 25
"""Rounds on one store before a new one is begun, so that checking it stays quick."""
BEHIND_SECONDS = 0.02
"""Time between acknowledging and adding in the control."""
SEARCHED = 25
"""Newest acknowledged memories looked up by full text each round."""
FLUSH_SECONDS = 120.0


def mark_of(round_number: int, n: int) -> str:
    """Return the word that only this memory has."""
    return f"mark{round_number}x{n}"


def text_of(round_number: int, n: int) -> str:
    """Return the text of the n-th memory of a round; the checking process makes it again."""
    words = Corpus(round_number * 1_000_003 + n).text(1 + n % 3)
    return f"{words} {mark_of(round_number, n)}"


# --- the child that is killed


def write(root: str, round_number: int, pipe: int, embedder: str, *, control: bool) -> None:
    """Add memories until killed; tell the number of each through the pipe once it is durable."""
    memory = MemoryManager(root=root, embedder=embedder_named(embedder))
    numbers = count()
    for step in count():
        chosen = [next(numbers) for _ in range(BATCH if step % BATCH_EVERY == 0 else 1)]
        ids = [mark_of(round_number, n) for n in chosen]
        if control:
            acknowledge(pipe, ids)
            time.sleep(BEHIND_SECONDS)
        add(memory, round_number, chosen)
        if not control:
            acknowledge(pipe, ids)


def add(memory: MemoryManager, round_number: int, chosen: Sequence[int]) -> None:
    """Add one memory, or several in one call, under the id that names it."""
    drafts: list[dict[str, Any]] = [
        {
            "text": text_of(round_number, n),
            "id": mark_of(round_number, n),
            "tier": TIERS[n % len(TIERS)],
        }
        for n in chosen
    ]
    if len(drafts) > 1:
        memory.add_many(drafts)
    else:
        memory.add(**drafts[0])


def acknowledge(pipe: int, ids: Sequence[str]) -> None:
    """Tell the parent, in one write: less than a pipe takes at once, so never torn."""
    os.write(pipe, "".join(f"{name}\n" for name in ids).encode())


# --- the child that checks


def verify(root: str, ids: Sequence[str], embedder: str) -> dict[str, Any]:
    """Open the store afresh and look for everything that was acknowledged."""
    with MemoryManager(root=root, embedder=embedder_named(embedder)) as memory:
        states = {name: state_of(memory, name) for name in ids}
        newest = [name for name in ids if states[name] == "there"][-SEARCHED:]
        unfound = [name for name in newest if not finds(memory, name)]
        flushed = memory.flush(wait=True, timeout=FLUSH_SECONDS)
        troubles = [
            asdict(finding) for finding in memory.store.doctor(repair=False) if not finding.ok
        ]
        return {
            "lost": [name for name, state in states.items() if state == "lost"],
            "garbled": [name for name, state in states.items() if state == "garbled"],
            "unfound": unfound,
            "troubles": troubles,
            "unindexed": unindexed(memory),
            "flushed": flushed,
        }


def state_of(memory: MemoryManager, name: str) -> str:
    """Tell whether a memory is there as it was added."""
    round_number, n = map(int, name.removeprefix("mark").split("x"))
    try:
        text = memory.get(name).text
    except NotFound:
        return "lost"
    return "there" if text == text_of(round_number, n) else "garbled"


def finds(memory: MemoryManager, name: str) -> bool:
    """Tell whether the word that only this memory has finds it."""
    return name in [hit.id for hit in memory.retrieve(name, k=3, record=False)]


# --- the parent


@dataclass(slots=True)
class Tally:
    """The counts over all rounds.

    Attributes:
        rounds: Rounds killed after something was acknowledged; as many as were asked for.
        killed_early: Further rounds, killed before anything was acknowledged.
        acknowledged: Memories acknowledged.
        lost: Of these, the ones that were gone.
        garbled: The ones with another text.
        unfound: The ones looked for by full text and not found.
        unindexed: Memories still without vector or index entry after flush.
        troubles: Checks of doctor that were not well.
        died: Rounds in which the writer ended by itself before it was killed.
        unopened: Rounds after which the checking process failed.
        details: Particulars of the first failures.
    """

    rounds: int = 0
    killed_early: int = 0
    acknowledged: int = 0
    lost: int = 0
    garbled: int = 0
    unfound: int = 0
    unindexed: int = 0
    troubles: int = 0
    died: int = 0
    unopened: int = 0
    details: list[dict[str, Any]] = field(default_factory=list)

    def short_of(self, rounds: int) -> bool:
        """Tell whether too few rounds count: this machine starts no child in time."""
        return self.rounds < rounds

    @property
    def failures(self) -> int:
        """Everything that should be 0, together."""
        wrong = self.lost + self.garbled + self.unfound + self.unindexed
        return wrong + self.troubles + self.died + self.unopened


def run(options: argparse.Namespace) -> Tally:
    """Run rounds until as many count as were asked for."""
    tally, dice = Tally(), random.Random(options.seed)
    most = MOST_EARLY * options.rounds + FRESH_EVERY
    for first in range(0, most, FRESH_EVERY):
        with TemporaryDirectory(prefix="memento-durability-") as root:
            known: list[str] = []
            for number in range(first, first + FRESH_EVERY):
                if tally.rounds == options.rounds:
                    return tally
                new, killed = kill_while_writing(root, number, dice, options)
                tally.died += not killed
                found = check(root, [*known, *new], options)
                count_round(tally, number, new, found)
                gone = set(found["lost"]) if found else set()
                known = [name for name in (*known, *new) if name not in gone]
                progress(tally, options.rounds)
    return tally


def kill_while_writing(
    root: str, number: int, dice: random.Random, options: argparse.Namespace
) -> tuple[list[str], bool]:
    """Start a writer and kill it at a random moment.

    Returns:
        The ids it acknowledged, and whether it was alive to be killed.
    """
    early = dice.random() < EARLY
    delay = dice.uniform(0, EARLY_SECONDS if early else options.max_ms / 1e3)
    reader, writer = os.pipe()
    command = ["--write", root, str(number), str(writer), "--embedder", options.embedder]
    command += ["--control"] * options.control
    process = subprocess.Popen(
        [sys.executable, __file__, *command], pass_fds=[writer], env=child_environment()
    )
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        if not early:
            select.select([pipe], [], [], START_SECONDS)
        time.sleep(delay)
        process.kill()
        said = pipe.read()
    return said.decode().split(), process.wait() == -signal.SIGKILL


def check(root: str, ids: list[str], options: argparse.Namespace) -> dict[str, Any] | None:
    """Check the store in a process of its own; None if that process failed."""
    done = subprocess.run(
        [sys.executable, __file__, "--verify", root, "--embedder", options.embedder],
        check=False,
        input="\n".join(ids),
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
    )
    if done.returncode:
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def count_round(tally: Tally, number: int, new: list[str], found: dict[str, Any] | None) -> None:
    """Add what a round showed."""
    tally.rounds += bool(new)
    tally.acknowledged += len(new)
    tally.killed_early += not new
    if found is None:
        tally.unopened += 1
        tally.details.append({"round": number, "unopened": True})
        return
    tally.lost += len(found["lost"])
    tally.garbled += len(found["garbled"])
    tally.unfound += len(found["unfound"])
    tally.troubles += len(found["troubles"])
    tally.unindexed += found["unindexed"]
    if any(found[what] for what in ("lost", "garbled", "unfound", "troubles", "unindexed")):
        tally.details.append({"round": number, **found})


def progress(tally: Tally, rounds: int) -> None:
    """Say on standard error how far it is."""
    said = f"\rround {tally.rounds}/{rounds}: {tally.acknowledged} acknowledged, "
    print(f"{said}{tally.failures} failures ", end="", file=sys.stderr, flush=True)


def show(tally: Tally, *, control: bool) -> None:
    """Print the counts."""
    print(file=sys.stderr)
    rows = [(name, str(value)) for name, value in asdict(tally).items() if isinstance(value, int)]
    print(table(["control" if control else "kill -9", "count"], rows))
    for detail in tally.details[: 0 if control else 5]:
        print(json.dumps(detail)[:600])


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="kill -9 rounds against a store")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="decides when each child is killed")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="hash")
    parser.add_argument("--max-ms", type=int, default=600, help="longest life after its first add")
    parser.add_argument("--control", action="store_true", help="acknowledge before adding")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    parser.add_argument("--checkpoints", type=int, nargs="?", const=500, metavar="N")
    parser.add_argument("--engine", choices=("lite", "pg"), default="lite")
    parser.add_argument("--kills", type=int, default=30, help="of the server, with --engine pg")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--verify", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds, or be one of their children."""
    options = parsed(arguments)
    if options.checkpoints:
        return checkpoints.main(options, __file__)
    if options.engine == "pg":
        return durability_server.main(options)
    if options.write:
        root, number, pipe = options.write
        write(root, int(number), int(pipe), options.embedder, control=options.control)
    if options.verify:
        print(json.dumps(verify(options.verify, sys.stdin.read().split(), options.embedder)))
        return 0
    tally = run(options)
    show(tally, control=options.control)
    write_json(options.json, {"control": options.control, **asdict(tally)})
    if options.control:
        print("the control loses memories, as it must" if tally.lost else "THE CONTROL LOST NONE")
        return 0 if tally.lost else 1
    if tally.short_of(options.rounds):
        print(f"only {tally.rounds} rounds were killed after something was acknowledged")
    return 1 if tally.failures or tally.short_of(options.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
