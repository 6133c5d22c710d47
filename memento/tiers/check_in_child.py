"""Check a suspect Chroma folder in a child process, where a crash does no harm.

Damaged Chroma files kill the process that opens them: with chromadb 1.5.9, 64 bytes of noise in
``header.bin`` or ``data_level0.bin`` end it with SIGSEGV, and others can make it hang. So a folder
that was not closed in order is first opened here. The child imports only from the folders that its
host used, and never from the working directory, which may hold untrusted code.
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

from memento.tiers.chroma import ChromaFault, ChromaFolder, will_pass

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from memento.tiers.chroma import Samples

PROGRAM = (
    "import json, sys; question = json.load(sys.stdin); sys.path[:] = question['path'];"
    " from memento.tiers import check_in_child; check_in_child.main(question)"
)
"""The program of the child. ``-m`` would put the working directory first on its path."""
PACKAGES = ("memento", "numpy", "chromadb")
"""The packages that the child imports besides the standard library."""
POLL = 0.02
"""Seconds between checks of the child: Popen.wait cannot be woken by an event."""
GRACE = 5
"""Seconds after the deadline at which an orphaned child ends itself."""


def probe(
    folder: Path, samples: Samples, *, seconds: float, lock: int, cancel: threading.Event
) -> str | None:
    """Check in a child process that a search finds rows known to be in a folder.

    The child is killed after ``seconds``, or once ``cancel`` is set. It inherits the descriptor
    ``lock``, so that the folder stays owned if this process dies first.

    Returns:
        The fault, or None.

    Raises:
        ChromaFault: If a cause outside the folder prevented the check, or `cancel` was set.
        OSError: If no child can be started.
    """
    if not Path(sys.executable or "").is_absolute():  # relative: depends on the folder
        return "there is no Python to look at it from a child process"
    rows = {name: [[row, v.tolist()] for row, v in stored] for name, stored in samples.items()}
    asked = {
        "folder": str(folder),
        "samples": rows,
        "alarm": int(seconds) + GRACE,
        "path": import_path(sys.path, _homes()),
    }
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(json.dumps(asked).encode())
        question.seek(0)
        child, deadline = _start(question, answer, lock), time.monotonic() + seconds
        try:
            while child.poll() is None:
                if time.monotonic() > deadline:
                    return f"its probe took longer than {seconds:g} s"
                if cancel.wait(POLL):
                    raise ChromaFault("closed while opening", damage=False)
        finally:
            child.kill()
            child.wait()
        answer.seek(0)
        return _verdict(child.returncode, answer.read())


def import_path(entries: Sequence[object], homes: Sequence[str]) -> list[str]:
    """List the folders that the child may import from: those of the host, in the same order.

    Python makes its initial entries absolute, including PYTHONPATH. A relative entry was added
    later, such as ``""`` by an interactive shell, and changes its meaning with the working
    directory. So relative entries are left out; the first one is replaced by ``homes``, the folders
    of the packages in use.

    >>> import_path(["/app", "", "/site"], ["/checkout", "/site"])
    ['/app', '/checkout', '/site']
    """
    named = [entry for entry in entries if isinstance(entry, str)]
    fixed = [entry for entry in named if Path(entry).is_absolute()]
    first = next((at for at, entry in enumerate(named) if entry not in fixed), len(named))
    elsewhere = [home for home in dict.fromkeys(homes) if home not in fixed]
    return [*fixed[:first], *elsewhere, *fixed[first:]]


def _homes() -> list[str]:
    """Find the folders from which this process imported the packages."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES]
    return [str(Path(file).parents[1]) for file in files if file and Path(file).is_absolute()]


def _start(question: IO[bytes], answer: IO[bytes], lock: int) -> subprocess.Popen[bytes]:
    quiet = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    here = sys.flags
    less = {"-E": here.ignore_environment, "-s": here.no_user_site, "-S": here.no_site}
    return subprocess.Popen(  # noqa: S603 - our own program, by this interpreter
        [sys.executable, "-P", *(flag for flag, on in less.items() if on), "-c", PROGRAM],
        stdin=question,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env=ours | quiet,
        cwd="/",  # the host's working directory may be untrusted
        pass_fds=(lock,),
        start_new_session=True,  # Ctrl-C is for the host and not a fault of the folder
    )


def _verdict(code: int, answer: bytes) -> str | None:
    if code < 0:
        return f"it killed its probe ({signal.Signals(-code).name})"
    if code:
        return f"its probe failed with exit code {code}"
    problem, damage = json.loads(answer.splitlines()[-1])
    if problem is None or damage:
        return None if problem is None else str(problem)
    raise ChromaFault(problem, damage=False)


def main(question: Mapping[str, Any]) -> None:
    """Check the folder, in the child; print the fault or null, and whether it is damage."""
    signal.alarm(question["alarm"])  # its default action ends even a native call that hangs
    try:
        said = _examine(question), True
    except ChromaFault as fault:
        said = str(fault), fault.damage
    sys.stdout.write(f"\n{json.dumps(said)}\n")


def _examine(question: Mapping[str, Any]) -> str | None:
    folder = Path(question["folder"])
    samples = {
        name: [(row, np.asarray(vector, np.float32)) for row, vector in stored]
        for name, stored in question["samples"].items()
    }
    _check_database(folder / "chroma.sqlite3")
    opened = ChromaFolder(folder)
    found = opened.ailment(samples) or opened.ailment(opened.first_rows())
    opened.close()
    return found


def _check_database(path: Path) -> None:
    """Let SQLite check its file; mode rw, since a crash may have left a journal to roll back."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as database:
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        problem = f"{path.name}: {' '.join(found.split())}"
        raise ChromaFault(problem, damage=not will_pass(problem))
