"""A Chroma server of a test's own, on loopback."""

from __future__ import annotations

import contextlib
import http.server
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
READY_SECONDS = 120.0


def free_port():
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ChromaHost:
    """A ``chroma run`` over a folder."""

    def __init__(self, folder, port=None):
        self.folder, self.port = folder, port or free_port()
        self.start()

    @property
    def url(self):
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Start it and wait until it answers."""
        code = "import sys; from chromadb_rust_bindings import cli; cli(sys.argv)"
        args = ["run", "--path", self.folder, "--port", self.port, "--host", "127.0.0.1"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, args)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + READY_SECONDS
        while time.monotonic() < ends:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise AssertionError("the Chroma server did not start")

    def names(self):
        """Return the names of its collections."""
        return [one["name"] for one in httpx.get(f"{self.url}{COLLECTIONS}").json()]

    def delete(self, name):
        """Delete a collection."""
        httpx.delete(f"{self.url}{COLLECTIONS}/{name}").raise_for_status()

    def freeze(self):
        """Let it answer nothing more, with its connections open."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """End it at once."""
        self.process.kill()
        self.process.wait()


class Stub(http.server.ThreadingHTTPServer):
    """Answers each path of the API with fixed JSON; others are not found."""

    def __init__(self, answers, port=0):
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.removeprefix("/api/v2")
                self.server.seen.append((path, dict(self.headers)))
                found = path in answers
                body = json.dumps(answers.get(path, {"error": "NotFoundError", "message": "no"}))
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                """Say nothing."""

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def end(self):
        """Answer nothing more."""
        self.shutdown()
        self.server_close()
