"""The resident process of a store: ``python -m memento.resident.server ROOT``.

It takes the lock and listens before it imports slow modules, so that a client waits only for what
its call needs. Each connection has a thread; their managers share one open store.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memento import __version__
from memento.base import layout
from memento.errors import InvalidInput, MementoError, StoreUnusable
from memento.resident.client import LONGEST, Json, Unreachable, identity, locked, peer_of, place

if TYPE_CHECKING:
    from memento import MemoryManager

TABLE = {
    "status": "memento.resident.server:status",
    "stop": "memento.resident.server:stop",
    "hook": "memento.agents.hook:answered",
    "mcp": "memento.cli.mcp:session",
    "http": "memento.cli.mcp_http:session",
}
"""Each call with its handler, imported when it is asked for: it takes the process and the fields of
the call, and returns the answer, or what serves the rest of the connection."""
IDLE = 900.0
"""Seconds without a client after which the process ends."""
MOST = 64
"""Maximum number of connections at once."""
PATIENCE = 30.0
"""Maximum seconds that a client may take to send a line."""
PARTING = 20.0
"""Maximum seconds at the end for calls in progress."""
_LOOKS = 5.0
"""Seconds between checks whether to go on serving."""
_REST = 0.1
"""Seconds until the next attempt to accept a client, after one failed."""

Session = Callable[[BufferedReader, BufferedWriter], None]
Handler = Callable[["Resident", Json], "Json | Session"]
log = logging.getLogger("memento.resident")


class Resident:
    """Answers the clients of one store.

    Args:
        root: The store folder, which need not exist.
        idle: Seconds without a client after which it ends, > 0.
    """

    def __init__(self, root: str, *, idle: float) -> None:
        self.root = Path(os.path.realpath(root))
        self._idle = idle
        self._socket = Path(place(self.root))
        self._mine = identity(self._socket)
        self._store = self._files()
        self._used = time.monotonic()
        self._leaving = threading.Event()
        self._woken, self._wake = os.pipe()
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._opening = threading.Lock()
        self._kept: dict[tuple[object, ...], MemoryManager] = {}

    def run(self, lock: int | None = None) -> bool:
        """Serve until the process should end; return False if another process serves already.

        Args:
            lock: Descriptor of the lock, if the starting process has taken it.
        """
        lock = locked(self.root) if lock is None else lock
        if lock is None:
            return False
        with socket.socket(socket.AF_UNIX) as listening:
            coming = Path(place(self.root, "new"))
            coming.unlink(missing_ok=True)  # left by a killed process
            listening.bind(str(coming))
            coming.chmod(0o600)
            listening.listen(MOST)
            self._mine = identity(coming)
            coming.replace(self._socket)  # from now on clients can connect
            heard: list[Any] = [listening, self._woken]
            while self._wanted():
                if listening in select.select(heard, [], [], min(_LOOKS, self._idle))[0]:
                    try:
                        self._accept(listening)
                    except OSError as error:  # no free descriptor; other clients go on
                        log.warning("a client cannot be served: %s", error.strerror)
                        self._leaving.wait(_REST)
            self.leave()
            self._vanish(lock)
            listening.setblocking(False)
            with suppress(OSError):
                while True:  # late clients are told that it is gone
                    self._accept(listening)
        self._finish()
        return True

    def leave(self) -> None:
        """Make the process end soon. Safe in a signal handler."""
        self._leaving.set()
        os.write(self._wake, b"\n")

    def memory(self, asked: Json) -> MemoryManager:
        """Return the manager for a call; it stays open for later calls.

        Args:
            asked: The call, with the fields that say how to open the store.
        """
        if asked.get("make") is False and not (self.root / layout.LEDGER).exists():
            problem = (
                "contains no store; specify its folder with --root, or create a store with "
                "`memento add`"
            )
            raise StoreUnusable(self.root, problem)
        how = asked.get("namespace", "default"), asked.get("embedder", "default")
        environ = tuple(sorted(asked.get("environ", {}).items()))
        with self._opening:
            found = self._kept.get((how, environ))
            if found is None or found.store.closed:
                found = self._kept[how, environ] = self._opened(asked)
            return found

    def open(self, asked: Json) -> MemoryManager:
        """Return a separate manager of the store, which the caller must close."""
        self.memory(asked)
        return self._opened(asked)

    def status(self) -> Json:
        """Return process id, version, number of other clients, idle seconds, and log file."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "clients": len(self._clients) - 1,
            "idle": round(time.monotonic() - self._used, 3),
            "log": place(self.root, "log"),
        }

    def _opened(self, asked: Json) -> MemoryManager:
        from memento import MemoryManager  # noqa: PLC0415 - not before a client wants the store
        from memento.settings import load  # noqa: PLC0415 - as above

        embedder = asked.get("embedder", "default")
        return MemoryManager(
            self.root,
            namespace=asked.get("namespace", "default").split("/"),
            config=load(self.root, asked.get("environ", {})).config,
            embedder=None if embedder == "none" else embedder,
        )

    def _wanted(self) -> bool:
        """Return whether to go on: store and socket are unchanged, and it is not idle too long."""
        known, self._store = self._store, self._files()
        if any(was not in (None, now) for was, now in zip(known, self._store, strict=True)):
            return False  # the store was replaced by another
        if self._leaving.is_set() or identity(self._socket) != self._mine or self._mine is None:
            return False
        return bool(self._clients) or time.monotonic() - self._used < self._idle

    def _files(self) -> tuple[tuple[int, int] | None, ...]:
        """Return the identities of the store's folder and ledger, to notice a replacement."""
        return identity(self.root), identity(self.root / layout.LEDGER)

    def _vanish(self, lock: int) -> None:
        """Release socket and lock, so that another process can listen; keep files of another."""
        if identity(self._socket) == self._mine:
            self._socket.unlink()
        if identity(held := Path(place(self.root, "lock"))) == identity(lock):
            held.unlink()
        os.close(lock)

    def _finish(self) -> None:
        """Let open calls finish, up to `PARTING` seconds, and close the store."""
        end = time.monotonic() + PARTING
        for opened in list(self._clients.values()):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RD)
        for thread in list(self._clients):
            thread.join(max(0.0, end - time.monotonic()))
        for memory in self._kept.values():
            memory.close()

    def _accept(self, listening: socket.socket) -> None:
        opened, _ = listening.accept()
        opened.setblocking(True)
        if peer_of(opened) != os.geteuid():
            log.warning("a connection from another user was refused")
            opened.close()
            return
        if len(self._clients) >= MOST:
            with suppress(OSError), opened:
                opened.sendall(
                    json.dumps({"error": f"already has {MOST} clients"}).encode() + b"\n"
                )
            return
        thread = threading.Thread(target=self._serve, args=(opened,), daemon=True)
        self._clients[thread] = opened
        thread.start()

    def _serve(self, opened: socket.socket) -> None:
        """Answer one client until it disconnects."""
        try:
            with opened, opened.makefile("rb") as reader, opened.makefile("wb") as writer:
                opened.settimeout(PATIENCE)
                while line := reader.readline(LONGEST + 1):
                    answer = self._answer(line)
                    rest = None if isinstance(answer, dict) else answer
                    _write(writer, {"open": True} if rest else answer)
                    if rest is not None:
                        opened.settimeout(None)
                        rest(reader, writer)
                        return
        except OSError:  # it disconnected, or is silent too long
            log.debug("a connection ended", exc_info=True)
        finally:
            self._used = time.monotonic()
            del self._clients[threading.current_thread()]

    def _answer(self, line: bytes) -> Json | Session:
        if len(line) > LONGEST or not line.endswith(b"\n"):
            return {"error": f"a call is a line of at most {LONGEST:,} bytes"}
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict) or asked.get("root") != str(self.root):
                raise ValueError  # noqa: TRY301 - no call, or of another store
            name, newer = TABLE[asked["call"]], _newer(asked.get("version"))
        except (ValueError, LookupError, TypeError, RecursionError):
            return {"error": "is not a known call"}
        if newer:
            self.leave()
        return {"gone": True} if self._leaving.is_set() else self._handled(name, asked)

    def _handled(self, name: str, asked: Json) -> Json | Session:
        module, _, function = name.partition(":")
        try:
            handler: Handler = getattr(import_module(module), function)
            return handler(self, asked)
        except InvalidInput as error:
            return {"error": error.problem, "field": error.field}
        except MementoError as error:
            return {"error": str(error)}
        except Exception:  # other clients go on; details are logged
            log.exception("%s failed", asked["call"])
            return {"error": f"failed; see {place(self.root, 'log')}"}


def status(resident: Resident, _asked: Json) -> Json:
    """Answer the call ``status``."""
    return resident.status()


def stop(resident: Resident, _asked: Json) -> Json:
    """Answer the call ``stop``: the process ends."""
    resident.leave()
    return resident.status()


def _write(writer: BufferedWriter, answer: Any) -> None:
    writer.write(json.dumps(answer).encode() + b"\n")
    writer.flush()


def _newer(version: object) -> bool:
    """Return whether a client's version of memento is newer than this one.

    >>> _newer("99.0"), _newer("0.0.9"), _newer(None)
    (True, False, False)
    """
    return isinstance(version, str) and _numbers(version) > _numbers(__version__)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def main(words: list[str]) -> int:
    """Serve the store of a folder; return the exit status."""
    os.closerange(4, 256)  # descriptors of the client
    with suppress(PermissionError):
        os.setsid()
    os.chdir("/")
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        resident = Resident(words[0], idle=IDLE)
    except Unreachable as error:
        log.error("%s", error)  # noqa: TRY400 - the words say it all
        return 1
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: resident.leave())
    resident.run(int(words[1]) if words[1:] else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
