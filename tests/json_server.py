"""A server on the loopback interface that is asked in JSON and answers in JSON."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonServer:
    """Answers as a subclass says.

    Attributes:
        script: Answers of a test to give first, in order; a subclass says what an answer is.
        requests: The bodies that it got, each with its path.
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
        self._http.daemon_threads = False  # closing waits for requests that were held
        looks = {"poll_interval": 0.01}  # whether it shall end
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs=looks, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        """Stop serving."""
        self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body; a body of None closes the connection without a word."""
        raise NotImplementedError

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append({"path": self.path, **request})
                server.headers.append(dict(self.headers))
                server.hold.wait()
                status, headers, body = server.answer(request)
                if body is None:
                    return
                payload = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                kind = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
                for name, value in (headers | kind).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Say nothing on stderr."""

        return Handler
