"""memento for LlamaIndex.

MementoBlock      a memory block of ``Memory``: recalls for each message, and stores what is said
MementoRetriever  memories as nodes, for query engines
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_llama_index._block import MementoBlock
    from memento_llama_index._retriever import MementoRetriever

__all__ = ["MementoBlock", "MementoRetriever"]

_HOMES = {"MementoBlock": "_block", "MementoRetriever": "_retriever"}


def __getattr__(name: str) -> Any:
    """Import a class on first use.

    Raises:
        MissingExtra: If LlamaIndex is not installed; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "llama_index":
            raise
        raise MissingExtra("llama-index", "llama-index-core") from error
