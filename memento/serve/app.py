"""The service: calls of one store's manager over HTTP, and other routes.

A request is refused as early as possible: by its ``Host``, then its token, then its rights; only
then is its body read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from pathlib import Path as Filesystem
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from memento import MemoryManager, __version__
from memento.aio import settle
from memento.check import ABOVE_0, MAX_WAIT, WAIT, check_number
from memento.config import ChromaConfig, LLMConfig
from memento.conversation.turns import turns_of
from memento.errors import (
    InvalidInput,
    MementoError,
    NotAllowed,
    TooMuch,
    Unanswered,
)
from memento.remote.faults import problem_of, status_of
from memento.remote.routes import ANSWERS, ROUTES, SENDS, Rights, Route
from memento.remote.values import plain, written
from memento.serve.access import (
    HEADER,
    OWNER,
    Caller,
    allow,
    caller_of,
    limited,
    namespace_of,
    visible,
)
from memento.serve.limits import Limits, Once, Rate, Turns
from memento.serve.live import events, last_seen
from memento.serve.metrics import TYPE, Metrics
from memento.serve.openapi import document
from memento.upkeep.lineage import Stats

T = TypeVar("T")
ASKS = frozenset({"retrieve", "prompt", "recall"})
"""Methods that ask a question."""
SHORT = frozenset({
    "get", "list", "value", "changes.head", "changes.list", "quarantine.list", "sessions.info",
    "sessions.list", "store.counts", "store.full_id", "store.stats",
})  # fmt: skip
"""Methods that read and are so quick that they need not wait for searches."""
ASKED = 6
"""Number of questions that a service keeps of each namespace, for its page."""
_ASKERS = 1_000
"""Maximum number of namespaces of which it keeps some."""
_ASKED_LENGTH = 300
"""Maximum number of characters of such a question."""
_WEIGHT = 256 << 10
"""Bytes of a body that count as one call, since it is parsed while all others wait."""
log = logging.getLogger("memento.serve")


class Settings(NamedTuple):
    """How a service is reached.

    Attributes:
        hosts: Accepted values of ``Host``, so that another site cannot reach the service by a
            host name of its own; empty to accept any, at a Unix socket.
        tokens: Whether a call needs a token; otherwise every caller is the owner.
        limits: See `Limits`.
    """

    hosts: frozenset[str] = frozenset()
    tokens: bool = True
    limits: Limits = Limits()


class Asked(NamedTuple):
    """A question that a caller asked.

    Attributes:
        number: Its number in the namespace since the service started, from 1.
        at: When, UTC.
        by: Name of the caller's token.
        namespace: The namespace that was asked.
        words: The text of the question.
    """

    number: int
    at: datetime
    by: str
    namespace: tuple[str, ...]
    words: str


class Service:
    """One open store, and the calls to it.

    Everything built on it, such as the routes of mem0, calls the manager through ``call``, so that
    the same rights, namespaces, trust and limits hold.
    """

    def __init__(self, memory: MemoryManager, settings: Settings) -> None:
        self.memory, self.settings = memory, settings
        self.leaving = asyncio.Event()
        self.once = Once()
        self.metrics = Metrics()
        self.calls = 0
        self._running: Counter[str] = Counter()
        self._watching: Counter[str] = Counter()
        self._asked: OrderedDict[tuple[str, ...], deque[Asked]] = OrderedDict()
        self._noting = threading.Lock()
        self._rate = Rate(settings.limits.rate, settings.limits.burst)
        writers = settings.limits.writers
        self._readers = Turns(settings.limits.readers, 1, "memento-read")
        self._writers = Turns(writers, max(1, writers // 2), "memento-write")

    def caller(self, request: Request) -> Caller:
        """Return who makes a request.

        Raises:
            NotAllowed: If it has no valid token.
            TooMuch: If the token has made too many calls.
        """
        found = self.known(request)
        if self.settings.tokens:
            self._rate.take(found.name)
        return found

    def known(self, request: Request) -> Caller:
        """Return who makes a request, without counting it; see ``caller``."""
        if not self.settings.tokens:
            return OWNER
        return caller_of(self.memory.store.root, request.headers.get("authorization", ""))

    def entered(self, session: str) -> Caller:
        """Return whose a session of the page is; see ``caller``."""
        found = caller_of(self.memory.store.root, f"Bearer {session}")
        self._rate.take(found.name)
        return found

    async def body(self, caller: Caller, request: Request, most: int) -> bytes:
        """Read the body of a request; a long one counts as several calls before it is read.

        If its length is not given, it counts as the longest once it turns out to be long.

        Raises:
            TooMuch: As soon as it is longer than allowed, or if the token has made too many calls.
        """
        told = request.headers.get("content-length")
        self._weigh(caller, int(told or 0), most)
        parts, length = [], 0
        async for part in request.stream():
            if told is None and length < _WEIGHT <= length + len(part):
                self._weigh(caller, most, most)
            parts.append(part)
            length += len(part)
            if length > most:
                raise _too_long(most)
        return b"".join(parts)

    def _weigh(self, caller: Caller, length: int, most: int) -> None:
        """Count a body of this length as several calls, if it is long; refuse one too long."""
        if length > most:
            raise _too_long(most)
        if self.settings.tokens:
            self._rate.owe(caller.name, length // _WEIGHT)

    async def call(
        self,
        caller: Caller,
        method: str,
        said: Mapping[str, Any],
        *,
        namespace: tuple[str, ...] | None = None,
        seconds: float | None = None,
        then: Callable[[Any], T] = lambda result: result,
    ) -> T:
        """Call a method of the manager for a caller, in a worker thread.

        Args:
            caller: Who calls.
            method: Name of the method, such as ``retrieve`` or ``sessions.start``.
            said: Its arguments, as JSON has them or as the method takes them.
            namespace: Where; None for the caller's own.
            seconds: Most time to wait; None for as long as a call may take.
            then: Makes the answer from the result, in the same thread.

        Raises:
            MementoError: What the method raises; `NotAllowed` and `UntrustedSource` if the caller
                may not call it so; and what ``run`` raises.
        """
        route, given = ROUTES[method], {**said}
        allow(caller, route)
        labels = namespace_of(caller, None) if namespace is None else namespace
        if not caller.is_owner:
            self.settings.limits.check(said)

        async def settled() -> None:
            if {"wait", "session"} <= route.arguments.keys():
                # ``recall`` searches all sessions
                session = None if method == "recall" else given.get("session")
                wait, here = given.get("wait", WAIT), self.memory.of(*labels)
                given["wait"] = await settle(here, wait, session=session)

        def work() -> T:
            bound = route.bind(given)
            result = route.call(self.memory.of(*labels), limited(caller, route, bound))
            if method in ASKS and bound.get("record", True):
                self._note(caller, labels, bound)
            return then(visible(caller, result))

        searches = route.rights is Rights.READ and method not in SHORT
        return await self.run(
            caller, method, work, searches=searches, seconds=seconds, first=settled
        )

    async def run(
        self,
        caller: Caller,
        name: str,
        work: Callable[[], T],
        *,
        searches: bool,
        seconds: float | None = None,
        first: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Do something for a caller in a worker thread.

        A caller has few threads at a time, so that others need not wait for all that it asks.

        Args:
            caller: For whom.
            name: What it is called in an error.
            work: What to do.
            searches: Whether it takes long, and so has to wait for its turn.
            seconds: Most time to wait; None for as long as a call may take.
            first: What to wait for before, without a thread.

        Raises:
            MementoError: What ``work`` raises; `TooMuch` if too many calls run or wait, of this
                caller or altogether, and `Unanswered` if it takes too long.
        """
        limits = self.settings.limits
        if self.calls >= limits.calls:
            raise TooMuch("calls", f"{limits.calls:,} calls are already waiting", 1.0)
        if self._running[caller.name] >= limits.each and not caller.is_owner:
            raise TooMuch(
                "calls", f"{limits.each:,} calls with this token are already waiting", 1.0
            )
        most = limits.seconds if seconds is None else min(seconds, limits.seconds)
        running: asyncio.Future[T] | None = None
        self.calls += 1
        self._running[caller.name] += 1
        try:
            async with asyncio.timeout(most):
                if first is not None:
                    await first()
                job = (self._readers if searches else self._writers).submit(caller.name, work)
                running = asyncio.wrap_future(job)
                return await asyncio.shield(running)
        except TimeoutError as error:
            if running is None or job.cancel():
                problem = f"{name} could not start within {most:g} s; nothing was done"
                raise Unanswered(problem) from error
            running.add_done_callback(_seen)
            raise Unanswered(f"{name} took longer than {most:g} s; it is still running") from error
        finally:
            self.calls -= 1
            self._running[caller.name] -= 1

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return self._watching.total()

    def room_for_stream(self, caller: Caller) -> None:
        """Raise `TooMuch` if too many streams are open, of this caller or altogether."""
        most = self.settings.limits.streams
        if self.streams >= most or self._watching[caller.name] >= max(1, most // 4):
            raise TooMuch("streams", "too many streams are already open", 1.0)

    async def watched(
        self, again: Callable[[], Caller], events: AsyncIterator[T]
    ) -> AsyncIterator[T]:
        """Pass on the events of a stream while its caller may hear them.

        Args:
            again: Returns the caller; raises `NotAllowed` once its token is refused.
            events: What the stream has.
        """
        name = again().name
        self._watching[name] += 1
        try:
            async for event in events:
                again()
                yield event
        except MementoError as error:  # the token has ended, or the store cannot be read
            log.info("a stream has ended: %s", type(error).__name__)
        finally:
            self._watching[name] -= 1

    def asked(self, labels: tuple[str, ...]) -> list[Asked]:
        """Return the last questions in a namespace, oldest first."""
        with self._noting:
            return [*self._asked.get(labels, ())]

    def _note(self, caller: Caller, labels: tuple[str, ...], bound: Mapping[str, Any]) -> None:
        """Keep a question, which the page shows; only in RAM."""
        words = bound.get("query")
        if words is None:
            words = next((turn.text for turn in reversed(turns_of(bound["messages"]))), "")
        with self._noting:
            kept = self._asked.setdefault(labels, deque(maxlen=ASKED))
            self._asked.move_to_end(labels)
            number = kept[-1].number + 1 if kept else 1
            said = str(words)[:_ASKED_LENGTH]
            kept.append(Asked(number, self.memory.store.clock(), caller.name, labels, said))
            if len(self._asked) > _ASKERS:
                self._asked.popitem(last=False)

    def close(self) -> None:
        """Wait for running calls, and cancel those that have not started."""
        self._readers.close()
        self._writers.close()


def _too_long(most: int) -> TooMuch:
    return TooMuch("body", f"the body is longer than {most:,} bytes")


def _seen(future: asyncio.Future[Any]) -> None:
    """Log the error of a call that timed out and failed later."""
    if not future.cancelled() and (error := future.exception()) is not None:
        log.warning("a call that took too long failed: %s", type(error).__name__)


def application(service: Service, more: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the service as an ASGI application.

    Args:
        service: The open store, and how it is reached.
        more: Further routes, such as those of the web page
            (``memento.serve.page.routes(service)``). ``Host`` and ``Origin`` are checked for them
            too, but they must find their own `Caller`. A `MementoError` that they raise becomes a
            problem, with details of the machine only if ``request.state.caller`` is an owner.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.leaving.set()
        await asyncio.to_thread(service.close)

    app = Starlette(
        routes=[
            Path("/livez", _live),
            Path("/readyz", partial(_ready, service)),
            Path("/metrics", partial(_metrics, service)),
            Path("/v1/about", partial(_about, service)),
            Path("/v1/changes/stream", partial(_stream, service)),
            Path("/v1/openapi.json", _described),
            *more,
        ],
        exception_handlers={
            MementoError: _refused,
            HTTPException: _no_route,
            Exception: _failed,
        },
        lifespan=lifespan,
    )
    return _Door(app, service)


class _Door:
    """Refuses requests from pages of other sites, and dispatches calls of the API.

    Calls of the API bypass the routing and middleware of Starlette, which would take a third of the
    service's time.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service, self._settings = app, service, service.settings
        self._routes = {route.path: route for route in ROUTES.values()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif problem := self._problem(dict(scope["headers"])):
            await _answer(NotAllowed(problem))(scope, receive, send)
        elif (route := self._routes.get(scope["path"])) and scope["method"] == "POST":
            answer = await _counted(self._service, route, Request(scope, receive))
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _problem(self, headers: Mapping[bytes, bytes]) -> str:
        hosts = self._settings.hosts
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if hosts and host not in hosts:
            return "this host name is not accepted; see `memento serve --host`"
        origin = headers.get(b"origin")
        own = (f"http://{host}", f"https://{host}")
        if origin is None or not hosts or origin.decode("latin-1").lower() in own:
            return ""
        return "requests from pages of other sites are not allowed"


async def _counted(service: Service, route: Route, request: Request) -> Response:
    """Answer a call of the API, and count it."""
    began = perf_counter()
    try:
        answer = await _called(service, route, request)
    except MementoError as error:
        answer = await _refused(request, error)
    except HTTPException as error:
        answer = await _no_route(request, error)
    except Exception as error:  # noqa: BLE001 - a bug: it is logged under a number
        answer = await _failed(request, error)
    service.metrics.count(route.name, answer.status_code, perf_counter() - began)
    return answer


async def _called(service: Service, route: Route, request: Request) -> Response:
    request.state.caller = caller = service.caller(request)
    allow(caller, route)
    name, labels = route.name, namespace_of(caller, request.headers.get(HEADER))
    call = partial(service.call, caller, name, namespace=labels, seconds=_patience(request))
    if name in SENDS or name in ANSWERS:
        return await _with_file(service, request, name, call)
    body = await service.body(caller, request, service.settings.limits.body_of(name))
    said = _arguments(body, request)
    key = request.headers.get("idempotency-key")
    if key is None or route.rights is Rights.READ:
        answer = await call(said, then=written)
    else:
        sent = sha256(b"\n".join((name.encode(), repr(labels).encode(), body))).digest()
        answer = await service.once.answer(caller.name, key, sent, lambda: call(said, then=written))
    return Response(answer, media_type="application/json")


def _arguments(body: bytes, request: Request) -> dict[str, Any]:
    """Parse the body of a call as its arguments."""
    _check_type(request, "application/json")
    return _object(body)


def json_of(body: bytes, request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body, {} if it is empty; for additional routes."""
    return _arguments(body, request) if body else {}


def _check_type(request: Request, wanted: str) -> None:
    """Require a content type, one that a form on another site cannot send."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != wanted:
        raise HTTPException(415, f"the content type must be {wanted}")


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is not JSON") from error
    if not isinstance(said, dict):
        raise HTTPException(400, "the body is not a JSON object")
    return said


async def _with_file(
    service: Service, request: Request, name: str, call: Callable[..., Awaitable[bytes]]
) -> Response:
    """Answer a call that sends or returns a file, through a temporary file of this machine."""
    limits, caller = service.settings.limits, request.state.caller
    with TemporaryDirectory(prefix="memento-") as folder:
        if name in SENDS:
            _check_type(request, "application/octet-stream")
            sent = Filesystem(folder, "sent")
            given = request.query_params.get("arguments", "{}").encode()
            body = await service.body(caller, request, limits.body_of(name))
            await asyncio.to_thread(sent.write_bytes, body)
            answer = await call(_object(given) | {SENDS[name]: str(sent)}, then=written)
            return Response(answer, media_type="application/json")
        said = _arguments(await service.body(caller, request, limits.body), request)
        called = Filesystem(str(said.get(ANSWERS[name]) or "file")).name
        made = Filesystem(folder, called)
        told = await call(said | {ANSWERS[name]: str(made)}, then=written)
        whole = await asyncio.to_thread(made.read_bytes)
    headers = {"memento-result": told.decode()}
    return Response(whole, headers=headers, media_type="application/octet-stream")


def _patience(request: Request) -> float | None:
    """Return the seconds that a caller waits, from its header; None without that header."""
    text = request.headers.get("memento-timeout")
    if text is None:
        return None
    try:
        return check_number("Memento-Timeout", float(text), ABOVE_0, MAX_WAIT)
    except ValueError as error:
        raise InvalidInput("Memento-Timeout", "must be a number of seconds") from error


async def _live(_: Request) -> Response:
    return JSONResponse({"version": __version__})


async def _ready(service: Service, _: Request) -> Response:
    """Answer whether calls are served."""
    ready = not service.leaving.is_set() and not service.memory.store.closed
    return JSONResponse({"ready": ready}, 200 if ready else 503)


async def _metrics(service: Service, request: Request) -> Response:
    """Answer with counters for Prometheus; only for callers that may see the whole store."""
    request.state.caller = caller = service.caller(request)
    if not caller.is_owner:
        raise NotAllowed(
            "metrics cover the whole store, but this token is limited to one namespace"
        )
    stats: Stats = await service.call(caller, "store.stats", {})
    return Response(service.metrics.text(stats, service.streams), media_type=TYPE)


async def _described(_: Request) -> Response:
    """Answer with the OpenAPI description, which needs no token."""
    return Response(_description(), media_type="application/json")


@cache
def _description() -> bytes:
    return json.dumps(document()).encode()


async def _stream(service: Service, request: Request) -> Response:
    """Answer with a stream of new memories and changes."""
    request.state.caller = caller = service.caller(request)
    labels = namespace_of(caller, request.headers.get(HEADER))
    service.room_for_stream(caller)
    last = request.headers.get("last-event-id")
    after = None if last is None else last_seen(last)
    told = events(partial(service.call, caller, namespace=labels), service.leaving, after)
    return StreamingResponse(
        service.watched(partial(service.known, request), told),
        media_type="text/event-stream",
        headers={"cache-control": "no-store"},
    )


async def _about(service: Service, request: Request) -> Response:
    """Answer what a client needs to know about the service, the store and its token."""
    request.state.caller = caller = service.caller(request)
    labels = namespace_of(caller, request.headers.get(HEADER))
    store = service.memory.store
    told = {
        "version": __version__,
        "namespace": labels,
        "caller": caller.name,
        "rights": caller.rights,
        "trust": caller.trust,
        "read_only": store.read_only or caller.rights is Rights.READ,
        "prompt_confidence": store.prompt_confidence,
        "config": {
            **plain(replace(store.config, llm=LLMConfig(), chroma=ChromaConfig())),
            "llm": {},
        },
        "now": store.clock(),
    }
    if caller.is_owner:
        told["root"] = store.root
    return Response(written(told), media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, MementoError)  # noqa: S101 - it is registered for these alone
    caller = getattr(request.state, "caller", None)
    return _answer(error, whole=caller is not None and caller.is_owner)


def _answer(error: MementoError, *, whole: bool = False) -> Response:
    return _problem(problem_of(error, whole=whole), headers_of(error))


def headers_of(error: MementoError) -> dict[str, str]:
    """Return the headers that tell a client how to go on after an error."""
    status, headers = status_of(error), {}
    if status == 401:  # noqa: PLR2004 - the status itself
        headers["WWW-Authenticate"] = "Bearer"
    if (wait := getattr(error, "wait", None)) is not None or status == 503:  # noqa: PLR2004
        headers["Retry-After"] = str(max(1, round(wait or 1)))
    return headers


def _problem(problem: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    told = json.dumps(problem)  # in ASCII: it may quote what cannot be encoded
    return Response(told, problem["status"], headers, "application/problem+json")


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these alone
    return _problem(
        {"type": "about:blank", "title": error.detail, "status": error.status_code},
        error.headers,
    )


async def _failed(_: Request, error: Exception) -> Response:
    """Report an unexpected error only by a number, under which the log has the details."""
    number = uuid4().hex
    log.error("request %s failed", number, exc_info=error)
    problem = {"type": "about:blank", "title": "internal error of the service", "status": 500}
    return _problem({**problem, "detail": f"see the log of the service for request {number}"})
