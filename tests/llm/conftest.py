"""A server on the loopback interface that speaks as OpenAI's chat completions do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memento.observe.reader import Reader
from tests.observe.stand_in import StandIn


class ChatServer:
    """Answers with what a test wrote.

    Attributes:
        script: What it answers, in order: a text of the model, a JSON value for one, or
            (status, body). A body of None closes the connection without a word. When it is over,
            the model answers ``{}``.
        requests: The bodies that it got.
        headers: Their headers.
        hold: Set while it answers; cleared, it lets requests wait.
    """

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hold = threading.Event()
        self.hold.set()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        """Stop serving."""
        self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self) -> tuple[int, Any]:
        """Return the next status and body."""
        said = self.script.pop(0) if self.script else {}
        if isinstance(said, tuple):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return 200, completion(text)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append({"path": self.path, **request})
                server.headers.append(dict(self.headers))
                server.hold.wait()
                status, body = server.answer()
                if body is None:
                    return
                payload = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Say nothing on stderr."""

        return Handler


def completion(text: str) -> dict[str, Any]:
    """Return a chat completion that says a text: 7 tokens for 11."""
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    """Read with a table, which leaves what the tests let a model point at."""
    monkeypatch.setattr(Reader, "load", StandIn)


@pytest.fixture
def server():
    """A server that runs for one test."""
    made = ChatServer()
    yield made
    made.close()
