"""The protocol: JSON-RPC, one message per line, in both eras of MCP, without an SDK.

Versions with a handshake (2024-11-05 to 2025-11-25) begin with ``initialize``. Since 2026-07-28,
there is none: each request names its version in ``_meta``, and ``server/discover`` lists what there
is. Importing an SDK would take half a second before the first answer.

One thread reads, and answers at once if no store is needed. Another carries out calls in the order
of arrival, so that an agent's correction in the next line takes effect last.
"""

from __future__ import annotations

import itertools
import json
import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, BinaryIO

import memento
from memento_mcp import _table
from memento_mcp._doors import MOST_VALUES, Doors

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that begin with ``initialize``, oldest first."""
MODERN = ("2026-07-28",)
"""Versions that each request names."""
LONGEST = 4 << 20
"""Maximum length of a line that is read, bytes."""
WAITING = 256
"""Maximum number of calls that wait for their turn; then nothing is read until one is done."""
PARTING = 15.0
"""Maximum seconds for open calls once the client is gone."""
LISTED_FOR = 3_600_000
"""Milliseconds for which a client may keep a list; it never changes."""
SERVER = {"name": "memento", "version": memento.__version__}
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
PROGRESS = 1.0
"""Seconds between progress notifications of a long call, if the client wants them."""

PARSE, REQUEST, METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED = -32022
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CLIENT = "io.modelcontextprotocol/clientInfo"
_SERVER = "io.modelcontextprotocol/serverInfo"
_GONE = {"initialize", "ping"}
"""Methods that versions without a handshake do not have."""
_LISTS = {
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
}  # fmt: skip
_CALLS = {"tools/call", "prompts/get", "resources/read", "completion/complete"}
"""Methods that need the store."""

Json = dict[str, Any]
log = logging.getLogger("memento_mcp")


class Refused(Exception):
    """An error of the protocol.

    Attributes:
        code: Its number.
        data: What the client may read beside the message, or None.
    """

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def body(self) -> Json:
        """Return the error in the form of the protocol."""
        found: Json = {"code": self.code, "message": str(self)}
        return found if self.data is None else found | {"data": self.data}


def serve_stdio(
    doors: Doors,
    *,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    warm: bool = False,
) -> None:
    """Serve one client until its stream ends; open calls then have 15 seconds to finish.

    Nothing else may write to ``stdout`` while it runs.

    Args:
        doors: The tools, resources and prompts to serve. They are closed at the end.
        stdin: The stream with the client's messages; None for the process's own.
        stdout: The stream for the responses; None for the process's own.
        warm: Whether to open the store as soon as the first message is answered, so the first call
            does not have to wait.
    """
    server = Server(doors, stdout or sys.stdout.buffer)
    warming = threading.Thread(target=doors.warm, name="memento-mcp-warm", daemon=True)
    threading.Thread(target=server.work, name="memento-mcp", daemon=True).start()
    try:
        for line in lines(stdin or sys.stdin.buffer):
            server.take(line)
            if warm:
                warm = False
                warming.start()
        server.finish(PARTING)
    finally:
        if warming.ident is not None:  # the process must not end while a model loads
            warming.join(PARTING)
        doors.close()


def lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Read a stream line by line; a line that is too long is dropped and yielded as None."""
    while line := stream.readline(LONGEST + 1):
        if len(line) <= LONGEST:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST)
        yield None


class Server:
    """Answers the messages of one client.

    Args:
        doors: The tools to call.
        stdout: The stream for the answers.
    """

    def __init__(self, doors: Doors, stdout: BinaryIO) -> None:
        self._doors = doors
        self._stdout = stdout
        self._writing = threading.Lock()
        self._calls: queue.Queue[Json | None] = queue.Queue(WAITING)
        self._open: set[object] = set()
        self._cancelled: set[object] = set()

    def take(self, line: bytes | None) -> None:
        """Answer a line at once, or queue the call that it contains."""
        if line is None:
            self._refuse(None, Refused(REQUEST, f"the line is longer than {LONGEST:,} bytes"))
            return
        if not line.strip():
            return
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, Refused(PARSE, "not JSON"))
            return
        if found == []:
            self._refuse(None, Refused(REQUEST, "a batch must not be empty"))
        for message in found if isinstance(found, list) else [found]:  # 2025-03-26 has batches
            self._take(message)

    def work(self) -> None:
        """Carry out queued calls, in order, until ``finish``."""
        while (message := self._calls.get()) is not None:
            try:
                if message["id"] not in self._cancelled:
                    self._answer(message)
            finally:
                with self._writing:
                    self._open.discard(message["id"])
                    self._cancelled.discard(message["id"])
                self._calls.task_done()

    def finish(self, seconds: float) -> None:
        """Stop accepting calls, and wait for a limited time until the open ones are answered."""
        end = monotonic() + seconds
        with self._calls.all_tasks_done:
            while self._calls.unfinished_tasks and (left := end - monotonic()) > 0:
                self._calls.all_tasks_done.wait(left)
        with suppress(queue.Full):
            self._calls.put_nowait(None)

    def _take(self, message: object) -> None:
        if not isinstance(message, dict):
            self._refuse(None, Refused(REQUEST, "a message must be an object"))
        elif "method" not in message:
            if not message.keys() & {"result", "error"}:  # else a response, but no request was sent
                self._refuse(_id_of(message), Refused(REQUEST, "method is missing"))
        elif "id" not in message:
            self._note(message)
        elif _id_of(message) is None:
            self._refuse(None, Refused(REQUEST, "id must be a string or a whole number"))
        elif isinstance(message["method"], str) and message["method"] in _CALLS:
            with self._writing:
                self._open.add(message["id"])
            self._calls.put(message)
        else:
            self._answer(message)

    def _note(self, message: Json) -> None:
        """Handle a notification; only the cancellation of a call has an effect."""
        if message["method"] == "notifications/cancelled" and isinstance(
            params := message.get("params"), dict
        ):
            asked = params.get("requestId")
            with self._writing:
                if isinstance(asked, str | int) and asked in self._open:
                    self._cancelled.add(asked)

    def _answer(self, message: Json) -> None:
        told = self._telling(message)
        try:
            body = {"result": self._result(message)}
        except Refused as refused:
            body = {"error": refused.body()}
        except Exception:  # the agent goes on; details are logged
            log.exception("a request failed")
            body = {"error": Refused(INTERNAL, "internal error; see the server's log").body()}
        told.set()
        self._send(message["id"], body)

    def _telling(self, message: Json) -> threading.Event:
        """Send progress notifications, if the client wants them, until the event is set."""
        done, params = threading.Event(), message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        asked = isinstance(token, str | int) and message["method"] in _CALLS

        def tell() -> None:
            for count in itertools.count(1):
                if done.wait(PROGRESS):
                    return
                said = {"progressToken": token, "progress": count, "message": self._doors.waits}
                self._put({"method": "notifications/progress", "params": said}, message["id"], done)

        if asked:
            threading.Thread(target=tell, name="memento-mcp-progress", daemon=True).start()
        return done

    def _refuse(self, request: object, refused: Refused) -> None:
        self._send(request, {"error": refused.body()})

    def _send(self, request: object, body: Json) -> None:
        self._put({"id": request, **body}, request)

    def _put(self, body: Json, request: object, ended: threading.Event | None = None) -> None:
        """Write a message that belongs to a request, unless that was cancelled or has ended."""
        text = json.dumps({"jsonrpc": "2.0", **body}, separators=(",", ":"))
        with self._writing:
            if request in self._cancelled or (ended is not None and ended.is_set()):
                return
            try:
                self._stdout.write(text.encode() + b"\n")
                self._stdout.flush()
            except (OSError, ValueError):  # the client is gone
                log.debug("a response could not be delivered", exc_info=True)

    def _result(self, message: Json) -> Json:
        method, params = message["method"], message.get("params", {})
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            raise Refused(REQUEST, "not a JSON-RPC 2.0 request")
        if params is None:
            params = {}
        if not isinstance(params, dict):
            raise Refused(PARAMS, "params must be an object")
        modern = _is_modern(params)
        answer = METHODS.get(method)
        if answer is None or (modern and method in _GONE):
            raise Refused(METHOD, f"method not found: {memento.check.shown(method)}")
        if modern:
            _meet(self._doors, params["_meta"].get(_CLIENT))
        result = answer(self._doors, params)
        return _modern(method, result) if modern else result


def _is_modern(params: Mapping[str, Any]) -> bool:
    """Return whether a request names its protocol version itself.

    Raises:
        Refused: If that version is not supported.
    """
    meta = params.get("_meta")
    asked = meta.get(_VERSION) if isinstance(meta, dict) else None
    if asked is None:
        return False
    if asked not in MODERN:
        known = {"supported": list(MODERN), "requested": str(asked)[:60]}
        raise Refused(
            UNSUPPORTED, f"unsupported protocol version {memento.check.shown(asked)}", known
        )
    return True


def _modern(method: str, result: Json) -> Json:
    """Add what versions without a handshake require in every result."""
    found = {"resultType": "complete", **result, "_meta": {_SERVER: SERVER}}
    if method in _LISTS:
        found |= {"ttlMs": LISTED_FOR, "cacheScope": "private"}
    elif method == "resources/read":
        found |= {"ttlMs": 0, "cacheScope": "private"}
    return found


def _initialize(doors: Doors, params: Json) -> Json:
    asked = params.get("protocolVersion")
    _meet(doors, params.get("clientInfo"))
    return {
        "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": _table.INSTRUCTIONS,
    }


def _meet(doors: Doors, info: object) -> None:
    """Note the name of the client; the first one that it gives is kept."""
    name = info.get("name") if isinstance(info, dict) else None
    if isinstance(name, str) and not doors.client:
        doors.client = "".join(filter(str.isprintable, name))[:60]


def _discover(_doors: Doors, _params: Json) -> Json:
    return {
        "supportedVersions": list(MODERN),
        "capabilities": CAPABILITIES,
        "instructions": _table.INSTRUCTIONS,
    }


def _list(name: str, of: Callable[[Doors], list[Json]]) -> Callable[[Doors, Json], Json]:
    """Return the handler of a request for a list, which has one page."""

    def answer(doors: Doors, params: Json) -> Json:
        if params.get("cursor") is not None:
            raise Refused(PARAMS, "lists are not paginated")
        return {name: of(doors)}

    return answer


def _call(doors: Doors, params: Json) -> Json:
    try:
        said = doors.call(_string(params, "name"), _object(params, "arguments"))
    except LookupError as error:
        raise Refused(PARAMS, str(error)) from error
    return {"content": [{"type": "text", "text": said.text}], "isError": said.refused}


def _read(doors: Doors, params: Json) -> Json:
    uri = _string(params, "uri")
    try:
        said = doors.read(uri)
    except LookupError as error:
        raise Refused(PARAMS, str(error), {"uri": uri[:200]}) from error
    if said.refused:
        raise Refused(INTERNAL, said.text)
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": said.text}]}


def _prompt(doors: Doors, params: Json) -> Json:
    try:
        said = doors.prompt(_string(params, "name"), _object(params, "arguments"))
    except LookupError as error:
        raise Refused(PARAMS, str(error)) from error
    if said.refused:
        raise Refused(INTERNAL, said.text)
    return {"messages": [{"role": "user", "content": {"type": "text", "text": said.text}}]}


def _complete(doors: Doors, params: Json) -> Json:
    ref, argument = _object(params, "ref"), _object(params, "argument")
    asked, begun = _string(argument, "name"), _string(argument, "value")
    known = {("recall", "topic"), (f"{_table.SESSION}{{id}}", "id")}
    if (ref.get("name", ref.get("uri")), asked) not in known:
        values: list[str] = []
    else:
        values = doors.complete(asked, begun)
    shown = values[:MOST_VALUES]
    return {"completion": {"values": shown, "total": len(values), "hasMore": shown != values}}


def _string(params: Json, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Refused(PARAMS, f"{name} must be a string")
    return value


def _object(params: Json, name: str) -> Json:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused(PARAMS, f"{name} must be an object")
    return value


def _id_of(message: Json) -> str | int | None:
    """Return the id of a message; None if it has none that the protocol allows."""
    found = message.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


METHODS: dict[str, Callable[[Doors, Json], Json]] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "ping": lambda _doors, _params: {},
    "tools/list": _list("tools", lambda doors: doors.tools),
    "tools/call": _call,
    "resources/list": _list("resources", lambda _: list(_table.RESOURCES)),
    "resources/templates/list": _list("resourceTemplates", lambda _: list(_table.TEMPLATES)),
    "resources/read": _read,
    "prompts/list": _list("prompts", lambda _: list(_table.PROMPTS)),
    "prompts/get": _prompt,
    "completion/complete": _complete,
}
"""The handler of each method: from its parameters to its result."""
