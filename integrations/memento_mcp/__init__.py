"""memento for any agent that speaks MCP: a server over stdio, without an SDK.

``memento mcp`` starts it. From Python:

Doors        the tools, resources and prompts over a ``MemoryManager``
Answer       what a tool says, and whether it refuses
serve_stdio  serves them to the client at the other end of two streams
"""

from memento_mcp._doors import Answer, Doors
from memento_mcp._wire import serve_stdio

__all__ = ["Answer", "Doors", "serve_stdio"]
