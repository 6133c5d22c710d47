"""Several owners at once: a server, a script and the command line on one store.

Each round they all add and ask; then the owner of the Chroma folder is killed with SIGKILL, the
others go on, and a process of its own looks at what is left (`chroma_owner`). The null control has
no lock, so that two processes write one Chroma folder.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import child_environment
from trust_result import TrustResult

if TYPE_CHECKING:
    from collections.abc import Sequence

OWNER = Path(__file__).with_name("chroma_owner.py")
SECONDS = 4.0
"""Longest time before, and the time after the owner is killed."""
PATIENCE = 120.0
"""Seconds after which a process that should have ended counts as hung."""
MISSES_ALLOWED = 0.01
"""Share of vectors that Chroma may not find: its graph is approximate."""
FOLDERS = re.compile(r"(?:/[^\s/:\"']+)+/")
"""Folders of a path, which say something of the machine and nothing of the failure."""


@dataclass(slots=True)
class Tally:
    """Observations over the rounds.

    Attributes:
        rounds: Rounds run.
        acknowledged: Memories acknowledged by any process.
        lost: Of these, the ones that were gone.
        shared: Times a process had the Chroma folder open while another one had.
        crashed: Processes that ended with an error or a signal that nobody sent them.
        hung: Processes that did not end.
        broken: Rounds after which the index was not whole: rows missing, too many or not found.
        vectors: Stored vectors that were looked up.
        missed: Of these, the ones that were not found.
        details: What went wrong.
    """

    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    shared: int = 0
    crashed: int = 0
    hung: int = 0
    broken: int = 0
    vectors: int = 0
    missed: int = 0
    details: list[str] = field(default_factory=list)

    @property
    def failures(self) -> int:
        """Everything that should be 0, together."""
        return self.lost + self.shared + self.crashed + self.hung + self.broken


class Round:
    """Three processes on one store."""

    def __init__(self, root: Path, tally: Tally, options: Sequence[str]) -> None:
        root.mkdir()
        self._root = root
        self._stop = root / "stop"
        self._tally = tally
        self._options = options
        self._first = 0
        self._commands: list[str] = []

    def play(self, seconds: float, dice: random.Random, roles: Sequence[str]) -> None:
        """Let them use the store; kill the owner half way, and let the others go on."""
        server = self._start("server")
        self._settled(server)
        others = [self._start(role) for role in roles]
        for process in others:
            self._settled(process)
        time.sleep(dice.uniform(0, seconds))
        killed = time.monotonic()
        server.kill()
        self._command()
        time.sleep(seconds)
        self._stop.touch()
        said = [self._end(server, killed=True), *(self._end(p, killed=False) for p in others)]
        self._count_shared([periods(said[0], killed), *(periods(lines) for lines in said[1:])])
        if self._options and self._tally.failures:
            return  # the control has failed; a process that looks at such an index may hang
        names = {line for lines in said for line in lines if line.startswith("m")}
        self._check({*names, *self._commands})

    def _count_shared(self, owned: Sequence[list[tuple[float, float]]]) -> None:
        """Count the periods of one process that overlap one of another."""
        for one, other in combinations(owned, 2):
            both = sum(a < d and c < b for (a, b), (c, d) in product(one, other))
            if both:
                self._tally.shared += both
                self._tally.details.append(f"two owners at once, {both} times")

    def _start(self, role: str) -> subprocess.Popen[bytes]:
        self._first += 100_000
        command = [sys.executable, str(OWNER), role, str(self._root / "store"), str(self._first)]
        command += [str(self._stop), *self._options]
        log = self._log(self._first)
        with log.open("wb") as out, log.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(command, env=child_environment(), stdout=out, stderr=err)

    def _log(self, first: int) -> Path:
        return self._root / f"{first}.out"

    def _lines(self, process: subprocess.Popen[bytes]) -> list[str]:
        """Return the whole lines that a process said so far."""
        said = self._log(int(process.args[4])).read_text("utf-8")  # type: ignore[index]
        return said.rpartition("\n")[0].splitlines()

    def _settled(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a process knows whose the Chroma folder is, or has ended."""
        deadline = time.monotonic() + PATIENCE
        while "settled" not in self._lines(process) and process.poll() is None:
            if time.monotonic() > deadline:
                return  # it is hung, and will be found so at the end
            time.sleep(0.02)

    def _command(self) -> None:
        """Run the command line once."""
        name = f"command{len(self._commands)}"
        command = [sys.executable, "-m", "memento.cli", "add", "--root", str(self._root / "store")]
        command += ["--id", name, f"said by {name}"]
        try:
            done = subprocess.run(
                command, check=False, env=child_environment(), capture_output=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            self._fail("hung", "the command line hung")
            return
        if done.returncode:
            self._fail("crashed", f"the command line: {last_line(done.stderr)}")
        else:
            self._commands.append(name)

    def _end(self, process: subprocess.Popen[bytes], *, killed: bool) -> list[str]:
        """Wait until a process has ended; returns the lines it said."""
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self._fail("hung", f"a {process.args[2]} hung")  # type: ignore[index]
            return self._lines(process)
        if process.returncode and not killed:
            err = self._log(int(process.args[4])).with_suffix(".err")  # type: ignore[index]
            said = last_line(err.read_bytes())
            self._fail("crashed", f"exit status {process.returncode}: {said}")
        return self._lines(process)

    def _check(self, acknowledged: set[str]) -> None:
        tally = self._tally
        tally.rounds += 1
        tally.acknowledged += len(acknowledged)
        checker = self._start("check")
        lines = self._end(checker, killed=False)
        if checker.returncode:
            return
        said: dict[str, Any] = next(json.loads(line) for line in lines if line.startswith("{"))
        lost = acknowledged - set(said["ids"])
        if lost:
            tally.lost += len(lost)
            tally.details.append(f"lost: {sorted(lost)[:5]}")
        tally.vectors += said["rows"]
        tally.missed += len(said["missed"])
        whole = said["flushed"] and said["state"] == "ready" and said["count"] == said["rows"]
        if not whole or len(said["missed"]) > MISSES_ALLOWED * said["rows"]:
            missed, what = len(said["missed"]), {k: said[k] for k in ("flushed", "rows", "count")}
            self._fail("broken", f"{missed} not found, {what}, {said['state']}: {said['reason']}")

    def _fail(self, kind: str, detail: str) -> None:
        setattr(self._tally, kind, getattr(self._tally, kind) + 1)
        self._tally.details.append(detail)


def last_line(stderr: bytes) -> str:
    """Return the last line that a process wrote, without the folders of paths in it."""
    lines = stderr.decode("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return FOLDERS.sub("", last)[-300:]


def periods(lines: Sequence[str], end: float = float("inf")) -> list[tuple[float, float]]:
    """Read from what a process said when it had the Chroma folder open.

    >>> periods(["own 1.0", "m7", "left 2.0", "own 3.0"], end=4.0)
    [(1.0, 2.0), (3.0, 4.0)]
    """
    moments = [line.split() for line in lines if line.startswith(("own ", "left "))]
    opened = [float(at) for what, at in moments if what == "own"]
    left = [float(at) for what, at in moments if what == "left"]
    return list(zip(opened, [*left, end], strict=False))


CONTROL_TRIES = 5
"""Rounds in which the control may be lucky: on a busy machine its processes may not meet."""


def several_owners(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let a server, a script and the command line share a store; kill the owner."""
    tally, control = Tally(), Tally()
    dice = random.Random(seed)
    rounds = 20 if full else 1
    roles = ["script", "server"] if full else ["script"]
    for number in range(rounds):
        Round(folder / f"r{number}", tally, []).play(SECONDS if full else 0.5, dice, roles)
    for number in range(CONTROL_TRIES):
        if not control.failures:
            Round(folder / f"control{number}", control, ["--control"]).play(0.5, dice, roles)
    return TrustResult(
        name="several processes on one Chroma folder",
        promise="A server, scripts and the command line can share a store: nothing is lost and"
        " nothing hangs; one process owns the index, and another takes over when it dies.",
        cases=tally.rounds,
        failures=tally.failures,
        control="without the lock, so that two processes write one Chroma folder",
        control_failed=control.failures > 0,
        seed=seed,
        figures={
            "processes": f"a server that is killed, {' and '.join(roles)}, the command line",
            "times the owner was killed": tally.rounds,
            "memories acknowledged": tally.acknowledged,
            "lost": tally.lost,
            "two owners at once": tally.shared,
            "crashed": tally.crashed,
            "hung": tally.hung,
            "index incomplete": tally.broken,
            "vectors looked up": tally.vectors,
            "of these, not found (the graph is approximate)": tally.missed,
            "control": "; ".join(control.details),
        },
        details=(*tally.details, *(f"control: {said}" for said in control.details)),
    )


HARNESSES = (several_owners,)
