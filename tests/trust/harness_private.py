"""Nothing leaves the machine, and nobody else on it can read what is kept.

A child makes a full local run (`local_run`): the model that comes with memento, Chroma, backup,
doctor, the command line. Its sockets are counted by strace in a network namespace that has no
network; where either is missing, by a hook in the child. The modes of all it leaves are read under
three umasks.

Alone: ``python benchmarks/trust.py --full --only private``.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
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
        control="the same run with a call home",
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
        promise="The folder is 0700 and every file in it 0600, under any umask, open or closed.",
        cases=seen,
        failures=len(exposed),
        control="a file written plainly under umask 000",
        control_failed=not lame,
        figures={"umasks": ", ".join(UMASKS if full else UMASKS[:1])},
        details=tuple(exposed[:10]),
    )


HARNESSES = (nothing_calls_home, files_are_private)
