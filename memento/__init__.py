"""Tiered memory for AI agents: offline, durable, and it finds the right one.

manager, aio     the object people use, sync and async
observe          write path: a draft is checked and weighed
ledger           the truth: one SQLite file, all SQL
tiers            short (ring buffer), long (Chroma), the indexer that feeds it
retrieve         read path: query, gather, weigh, rank, budget
correct, doctor  deliberate changes; damage found and mended
lineage          history and state, reading only
embed            local and remote embedders
transcripts      files into drafts
types, errors    the values and errors that cross the door
"""

from typing import TYPE_CHECKING, Any

from memento.config import Config
from memento.manager import MemoryManager
from memento.types import (
    Draft,
    Finding,
    Hit,
    Kind,
    Memory,
    Retrieval,
    Source,
    Status,
    Tier,
    Trust,
    Version,
)

if TYPE_CHECKING:
    from memento.aio import AsyncMemoryManager

__version__ = "0.1.0"

__all__ = [
    "AsyncMemoryManager",
    "Config",
    "Draft",
    "Finding",
    "Hit",
    "Kind",
    "Memory",
    "MemoryManager",
    "Retrieval",
    "Source",
    "Status",
    "Tier",
    "Trust",
    "Version",
]


def __getattr__(name: str) -> Any:
    """Load ``AsyncMemoryManager`` when it is asked for: asyncio costs as much as all the rest."""
    if name == "AsyncMemoryManager":
        from memento.aio import AsyncMemoryManager  # noqa: PLC0415 - see above

        return AsyncMemoryManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
