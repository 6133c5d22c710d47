"""memento for any agent that speaks MCP: a server on standard input and output, without an SDK.

The command ``memento mcp`` starts it. From Python:

Doors        the tools, resources and prompts for a ``MemoryManager``
Answer       the reply of a tool, and whether it refused
serve_stdio  serves them to the client at the other end of two streams
http_app     the server as an ASGI application, with the official SDK
serve_http   serves that application at a socket
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memento_mcp._doors import Answer, Doors
    from memento_mcp._http import http_app, serve_http
    from memento_mcp._wire import serve_stdio

__all__ = ["Answer", "Doors", "http_app", "serve_http", "serve_stdio"]

_PLACES = {
    "Answer": "_doors", "Doors": "_doors", "http_app": "_http", "serve_http": "_http",
    "serve_stdio": "_wire",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"memento_mcp.{_PLACES[name]}"), name)
