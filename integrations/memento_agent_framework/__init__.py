"""memento for the Microsoft Agent Framework.

MementoContextProvider  recalls for each model call, and stores the conversation
MementoHistoryProvider  the complete messages of a session
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_agent_framework._context import MementoContextProvider
    from memento_agent_framework._history import MementoHistoryProvider

__all__ = ["MementoContextProvider", "MementoHistoryProvider"]

__getattr__ = names_of(
    __name__,
    {"MementoContextProvider": "_context", "MementoHistoryProvider": "_history"},
    {"agent_framework": ("agent-framework", "agent-framework-core")},
)
