"""Connect to the resident process of a store, and start it if there is none.

An agent waits for this, so it imports only a few modules of the standard library, and ``_socket``
and ``_blake2`` in place of ``socket`` and ``hashlib``, which are slow like ``typing``. The
docstring of ``memento.resident`` describes the protocol.
"""

from __future__ import annotations

import _socket
import fcntl
import json
import os
import stat
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from memento import __version__

try:
    from _blake2 import blake2b
except ImportError:  # a Python without a compiled one of its own
    from hashlib import blake2b

TYPE_CHECKING = False  # as in ``typing``, which is slow to import
if TYPE_CHECKING:
    import socket
    from typing import Any

LONGEST = 1 << 20
"""Maximum length of a message, bytes."""
STARTED_AGAIN = 1.0
"""Seconds after which another process is started if the first does not listen."""
_PATH = 100
"""Maximum number of bytes of a socket's path; 104 with the final zero is the least that a system
takes."""
_LOG = 1 << 20
"""Maximum size of a log, bytes; the next process starts a longer one anew."""
_LOCAL_PEERCRED = 1
_children: list[int] = []
"""Processes that were started here and may have ended."""

Json = dict[str, "Any"]


class Unreachable(Exception):
    """No resident process answers; the message says why."""


def settings_here() -> dict[str, str]:
    """Return the environment variables that affect how a store is opened."""
    wanted = ("HOME", "XDG_CONFIG_HOME")
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("MEMENTO_") or name in wanted
    }


def place(root: str | os.PathLike[str], ending: str = "sock") -> str:
    """Return the path of a store's socket, or of a file beside it with another suffix.

    Raises:
        Unreachable: If the folder for it cannot be used.
    """
    real = os.fsencode(os.path.realpath(root))
    return os.path.join(_folder(), f"{blake2b(real, digest_size=8).hexdigest()}.{ending}")


def call(
    root: str | os.PathLike[str], asked: Mapping[str, Any], *, seconds: float, start: bool = False
) -> Json:
    """Send one call to the resident process of a store, and return the answer.

    Args:
        root: The store folder, which need not exist.
        asked: The field ``call`` and the fields of that call.
        seconds: Maximum time, including the start of a process.
        start: Whether to start a process if there is none.

    Raises:
        Unreachable: If there is no answer in that time.
    """
    opened, answer = _connected(root, asked, seconds=seconds, start=start)
    opened.close()
    return answer


def connect(
    root: str | os.PathLike[str], asked: Mapping[str, Any], *, seconds: float, start: bool = False
) -> tuple[socket.socket, Json]:
    """Like `call`, but keep the connection open and return it with the answer."""
    import socket  # noqa: PLC0415 - whoever keeps a connection has it already

    opened, answer = _connected(root, asked, seconds=seconds, start=start)
    return socket.socket(fileno=opened.detach()), answer


def _connected(
    root: str | os.PathLike[str], asked: Mapping[str, Any], *, seconds: float, start: bool
) -> tuple[_socket.socket, Json]:
    end = time.monotonic() + seconds
    path = place(root)
    said = {**asked, "root": os.path.realpath(root), "version": __version__}
    line = json.dumps(said).encode() + b"\n"
    if len(line) > LONGEST:
        raise Unreachable(f"the call is longer than {LONGEST:,} bytes")
    started = 0.0
    while True:
        try:
            opened, answer = _asked(path, line, end)
        except (FileNotFoundError, ConnectionError, BlockingIOError):
            pass  # no process is listening yet, or the queue of connections is full
        except (OSError, ValueError) as error:  # or a time-out
            raise Unreachable(f"{path}: {error}") from error
        else:
            _reap()
            if "gone" not in answer:
                return opened, answer
            opened.close()
        now = time.monotonic()
        if not start or now >= end:
            raise Unreachable(f"{path}: no process is listening")
        if now - started > STARTED_AGAIN and (lock := locked(root)) is not None:
            started = now
            _start(root, lock)
        time.sleep(0.01)


def locked(root: str | os.PathLike[str]) -> int | None:
    """Take the lock that a process must hold to listen for a store; None if another holds it.

    Raises:
        Unreachable: If the lock file cannot be opened.
    """
    path = place(root, "lock")
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Unreachable(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        if identity(path) == identity(lock):
            return lock
        os.close(lock)  # the last holder has removed the file


def identity(file: str | os.PathLike[str] | int) -> tuple[int, int] | None:
    """Return device and inode of a file, which tell it from others of the name; None if absent."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def peer_of(opened: _socket.socket) -> int:
    """Return the user id at the other end of a connection."""
    if hasattr(_socket, "SO_PEERCRED"):
        found = opened.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[1])
    return int(struct.unpack("2I", opened.getsockopt(0, _LOCAL_PEERCRED, 8))[1])


def _asked(path: str, line: bytes, end: float) -> tuple[_socket.socket, Json]:
    """Connect, send a line and read the answer."""
    opened = _socket.socket(_socket.AF_UNIX)
    try:
        _wait_until(end, opened)
        opened.connect(path)
        if peer_of(opened) != os.geteuid():
            raise PermissionError(path)  # noqa: TRY301 - the socket is closed below
        with suppress(ConnectionError):  # it may have answered and closed already
            opened.sendall(line)
        answer = json.loads(_line(opened, end))
        opened.settimeout(None)
    except BaseException:  # close it on KeyboardInterrupt, too
        opened.close()
        raise
    return opened, answer


def _line(opened: _socket.socket, end: float) -> bytes:
    """Read exactly one line; what follows is left for the next reader of the connection."""
    line = b""
    while not line.endswith(b"\n"):
        _wait_until(end, opened)
        seen = opened.recv(LONGEST, _socket.MSG_PEEK)
        if not seen:
            raise ConnectionResetError
        line += opened.recv(seen.find(b"\n") + 1 or len(seen))
    return line


def _wait_until(end: float, opened: _socket.socket) -> None:
    opened.settimeout(max(0.001, end - time.monotonic()))


def _folder() -> str:
    """Return the user's private folder for sockets; create it if necessary."""
    me = os.geteuid()
    for above, name in (
        (os.environ.get("XDG_RUNTIME_DIR"), "memento"),
        (f"/run/user/{me}", "memento"),
        (os.environ.get("TMPDIR"), f"memento-{me}"),
        ("/tmp", f"memento-{me}"),  # noqa: S108 - the folder in it is checked
    ):
        folder = f"{above}/{name}"
        if above and os.path.isdir(above) and len(os.fsencode(folder)) <= _PATH - 22:
            break
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise Unreachable(f"{folder}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != me or found.st_mode & 0o077:
        raise Unreachable(f"{folder}: is not a folder that only you can access")
    return folder


def _start(root: str | os.PathLike[str], lock: int) -> None:
    """Start the process of a store, detached from this one; it takes over the lock."""
    log = place(root, "log")
    fresh = os.path.exists(log) and os.path.getsize(log) > _LOG
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if fresh else 0)
    held = fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, 10)  # any but 3, for dup2
    known = os.pathsep.join(os.path.abspath(one) for one in sys.path)
    try:
        started = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "memento.resident.server", os.path.realpath(root), "3"],
            os.environ | {"PYTHONPATH": known},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, log, flags, 0o600),
                (os.POSIX_SPAWN_DUP2, 2, 1),
                (os.POSIX_SPAWN_DUP2, held, 3),
            ],
        )
    except OSError as error:
        raise Unreachable(f"{sys.executable!r} cannot be started: {error.strerror}") from error
    finally:
        os.close(held)
        os.close(lock)
    _children.append(started)


def _reap() -> None:
    """Reap the child processes that were started here and have ended."""
    for child in list(_children):
        try:
            ended, _ = os.waitpid(child, os.WNOHANG)
        except ChildProcessError:
            ended = child
        if ended:
            _children.remove(child)
