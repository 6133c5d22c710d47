"""memento for LangChain: thin classes around your ``MemoryManager``.

MementoMiddleware          for ``create_agent``: recalls before each model call and stores each turn
MementoChatMessageHistory  for ``RunnableWithMessageHistory``: the complete messages of a session
MementoRetriever           for chains: memories as documents
memory_tools               for agents that decide for themselves what to store and look up
MementoVectorStore         for code that accepts only a vector store: documents as memories
MementoEmbeddings          the local model, for anything in LangChain that takes embeddings
MementoMemory              for ``ConversationChain`` and ``LLMChain`` of langchain-classic
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_langchain._embeddings import MementoEmbeddings
    from memento_langchain._history import MementoChatMessageHistory
    from memento_langchain._memory import MementoMemory
    from memento_langchain._middleware import MementoMiddleware
    from memento_langchain._retriever import MementoRetriever
    from memento_langchain._tools import memory_tools
    from memento_langchain._vectorstore import MementoVectorStore

__all__ = [
    "MementoChatMessageHistory",
    "MementoEmbeddings",
    "MementoMemory",
    "MementoMiddleware",
    "MementoRetriever",
    "MementoVectorStore",
    "memory_tools",
]

_HOMES = {
    "MementoChatMessageHistory": "_history",
    "MementoEmbeddings": "_embeddings",
    "MementoMemory": "_memory",
    "MementoMiddleware": "_middleware",
    "MementoRetriever": "_retriever",
    "MementoVectorStore": "_vectorstore",
    "memory_tools": "_tools",
}
_EXTRAS = {
    "langchain_core": ("langchain", "langchain-core"),
    "langchain": ("langchain", "langchain"),
    "langgraph": ("langchain", "langgraph"),
    "langchain_classic": ("langchain-classic", "langchain-classic"),
}


def __getattr__(name: str) -> Any:
    """Import a class on first use: each needs another part of LangChain.

    Raises:
        MissingExtra: If that part is not installed; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        missing = _EXTRAS.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        raise MissingExtra(*missing) from error
