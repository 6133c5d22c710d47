"""memento for LangGraph: a ``BaseStore`` on top of your ``MemoryManager``.

MementoStore  for ``create_agent(store=...)`` and ``graph.compile(store=...)``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_langgraph._store import MementoStore

__all__ = ["MementoStore"]

_EXTRA = ("langgraph", "langgraph")

__getattr__ = names_of(
    __name__, {"MementoStore": "_store"}, {"langgraph": _EXTRA, "langchain_core": _EXTRA}
)
