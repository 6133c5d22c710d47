"""``memento mcp --http``: serve the store over HTTP to clients that have a token."""

from __future__ import annotations

import json
import os
import socket
import threading
from io import BufferedReader, BufferedWriter
from typing import TYPE_CHECKING, Any

import typer

from memento.cli.store import Store
from memento.errors import InvalidInput, MementoError
from memento.resident import tokens
from memento.resident.client import Unreachable, connect, settings_here
from memento.serve.limits import Limits, Rate
from memento_mcp import Doors, http_app
from memento_mcp import serve_http as serve_app

if TYPE_CHECKING:
    from memento.resident.server import Resident, Session

HOST = "127.0.0.1"
STARTS = 15.0
"""Maximum time for the process to start, in seconds."""


def session(resident: Resident, asked: dict[str, Any]) -> Session:
    """Handle the call ``http``: return what serves HTTP until the command disconnects."""
    host = asked["host"]
    listening = _listening(host, asked["port"])
    port = listening.getsockname()[1]
    names = {host, "localhost"} if host == HOST else {host}
    opened: dict[tokens.Token, Doors] = {}
    usual = Limits()
    rate = Rate(usual.rate, usual.burst)
    lock = threading.Lock()

    def doors_of(token: str) -> Doors | None:
        found = tokens.holder(resident.root, token)
        with lock:
            if found is None:  # perhaps revoked: end what it has begun
                for gone in opened.keys() - tokens.listed(resident.root):
                    opened.pop(gone).close()
                return None
            rate.take(found.name)
            if found not in opened:
                opened[found] = _doors(resident, asked, found)
            return opened[found]

    try:
        app = http_app(doors_of, [f"{name}:{port}" for name in sorted(names)])
    except MementoError:
        listening.close()
        raise

    def serve(reader: BufferedReader, writer: BufferedWriter) -> None:
        from memento.serve.connections import Connection  # noqa: PLC0415 - an extra

        writer.write(json.dumps({"url": f"http://{host}:{port}/mcp"}).encode() + b"\n")
        writer.flush()
        serve_app(app, listening, reader.read, http=Connection)
        for doors in opened.values():
            doors.close()

    return serve


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise InvalidInput("--http", f"cannot listen on {host}:{port}: {error.strerror}") from error


def _doors(resident: Resident, asked: dict[str, Any], token: tokens.Token) -> Doors:
    wanted = {**asked, "namespace": token.namespace, "make": token.rights != "read"}
    return Doors(
        lambda: resident.open(wanted),
        scope=token.scope,
        client=token.name,
        read_only=token.rights == "read",
        more=asked["more"],
        tokens=asked["tokens"],
        bound=True,
        trust="agent" if token.trust == "user" else token.trust,  # type: ignore[arg-type]  # checked
    )


def serve_http(store: Store, address: str, *, more: bool, most: int) -> None:
    """Serve HTTP through the resident process until this command is stopped.

    Raises:
        InvalidInput: If the address cannot be used.
        MementoError: If the process cannot be started.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004 - the greatest port
        raise InvalidInput("--http", f"{address!r:.60} is neither PORT nor HOST:PORT")
    if not tokens.listed(store.folder()):
        raise InvalidInput(
            "--http", "there are no tokens; create one with `memento mcp --add-token NAME`"
        )
    asked = {
        "call": "http", "host": host or HOST, "port": int(port), "more": more, "tokens": most,
        "embedder": store.embedder, "environ": settings_here(),
    }  # fmt: skip
    while True:
        try:
            opened, answer = connect(store.root, asked, seconds=STARTS, start=True)
        except Unreachable as error:
            raise MementoError(str(error)) from error
        with opened, opened.makefile("rb") as said:
            if "field" in answer:
                raise InvalidInput(answer["field"], answer["error"])
            if "error" in answer:
                raise MementoError(answer["error"])
            url = json.loads(said.readline())["url"]
            typer.echo(f"Serving {os.fspath(store.root)} at {url}; press Ctrl-C to stop.", err=True)
            said.read()
