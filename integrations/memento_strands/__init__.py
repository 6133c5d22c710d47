"""memento for Strands Agents: a store for its ``MemoryManager``, found again in any process.

MementoStore  searches before each answer, and stores each turn once, without an LLM
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_strands._store import MementoStore

__all__ = ["MementoStore"]


def __getattr__(name: str) -> Any:
    """Import the class on first use.

    Raises:
        MissingExtra: If Strands is not installed; says how to install it.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from memento_strands import _store  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("strands"):
            raise
        raise MissingExtra("strands", "strands-agents") from error
    return getattr(_store, name)
