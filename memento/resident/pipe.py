"""Connect an agent's standard streams to the resident process of its store.

Lines are passed on unchanged in both directions. If the process ends for any reason, the next
request starts another one, which gets the agent's ``initialize`` and all unanswered requests again;
so every tool of the server must allow being called twice. A request during which three processes
ended is given up.

It imports only the client and a few modules of the standard library, since an agent waits for it
and each agent has one.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from memento.resident.client import Json, Unreachable, connect

STARTS = 15.0
"""Maximum seconds for a process to start and answer."""
PARTING = 30.0
"""Seconds that open calls have once the agent is gone."""
LONGEST = 4 << 20
"""Maximum length of a line that the process reads, bytes; it refuses a longer one, of which no more
is sent."""
TRIES = 3
"""Number of processes that may end during a request before it is given up."""
_AGAIN = "memento-greeted-again"
_ENDED = -32603


class Pipe:
    """The agent's side of the connection, which outlives the resident process.

    Args:
        root: The store folder.
        asked: The call that opens the connection.
        stdout: Where the answers go.

    Raises:
        Unreachable: If no process can be started.
    """

    def __init__(self, root: str, asked: Mapping[str, Any], stdout: BinaryIO) -> None:
        self._root = root
        self._asked = asked
        self._stdout = stdout
        self._sending = threading.RLock()
        self._writing = threading.Lock()
        self._greeting: dict[str, Json] = {}
        self._waiting: dict[str | int, Json] = {}
        self._deaths: dict[str | int, int] = {}
        self._ended = False
        self._done = threading.Event()
        self._opened: socket.socket | None = None
        self._connect()

    def run(self, stdin: int) -> None:
        """Pass on the agent's lines until end of input; then let open calls finish."""
        left = b""
        while piece := os.read(stdin, 1 << 20):
            *lines, left = (left + piece).split(b"\n")
            for line in lines:
                self._send(line[: LONGEST + 1] + b"\n")
            left = left[: LONGEST + 1]
        if left:
            self._send(left + b"\n")
        with self._sending:
            self._ended = True
            self._part()
        self._done.wait(PARTING)

    def _send(self, line: bytes) -> None:
        """Pass on a line; if the process has ended, start another one."""
        with self._sending:
            asks = self._noted(line)
            if self._opened is None:
                self._connect_or_say()
                if asks:
                    return  # sent already, with all unanswered requests
            if self._opened is not None:
                with suppress(OSError):  # `_read` notices the end and reconnects
                    self._opened.sendall(line)

    def _noted(self, line: bytes) -> bool:
        """Remember what another process must be sent again; return whether it needs an answer."""
        try:
            found = json.loads(line) if len(line) <= LONGEST else None
        except (ValueError, RecursionError):
            return False
        batch = found if isinstance(found, list) else [found]
        asking = [self._note(one) for one in batch if isinstance(one, dict)]
        return any(asking)

    def _note(self, message: Json) -> bool:
        """Remember one message; return whether it is a request.

        What has no method is a response or malformed: the process answers neither by its number.
        """
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if method in ("initialize", "notifications/initialized"):
            self._greeting[method] = message
        elif method == "notifications/cancelled" and isinstance(params, dict):
            number = params.get("requestId")
            if isinstance(number, str | int):
                self._waiting.pop(number, None)
            return False
        if isinstance(number, bool) or not isinstance(number, str | int):
            return False
        if not isinstance(method, str):
            return False
        self._waiting[number] = message
        self._deaths.pop(number, None)
        return True

    def _connect(self) -> None:
        """Connect to a process; repeat the greeting and the unanswered requests."""
        opened, answer = connect(self._root, self._asked, seconds=STARTS, start=True)
        if "open" not in answer:
            opened.close()
            raise Unreachable(answer.get("error", "no answer"))
        self._opened = opened
        threading.Thread(target=self._read, args=(opened,), daemon=True).start()
        with suppress(OSError):  # as above
            hello = self._greeting.get("initialize")
            if hello is not None and hello.get("id") not in self._waiting:
                _put(opened, {**hello, "id": _AGAIN})
                if initialized := self._greeting.get("notifications/initialized"):
                    _put(opened, initialized)
            for message in list(self._waiting.values()):
                _put(opened, message)
        self._part()

    def _connect_or_say(self) -> None:
        try:
            self._connect()
        except Unreachable as error:
            for number in list(self._waiting):
                self._fail(number, f"the memory process cannot be reached: {error}")

    def _fail(self, number: str | int, problem: str) -> None:
        """Answer a request with an error, in place of the process."""
        if self._waiting.pop(number, None) is not None:
            error = {"code": _ENDED, "message": problem}
            said = {"jsonrpc": "2.0", "id": number, "error": error}
            self._say(json.dumps(said).encode() + b"\n")

    def _read(self, opened: socket.socket) -> None:
        """Pass on the answers of one process until it ends."""
        with suppress(OSError), opened, opened.makefile("rb") as answers:
            for line in answers:
                if line.endswith(b"\n"):  # an incomplete line: it was killed
                    self._answered(line)
        with self._sending:
            self._opened = None
            # The oldest open request is given up if three processes have ended during it.
            if (number := next(iter(self._waiting), None)) is not None:
                self._deaths[number] = self._deaths.get(number, 0) + 1
                if self._deaths[number] >= TRIES:
                    self._fail(
                        number, "the memory process ended three times during this call; see its log"
                    )
            if self._waiting:
                self._connect_or_say()
            if self._opened is None and self._ended:
                self._done.set()

    def _answered(self, line: bytes) -> None:
        message = json.loads(line)
        number = message.get("id")
        if number != _AGAIN:
            self._waiting.pop(number, None)
            self._say(line)

    def _say(self, line: bytes) -> None:
        with self._writing, suppress(OSError, ValueError):  # the agent is gone
            self._stdout.write(line)
            self._stdout.flush()

    def _part(self) -> None:
        """After the agent's end of input, close the sending side of the connection."""
        if self._ended and self._opened is not None:
            with suppress(OSError):
                self._opened.shutdown(socket.SHUT_WR)
        elif self._ended:
            self._done.set()


def _put(opened: socket.socket, message: Json) -> None:
    opened.sendall(json.dumps(message).encode() + b"\n")
