"""A wire between a client and its PostgreSQL server that counts statements and can be cut."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

SOCKET = ".s.PGSQL.5432"
WRITES = b"memento.spaces"
"""In what begins a write; what a new connection asks before its first one does not count."""
ENDS = (b"Q", b"S")
"""Messages that end what a client sends before it waits for the answer: a query, and a sync."""


class Wire:
    """Passes on what both say. Its folder is the ``host`` of an address.

    Attributes:
        statements: How often a client has sent something and waited since this was set to 0. What
            is sent on a connection before its first write does not count.
    """

    def __init__(self, server_folder):
        self.folder = Path(tempfile.mkdtemp(prefix="wire-"))
        self.statements = 0
        self._server = str(Path(server_folder) / SOCKET)
        self._cut_at, self._done, self._lock = None, False, threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / SOCKET))
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self, at, *, done):
        """Cut at the statement after the next ``at``, or at one that says ``at``.

        That is before, or after the server has done it.
        """
        self.statements, self._cut_at, self._done = 0, at, done

    def heal(self):
        """Cut no more; return whether it was cut."""
        left, self._cut_at = self._cut_at, None
        return left is None

    def remove(self):
        """Let no more connections through."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)
        shutil.rmtree(self.folder)

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                both = _Both(client, server)
                threading.Thread(target=self._ask, args=(both,), daemon=True).start()
                threading.Thread(target=self._answer, args=(both,), daemon=True).start()

    def _ask(self, both):
        with suppress(OSError):
            both.server.sendall(_body(both.client, b""))
            said = b""
            while message := _message(both.client):
                said += message
                if message[:1] in ENDS or message[:1] in b"Xp":
                    both.begun = both.begun or WRITES in said
                    if message[:1] in ENDS and both.begun and self._is_cut(both, said):
                        break
                    both.server.sendall(said)
                    said = b""
        if not both.mute:
            both.close()

    def _is_cut(self, both, said):
        """Count a statement; tell whether it is not to reach the server."""
        with self._lock:
            at = self._cut_at
            here = at in said if isinstance(at, bytes) else at == self.statements
            self.statements += 1
            if here:
                self._cut_at = None
                both.mute = self._done
        return here and not both.mute

    def _answer(self, both):
        with suppress(OSError):
            while message := _message(both.server):
                if not both.mute:
                    both.client.sendall(message)
                elif message[:1] == b"Z":  # the server is ready: it has done all of it
                    break
        both.close()


class _Both:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.begun = self.mute = False

    def close(self):
        for one in (self.client, self.server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _message(end):
    kind = end.recv(1)
    return kind and _body(end, kind)


def _body(end, kind):
    size = _exactly(end, 4)
    return kind + size + _exactly(end, int.from_bytes(size, "big") - 4)


def _exactly(end, size):
    parts = []
    while size:
        part = end.recv(size)
        if not part:
            raise ConnectionResetError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
