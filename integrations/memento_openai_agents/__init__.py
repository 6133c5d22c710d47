"""memento for the OpenAI Agents SDK.

MementoSession  a ``Session``: the complete items of a conversation
MementoRecall   a ``call_model_input_filter``: what is remembered, for each model call
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_openai_agents._recall import MementoRecall
    from memento_openai_agents._session import MementoSession

__all__ = ["MementoRecall", "MementoSession"]

_HOMES = {"MementoRecall": "_recall", "MementoSession": "_session"}


def __getattr__(name: str) -> Any:
    """Import a class on first use.

    Raises:
        MissingExtra: If the SDK is not installed; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "agents":
            raise
        raise MissingExtra("openai-agents", "openai-agents") from error
