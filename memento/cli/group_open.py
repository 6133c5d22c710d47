"""``memento open``: the web page of the store, in the browser."""

from __future__ import annotations

import socket
import threading
import time
import webbrowser
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote

import typer

from memento.cli.options import command, option
from memento.cli.output import Shown
from memento.cli.store import Store
from memento.errors import MissingExtra

app = typer.Typer()
HOST = "127.0.0.1"
PORT = 8765
_PATIENCE = 1.0
"""Seconds that a service on this machine may take to answer."""
_OPENING = 120.0
"""Maximum seconds to wait for a store that is being opened."""


@command(
    app,
    "memento open",
    "memento open --namespace acme/rami",
    "memento open --no-browser",
    name="open",
    make=True,
)
def open_page(
    store: Store,
    *,
    browser: bool = option(
        "--browser/--no-browser", "Open a browser, or only print the address.", default=True
    ),
    port: int = option("--port", "Port of the service.", default=PORT, min=1, max=65535),
) -> Shown:
    """Open the web page to view and correct memories.

    If `memento serve` is already serving the store on this machine, its page is opened. Otherwise,
    this command serves the page until you press Ctrl-C. The address contains a one-time code that
    expires after two minutes.
    """
    try:
        from memento.serve.page.door import code_for  # noqa: PLC0415 - slow, and an extra
    except ImportError as error:
        raise MissingExtra("serve", error.name or "starlette") from error
    store = store.here()
    if not store.exists:
        store.open().close()
    code = code_for(store.folder())
    if _serves(port, code):
        return Shown({"page": _show(store, port, code, browser=browser)}, ["opened"])
    from memento.cli.group_serve import serve  # noqa: PLC0415 - only if nobody serves it yet

    where = _free(port)
    threading.Thread(target=_when_ready, args=(store, where, code, browser), daemon=True).start()
    return serve(store, listen=f"{HOST}:{where}")


def _serves(port: int, code: str) -> bool:
    """Return whether the service at this port has this store, by whether it accepts the code."""
    asked = HTTPConnection(HOST, port, timeout=_PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {code}", "Content-Type": "application/json"}
        asked.request("POST", "/v1/list", '{"limit": 1}', headers)
        return asked.getresponse().status == 200  # noqa: PLR2004 - the status itself
    except (OSError, HTTPException):
        return False
    finally:
        asked.close()


def _free(port: int) -> int:
    """Return this port if it is free, else another free one."""
    for wanted in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, wanted))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return port


def _when_ready(store: Store, port: int, code: str, browser: bool) -> None:
    """Show the page as soon as the service answers."""
    ends = time.monotonic() + _OPENING
    while not _serves(port, code):
        if time.monotonic() > ends:
            return
        time.sleep(0.1)
    _show(store, port, code, browser=browser)


def _show(store: Store, port: int, code: str, *, browser: bool) -> str:
    """Open the page in the browser, or print its address if none opens; return the address."""
    there = "" if store.labels == "default" else f"?ns={quote(store.labels)}"
    address = f"http://{HOST}:{port}/{there}"
    if not (browser and webbrowser.open(f"{address}#t={code}")):
        typer.echo(f"{address}#t={code}")
    return address
