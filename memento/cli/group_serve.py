"""``memento serve``: the store for other processes and machines, and the tokens that it takes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from memento.check import short_name
from memento.cli.options import command, option, seconds_of
from memento.cli.output import Shown
from memento.cli.store import Store
from memento.errors import InvalidInput, MissingExtra
from memento.resident import tokens

if TYPE_CHECKING:
    from memento import MemoryManager
    from memento.serve.app import Service
    from memento.serve.running import Place

app = typer.Typer()
SWITCH = 0.001
"""Seconds after which a thread of the service lets another go on; Python's 5 ms add up in a short
call that meets a long search."""
WHOLE = "*"
"""Value of --namespace for a token that sees the whole store."""


@command(
    app,
    "memento serve",
    "memento serve --add-token laptop --trust user",
    "memento serve --workers 4 --root postgresql://me@db.example.com/team",
    "memento serve --listen unix:/run/user/1000/memento.sock",
    "memento serve --listen 0.0.0.0:8765 --host memory.example.com --behind-proxy 127.0.0.1",
    make=True,
)
def serve(
    store: Store,
    *,
    listen: str = option(
        "--listen",
        "Address to listen on: PORT, HOST:PORT or unix:PATH.",
        default="127.0.0.1:8765",
        metavar="PLACE",
    ),
    host: list[str] | None = option(
        "--host", "A host name that clients use; repeatable.", metavar="NAME"
    ),
    certificate: Path | None = option("--tls-cert", "TLS certificate.", metavar="FILE"),
    key: Path | None = option("--tls-key", "Private key of the certificate.", metavar="FILE"),
    proxy: str | None = option(
        "--behind-proxy", "Address of the proxy that terminates TLS.", metavar="ADDRESS"
    ),
    rate: float = option(
        "--rate", "Maximum calls per second per token; 0 for no limit.", default=20.0, min=0
    ),
    mem0: bool = option("--mem0", "Also serve mem0 clients."),
    page: bool = option("--page/--no-page", "Serve the web page.", default=True),
    workers: int = option("--workers", "Number of worker processes.", default=1, min=1),
    add_token: str | None = option(
        "--add-token", "Create a token and print it; it is shown only once.", metavar="NAME"
    ),
    rights: str = option(
        "--rights",
        "With --add-token: what the token permits (read, write or admin).",
        default="write",
    ),
    trust: str = option(
        "--trust",
        "With --add-token: highest trust class for memories written with the token.",
        default="agent",
    ),
    expires: float | None = option(
        "--expires-in",
        "With --add-token: how long the token is valid.",
        parser=seconds_of,
        metavar="TIME",
    ),
    list_tokens: bool = option("--list-tokens", "List the tokens and their rights."),
    revoke_token: str | None = option("--revoke-token", "Revoke a token.", metavar="NAME"),
) -> Shown:
    """Serve the store over HTTP, with a web page.

    Programs connect with memento.connect(URL, token=TOKEN), or use the API described in
    /v1/openapi.json. A Unix socket requires no token, because only its owner can open it. To serve
    other machines, specify --host and either --tls-cert and --tls-key, or --behind-proxy. On
    SIGTERM or Ctrl-C, the service finishes the calls in progress and exits.

    With --workers, a worker that dies is replaced, and SIGHUP replaces the workers one at a time,
    each as soon as its successor is ready. Use several workers for a store in a PostgreSQL
    database; for a store in a folder, one process answers most calls anyway.

    A token gives access to the namespace specified with --add-token and those below it, or with
    --namespace '*' to the whole store. Memories written with the token get at most the trust class
    specified with --trust: user, agent, tool, web or import.
    """
    store = store.here()
    if add_token is not None:
        _prepare(store, add_token)
    with tokens.kept_at(store.address) as kept:
        if add_token is not None:
            return _added(kept, store.labels, add_token, rights, trust, expires)
        if list_tokens:
            return _listed(kept)
        if revoke_token is not None:
            return _revoked(kept, revoke_token)
        anybody = bool(tokens.listed(kept))
    tls, serving = _tls(certificate, key), _running()
    place, hosts = serving.place_of(listen), host or []
    _check_reach(place, hosts, anybody, safe=tls is not None or proxy is not None)
    with serving.listening(place) as opened:
        names = (*hosts, *_own_names(place, opened.getsockname()))
        shown, needs_token = page and not place.path, not place.path or proxy is not None
        open_to = _Open(store, place, names, rate, mem0, shown, tokens=needs_token)
        where = listen if place.path else f"{'https' if tls else 'http'}://{names[-1]}"
        if workers > 1:
            typer.echo(f"Serving {where} with {workers} workers; press Ctrl-C to stop.", err=True)
            serving.run_workers(open_to, workers, opened, place, certificate=tls, proxy=proxy)
        else:
            with open_to.opened() as (service, application):
                at = f"{service.memory.store.root} at {where}"
                typer.echo(f"Serving {at}; press Ctrl-C to stop.", err=True)
                served = serving.server_of(service, application, certificate=tls, proxy=proxy)
                serving.run(served, opened, place)
    return Shown({"served": where}, ["stopped"])


def _prepare(store: Store, name: str) -> None:
    """Make the store of a token if there is none, once the token's name is accepted."""
    short_name("--add-token", name)
    if not store.exists:
        store.open().close()


def _revoked(kept: Path, name: str) -> Shown:
    """Revoke a token."""
    gone = tokens.revoke(kept, name)
    return Shown(_told(gone), [f"revoked: {gone.name}"])


def _tls(certificate: Path | None, key: Path | None) -> tuple[str, str] | None:
    """Return the paths of a certificate and its key, if both are given."""
    if certificate is None or key is None:
        if certificate is not key:
            raise InvalidInput("--tls-cert", "requires --tls-key, and vice versa")
        return None
    return str(certificate), str(key)


def _running() -> ModuleType:
    """Return the module that runs the service."""
    try:
        import memento.serve.running as serving  # noqa: PLC0415 - slow, and an extra
    except ImportError as error:
        raise MissingExtra("serve", error.name or "starlette") from error
    return serving


class _Open(NamedTuple):
    """Settings with which a serving process opens the store and its service."""

    store: Store
    place: Place
    names: tuple[str, ...]
    rate: float
    mem0: bool
    page: bool
    tokens: bool

    @contextmanager
    def opened(self) -> Iterator[tuple[Service, Any]]:
        """Yield the service and its ASGI application; close the store at the end."""
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with self.store.open() as memory, tokens.kept_at(self.store.address):
                service = _service(memory, self)
                yield service, _application(service, mem0=self.mem0, page=self.page)
        finally:
            sys.setswitchinterval(before)


def _check_reach(place: Place, host: Sequence[str], anybody: bool, *, safe: bool) -> None:
    """Refuse a place that other machines reach, unless there are host names, tokens and TLS."""
    if place.is_local:
        return
    if not host:
        raise InvalidInput(
            "--host", "specify the host names by which other machines reach the service"
        )
    if not safe:
        raise InvalidInput(
            "--listen", "to serve other machines, specify --tls-cert or --behind-proxy"
        )
    if not anybody:
        raise InvalidInput(
            "--listen", "there are no tokens; create one with `memento serve --add-token NAME`"
        )


def _own_names(place: Place, bound: Any) -> tuple[str, ...]:
    """Return the values of ``Host`` of a local service; the last one is the address to show."""
    if place.path:
        return ()
    port = bound[1]
    names = ("localhost", "[::1]", "127.0.0.1") if place.is_local else (place.host,)
    return tuple(f"{name}:{port}" for name in names)


def _service(memory: MemoryManager, asked: _Open) -> Service:
    from memento.serve.app import Service, Settings  # noqa: PLC0415 - slow, and an extra
    from memento.serve.limits import Limits  # noqa: PLC0415 - as above

    settings = Settings(
        hosts=frozenset(name.lower() for name in asked.names),
        tokens=asked.tokens,
        limits=Limits(rate=asked.rate),
    )
    return Service(memory, settings)


def _application(service: Service, *, mem0: bool, page: bool) -> Any:
    from memento.serve.app import application  # noqa: PLC0415 - slow, and an extra

    more: list[Any] = []
    if mem0:
        from memento.serve.mem_zero import routes as of_mem0  # noqa: PLC0415 - few want it

        more += of_mem0(service)
    if page:
        from memento.serve.page import routes as of_page  # noqa: PLC0415 - needs Jinja

        more += of_page(service)
    return application(service, more)


def _added(
    kept: Path, namespace: str, name: str, rights: str, trust: str, expires: float | None
) -> Shown:
    token = tokens.add(
        kept,
        name,
        namespace="" if namespace == WHOLE else namespace,
        rights=rights,
        trust=trust,
        expires_in=None if expires is None else timedelta(seconds=expires),
    )
    return Shown({"name": name, "token": token}, [token])


def _listed(kept: Path) -> Shown:
    several = tokens.listed(kept)
    return Shown({"tokens": [_told(one) for one in several]}, [_line(one) for one in several])


def _told(one: tokens.Token) -> dict[str, str]:
    return {key: value for key, value in one._asdict().items() if key != "digest"}


def _line(one: tokens.Token) -> str:
    ends = f", expires {one.expires}" if one.expires else ""
    return f"{one.name}  {one.namespace or WHOLE}  {one.rights}, trusted as {one.trust}{ends}"
