"""The fault library of this folder: built with the system's compiler, spoken to through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("faultshim.c")
NO_COMPILER = "no C compiler (cc) to build the fault library with"
KILL = -9
"""Given instead of an errno: the process dies by SIGKILL just before the call."""

_HEAD = struct.Struct("=cIQI")


class Record(NamedTuple):
    """One change of a watched file, as it happened.

    Attributes:
        kind: What was done; see ``faultshim.c``.
        file: Number of the open file.
        offset: Where, or to what length; the caller's number for a note.
        data: What was written, or the names concerned.
    """

    kind: str
    file: int
    offset: int
    data: bytes


def build(folder: Path) -> Path | None:
    """Compile the library into a folder; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "faultshim.so"
    options = ["-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl", "-pthread"]
    subprocess.run([compiler, *options], check=True)
    return library


def environment(library: Path | None = None, root: Path | None = None) -> dict[str, str]:
    """Return the environment of a child that imports what we import.

    Args:
        library: The fault library, if the child is to run with it.
        root: Folder whose files it then sees.
    """
    watching = {} if library is None else {"LD_PRELOAD": str(library), "FAULTSHIM_ROOT": str(root)}
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": paths, **watching}


def in_memory(folder: Path) -> Path:
    """Make a folder for stores whose disk is simulated: in RAM if there is some, as it is quick."""
    shared = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    return Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else folder))


def records(log: Path) -> list[Record]:
    """Read a log; a record that was cut off by the end of the process is left out."""
    data, at, found = log.read_bytes(), 0, []
    while at + _HEAD.size <= len(data):
        kind, file, offset, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        found.append(Record(kind.decode(), file, offset, data[at : at + length]))
        at += length
    return found


class Shim:
    """The library as loaded into this process by LD_PRELOAD."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.faultshim_note.argtypes = [ctypes.c_uint64]
        self._library.faultshim_arm.argtypes = [
            ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_char_p,
        ]  # fmt: skip
        self._library.faultshim_calls.restype = ctypes.c_long

    def log(self, path: Path) -> None:
        """Write every change to a log from now on."""
        self._library.faultshim_log(os.fsencode(path))

    def note(self, number: int) -> None:
        """Put a number into the log."""
        self._library.faultshim_note(number)

    def arm(self, kinds: str, nth: int, error: int, *, later: str = "") -> None:
        """Let the nth call of these kinds fail.

        Args:
            kinds: Letters as in the log: W, S, T, R, U, M, and O for a file that is made.
            nth: 1 is the next one; 0 only counts.
            error: The errno, or ``KILL``.
            later: Kinds of which every call fails after that.
        """
        self._library.faultshim_arm(kinds.encode(), nth, error, later.encode())

    def disarm(self) -> int:
        """Let every call succeed again; returns how many were made while it was armed."""
        calls = int(self._library.faultshim_calls())
        self._library.faultshim_disarm()
        return calls
