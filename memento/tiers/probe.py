"""Look at a suspect Chroma folder from a child process, where a crash costs nothing.

Damaged Chroma files can kill the process that opens them (SIGSEGV) or hang it, so a folder
that was not closed in order is first opened here, by ``python -m memento.tiers.probe``.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from memento.tiers.chroma import ChromaFault, ChromaFolder, Sample, will_pass

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

POLL = 0.02
"""Seconds between looks at the child: Popen.wait cannot be woken by an event."""

GRACE = 5
"""Seconds after the deadline at which an orphaned child ends itself."""

UNHEALTHY = 3
"""Exit code of a child that found something wrong and printed it."""

PREVENTED = 4
"""Exit code of a child that could not look (disk full, locked) and printed why."""


class ProbeCancelled(Exception):
    """The probe was stopped before it came to an end."""


def probe(
    folder: Path,
    samples: Mapping[str, Sequence[Sample]],
    rows: Mapping[str, int],
    *,
    seconds: float,
    lock: int,
    cancel: threading.Event,
) -> str | None:
    """Open a folder in a child process and check that stored vectors find themselves.

    Args:
        folder: The Chroma folder; nobody else may have it open.
        samples: Collection name to rows known to be stored there.
        rows: Collection name to the number of rows it must hold, as far as known.
        seconds: Time limit, > 0; a child that takes longer is killed.
        lock: Descriptor of the folder's lock. The child inherits it, so that the folder stays
            owned if this process dies first.
        cancel: Set it to stop the child at once.

    Returns:
        What is wrong, or None.

    Raises:
        ProbeCancelled: If `cancel` was set.
        ChromaFault: If something outside the folder kept the child from looking.
        OSError: If no child can be started.
    """
    if not sys.executable:
        return "there is no Python to look at it from a child process"
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(_ask(folder, samples, rows, seconds))
        question.seek(0)
        child = _start(question, answer, lock)
        if not _ended(child, time.monotonic() + seconds, cancel):
            return f"its probe took longer than {seconds:g} s"
        answer.seek(0)
        return _verdict(child.returncode, answer.read())


def _ask(
    folder: Path, samples: Mapping[str, Sequence[Sample]], rows: Mapping[str, int], seconds: float
) -> bytes:
    listed = {
        name: [[row, np.asarray(vector, np.float32).tolist()] for row, vector in stored]
        for name, stored in samples.items()
    }
    question = {
        "folder": str(folder), "samples": listed, "rows": dict(rows), "alarm": int(seconds) + GRACE
    }  # fmt: skip
    return json.dumps(question).encode()


def _start(question: IO[bytes], answer: IO[bytes], lock: int) -> subprocess.Popen[bytes]:
    quiet = {
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "memento.tiers.probe"],
        stdin=question,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **quiet},
        pass_fds=(lock,),
        start_new_session=True,  # Ctrl-C is for the host; it says nothing about the folder
    )


def _ended(child: subprocess.Popen[bytes], deadline: float, cancel: threading.Event) -> bool:
    try:
        while child.poll() is None:
            if cancel.wait(POLL):
                raise ProbeCancelled
            if time.monotonic() > deadline:
                return False
        return True
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _verdict(code: int, answer: bytes) -> str | None:
    if code == 0:
        return None
    said = answer.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if code == UNHEALTHY:
        return said
    if code == PREVENTED:
        raise ChromaFault(said, damage=False)
    if code < 0:
        return f"it killed its probe ({signal.Signals(-code).name})"
    return f"its probe failed with exit code {code}"


def _examine(question: Mapping[str, Any]) -> str | None:
    folder = Path(question["folder"])
    samples = {
        name: [(row, np.asarray(vector, np.float32)) for row, vector in stored]
        for name, stored in question["samples"].items()
    }
    if (problem := _check_database(folder / "chroma.sqlite3")) is not None:
        return problem
    opened = ChromaFolder(folder)
    found = opened.ailment(samples, question["rows"]) or opened.inner_ailment()
    opened.close()
    return found


def _check_database(path: Path) -> str | None:
    """Let SQLite check its file; mode rw, since a crash may have left a journal to roll back."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as database:
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise ChromaFault(f"{path.name}: {error}", damage=not will_pass(str(error))) from error
    return None if found == "ok" else f"{path.name}: {' '.join(str(found).split())}"


def main() -> int:
    """Answer the question on standard input; 0 is healthy, 3 is not, 4 is unknown."""
    question = json.load(sys.stdin)
    signal.alarm(question["alarm"])  # its default action ends even a hung native call
    try:
        code, said = UNHEALTHY, _examine(question)
    except ChromaFault as fault:
        code, said = UNHEALTHY if fault.damage else PREVENTED, str(fault)
    if said is None:
        return 0
    sys.stdout.write(f"\n{said}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
