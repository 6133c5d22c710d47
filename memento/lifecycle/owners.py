"""The owner of a session: a store as one process has it open, and whether that is still so.

An owner is named by the start of the machine, the process and the open store, so that a number
that another process has by now is not taken for the one that died. Where the system does not tell
(no ``/proc``), only the number of the process is known.
"""

from __future__ import annotations

import os
import weakref
from functools import cache
from itertools import count
from pathlib import Path

from memento.ledger.contract import Ledger

NOBODY = ""
"""The owner of a session that nobody works on."""

_PROC = Path("/proc")
_STARTED = 19
"""Place of the moment of its start in ``/proc/PID/stat``, after the name of the program."""

_ENDED = ("Z", "X")
"""States of a process that was killed and that its parent has not asked about yet."""

_numbers = count(1)
_open: weakref.WeakKeyDictionary[Ledger, int] = weakref.WeakKeyDictionary()
_ledgers: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()
"""The open stores of this process by number: looked up, never gone through."""


def name(ledger: Ledger) -> str:
    """Name this process and its open store."""
    number = _open.get(ledger)
    if number is None:
        number = _open[ledger] = next(_numbers)
        _ledgers[str(number)] = ledger
    return f"{_place()}:{os.getpid()}:{_start_of(os.getpid())}:{number}"


def is_gone(owner: str) -> bool:
    """Tell whether an owner certainly works on nothing any more.

    Of a process of another container nothing can be told; then it is False.
    """
    try:
        boot, space, process, start, number = owner.split(":")
        pid = int(process)
    except ValueError:
        return True  # nobody, or damage
    if boot != _place().split(":")[0]:
        return True
    if space != _place().split(":")[1]:
        return False
    if pid == os.getpid() and start == _start_of(pid):
        ledger = _ledgers.get(number)
        return ledger is None or ledger.closed
    return not _is_alive(pid) or start != _start_of(pid) or _state_of(pid) in _ENDED


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@cache
def _place() -> str:
    """Name the start of the machine, and the space in which processes have their numbers."""
    boot = _read(_PROC / "sys/kernel/random/boot_id").strip().replace("-", "")
    try:
        space = str((_PROC / "self/ns/pid").readlink()).strip("pid:[]")
    except OSError:
        space = ""
    return f"{boot}:{space}"


def _start_of(pid: int) -> str:
    """Return when a process started, as the system spells it; ``""`` if it does not tell."""
    told = _told_of(pid)
    return told[_STARTED] if len(told) > _STARTED else ""


def _state_of(pid: int) -> str:
    return (_told_of(pid) or [""])[0]


def _told_of(pid: int) -> list[str]:
    """Return what the system tells of a process, after the name of its program."""
    return _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", errors="replace")
    except OSError:
        return ""
