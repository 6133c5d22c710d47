"""The server over Streamable HTTP, by the official SDK in either major; needs the extra ``mcp``.

The SDK speaks the protocol and checks Host and Origin; what is answered comes from the same
functions as on standard input and output. Each request has a bearer token, whose doors answer it.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Literal
from weakref import WeakKeyDictionary

from memento.errors import MissingExtra, TooMuch
from memento_mcp import _table
from memento_mcp._doors import Doors
from memento_mcp._wire import INTERNAL, METHODS, SERVER, Refused

PATH = "/mcp"
MOST = 32
"""Maximum number of calls of one token that wait for each other."""
PARTING = 10.0
"""Seconds in which open requests are finished at the end."""
_KINDS = {
    "tools/list": ("ListTools", "Paginated"),
    "tools/call": ("CallTool", "CallTool"),
    "resources/list": ("ListResources", "Paginated"),
    "resources/templates/list": ("ListResourceTemplates", "Paginated"),
    "resources/read": ("ReadResource", "ReadResource"),
    "prompts/list": ("ListPrompts", "Paginated"),
    "prompts/get": ("GetPrompt", "GetPrompt"),
    "completion/complete": ("Complete", "Complete"),
}
"""Methods, each with what the SDK calls its request and result, and its parameters."""

Message = dict[str, Any]
Asgi = Callable[[Message, Callable[..., Any], Callable[..., Any]], Awaitable[None]]
_doors: ContextVar[Doors] = ContextVar("_doors")
"""The doors of the token with which the present request came."""


class _Turn(asyncio.Lock):
    """The turn of one token, whose calls come one after the other.

    They wait here, and so take no threads that the calls of others need.
    """

    waiting = 0

    async def acquire(self) -> Literal[True]:
        """Wait for the turn; `Refused` if too many do."""
        if self.waiting >= MOST:
            raise Refused(
                INTERNAL, f"{MOST} calls with this token are already waiting; try again later"
            )
        self.waiting += 1
        try:
            return await super().acquire()
        finally:
            self.waiting -= 1


_turns: WeakKeyDictionary[Doors, _Turn] = WeakKeyDictionary()


def http_app(doors_of: Callable[[str], Doors | None], hosts: list[str]) -> Asgi:
    """Return the server as an ASGI application at the path ``/mcp``.

    Args:
        doors_of: Returns what the holder of a token may use; None if the token is unknown.
            May raise ``TooMuch`` for one that has to wait, which gets status 429.
        hosts: The accepted values of ``Host``, such as ``127.0.0.1:8000``; pages of other origins
            are rejected.

    Raises:
        MissingExtra: If the SDK is not installed.
    """
    security = _imported("mcp.server.transport_security").TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
    )
    manager = _imported("mcp.server.streamable_http_manager").StreamableHTTPSessionManager(
        _server(), json_response=True, stateless=True, security_settings=security
    )

    async def app(scope: Message, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with manager.run():
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] != PATH:
            await _status(send, 404)
            return
        try:
            doors = await asyncio.to_thread(doors_of, _bearer(scope))
        except TooMuch as error:
            await _status(send, 429, (b"retry-after", b"%d" % math.ceil(error.wait or 1)))
            return
        if doors is None:
            await _status(send, 401, (b"www-authenticate", b"Bearer"))
        elif scope["method"] == "GET":  # a stream on which nothing is ever sent
            await _status(send, 405, (b"allow", b"POST"))
        else:
            _doors.set(doors)
            await manager.handle_request(scope, receive, send)

    return app


def serve_http(
    app: Asgi, listening: socket.socket, wait: Callable[[], object], *, http: Any = "auto"
) -> None:
    """Serve an application at a socket until a function returns.

    Args:
        app: The application.
        listening: The socket.
        wait: The function.
        http: How a connection is read; see uvicorn's setting of that name.
    """
    uvicorn = _imported("uvicorn")
    settings = uvicorn.Config(
        app, lifespan="on", log_config=None, access_log=False, ws="none",
        timeout_graceful_shutdown=int(PARTING), http=http,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    running = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="memento-mcp-http", daemon=True
    )
    running.start()
    wait()
    server.should_exit = True
    running.join(PARTING)


def _bearer(scope: Message) -> str:
    given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    scheme, _, token = given.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _status(send: Callable[..., Any], status: int, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": b""})


def _server() -> Any:
    """Make a server of the SDK that gives the same answers as on standard input and output."""
    lowlevel = _imported("mcp.server.lowlevel")
    made = lowlevel.Server(
        SERVER["name"], version=SERVER["version"], instructions=_table.INSTRUCTIONS
    )
    if hasattr(made, "add_request_handler"):  # mcp 2
        types = _imported("mcp_types")
        fault = _imported("mcp.shared.exceptions").MCPError
        for method, (kind, params) in _KINDS.items():
            answer = _answer(method, getattr(types, f"{kind}Result"), fault)
            made.add_request_handler(
                method, getattr(types, f"{params}RequestParams"), lambda _, p, a=answer: a(p)
            )
        return made
    types = _imported("mcp.types")
    for method, (kind, _) in _KINDS.items():
        answer = _answer(method, getattr(types, f"{kind}Result"), _fault_1)
        made.request_handlers[getattr(types, f"{kind}Request")] = _handler_1(answer, types)
    return made


def _answer(
    method: str, result: Any, fault: Callable[..., Exception]
) -> Callable[[Any], Awaitable[Any]]:
    """Return the function that answers a method: from the SDK's parameters to its result."""

    async def answer(params: Any) -> Any:
        given = (
            {}
            if params is None
            else params.model_dump(mode="json", by_alias=True, exclude_none=True)
        )
        doors = _doors.get()
        turn = _turns.setdefault(doors, _Turn())
        try:
            async with turn:
                found = await asyncio.to_thread(METHODS[method], doors, given)
        except Refused as refused:
            raise fault(refused.code, str(refused), refused.data) from refused
        return result.model_validate(found)

    return answer


def _handler_1(answer: Callable[[Any], Awaitable[Any]], types: Any) -> Callable[[Any], Any]:
    """Make a handler of mcp 1."""

    async def handle(request: Any) -> Any:
        return types.ServerResult(await answer(request.params))

    return handle


def _fault_1(code: int, message: str, data: object) -> Exception:
    """Make an error of mcp 1."""
    told = _imported("mcp.types").ErrorData(code=code, message=message, data=data)
    made: Exception = _imported("mcp.shared.exceptions").McpError(told)
    return made


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra("mcp", name.partition(".")[0]) from error
