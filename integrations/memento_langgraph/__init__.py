"""memento for LangGraph: a ``BaseStore`` on top of your ``MemoryManager``.

MementoStore  for ``create_agent(store=...)`` and ``graph.compile(store=...)``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_langgraph._store import MementoStore

__all__ = ["MementoStore"]


def __getattr__(name: str) -> Any:
    """Import the store on first use.

    Raises:
        MissingExtra: If LangGraph is not installed; says how to install it.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from memento_langgraph import _store  # noqa: PLC0415 - the framework may be absent
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"langgraph", "langchain_core"}:
            raise
        raise MissingExtra("langgraph", "langgraph") from error
    return getattr(_store, name)
