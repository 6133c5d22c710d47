"""Nothing leaves the machine, and nobody else on it can read what is kept.

A child makes a full local run (`local_run`): the model that comes with memento, Chroma, backup,
doctor, the command line. Its sockets are counted by strace in a network namespace that has no
network; where either is missing, by a hook in the child. The modes of all it leaves are read under
three umasks.

Alone: ``python benchmarks/trust.py --full --only private``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common import child_environment
from trust_result import TrustResult

RUN = Path(__file__).with_name("local_run.py")
UMASKS = ("000", "022", "077")
SECONDS = 300
_SOCKET = re.compile(r"\b(?:socket|connect|sendto|sendmsg)\(.*\b(AF_(?:INET6?|PACKET))\b.*")
_HOOK = """
import runpy, sys
def told(event, given):
    if event == "socket.__new__" and given[1] in (2, 10, 17):  # AF_INET, AF_INET6, AF_PACKET
        print("socket(", given[1:], ")", file=sys.stderr)
sys.addaudithook(told)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def child(folder: Path, umask: str, embedder: str, *, more: tuple[str, ...] = ()) -> list[str]:
    """Compose the command of a run."""
    return [sys.executable, str(RUN), str(folder), umask, embedder, *more]


def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a child to its end.

    Raises:
        RuntimeError: If it failed; the run itself is not what is tested.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, env=child_environment(),
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command[-4:]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done


def isolated() -> list[str]:
    """Return the words that take the network from a command; none where that cannot be done."""
    words = ["unshare", "--map-root-user", "--net"]
    if shutil.which(words[0]) is None:
        return []
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if tried.returncode == 0 else []


def sockets(folder: Path, embedder: str, *, more: tuple[str, ...] = ()) -> tuple[list[str], str]:
    """Make a run and list the internet sockets it opened; and how they were counted."""
    folder.mkdir()
    command = child(folder, "022", embedder, more=more)
    if shutil.which("strace") is None:
        hooked = [sys.executable, "-c", _HOOK, *command[1:]]
        said = ran(hooked).stderr.splitlines()
        return [line for line in said if line.startswith("socket(")], "a hook in Python"
    log = folder / "strace.log"
    traced = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(log), *command]
    network = isolated()
    ran([*network, *traced])
    lines = log.read_text(errors="replace").splitlines()
    how = "strace" + (", without a network" if network else "")
    return [line for line in lines if _SOCKET.search(line)], how


def nothing_calls_home(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - nothing here is random
    """Count the internet sockets of a full local run, and of one that opens one."""
    opened, how = sockets(folder / "run", "default")
    called, _ = sockets(folder / "control", "default" if full else "hash", more=("--call-home",))
    return TrustResult(
        name="no network",
        promise="A full local run opens no internet socket: no telemetry, no download.",
        cases=1,
        failures=int(bool(opened)),
        control="the same run with one call home",
        control_failed=bool(called),
        figures={"sockets": len(opened), "counted by": how, "of the control": len(called)},
        details=tuple(opened[:10]),
    )


def readable(modes: dict[str, str]) -> list[str]:
    """List what anybody but the owner may look into, write or run."""
    return [f"{name} {mode}" for name, mode in modes.items() if stat.S_IMODE(int(mode, 8)) & 0o077]


def files_are_private(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - nothing here is random
    """Read the modes of all files, while the store is open and after, under three umasks."""
    exposed: list[str] = []
    seen = 0
    for umask in UMASKS if full else UMASKS[:1]:
        (folder / umask).mkdir()
        found = json.loads(ran(child(folder / umask, umask, "hash")).stdout.splitlines()[-1])
        for when, modes in found.items():
            seen += len(modes)
            exposed += [f"{when}, umask {umask}: {one}" for one in readable(modes)]
        aside = folder / umask / "talk.jsonl"  # the control: a file that the run writes plainly
        plain = readable({aside.name: f"{aside.stat().st_mode:o}"})
        lame = not plain if umask == "000" else False
    return TrustResult(
        name="private files",
        promise="The folder has mode 0700 and every file in it 0600, under any umask, whether the"
        " store is open or closed.",
        cases=seen,
        failures=len(exposed),
        control="a file written without precautions under umask 000",
        control_failed=not lame,
        figures={"umasks": ", ".join(UMASKS if full else UMASKS[:1])},
        details=tuple(exposed[:10]),
    )


class Watch:
    """Looks at the modes in a folder without a pause, while another process writes there.

    Chroma makes its files as it likes; what keeps others out of them is the mode of its folder, so
    the folder is looked at and not what it holds. A folder that was open before may stay so until
    there is something in it.

    Attributes:
        exposed: Path and mode of everything seen that others could use.
        looks: How often the folder was looked through.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._over = threading.Event()
        self.exposed: set[str] = set()
        self.looks = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Look until the block ends."""
        thread = threading.Thread(target=self._look_on)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _look_on(self) -> None:
        while not self._over.is_set():
            self._look(str(self._folder))
            self.looks += 1

    def _look(self, folder: str) -> None:
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    self._note(entry)

    def _note(self, entry: os.DirEntry[str]) -> None:
        if not entry.is_dir(follow_symlinks=False):
            self._judge(entry.path)
        elif any(Path(entry.path).iterdir()):
            self._judge(entry.path)
            if not entry.name.startswith("chroma"):
                self._look(entry.path)

    def _judge(self, path: str) -> None:
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        if mode & 0o077:
            self.exposed.add(f"{Path(path).relative_to(self._folder)} {mode:o}")


_CARELESS = """
import os, sys
os.umask(0)
for n in range(200):
    with open(f"{sys.argv[1]}/{n}", "w") as file:
        file.write("said in private")
        file.flush()
        os.fsync(file.fileno())
    os.chmod(f"{sys.argv[1]}/{n}", 0o600)
    os.remove(f"{sys.argv[1]}/{n}")  # the next run makes it again
"""
"""Writes files that are private in the end, and not at first."""
CARELESS_TRIES = 50
"""Times it is run at most, until one of its files was seen open."""


def files_are_never_open(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - nothing here is random
    """Look at all modes while a store is written, in folders that were open before."""
    exposed: list[str] = []
    looks = 0
    plain = "talk.jsonl"  # the run's own input, which it writes plainly
    for before in (None, 0o777, 0o755) if full else (None, 0o777):
        run = folder / f"{before or 0:o}"
        run.mkdir()
        if before is not None:
            (run / "store").mkdir()
            for opened in (run, run / "store"):
                opened.chmod(before)
        watch = Watch(run)
        with watch.running():
            ran(child(run, "000", "hash"))
        looks += watch.looks
        exposed += [f"{run.name}: {one}" for one in watch.exposed if not one.startswith(plain)]
    careless = folder / "careless"
    careless.mkdir(mode=0o700)
    control = Watch(careless)
    with control.running():
        for _ in range(CARELESS_TRIES):  # the watch may look elsewhere at each of the moments
            ran([sys.executable, "-c", _CARELESS, str(careless)])
            if control.exposed:
                break
    return TrustResult(
        name="private from the first moment",
        promise="No file of the store, backups included, is readable by others even for a moment:"
        " Chroma creates its files in a folder with mode 0700.",
        cases=looks,
        failures=len(exposed),
        control="files that are made private only after they are written",
        control_failed=bool(control.exposed),
        figures={"scans of the folder": looks},
        details=tuple(exposed[:10]),
    )


HARNESSES = (nothing_calls_home, files_are_private, files_are_never_open)
