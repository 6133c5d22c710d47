"""Is what was acknowledged still there after kill -9 of a whole PostgreSQL server?

    python benchmarks/durability.py --engine pg --kills 200 [--control]

Each round a child process adds memories from several threads and tells the parent every id that
``add`` returned. At a random moment every process of the server is killed with SIGKILL, in each
second round the child with it; else the child goes on once the server is back. Then the tables are
looked at: every acknowledged memory is there once with its text, no text is there twice, and the
revisions of the namespace have no gap.

``--control`` lets the child switch ``synchronous_commit`` off in each transaction: the server then
acknowledges before its log is written, and must lose something.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import ROOT, child_environment

from memento import MemoryManager
from memento.errors import CommitUnknown, StoreError

sys.path.insert(0, str(ROOT / "tests"))
import postgres

if TYPE_CHECKING:
    import argparse

THREADS = 4
START_SECONDS = 60.0
LONGEST_SECONDS = 0.6
"""Longest life of the server after the first memory of a round."""
AFTER_SECONDS = 0.3
"""For which the child goes on after the server is back."""
DOUBT = "?"
"""Before the id of a memory of which nobody knows whether it was written."""


@dataclass(slots=True)
class Tally:
    """The counts over all rounds.

    Attributes:
        kills: Times that every process of the server was killed.
        acknowledged: Memories acknowledged.
        lost: Of these, the ones that were gone.
        garbled: The ones with another text.
        doubled: Texts that were there more than once.
        gaps: Rounds after which the revisions of the namespace had a gap.
        doubtful: Memories named by ``CommitUnknown``, which may be there or not.
        details: Particulars of the first failures.
    """

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    garbled: int = 0
    doubled: int = 0
    gaps: int = 0
    doubtful: int = 0
    details: list[dict[str, Any]] = field(default_factory=list)

    @property
    def failures(self) -> int:
        """Everything that should be 0, together."""
        return self.lost + self.garbled + self.doubled + self.gaps


# --- the child


def write(address: str, round_number: int, pipe: int, *, control: bool) -> None:
    """Add memories until killed; tell the id and the text of each once it is durable."""
    from memento.ledger.pg import writer  # noqa: PLC0415 - of this child alone

    writer.DOUBT_SECONDS = 5.0
    if control:
        writer.DURABLE = "SELECT set_config('synchronous_commit', 'off', true)"
    memory = MemoryManager(address, embedder=None)

    def add(thread: int) -> None:
        for number in count():
            text = f"mark{round_number}x{thread}x{number} is here"
            try:
                said = f"{memory.add(text).id} {text}\n"
            except CommitUnknown as error:
                said = f"{DOUBT}{error.ids[0]} {text}\n"
            except StoreError:
                time.sleep(0.05)
                continue
            os.write(pipe, said.encode())

    threads = [threading.Thread(target=add, args=(one,)) for one in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


# --- the parent


def run(kills: int, seed: int, *, control: bool = False) -> Tally:
    """Kill the server so many times, and look for what was acknowledged after each."""
    tally, dice = Tally(), random.Random(seed)
    acknowledged: dict[str, str] = {}
    with (
        TemporaryDirectory(prefix="memento-durability-") as cache,
        postgres.Server("max_wal_size=64MB") as server,
    ):
        for number in range(kills):
            said = _round(server, number, dice, cache, control=control)
            known = {one[0]: one[1] for one in said if not one[0].startswith(DOUBT)}
            tally.kills += 1
            tally.doubtful += len(said) - len(known)
            tally.acknowledged += len(known)
            acknowledged |= known
            for gone in _look(server.address(), acknowledged, tally):
                del acknowledged[gone]
            print(
                f"\rkill {tally.kills}/{kills}: {tally.acknowledged} acknowledged,"
                f" {tally.failures} failures ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    return tally


def _round(
    server: Any, number: int, dice: random.Random, cache: str, *, control: bool
) -> list[list[str]]:
    """Let a child write, kill the server, start it again; return what the child said."""
    reader, writer = os.pipe()
    command = [sys.executable, __file__, server.address(), str(number), str(writer)]
    environment = child_environment() | {"MEMENTO_CACHE": cache}
    child = subprocess.Popen(
        [*command, *(["--control"] * control)],
        pass_fds=[writer],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    said: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        listening = threading.Thread(target=lambda: said.append(pipe.read()))
        try:
            select.select([pipe], [], [], START_SECONDS)
            listening.start()
            time.sleep(dice.uniform(0, LONGEST_SECONDS))
            kill_all(server)
            if number % 2:
                child.kill()
            server.start()
            time.sleep(0 if number % 2 else AFTER_SECONDS)
        finally:
            child.kill()
        child.wait()
        listening.join()
    lines = b"".join(said).decode().splitlines(keepends=True)
    return [line.strip().split(" ", 1) for line in lines if line.endswith("\n")]


def kill_all(server: Any) -> None:
    """Kill every process of a server at once."""
    head = int((Path(server.data) / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
    os.kill(head, signal.SIGSTOP)  # so that it starts none meanwhile
    for process in (*map(int, children), head):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    while any(_is_alive(process) for process in (*map(int, children), head)):
        time.sleep(0.01)
    # They are dead, but where nobody reaps them the next server would think they are not.
    for name in (Path(server.data) / "postmaster.pid", server.folder / ".s.PGSQL.5432.lock"):
        name.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _look(address: str, acknowledged: dict[str, str], tally: Tally) -> list[str]:
    """Compare the tables with what was acknowledged; returns the ids of what is lost."""
    import psycopg  # noqa: PLC0415 - an extra

    from memento.ledger.pg.store import parsed  # noqa: PLC0415 - the same

    with psycopg.connect(parsed(address)[0]) as connection:
        found = connection.execute(
            "SELECT id, text, docid & ((1::bigint << 40) - 1) FROM memento.memories"
        ).fetchall()
    texts = {name: text for name, text, _ in found}
    lost = [name for name in acknowledged if name not in texts]
    garbled = [name for name, text in acknowledged.items() if texts.get(name, text) != text]
    doubled = len(found) - len({text for _, text, _ in found})
    gap = sorted(seq for *_, seq in found) != [*range(1, len(found) + 1)]
    tally.lost += len(lost)
    tally.garbled += len(garbled)
    tally.doubled += doubled
    tally.gaps += gap
    if lost or garbled or doubled or gap:
        tally.details.append({"lost": lost[:5], "garbled": garbled[:5], "doubled": doubled})
    return lost


def main(options: argparse.Namespace) -> int:
    """Run the rounds and print the counts."""
    from dataclasses import asdict  # noqa: PLC0415 - of this function alone

    from common import table, write_json  # noqa: PLC0415 - the same

    tally = run(options.kills, options.seed, control=options.control)
    print(file=sys.stderr)
    counts = [(name, str(value)) for name, value in asdict(tally).items() if isinstance(value, int)]
    print(table(["control" if options.control else "kill -9 of the server", "count"], counts))
    for detail in tally.details[: 0 if options.control else 5]:
        print(detail)
    write_json(options.json, {"control": options.control, **asdict(tally)})
    if options.control:
        print("the control loses memories, as it must" if tally.lost else "THE CONTROL LOST NONE")
        return 0 if tally.lost else 1
    return 1 if tally.failures else 0


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), control="--control" in sys.argv[4:])
