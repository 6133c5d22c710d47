"""memento for any agent that supports MCP: a server on standard input and output, without an SDK.

The command ``memento mcp`` starts it. From Python:

Doors        the tools, resources and prompts for a ``MemoryManager``
Answer       the reply of a tool, and whether the call was refused
serve_stdio  serves them to the client at the other end of two streams
http_app     the server as an ASGI application, with the official SDK
serve_http   serves that application on a socket
INSTRUCTIONS what the server tells a model about its tools
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_mcp._doors import Answer, Doors
    from memento_mcp._http import http_app, serve_http
    from memento_mcp._table import INSTRUCTIONS
    from memento_mcp._wire import serve_stdio

__all__ = ["INSTRUCTIONS", "Answer", "Doors", "http_app", "serve_http", "serve_stdio"]

_HOMES = {
    "Answer": "_doors", "Doors": "_doors", "http_app": "_http", "serve_http": "_http",
    "serve_stdio": "_wire", "INSTRUCTIONS": "_table",
}  # fmt: skip

__getattr__ = names_of(__name__, _HOMES, {})
