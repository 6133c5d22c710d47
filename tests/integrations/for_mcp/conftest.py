"""A server in this process, spoken to line by line."""

import io
import json

import pytest

from memento import MemoryManager
from memento_mcp import Doors, serve_stdio


@pytest.fixture
def memory(tmp_path):
    """Open a store without an embedder."""
    with MemoryManager(tmp_path / "store", embedder=None) as opened:
        yield opened


@pytest.fixture
def doors(memory):
    """Return the tools over it."""
    return Doors(memory, client="test")


class Client:
    """Says lines to a server and collects its answers."""

    def __init__(self, doors):
        self.doors = doors

    def raw(self, *lines):
        """Send lines as they are; return the messages that come back, in order."""
        out = io.BytesIO()
        serve_stdio(
            self.doors, stdin=io.BytesIO(b"".join(line + b"\n" for line in lines)), stdout=out
        )
        return [json.loads(line) for line in out.getvalue().splitlines()]

    def ask(self, method, params=None, *, modern=False):
        """Send one request; return its result or its error."""
        params = dict(params or {})
        if modern:
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        (answer,) = self.raw(json.dumps(request).encode())
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == 1
        return answer.get("result", answer.get("error"))


@pytest.fixture
def client(doors):
    """Return a client of a server over the store."""
    return Client(doors)
