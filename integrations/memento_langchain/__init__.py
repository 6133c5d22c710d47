"""memento for LangChain: thin adapters for your ``MemoryManager``.

MementoMiddleware          for ``create_agent``: recalls before each model call and stores each turn
MementoChatMessageHistory  for ``RunnableWithMessageHistory``: the complete messages of a session
MementoRetriever           for chains: memories as documents
memory_tools               for agents that decide themselves what to store and look up
MementoVectorStore         for code that accepts only a vector store: documents as memories
MementoEmbeddings          the local model, for anything in LangChain that takes embeddings
MementoMemory              for ``ConversationChain`` and ``LLMChain`` of langchain-classic
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

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

__getattr__ = names_of(__name__, _HOMES, _EXTRAS)
