"""memento for LlamaIndex.

MementoBlock      a memory block of ``Memory``: recalls for each message, stores the conversation
MementoRetriever  memories as nodes, for query engines
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_llama_index._block import MementoBlock
    from memento_llama_index._retriever import MementoRetriever

__all__ = ["MementoBlock", "MementoRetriever"]

__getattr__ = names_of(
    __name__,
    {"MementoBlock": "_block", "MementoRetriever": "_retriever"},
    {"llama_index": ("llama-index", "llama-index-core")},
)
