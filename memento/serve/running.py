"""Listen, serve, and stop on a signal, for ``memento serve``."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import uvicorn
from uvicorn.supervisors import Multiprocess

from memento.errors import InvalidInput
from memento.resident.client import identity
from memento.serve.app import Service
from memento.serve.connections import Connection

PARTING = 10
"""Maximum seconds at the end for calls in progress."""
BEGINS = 60
"""Maximum seconds for a worker to become ready, and to answer a health check."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_KEPT = 75
"""Seconds that a connection without a call is kept; a client closes its own sooner."""
_HIGHEST_PORT = 65_535


class Place(NamedTuple):
    """Where a service listens.

    Attributes:
        host: An address of this machine; ``""`` for a Unix socket.
        port: A port; 0 for any free one.
        path: The socket file; ``""`` for a TCP port.
    """

    host: str
    port: int
    path: str

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return bool(self.path) or self.host in LOOPBACK


def place_of(text: str) -> Place:
    """Parse a place: ``unix:PATH``, ``HOST:PORT`` or ``PORT``.

    Raises:
        InvalidInput: If it is none of these.

    >>> place_of("8765")
    Place(host='127.0.0.1', port=8765, path='')
    """
    if text.startswith("unix:"):
        return Place("", 0, os.path.abspath(text.removeprefix("unix:")))  # noqa: PTH100 - a socket's
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _HIGHEST_PORT:
        raise InvalidInput("--listen", f"{text!r:.60} is not PORT, HOST:PORT or unix:PATH")
    return Place(host.strip("[]") or LOOPBACK[0], int(port), "")


def listening(place: Place) -> socket.socket:
    """Return a listening socket; only the user can connect to a Unix socket.

    Raises:
        InvalidInput: If it cannot listen there.
    """
    try:
        if place.path:
            return _unix(Path(place.path))
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        return socket.create_server((place.host, place.port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidInput("--listen", f"cannot listen there: {error}") from error


def _unix(path: Path) -> socket.socket:
    """Listen at a socket file, which appears ready to connect; replace one that is dead."""
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                raise OSError(f"another process is listening at {path}")
    elif path.exists():
        raise OSError(f"{path} is not a socket")
    made = socket.socket(socket.AF_UNIX)
    coming = path.with_name(f"{path.name}.new")
    coming.unlink(missing_ok=True)
    held = os.umask(0o177)
    try:
        made.bind(str(coming))
    finally:
        os.umask(held)
    made.listen(2048)
    coming.replace(path)
    return made


class _Server(uvicorn.Server):
    """A server that tells its service when it is asked to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM; unlike uvicorn, do not raise the signal again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in signals}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop accepting calls, and end the streams."""
        self._service.leaving.set()
        super().handle_exit(sig, frame)


def server_of(
    service: Service,
    app: Any,
    *,
    certificate: tuple[str, str] | None = None,
    proxy: str | None = None,
) -> uvicorn.Server:
    """Return a server for an application; ``run`` or ``serve`` with a socket starts it.

    Args:
        service: The service.
        app: Its application.
        certificate: Files of a certificate and its key, for TLS.
        proxy: Addresses of the proxy in front, whose headers about the client are believed.

    Raises:
        InvalidInput: If the certificate cannot be read.
    """
    config = _config(app, certificate, proxy)
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput("--tls-cert", f"cannot be used: {error}") from error
    return _Server(config, service)


def _config(
    app: Any, certificate: tuple[str, str] | None, proxy: str | None, **more: Any
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=PARTING,
        timeout_keep_alive=_KEPT,
        http=Connection,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        ssl_certfile=certificate and certificate[0],
        ssl_keyfile=certificate and certificate[1],
        **more,
    )


class Opens(Protocol):
    """Opens the service of a worker, in the worker's process."""

    def opened(self) -> AbstractContextManager[tuple[Service, Any]]:
        """Yield the service and its ASGI application."""


class _Worker(NamedTuple):
    """Makes the application of a worker, once its process has started."""

    opens: Opens

    def __call__(self) -> Any:
        held = self.opens.opened()
        service, app = held.__enter__()
        for one in (signal.SIGINT, signal.SIGTERM):
            _before(one, service.leaving.set)

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            async def last(message: Any) -> None:
                if message["type"].startswith("lifespan.shutdown"):
                    await asyncio.to_thread(held.__exit__, None, None, None)
                await send(message)

            await app(scope, receive, last if scope["type"] == "lifespan" else send)

        return answer


def _before(number: int, act: Callable[[], object]) -> None:
    """Call a function at a signal, before the present handler."""
    then = signal.getsignal(number)

    def handle(number: int, frame: Any) -> None:
        act()
        if callable(then):
            then(number, frame)

    signal.signal(number, handle)


def run_workers(
    opens: Opens,
    count: int,
    opened: socket.socket,
    place: Place,
    *,
    certificate: tuple[str, str] | None = None,
    proxy: str | None = None,
) -> None:
    """Serve by several processes until SIGTERM or SIGINT; SIGHUP replaces them one by one."""
    config = _config(
        _Worker(opens),
        certificate,
        proxy,
        factory=True,
        workers=count,
        timeout_worker_healthcheck=BEGINS,
    )
    mine = identity(place.path) if place.path else None
    try:
        Multiprocess(config, sockets=[opened]).run()
    finally:
        if mine is not None and identity(place.path) == mine:
            Path(place.path).unlink()


def run(server: uvicorn.Server, opened: socket.socket, place: Place) -> None:
    """Serve until SIGTERM or SIGINT, then remove the socket's file."""
    mine = identity(place.path) if place.path else None
    try:
        server.run(sockets=[opened])
    finally:
        if mine is not None and identity(place.path) == mine:
            Path(place.path).unlink()
