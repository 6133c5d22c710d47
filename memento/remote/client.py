"""A store that a service has open, with the methods of ``MemoryManager``.

There is no list of methods here: each of `ROUTES` becomes a method of its class, with the signature
and the documentation of the local method. Values and errors are the same as locally. Two things
differ: functions cannot be passed (``progress``, ``count_tokens``), and a few methods work only on
the store's machine; both raise `NotHere`.
"""

from __future__ import annotations

import functools
import json
import os
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from inspect import Parameter, signature
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote

from memento.admit.draft import at_position, draft_of
from memento.aio import AsyncMemoryManager
from memento.base.files import explain_os, write_atomically
from memento.base.scopes import parse_namespace
from memento.check import Limits, check_id, check_metadata, check_moment, check_seconds
from memento.config import Config
from memento.errors import (
    InvalidInput,
    MementoError,
    MissingExtra,
    NotHere,
    ServiceError,
    StoreBusy,
    StoreClosed,
    TargetExists,
    TooMuch,
    Unanswered,
)
from memento.ingest.source import plain_name
from memento.manager import MemoryManager
from memento.prompt.policy_values import TOKENS, Policy
from memento.remote.faults import error_of
from memento.remote.routes import ANSWERS, HERE, ROUTES, SENDS, UNSENT, Rights, Route, parts
from memento.remote.values import plain, reader
from memento.types import Draft, Hit, Memories, Memory, Retrieval
from memento.upkeep.backup import Backup
from memento.verbs.documents import Documents, text_of
from memento.verbs.feedback import Feedback, Loop
from memento.verbs.insight import Insight, Snapshot
from memento.verbs.session_handle import Named
from memento.verbs.sessions import Session, Sessions
from memento.views import Part

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
"""Most time that a call may take."""
_ANY_SIZE = Limits(metadata_bytes=1 << 62)
"""Of metadata: the service has its limit."""
_AGAIN = 0.1
"""Seconds before the first retry of a request; doubled for each further one."""


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    namespace: str | Sequence[str] | None = None,
    timeout: float = SECONDS,
) -> RemoteMemory:
    """Connect to a service: everything that ``MemoryManager`` offers, over HTTP.

    Args:
        url: Address of the service, ``https://…`` or ``unix:/path``; None for ``$MEMENTO_URL``.
        token: A token of the service; None for ``$MEMENTO_TOKEN``. A Unix socket requires no token.
        namespace: Labels of a namespace that the token allows; None for the token's own.
        timeout: Maximum number of seconds that a call may take; a longer call raises `Unanswered`.

    Raises:
        InvalidInput: If the address is invalid.
        MissingExtra: If httpx is not installed.
    """
    return RemoteMemory(url, token=token, namespace=namespace, timeout=timeout)


class Link:
    """A namespace of a service; it replaces a ``View`` in the methods.

    Several share their connections.
    """

    is_remote = True

    def __init__(
        self, address: str, client: httpx.Client, labels: tuple[str, ...] | None, timeout: float
    ) -> None:
        self.address, self.client, self._labels, self._timeout = address, client, labels, timeout
        self._about: dict[str, Any] | None = None

    def of(self, labels: tuple[str, ...]) -> Link:
        """Return a link to another namespace."""
        return Link(self.address, self.client, labels, self._timeout)

    @property
    def root(self) -> Path:
        """The store folder, which the service reveals only to its owner.

        Raises:
            NotHere: If the service does not reveal it.
        """
        told = (self._about or {}) if self.closed else self.about()
        if "root" not in told:
            raise NotHere(f"{self.address} reveals its store folder only to its owner")
        return Path(told["root"])

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace."""
        return self._labels or tuple(self.about()["namespace"])

    @property
    def closed(self) -> bool:
        """Whether this client was closed."""
        return self.client.is_closed

    @property
    def read_only(self) -> bool:
        """Whether the store or this token is read-only."""
        return bool(self.about()["read_only"])

    @property
    def prompt_confidence(self) -> float:
        """Default of ``min_confidence`` for ``prompt``."""
        return float(self.about()["prompt_confidence"])

    @property
    def config(self) -> Config:
        """The service's settings, without those of its language model."""
        found: Config = reader(Config)(self.about()["config"])
        return found

    def clock(self) -> datetime:
        """Return the present moment of the service's clock."""
        return datetime.fromisoformat(self.about(anew=True)["now"])

    def about(self, *, anew: bool = False) -> dict[str, Any]:
        """Return information about the service and the token; cached unless ``anew``."""
        if anew or self._about is None:
            self._about = self._answer("GET", "/v1/about", again=True).json()
        return self._about

    def retrieve(self, query: str, k: int | None, **options: Any) -> Retrieval:
        """Find memories, for a `Loop`."""
        found: Retrieval = self.call(ROUTES["retrieve"], {"query": query, "k": k, **options})
        return found

    def add(self, drafts: Sequence[Draft]) -> Memories:
        """Add memories, for a `Loop`."""
        kept: Memories = self.call(ROUTES["add_many"], {"items": drafts})
        return kept

    def call(self, route: Route, said: Mapping[str, Any]) -> Any:
        """Call a method, and return its result."""
        file = SENDS.get(route.name) or ANSWERS.get(route.name)
        arguments = {name: one for name, one in said.items() if name != file}
        if file is not None:
            go = self._send if route.name in SENDS else self._fetch
            return go(route, arguments, file, said[file])
        named = route.name == "add" and bool(arguments.get("id")) and not arguments.get("replace")
        return self._read(route, self._post(route, _body(arguments), again=named))

    def _post(self, route: Route, body: Any, *, again: bool = False, **more: Any) -> httpx.Response:
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        again = again or route.rights is Rights.READ
        return self._answer("POST", route.path, again=again, content=body, headers=headers, **more)

    def _read(self, route: Route, answer: httpx.Response, said: str | None = None) -> Any:
        try:
            return route.read_result(answer.json() if said is None else json.loads(said))
        except (ValueError, TypeError, KeyError) as error:
            raise ServiceError(
                f"{route.name}: the response does not match this version of memento"
            ) from error

    def _send(self, route: Route, arguments: dict[str, Any], name: str, source: Any) -> Any:
        """Send a file as the body of a call."""
        with _opened(name, source) as body:
            return self._read(
                route,
                self._post(
                    route,
                    body,
                    params={"arguments": _body(arguments).decode()},
                    headers={"content-type": "application/octet-stream"},
                ),
            )

    def _fetch(self, route: Route, arguments: dict[str, Any], name: str, target: Any) -> Any:
        """Take a file from the answer to a call."""
        path = _path(name, target)
        if path and not arguments.pop("overwrite", False) and path.exists():
            raise TargetExists(
                path, "already exists; use another name, or pass overwrite=True or --overwrite"
            )
        arguments[name] = path.name if path else "stream"
        answer = self._post(route, _body(arguments))
        if path is None:
            _pour(answer.content, target)
        else:
            try:
                write_atomically(path, answer.content)
            except OSError as error:
                raise explain_os(path, error) from error
        made = self._read(route, answer, answer.headers["memento-result"])
        return replace(made, path=path) if path and isinstance(made, Backup) else made

    def _answer(self, method: str, path: str, *, again: bool, **given: Any) -> httpx.Response:
        """Send a request, with retries, and return the answer; raise the error that it reports.

        A busy service did nothing, so any call is retried. If an answer is lost, the call may have
        been carried out, so a call is retried only if that changes nothing (``again``): one that
        reads, or an ``add`` with an id.
        """
        import httpx  # noqa: PLC0415 - it takes long to import

        end, pause = monotonic() + self._timeout, _AGAIN
        headers = dict(given.pop("headers", {})) | {"memento-timeout": f"{self._timeout:g}"}
        if self._labels is not None:
            headers["memento-namespace"] = "/".join(quote(one, safe="") for one in self._labels)
        while True:
            try:
                answer = self.client.request(method, path, headers=headers, **given)
            except httpx.ConnectError as error:
                self._rest(
                    pause, end, Unanswered(f"{self.address} cannot be reached: {error}"), error
                )
            except httpx.HTTPError as error:
                lost = Unanswered(f"{self.address} did not respond: {error!r}")
                self._rest(pause, end if again else 0.0, lost, error)
            except RuntimeError as error:
                raise StoreClosed(self.address) from error
            else:
                if not answer.is_error:
                    return answer
                problem = _problem(answer)
                busy = isinstance(problem, TooMuch | StoreBusy)
                wait = float(answer.headers.get("retry-after", "0"))
                self._rest(max(pause, wait) if wait else pause, end if busy else 0.0, problem)
            pause *= 2

    @staticmethod
    def _rest(pause: float, end: float, error: MementoError, why: Exception | None = None) -> None:
        """Wait before the next attempt, or raise the error if there is no time for one."""
        if monotonic() + pause > end:
            raise error from why
        sleep(pause)


def _problem(answer: httpx.Response) -> MementoError:
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return ServiceError(
            f"the server responded with status {answer.status_code} and is not a memento service"
        )
    return error_of(problem)


def _body(arguments: Mapping[str, Any]) -> bytes:
    """Return the body of a call.

    Raises:
        InvalidInput: If an argument cannot be represented in JSON without change.
    """
    return _object(arguments).encode()


def _object(said: Mapping[str, Any]) -> str:
    parts = (f"{json.dumps(name)}: {_value(name, value)}" for name, value in said.items())
    return f"{{{', '.join(parts)}}}"


def _value(name: str, value: Any) -> str:
    """Encode an argument as JSON."""
    if name == "items" and isinstance(value, list | tuple):
        return f"[{', '.join(at_position(at, _item, one) for at, one in enumerate(value))}]"
    if name == "metadata" and value is not None:
        return check_metadata(value, _ANY_SIZE)  # JSON would turn a name that is a number into text
    if name == "id" and isinstance(value, Memory | Hit):
        check_id(value)  # its error names the attribute to pass
    try:
        return json.dumps(value.id if isinstance(value, Named | Loop) else plain(value))
    except RecursionError as error:
        raise InvalidInput(name, "is nested too deeply to be sent") from error
    except (TypeError, ValueError) as error:  # or a number of thousands of digits
        raise InvalidInput(name, f"cannot be sent: {error}") from error


def _item(item: Any) -> str:
    """Encode a draft as JSON, without fields that have their default."""
    if isinstance(item, str):
        return json.dumps(item)
    draft = draft_of(item)
    given = ((one, getattr(draft, one.name)) for one in fields(draft))
    return _object({one.name: value for one, value in given if value is not one.default})


def _path(name: str, file: Any) -> Path | None:
    """Return the path of a file; None for an open stream.

    Raises:
        InvalidInput: If it is neither, or not a valid file name.
    """
    if isinstance(file, str | Path):
        try:
            os.fsencode(file)
        except ValueError as error:
            raise InvalidInput(name, f"is not a valid file name: {error}") from error
        if "\0" not in str(file):
            return Path(file)
    elif hasattr(file, "read") or hasattr(file, "write"):
        return None
    raise InvalidInput(name, "must be a file name or an open stream")


@contextmanager
def _opened(name: str, source: Any) -> Iterator[Any]:
    """Yield the body to send: an opened file, or the content of an open stream."""
    path = _path(name, source)
    if path is None:
        said = source.read()
        yield said.encode() if isinstance(said, str) else said
        return
    try:
        opened = path.open("rb")
    except OSError as error:
        raise explain_os(path, error) from error
    with opened:
        yield opened


def _pour(content: bytes, target: IO[Any]) -> None:
    try:
        target.write(content)
    except TypeError:  # a text stream
        target.write(content.decode())


def _method(route: Route) -> Callable[..., Any]:
    """Return the client's method for a route, with the signature of the local method."""
    taken = signature(route.method)

    @functools.wraps(route.method)
    def call(self: Part, /, *args: Any, **kwargs: Any) -> Any:
        said: dict[str, Any] = {}
        for name, value in list(taken.bind(self, *args, **kwargs).arguments.items())[1:]:
            one = taken.parameters[name]
            if one.kind is Parameter.VAR_KEYWORD:
                route.check_names(name, value)
                said |= value
            elif name in UNSENT and value is not None:
                raise NotHere(f"{name}: a function cannot be passed to a service")
            elif value is not one.default:
                said[name] = value
        return _link(self).call(route, said)

    return call


def _absent(name: str, why: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotHere(f"{name} is not available through a service: {why}")

    return refuse


def _link(part: Part | Snapshot) -> Link:
    found: Link = cast("Any", part)._view  # noqa: SLF001 - a link in the place of a view
    return found


def _methods(part: str, kind: type[Part]) -> dict[str, Any]:
    """Return the client's methods for a part; for the manager, ``part`` is ``""``."""
    found: dict[str, Any] = {}
    for name, route in ROUTES.items():
        where, _, verb = name.rpartition(".")
        if where == part:
            found[verb] = _method(route)
    for name, why in HERE.items():
        where, _, verb = name.rpartition(".")
        if where == part and where:
            found[verb] = _absent(name, why, vars(kind)[verb])
    return found


def _start(self: Any, *args: Any, **kwargs: Any) -> Session:
    """Like ``Sessions.start``."""
    return Session(self, _method(ROUTES["sessions.start"])(self, *args, **kwargs)["id"])


def _open_loop(self: Any, *args: Any, **kwargs: Any) -> Loop:
    """Like ``Feedback.open_loop``."""
    said = _method(ROUTES["feedback.open_loop"])(self, *args, **kwargs)
    began, ends = (datetime.fromisoformat(said[name]) for name in ("opened_at", "expires_at"))
    return Loop(said["id"], said["session"], began, ends, _feedback=self)


def _finalize(self: Any, loop: Loop | str, *args: Any, **kwargs: Any) -> tuple[str, ...]:
    """Like ``Feedback.finalize``."""
    shared: tuple[str, ...] = _method(ROUTES["feedback.finalize"])(self, loop, *args, **kwargs)
    if isinstance(loop, Loop):
        loop.closed = True
    return shared


def _add_document(self: Any, document: str | Path, **how: Any) -> Memories:
    """Like ``Documents.add``; a file is read on this machine."""
    if isinstance(document, Path):
        how.setdefault("name", plain_name(document))
        document, kind = text_of(document, how.get("format"))
        how["format"] = kind.value
    kept: Memories = _method(ROUTES["documents.add"])(self, document, **how)
    return kept


def _shown(self: Part) -> str:
    link = _link(self)
    return f"<{type(self).__name__} {link.address!r} {'closed' if link.closed else 'open'}>"


class _Snapshot(Snapshot):
    """Like ``Snapshot``, of a service."""

    def list(self, **options: Any) -> Memories:
        """Like ``Snapshot.list``."""
        found: Memories = _method(ROUTES["list"])(self, **options, known_at=self.at)
        return found

    def policy(self, *, scope: str = "", tokens: int = TOKENS, ids: bool = False) -> Policy:
        """Like ``Snapshot.policy``."""
        asked = {"scope": scope, "tokens": tokens, "ids": ids, "known_at": self.at}
        made: Policy = _method(ROUTES["rules.policy"])(self, **asked)
        return made


def _snapshot(self: Any, at: datetime) -> Snapshot:
    """Like ``Insight.snapshot``."""
    check_moment("at", at)
    return _Snapshot(self._view, at)


_BY_HAND: dict[str, dict[str, Any]] = {
    "documents": {"add": functools.wraps(Documents.add)(_add_document)},
    "insight": {"snapshot": functools.wraps(Insight.snapshot)(_snapshot)},
    "sessions": {"start": functools.wraps(Sessions.start)(_start)},
    "feedback": {
        "open_loop": functools.wraps(Feedback.open_loop)(_open_loop),
        "loop": functools.wraps(Feedback.loop)(_open_loop),
        "finalize": functools.wraps(Feedback.finalize)(_finalize),
    },
}
"""Methods that return or take an object with methods of its own."""


def _part_of(name: str, kind: type[Part]) -> property:
    given = {"__slots__": (), "__repr__": _shown} | _methods(name, kind) | _BY_HAND.get(name, {})
    made = type(f"Remote{kind.__name__}", (kind,), given)
    made.__doc__ = f"Like ``{kind.__name__}``, of a service."
    return property(lambda self: made(self._view), doc=vars(MemoryManager)[name].__doc__)


class _Remote(MemoryManager):
    """Like ``MemoryManager``, of a service: what `ROUTES` has in the place of each method."""

    __repr__ = _shown
    vars().update(_methods("", MemoryManager))
    vars().update({name: _part_of(name, kind) for name, kind in parts().items() if name})


class RemoteMemory(_Remote):
    """The memory of a service: everything that ``MemoryManager`` offers, over HTTP.

    Functions cannot be passed, so ``progress`` and ``count_tokens`` raise `NotHere`. So do methods
    that work only on the store's own machine: ``documents.ingest``, ``store.move`` and
    ``store.sync_vault``. ``store.backup``, ``store.export`` and ``store.import_from`` use files on
    this machine.

    Args:
        url: Address of the service, ``https://…`` or ``unix:/path``; None for ``$MEMENTO_URL``.
        token: A token of the service; None for ``$MEMENTO_TOKEN``. A Unix socket requires no token.
        namespace: Labels of a namespace that the token allows; None for the token's own.
        timeout: Maximum number of seconds that a call may take; a longer call raises `Unanswered`.

    Raises:
        InvalidInput: If the address is invalid.
        MissingExtra: If httpx is not installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        namespace: str | Sequence[str] | None = None,
        timeout: float = SECONDS,
    ) -> None:
        address = url or os.environ.get("MEMENTO_URL", "")
        token = token or os.environ.get("MEMENTO_TOKEN")
        seconds = check_seconds("timeout", timeout)
        labels = None if namespace is None else parse_namespace(namespace)
        link: Any = Link(address, _client(address, token, seconds), labels, seconds)
        Part.__init__(self, link)

    def of(self, *labels: str) -> RemoteMemory:
        """Return a view of another namespace to which the token gives access."""
        memory = object.__new__(type(self))
        link: Any = _link(self).of(parse_namespace(labels))
        Part.__init__(memory, link)
        return memory

    def close(self) -> None:
        """Close the connections of all views; the service and its store stay open."""
        _link(self).client.close()

    def __enter__(self) -> Self:
        return self


def _client(url: str, token: str | None, seconds: float) -> httpx.Client:
    """Return the HTTP client for a service.

    Raises:
        InvalidInput: If the address is invalid.
        MissingExtra: If httpx is not installed.
    """
    try:
        import httpx  # noqa: PLC0415 - it takes long to import
    except ImportError as error:
        raise MissingExtra("serve", "httpx") from error
    scheme, _, path = url.partition(":")
    if scheme not in ("http", "https", "unix") or not path:
        raise InvalidInput(
            "url", f"{url!r:.60} is not an address of the form http://…, https://… or unix:/path"
        )
    transport = httpx.HTTPTransport(uds=path) if scheme == "unix" else None
    headers = {} if not token else {"authorization": f"Bearer {token}"}
    base = "http://localhost" if scheme == "unix" else url
    return httpx.Client(
        base_url=base,
        headers=headers,
        transport=transport,
        timeout=seconds + 1,
        trust_env=False,  # no proxies; but SSL_CERT_FILE and SSL_CERT_DIR may name authorities
        verify=_authorities(httpx) if scheme == "https" else True,
    )


def _authorities(httpx: ModuleType) -> ssl.SSLContext:
    """Return the authorities that may vouch for a service.

    Raises:
        InvalidInput: If ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` names none.
    """
    try:
        found: ssl.SSLContext = httpx.create_ssl_context()
    except OSError as error:  # or not a certificate
        raise InvalidInput("SSL_CERT_FILE", f"cannot be read: {error}") from error
    return found


class AsyncRemoteMemory(AsyncMemoryManager):
    """Like `RemoteMemory`, with methods that you await; see ``memento.aio``.

    The arguments are those of `RemoteMemory`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        namespace: str | Sequence[str] | None = None,
        timeout: float = SECONDS,
    ) -> None:
        self._sync = RemoteMemory(url, token=token, namespace=namespace, timeout=timeout)
