"""memento for the Microsoft Agent Framework.

MementoContextProvider  recalls for each call of the model, and stores what is said
MementoHistoryProvider  the complete messages of a session
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_agent_framework._context import MementoContextProvider
    from memento_agent_framework._history import MementoHistoryProvider

__all__ = ["MementoContextProvider", "MementoHistoryProvider"]

_HOMES = {"MementoContextProvider": "_context", "MementoHistoryProvider": "_history"}


def __getattr__(name: str) -> Any:
    """Import a class on first use.

    Raises:
        MissingExtra: If the framework is not installed; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "agent_framework":
            raise
        raise MissingExtra("agent-framework", "agent-framework-core") from error
