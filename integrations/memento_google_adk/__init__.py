"""memento for Google's Agent Development Kit: a memory service that needs no cloud.

MementoMemoryService  for ``Runner(memory_service=...)``: stores sessions, and searches all of them
MementoPreloadTool    for ``LlmAgent(tools=...)``: recalls before each answer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_google_adk._service import MementoMemoryService, MementoPreloadTool

__all__ = ["MementoMemoryService", "MementoPreloadTool"]


def __getattr__(name: str) -> Any:
    """Import the class on first use.

    Raises:
        MissingExtra: If ADK is not installed; says how to install it.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from memento_google_adk import _service  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("google"):
            raise
        raise MissingExtra("google-adk", "google-adk") from error
    return getattr(_service, name)
