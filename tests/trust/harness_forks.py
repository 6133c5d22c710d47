"""Processes forked from one that has just added something, as by a preloading server or a pool.

The parent's background thread is then loading NumPy, chromadb or a model, or embeds or feeds the
index, depending on how long ago the addition was. Each child must be able to ask and to add. The
null control forks without waiting for what is being loaded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from common import child_environment
from trust_result import TrustResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOST = Path(__file__).with_name("fork_host.py")
PATIENCE = 60.0
"""Seconds after which a process that should have ended counts as hung."""
CONTROL_PATIENCE = {False: 15.0, True: 30.0}
"""The same for the control, which hangs as it must, in the quick and the full form."""
FULL = [round(3 * n / 29, 2) for n in range(30)]
"""Seconds from the addition to the fork."""
QUICK = [0.1]
CONTROL = {"hash": [0.0, 0.02, 0.05, 0.0, 0.1], "default": [0.0, 0.02, 0.05]}
"""The same for the control: seconds since the background thread began to load something."""


class Case(NamedTuple):
    """One parent: how it forks, with which embedder, how long after the addition."""

    way: str
    embedder: str
    delay: float


def ended(case: Case, root: Path, patience: float, *options: str) -> str:
    """Run a parent and its children; returns what went wrong, or nothing."""
    command = [sys.executable, str(HOST), str(root), case.way, case.embedder, str(case.delay)]
    child = subprocess.Popen(
        [*command, *options], env=child_environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, err = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return "hung"
    finally:
        _end(child)
    said = err.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f"exit status {child.returncode}: {said}" if child.returncode else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what is left of a parent and its children, which hold its pipe."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.communicate()


def failures(cases: Iterable[Case], folder: Path) -> list[str]:
    """Run parents one after the other; returns what went wrong."""
    found = []
    for number, case in enumerate(cases):
        if said := ended(case, folder / f"s{number}", PATIENCE):
            found.append(f"{case.way}, {case.embedder}, {case.delay} s: {said}")
    return found


def first_hung(cases: Sequence[Case], folder: Path, patience: float) -> str:
    """Run parents that fork at once, until one hangs."""
    for number, case in enumerate(cases):
        if ended(case, folder / f"c{number}", patience, "--control") == "hung":
            return f"{case.embedder}, {case.delay} s after the loading began"
    return ""


def children_can_go_on(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Fork at many moments after an addition; each child asks and adds."""
    ways = ("prefork", "pool") if full else ("prefork",)
    embedders = ("hash", "default") if full else ("hash",)
    delays = FULL if full else QUICK
    cases = [Case(way, e, delay) for way in ways for e in embedders for delay in delays]
    found = failures(cases, folder)
    tried = [Case("prefork", e, d) for e in embedders for d in CONTROL[e]]
    hung = first_hung(tried, folder, CONTROL_PATIENCE[full])
    return TrustResult(
        name="forking while a library is being loaded",
        promise="A forked child can search and add at once, whenever it was forked: no lock of the"
        " parent's background thread stays held in it.",
        cases=len(cases),
        failures=len(found),
        control="forks that do not wait for loading to finish",
        control_failed=bool(hung),
        seed=seed,
        figures={
            "children per parent": "4",
            "ways": ", ".join(ways),
            "embedders": ", ".join(embedders),
            "moments after the add": f"{len(delays)}, up to {max(delays):g} s",
            "hung": sum(said.endswith("hung") for said in found),
            "control hung": hung,
        },
        details=tuple(found),
    )


HARNESSES = (children_can_go_on,)
