"""memento for Haystack.

memory_hooks          for an ``Agent``: recalls before each call of the model, stores what is said
MementoDocumentStore  a document store: documents as memories, and all of Haystack's filters
MementoRetriever      a component: finds documents by words and by meaning
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_haystack._documents import MementoDocumentStore
    from memento_haystack._hooks import memory_hooks
    from memento_haystack._retriever import MementoRetriever

__all__ = ["MementoDocumentStore", "MementoRetriever", "memory_hooks"]

_HOMES = {
    "MementoDocumentStore": "_documents",
    "MementoRetriever": "_retriever",
    "memory_hooks": "_hooks",
}


def __getattr__(name: str) -> Any:
    """Import a class or function on first use.

    Raises:
        MissingExtra: If Haystack is not installed; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "haystack":
            raise
        raise MissingExtra("haystack", "haystack-ai") from error
