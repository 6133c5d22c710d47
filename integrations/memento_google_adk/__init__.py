"""memento for Google's Agent Development Kit: a memory service that requires no cloud.

MementoMemoryService  for ``Runner(memory_service=...)``: stores sessions, and searches all of them
MementoPreloadTool    for ``LlmAgent(tools=...)``: recalls before each answer
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_google_adk._service import MementoMemoryService, MementoPreloadTool

__all__ = ["MementoMemoryService", "MementoPreloadTool"]

__getattr__ = names_of(
    __name__,
    {"MementoMemoryService": "_service", "MementoPreloadTool": "_service"},
    {"google": ("google-adk", "google-adk")},
)
