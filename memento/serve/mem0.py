"""What the clients of mem0 call, on the same manager."""

from __future__ import annotations

from starlette.routing import BaseRoute

from memento.serve.app import Service


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of mem0's clients."""
    del service
    return []
