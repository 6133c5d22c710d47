"""memento for Strands Agents: a store for its ``MemoryManager``, available in any process.

MementoStore  searches before each answer, and stores each turn once, without an LLM
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_strands._store import MementoStore

__all__ = ["MementoStore"]

__getattr__ = names_of(
    __name__, {"MementoStore": "_store"}, {"strands": ("strands", "strands-agents")}
)
