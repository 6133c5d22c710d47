"""Serve a store over HTTP to whoever comes: python open_server.py ROOT; prints the address.

For programs of the protocol's makers, which send no token.
"""

import socket
import sys

from memento import MemoryManager
from memento_mcp import Doors, http_app, serve_http

with MemoryManager(sys.argv[1], embedder=None) as memory:
    memory.add("Tea is served at four", key="tea/time")
    doors = Doors(memory)
    listening = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    names = [host, host.replace("127.0.0.1", "localhost")]
    print(f"http://{names[1]}/mcp", flush=True)  # noqa: T201 - for the test that starts this
    serve_http(http_app(lambda _: doors, names), listening, sys.stdin.read)
