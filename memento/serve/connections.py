"""Limits of a connection, which hold before anybody has shown a token.

uvicorn itself accepts a head of any length, waits for ever for the rest of a request, and keeps an
answer that nobody fetches.
"""

from __future__ import annotations

import asyncio
import resource
from asyncio import TimerHandle

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = 16 << 10
"""Maximum size of the first line and the headers of a request, bytes."""
PATIENCE = 20.0
"""Seconds for the head of a request to arrive, and after each part of its body for the next."""
FETCHED = 60.0
"""Seconds in which a client must fetch some of an answer."""
MOST = 2_000
"""Maximum number of connections of a process, and at most half of the files it may open."""


class Connection(HttpToolsProtocol):
    """An HTTP connection of uvicorn within these limits."""

    _head = 0
    """Bytes so far of a head that is not complete; -1 after it."""
    _left = 0
    """Bytes of answers that the client had not fetched at the last look."""
    _arriving: TimerHandle | None = None
    _leaving: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > most():
            transport.abort()
        self._wait(PATIENCE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait(None)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; refuse a head that becomes too long."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head >= 0:
            self._head += len(data)
            if self._head > HEAD:
                self.send_400_response("The head of the request is too long.")
        elif self.cycle.response_complete:  # whatever it still sends
            if self._arriving is None:
                self._wait(self.timeout_keep_alive)
        elif self.cycle.more_body:
            self._wait(PATIENCE)

    def on_message_begin(self) -> None:
        """Count the head of a request, and give it its time."""
        super().on_message_begin()
        self._head = 0
        self._wait(PATIENCE)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; drop one that follows the body."""
        if self._head >= 0:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._head = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop waiting for the request."""
        self._wait(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Begin to wait for the client to fetch what is written."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """Stop waiting for that."""
        super().resume_writing()
        if self._leaving is not None:
            self._leaving.cancel()
        self._leaving, self._left = None, 0

    def _look(self) -> None:
        """Cut the connection if the client has fetched nothing since the last look."""
        before, self._left = self._left, self.transport.get_write_buffer_size()
        if before and self._left >= before:
            self.transport.abort()
        else:
            self._leaving = self.loop.call_later(FETCHED, self._look)

    def _wait(self, seconds: float | None) -> None:
        """Cut the connection after so many seconds, and not when was said before."""
        if self._arriving is not None:
            self._arriving.cancel()
        self._arriving = (
            None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
        )


def most() -> int:
    """Return how many connections a process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)
